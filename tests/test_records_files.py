"""Lines and files that hold no records, or not whole ones, are refused by file and line."""

import gzip
import json
from pathlib import Path

import pytest
from kolkhoz_tools import reference_games, reference_lines

from kolkhoz_env.errors import RecordError
from kolkhoz_env.records import check_form, parse_line, read_records, verify_file

BAD_LINES = {
    "{": "ends before the record does",
    "[1, 2": "ends before the record does",
    '{"format": "kolkhoz-rec': "ends before the record does",
    "nonsense": "not JSON",
    "{'format': 1}": "not JSON",
    f"[1{'0' * 5000}]": "not JSON",
    '{"a": 1, "a": 1}': "key 'a' stands twice",
    "[" * 100000: "nested too deeply|ends before",
    "\ufeff{}": "not JSON",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=[line[:20] for line in BAD_LINES])
def test_bad_lines(line: str) -> None:
    with pytest.raises(RecordError, match=BAD_LINES[line]) as error:
        parse_line(line)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("text", ["1.0", "1e400", "NaN", "-Infinity", "0." + "3" * 500])
@pytest.mark.parametrize(
    ("key", "place"),
    [
        (("first_planner",), "first_planner: "),
        (("rules", "players"), "rules.players: "),
        (("years", 1, "moves", 6, "seat"), "year 2, move 7, seat: "),
        (("years", 1, "moves", 6, "move"), "year 2, move 7, move: "),
        (("years", 1, "moves", 6), "year 2, move 7: "),
        (("years", 2, "year"), "year 3, year: "),
        (("result", "scores", 0), "result, scores: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_that_is_not_whole_is_named_by_its_place(
    tmp_path: Path, text: str, key: tuple, place: str
) -> None:
    game = reference_games("rare")[0]
    inner = game
    for part in key[:-1]:
        inner = inner[part]
    inner[key[-1]] = "HERE"
    path = file_of(tmp_path, json.dumps(game).replace('"HERE"', text))
    with pytest.raises(RecordError) as error:
        verify_file(path)
    assert str(error.value).startswith(f"{path}, line 1: {place}{text[:20]}")
    assert len(str(error.value)) < len(str(path)) + 150


def test_a_line_cut_short_anywhere() -> None:
    line = reference_lines("three_players")[0]
    for length in range(1, len(line), 97):
        with pytest.raises(RecordError):
            check_form(parse_line(line[:length]))


def file_of(folder: Path, *lines: str) -> Path:
    path = folder / "games.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_first_wrong_line_is_named(tmp_path: Path) -> None:
    good = reference_lines("rare")[1]
    game = reference_games("rare")[0]
    game["years"][0]["end"]["hours"]["W"] += 1
    wrong = json.dumps(game)
    path = file_of(tmp_path, good, "", good, wrong, good, "{")
    with pytest.raises(RecordError) as error:
        verify_file(path)
    assert str(error.value).startswith(f"{path}, line 4, year 1, end, hours: ")
    path = file_of(tmp_path, good, good, '{"format": 1}', wrong)
    for read in (verify_file, read_records):
        with pytest.raises(RecordError, match=r"games\.jsonl, line 3: key 'rules' is missing"):
            read(path)


def test_a_file_cut_short(tmp_path: Path) -> None:
    lines = reference_lines("rare")[:3]
    path = file_of(tmp_path, *lines)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(RecordError, match="line 3: the line ends before the record does"):
        verify_file(path)


def test_files_that_hold_no_records(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with pytest.raises(RecordError, match=r"games\.jsonl: can't be read: No such file"):
        verify_file(path)
    with pytest.raises(RecordError, match="can't be read: Is a directory"):
        verify_file(tmp_path)
    for content in (b"", b"\n\n  \n"):
        path.write_bytes(content)
        with pytest.raises(RecordError, match=r"games\.jsonl: holds no record"):
            verify_file(path)
        assert read_records(path) == []
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(RecordError, match="line 1: not UTF-8"):
        verify_file(path)
    path.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(RecordError, match=r"line 1: packed by gzip; unpack it first"):
        read_records(path)


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes("\r\n".join(reference_lines("rare")[:2]).encode())
    assert verify_file(path) == 2
