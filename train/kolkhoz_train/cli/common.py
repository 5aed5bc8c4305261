"""What several commands share: types of arguments, and how results are written."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any


def positive_int(text: str) -> int:
    """An argument that is a whole number of at least 1."""
    return _whole_number(text, 1)


def natural_int(text: str) -> int:
    """An argument that is a whole number of at least 0 (a seed, a seat, a game's index)."""
    return _whole_number(text, 0)


def player_count(text: str) -> int:
    """An argument that is a number of players of the printed game."""
    number = _whole_number(text, 0)
    if number not in (3, 4):
        raise argparse.ArgumentTypeError(f"{text!r} should be 3 or 4")
    return number


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} should be a whole number of at least {least}")
    return number


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file whole or not at all: beside its place first, then renamed over it."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write `value` as indented JSON; NaN and infinities are refused (ValueError)."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
