"""Larger networks that begin as a smaller one: the same function, with room to learn more.

After Chen, Goodfellow and Shlens, *Net2Net: Accelerating learning via knowledge transfer* (ICLR
2016): new units get random weights in and zero weights out, new layers begin as the identity, which
leaves a layer's outputs as they are behind a relu, and new inputs get zero weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kolkhoz_agents.network import NetworkShape, Weights


def growth_problem(old: NetworkShape, new: NetworkShape) -> str | None:
    """Why `old` can't grow into `new`, or None if it can."""
    for key in ("kind", "activation", "trunk", "heads"):
        if getattr(old, key) != getattr(new, key):
            return f"{key} is {getattr(old, key)}, not {getattr(new, key)}"
    if new.inputs is not None:
        extra = ["all blocks"] if old.inputs is None else sorted({*old.inputs} - {*new.inputs})
        if extra:
            return f"it sees {', '.join(extra)} as well"
    if len(old.hidden) > len(new.hidden):
        return f"it has {len(old.hidden)} layers, not {len(new.hidden)}"
    if len(old.hidden) < len(new.hidden) and old.activation != "relu":
        return f"only relu networks can get more layers, not {old.activation}"
    # A layer that is added carries the outputs of the old last one.
    wanted = [*old.hidden, *[old.hidden[-1]] * (len(new.hidden) - len(old.hidden))]
    if any(had > has for had, has in zip(wanted, new.hidden, strict=True)):
        return f"its layers {wanted} do not fit into {list(new.hidden)}"
    return None


def grow(
    weights: Weights,
    old: NetworkShape,
    new: NetworkShape,
    game: Any,
    generator: np.random.Generator,
) -> Weights:
    """The weights of a network of shape `new` that computes what `weights` of shape `old` do.

    `growth_problem` must have found none; `generator` draws the weights into new units.
    """
    place = {column: i for i, column in enumerate(new.columns(game))}
    inputs = np.array([place[column] for column in old.columns(game)])
    grown: Weights = {}
    for trunk in ("trunk", "value_trunk") if old.trunk == "separate" else ("trunk",):
        units = inputs
        width = len(place)
        for layer, size in enumerate(new.hidden):
            name = f"{trunk}.{layer}"
            if layer < len(old.hidden):
                matrix, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            else:
                matrix = np.eye(old.hidden[-1], dtype=np.float32)
                bias = np.zeros(old.hidden[-1], np.float32)
            grown[f"{name}.weight"], grown[f"{name}.bias"] = _layer(
                matrix, bias, units, (size, width), generator
            )
            units, width = np.arange(len(bias)), size
    for head in ("policy", "value"):
        matrix = np.zeros((len(weights[f"{head}.bias"]), new.hidden[-1]), np.float32)
        matrix[:, : weights[f"{head}.weight"].shape[1]] = weights[f"{head}.weight"]
        grown[f"{head}.weight"], grown[f"{head}.bias"] = matrix, weights[f"{head}.bias"].copy()
    return grown


def _layer(
    matrix: npt.NDArray[np.float32],
    bias: npt.NDArray[np.float32],
    units: npt.NDArray[np.int64],
    shape: tuple[int, int],
    generator: np.random.Generator,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Weights [out, in] and biases of a larger layer: the old ones read the inputs `units`."""
    out, width = shape
    # He's scale, as for any new relu layer.
    larger = generator.normal(0, np.sqrt(2 / width), shape).astype(np.float32)
    larger[: len(bias)] = 0
    larger[: len(bias), units] = matrix
    biases = np.zeros(out, np.float32)
    biases[: len(bias)] = bias
    return larger, biases
