"""The referee: fair to seats, the same in any batch, and what it reports is what happened."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import faulty_agents
import numpy as np
import pytest
from rich.console import Console
from tiny_games import Always, Duel, Lottery
from toy_game import make_game as make_toy

from kolkhoz_agents.bots import BotFile, save_bot
from kolkhoz_agents.decisions import agent_seed, decision_keys, uniform
from kolkhoz_agents.display import evaluation_table
from kolkhoz_agents.evaluation import Settings, evaluate, evaluate_agents
from kolkhoz_agents.games import make_game
from kolkhoz_agents.network import NetworkShape, expected_weights
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.referee import Referee
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.seating import mixed_groups, pair_plan, tournament_plan

TOY = "toy_game:make_game"


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    for table in result["tables"]:
        del table["seconds_per_decision"]
    return result


def test_seats_owe_nothing_to_anybody() -> None:
    # The first seat wins most deals, whoever sits there: rotations leave exactly par.
    game = Lottery()
    result = evaluate_agents(game, Always(game), Always(game, 1), deals=400)
    for line in result.tables:
        assert line.win_share.mean == pytest.approx(1 / 3, abs=1e-6)
        assert line.per_seat[0].mean > 0.6 > 0.2 > line.per_seat[2].mean
        assert sum(seat.mean for seat in line.per_seat) == pytest.approx(1)


def test_an_agent_against_itself_gets_par() -> None:
    for name, players in (("kolkhoz", 4), ("kolkhoz", 3), (TOY, 3)):
        rules = {"players": players} if name == "kolkhoz" else {}
        settings = Settings(game=name, rules=rules, deals=150, seed=2, workers=0)
        result, _ = evaluate("random", "random", settings)
        for line in result.tables:
            assert line.win_share.low < 1 / players < line.win_share.high
            assert 0.02 < line.win_share.width < 0.12


def test_one_way_is_the_first_half_of_both() -> None:
    settings = Settings(deals=20, seed=3, workers=0)
    both, _ = evaluate("greedy", "random", settings)
    one, match = evaluate("greedy", "random", settings, one_way=True)
    assert [line.agent for line in both.tables] == ["greedy", "random"]
    assert one.tables[0].as_dict()["win_share"] == both.tables[0].as_dict()["win_share"]
    assert len(one.tables) == 1
    assert match.results.values.shape[1] == 4  # a greedy in each seat, and nothing else


def test_the_interval_of_the_referee_covers_par() -> None:
    # Toy whist in 60 matches of other seeds: about 57 of 60 intervals should hold par.
    game = make_toy()
    held = []
    for seed in range(60):
        result = evaluate_agents(game, RandomAgent(game), RandomAgent(game), deals=80, seed=seed)
        held += [line.win_share.low <= 1 / 3 <= line.win_share.high for line in result.tables]
    assert np.mean(held) >= 0.89


def test_the_figures_are_what_happened() -> None:
    game = Duel()
    rock, paper = Always(game, 0), Always(game, 1)
    result = evaluate_agents(game, paper, rock, deals=10, seed=4)
    winner, loser = result.tables
    assert (winner.agent, winner.against, winner.games) == ("always-1", "always-0", 20)
    assert winner.win_share.mean == 1.0 > winner.win_share.low > 0.6
    assert tuple(winner.rank) == (1.0, 1.0, 1.0)
    assert tuple(winner.margin) == (1.0, 1.0, 1.0)
    assert winner.statistics["choice"].mean == 1.0
    assert (loser.win_share.mean, loser.rank.mean, loser.score.mean) == (0.0, 2.0, 0.0)
    assert result.seatings == (("always-1", "always-0"), ("always-0", "always-1"))


@pytest.mark.parametrize("game_name", ["kolkhoz", TOY])
def test_a_deal_is_the_same_in_any_batch(game_name: str) -> None:
    game = make_game(game_name)
    agents = [make_agent("random", game), make_agent("mix:rest=random", game)]
    referee = Referee(game, agents, pair_plan(game.num_seats, [(0, 1)]).seatings, seed=9)
    together = referee.play(np.arange(12))
    for deals in ([3], [11, 4], [7, 8, 9]):
        alone = referee.play(np.array(deals))
        np.testing.assert_array_equal(alone.values, together.values[deals])
    again = Referee(game, agents, referee.seatings, seed=9).play(np.arange(12))
    np.testing.assert_array_equal(again.values, together.values)
    assert (Referee(game, agents, referee.seatings, 10).play(np.arange(12)).values
            != together.values).any()  # fmt: skip


def test_the_number_of_workers_changes_nothing() -> None:
    results = []
    for workers in (0, 1, 2, 3):
        settings = Settings(game=TOY, deals=1500, seed=3, workers=workers)
        result, match = evaluate("random", "mix:trump=random,play=random", settings)
        results.append((without_times(result.as_dict()), match.results.values))
        assert match.chunk < 1500
    assert all(other[0] == results[0][0] for other in results[1:])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_networks_play_alike_for_any_number_of_workers(tmp_path: Path) -> None:
    game, shape = make_toy(), NetworkShape(hidden=(64, 64))
    generator = np.random.default_rng(3)
    weights = {
        name: generator.normal(0, 0.3, size).astype(np.float32)
        for name, size in expected_weights(shape, game).items()
    }
    layout = {"version": game.observation.version, "size": game.observation.size}
    save_bot(tmp_path, BotFile(game.name, game.rules_dict(), layout, shape, weights))
    values = []
    for workers in (1, 2):
        settings = Settings(game=TOY, deals=1500, seed=3, workers=workers)
        _, match = evaluate(f"{tmp_path}:temperature=1", "random", settings)
        values.append(match.results.values)
    np.testing.assert_array_equal(*values)


def test_a_worker_that_dies_is_reported() -> None:
    settings = Settings(game=TOY, deals=2000, workers=2)
    result, _ = evaluate("faulty_agents:Dead", "random", settings)
    assert result.stopped == "a worker process died (exit code 3)"
    assert result.deals < 2000


def test_agents_get_what_they_need_and_nothing_else() -> None:
    game = make_game("kolkhoz")
    seen = {}
    for needs in ("", "observation", "knowledge", "observation+knowledge"):
        agent = faulty_agents.Curious(game, needs)
        evaluate_agents(game, agent, RandomAgent(game), deals=2)
        seen[needs] = agent.given
    for decisions in seen[""]:
        assert decisions.observation is decisions.knowledge is decisions.table is None
    for decisions in seen["observation"]:
        assert decisions.observation.shape == (len(decisions), game.observation.size)
        assert decisions.knowledge is decisions.table is None
    for decisions in seen["observation+knowledge"]:
        np.testing.assert_array_equal(decisions.mask, decisions.knowledge.legal_mask())
        np.testing.assert_array_equal(decisions.observation, decisions.knowledge.observe())
        assert decisions.table is None
        own = decisions.knowledge.state.hands
        others = np.arange(4) != decisions.seat[:, None]
        assert not own[others].any()


def test_an_agent_that_sees_all_cards_is_marked_everywhere() -> None:
    game = make_game("kolkhoz")
    cheat = faulty_agents.Curious(game, "table")
    result = evaluate_agents(game, cheat, make_agent("mix:rest=random", game), deals=2)
    assert cheat.given[0].table.size == len(cheat.given[0])
    assert [line.sees_all_cards for line in result.tables] == [True, False]
    assert result.as_dict()["tables"][0]["sees_all_cards"] is True
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(evaluation_table(result))
    assert "random (sees all cards)" in console.export_text()


def test_keys_are_told_apart_and_tell_nothing_of_the_deck() -> None:
    games, decision, seat = (np.arange(40).repeat(8), np.tile(np.arange(8), 40), np.zeros(320, int))
    keys = decision_keys(agent_seed(1, "0"), games, decision, seat)
    others = [
        decision_keys(agent_seed(1, "1"), games, decision, seat),
        decision_keys(agent_seed(2, "0"), games, decision, seat),
        decision_keys(agent_seed(1, "0"), games, decision, seat + 1),
    ]
    assert len(np.unique(np.concatenate([keys, *others]))) == 4 * 320
    assert agent_seed(1, "0") == agent_seed(1, "0")
    draws = uniform(keys, 50)
    assert 0 < draws.min() < draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(draws.ravel(), uniform(keys, 50, purpose=1).ravel())[0, 1]) < 0.03


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_every_pair_sits_everywhere(seats: int) -> None:
    plan = pair_plan(seats, [(0, 1), (2, 0)])
    assert len(plan.lines) == 4
    for line in plan.lines:
        assert sorted(seat for _, seat in line.places) == list(range(seats))
        for seating, seat in line.places:
            row = plan.seatings[seating].tolist()
            assert row[seat] == line.agent
            assert row.count(line.against[0]) == seats - 1
    assert len(np.unique(plan.seatings, axis=0)) == len(plan.seatings)


@pytest.mark.parametrize(("agents", "seats", "most"), [(2, 4, 24), (5, 4, 24), (12, 3, 40)])
def test_mixed_tables_are_balanced(agents: int, seats: int, most: int) -> None:
    groups = mixed_groups(agents, seats, most, seed=1)
    assert len(groups) == len(set(groups)) <= most
    plan = tournament_plan(seats, agents, groups)
    mixed = [line for line in plan.lines if not line.against]
    assert len(mixed) == agents
    counts = []
    for line in mixed:
        seats_of_line = [seat for _, seat in line.places]
        counts.append(len(seats_of_line))
        assert len({seats_of_line.count(seat) for seat in range(seats)}) == 1
        assert all(plan.seatings[seating][seat] == line.agent for seating, seat in line.places)
    assert max(counts) - min(counts) <= seats * 2
    pairs = {(line.agent, line.against[0]) for line in plan.lines if line.against}
    assert pairs == set(itertools.permutations(range(agents), 2))
