"""Search: honest, repeatable, within its budget, and stronger than who plays on in it."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest
import toy_game

from kolkhoz_agents import quick_network, search
from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.network import NetworkShape, NumpyNetwork, expected_weights
from kolkhoz_agents.playouts import Playouts
from kolkhoz_agents.protocol import Agent, Decisions, Game, Table
from kolkhoz_agents.quick_network import Bfloat16Network
from kolkhoz_agents.referee import Referee, make_decisions
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.search import SearchAgent
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.rules import PLAY, Rules
from kolkhoz_env.vector import VectorKolkhoz

KOLKHOZ = KolkhozGame()


def asked(game: Any, table: Any, agent: Agent, rows: np.ndarray | None = None) -> Decisions:
    rows = np.arange(table.size) if rows is None else rows
    return make_decisions(game, table, rows, table.legal_mask()[rows], 1, agent.needs)


def stand_at(
    steps: int, games: int = 4, seed: int = 2, rules: Rules | None = None
) -> VectorKolkhoz:
    """Games of the heuristic after some decisions."""
    game = KolkhozGame(rules)
    agent = make_agent("heuristic", game)
    table = game.table(seed, np.arange(games))
    for _ in range(steps):
        table.step(agent.act(asked(game, table, agent)))
    return table


# Honesty --------------------------------------------------------------------------------------


def test_search_decides_alike_whatever_the_hidden_cards_are() -> None:
    agent = make_agent("search:worlds=3,rollout=random", KOLKHOZ)
    table = stand_at(70, games=3)
    others = table.knowledge().worlds(1, seed=77)
    others.game_ids[:] = table.game_ids
    assert (others.state.hands != table.state.hands).any()
    first = agent.act(asked(KOLKHOZ, table, agent))
    assert agent.act(asked(KOLKHOZ, others, agent)).tolist() == first.tolist()


def test_search_asks_for_knowledge_alone_and_the_cheater_says_that_it_sees_all() -> None:
    assert make_agent("search:rollout=random", KOLKHOZ).needs == {"knowledge"}
    cheater = make_agent("cheater:rollout=random", KOLKHOZ)
    assert cheater.needs == {"table"}
    assert cheater.name.startswith("cheater")


def test_search_refuses_who_sees_hidden_cards() -> None:
    with pytest.raises(AgentError, match="sees hidden cards"):
        make_agent("search:rollout=cheater", KOLKHOZ)


def test_search_plays_on_with_nobody_who_searches() -> None:
    with pytest.raises(AgentError, match="rollout=search:ms=5: a search would think at every move"):
        make_agent("search:rollout=(search:ms=5)", KOLKHOZ)
    with pytest.raises(AgentError, match="rollout: unknown agent 'nobody'"):
        make_agent("search:rollout=nobody", KOLKHOZ)


# Repeatable -----------------------------------------------------------------------------------


def test_a_budget_of_worlds_gives_the_same_moves_in_any_batch() -> None:
    agent = make_agent("search:worlds=5", KOLKHOZ)
    table = stand_at(45, games=5)
    together = agent.act(asked(KOLKHOZ, table, agent))
    again = make_agent("search:worlds=5", KOLKHOZ).act(asked(KOLKHOZ, table, agent))
    assert again.tolist() == together.tolist()
    for row in (0, 3):
        alone = agent.act(asked(KOLKHOZ, table, agent, np.array([row])))
        assert alone.tolist() == [together[row]]


# Budget ---------------------------------------------------------------------------------------


class CountingPlayouts(Playouts):
    """Counts the games."""

    games = 0

    def values(self, table: Table, seats: Any, keys: Any) -> Any:
        self.games += table.size
        return super().values(table, seats, keys)


@pytest.mark.parametrize(("steps", "worlds"), [(0, 8), (4, 6)])
def test_worlds_are_spent_round_by_round_on_fewer_and_fewer_moves(steps: int, worlds: int) -> None:
    agent = SearchAgent(KOLKHOZ, worlds=worlds, rollout="random", horizon="year")
    agent.playouts = CountingPlayouts(KOLKHOZ, agent.policy, to_end=False)
    table = stand_at(steps, games=1)
    moves = int(table.legal_mask().sum())
    assert moves > 1
    agent.act(asked(KOLKHOZ, table, agent))
    assert worlds * moves <= agent.playouts.games <= worlds * moves + 4 * moves


def test_a_decision_without_a_choice_costs_nothing() -> None:
    agent = SearchAgent(KOLKHOZ, ms=5000, rollout="random")
    table = stand_at(3, games=12)
    forced = np.flatnonzero(table.legal_mask().sum(axis=1) == 1)
    begin = perf_counter()
    assert len(forced)
    agent.act(asked(KOLKHOZ, table, agent, forced))
    assert perf_counter() - begin < 1


def test_a_budget_of_time_is_kept_about() -> None:
    agent = make_agent("search:ms=150,rollout=random", KOLKHOZ)
    table = stand_at(2, games=4)
    agent.act(asked(KOLKHOZ, table, agent))
    begin = perf_counter()
    agent.act(asked(KOLKHOZ, table, agent))
    assert 0.1 < perf_counter() - begin < 6  # 0.6 s on a quiet machine


# Values ---------------------------------------------------------------------------------------


class Valued:
    """A policy with values, as a bot has them: sure of the victory of even seats."""

    options = ()

    def __init__(self, game: Game) -> None:
        self.name = "valued"
        self.needs = frozenset({"observation"})
        self.asked: list[Decisions] = []

    def act(self, decisions: Decisions) -> np.ndarray:
        return decisions.mask.argmax(axis=1)

    def values(self, decisions: Decisions) -> np.ndarray:
        self.asked.append(decisions)
        return np.where(np.asarray(decisions.seat) % 2 == 0, 0.75, -0.25)


def test_a_policy_with_values_is_asked_at_the_seats_next_decision_of_the_next_year() -> None:
    policy = Valued(KOLKHOZ)
    table = stand_at(20, games=6)
    seats = np.array([0, 1, 2, 3, 0, 1])
    playouts = Playouts(KOLKHOZ, policy, to_end=False)
    values = playouts.values(table, seats, np.zeros(6, dtype=np.uint64))
    assert values.tolist() == [1, 0, 1, 0, 1, 0]
    # All at once: for a network that is hardly more work than one.
    assert [len(decisions) for decisions in policy.asked] == [6]


@pytest.mark.parametrize("patch", [True, False])
def test_a_bot_that_plays_on_computes_in_bfloat16_where_that_is_fast(
    patch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_network, "bfloat16_is_fast", lambda: patch)
    kinds = [
        type(make_agent(f"search:{options},rollout=foreman", KOLKHOZ).policy.network)  # type: ignore[attr-defined]
        for options in ("ms=20", "worlds=4", "ms=20,precision=float32")
    ]
    assert kinds == [Bfloat16Network if patch else NumpyNetwork, NumpyNetwork, NumpyNetwork]
    if not patch:
        with pytest.raises(AgentError, match="precision=bfloat16"):
            make_agent("search:worlds=4,rollout=foreman,precision=bfloat16", KOLKHOZ)
    with pytest.raises(AgentError, match="needs a bot"):
        make_agent("search:worlds=4,rollout=random,precision=bfloat16", KOLKHOZ)


@pytest.mark.parametrize("heads", ["shared", "phase"])
@pytest.mark.parametrize("trunk", ["shared", "separate"])
def test_bfloat16_agrees_with_numpy_to_two_digits(heads: str, trunk: str) -> None:
    shape = NetworkShape(hidden=(64, 32), heads=heads, trunk=trunk, inputs=("hand", "year"))
    draw = np.random.default_rng(1)
    weights = {
        name: draw.normal(0, 0.2, size).astype(np.float32)
        for name, size in expected_weights(shape, KOLKHOZ).items()
    }
    table = stand_at(30, games=16)
    decisions = asked(KOLKHOZ, table, make_agent("foreman", KOLKHOZ))
    assert decisions.observation is not None
    exact = NumpyNetwork(shape, weights, KOLKHOZ)
    quick = Bfloat16Network(shape, weights, KOLKHOZ)
    for rows in (1, 5, 16):
        seen = decisions.observation[:rows], np.asarray(decisions.phase[:rows])
        for one, other in zip(exact.plain(*seen), quick.plain(*seen), strict=True):
            assert one.shape == other.shape
            assert np.allclose(one, other, atol=0.05)


def test_the_pace_tells_what_every_pass_takes_from_what_every_game_does() -> None:
    pace = search._Pace()
    assert pace.seconds(100) == 0
    assert pace.rows(1.0) == search.FEW_ROWS
    pace.took(100, 0.03)
    assert pace.seconds(100) == pytest.approx(0.03)
    pace.took(1000, 0.12)
    assert pace.seconds(500) == pytest.approx(0.07)
    assert pace.rows(0.07) == pytest.approx(500)
    assert pace.rows(0.01) == 0


def test_at_the_end_of_the_game_the_win_share_counts() -> None:
    table = stand_at(150, games=8)
    policy = make_agent("heuristic", KOLKHOZ)
    on = table.take(np.arange(8))
    while not on.over.all():
        rows = np.flatnonzero(~on.over)
        actions = np.zeros(8, dtype=np.int64)
        actions[rows] = policy.act(asked(KOLKHOZ, on, policy, rows))
        on.step(actions)
    for to_end in (True, False):
        playouts = Playouts(KOLKHOZ, policy, to_end=to_end)
        values = playouts.values(table.take(np.arange(8)), np.full(8, 2), np.zeros(8, np.uint64))
        if to_end or (table.state.year == 5).all():
            assert values.tolist() == on.outcome().win_share[:, 2].tolist()


def test_estimates_are_shares_and_rise_with_the_holdings() -> None:
    table = stand_at(100, games=20)
    share = table.estimate()
    assert np.allclose(share.sum(axis=1), 1)
    score = table.outcome().score
    richest = score.argmax(axis=1)
    clear = np.sort(score, axis=1)[:, -1] > np.sort(score, axis=1)[:, -2] + 8
    assert clear.any()
    assert (share.argmax(axis=1) == richest)[clear].all()
    while not table.over.all():
        table.step(np.where(table.over, 0, table.legal_mask().argmax(axis=1)))
    assert np.array_equal(table.estimate(), table.outcome().win_share)


# Strength -------------------------------------------------------------------------------------


def test_the_cheater_foresees_the_last_year_against_players_that_it_knows() -> None:
    """With all cards seen and true models of the others, no other move would do better."""
    agent = make_agent("cheater:worlds=1,rollout=heuristic,horizon=game,prior=0", KOLKHOZ)
    table = stand_at(152, games=30)
    assert (table.phase == PLAY).any()
    chosen = agent.act(asked(KOLKHOZ, table, agent))
    playouts = Playouts(KOLKHOZ, make_agent("heuristic", KOLKHOZ), to_end=True)
    mask = table.legal_mask()
    for row in np.flatnonzero((mask.sum(axis=1) > 1) & (mask.sum(axis=1) < 3)):
        moves = np.flatnonzero(mask[row])
        branches = table.take(np.full(len(moves), row))
        branches.step(moves)
        seats = np.full(len(moves), table.seat[row])
        values = playouts.values(branches, seats, np.zeros(len(moves), dtype=np.uint64))
        assert values[moves.tolist().index(chosen[row])] == values.max()


def win_share(game: Any, texts: list[str], deals: int) -> float:
    """Of the first agent, at one seat against copies of the second."""
    agents = [make_agent(text, game) for text in texts]
    seats = game.num_seats
    seatings = np.where(np.eye(seats, dtype=bool), 0, 1).astype(np.int8)
    played = Referee(game, agents, seatings, seed=5).play(np.arange(deals))
    return float(played.values[:, np.arange(seats), np.arange(seats), 0].mean())


def test_a_few_worlds_make_the_random_player_strong() -> None:
    small = KolkhozGame(Rules(players=3, years=1))
    assert win_share(small, ["search:worlds=4,rollout=random", "random"], 14) > 0.42


# Any game -------------------------------------------------------------------------------------


class OpenToy(toy_game.ToyGame):
    """Toy whist whose knowledge can draw worlds; it has no stages and estimates nothing."""

    def table(self, *args: Any, **kwargs: Any) -> Any:
        return OpenTable(super().table(*args, **kwargs))


class OpenTable:
    """A table of toy whist with worlds: the cards of the other hands, shuffled."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def take(self, rows: Any) -> Any:
        return OpenTable(self.inner.take(rows))

    def knowledge(self, rows: Any) -> Any:
        return OpenKnowledge(self.inner.take(rows))


class OpenKnowledge:
    """Enough of a `Knowledge` for search."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.size = inner, inner.size

    def take(self, rows: Any) -> Any:
        return OpenKnowledge(self.inner.take(rows))

    def worlds(self, count: int, seed: Any) -> Any:
        worlds = self.inner.take(np.repeat(np.arange(self.size), count))
        for row in range(worlds.size):
            draw = np.random.default_rng([int(seed[row // count]), row % count])
            others = [s for s in range(3) if s != worlds.seat[row]]
            sizes = worlds.hands[row].sum(axis=1)
            cards = draw.permutation(np.flatnonzero(worlds.hands[row, others].any(axis=0)))
            worlds.hands[row, others] = False
            worlds.hands[row, others[0], cards[: sizes[others[0]]]] = True
            worlds.hands[row, others[1], cards[sizes[others[0]] :]] = True
        return OpenTable(worlds)


def test_search_plays_any_game_that_draws_worlds() -> None:
    toy = OpenToy()
    agent = make_agent("search:worlds=6", toy)
    assert "rollout=random" in agent.name
    assert "horizon=game" in agent.name
    assert win_share(toy, ["search:worlds=6", "random"], 12) > 0.45
    with pytest.raises(AgentError, match="horizon=game"):
        make_agent("search:worlds=2,horizon=year", toy)
