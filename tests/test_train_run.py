"""Whole runs on the toy game: folders, stopping, resuming to the same bits, damaged checkpoints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console
from safetensors.numpy import load_file
from toy_game import ToyGame

from kolkhoz_agents.bots import make_bot
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_env.errors import KolkhozError
from kolkhoz_train import checkpoint as checkpoints
from kolkhoz_train.checkpoint import Checkpoint, CheckpointError, load_latest, save_checkpoint
from kolkhoz_train.cli.main import main
from kolkhoz_train.config import ConfigError, parse_config
from kolkhoz_train.measure import measure
from kolkhoz_train.run_folder import RunFolder
from kolkhoz_train.train import free_folder, new_run, resume_run

TESTS = Path(__file__).parent
SMALL = {
    "seed": 5,
    "threads": 1,
    "game": {"name": "toy_game:make_game"},
    "network": {"hidden": [32]},
    "algorithm": {"games": 64, "minibatch": 256},
    "opponents": {
        "tables": [
            {"agent": "self", "share": 0.5},
            {"agent": "population", "share": 0.25},
            {"agent": "random", "share": 0.25, "seats": 1},
        ],
        "population": {"every": 1000, "keep": 3},
    },
    "budget": {"decisions": 6000},
    "evaluation": {"every_minutes": 0.02, "deals": 10, "final_deals": 20},
    "checkpoint": {"every_minutes": 0.0001},
}


def quiet() -> Console:
    return Console(file=open(os.devnull, "w"))


def train_small(folder: Path, **changes: object):
    return new_run(parse_config({**SMALL, **changes}, "small"), folder, "small.yaml", quiet())


def weights(folder: Path) -> bytes:
    return (folder / "bot" / "weights.safetensors").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train_small(folder)
    return folder


def test_a_run_folder_has_all_that_is_promised(whole: Path) -> None:
    record = json.loads((whole / "run.json").read_text())
    assert record["finished"] is True
    assert record["learned_decisions"] >= 6000
    assert record["seed"] == 5
    assert {"versions", "commit", "config", "time_shares", "results"} <= set(record)
    assert abs(sum(record["time_shares"].values()) - 1) < 0.01
    assert {r["against"] for r in record["results"]} == {"random"}
    assert record["results"][-1]["learned"] == record["learned_decisions"]
    assert 0 < record["results"][-1]["trained_seconds"] <= record["seconds"]
    assert parse_config(yaml.safe_load((whole / "config.yaml").read_text()), "x") == parse_config(
        SMALL, "x"
    )
    assert len(list((whole / "checkpoints").iterdir())) == 2
    assert list((whole / "tensorboard").iterdir())
    bot = json.loads((whole / "bot" / "bot.json").read_text())
    assert bot["strength"][-1]["games"] == 60
    assert not list(whole.rglob("*.part"))


def test_two_runs_of_a_config_and_seed_give_the_same_bot(whole: Path, tmp_path: Path) -> None:
    train_small(tmp_path / "again")
    assert weights(tmp_path / "again") == weights(whole)
    train_small(tmp_path / "other", seed=6)
    assert weights(tmp_path / "other") != weights(whole)


def start(folder: Path) -> subprocess.Popen[str]:
    config = folder.with_suffix(".yaml")
    config.write_text(yaml.safe_dump(SMALL))
    train = [sys.executable, "-m", "kolkhoz_train", "train"]
    command = [*train, str(config), "--run-dir", str(folder), "--code"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def wait_for_checkpoint(folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.time() + 120
    while not checkpoints.list_checkpoints(folder):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.time() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_after_kill_resume_reaches_the_same_bits(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(folder)
    wait_for_checkpoint(folder, process)
    process.kill()
    process.communicate()
    assert json.loads((folder / "run.json").read_text())["finished"] is False
    resume_run(folder, quiet())
    assert weights(folder) == weights(whole)
    tensors = sorted((folder / "checkpoints").iterdir())[-1] / "tensors.safetensors"
    expected = sorted((whole / "checkpoints").iterdir())[-1] / "tensors.safetensors"
    assert tensors.read_bytes() == expected.read_bytes()


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(folder)
    wait_for_checkpoint(folder, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: kolkhoz train --resume {folder}" in " ".join(out.split())
    assert "Traceback" not in err
    resume_run(folder, quiet())
    assert weights(folder) == weights(whole)


@pytest.mark.slow
def test_ctrl_c_before_the_first_batch_is_not_lost(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start(folder)
    # The line is written when the folder is there; torch and the network are still to come.
    assert process.stdout is not None
    assert process.stdout.readline().startswith("training ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: kolkhoz train --resume {folder}" in " ".join(out.split())
    assert "Traceback" not in err
    resume_run(folder, quiet())
    assert weights(folder) == weights(whole)


@pytest.mark.parametrize("last", [False, True])
def test_a_request_to_stop_is_heard_while_the_bot_is_measured(
    last: bool, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an evaluation of the run, or in its last."""
    heard: list[int] = []

    def pressed(*arguments: object, **_: object) -> None:
        deals, stop = arguments[4], arguments[6]
        if (deals == SMALL["evaluation"]["final_deals"]) == last:
            heard.append(1)
            stop.asked = True
            return measure(*arguments)
        return measure(*arguments)

    config = {**SMALL, "evaluation": {**SMALL["evaluation"], "every_minutes": 1e-5}}
    monkeypatch.setattr("kolkhoz_train.trainer.measure", pressed)
    with pytest.raises(KeyboardInterrupt):
        new_run(parse_config(config, "small"), tmp_path / "run", "small.yaml", quiet())
    assert heard == [1]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["finished"] is False
    monkeypatch.undo()
    resume_run(tmp_path / "run", quiet())
    assert weights(tmp_path / "run") == weights(whole)


def test_a_run_that_diverges_says_so_and_spoils_nothing(tmp_path: Path) -> None:
    algorithm = {"games": 16, "minibatch": 64, "learning_rate": 1e30, "max_gradient": 1e30}
    with pytest.raises(KolkhozError, match=r"diverged in batch 1 .*lower algorithm.learning_rate"):
        train_small(tmp_path / "run", algorithm=algorithm)
    assert not (tmp_path / "run" / "bot").exists()


def test_a_run_that_was_stopped_before_its_first_checkpoint_begins_anew(
    whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(whole / "config.yaml", folder)
    record = json.loads((whole / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "finished": False}))
    resume_run(folder, quiet())
    assert weights(folder) == weights(whole)


def test_a_finished_run_stays_as_it_is(whole: Path) -> None:
    before = weights(whole), (whole / "run.json").read_bytes()
    resume_run(whole, quiet())
    assert (weights(whole), (whole / "run.json").read_bytes()) == before


def test_a_config_changed_into_another_network_does_not_resume(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("- 32\n", "- 33\n"))
    record = json.loads((folder / "run.json").read_text())
    # Where run.json does not tell what the run began with, its tensors do.
    changed = {**record, "finished": False, "config": None}
    (folder / "run.json").write_text(json.dumps(changed))
    with pytest.raises(CheckpointError, match=r"does not fit its config\.yaml") as caught:
        resume_run(folder, quiet())
    assert "\n" not in str(caught.value)


def test_a_folder_in_use_is_refused(whole: Path) -> None:
    with pytest.raises(ConfigError, match=r"a run is there already; go on with it by"):
        train_small(whole)


def test_a_run_that_somebody_trains_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    record = json.loads((whole / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "finished": False}))
    run, _ = RunFolder.reopen(folder)
    before = weights(folder)
    with run.held(), pytest.raises(ConfigError, match=r"run: another process trains in it"):
        resume_run(folder, quiet())
    assert weights(folder) == before
    assert json.loads((folder / "run.json").read_text())["finished"] is False
    resume_run(folder, quiet())
    assert json.loads((folder / "run.json").read_text())["finished"] is True


def small_checkpoint(number: int) -> Checkpoint:
    import torch

    return Checkpoint({"number": number}, {"a/b": torch.full((100,), float(number))})


def test_the_newest_is_that_of_the_highest_number_and_remains_go(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    remains = folder / ".000998.4242.part"
    remains.mkdir(parents=True)
    for number in (999_998, 999_999, 1_000_000):
        save_checkpoint(tmp_path, number, small_checkpoint(number), keep=2)
    assert [path.name for path in checkpoints.list_checkpoints(tmp_path)] == ["1000000", "999999"]
    assert load_latest(tmp_path, print).state["number"] == 1_000_000
    assert not remains.exists()


def test_a_truncated_checkpoint_is_named_and_the_one_before_serves(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        save_checkpoint(tmp_path, number, small_checkpoint(number), keep=2)
    newest, before = checkpoints.list_checkpoints(tmp_path)
    for name in ("tensors.safetensors", "state.json"):
        path = newest / name
        content = path.read_bytes()
        path.write_bytes(content[:-7])
        said: list[str] = []
        loaded = load_latest(tmp_path, said.append)
        assert loaded.state["number"] == 2
        assert float(loaded.tensors["a/b"][0]) == 2
        assert len(said) == 1
        assert str(path) in said[0]
        assert "going on from the one before" in said[0]
        path.write_bytes(content)
    changed = (newest / "state.json").read_text().replace('"number": 3', '"number": "x"')
    (newest / "state.json").write_text(changed)
    said = []
    assert load_latest(tmp_path, said.append).state["number"] == 2
    assert said == [
        f"{newest / 'state.json'}: changed or damaged (its checksum differs); "
        "going on from the one before"
    ]
    for place in (newest, before):
        (place / "state.json").unlink()
    with pytest.raises(CheckpointError, match="none of its 2 checkpoints can be read"):
        load_latest(tmp_path, lambda _: None)
    with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
        load_latest(tmp_path / "nothing", lambda _: None)


def test_a_full_disk_leaves_the_earlier_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, 1, small_checkpoint(1), keep=2)

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(checkpoints, "_write", full)
    with pytest.raises(CheckpointError, match=r"No space left on device; earlier checkpoints"):
        save_checkpoint(tmp_path, 2, small_checkpoint(2), keep=2)
    assert load_latest(tmp_path, pytest.fail).state["number"] == 1
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["000001"]


def test_snapshots_join_and_the_pool_thins_out(whole: Path) -> None:
    state = json.loads((sorted((whole / "checkpoints").iterdir())[-1] / "state.json").read_text())
    pool = state["pool"]
    assert 1 <= len(pool["names"]) < 3
    assert pool["every"] > 1000
    for name in pool["names"]:
        assert load_file(whole / "snapshots" / f"{name}.safetensors")


def test_training_beats_random_at_the_toy_game(tmp_path: Path) -> None:
    run = train_small(
        tmp_path / "run",
        algorithm={"games": 128, "minibatch": 512},
        budget={"decisions": 60_000},
        evaluation={"every_minutes": 9, "final_deals": 10},
        checkpoint={"every_minutes": 9},
    )
    game = ToyGame()
    bot = make_bot(game, run.bot)
    assert measure(game, bot, RandomAgent(game), "random", 300, 8).win_share[1] > 0.38


def test_seed_game_and_network_of_a_run_do_not_change(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    for key, value in (("seed", 99), ("network", {**config["network"], "hidden": [9]})):
        (folder / "config.yaml").write_text(yaml.safe_dump({**config, key: value}))
        with pytest.raises(ConfigError, match=rf"config\.yaml: {key}: differs from what the run"):
            resume_run(folder, quiet())
    budget = {**config["budget"], "minutes": 7.0}
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "budget": budget}))
    assert resume_run(folder, quiet()).record["finished"] is True


def test_learning_one_phase_leaves_the_rest_to_the_partner(tmp_path: Path) -> None:
    budget = {"decisions": 300}
    run = train_small(tmp_path / "run", learn=["trump"], partner="random", budget=budget)
    bot = json.loads((run.bot / "bot.json").read_text())
    assert bot["learned"] == {"phases": ["trump"], "partner": "random"}
    assert json.loads((run.path / "run.json").read_text())["learned_decisions"] < 1000


def test_a_run_starts_from_a_bot_and_can_be_anchored_to_it(whole: Path, tmp_path: Path) -> None:
    bot = str(whole / "bot")
    anchor = {"bot": bot, "weight": 100.0}
    run = train_small(
        tmp_path / "near",
        network={"hidden": [32], "start_from": bot},
        algorithm={"games": 64, "minibatch": 256, "anchor": anchor},
        budget={"decisions": 2000},
    )
    free = train_small(
        tmp_path / "free",
        network={"hidden": [32], "start_from": bot},
        algorithm={"games": 64, "minibatch": 256},
        budget={"decisions": 2000},
    )
    old, near, far = (
        load_file(p / "bot" / "weights.safetensors") for p in (whole, run.path, free.path)
    )
    change = [np.abs(w["policy.weight"] - old["policy.weight"]).mean() for w in (near, far)]
    assert change[0] < change[1]
    line = r"network\.start_from: .* can't grow into this: its layers \[32\] do not fit into \[16\]"
    with pytest.raises(ConfigError, match=line):
        train_small(tmp_path / "x", network={"hidden": [16], "start_from": bot})


def test_opponents_must_leave_the_learner_a_seat(tmp_path: Path) -> None:
    tables = {"tables": [{"agent": "random", "seats": 3}]}
    with pytest.raises(ConfigError, match=r"opponents\.tables\.0\.seats: 3 leaves the learner no"):
        train_small(tmp_path / "run", opponents=tables)


def test_a_new_run_gets_a_free_folder(tmp_path: Path) -> None:
    assert free_folder("a", tmp_path) == tmp_path / "a"
    (tmp_path / "a").mkdir()
    assert free_folder("a", tmp_path) == tmp_path / "a-2"


def test_explain_prints_a_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--explain", "quickstart"]) == 0
    assert "minutes of training" in capsys.readouterr().out
