"""Every game recorded by the independent reference replays through the engine, fact by fact."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from kolkhoz_tools import REFERENCE, reference_games, reference_lines

from kolkhoz_env.errors import RecordError
from kolkhoz_env.records import read_records, replay, replay_records, verify_file, write_records


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_games_replay(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_text("\n".join(reference_lines(name)) + "\n", encoding="utf-8")
    assert verify_file(path) == REFERENCE[name]


@pytest.mark.parametrize("name", REFERENCE)
def test_the_engine_tells_the_same_games(name: str) -> None:
    """What the engine makes of deals and moves alone is the reference's text, byte for byte."""
    lines = reference_lines(name)
    facts = replay_records([bare(json.loads(line)) for line in lines])
    assert [json.dumps(fact, separators=(",", ":")) for fact in facts] == lines


def bare(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its optional parts."""
    for year in record["years"]:
        del year["trump"], year["end"]
        for move in year["moves"]:
            del move["legal"]
    return record


def test_one_game_alone() -> None:
    (game, *_) = reference_games("rare")
    assert replay(game) == game
    assert replay(bare(json.loads(json.dumps(game)))) == game


def test_lists_that_stand_for_sets_are_read_in_any_order() -> None:
    source = random.Random(5)
    (game, *_) = reference_games("three_players")
    shuffled = json.loads(json.dumps(game))
    for year in shuffled["years"]:
        unordered = [*year["hands"], year["end"]["north"], year["end"]["failed"]]
        unordered += year["end"]["plots"] + year["end"]["cellars"]
        unordered += [move["legal"] for move in year["moves"]]
        for items in unordered:
            source.shuffle(items)
    assert shuffled != game
    assert replay(shuffled) == game


def test_write_and_read(tmp_path: Path) -> None:
    games = reference_games("rare")
    path = tmp_path / "games.jsonl"
    assert write_records(path, games) == len(games)
    assert read_records(path) == games
    assert path.read_text(encoding="utf-8").splitlines() == reference_lines("rare")
    assert [entry.name for entry in tmp_path.iterdir()] == ["games.jsonl"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    games = reference_games("rare")[:2]
    path = tmp_path / "games.jsonl"
    write_records(path, games)
    before = path.read_bytes()
    with pytest.raises(RecordError, match="record 2: years: year 5 is missing"):
        write_records(path, [games[0], {**games[1], "years": games[1]["years"][:4]}])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["games.jsonl"]


def test_writing_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="can't be written"):
        write_records(tmp_path / "missing" / "games.jsonl", [])
    with pytest.raises(RecordError, match="can't be written"):
        write_records(tmp_path, [])
