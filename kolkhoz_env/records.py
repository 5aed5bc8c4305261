"""Records of games, format `kolkhoz-record/1`: JSON, one line a game.

:func:`read_records` and :func:`write_records` are for files, :func:`replay` and
:func:`verify_file` hold records against the engine, and :class:`Recorder` keeps the records of the
games that are played on a table. A record with any wrong fact is refused with
:class:`~kolkhoz_env.errors.RecordError`, whose text names the line, the year, the move and what
differs.

A record's lists are written in a fixed order (hands, zones and legal cards sorted as text, crops
as printed, cards to assign as played); reading takes lists that stand for sets in any order.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import RecordError
from kolkhoz_env.record_format import FORMAT, check_form, parse_line
from kolkhoz_env.record_replay import replay, replay_records
from kolkhoz_env.recorder import Recorder

#: Records that are replayed at a time: enough for the engine's arrays, little memory.
_CHUNK = 256


def read_records(path: str | Path) -> list[dict[str, Any]]:
    """All records of a file, their form checked; RecordError names the file and line."""
    records = []
    for number, record, error in _lines(Path(path)):
        if error is not None:
            raise RecordError(f"{path}, line {number}: {error}")
        records.append(record)
    return records


def write_records(path: str | Path, records: Iterable[dict[str, Any]]) -> int:
    """Write records, one a line, and return their number; the file appears only when complete.

    Raises:
        RecordError: the form of a record is wrong, or the file can't be written.
    """
    path = Path(path)
    count = 0
    try:
        descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                for line in _lines_of(records):
                    file.write(line)
                    count += 1
            os.chmod(aside, 0o644)
            os.replace(aside, path)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError as error:
        raise RecordError(f"{path}: can't be written: {error.strerror}") from None
    return count


def _lines_of(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, record in enumerate(records, start=1):
        try:
            check_form(record)
        except RecordError as error:
            raise RecordError(f"record {number}: {error}") from None
        yield json.dumps(record, separators=(",", ":")) + "\n"


def verify_file(path: str | Path) -> int:
    """Replay every record of a file through the engine and return their number.

    Raises:
        RecordError: the first line whose record is malformed or disagrees with the engine.
    """
    path = Path(path)
    count = 0
    chunk: list[tuple[int, dict[str, Any]]] = []
    for number, record, error in _lines(path):
        if error is None:
            chunk.append((number, record))
            count += 1
        if error is not None or len(chunk) == _CHUNK:
            _verify(path, chunk)
            chunk = []
        if error is not None:
            raise RecordError(f"{path}, line {number}: {error}")
    _verify(path, chunk)
    if count == 0:
        raise RecordError(f"{path}: holds no record")
    return count


def _verify(path: Path, chunk: list[tuple[int, dict[str, Any]]]) -> None:
    results = replay_records([record for _, record in chunk])
    for (number, _), result in zip(chunk, results, strict=True):
        if isinstance(result, RecordError):
            raise RecordError(f"{path}, line {number}, {result}")


def _lines(path: Path) -> Iterator[tuple[int, Any, RecordError | None]]:
    """Number, record and error of each line that is not blank; nothing after an error."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    record = parse_line(line.decode("utf-8"))
                    check_form(record)
                except UnicodeDecodeError as error:
                    what = f"not UTF-8 text (byte {error.start + 1})"
                    if line.startswith(b"\x1f\x8b"):
                        what = "packed by gzip; unpack it first (gunzip)"
                    yield number, None, RecordError(what)
                    return
                except RecordError as error:
                    yield number, None, error
                    return
                yield number, record, None
    except OSError as error:
        raise RecordError(f"{path}: can't be read: {error.strerror}") from None


__all__ = [
    "FORMAT",
    "Recorder",
    "check_form",
    "parse_line",
    "read_records",
    "replay",
    "replay_records",
    "verify_file",
    "write_records",
]
