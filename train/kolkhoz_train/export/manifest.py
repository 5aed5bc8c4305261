"""The manifest of a bundle: written from the tables of the game, read with suspicion."""

from __future__ import annotations

import json
from importlib.metadata import version
from itertools import permutations
from typing import Any

import numpy as np

from kolkhoz_agents.bots import BotFile
from kolkhoz_agents.network import NetworkShape
from kolkhoz_env.cards import CROPS, card_name, cards_in
from kolkhoz_env.game import KolkhozGame, make_game
from kolkhoz_env.observation import ACTION_PARTS, AXIS_PARTS
from kolkhoz_env.view import FORMAT as VIEW_FORMAT
from kolkhoz_train.export.errors import BundleError, refuse
from kolkhoz_train.export.onnx_model import OPSET
from kolkhoz_train.export.weights import DTYPES

FORMAT = "kolkhoz-bundle/1"
NAME = "manifest.json"
LARGEST = 64 << 20
"""No file of a bundle has more bytes; read in whole, it fits into any memory."""
WEIGHTS, MODEL, VECTORS = "weights.bin", "model.onnx", "vectors.jsonl"
KEYS = (
    "format", "lab", "view_format", "rules", "quota", "crops", "cards", "deck", "actions", "phases",
    "observation", "symmetry", "network", "weights", "onnx", "provenance", "files",
)  # fmt: skip


def describe(bot: BotFile, game: KolkhozGame) -> dict[str, Any]:
    """What a manifest says of bot and game: all but ``weights``, ``onnx`` and ``files``."""
    table = game.observation
    return {
        "format": FORMAT,
        "lab": f"kolkhoz-lab {version('kolkhoz-lab')}",
        "view_format": VIEW_FORMAT,
        "rules": game.rules_dict(),
        "quota": game.rules.field_quota,
        "crops": list(CROPS[: game.rules.crops]),
        "cards": [card_name(card) for card in range(53)],
        "deck": [card_name(card) for card in cards_in(game.rules.deck)],
        "actions": [game.action_name(action) for action in range(game.num_actions)],
        "phases": list(game.phases),
        "observation": {
            "version": table.version,
            "size": table.size,
            "blocks": [_block(block, table.scale[block.columns]) for block in table.blocks],
        },
        "symmetry": _symmetry(game),
        "network": {**bot.shape.to_dict(), "value": True},
        "provenance": {"training": dict(bot.training), "strength": list(bot.strength)},
    }


def onnx_entry() -> dict[str, Any]:
    """What a manifest says of the ONNX model."""
    return {
        "file": MODEL,
        "opset": OPSET,
        "inputs": {
            "observation": "float32 [batch, observation.size], the numbers as they are, unscaled",
            "mask": "bool [batch, actions], the legal moves",
        },
        "outputs": {
            "log_probs": "float32 [batch, actions], -infinity where the mask is false",
            "value": "float32 [batch]",
        },
    }


def _block(block: Any, scale: np.ndarray) -> dict[str, Any]:
    """A block; its scale is one number, or one for each entry of its last axis."""
    last = scale[: block.shape[-1]]
    if not np.array_equal(np.tile(last, len(scale) // len(last)), scale):
        refuse("observation", f"the scale of block {block.name} does not follow its last axis")
    numbers = [float(value) for value in last]
    return {
        "name": block.name,
        "offset": block.offset,
        "length": block.length,
        "axes": list(block.axes),
        "shape": list(block.shape),
        "scale": numbers[0] if len(set(numbers)) == 1 else numbers,
        "meaning": block.meaning,
    }


def _symmetry(game: KolkhozGame) -> dict[str, Any]:
    """How the crops are sorted, by kinds of axis: a few numbers instead of two large tables."""
    symmetry, count = game.symmetry, game.rules.crops
    values = {
        "meaning": "the network sees the crops sorted: the key of crop c is the sum over j of "
        "key_weights[j] times observation[key_columns[c][j]]; the crop with the highest key comes "
        "first, of equal ones the first in `crops`. Where crop order[i] comes to place i, entry "
        "axes[name][i][t] along each axis of that name is entry axes[name][order[i]][t] of the "
        "plain order, and the network's action actions[i][t] is action actions[order[i]][t]; what "
        "is in no list stays where it is",
        "key_columns": symmetry.key_columns.tolist(),
        "key_weights": symmetry.key_weights.tolist(),
        "axes": {name: parts[:count].tolist() for name, parts in AXIS_PARTS.items()},
        "actions": ACTION_PARTS[:count].tolist(),
    }
    columns = [column_order(game, values["axes"], order) for order in permutations(range(count))]
    if not np.array_equal(columns, symmetry.observation_index):
        refuse("observation", "the order of the crops does not follow the axes of the blocks")
    return values


def column_order(
    game: KolkhozGame, axes: dict[str, list[list[int]]], order: tuple[int, ...]
) -> np.ndarray:
    """Plain column of each canonical one, ``int64[size]``, where `order` is that of the crops."""
    columns = []
    for block in game.observation.blocks:
        index = np.arange(block.length).reshape(block.shape)
        for axis, name in enumerate(block.axes):
            along = np.arange(block.shape[axis])
            for place, part in enumerate(order if name in axes else ()):
                along[axes[name][place]] = axes[name][part]
            index = index.take(along, axis=axis)
        columns.append(block.offset + index.ravel())
    return np.concatenate(columns)


# Reading -------------------------------------------------------------------------------------


def parse_manifest(text: str | bytes, where: str = NAME) -> dict[str, Any]:
    """A manifest that fits this lab. Raises `BundleError` with the key that does not."""
    try:
        manifest = json.loads(text)
    except RecursionError:
        refuse(where, "JSON nested too deeply")
    except ValueError as error:
        refuse(where, f"not JSON ({error})")
    if not isinstance(manifest, dict):
        refuse(where, "should hold a JSON object")
    if manifest.get("format") != FORMAT:
        refuse(where, f"format: {_short(manifest.get('format'))} should be {FORMAT!r}")
    for key in KEYS:
        if key not in manifest:
            refuse(where, f"{key}: is missing")
    try:
        game = make_game(manifest["rules"])
        _check_tables(manifest, game)
        _check_weights(manifest, game)
    except BundleError as error:
        raise BundleError(f"{where}: {error}") from None
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        refuse(where, f"damaged ({_short(str(error))})")
    return manifest


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _check_tables(manifest: dict[str, Any], game: KolkhozGame) -> None:
    """Everything that follows from the rules must be as this lab has it."""
    shape = NetworkShape.from_dict({k: v for k, v in manifest["network"].items() if k != "value"})
    right = describe(BotFile("kolkhoz", {}, {}, shape, {}), game)
    for key in ("view_format", "quota", "crops", "cards", "deck", "actions", "phases"):
        if manifest[key] != right[key]:
            refuse(key, "not what this lab has for these rules")
    for key in ("version", "size", "blocks"):
        if manifest["observation"].get(key) != right["observation"][key]:
            refuse(f"observation.{key}", "not the layout of this lab for these rules")
    for key in ("key_columns", "key_weights", "axes", "actions"):
        if manifest["symmetry"].get(key) != right["symmetry"][key]:
            refuse(f"symmetry.{key}", "not what this lab has for these rules")


def _check_weights(manifest: dict[str, Any], game: KolkhozGame) -> None:
    from kolkhoz_agents.network import expected_weights

    weights = manifest["weights"]
    if weights["file"] != WEIGHTS:
        refuse("weights.file", f"{_short(weights['file'])} should be {WEIGHTS!r}")
    if weights["storage"] not in DTYPES:
        refuse("weights.storage", f"{_short(weights['storage'])} is not one of {', '.join(DTYPES)}")
    found = {tensor["name"]: tuple(tensor["shape"]) for tensor in weights["tensors"]}
    expected = expected_weights(network_shape(manifest), game)
    if found != expected or len(weights["tensors"]) != len(expected):
        wrong = next(
            (name for name in {*found, *expected} if found.get(name) != expected.get(name)), "twice"
        )
        refuse("weights.tensors", f"{_short(wrong)} is not as the network needs it")
    onnx = manifest["onnx"]
    if (onnx["file"], onnx["opset"]) != (MODEL, OPSET):
        refuse("onnx", f"should name {MODEL} with opset {OPSET}")


def network_shape(manifest: dict[str, Any]) -> NetworkShape:
    """The shape of the network that a manifest describes."""
    values = {key: value for key, value in manifest["network"].items() if key != "value"}
    return NetworkShape.from_dict(values)
