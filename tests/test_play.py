"""A person at the table, played through a pipe; and recorded games drawn."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from kolkhoz_env.cards import CROP_NAMES
from kolkhoz_env.drawing.film import frames
from kolkhoz_env.drawing.text import GLYPHS
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.records import read_records, verify_file, write_records
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_train.cli.main import main
from kolkhoz_train.play import RULES, Left, Session
from kolkhoz_train.play_save import SavedGame, load_game, save_game

COMMAND = [sys.executable, "-m", "kolkhoz_train", "play"]


def kolkhoz_play(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lines: str, *args: str
) -> tuple[int, str]:
    """Run the command with lines on standard input: exit status and what it wrote."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    status = main(["play", *args])
    output = capsys.readouterr()
    return status, output.out + output.err


def session(words, players=4, seat=0, seed=1, keep=None, opponents=("random",), moves=()):
    """A session that hears `words` (an iterator) and what it writes."""
    saved = SavedGame(
        Rules(players=players).to_dict(), seed, seat, list(opponents) * (players - 1), list(moves)
    )
    out = io.StringIO()
    heard = iter(words)
    console = Console(file=out, width=100)
    return Session(saved, "heuristic", console, lambda prompt: next(heard, None), keep), out


def first_moves():
    while True:
        yield "1"


@pytest.mark.parametrize(("players", "seat"), [(4, 0), (4, 3), (3, 1), (3, 2)])
def test_a_whole_game_from_any_seat(
    players: int, seat: int, tmp_path: Path, capsys, monkeypatch
) -> None:
    record = tmp_path / "game.jsonl"
    status, text = kolkhoz_play(
        capsys, monkeypatch, "1\n" * 300, "--players", str(players), "--seat", str(seat),
        "--opponents", "random", "--seed", "5", "--save", str(record),
    )  # fmt: skip
    assert status == 0
    assert verify_file(record) == 1
    (game,) = read_records(record)
    assert game["rules"]["players"] == players
    assert f"You sit at seat {seat}" in text
    for year in range(1, 6):
        assert f"Year {year} ends." in text
        assert f"Year {year}" in text
    winners = game["result"]["winners"]
    assert ("You won" if winners == [seat] else f"Seat {winners[0]} wins" if seat not in winners
            else "share") in text  # fmt: skip


def test_the_same_seed_gives_the_same_game(capsys, monkeypatch) -> None:
    texts = [
        kolkhoz_play(capsys, monkeypatch, "1\n" * 40, "--seed", "3", "--opponents", "random")
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_moves_by_number_card_crop_and_name(tmp_path: Path, monkeypatch) -> None:
    # Where a crop is asked for, s is Sunflower or, a little s, the wish to save.
    monkeypatch.chdir(tmp_path)
    heard: list[str] = []

    def words():
        while True:
            legal = np.flatnonzero(table.table.legal_mask()[0])
            name = table.game.action_name(int(legal[-1]))
            if name in CROP_NAMES:
                name = CROP_NAMES[name].lower() if len(heard) % 2 else name.lower()
            heard.append(name)
            yield f"  {name}  "

    table, out = session(words(), players=3, seat=1)
    table.run()
    assert table.table.over[0]
    assert "pass" in heard
    assert "is no move here" not in out.getvalue()


def test_wishes_explain_hint_show_and_refuse() -> None:
    table, out = session(["?", "h", "t", "99", "Z9", "", "[bold]", "q"], seat=0, seed=2)
    with pytest.raises(Left, match="You leave the table"):
        table.run()
    text = out.getvalue().replace("\n", " ")
    phase = PHASES[table.table.phase[0]]
    assert RULES[phase][:60] in text
    assert "heuristic would choose: " in text
    for word in ("99", "Z9", "[bold]"):
        assert f"'{word}' is no move here: give a number from 1 to" in text
    assert out.getvalue().count("towards 40 hours") == 2


def test_hints_with_probabilities() -> None:
    table, out = session(["h"], seat=0, seed=2)
    table.hint = "random"
    with pytest.raises(Left, match="input has ended"):
        table.run()
    count = int(table.table.legal_mask().sum())
    assert out.getvalue().count(f"{1 / count:.1%}") == count


def test_every_phase_has_its_rule() -> None:
    assert set(RULES) == set(PHASES[:-1])


def test_what_happened_is_told_in_order_and_requisition_card_by_card() -> None:
    """Every move of the others is told, every card that goes North is named once."""
    table, out = session(first_moves(), seat=2, seed=11)
    table.run()
    text = out.getvalue()
    record = table.recorder.record(0)
    at = 0
    for year in record["years"]:
        for move in year["moves"]:
            card = move.get("card", move["move"])
            if move["phase"] in ("play", "assign") and move["seat"] != 2:
                verb = "sends" if move["phase"] == "assign" else ""
                found = min(
                    place for word in ([verb] if verb else ["plays", "leads"])
                    if (place := text.find(f"Seat {move['seat']} {word} {glyph(card)}", at)) >= 0
                )  # fmt: skip
                assert found >= at
                at = found
    for number, year in enumerate(record["years"]):
        start = text.index(f"Year {number + 1} ends.")
        told = text[start : text.find("\n\n", start)]
        before = record["years"][number - 1]["end"] if number else None
        for seat in range(4):
            held = before["plots"][seat] + before["cellars"][seat] if before else []
            kept = year["end"]["plots"][seat] + year["end"]["cellars"][seat]
            for card in held:
                if card not in kept and card in year["end"]["north"]:
                    assert told.count(f"    {glyph(card)} (") == 1
        for crop in year["end"]["hours"]:
            state = "failed" if crop in year["end"]["failed"] else "complete"
            assert f"{CROP_NAMES[crop]}: {year['end']['hours'][crop]} of 40 hours, {state}" in told


def glyph(card: str) -> str:
    return GLYPHS[card[0]] + card


@pytest.mark.parametrize("seed", range(3))
def test_a_transcript_shows_nothing_hidden(seed: int) -> None:
    """Until its end the game is told alike when cards that stay hidden are exchanged."""
    table, out = session(["q"], seat=0, seed=seed)
    with pytest.raises(Left):
        table.run()
    record_hands = table.table.state.hands[0]
    shown = out.getvalue()
    for seat in (1, 2, 3):
        cards = [c for c in range(53) if int(record_hands[seat]) >> c & 1]
        for card in cards:
            assert glyph(table.game.action_name(card)) not in shown


def test_saved_and_taken_up_again(tmp_path: Path, capsys, monkeypatch) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.json"
    options = ["--seed", "8", "--seat", "1", "--opponents", "random"]
    kolkhoz_play(capsys, monkeypatch, "1\n" * 300, *options, "--save", str(whole))
    status, text = kolkhoz_play(capsys, monkeypatch, "1\n" * 25, *options, "--save", str(part))
    assert status == 0
    assert "The input has ended." in text
    assert f"kolkhoz play --resume {part}" in text
    assert json.loads(part.read_text())["format"] == "kolkhoz-game/1"
    status, text = kolkhoz_play(capsys, monkeypatch, "1\n" * 300, "--resume", str(part))
    assert status == 0
    assert "Taken up again after" in text
    assert read_records(part) == read_records(whole)
    status, text = kolkhoz_play(capsys, monkeypatch, "", "--resume", str(part))
    assert status == 2
    assert "this game is over; see it with: kolkhoz records show" in text


def test_an_existing_file_is_not_overwritten(tmp_path: Path, capsys, monkeypatch) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("precious")
    status, text = kolkhoz_play(capsys, monkeypatch, "1\n", "--save", str(path))
    assert status == 2
    assert "exists already" in text
    assert path.read_text() == "precious"


def test_a_full_disk_does_not_end_the_game(tmp_path: Path, monkeypatch) -> None:
    keep = tmp_path / "game.json"
    table, said = session(["1"] * 4 + ["s", "q"], keep=keep)

    def full(self: Path, text: str, **_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Left):
        table.run()
    assert len(table.saved.moves) >= 4
    line = f"Not saved: {keep}: can't be written: No space left on device"
    assert said.getvalue().count(line) == 5
    assert list(tmp_path.iterdir()) == []


def test_saving_on_wish(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    table, _ = session(["1", "s", "q"])
    with pytest.raises(Left):
        table.run()
    assert load_game(tmp_path / "kolkhoz-game.json").moves == table.saved.moves


    # Another game's file is not written over; its own is.
    other, _ = session(["1", "s", "s", "q"], seed=2)
    with pytest.raises(Left):
        other.run()
    assert load_game(tmp_path / "kolkhoz-game.json").seed == table.saved.seed
    assert load_game(tmp_path / "kolkhoz-game-2.json").moves == other.saved.moves
    assert len(list(tmp_path.iterdir())) == 2


def test_a_capital_s_is_sunflower_where_a_crop_is_asked_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    # With this seed the person plans the first year.
    seed = next(seed for seed in range(50) if session(["q"], seed=seed)[0].table.seat[0] == 0)
    table, _ = session(["S", "q"], seed=seed)
    with pytest.raises(Left):
        table.run()
    assert table.saved.moves[0] == "S"
    assert not list(tmp_path.iterdir())


def test_end_of_input_and_leaving(capsys, monkeypatch) -> None:
    for lines, words in (("", "The input has ended."), ("1\nq\n", "You leave the table.")):
        status, text = kolkhoz_play(capsys, monkeypatch, lines, "--opponents", "random")
        assert status == 0
        assert text.rstrip().endswith(words)


def test_ctrl_c_in_a_terminal_keeps_the_game(tmp_path: Path) -> None:
    keep = tmp_path / "game.json"
    mine, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--seed", "1", "--seat", "0", "--opponents", "random", "--save", str(keep)],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    deadline = time.monotonic() + 60
    while b"\n> " not in text and b"\r> " not in text and time.monotonic() < deadline:
        text += os.read(mine, 65536)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            more = os.read(mine, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(mine)
    assert process.wait(30) == 130
    assert b"Stopped." in text
    assert b"Traceback" not in text
    assert b"\x1b[" in text, "colours in a terminal"
    assert load_game(keep).seat == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--seat", "4"], "--seat 4: should be from 0 to 3"),
        (["--players", "5"], "should be 3 or 4"),
        (["--opponents", "random", "random", "--players", "4"], "--opponents: 2 given"),
        (["--opponents", "nobody"], "nobody"),
        (["--hint", "nobody"], None),
        (["--resume", "missing.json"], "missing.json: No such file"),
    ],
)
def test_wrong_arguments(args, message, capsys, monkeypatch) -> None:
    try:
        status, text = kolkhoz_play(capsys, monkeypatch, "h\n", "--seed", "1", *args)
    except SystemExit as stop:
        status, text = stop.code, capsys.readouterr().err
    assert status == 2
    assert (message or "nobody") in text.replace("\n", " ")
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "not a saved game"),
        ({"moves": ["W"] * 500}, "saved game, move"),
        ({"moves": ["Q1"]}, "saved game, move 1: 'Q1'"),
        ({"moves": [1]}, "moves holds something that is not text"),
        ({"seat": 9}, "do not make 4 players"),
        ({"seat": True}, "seat: True should be a whole number"),
        ({"opponents": []}, "do not make 4 players"),
        ({"rules": {"players": 9}}, "rules.players: 9"),
        ({"more": 1}, "unknown key 'more'"),
    ],
)
def test_a_spoiled_saved_game_is_refused(change, message, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    save_game(path, SavedGame(Rules().to_dict(), 1, 0, ["random"] * 3))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(KolkhozError, match=message):
        Session(load_game(path), "random", Console(file=io.StringIO()), lambda _: None).run()
    path.write_text("{")
    with pytest.raises(KolkhozError, match=r"game\.json: not a saved game"):
        load_game(path)


# Recorded games drawn ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("records") / "game.jsonl"
    table, _ = session(first_moves(), players=3, seed=4)
    table.run()
    write_records(path, [table.recorder.record(0)])
    return path


def test_an_animation(record: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "deep" / "game.gif"
    assert main(["records", "draw", str(record), "--every", "trick", "--width", "400",
                 "--out", str(out)]) == 0  # fmt: skip
    assert "20 pictures of game 0" in capsys.readouterr().out
    with Image.open(out) as film:
        assert film.n_frames == 20
        assert film.size == (400, 253)
    assert [path.name for path in out.parent.iterdir()] == ["game.gif"]


def test_a_folder_of_pictures(record: Path, tmp_path: Path) -> None:
    out = tmp_path / "pictures"
    assert main(["records", "draw", str(record), "--every", "year", "--seat", "1",
                 "--out", str(out)]) == 0  # fmt: skip
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"{number:03}.png" for number in range(6)]
    assert Image.open(out / "005.png").size == (800, 507)


def test_every_move_is_a_picture(record: Path, monkeypatch) -> None:
    small = Image.new("L", (1, 1))
    monkeypatch.setattr("kolkhoz_env.drawing.film.paint", lambda view, scale: small)
    (game,) = read_records(record)
    moves = sum(len(year["moves"]) for year in game["years"])
    assert sum(1 for _ in frames(game, "move", None, 60)) == moves + 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--game", "1"], "--game 1 should be below 1"),
        (["--seat", "3"], "--seat 3: should be from 0 to 2"),
    ],
)
def test_wrong_wishes_for_pictures(args, message, record: Path, tmp_path: Path, capsys) -> None:
    assert main(["records", "draw", str(record), "--out", str(tmp_path / "x.gif"), *args]) == 2
    assert message in capsys.readouterr().err
