"""What several commands share: types of arguments, and how results are written."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.files import write_text

#: Numbers on the command line go into arrays of 64 bits.
MOST = 2**63 - 1
#: The figures of all deals of a match are held in memory.
MOST_DEALS = 10_000_000


def positive_int(text: str) -> int:
    """An argument that is a whole number of at least 1."""
    return _whole_number(text, 1)


def natural_int(text: str) -> int:
    """An argument that is a whole number of at least 0 (a seed, a seat, a game's index)."""
    return _whole_number(text, 0)


def deal_count(text: str) -> int:
    """An argument that is a number of deals."""
    number = _whole_number(text, 1)
    if number > MOST_DEALS:
        raise argparse.ArgumentTypeError(f"{text!r} should be at most {MOST_DEALS}")
    return number


def player_count(text: str) -> int:
    """An argument that is a number of players of the printed game."""
    if text.strip() not in ("3", "4"):
        raise argparse.ArgumentTypeError(f"{text!r} should be 3 or 4")
    return int(text)


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} should be a whole number of at least {least}")
    if number > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} should be at most {MOST}")
    return number


def existing_file(path: Path) -> Path:
    """The path, if it is a file. Raises KolkhozError."""
    if not path.is_file():
        problem = "is a folder and should be a file" if path.is_dir() else "no such file"
        raise KolkhozError(f"{path}: {problem}")
    return path


def check_writable(option: str, path: Path) -> None:
    """Raise KolkhozError if a file could not be written: before hours of play, not after."""
    if path.is_dir():
        raise KolkhozError(f"{option} {path}: is a folder and should be a file")
    if path.exists() and not path.is_file():
        # A device or a pipe would be replaced by the file.
        raise KolkhozError(f"{option} {path}: is no ordinary file")
    check_place(option, path)


def check_place(option: str, path: Path) -> None:
    """Raise KolkhozError if nothing could be made at a path, a file or a folder."""
    if path.resolve() == Path.cwd():
        raise KolkhozError(f"{option} {path}: is the current folder; name one in it or beside it")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        # Rights alone don't tell: a file system may refuse what they allow.
        descriptor, trial = tempfile.mkstemp(dir=folder, prefix=f".{path.name[:50]}.")
        os.close(descriptor)
        os.unlink(trial)
    except OSError as error:
        raise KolkhozError(
            f"{option} {path}: {folder} is no folder that can be written to"
        ) from error


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write `value` as indented JSON; NaN and infinities are refused (ValueError)."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
