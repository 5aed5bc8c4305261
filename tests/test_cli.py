"""The command line as a user meets it: help, mistakes, interruptions."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kolkhoz_env.errors import KolkhozError
from kolkhoz_train.cli import bench, main

COMMANDS = [command.replace("_", "-") for command in main.COMMANDS]
RECORD_ACTIONS = [["records", action] for action in ("play", "verify", "show", "draw")]


def kolkhoz(*arguments: str) -> int:
    """Exit status of a command, whether it returns it or the parser exits with it."""
    try:
        return main.main(list(arguments))
    except SystemExit as leaving:
        return int(leaving.code or 0)


@pytest.mark.parametrize("command", [*[[name] for name in COMMANDS], *RECORD_ACTIONS], ids=" ".join)
def test_every_command_helps_with_an_example(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert kolkhoz(*command, "--help") == 0
    text = capsys.readouterr().out
    assert "example" in text
    assert f"  kolkhoz {' '.join(command)}" in text


@pytest.mark.parametrize("command", [*[[name] for name in COMMANDS], *RECORD_ACTIONS], ids=" ".join)
def test_help_fits_the_terminal_and_examples_stay_whole(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert kolkhoz(*command, "--help") == 0
    text = capsys.readouterr().out
    long = [line for line in text.splitlines() if len(line) > 80]
    assert all(line.startswith("  kolkhoz ") for line in long), long


def test_every_module_is_a_command() -> None:
    folder = Path(main.__file__).parent
    modules = {path.stem for path in folder.glob("[a-z]*.py")}
    commands = {name for name in modules if hasattr(importlib.import_module(
        f"kolkhoz_train.cli.{name}"), "add_parser")}  # fmt: skip
    assert commands == set(main.COMMANDS)


def test_the_examples_of_the_help_parse(capsys: pytest.CaptureFixture[str]) -> None:
    parser = main.make_parser()
    for command in [*[[name] for name in COMMANDS], *RECORD_ACTIONS]:
        kolkhoz(*command, "--help")
        text = capsys.readouterr().out
        for line in text.splitlines():
            if line.startswith("  kolkhoz "):
                parser.parse_args(line.split()[1:])


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        ("", "COMMAND"),
        ("dance", "COMMAND 'dance' should be one of quickstart, train"),
        ("trian", "did you mean 'train'?"),
        ("train no-such.yaml", "no-such.yaml: no such file; shipped configs"),
        ("evaluate random", "B"),
        ("evaluate random nobody --deals 1", "nobody"),
        ("evaluate random random --deals none", "--deals"),
        ("evaluate random random --deals 0", "--deals"),
        ("tournament random nobody --deals 1", "nobody"),
        ("export no-such-bot out", "no-such-bot"),
        ("verify-export no-such-bundle", "no-such-bundle"),
        ("serve no-such-bot", "no-such-bot"),
        ("records verify no-such.jsonl", "no-such.jsonl"),
        ("records show no-such.jsonl", "no-such.jsonl"),
        ("records play --agents random random --games 1 out.jsonl", "--agents"),
        ("records play --agents random random nobody --games 1 out.jsonl", "nobody"),
        ("records play --agents random random random", "OUT.jsonl"),
        ("records play --agents random random nobody out.jsonl", "nobody"),
        ("play --seat 9", "9"),
        ("bench --players 5", "--players"),
        ("quickstart --deals -1", "--deals"),
    ],
)
def test_a_mistake_gives_one_line(
    arguments: str, needle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert kolkhoz(*arguments.split()) == 2
    message = capsys.readouterr().err
    assert message.startswith("kolkhoz")
    assert message.count("\n") == 1
    assert needle in message
    assert "Traceback" not in message
    assert not list(tmp_path.iterdir())


def test_a_wrong_record_gives_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = tmp_path / "games.jsonl"
    seats = ["random", "random", "random"]
    assert kolkhoz("records", "play", "--agents", *seats, "--games", "3", str(games)) == 0
    assert kolkhoz("records", "verify", str(games)) == 0
    first, *others = games.read_text().splitlines()
    record = json.loads(first)
    record["years"][1]["planner"] = (record["years"][1]["planner"] + 1) % 3
    games.write_text("\n".join([json.dumps(record), *others]))
    assert kolkhoz("records", "verify", str(games)) == 1
    message = capsys.readouterr().err
    assert str(games) in message
    assert "line 1, year 2" in message


def test_records_are_the_same_for_the_same_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        out = tmp_path / name
        seats = ["random", "greedy", "random", "random"]
        arguments = ["--agents", *seats, "--games", "2", "--seed", seed, str(out)]
        assert kolkhoz("records", "play", *arguments) == 0
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2]
    capsys.readouterr()
    assert kolkhoz("records", "show", str(tmp_path / "a"), "--game", "1") == 0
    report = capsys.readouterr().out
    for words in ("Year 1", "Year 5 (Famine)", "Brigadier", "Sent North", "wins"):
        assert words in report
    assert kolkhoz("records", "show", str(tmp_path / "a"), "--game", "2") == 2
    assert "--game 2 should be below 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KolkhozError("x.yaml: key a: wrong\nhere"), 2, "kolkhoz: x.yaml: key a: wrong; here\n"),
        (OSError(28, "No space left on device", "runs/x"), 2,
         "kolkhoz: runs/x: No space left on device\n"),
        (ModuleNotFoundError("gone", name="onnx.helper"), 2,
         "kolkhoz: this command needs the package 'onnx', which is not installed: "
         "pip install 'kolkhoz-lab[export]'\n"),
        (MemoryError("Unable to allocate 9 TiB"), 2,
         "kolkhoz: not enough memory: Unable to allocate 9 TiB\n"),
        (KeyboardInterrupt(), 130, "kolkhoz: stopped\n"),
    ],
)  # fmt: skip
def test_what_becomes_of_errors(
    error: BaseException, status: int, message: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(bench, "run", fail)
    assert kolkhoz("bench") == status
    assert capsys.readouterr().err == message


def test_an_interrupted_bench_keeps_what_it_has(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-u", "-m", "kolkhoz_train", "bench", "--parts", "engine"]
    command += ["--batch", *["64"] * 99, "--runs", "2", "--seconds", "0.02", "--json", str(figures)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.split()[:1] == [b"64"]:
                break
        running.send_signal(signal.SIGINT)
        _, message = running.communicate(timeout=60)
    assert running.returncode == 130
    assert message == b"kolkhoz: stopped\n"
    row = json.loads(figures.read_text())["engine"][0]
    assert row["players"] == 4
    assert min(row[key] for key in ("step", "step_mask", "step_mask_observe")) > 0


def test_ctrl_c_is_heard_while_modules_are_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "kolkhoz_train.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "kolkhoz_train.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    from kolkhoz_train.__main__ import main as command

    assert command() == 130
    assert capsys.readouterr().err == "kolkhoz: stopped\n"


def test_players_and_standard_output_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert kolkhoz("evaluate", "random", "random", "--players", "x") == 2
    assert "--players: 'x' should be 3 or 4" in capsys.readouterr().err
    assert kolkhoz("evaluate", "random", "random", "--records", "-") == 2
    message = capsys.readouterr().err
    assert message == "kolkhoz: --records -: should be a file; only --json writes to stdout\n"


def test_a_defect_of_the_lab_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(bench, "run", fail)
    with pytest.raises(ZeroDivisionError):
        kolkhoz("bench")


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m kolkhoz_train agents | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=60)
    assert done.stderr == b""


def test_help_is_quick_and_imports_nothing_large() -> None:
    code = (
        "import sys; from kolkhoz_train.cli.main import make_parser; make_parser();"
        "print([name for name in ('torch', 'matplotlib', 'onnx', 'stable_baselines3', 'scipy')"
        " if name in sys.modules])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment,
        timeout=60,
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("3", "3")])
def test_numpys_linear_algebra_keeps_one_thread_unless_told(
    given: str | None, threads: str
) -> None:
    """More would spin beside torch's and slow training down."""
    code = (
        "import sys; import kolkhoz_train.cli; assert 'numpy' not in sys.modules;"
        "import os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == [threads]
