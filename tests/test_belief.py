"""Beliefs: worlds by how likely they are, honest and repeatable, and the folders they come in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_game
from hypothesis import given
from hypothesis import strategies as st
from kolkhoz_tools import same_rows

from kolkhoz_agents.belief import (
    Belief,
    BeliefError,
    BeliefFile,
    belief_weights,
    load_belief,
    load_named,
    save_belief,
    shipped_beliefs,
)
from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.network import NetworkShape
from kolkhoz_agents.protocol import Decisions
from kolkhoz_agents.referee import make_decisions
from kolkhoz_agents.registry import make_agent, shipped_bots
from kolkhoz_agents.sampling import distinct, resampled
from kolkhoz_agents.search import SearchAgent
from kolkhoz_env import Rules, VectorKolkhoz
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.knowledge import redact

KOLKHOZ = KolkhozGame()
SHAPE = NetworkShape((8,))
NEEDS = frozenset({"knowledge", "observation"})


def belief_file(game: KolkhozGame = KOLKHOZ, seed: int = 0, half: bool = False) -> BeliefFile:
    """A belief with random weights."""
    draw = np.random.default_rng(seed)
    weights = {
        name: draw.normal(scale=0.3, size=shape).astype(np.float32)
        for name, shape in belief_weights(SHAPE, game).items()
    }
    observation = {"version": game.observation.version, "size": game.observation.size}
    return BeliefFile(
        game.name, game.rules_dict(), observation, SHAPE, weights, {"seed": seed}, half
    )


def sure_of(column: int, weight: float) -> Belief:
    """A belief that gives one card in one place a weight, whatever the seat sees, and no other."""
    file = belief_file()
    weights = {name: np.zeros_like(array) for name, array in file.weights.items()}
    # In canonical order the column is another one for every position: here none is renamed.
    belief = Belief(replace(file, weights=weights), KOLKHOZ, "sure")
    belief._plain[:] = np.arange(belief._plain.shape[1])
    belief._layers["belief.bias"][column] = weight
    return belief


def asked(table: VectorKolkhoz, rows: np.ndarray | None = None) -> Decisions:
    rows = np.arange(table.size) if rows is None else rows
    return make_decisions(KOLKHOZ, table, rows, table.legal_mask()[rows], 1, NEEDS)


def stand_at(steps: int, games: int = 4) -> VectorKolkhoz:
    """Games of the heuristic after some decisions."""
    table = KOLKHOZ.table(6, np.arange(games))
    agent = make_agent("heuristic", KOLKHOZ)
    for _ in range(steps):
        mask = table.legal_mask()
        rows = np.arange(games)
        table.step(agent.act(make_decisions(KOLKHOZ, table, rows, mask, 1, agent.needs)))
    return table


# Worlds ---------------------------------------------------------------------------------------


def test_a_card_that_is_believed_in_a_hand_lies_there_as_often_as_its_weight_says() -> None:
    table = stand_at(9, games=1)
    decisions = asked(table)
    seeds = np.array([5], np.uint64)
    even = decisions.knowledge.worlds(4000, 3).hidden(np.arange(4000))
    left_hand = even[:, :53].mean(axis=0)
    card = int(np.flatnonzero((left_hand > 0.15) & (left_hand < 0.6))[0])
    share = left_hand[card]
    for weight in (0.0, 1.5, -1.5):
        drawn = sure_of(card, weight).sample(decisions, np.array([1500]), seeds)
        there = drawn.table.hidden(np.arange(drawn.table.size))[:, card]
        assert drawn.weight.sum() == 1500
        found = np.average(there, weights=drawn.weight)
        expected = share * np.exp(weight) / (share * np.exp(weight) + 1 - share)
        assert found == pytest.approx(expected, abs=0.04)
    sure = sure_of(card, 60.0).sample(decisions, np.array([50]), seeds).table
    assert sure.hidden(np.arange(sure.size))[:, card].all()


def test_likely_worlds_agree_with_what_is_known_and_are_the_same_in_any_batch() -> None:
    table = stand_at(40)
    belief, decisions = Belief(belief_file(), KOLKHOZ, "drawn"), asked(table)
    seeds = np.arange(4, dtype=np.uint64) + np.uint64(9)
    counts = np.array([6, 2, 4, 6])
    drawn = belief.sample(decisions, counts, seeds)
    assert (np.bincount(drawn.owner, weights=drawn.weight) == counts).all()
    worlds, owner = drawn.table, drawn.owner
    known = redact(worlds.state, np.arange(worlds.size), np.asarray(decisions.seat)[owner])
    assert same_rows(decisions.knowledge.state.take(owner), known, 1) == []
    for row, count in enumerate(counts):
        alone = belief.sample(asked(table, np.array([row])), np.array([count]), seeds[[row]])
        own = owner == row
        assert (alone.weight == drawn.weight[own]).all()
        assert (alone.table.state.hands == worlds.state.hands[own]).all()
        assert (alone.table.state.cellars == worlds.state.cellars[own]).all()
        assert (alone.place() == drawn.place()[own]).all()


def test_a_world_that_is_drawn_twice_is_there_once_and_counts_twice() -> None:
    worlds = asked(stand_at(20, games=2)).knowledge.worlds(5, 1)
    chosen = np.array([[0, 3, 3, 3], [4, 2, 4, 0]])
    drawn = distinct(worlds, chosen, np.array([4, 3]))
    assert drawn.owner.tolist() == [0, 0, 1, 1]
    assert drawn.weight.tolist() == [1, 3, 1, 2]
    assert drawn.place().tolist() == [0, 1, 0, 1]
    assert (drawn.table.state.hands == worlds.state.hands[[0, 3, 7, 9]]).all()


def test_log_weights_are_sums_over_the_hidden_cards() -> None:
    table = stand_at(30)
    belief, decisions = Belief(belief_file(), KOLKHOZ, "drawn"), asked(table)
    worlds = decisions.knowledge.worlds(5, 1)
    logs = belief.log_weights(decisions.observation, worlds, 5)
    weights = belief.card_weights(decisions.observation)
    hidden = worlds.hidden(np.arange(20)).reshape(4, 5, -1)
    assert np.allclose(logs, (hidden * weights[:, None]).sum(axis=2), atol=1e-4)


def test_renamed_crops_have_renamed_weights() -> None:
    """A network sees crops sorted: what it believes of a crop goes with it when it is renamed."""
    table = stand_at(33, games=30)
    belief = Belief(belief_file(), KOLKHOZ, "drawn")
    observation = asked(table).observation
    weights = belief.card_weights(observation)
    index, hidden = KOLKHOZ.symmetry.observation_index, np.asarray(KOLKHOZ.hidden_index)
    apart = belief.canon.case(observation)
    for case in (1, 9, 23):
        renamed = observation[:, index[case]]
        # Equal keys keep plain order, which renaming changes: such positions are left out.
        same = [
            (observation[row, index[apart[row]]] == renamed[row, index[now]]).all()
            for row, now in enumerate(belief.canon.case(renamed))
        ]
        assert np.mean(same) > 0.7
        expected = weights[:, hidden[case]]
        assert np.allclose(belief.card_weights(renamed)[same], expected[same], atol=1e-4)


@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=12),
    st.integers(1, 20),
    st.floats(0.001, 0.999),
)
def test_resampling_gives_each_column_its_share(
    logs: list[float], count: int, offset: float
) -> None:
    both = resampled(np.array([logs, logs]), np.array([count, count + 3]), np.full(2, offset))
    assert both.shape == (2, count + 3)
    chosen = both[:1, :count]
    weights = np.exp(np.array(logs) - max(logs))
    expected = weights / weights.sum() * count
    often = np.bincount(chosen[0], minlength=len(logs))
    assert (often >= np.floor(expected - 1e-6)).all()
    assert (often <= np.ceil(expected + 1e-6)).all()


# Search ---------------------------------------------------------------------------------------


def test_search_takes_the_belief_that_was_shipped_for_its_rollout_bot() -> None:
    assert set(shipped_beliefs()) <= set(shipped_bots())
    believing = SearchAgent(KOLKHOZ, worlds=2, rollout="foreman")
    assert believing.belief is not None
    assert believing.needs == {"knowledge", "observation"}
    sampling = SearchAgent(KOLKHOZ, worlds=2, rollout="foreman:temperature=1")
    assert sampling.belief is not None
    for options in ({"rollout": "foreman", "belief": "none"}, {"rollout": "heuristic"}):
        assert SearchAgent(KOLKHOZ, worlds=2, **options).belief is None
    assert make_agent("search:worlds=2,belief=foreman", KOLKHOZ).name.endswith(",belief=foreman")
    assert make_agent("cheater:worlds=2,rollout=foreman", KOLKHOZ).belief is None


def test_a_bots_own_judgement_counts_less_the_more_worlds_there_are() -> None:
    for options, prior in (
        ("worlds=4,rollout=foreman", 0.04),
        ("worlds=16,rollout=foreman", 0.01),
        ("worlds=64,rollout=foreman", 0.003),
        ("ms=50,rollout=foreman", 0.003),
        ("worlds=64", 0.01),
        ("worlds=64,prior=0.5", 0.5),
    ):
        assert make_agent(f"search:{options}", KOLKHOZ).weight == pytest.approx(prior)


def test_a_believing_search_is_honest_and_repeatable() -> None:
    agent = make_agent("search:worlds=7,rollout=random,belief=foreman", KOLKHOZ)
    table = stand_at(38, games=6)
    others = table.knowledge().worlds(1, seed=5)
    others.game_ids[:] = table.game_ids
    assert (others.state.hands != table.state.hands).any()
    first = agent.act(asked(table))
    assert agent.act(asked(others)).tolist() == first.tolist()
    for row in range(6):
        assert agent.act(asked(table, np.array([row]))).tolist() == [first[row]]


def test_the_shipped_belief_knows_more_than_nothing() -> None:
    """In games of the foreman the true world has a far higher weight than even draws."""
    game, bot, gains = KOLKHOZ, make_agent("foreman", KOLKHOZ), []
    belief = load_named("foreman", game)
    table = game.table(31, np.arange(12), auto_forced=True)
    while not table.over.all():
        rows = np.flatnonzero(~table.over)
        decisions = asked(table, rows)
        if table.decision[rows[0]] % 5 == 0:
            even = decisions.knowledge.worlds(60, 1)
            logs = belief.log_weights(decisions.observation, even, 60)
            true = belief.log_weights(decisions.observation, table.take(rows), 1)[:, 0]
            gains += (true - np.log(np.exp(logs).mean(axis=1))).tolist()
        actions = np.zeros(table.size, np.int64)
        actions[rows] = bot.act(decisions)
        table.step(actions)
    assert len(gains) > 150
    assert np.mean(gains) > 1.2


# Folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [False, True])
def test_a_belief_folder_comes_back_as_it_was(tmp_path: Path, half: bool) -> None:
    file = belief_file(half=half)
    save_belief(tmp_path / "belief", file)
    back = load_belief(tmp_path / "belief")
    assert (back.shape, back.training, back.half) == (file.shape, {"seed": 0}, half)
    for name, array in file.weights.items():
        assert np.allclose(back.weights[name], array, atol=1e-3 if half else 0)
    assert sorted(p.name for p in (tmp_path / "belief").iterdir()) == [
        "belief.json",
        "weights.safetensors",
    ]
    named = make_agent(f"search:worlds=1,belief={tmp_path / 'belief'}", KOLKHOZ)
    assert isinstance(named, SearchAgent)
    assert named.belief is not None


WRONG = [
    ({"format": "x"}, "format: 'x' should be 'kolkhoz-belief/1'"),
    ({"colour": 1}, "colour: unknown key; known: format, game,"),
    ({"training": []}, "training: [] should be an object"),
    ({"rules": {"players": True}}, "rules.players: True should be a whole number"),
    ({"observation": {"version": 1}}, "observation.size: None should be a whole number"),
    ({"network": {"hidden": "x"}}, "network.hidden: 'x' should be a list of whole numbers"),
    ({"network": {"heads": "phase"}}, "network.heads: should be 'shared' in a belief"),
    ({"game": "hearts"}, "a belief for 'hearts' cannot play 'kolkhoz'"),
    ({"rules": {"players": 3}}, "a belief for 3 players cannot play with 4"),
    ({"observation": {"version": 1, "size": 7}}, "its network reads observation size 7, and this"),
    ({"network": {"hidden": [9]}}, "weights: belief.weight has shape (371, 8), not (371, 9)"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_belief_folder_is_told_in_one_line(
    tmp_path: Path, change: dict, message: str
) -> None:
    save_belief(tmp_path, belief_file())
    path = tmp_path / "belief.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BeliefError) as error:
        load_named(str(tmp_path), KOLKHOZ)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_damaged_and_missing_beliefs_are_told(tmp_path: Path) -> None:
    save_belief(tmp_path, belief_file())
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:500])
    with pytest.raises(BeliefError, match=r"weights\.safetensors: damaged or cut short"):
        load_belief(tmp_path)
    (tmp_path / "belief.json").write_text("[1]")
    with pytest.raises(BeliefError, match="should hold a JSON object"):
        load_belief(tmp_path)
    with pytest.raises(AgentError, match=r"belief=nobody: there is no such belief; allowed: auto"):
        make_agent("search:belief=nobody", KOLKHOZ)
    with pytest.raises(BeliefError, match="a belief folder has this file"):
        load_belief(tmp_path / "none")


def test_a_belief_is_for_its_own_game(tmp_path: Path) -> None:
    three = KolkhozGame(Rules(players=3))
    with pytest.raises(BeliefError, match="a belief for 4 players cannot play with 3"):
        make_agent("search:belief=foreman,rollout=heuristic", three)
    game = toy_game.make_game()
    size = {"version": game.observation.version, "size": game.observation.size}
    file = replace(belief_file(), game=game.name, rules=game.rules_dict(), observation=size)
    with pytest.raises(BeliefError, match="does not tell what is hidden"):
        Belief(file, game, "toy")
