"""Kolkhoz in OpenSpiel: a well-formed game tree, exact values, and algorithms that run on it."""

from collections import Counter

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy
from open_spiel.python.algorithms import cfr, expected_game_score, exploitability

from kolkhoz_env import Rules, RulesError, VectorKolkhoz
from kolkhoz_env.open_course import OpenCourse
from kolkhoz_env.openspiel import NAME

SMALL = {
    "players": 2, "crops": 1, "ranks": 5, "tricks": 1, "years": 1, "low_rewards": 0,
    "first_planner": 0, "auto_forced": True, "famine_year": 0, "quota": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return pyspiel.load_game(NAME, SMALL)


def nodes(state):
    yield state
    if not state.is_terminal():
        chance = state.is_chance_node()
        for action in [a for a, _ in state.chance_outcomes()] if chance else state.legal_actions():
            yield from nodes(state.child(action))


def test_openspiels_own_test(small) -> None:
    pyspiel.random_sim_test(small, num_sims=5, serialize=False, verbose=False)


def test_exact_exploitability_falls_with_cfr(small) -> None:
    uniform = exploitability.exploitability(small, policy.UniformRandomPolicy(small))
    assert uniform == pytest.approx(0.16)
    solver = cfr.CFRSolver(small)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    assert exploitability.exploitability(small, solver.average_policy()) < 0.15 * uniform


def test_the_exact_value_is_that_of_many_games_of_the_engine(small) -> None:
    uniform = policy.UniformRandomPolicy(small)
    exact = expected_game_score.policy_value(small.new_initial_state(), [uniform, uniform])
    games = VectorKolkhoz(20_000, seed=1, rules=Rules.from_dict(SMALL), restart=False)
    generator = np.random.default_rng(1)
    while not games.over.all():
        mask = games.legal_mask()
        games.step(np.where(mask, generator.random(mask.shape), -1).argmax(axis=1))
    shares = games.outcome().win_share[:, 0] - 0.5
    error = shares.std() / np.sqrt(shares.size)
    assert exact[0] == pytest.approx(-exact[1])
    assert abs(shares.mean() - exact[0]) < 4 * error


def test_the_tree(small) -> None:
    """Information states are consistent, and every node is as OpenSpiel wants it."""
    legal: dict[str, list[int]] = {}
    count = Counter()
    for state in nodes(small.new_initial_state()):
        if state.is_chance_node():
            count["chance"] += 1
            outcomes = state.chance_outcomes()
            assert sum(p for _, p in outcomes) == pytest.approx(1)
            assert [a for a, _ in outcomes] == sorted({a for a, _ in outcomes})
        elif state.is_terminal():
            count["terminal"] += 1
            assert sum(state.returns()) == pytest.approx(0)
        else:
            count["decision"] += 1
            player = state.current_player()
            known = state.information_state_string(player)
            assert legal.setdefault(known, state.legal_actions()) == state.legal_actions()
            assert len(state.legal_actions()) > 1, "forced moves are made"
            tensor = state.observation_tensor(player)
            assert max(tensor) > 0
    assert count["terminal"] > 500
    assert len(legal) < count["decision"]


def test_a_player_does_not_see_the_other_hand(small) -> None:
    """States that differ in the other hand alone are one information state."""
    groups: dict[str, set[str]] = {}
    for state in nodes(small.new_initial_state()):
        if not state.is_chance_node() and not state.is_terminal():
            player = state.current_player()
            groups.setdefault(state.information_state_string(player), set()).add(str(state))
    first = [states for text, states in groups.items() if "trick -" in text]
    # The reward is one of five cards, the own hand two of the five Workers.
    assert len(first) == 5 * 10
    assert {len(states) for states in first} == {3}, "the other holds two of three Workers"


def deals(course: OpenCourse, chance: float):
    """All completed deals with their probabilities."""
    if not course.dealing:
        yield course, chance
        return
    for choice, part in course.outcomes():
        yield from deals(course.after(choice), chance * part)


def test_every_deal_is_reached_in_one_way_and_all_are_equally_likely() -> None:
    rules = Rules(
        players=2, crops=1, ranks=6, tricks=1, years=1, low_rewards=1, famine_year=0,
        first_planner=1,
    )  # fmt: skip
    found: Counter[tuple[int, ...]] = Counter()
    total = 0.0
    for course, chance in deals(OpenCourse(rules), 1.0):
        state = course.state
        found[(int(state.rewards[0]), *map(int, state.hands[0]), int(state.piles[0, 0, 1]))] += 1
        total += chance
        # Five hidden rewards, each first or second in its pile, then 2 of 5 and 2 of 3 Workers.
        assert chance == pytest.approx(1 / (5 * 2 * 10 * 3))
    assert total == pytest.approx(1)
    assert set(found.values()) == {1}


@pytest.mark.parametrize("params", [{"players": 3}, {"players": 4, "auto_forced": True}])
def test_whole_games_under_the_printed_rules(params) -> None:
    game = pyspiel.load_game(NAME, params)
    generator = np.random.default_rng(2)
    state = game.new_initial_state()
    decisions = 0
    years = []
    while not state.is_terminal():
        if state.is_chance_node():
            choices, chances = zip(*state.chance_outcomes(), strict=True)
            assert sum(chances) == pytest.approx(1)
            state.apply_action(int(generator.choice(choices, p=chances)))
        else:
            player = state.current_player()
            text = state.observation_string(player)
            assert text.startswith("kolkhoz-view/1")
            years.append(text[text.index("'year'") + 8])
            state.apply_action(int(generator.choice(state.legal_actions())))
            decisions += 1
    assert years == sorted(years)
    assert set(years) == set("12345")
    assert decisions <= game.max_game_length()
    assert sum(state.returns()) == pytest.approx(0, abs=1e-6)
    assert max(state.returns()) <= game.max_utility()


def test_a_copy_goes_its_own_way(small) -> None:
    state = small.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    clone = state.clone()
    before = str(state)
    clone.apply_action(clone.legal_actions()[0])
    assert str(state) == before != str(clone)
    assert state.action_to_string(0, 53) == "W"


def test_wrong_parameters() -> None:
    with pytest.raises((RulesError, pyspiel.SpielError), match="tricks"):
        pyspiel.load_game(NAME, {"players": 2, "tricks": 9})
