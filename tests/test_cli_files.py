"""Files and folders that commands read and write: what is refused, and what stays untouched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from kolkhoz_agents.registry import shipped_bots
from kolkhoz_env.rules import Rules
from kolkhoz_train.cli.main import main
from kolkhoz_train.play_save import SavedGame, save_game


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    agents = ["random", "random", "random"]
    assert main(["records", "play", "--agents", *agents, str(folder / "games.jsonl")]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of one game, an empty one, binary rubbish and a folder."""
    shutil.copy(made / "games.jsonl", tmp_path)
    (tmp_path / "empty").write_text("")
    (tmp_path / "rubbish").write_bytes(bytes(range(256)))
    (tmp_path / "broken.py").write_text("raise ValueError('no')")
    game = SavedGame(Rules(players=3).to_dict(), 1, 0, ["nobody", "random"])
    save_game(tmp_path / "saved.json", game)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("records draw full --out x.gif", "full: is a folder and should be a file"),
        ("records draw none --out x.gif", "none: no such file"),
        ("records draw empty --out x.gif", "empty: holds no record"),
        ("records draw rubbish --out x.gif", "rubbish, line 1: not "),
        ("records draw games.jsonl --game 1 --out x.gif", "games.jsonl: --game 1 should be "),
        ("records draw games.jsonl --seat 3 --out x.gif", "--seat 3: should be from 0 to 2"),
        ("records draw games.jsonl --out full", "--out full: the folder holds files; name a new"),
        ("records draw games.jsonl --out empty", "--out empty: is a file; name a .gif, or a new"),
        ("records draw games.jsonl --out empty/x.gif", "--out empty/x.gif: "),
        ("records draw games.jsonl --out /proc/x", "--out /proc/x: /proc is no folder that can be"),
        ("records draw games.jsonl --out x.png", "--out x.png: should end with .gif, or be the"),
        ("records play --agents random random random --games 1 x.jsonl.gz", "OUT.jsonl x.jsonl."),
        ("records show empty", "empty: holds no record"),
        ("records show full", "full: is a folder and should be a file"),
        ("records play --agents random random random --games 1 full", "OUT.jsonl full: is a"),
        ("records play --agents random random random --games 1 /proc/x", "OUT.jsonl /proc/x: "),
        ("export nobot out", "nobot: there is no such folder; allowed: a bot or run folder, or a "
         f"shipped bot's name ({', '.join(shipped_bots())})"),
        ("export full out", "full: the folder has neither bot.json nor bot/bot.json; allowed: a"),
        ("export empty out", "empty: is a file and no bot; allowed: a bot or run folder, or a"),
        ("export foreman full", "full: exists and is no bundle; choose an empty or new folder"),
        ("export foreman /proc/x", "OUT_DIR /proc/x: /proc is no folder that can be written to"),
        ("bench --json full", "--json full: is a folder and should be a file"),
        ("bench --agents nobody", "unknown agent 'nobody'"),
        ("bench --set seed=x", "--set seed=x: seed: 'x' should be a whole number"),
        ("bench --set opponents.population.agents=[search]", "--set opponents.population.agents="),
        ("evaluate random random --faults empty", "--faults empty: is a file and should be a"),
        ("evaluate random random --json /dev/null", "--json /dev/null: is no ordinary file"),
        ("evaluate random random --resume rubbish", "rubbish: not a file of results (an .npz that"),
        ("evaluate random random --rule years=2 --rule years=3", "--rule years=3: years is given"),
        ("evaluate random random --players 3 --rule players=4", "--players 3: players is given by"),
        ("evaluate random :x", "agent ':x': the name before the colon is missing"),
        ("evaluate random search:ms=inf", "agent 'search:ms=inf': option ms=inf should be a "),
        ("evaluate random random --game x:", "game 'x:': should have the form package.module:name"),
        ("evaluate random broken:X", "agent 'broken:X': importing its module raised ValueError"),
        ("play --save /proc/x", "--save /proc/x: /proc is no folder that can be written to"),
        ("play --hint nobody", "--hint: unknown agent 'nobody'"),
        ("play --resume saved.json --seat 1", "--seat: --resume goes on with the game as it was"),
        ("play --resume saved.json", "saved.json: opponents: unknown agent 'nobody'"),
        ("train full", "full: is a folder and should be a file; shipped configs, which go by name"),
        ("train rubbish", "rubbish: not YAML: not UTF-8 text (byte "),
        ("train --explain --resume full", "--explain trains nothing: give it a CONFIG.yaml, or no"),
        ("verify-export empty", "empty: is a file; a bundle is a folder with manifest.json"),
        ("serve foreman --port 70000", "--port 70000: should be a whole number up to 65535"),
        ("serve foreman --allow-origin x", "--allow-origin x: should look like https://example"),
        ("serve nobot", "nobot: there is no such folder; allowed: a bot or run folder, or a ship"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_and_nothing_changes(
    folder: Path, arguments: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(folder)
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"kolkhoz: {line}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert everything(folder) == before


def test_draw_makes_a_picture_a_trick_unless_told_otherwise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["records", "draw", "games.jsonl", "--width", "200", "--out", "x.gif"]) == 0
    assert "x.gif: 20 pictures of game 0" in capsys.readouterr().out
    with Image.open("x.gif") as animation:
        assert animation.n_frames == 20
    draw = ["records", "draw", "games.jsonl", "--width", "200", "--every", "year", "--out", "p"]
    assert main(draw) == 0
    assert sorted(path.name for path in Path("p").iterdir()) == [f"{n:03}.png" for n in range(6)]
    assert not list(folder.glob(".*"))


def test_one_deal_has_no_interval_and_is_one_deal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "random", "random", "--deals", "1", "--workers", "1"]
    assert main([*command, "--json", "x.json"]) == 0
    assert "1 deal, seed 0" in capsys.readouterr().out
    figures = json.loads(Path("x.json").read_text(), parse_constant=pytest.fail)
    assert figures["tables"][0]["score"][1:] == [None, None]
