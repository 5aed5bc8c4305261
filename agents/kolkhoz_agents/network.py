"""The network of a bot: its shape, its weights' names, and a forward pass in numpy.

A bot's network is a plain multi-layer perceptron. It sees the observation in *canonical* order (the
game's symmetry applied: in Kolkhoz the crops sorted, trump before all others) and gives one logit
an action in the same order, and one value: the return that the seat to act can expect.
`to_canonical` and `to_plain` go between the order of the table and that of the network.

Weights are named float32 arrays, the same here, in torch (`torch_network`) and in a bot's
``weights.safetensors`` (which may store them as float16): ``trunk.I.weight [out, in]``,
``trunk.I.bias [out]``, ``policy.*``, ``value.*``, and ``value_trunk.I.*`` where the value has a
trunk of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import combinations, permutations
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from kolkhoz_env.errors import KolkhozError

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Weights = dict[str, FloatArray]


class NetworkError(KolkhozError):
    """A network's shape or weights don't fit the game, or one another."""


@dataclass(frozen=True)
class NetworkShape:
    """What is needed to rebuild a network: sizes, activation, heads, and the inputs used.

    `inputs` names the observation blocks that are seen; None means all. `heads` is ``shared`` (one
    policy output for all phases) or ``phase`` (one for each decision phase).
    """

    hidden: tuple[int, ...] = (256, 256)
    activation: str = "silu"
    trunk: str = "shared"
    heads: str = "shared"
    inputs: tuple[str, ...] | None = None
    kind: str = "mlp"

    def __post_init__(self) -> None:
        allowed = {
            "kind": ("mlp",),
            "activation": ("relu", "silu"),
            "trunk": ("shared", "separate"),
            "heads": ("shared", "phase"),
        }
        for key, values in allowed.items():
            if getattr(self, key) not in values:
                raise NetworkError(
                    f"network.{key}: {getattr(self, key)!r} is not one of {', '.join(values)}"
                )
        if not self.hidden or not all(isinstance(n, int) and 1 <= n <= 8192 for n in self.hidden):
            raise NetworkError(f"network.hidden: {list(self.hidden)} must be sizes from 1 to 8192")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NetworkShape:
        """Read the ``network`` part of a bot.json; unknown keys are refused."""
        known = {field.name for field in fields(cls)}
        for key in data:
            if key not in known:
                raise NetworkError(f"network.{key}: unknown key; known: {', '.join(sorted(known))}")
        values = dict(data)
        for key, kind, name in (("hidden", int, "whole numbers"), ("inputs", str, "texts")):
            value = values.get(key)
            if value is None and (key == "inputs" or key not in values):
                continue
            entries = value if isinstance(value, list | tuple) else ()
            if {type(entry) for entry in entries} != {kind}:
                raise NetworkError(f"network.{key}: {value!r:.80} should be a list of {name}")
            values[key] = tuple(entries)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able form that `from_dict` reads back."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    def columns(self, game: Any) -> IntArray:
        """Canonical observation columns that the network sees, int64[inputs]."""
        if self.inputs is None:
            return np.arange(game.observation.size)
        blocks = {block.name: block for block in game.observation.blocks}
        for name in self.inputs:
            if name not in blocks:
                raise NetworkError(
                    f"network.inputs: no observation block {name!r}; known: {', '.join(blocks)}"
                )
        chosen = [block for block in blocks.values() if block.name in self.inputs]
        return np.concatenate([np.arange(b.offset, b.offset + b.length) for b in chosen])

    def phase_columns(self, game: Any) -> int:
        """Number of policy outputs: one set of actions, or one for each phase."""
        return int(game.num_actions) * (len(game.phases) if self.heads == "phase" else 1)


def pair_cases(parts: int) -> tuple[IntArray, IntArray]:
    """How to find the order of the parts of a symmetry by comparing them two by two.

    Returns the Q pairs of parts int64[Q, 2], the lower first, and the cases int64[2**Q] by code:
    bit q of a code is set where the second part of pair q comes before the first.
    """
    pairs = list(combinations(range(parts), 2))
    cases = np.zeros(1 << len(pairs), np.int64)
    for case, order in enumerate(permutations(range(parts))):
        exchanged = (order.index(second) < order.index(first) for first, second in pairs)
        cases[sum(bit << q for q, bit in enumerate(exchanged))] = case
    return np.array(pairs, np.int64).reshape(-1, 2), cases


class Canon:
    """Goes between the table's order and the network's, for one game and one network's inputs.

    `observation_index` int64[K, inputs] and `action_index` int64[K, A] are the game's symmetry,
    restricted to the columns that the network sees; `scale` float32[inputs] turns bytes into
    floats. `key_columns` int64[C, m] and `key_weights` int64[m] are the keys of its C parts;
    `pairs` and `case_of_code` say how their order gives the case (see `pair_cases`).
    """

    def __init__(self, game: Any, shape: NetworkShape) -> None:
        symmetry = game.symmetry
        columns = shape.columns(game)
        self.key_columns = np.asarray(symmetry.key_columns, np.int64)
        self.key_weights = np.asarray(symmetry.key_weights, np.int64)
        self.pairs, self.case_of_code = pair_cases(len(self.key_columns))
        self.observation_index = np.ascontiguousarray(
            np.asarray(symmetry.observation_index, np.int64)[:, columns]
        )
        self.action_index = np.asarray(symmetry.action_index, np.int64)
        #: Network's action of each plain one, int64[K, A]: `plain[j] = canonical[index[case, j]]`.
        self.action_inverse = np.argsort(self.action_index, axis=1)
        self.scale = np.asarray(game.observation.scale, np.float32)[columns]
        parts = len(self.key_columns)
        for index in (self.observation_index, self.action_index):
            if len(index) != factorial(parts):
                raise NetworkError(f"symmetry: {parts} parts and {len(index)} cases do not fit")
        self._weights = self.key_weights.astype(np.int32)
        self._key_columns = self.key_columns.ravel()
        self._bits = 1 << np.arange(len(self.pairs))

    @property
    def cases(self) -> int:
        """Number of cases K of the symmetry."""
        return len(self.action_index)

    def case(self, observation: npt.NDArray[Any]) -> IntArray:
        """Which case of the symmetry each row of plain bytes [n, O] is in, int64[n]."""
        if not len(self.pairs):
            return np.zeros(len(observation), np.int64)
        shown = observation.take(self._key_columns, axis=1, mode="clip").astype(np.int32)
        # No product of float matrices: the threads of numpy's BLAS would go on spinning after it
        # and take the processor from torch's.
        shown = shown.reshape(len(shown), *self.key_columns.shape)
        keys = np.einsum("ncm,m->nc", shown, self._weights)
        exchanged = keys[:, self.pairs[:, 1]] > keys[:, self.pairs[:, 0]]
        return self.case_of_code[exchanged @ self._bits]

    def to_canonical(
        self, observation: npt.NDArray[np.uint8], case: IntArray
    ) -> npt.NDArray[np.uint8]:
        """Plain observation [n, O] to what the network sees, uint8[n, inputs]."""
        if len(case) == 1:
            return observation.take(self.observation_index[case[0]], axis=1, mode="clip")
        out = np.empty((len(case), self.observation_index.shape[1]), observation.dtype)
        order = np.argsort(case, kind="stable")
        ends = np.bincount(case, minlength=self.cases).cumsum().tolist()
        start = 0
        for index, end in zip(self.observation_index, ends, strict=True):
            # Rows of one case share an index. A few at a time stay in the processor's cache, and
            # "clip" spares a check of every number.
            for first in range(start, end, 128):
                rows = order[first : min(first + 128, end)]
                out[rows] = observation[rows].take(index, axis=1, mode="clip")
            start = end
        return out

    def mask_to_canonical(
        self, mask: npt.NDArray[np.bool_], case: IntArray
    ) -> npt.NDArray[np.bool_]:
        """Plain legal mask [n, A] in the network's action order, bool[n, A]."""
        return _by_row(mask, self.action_index[case])

    def action_to_plain(self, action: IntArray, case: IntArray) -> IntArray:
        """Action numbers of the network to those of the table, int64[n]."""
        return self.action_index[case, action]

    def action_to_canonical(self, action: IntArray, case: IntArray) -> IntArray:
        """Action numbers of the table to those of the network, int64[n]."""
        return self.action_inverse[case, action]

    def logits_to_plain(self, logits: FloatArray, case: IntArray) -> FloatArray:
        """Canonical logits [n, A] in the table's action order, float32[n, A]."""
        return _by_row(logits, self.action_inverse[case])


def _by_row(values: npt.NDArray[Any], index: IntArray) -> npt.NDArray[Any]:
    """Of each row of [n, A] the entries that `index` [n, A] names; faster than numpy's own."""
    start = np.arange(len(values)) * values.shape[1]
    return values.ravel().take(index + start[:, None], mode="clip")


def trunk_weights(name: str, shape: NetworkShape, game: Any) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights of one trunk."""
    layers: dict[str, tuple[int, ...]] = {}
    width = len(shape.columns(game))
    for i, size in enumerate(shape.hidden):
        layers[f"{name}.{i}.weight"], layers[f"{name}.{i}.bias"] = (size, width), (size,)
        width = size
    return layers


def expected_weights(shape: NetworkShape, game: Any) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a network's weights."""
    layers = trunk_weights("trunk", shape, game)
    width, outputs = shape.hidden[-1], shape.phase_columns(game)
    layers["policy.weight"], layers["policy.bias"] = (outputs, width), (outputs,)
    if shape.trunk == "separate":
        layers |= trunk_weights("value_trunk", shape, game)
    layers["value.weight"], layers["value.bias"] = (1, width), (1,)
    return layers


def check_weights(weights: Mapping[str, FloatArray], shape: NetworkShape, game: Any) -> None:
    """Raise `NetworkError` unless names, shapes and values are those of such a network."""
    check_arrays(weights, expected_weights(shape, game))


def check_arrays(
    weights: Mapping[str, FloatArray], expected: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise `NetworkError` unless the weights have these names and shapes, and are finite."""
    for name in sorted(set(expected) | set(weights)):
        if name not in expected or name not in weights:
            state = "missing" if name in expected else "unexpected"
            raise NetworkError(f"weights: {state} array {name!r}")
        if tuple(weights[name].shape) != expected[name]:
            raise NetworkError(
                f"weights: {name} has shape {tuple(weights[name].shape)}, not {expected[name]}"
            )
        if not np.isfinite(weights[name]).all():
            raise NetworkError(f"weights: {name} holds values that are no finite numbers")


def as_layers(weights: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The weights as numpy's products want them: matrices float32[in, out]."""
    return {
        name: np.ascontiguousarray(array.T if array.ndim == 2 else array, np.float32)
        for name, array in weights.items()
    }


def run_trunk(
    layers: Mapping[str, npt.NDArray[Any]], name: str, shape: NetworkShape, inputs: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Scaled canonical inputs [n, inputs] through the hidden layers of a trunk, in their dtype."""
    hidden = inputs
    for i in range(len(shape.hidden)):
        hidden = hidden @ layers[f"{name}.{i}.weight"] + layers[f"{name}.{i}.bias"]
        if shape.activation == "relu":
            np.maximum(hidden, 0, out=hidden)
        else:
            # x sigmoid(x); by tanh nothing overflows.
            hidden *= 0.5 + 0.5 * np.tanh(0.5 * hidden)
    return hidden


class NumpyNetwork:
    """The network in numpy: what a bot plays with where torch is not installed."""

    def __init__(self, shape: NetworkShape, weights: Mapping[str, FloatArray], game: Any) -> None:
        check_weights(weights, shape, game)
        self.shape = shape
        self.canon = Canon(game, shape)
        self.num_actions = int(game.num_actions)
        self._layers = as_layers(weights)

    def forward(
        self, inputs: FloatArray, phase: npt.NDArray[np.integer[Any]] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Scaled canonical inputs [n, inputs] to logits [n, A] (canonical order) and values [n].

        `phase` int[n] is needed by a network with heads by phase.
        """
        hidden = run_trunk(self._layers, "trunk", self.shape, inputs)
        logits = hidden @ self._layers["policy.weight"] + self._layers["policy.bias"]
        if self.shape.heads == "phase":
            if phase is None:
                raise NetworkError("network.heads: phase heads need the phase of each decision")
            by_phase = logits.reshape(len(inputs), -1, self.num_actions)
            logits = by_phase[np.arange(len(inputs)), phase]
        if self.shape.trunk == "separate":
            hidden = run_trunk(self._layers, "value_trunk", self.shape, inputs)
        value = hidden @ self._layers["value.weight"] + self._layers["value.bias"]
        return logits, value[:, 0]

    def plain(
        self,
        observation: npt.NDArray[np.uint8],
        phase: npt.NDArray[np.integer[Any]] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Plain uint8 observation [n, O] to logits [n, A] in the table's order, and values [n]."""
        case = self.canon.case(observation)
        inputs = self.canon.to_canonical(observation, case).astype(np.float32) * self.canon.scale
        logits, value = self.forward(inputs, phase)
        return self.canon.logits_to_plain(logits, case), value
