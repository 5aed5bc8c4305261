"""Writing a bundle: a bot, whole or not at all, in a folder of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kolkhoz_agents.bots import BotFile, check_fits, load_bot
from kolkhoz_agents.network import NetworkError, NumpyNetwork
from kolkhoz_agents.registry import bot_path
from kolkhoz_env.errors import KolkhozError, RulesError
from kolkhoz_env.files import whole
from kolkhoz_env.game import KolkhozGame, make_game
from kolkhoz_train.export.demo import demo_page
from kolkhoz_train.export.errors import BundleError, refuse
from kolkhoz_train.export.manifest import (
    FORMAT,
    LARGEST,
    MODEL,
    NAME,
    VECTORS,
    WEIGHTS,
    describe,
    onnx_entry,
)
from kolkhoz_train.export.onnx_model import make_model
from kolkhoz_train.export.vectors import Positions, choose, log_softmax, played, to_lines, vectors
from kolkhoz_train.export.weights import LARGEST_FLOAT16, as_stored, pack_weights

RUNTIMES = Path(__file__).parent / "runtimes"
#: Files that every bundle has as they are in this package.
COPIED = (
    "README.md", "kolkhoz_bot.mjs", "kolkhoz_bot.d.mts", "kolkhoz_bot.py", "kolkhoz_record.mjs",
    "kolkhoz_record.d.mts", "check.mjs", "check.py",
)  # fmt: skip
DEMO = "demo.html"
SUMS = "SHA256SUMS"
#: Games whose decisions are tried before 16-bit weights are taken for good.
TRIAL_GAMES = 48


@dataclass(frozen=True)
class Exported:
    """What was written: sizes in bytes by file, and what the storage of the weights costs."""

    folder: Path
    sizes: dict[str, int]
    storage: dict[str, Any]


def find_bot(text: str) -> BotFile:
    """The bot that a name of a shipped one or a path to a bot or run folder means."""
    return load_bot(bot_path(text))


def open_bot(bot: BotFile, name: str) -> tuple[KolkhozGame, NumpyNetwork]:
    """Game and network of a bot; `BundleError` or `BotError` for one that can't be exported."""
    if bot.game != "kolkhoz":
        refuse(name, f"plays {bot.game!r}; views and bundles are for kolkhoz")
    if bot.learned is not None:
        partner, phases = bot.learned.get("partner"), bot.learned.get("phases")
        refuse(name, f"learned only {phases}; {partner!r} plays the rest and can't be exported")
    try:
        game = make_game(bot.rules)
    except RulesError as error:
        raise BundleError(f"{name}: bot.json: {error}") from error
    check_fits(bot, game, name)  # type: ignore[arg-type]
    try:
        return game, NumpyNetwork(bot.shape, bot.weights, game)
    except NetworkError as error:
        raise BundleError(f"{name}: {error}") from error


def export_bot(
    bot: BotFile,
    folder: Path,
    *,
    name: str = "bot",
    storage: str = "auto",
    count: int = 256,
    seed: int = 1,
    tell: Callable[[str], None] = lambda what: None,
) -> Exported:
    """Write the bundle of a bot.

    Args:
        bot: the bot.
        folder: where; a bundle that is there is replaced, but what else lies in its folder stays,
            and a folder that is none is left alone.
        name: the bot's name for messages.
        storage: ``float32``, ``float16``, or ``auto``: 16 bits if all moves stay the same.
        count: number of examples in vectors.jsonl.
        seed: names the games that examples and trials are taken from.
        tell: hears what is being done.

    Raises:
        BundleError: the bot can't be exported, or something else lies at `folder`.
    """
    game, network = open_bot(bot, name)
    if folder.exists() and not _is_bundle(folder) and not _is_empty(folder):
        refuse(str(folder), "exists and is no bundle; choose an empty or new folder")
    tell(f"playing {TRIAL_GAMES} games for examples")
    steps = list(played(game, network, TRIAL_GAMES, seed))
    if not all(np.isfinite(step.value).all() for step in steps):
        refuse(name, "its network gives no finite numbers: its weights are damaged or too large")
    tell("comparing the weights in 16 and in 32 bits")
    costs = storage_costs(bot, game, steps)
    same = costs["float16"]["moves_changed"] == 0
    chosen = ("float16" if same else "float32") if storage == "auto" else storage
    tell("writing model, weights, examples and page")
    files = _contents(bot, game, steps, chosen, count, seed, costs)
    for path, data in files.items():
        if len(data) > LARGEST:
            refuse(name, f"its {path} would have {len(data) >> 20} MiB, which none of the runtimes "
                   f"reads; at most {LARGEST >> 20}: train a smaller network")  # fmt: skip
    _write(Path(os.path.realpath(folder)), files)
    return Exported(folder, {path: len(data) for path, data in files.items()}, costs[chosen])


def _is_bundle(folder: Path) -> bool:
    """Whether the folder's manifest says that it is one (web pages have a manifest.json too)."""
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("format") == FORMAT


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def storage_costs(
    bot: BotFile, game: KolkhozGame, steps: list[Positions]
) -> dict[str, dict[str, Any]]:
    """What 16-bit weights change over decisions: moves, and the largest log-probability."""
    decisions = sum(len(step) for step in steps)
    exact = {"storage": "float32", "decisions": decisions, "moves_changed": 0, "log_prob": 0.0}
    largest = max(float(np.abs(array).max()) for array in bot.weights.values())
    if largest > LARGEST_FLOAT16:
        return {"float32": exact, "float16": {**exact, "storage": "float16",
                                              "moves_changed": decisions}}  # fmt: skip
    rounded = NumpyNetwork(bot.shape, as_stored(bot.weights, "float16"), game)
    changed, difference = 0, 0.0
    for step in steps:
        log_probs = log_softmax(rounded.plain(step.observation, step.phase)[0], step.mask)
        changed += int((log_probs.argmax(axis=1) != step.moves()).sum())
        apart = np.abs(log_probs[step.mask] - step.log_probs[step.mask])
        difference = max(difference, float(apart.max()))
    cost = {"decisions": decisions, "moves_changed": changed, "log_prob": round(difference, 7)}
    return {"float32": exact, "float16": {"storage": "float16", **cost}}


def _contents(
    bot: BotFile, game: KolkhozGame, steps: list[Positions], storage: str, count: int, seed: int,
    costs: dict[str, dict[str, Any]],
) -> dict[str, bytes]:  # fmt: skip
    """All files of a bundle by name."""
    stored = as_stored(bot.weights, storage)
    network = NumpyNetwork(bot.shape, stored, game)
    data, tensors = pack_weights(bot.weights, storage)
    manifest = describe(bot, game)
    model = make_model(bot.shape, stored, game, storage, manifest["lab"])
    examples = [
        example
        for part in choose([_evaluated(step, network) for step in steps], count, seed)
        for example in vectors(part, game)
    ]
    files = {path: (RUNTIMES / path).read_bytes() for path in COPIED}
    files |= {
        WEIGHTS: data,
        MODEL: model.SerializeToString(deterministic=True),
        VECTORS: to_lines(iter(examples)).encode(),
    }
    manifest["weights"] = {
        "file": WEIGHTS,
        "storage": storage,
        "order": "little-endian, row-major, one array after another",
        "tensors": tensors,
        "cost": costs[storage],
    }
    manifest["onnx"] = onnx_entry()
    shown = _game_to_show(game, network, seed)
    files[DEMO] = demo_page(manifest, base64.b64encode(data).decode(), shown, RUNTIMES).encode()
    manifest["files"] = {
        path: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in sorted(files.items())
    }
    files[NAME] = (json.dumps(manifest, indent=1, allow_nan=False) + "\n").encode()
    sums = {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())}
    files[SUMS] = "".join(f"{digest}  {path}\n" for path, digest in sums.items()).encode()
    return files


def _evaluated(step: Positions, network: NumpyNetwork) -> Positions:
    """The same decisions as the stored weights see them."""
    logits, value = network.plain(step.observation, step.phase)
    return replace(step, log_probs=log_softmax(logits, step.mask), value=value)


def _game_to_show(game: KolkhozGame, network: NumpyNetwork, seed: int) -> list[dict[str, Any]]:
    """Views of one whole game, for the demo page."""
    return [view for step in played(game, network, 1, seed + 1) for view in step.views()]


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """All files beside their place first, with what else lies there; then the folder renamed."""
    folder = Path(os.path.realpath(folder))
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    try:
        with whole(folder) as aside:
            aside.mkdir()
            for path, content in files.items():
                (aside / path).write_bytes(content)
            if folder.exists():
                for other in folder.iterdir():
                    if other.name not in files:
                        copy = shutil.copytree if other.is_dir() else shutil.copy2
                        copy(other, aside / other.name)
                os.replace(folder, old)
    except KolkhozError:
        if old.exists():
            os.replace(old, folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
