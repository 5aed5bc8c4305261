"""`kolkhoz quickstart`, the main job from end to end, in seconds instead of minutes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kolkhoz_train.cli import quickstart
from kolkhoz_train.cli.main import main
from kolkhoz_train.config import dump_config, read_config
from kolkhoz_train.shipped import find_config

SMALL = (
    "network.hidden=[32]", "algorithm.games=16", "algorithm.minibatch=512", "budget.minutes=null",
    "budget.decisions=2000", "evaluation.deals=2", "evaluation.final_deals=2", "threads=1",
)  # fmt: skip


def start(run_dir: Path, *arguments: str) -> int:
    settings = [part for setting in SMALL for part in ("--set", setting)]
    return main(["quickstart", "--run-dir", str(run_dir), "--deals", "2", *settings, *arguments])


def test_from_nothing_to_an_exported_bot_and_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "first"
    # A bot of two thousand decisions may or may not be clearly better than random: both end well.
    assert start(run_dir) in (0, 1)
    text = capsys.readouterr().out
    assert "better than random" in text
    assert "games against 3 random players" in text
    for name in ("config.yaml", "run.json", "bot/bot.json", "bot/weights.safetensors",
                 "bundle/model.onnx", "bundle/manifest.json", "evaluation.json"):  # fmt: skip
        assert (run_dir / name).stat().st_size > 0
    table = json.loads((run_dir / "evaluation.json").read_text())["tables"][0]
    assert table["games"] == 8

    (run_dir / "quickstart.done").unlink()
    (run_dir / "evaluation.json").unlink()
    before = (run_dir / "bot/weights.safetensors").read_bytes()
    assert start(run_dir) in (0, 1)
    assert (run_dir / "bot/weights.safetensors").read_bytes() == before
    assert "kolkhoz train" not in capsys.readouterr().out.replace("kolkhoz train --", "")


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    assert quickstart.next_folder(tmp_path / "run") == tmp_path / "run"
    for name in ("run", "run-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "quickstart.done").touch()
    assert quickstart.next_folder(tmp_path / "run") == tmp_path / "run-3"


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    assert quickstart.train_command(tmp_path, "quickstart", ["a.b=1"]) == [
        "train", "quickstart", "--run-dir", str(tmp_path), "--set", "a.b=1"
    ]  # fmt: skip
    (tmp_path / "run.json").write_text('{"finished": false}')
    assert not quickstart.is_trained(tmp_path)
    assert quickstart.train_command(tmp_path, "quickstart", []) == [
        "train", "--resume", str(tmp_path)
    ]  # fmt: skip


@pytest.mark.parametrize("given", [["--set", "seed=2"], ["--config", "exploiter"]])
def test_a_stopped_run_takes_no_other_config(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text('{"finished": false}')
    begun = read_config(find_config("quickstart"), ["seed=3"])
    (tmp_path / "config.yaml").write_text(dump_config(begun))
    assert main(["quickstart", "--run-dir", str(tmp_path), *given]) == 2
    line = f"kolkhoz: {tmp_path}: an unfinished run of another config lies there; leave out"
    assert capsys.readouterr().err.startswith(line)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "run.json"]
    # The command that began it goes on with it, and so does the plain one.
    quickstart.check_goes_on(tmp_path, "quickstart", ["seed=3"])
    quickstart.check_goes_on(tmp_path, "quickstart", [])


def test_a_stopped_run_of_sb3_begins_anew_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    record = {"finished": False, "config": {"algorithm": {"name": "sb3_maskable_ppo"}}}
    (folder / "run.json").write_text(json.dumps(record))
    assert quickstart.next_folder(folder) == tmp_path / "run-2"
    (folder / "run.json").write_text(json.dumps(record | {"finished": True}))
    assert quickstart.next_folder(folder) == folder


@pytest.mark.parametrize(("low", "status"), [(0.26, 0), (0.25, 1), (0.2, 1)])
def test_the_verdict_needs_the_whole_interval_above_par(
    low: float, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = {"players": 4, "tables": [{"games": 2000, "win_share": [0.62, low, 0.65]}]}
    assert quickstart.report(Path("runs/x"), evaluation) == status
    text = capsys.readouterr().out
    assert "62.0% of 2000 games" in text
    assert ("NOT clearly better" in text) == bool(status)
