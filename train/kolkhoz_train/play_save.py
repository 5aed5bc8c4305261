"""Games of a person that are not over yet, kept in a file to be taken up again.

A saved game is one JSON object, format ``kolkhoz-game/1``: the rules, what the decks were shuffled
from, who sits where, and the moves so far in the words of records. A game that is over is written
as a record (`kolkhoz-record/1`) instead.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.files import write_text
from kolkhoz_env.record_format import FORMAT as RECORD_FORMAT
from kolkhoz_env.rules import Rules

FORMAT = "kolkhoz-game/1"


@dataclass
class SavedGame:
    """A game under way.

    Attributes:
        rules: as plain values.
        seed: of the decks and of what the opponents draw.
        seat: the person's.
        opponents: texts of the agents to the person's left, in order.
        moves: the actions so far as text.
    """

    rules: dict[str, Any]
    seed: int
    seat: int
    opponents: list[str]
    moves: list[str] = field(default_factory=list)


def save_game(path: Path, game: SavedGame) -> None:
    """Write a game that is not over; the old file stays until the new one is complete."""
    write_text(path, json.dumps({"format": FORMAT, **asdict(game)}, indent=1) + "\n")


def load_game(path: Path) -> SavedGame:
    """A saved game; KolkhozError names the file and what is wrong with it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KolkhozError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise KolkhozError(f"{path}: not a saved game (not JSON)") from None
    if isinstance(value, dict) and value.get("format") == RECORD_FORMAT:
        raise KolkhozError(f"{path}: this game is over; see it with: kolkhoz records show {path}")
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise KolkhozError(f"{path}: not a saved game (format {FORMAT!r} is missing)")
    kinds = {"rules": dict, "seed": int, "seat": int, "opponents": list, "moves": list}
    names = {dict: "an object", int: "a whole number", list: "a list"}
    for key, kind in kinds.items():
        if key not in value:
            raise KolkhozError(f"{path}: {key}: is missing")
        if not isinstance(value[key], kind) or isinstance(value[key], bool):
            raise KolkhozError(f"{path}: {key}: {value[key]!r:.60} should be {names[kind]}")
    if value["seed"] < 0:
        raise KolkhozError(f"{path}: seed: {value['seed']} should be at least 0")
    for key in ("opponents", "moves"):
        if not all(isinstance(item, str) for item in value[key]):
            raise KolkhozError(f"{path}: {key} holds something that is not text")
    unknown = [key for key in value if key not in kinds and key != "format"]
    if unknown:
        raise KolkhozError(f"{path}: unknown key {unknown[0]!r}")
    game = SavedGame(**{key: value[key] for key in kinds})
    try:
        rules = Rules.from_dict(game.rules)
    except KolkhozError as error:
        raise KolkhozError(f"{path}: {error}") from None
    if game.seat not in range(rules.players) or len(game.opponents) != rules.players - 1:
        raise KolkhozError(f"{path}: seat {game.seat} and {len(game.opponents)} opponents do not "
                           f"make {rules.players} players")  # fmt: skip
    return game
