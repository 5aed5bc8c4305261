"""Folders with trained weights: a description in JSON beside ``weights.safetensors``.

Nothing in such a folder can execute. Files are written aside and renamed into place.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.files import whole

from .network import Weights

WEIGHTS = "weights.safetensors"

short = reprlib.repr


class FolderError(KolkhozError):
    """A folder with weights is missing, damaged, or made for another game."""


def read_description(path: Path, kind: str, error: type[FolderError]) -> dict[str, Any]:
    """The JSON object of a description; `kind` says in errors what the folder should be."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        text = f"{path}: {cause.strerror or cause}; {kind} folder has this file"
        raise error(text) from cause
    except (ValueError, RecursionError) as cause:
        raise error(f"{path}: not JSON ({cause})") from cause
    if not isinstance(data, dict):
        raise error(f"{path}: should hold a JSON object")
    return data


def check_keys(
    data: Mapping[str, Any],
    where: Path,
    kinds: Sequence[tuple[str, Any, type, str]],
    error: type[FolderError],
) -> None:
    """Raise `error` unless each value is of its kind: rows of key, value, type, its name."""
    for key, value, kind, name in kinds:
        if not isinstance(value, kind):
            raise error(f"{where}: {key}: {short(value)} should be {name}")
    inner = [("observation", key) for key in ("version", "size")]
    inner += [("rules", "players")] if "players" in data["rules"] else []
    for part, key in inner:
        value = data[part].get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise error(f"{where}: {part}.{key}: {short(value)} should be a whole number")


def read_weights(path: Path, kind: str, error: type[FolderError]) -> tuple[Weights, bool]:
    """Weights by name as float32, and whether any were stored as float16."""
    if path.exists() and not path.is_file():
        raise error(f"{path}: is no ordinary file; {kind} folder has this file")
    try:
        stored = load_arrays(path.read_bytes())
    except OSError as cause:
        text = f"{path}: {cause.strerror or cause}; {kind} folder has this file"
        raise error(text) from cause
    except (SafetensorError, ValueError) as cause:
        raise error(f"{path}: damaged or cut short ({cause})") from cause
    half = [array.dtype == np.float16 for array in stored.values()]
    weights = {
        name: array.astype(np.float32) if small else array
        for (name, array), small in zip(stored.items(), half, strict=True)
    }
    return weights, any(half)


def write_folder(
    folder: Path, name: str, description: Mapping[str, Any], weights: Weights, *, half: bool
) -> None:
    """Write the weights, as float16 if `half`, and then the description in file `name`."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = np.float16 if half else np.float32
    arrays = {key: np.ascontiguousarray(w, stored) for key, w in weights.items()}
    _write(folder / WEIGHTS, save_arrays(arrays))
    text = json.dumps(description, indent=2, allow_nan=False) + "\n"
    _write(folder / name, text.encode())


def halved(weights: Weights) -> Weights:
    """The weights as they will be read back from a folder that stores them by half."""
    return {name: w.astype(np.float16).astype(np.float32) for name, w in weights.items()}


def check_game(
    file: Any, game: Any, name: str, *, kind: str, description: str, error: type[FolderError]
) -> None:
    """Raise `error` in one line unless `file` is for the game.

    `file` has `game`, `rules` and `observation` as its `description` names them.
    """
    if file.game != game.name:
        raise error(f"{name}: {kind} for {file.game!r} cannot play {game.name!r}")
    rules = game.rules_dict()
    seats, own = rules.get("players"), file.rules.get("players")
    if seats is not None and own is None:
        raise error(f"{name}: its {description} lacks rules.players; this game has {seats}")
    if seats != own:
        raise error(f"{name}: {kind} for {own} players cannot play with {seats}")
    for key in ("version", "size"):
        given, wanted = file.observation.get(key), getattr(game.observation, key)
        if given != wanted:
            raise error(
                f"{name}: its network reads observation {key} {given}, "
                f"and this game writes {wanted}"
            )


def _write(path: Path, content: bytes) -> None:
    with whole(path) as aside:
        aside.write_bytes(content)
