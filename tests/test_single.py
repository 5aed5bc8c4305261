"""The Gymnasium environment, and the opponents at its table."""

import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from kolkhoz_agents.games import make_game
from kolkhoz_agents.registry import make_agent
from kolkhoz_env import IllegalActionError, KolkhozError, VectorKolkhoz, observation_table
from kolkhoz_env.deal import game_keys
from kolkhoz_env.opponents import RandomOpponent
from kolkhoz_env.single import KolkhozEnv

ID = "kolkhoz/Kolkhoz-v0"


def make(**options):
    return gymnasium.make(ID, **options)


def play(table, seed=None, generator=None):
    """Play a game with random legal actions; the last step's results."""
    generator = generator or np.random.default_rng(0)
    observation, info = table.reset(seed=seed)
    while True:
        legal = np.flatnonzero(info["action_mask"])
        assert np.array_equal(legal, np.flatnonzero(table.unwrapped.action_masks()))
        assert table.observation_space.contains(observation)
        step = table.step(generator.choice(legal))
        observation, reward, terminated, truncated, info = step
        assert not truncated
        if terminated:
            assert not info["action_mask"].any()
            return observation, reward, info
        assert reward == 0


@pytest.mark.parametrize("players", [3, 4])
def test_checkers(players) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(players=players, render_mode="rgb_array").unwrapped)
        check_env_of_sb3(make(players=players).unwrapped)


def test_masks_as_maskable_ppo_asks_for_them() -> None:
    table = make()
    table.reset(seed=1)
    assert is_masking_supported(table)
    mask = get_action_masks(table)
    assert mask.dtype == np.bool_
    assert mask.any()


@pytest.mark.parametrize("reward", ["win_share", "score", "rank"])
def test_whole_games(reward) -> None:
    table = make(players=3, reward=reward)
    seats = []
    for number in range(4):
        _, gained, info = play(table, seed=3 if number == 0 else None)
        seats.append(info["seat"])
        share, score = info["win_share"], info["score"]
        assert sum(share) == pytest.approx(1)
        expected = {
            "win_share": share[info["seat"]] - 1 / 3,
            "score": (score[info["seat"]] - np.mean(score)) / 100,
            "rank": 2 - info["rank"][info["seat"]],
        }
        assert gained == pytest.approx(expected[reward], abs=1e-6)
    assert seats == [0, 1, 2, 0], "the seat goes round"


def test_the_learner_sees_its_own_seat() -> None:
    """Played move for move beside the engine, with the same random opponents."""
    table = make(seat=2)
    observation, info = table.reset(seed=8)
    assert table.unwrapped.seat == info["seat"] == 2
    named = observation_table(table.unwrapped.rules).named(observation)
    assert named["hand"].sum() == 5
    assert named["to_act"].argmax() == 0


def test_seeds() -> None:
    one, other = make(), make()
    for number in range(2):
        seed = 5 if number == 0 else None
        first = play(one, seed, np.random.default_rng(1))
        second = play(other, seed, np.random.default_rng(1))
        assert np.array_equal(first[0], second[0])
        assert first[1] == second[1]
    again = play(one, 5, np.random.default_rng(1))
    assert not np.array_equal(again[0], first[0])


def test_an_illegal_action_forfeits_the_game() -> None:
    table = make(seat=0)
    _, info = table.reset(seed=1)
    wrong = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _, reward, terminated, _, info = table.step(wrong)
    assert terminated
    assert reward == -0.25
    assert "is not legal; legal:" in info["illegal_action"]
    assert not info["action_mask"].any()
    with pytest.raises(KolkhozError, match="reset"):
        table.unwrapped.step(wrong)


def test_an_illegal_action_raises_if_wished() -> None:
    table = make(seat=0, illegal="raise")
    _, info = table.reset(seed=1)
    wrong, right = (int(np.flatnonzero(info["action_mask"] == value)[0]) for value in (0, 1))
    with pytest.raises(IllegalActionError, match="is not legal; legal:"):
        table.step(wrong)
    table.step(right)
    with pytest.raises(IllegalActionError, match="not a whole number"):
        table.step("S")


def test_agents_of_the_lab_as_opponents() -> None:
    game = make_game("kolkhoz", {"players": 3})
    heuristic = make_agent("heuristic", game)
    for opponents in (heuristic, [heuristic, make_agent("random", game)]):
        play(make(players=3, opponents=opponents), seed=1)


class Watchful:
    """Notes what it is given, and plays the first legal action."""

    needs = frozenset({"observation", "knowledge"})

    def __init__(self, game) -> None:
        self.game = game
        self.seats: list[int] = []

    def act(self, decisions):
        assert decisions.table is None
        assert np.array_equal(decisions.knowledge.observe(), decisions.observation)
        assert np.array_equal(decisions.knowledge.legal_mask(), decisions.mask)
        assert decisions.take(np.array([0])).size == len(decisions)
        self.seats += decisions.seat.tolist()
        return decisions.mask.argmax(axis=1)


def test_opponents_by_seat_and_by_factory() -> None:
    made = []

    def factory(game):
        made.append(Watchful(game))
        return made[-1]

    play(make(seat=1, opponents=[factory, RandomOpponent, RandomOpponent()]), seed=1)
    (watchful,) = made
    assert set(watchful.seats) == {2}, "the first opponent sits to the learner's left"


def test_random_opponents_choose_evenly() -> None:
    games = VectorKolkhoz(4000, seed=1)
    from kolkhoz_env.game import KolkhozGame
    from kolkhoz_env.opponents import Opponents

    actions = np.zeros(4000, dtype=np.int64)
    learner = (games.seat + 1).astype(np.int8) % 4
    Opponents(KolkhozGame(), None).act(games, np.arange(4000), learner, actions)
    counts = np.bincount(actions)[53:57]
    assert counts.sum() == 4000
    assert abs(counts - 1000).max() < 120


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"opponents": ["random"] * 2}, "2 given; 3 are needed"),
        ({"opponents": "random"}, "make_agent"),
        ({"opponents": object()}, "no method act"),
        ({"seat": 4}, "seat: 4 is not a seat from 0 to 3"),
        ({"illegal": "ignore"}, "illegal: 'ignore'"),
        ({"render_mode": "svg"}, "render_mode"),
    ],
)
def test_wrong_arguments(wrong, message) -> None:
    with pytest.raises((KolkhozError, TypeError), match=message):
        KolkhozEnv(**wrong)


def test_rendering() -> None:
    table = make(render_mode="ansi")
    table.reset(seed=1)
    assert "Year 1" in table.render()


def test_a_copy_goes_on_alike() -> None:
    table = make(players=3)
    _, info = table.reset(seed=1)
    other = copy.deepcopy(table)
    action = int(np.flatnonzero(info["action_mask"])[0])
    assert np.array_equal(table.step(action)[0], other.step(action)[0])


def test_what_opponents_draw_tells_nothing_of_the_deck() -> None:
    seen: list[int] = []

    class Spy:
        name, needs = "spy", frozenset[str]()

        def act(self, decisions):
            seen.extend(decisions.keys.tolist())
            return decisions.mask.argmax(axis=1)

    for seed in range(40):
        table = KolkhozEnv(opponents=Spy())
        _, info = table.reset(seed=seed)
        table.step(int(np.flatnonzero(info["action_mask"])[0]))
    decks = {int(game_keys(seed, np.array([game]))[0]) for seed in range(40) for game in range(4)}
    assert len(seen) > 100
    assert not decks & set(seen)
