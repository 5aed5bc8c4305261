"""A bot's network in bfloat16, for searches that ask it many times and need no exact digits.

About four times as fast as numpy's float32 on processors with instructions for it. The outputs
agree to two or three digits, so that a close decision may come out differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.bots import Bot
from kolkhoz_agents.network import Canon, FloatArray, NetworkShape, check_weights
from kolkhoz_agents.protocol import Agent


def bfloat16_is_fast() -> bool:
    """Whether torch is installed and the processor computes with bfloat16 itself."""
    if find_spec("torch") is None:
        return False
    import torch

    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    checks = [getattr(torch.cpu, name, None) for name in names]
    return any(bool(check()) for check in checks if check is not None)


def quickened(agent: Agent, game: Any) -> Agent | None:
    """A copy of a bot that computes in bfloat16; None of other agents, or where that is slow."""
    if not isinstance(agent, Bot) or not bfloat16_is_fast():
        return None
    quick = copy(agent)
    # It stands in for a NumpyNetwork: all that a bot asks of one is `plain`.
    quick.network = Bfloat16Network(agent.file.shape, agent.file.weights, game)  # type: ignore[assignment]
    return quick


def _rounded(rows: int) -> int:
    """A few more rows, up to the next of few sizes: 4 to 8 an octave.

    For every size that it meets first, torch's library compiles its loops anew, which takes longer
    than hundreds of rows do.
    """
    step = max(8, (1 << rows.bit_length()) >> 3)
    return -(-rows // step) * step


class Bfloat16Network:
    """Stands in for a `NumpyNetwork`; needs torch."""

    def __init__(self, shape: NetworkShape, weights: Mapping[str, FloatArray], game: Any) -> None:
        import torch

        check_weights(weights, shape, game)
        self.shape = shape
        self.canon = Canon(game, shape)
        self.num_actions = int(game.num_actions)
        self._torch = torch

        def layer(name: str, scaled: bool = False) -> tuple[Any, Any]:
            weight = weights[f"{name}.weight"] * (self.canon.scale if scaled else np.float32(1))
            bias = torch.from_numpy(np.array(weights[f"{name}.bias"]))
            return torch.from_numpy(weight).bfloat16().contiguous(), bias.bfloat16()

        def trunk(name: str) -> list[tuple[Any, Any]]:
            # Observations are counts: their scale goes into the first layer once and for all.
            return [layer(f"{name}.{i}", scaled=i == 0) for i in range(len(shape.hidden))]

        self._trunk = trunk("trunk")
        self._value_trunk = trunk("value_trunk") if shape.trunk == "separate" else None
        self._policy, self._value = layer("policy"), layer("value")

    def plain(
        self, observation: NDArray[np.uint8], phase: NDArray[np.integer[Any]] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Plain uint8 observation [n, O] to logits [n, A] in the table's order, and values [n]."""
        linear = self._torch.nn.functional.linear
        case = self.canon.case(observation)
        count = len(case)
        canonical = np.zeros((_rounded(count), self.canon.observation_index.shape[1]), np.uint8)
        canonical[:count] = self.canon.to_canonical(observation, case)
        with self._torch.inference_mode():
            inputs = self._torch.from_numpy(canonical).bfloat16()
            hidden = self._run(self._trunk, inputs)
            logits = linear(hidden, *self._policy).float().numpy()[:count]
            if self._value_trunk is not None:
                hidden = self._run(self._value_trunk, inputs)
            values = linear(hidden, *self._value).float().numpy()[:count, 0]
        if self.shape.heads == "phase":
            assert phase is not None, "heads by phase need the phase of each decision"
            logits = logits.reshape(count, -1, self.num_actions)
            logits = logits[np.arange(count), np.asarray(phase)]
        return self.canon.logits_to_plain(logits, case), values

    def _run(self, layers: list[tuple[Any, Any]], hidden: Any) -> Any:
        functional = self._torch.nn.functional
        act = functional.relu if self.shape.activation == "relu" else functional.silu
        for weight, bias in layers:
            hidden = act(functional.linear(hidden, weight, bias))
        return hidden
