"""The recorder keeps what was played, whatever the rules, and its records replay."""

import random
from pathlib import Path

import numpy as np
import pytest
from kolkhoz_tools import chosen_by_hash, plain_rules, random_rules
from plain_kolkhoz import replay_record

from kolkhoz_env.errors import RecordError
from kolkhoz_env.records import Recorder, read_records, replay, verify_file, write_records
from kolkhoz_env.rules import Rules
from kolkhoz_env.vector import VectorKolkhoz


def played(table: VectorKolkhoz) -> Recorder:
    """Play all games of a table that does not restart to their ends."""
    recorder = Recorder(table)
    while not recorder.over.all():
        recorder.step(chosen_by_hash(table))
    return recorder


@pytest.mark.parametrize("players", [2, 3, 4])
def test_recorded_games_replay(players: int, tmp_path: Path) -> None:
    recorder = played(VectorKolkhoz(12, players=players, seed=3, restart=False))
    records = recorder.records()
    assert len(records) == 12
    path = tmp_path / "games.jsonl"
    write_records(path, records)
    assert verify_file(path) == 12
    assert read_records(path) == records
    outcome = recorder.outcome()
    for row, record in enumerate(records):
        assert record == recorder.record(row)
        assert record["rules"] == {"players": players, "hero_of_labor": True}
        assert record["result"]["scores"] == outcome.score[row].tolist()
        replay_record(record)


@pytest.mark.parametrize("seed", range(25))
def test_any_rules(seed: int) -> None:
    rules = random_rules(random.Random(seed))
    for record in played(VectorKolkhoz(3, rules=rules, seed=seed, restart=False)).records():
        assert replay(record) == record
        assert plain_rules(Rules(**record["rules"])) == plain_rules(rules)
        replay_record(record)


@pytest.mark.parametrize("seed", range(10))
def test_forced_decisions_are_recorded_too(seed: int) -> None:
    values = random_rules(random.Random(seed)).to_dict()
    tables = [
        VectorKolkhoz(3, rules=Rules(**(values | {"auto_forced": forced})), seed=5, restart=False)
        for forced in (False, True)
    ]
    plain, forced = (played(table).records() for table in tables)
    assert plain == forced


def test_games_that_restart(tmp_path: Path) -> None:
    table = VectorKolkhoz(3, seed=9)
    recorder = Recorder(table)
    for _ in range(400):
        recorder.step(chosen_by_hash(table))
    records = recorder.records()
    assert len(records) >= 6
    alone = played(VectorKolkhoz(6, seed=9, restart=False)).records()
    assert records[:6] == alone


def test_an_illegal_action_is_not_recorded() -> None:
    table = VectorKolkhoz(2, seed=1, restart=False)
    recorder = Recorder(table)
    with pytest.raises(ValueError, match="not legal"):
        recorder.step(np.array([53, 0]))
    while not table.over.all():
        recorder.step(chosen_by_hash(table))
    assert len(recorder.records()) == 2


def test_what_cannot_be_recorded() -> None:
    table = VectorKolkhoz(2, seed=1)
    table.step(chosen_by_hash(table))
    with pytest.raises(RecordError, match="game 0 has already begun"):
        Recorder(table)
    recorder = Recorder(VectorKolkhoz(2, seed=1))
    with pytest.raises(RecordError, match="game 1 is not over"):
        recorder.record(1)
    assert recorder.records() == []
