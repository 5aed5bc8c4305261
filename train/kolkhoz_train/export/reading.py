"""Reading a bundle with suspicion: nothing in it is executed, and no claim of it is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_env.game import KolkhozGame, make_game
from kolkhoz_train.export.bundle import COPIED, DEMO, RUNTIMES, SUMS
from kolkhoz_train.export.errors import BundleError, refuse
from kolkhoz_train.export.manifest import (
    LARGEST,
    MODEL,
    NAME,
    VECTORS,
    WEIGHTS,
    network_shape,
    parse_manifest,
)
from kolkhoz_train.export.onnx_model import OPERATORS, OPSET
from kolkhoz_train.export.weights import unpack_weights

#: The examples may be larger than other files.
LARGEST_VECTORS = 256 << 20


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: manifest, game, and the network with the weights as they are stored."""

    folder: Path
    manifest: dict[str, Any]
    game: KolkhozGame
    network: NumpyNetwork


def read_bundle(folder: Path) -> Bundle:
    """The bundle of a folder. Raises `BundleError` in one line that names file and key."""
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "no such folder"
        refuse(str(folder), f"{found}; a bundle is a folder with manifest.json")
    manifest = parse_manifest(read_file(folder, NAME), str(folder / NAME))
    game = make_game(manifest["rules"])
    weights = manifest["weights"]
    try:
        arrays = unpack_weights(weights["tensors"], weights["storage"], read_file(folder, WEIGHTS))
    except BundleError as error:
        raise BundleError(f"{folder}: {error}") from None
    return Bundle(folder, manifest, game, NumpyNetwork(network_shape(manifest), arrays, game))


def read_file(folder: Path, name: str, largest: int = LARGEST) -> bytes:
    """The content of a regular file of a bundle that is not too large."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        refuse(str(path), "is missing" if not path.exists() else "is no regular file")
    size = path.stat().st_size
    if size > largest:
        refuse(str(path), f"{size} bytes; at most {largest} are read")
    return path.read_bytes()


def changed_files(folder: Path) -> list[str]:
    """Every file that is changed, cut, missing or added, by its checksum; empty if all is well."""
    problems = []
    sums = _sums(folder)
    expected = {*COPIED, DEMO, NAME, MODEL, VECTORS, WEIGHTS}
    problems += [f"{name}: not listed in {SUMS}" for name in sorted(expected - set(sums))]
    for name in sorted(set(sums) - expected):
        problems.append(f"{name!r} in {SUMS}: no file of a bundle")
    for name in sorted(set(sums) & expected):
        try:
            content = read_file(folder, name, LARGEST_VECTORS if name == VECTORS else LARGEST)
        except BundleError as error:
            problems.append(str(error).removeprefix(f"{folder}/"))
            continue
        if hashlib.sha256(content).hexdigest() != sums[name]:
            problems.append(f"{name}: changed or cut ({len(content)} bytes)")
        elif name in COPIED and content != (RUNTIMES / name).read_bytes():
            problems.append(f"{name}: not the one of this version of the lab; export anew")
    return problems


def unlisted_files(bundle: Bundle) -> list[str]:
    """Files that differ from what the manifest says of them; empty if all is well."""
    listed = bundle.manifest["files"]
    problems = []
    for name in sorted({*COPIED, DEMO, MODEL, VECTORS, WEIGHTS}):
        content = read_file(bundle.folder, name, LARGEST_VECTORS)
        right = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        if not isinstance(listed, dict) or listed.get(name) != right:
            problems.append(f"{name}: not as {NAME} lists it")
    return problems


def _sums(folder: Path) -> dict[str, str]:
    sums: dict[str, str] = {}
    text = read_file(folder, SUMS, 1 << 16).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or name in sums:
            refuse(str(folder / SUMS), f"line {number} is not 'SHA256  FILE'")
        sums[name] = digest
    return sums


def read_examples(folder: Path) -> Iterator[dict[str, Any]]:
    """The examples of a bundle; `BundleError` names the line of one that is damaged."""
    data = read_file(folder, VECTORS, LARGEST_VECTORS)
    for number, line in enumerate(data.splitlines(), 1):
        try:
            example = json.loads(line)
        except (ValueError, RecursionError) as error:
            refuse(str(folder / VECTORS), f"line {number} is not JSON ({error})")
        keys = {"view": dict, "observation": list, "mask": list, "log_probs": dict, "move": str}
        if not isinstance(example, dict) or any(
            not isinstance(example.get(key), kind) for key, kind in keys.items()
        ):
            refuse(str(folder / VECTORS), f"line {number} is no example")
        yield example


def open_model(folder: Path) -> Any:
    """An onnxruntime session of the bundle's model, whose graph is one that this lab makes."""
    import onnx
    import onnxruntime

    data = read_file(folder, MODEL)
    where = str(folder / MODEL)
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf has no common base for what it raises
        raise BundleError(f"{where}: no ONNX model ({type(error).__name__})") from None
    for node in model.graph.node:
        if node.domain or node.op_type not in OPERATORS:
            refuse(where, f"operator {node.op_type!r} is none of those that a bundle uses")
    if model.functions or any(t.data_location or t.external_data for t in model.graph.initializer):
        refuse(where, "holds functions or weights outside the file")
    opsets = [(entry.domain, entry.version) for entry in model.opset_import]
    if opsets != [("", OPSET)]:
        refuse(where, f"opset {opsets} should be {OPSET}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors are a family of their own
        text = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise BundleError(f"{where}: onnxruntime refuses it ({text})") from None


def run_model(session: Any, observation: Any, mask: Any) -> tuple[Any, Any]:
    """Log-probabilities and values of a session. Raises `BundleError` for inputs that don't fit."""
    try:
        return tuple(
            session.run(["log_probs", "value"], {"observation": observation, "mask": mask})
        )
    except Exception as error:  # onnxruntime's errors are a family of their own
        raise BundleError(f"{MODEL}: onnxruntime refuses the inputs ({error!r:.100})") from None
