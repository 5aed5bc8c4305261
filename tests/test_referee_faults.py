"""Agents that fail are named with their seat and position, and the match is not lost."""

from __future__ import annotations

import json
from pathlib import Path

import faulty_agents
import numpy as np
import pytest
from toy_game import make_game as make_toy

from kolkhoz_agents.evaluation import Evaluation, Settings, evaluate, evaluate_agents
from kolkhoz_agents.faults import AgentFault, Fault
from kolkhoz_agents.games import make_game
from kolkhoz_agents.match import Match
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.referee import metrics
from kolkhoz_env.records import replay
from kolkhoz_train.cli.main import main

TOY = "toy_game:make_game"
REASONS = {
    "Cheat": "which is not legal",
    "OutOfRange": "played 999 (no action), which is not legal",
    "Crash": "raised RuntimeError: no idea",
    "Misshapen": "answered float64[",
    "Ragged": "answered what is no array: ",
}


def play(agent: str, **options: object) -> tuple[Evaluation, Match]:
    settings = Settings(**{"game": TOY, "deals": 40, "workers": 0, **options})
    return evaluate(f"faulty_agents:{agent}", "random", settings)


@pytest.mark.parametrize("agent", REASONS)
def test_a_fault_stops_the_match_by_default(agent: str) -> None:
    result, _ = play(agent)
    assert result.stopped == "fault"
    (fault,) = result.faults
    assert fault.agent == f"faulty_agents:{agent}"
    assert REASONS[agent] in fault.reason
    assert fault.position["agents"][fault.seat] == fault.agent
    assert f"at seat {fault.seat}" in fault.line()
    assert fault.position["view"]["seat"] == fault.seat
    assert fault.position["view"]["legal"] == fault.position["legal"]


@pytest.mark.parametrize("agent", ["Cheat", "OutOfRange", "Crash"])
def test_a_forfeit_costs_one_game(agent: str) -> None:
    result, match = play(agent, on_fault="forfeit")
    assert result.stopped is None
    assert result.deals == 40
    faulty, others = result.tables
    assert 0 < faulty.forfeits < faulty.games
    assert others.forfeits == 0
    assert len(result.faults) == match.results.forfeits.sum()
    values, forfeits = match.results.values, match.results.forfeits
    assert (values[forfeits][:, 0] == 0).all()
    assert (values[forfeits][:, 1] >= 2).all()
    np.testing.assert_allclose(values[..., 0].sum(axis=2), 1, atol=1e-6)
    np.testing.assert_allclose(values[..., 1].sum(axis=2), 6)


def test_other_decisions_of_a_call_that_raises_are_answered() -> None:
    game = make_toy()
    crash, cheat = faulty_agents.Crash(game), faulty_agents.Cheat(game)
    played = []
    for agent in (crash, cheat):
        result = evaluate_agents(game, agent, RandomAgent(game), deals=40, on_fault="forfeit")
        played.append([(fault.seat, fault.position["deal"]) for fault in result.faults])
    # Both fail at the same decisions, so taking a batch apart finds just those.
    assert sorted(played[0]) == sorted(played[1])
    assert len(played[0]) > 3


def test_an_agent_that_thinks_for_ever_is_stopped() -> None:
    result, _ = play("Sleeper", deals=30, limit=0.2)
    assert result.stopped == "fault"
    assert "took more than 0.2 seconds (--time-limit) for a call of" in result.faults[0].reason
    result, _ = play("Sleeper", deals=8, limit=0.2, on_fault="forfeit")
    assert result.stopped is None
    assert result.deals == 8


def test_a_fault_in_a_worker_process_is_the_same() -> None:
    result, match = play("Cheat", deals=2000, workers=2)
    assert result.stopped == "fault"
    assert REASONS["Cheat"] in result.faults[0].reason
    assert len(match.results.deals) < 2000


def test_finished_deals_outlive_a_fault(tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    # Played in pieces of two deals, the first of which goes well under seed 0.
    result, match = play("Sleeper", deals=60, limit=0.2, state=state)
    assert result.stopped == "fault"
    assert state.exists()
    assert result.tables[0].games == 3 * len(match.results.deals) > 0


def test_the_position_comes_with_the_whole_game_as_a_record() -> None:
    game = make_game("kolkhoz")
    with pytest.raises(AgentFault) as caught:
        evaluate_agents(game, faulty_agents.Cheat(game), RandomAgent(game), deals=5)
    position = caught.value.fault.position
    record = replay(position["record"])
    moves = [move for year in record["years"] for move in year["moves"]]
    at_fault = moves[position["decision"]]
    assert at_fault["seat"] == caught.value.fault.seat
    assert at_fault["phase"] == position["phase"]
    assert at_fault["legal"] == position["view"]["legal"]
    json.dumps(caught.value.fault.as_dict())


def test_everybody_may_forfeit() -> None:
    game = make_toy()
    table = game.table(0, np.arange(5), auto_forced=True)
    while not table.over.all():
        table.step(np.argmax(table.legal_mask(), axis=1))
    values = metrics(game, table, np.ones((5, 3), dtype=bool))
    assert (values[..., 0] == 0).all()


def test_the_command_describes_faults_and_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["evaluate", "faulty_agents:Crash", "random", "--game", TOY, "--deals", "9"]
    command += ["--workers", "1", "--json", "result.json"]
    assert main(command) == 1
    message = capsys.readouterr().err
    assert "faulty_agents:Crash at seat" in message
    assert "--resume evaluate-0.npz" in message
    (described,) = (tmp_path / "faults").iterdir()
    fault = json.loads(described.read_text())
    assert fault["format"] == "kolkhoz-fault/1"
    assert 'raise RuntimeError("no idea")' in fault["detail"]
    assert json.loads((tmp_path / "result.json").read_text())["stopped"] == "fault"
    assert main([*command, "--on-fault", "forfeit"]) == 0
    assert Fault(**{k: v for k, v in fault.items() if k != "format"}).seat == fault["seat"]
