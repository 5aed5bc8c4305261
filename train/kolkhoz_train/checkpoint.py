"""Checkpoints: everything that a run needs to go on, written aside and renamed.

A checkpoint is a folder ``checkpoints/000123`` with ``state.json`` (counters, time used, the pool,
results) and ``tensors.safetensors`` (network, optimizer, average). It falls between two batches of
whole games, and whatever is drawn follows from the seed and the number of the batch: there is no
table and no generator to save. ``state.json`` holds a checksum of the tensors and one of itself, so
that what is cut short or changed is seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from kolkhoz_agents.words import counted
from kolkhoz_env.errors import KolkhozError

FORMAT = "kolkhoz-checkpoint/2"
STATE, TENSORS = "state.json", "tensors.safetensors"


class CheckpointError(KolkhozError):
    """No checkpoint can be read, or one cannot be written."""


@dataclass(frozen=True)
class Checkpoint:
    """A point between two batches: `state` is JSON-able, `tensors` are named."""

    state: dict[str, Any]
    tensors: dict[str, Tensor]


def save_checkpoint(folder: Path, number: int, checkpoint: Checkpoint, keep: int) -> Path:
    """Write checkpoint `number` of a run folder and remove all but the `keep` newest.

    Raises `CheckpointError` if it cannot be written (a full disk); older ones are untouched then.
    """
    place = folder / "checkpoints" / f"{number:06d}"
    aside = place.with_name(f".{place.name}.{os.getpid()}.part")
    content = save_tensors(checkpoint.tensors)
    state = {
        "format": FORMAT,
        "tensors_sha256": hashlib.sha256(content).hexdigest(),
        **checkpoint.state,
    }
    state["sha256"] = _checksum(state)
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        _write(aside / TENSORS, content)
        _write(aside / STATE, json.dumps(state, indent=2).encode())
        if place.exists():
            shutil.rmtree(place)
        os.replace(aside, place)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        earlier = "; earlier checkpoints are intact" if list_checkpoints(folder) else ""
        raise CheckpointError(f"{place}: can't be written: {error.strerror}{earlier}") from error
    # What a run that was killed while it wrote has left goes with the old ones.
    for old in [*list_checkpoints(folder)[keep:], *place.parent.glob(".*.part")]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def list_checkpoints(folder: Path) -> list[Path]:
    """Checkpoint folders of a run, the newest first."""
    found = [path for path in (folder / "checkpoints").glob("[0-9]*") if path.name.isdecimal()]
    return sorted(found, key=lambda path: int(path.name), reverse=True)


def load_latest(folder: Path, warn: Callable[[str], None]) -> Checkpoint:
    """The newest checkpoint that can be read; `warn` gets a line about each that cannot.

    Raises `CheckpointError` if there is none.
    """
    found = list_checkpoints(folder)
    if not found:
        raise CheckpointError(f"{folder}: no checkpoint to resume from (none was written yet)")
    for place in found:
        try:
            return load_checkpoint(place)
        except CheckpointError as error:
            older = place is not found[-1]
            warn(f"{error}{'; going on from the one before' if older else ''}")
    raise CheckpointError(f"{folder}: none of its {counted(len(found), 'checkpoint')} can be read")


def load_checkpoint(place: Path) -> Checkpoint:
    """Read one checkpoint folder. Raises `CheckpointError` if it is damaged."""
    try:
        state = json.loads((place / STATE).read_text(encoding="utf-8"))
        content = (place / TENSORS).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{place / STATE}: cut short or damaged ({error})") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{place / STATE}: format should be {FORMAT!r}")
    if state.pop("sha256", None) != _checksum(state):
        raise CheckpointError(f"{place / STATE}: changed or damaged (its checksum differs)")
    if hashlib.sha256(content).hexdigest() != state.get("tensors_sha256"):
        raise CheckpointError(f"{place / TENSORS}: cut short or damaged (its checksum differs)")
    try:
        return Checkpoint(state, load_tensors(content))
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{place / TENSORS}: damaged ({error})") from error


def _checksum(state: dict[str, Any]) -> str:
    """SHA-256 of a state's JSON text, in hex."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Names with a prefix in front."""
    return {f"{prefix}/{name}": tensor.contiguous() for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names have the prefix, without it."""
    start = f"{prefix}/"
    return {n.removeprefix(start): t for n, t in tensors.items() if n.startswith(start)}


def network_tensors(network: torch.nn.Module) -> dict[str, Tensor]:
    """Copies of a network's weights on the CPU."""
    return {name: t.detach().cpu().clone() for name, t in network.state_dict().items()}


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
