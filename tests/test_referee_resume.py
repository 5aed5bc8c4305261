"""Matches that are interrupted, saved, gone on with and recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_game import make_game as make_toy

from kolkhoz_agents.bots import BotFile, save_bot
from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.evaluation import Settings, evaluate
from kolkhoz_agents.match import RecordParts, digests
from kolkhoz_agents.network import NetworkShape
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.results import load_results
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_agents.words import counted
from kolkhoz_env.records import read_records, verify_file
from kolkhoz_train.cli.main import main

TOY = "toy_game:make_game"
TESTS = Path(__file__).parent


class Interrupt:
    """A progress that presses Ctrl-C once some deals are finished."""

    def __init__(self, after: int) -> None:
        self.left = after

    def start(self, deals: int, total: int) -> None: ...

    def decisions(self, count: int) -> None: ...

    def deals(self, count: int) -> None:
        self.left -= count
        if self.left <= 0:
            raise KeyboardInterrupt

    def stop(self) -> None: ...


def plain(result: Any) -> dict[str, Any]:
    found = result.as_dict()
    for table in found["tables"]:
        del table["seconds_per_decision"]
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_an_interrupted_match_goes_on_as_if_it_had_not_been(workers: int, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    common: dict[str, Any] = {"game": TOY, "deals": 60, "seed": 1, "workers": workers}
    agents = ("faulty_agents:Slow", "random")
    whole, _ = evaluate(*agents, Settings(**common))
    first, _ = evaluate(*agents, Settings(**common, state=state, progress=Interrupt(25)))
    assert first.stopped == "interrupted"
    assert 25 <= first.deals < 60
    assert first.tables[0].games == 3 * first.deals
    second, match = evaluate(*agents, Settings(**common, state=state))
    assert plain(second) == plain(whole)
    more, _ = evaluate(*agents, Settings(**{**common, "deals": 70}, state=state))
    assert more.deals == 70
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert len(match.results.deals) == 60


def test_a_state_file_of_another_match_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    evaluate("random", "random", Settings(game=TOY, deals=3, state=state))
    with pytest.raises(EvaluationError, match=r"state\.npz: .* seed is 0 there and 1 here"):
        evaluate("random", "random", Settings(game=TOY, deals=3, seed=1, state=state))
    with pytest.raises(EvaluationError, match="agents is"):
        evaluate("random", "mix:rest=random", Settings(game=TOY, deals=3, state=state))
    rules = {"trumps": False}
    with pytest.raises(EvaluationError, match="rules is"):
        evaluate("random", "random", Settings(game=TOY, rules=rules, deals=3, state=state))
    content = state.read_bytes()
    for damaged in (b"", content[:200], b"{}", b"PK" + content[2:60]):
        state.write_bytes(damaged)
        with pytest.raises(EvaluationError, match=r"state\.npz: not a file of results"):
            load_results(state)


def test_a_bot_that_has_learned_on_is_another(tmp_path: Path) -> None:
    folder, state = tmp_path / "bot", tmp_path / "state.npz"
    shape, game = NetworkShape((8,)), make_toy()
    for seed in (1, 2):
        network = PolicyValueNetwork(shape, game)
        network.initialise(seed)
        observation = {"version": game.observation.version, "size": game.observation.size}
        bot = BotFile(game.name, game.rules_dict(), observation, shape, network.weights())
        save_bot(folder, bot)
        settings = Settings(game=TOY, deals=2 + seed, workers=0, state=state)
        if seed == 1:
            evaluate(str(folder), "random", settings)
            (outer,) = digests(make_agent(f"mix:play={folder},rest=random", game))
        else:
            with pytest.raises(EvaluationError, match="another match: bots is"):
                evaluate(str(folder), "random", settings)
            assert digests(make_agent(f"mix:play={folder},rest=random", game)) != [outer]
    assert load_results(state)[0].deals.tolist() == [0, 1, 2]


def test_a_state_file_holds_nothing_that_could_execute(tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    with open(state, "wb") as file:
        np.savez(file, meta=np.array([object()], dtype=object))
    with pytest.raises(EvaluationError, match="not a file of results"):
        load_results(state)


def test_records_come_in_the_order_of_deals_and_seatings(tmp_path: Path) -> None:
    files = []
    for name, workers in (("one.jsonl", 0), ("two.jsonl", 2)):
        records = tmp_path / name
        settings = Settings(deals=3, seed=5, workers=workers, records=records)
        result, match = evaluate("random", "mix:rest=random", settings)
        assert verify_file(records) == 3 * 8
        files.append(records.read_text())
    assert files[0] == files[1]
    scores = [record["result"]["scores"] for record in read_records(records)]
    np.testing.assert_array_equal(match.results.values[..., 2].reshape(24, 4), scores)
    assert len(result.seatings) == 8
    without, _ = evaluate("random", "mix:rest=random", Settings(deals=3, seed=5, workers=0))
    assert plain(without) == plain(result)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


def test_records_of_an_interrupted_match_are_completed(tmp_path: Path) -> None:
    records, state = tmp_path / "games.jsonl", tmp_path / "state.npz"
    common: dict[str, Any] = {"deals": 14, "workers": 0, "records": records, "state": state}
    agents = ("faulty_agents:Slow", "random")
    first, _ = evaluate(*agents, Settings(**common, progress=Interrupt(6)))
    assert verify_file(records) == 8 * first.deals
    evaluate(*agents, Settings(**common))
    assert verify_file(records) == 8 * 14
    whole = tmp_path / "whole.jsonl"
    evaluate(*agents, Settings(deals=14, workers=0, records=whole))
    assert whole.read_text() == records.read_text()
    with pytest.raises(EvaluationError, match=r"games.jsonl.parts: holds the records of 0 deals"):
        evaluate(*agents, Settings(**{**common, "deals": 15}))


def test_records_written_after_the_last_saved_state_are_played_again(tmp_path: Path) -> None:
    parts = RecordParts(tmp_path / "games.jsonl")
    parts.folder.mkdir()
    for name in ("000000000000-4", "000000000004-4", "000000000008-2"):
        (parts.folder / f"{name}.jsonl").write_text("{}\n")
    parts.check(np.arange(4))
    assert [path.name for path in parts.folder.iterdir()] == ["000000000000-4.jsonl"]
    with pytest.raises(EvaluationError, match="holds the records of 4 deals where 5 are finished"):
        parts.check(np.arange(5))


def test_parts_of_an_older_match_are_cleared_away(tmp_path: Path) -> None:
    parts = RecordParts(tmp_path / "games.jsonl")
    parts.folder.mkdir()
    (parts.folder / "000000000000-4.jsonl").write_text("{}\n")
    parts.check(np.zeros(0, np.int64))
    assert not parts.folder.exists()


def test_a_game_without_records_says_so() -> None:
    with pytest.raises(EvaluationError, match="the game 'toy' keeps no records"):
        evaluate("random", "random", Settings(game=TOY, deals=1, records="x.jsonl"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_prints_and_saves_what_was_finished(workers: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kolkhoz_train", "evaluate", "faulty_agents:Slow", "random"]
    command += ["--deals", "100000", "--game", TOY, "--workers", workers, "--json", "result.json"]
    command += ["--resume", "state.npz"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as running:  # fmt: skip
        wait_for(tmp_path, "state.npz")
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "Traceback" not in errors
    assert "win share" in output
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["stopped"] == "interrupted"
    assert 0 < result["deals"] < 100000
    assert f"finished: {counted(result['deals'], 'deal')}, kept in state.npz" in errors
    assert len(load_results(tmp_path / "state.npz")[0].deals) == result["deals"]


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kolkhoz_train", "evaluate", "faulty_agents:Beating", "random"]
    command += ["--deals", "100000", "--game", TOY, "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_for(tmp_path, "beat-*")
        running.kill()
        # Waits for the workers too, who share it: not for the half minute that a piece takes.
        _, errors = running.communicate(timeout=15)
    assert "Traceback" not in errors


def wait_for(folder: Path, name: str) -> None:
    """Wait for a file: a state file, say, is written as soon as a first piece is finished."""
    for _ in range(600):
        if list(folder.glob(name)):
            return
        time.sleep(0.1)
    pytest.fail(f"{name} does not appear")


def test_the_command_writes_what_it_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "result.json"
    command = ["evaluate", "random", "greedy", "--deals", "4", "--seed", "7", "--json", str(found)]
    assert main([*command, "--players", "3"]) == 0
    result = json.loads(found.read_text())
    assert {"players": 3, "deals": 4, "seed": 7}.items() <= result.items()
    first, second = result["tables"]
    assert (first["agent"], first["against"], first["games"]) == ("random", "greedy", 12)
    assert (second["agent"], second["against"]) == ("greedy", "random")
    for table in result["tables"]:
        for name in ("win_share", "rank", "score", "margin"):
            mean, low, high = table[name]
            assert low <= mean <= high
        assert [row["seat"] for row in table["per_seat"]] == [0, 1, 2]
        assert all(len(row["win_share"]) == 3 for row in table["per_seat"])
        assert 0 < table["seconds_per_decision"] < 1
    shown = capsys.readouterr().out
    assert "against copies of greedy" in shown
    assert "medals" in shown
    assert main([*command[:-1], "-", "--rule", "hero_of_labor=false"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]["hero_of_labor"] is False


def test_until_width_stops_when_it_is_narrow(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "random", "random", "--game", TOY, "--json", "-", "--workers", "1"]
    assert main([*command, "--until-width", "0.035"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["deals"] > 200
    for table in result["tables"]:
        _, low, high = table["win_share"]
        assert high - low <= 0.035
    assert main([*command, "--until-width", "0.01", "--deals", "300"]) == 0
    assert json.loads(capsys.readouterr().out)["deals"] == 300


def test_until_width_goes_on_from_a_file_that_holds_more(tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    common: dict[str, Any] = {"game": TOY, "workers": 0, "state": state}
    evaluate("random", "random", Settings(**common, deals=700))
    result, _ = evaluate("random", "random", Settings(**common, until_width=0.03))
    fresh, _ = evaluate("random", "random", Settings(game=TOY, workers=0, until_width=0.03))
    assert result.deals == max(700, fresh.deals)
    assert result.tables[0].win_share.width <= 0.03


@pytest.mark.parametrize("option", ["--json", "--records", "--resume", "--plot"])
def test_a_place_that_cannot_be_written_is_refused_before_play(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tournament" if option == "--plot" else "evaluate", "random", "greedy", option]
    (tmp_path / "file.png").write_text("")
    assert main([*command, str(tmp_path / "file.png" / "below" / "x.png")]) == 2
    assert "file.png is no folder that can be written to" in capsys.readouterr().err
    (tmp_path / "folder.png").mkdir()
    assert main([*command, str(tmp_path / "folder.png")]) == 2
    assert f"{option} {tmp_path / 'folder.png'}: is a folder" in capsys.readouterr().err
