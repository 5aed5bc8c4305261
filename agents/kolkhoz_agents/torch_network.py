"""The same network in torch, for training and export.

`PolicyValueNetwork` is the core: canonical inputs to canonical logits and a value. Its parameters
bear the names of `network.expected_weights`, so that weights go between the two unchanged.
`PlainOrderNetwork` wraps a core so that inputs and outputs are in the table's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .network import Canon, FloatArray, NetworkShape, Weights, check_weights


class PolicyValueNetwork(nn.Module):
    """Multi-layer perceptron with a policy and a value head (see `NetworkShape`)."""

    scale: Tensor

    def __init__(self, shape: NetworkShape, game: Any) -> None:
        super().__init__()
        self.shape = shape
        self.num_actions = int(game.num_actions)
        columns = shape.columns(game)
        scale = np.asarray(game.observation.scale, np.float32)[columns]
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        self.trunk = self._layers(len(columns))
        self.policy = nn.Linear(shape.hidden[-1], shape.phase_columns(game))
        self.value = nn.Linear(shape.hidden[-1], 1)
        self.value_trunk = self._layers(len(columns)) if shape.trunk == "separate" else None

    def _layers(self, width: int) -> nn.ModuleList:
        sizes = (width, *self.shape.hidden)
        return nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def initialise(self, seed: int) -> None:
        """Orthogonal weights, a nearly uniform policy, all from `seed`."""
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 1:
                nn.init.zeros_(parameter)
                continue
            gain = {"policy": 0.01, "value": 0.5}.get(name.split(".")[0], 2.0**0.5)
            nn.init.orthogonal_(parameter, gain, generator=generator)

    def forward(self, inputs: Tensor, phase: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scaled canonical inputs [n, inputs] to logits [n, A] and values [n]."""
        return self._heads(self._run(self.trunk, inputs, None), inputs, None, phase)

    def forward_counts(self, counts: Tensor, phase: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """As `forward`, from uint8 counts [n, inputs].

        The scale is folded into the first layer's weights: one pass less over the inputs.
        """
        dtype = torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32
        if counts.is_cuda and torch.is_autocast_enabled("cuda"):
            dtype = torch.bfloat16
        inputs = counts.to(dtype)
        return self._heads(self._run(self.trunk, inputs, self.scale), inputs, self.scale, phase)

    def _run(self, layers: nn.ModuleList, inputs: Tensor, scale: Tensor | None) -> Tensor:
        act = functional.relu if self.shape.activation == "relu" else functional.silu
        hidden = inputs
        for i, layer in enumerate(layers):
            weight = layer.weight if scale is None or i else layer.weight * scale
            hidden = act(functional.linear(hidden, weight, layer.bias))
        return hidden

    def _heads(
        self, hidden: Tensor, inputs: Tensor, scale: Tensor | None, phase: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        logits = self.policy(hidden)
        if self.shape.heads == "phase":
            assert phase is not None, "heads by phase need the phase of each decision"
            logits = logits.view(len(logits), -1, self.num_actions)
            logits = logits[torch.arange(len(logits), device=logits.device), phase.long()]
        if self.value_trunk is not None:
            hidden = self._run(self.value_trunk, inputs, scale)
        return logits, self.value(hidden)[:, 0]

    def weights(self) -> Weights:
        """Copies of the weights by name, float32."""
        return {
            name: tensor.detach().cpu().numpy().astype(np.float32, copy=True)
            for name, tensor in self.state_dict().items()
        }

    def load(self, weights: Mapping[str, FloatArray], game: Any) -> None:
        """Take weights over; raises `NetworkError` if names or shapes differ."""
        check_weights(weights, self.shape, game)
        self.load_state_dict({n: torch.from_numpy(np.array(w)) for n, w in weights.items()})


class PlainOrderNetwork(nn.Module):
    """A core with the game's symmetry around it: plain order in, plain order out."""

    key_columns: Tensor
    key_weights: Tensor
    key_scale: Tensor
    pairs: Tensor
    case_of_code: Tensor
    observation_index: Tensor
    action_inverse: Tensor

    def __init__(self, core: PolicyValueNetwork, game: Any) -> None:
        super().__init__()
        self.core = core
        canon = Canon(game, core.shape)
        for name in ("key_columns", "key_weights", "pairs", "case_of_code", "observation_index",
                     "action_inverse"):  # fmt: skip
            self.register_buffer(name, torch.from_numpy(getattr(canon, name)))
        scale = np.asarray(game.observation.scale, np.float32)[canon.key_columns]
        self.register_buffer("key_scale", torch.from_numpy(scale))

    def forward(self, observation: Tensor, phase: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scaled plain observation float32[n, O] to logits [n, A] in plain order, values [n]."""
        case = self._case(observation)
        inputs = observation.gather(1, self.observation_index[case])
        logits, value = self.core(inputs, phase)
        return logits.gather(1, self.action_inverse[case]), value

    def _case(self, observation: Tensor) -> Tensor:
        """Which case of the symmetry each row is in, int64[n]; see `Canon.case`."""
        if not len(self.pairs):
            return torch.zeros(len(observation), dtype=torch.long, device=observation.device)
        # Whole numbers again, so that the keys are exact on any device.
        shown = (observation[:, self.key_columns] / self.key_scale).round().long()
        keys = (shown * self.key_weights).sum(2)
        exchanged = keys[:, self.pairs[:, 1]] > keys[:, self.pairs[:, 0]]
        bits = torch.arange(len(self.pairs), device=observation.device)
        return self.case_of_code[(exchanged.long() << bits).sum(1)]
