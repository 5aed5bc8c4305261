"""A critic for training alone: it values positions with the cards of all seats in sight.

What a seat can expect hangs on cards that it does not see. A value that knows them (the critic of
Pinto et al., *Asymmetric actor critic for image-based robot learning*, RSS 2018) takes part of the
luck of the deal out of the advantages. The policy and its own value head still see only what the
seat may know; the critic is thrown away when training ends.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from kolkhoz_agents.protocol import Table

from .config_algorithms import CriticPart, PpoPart
from .kept import Batch
from .ppo import load_optimizer, optimizer_tensors, split

IntArray = npt.NDArray[np.int64]
_AT_ONCE = 8192
"""Rows that are valued in one pass: what is in between fits the caches."""


class CriticNetwork(nn.Module):
    """Multi-layer perceptron from `scale` float32[inputs] times bytes to one value."""

    scale: Tensor

    def __init__(self, hidden: tuple[int, ...], scale: Tensor, seed: int) -> None:
        super().__init__()
        self.register_buffer("scale", scale, persistent=False)
        sizes = (len(scale), *hidden)
        self.trunk = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.value = nn.Linear(sizes[-1], 1)
        generator = torch.Generator().manual_seed(seed)
        for layer in (*self.trunk, self.value):
            assert isinstance(layer, nn.Linear)
            gain = 0.5 if layer is self.value else 2.0**0.5
            nn.init.orthogonal_(layer.weight, gain, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, *bytes_: Tensor) -> Tensor:
        """Values float32[n] of rows whose inputs are given as uint8[n, k], one piece or several."""
        dtype = torch.bfloat16 if torch.is_autocast_enabled(bytes_[0].device.type) else torch.float
        hidden = torch.cat([piece.to(dtype) for piece in bytes_], 1)
        for number, layer in enumerate(self.trunk):
            assert isinstance(layer, nn.Linear)
            # The scale folded into the first layer spares a pass over the inputs.
            weight = layer.weight if number else layer.weight * self.scale
            hidden = functional.relu(functional.linear(hidden, weight, layer.bias))
        return self.value(hidden)[:, 0].float()


class Critic:
    """The critic of a run with its optimizer.

    It sees the learner's inputs (`columns` int64[inputs] of the observation) and what the game's
    `hidden` gives. `learned` counts the decisions that it has learned from.
    """

    def __init__(
        self,
        part: CriticPart,
        ppo: PpoPart,
        game: Any,
        columns: IntArray,
        device: torch.device,
        seed: int,
    ) -> None:
        self.part, self.ppo, self.device = part, ppo, device
        self.learned = 0
        self._order = np.asarray(game.hidden_index, np.int64)
        scale = np.asarray(game.observation.scale, np.float32)[columns]
        all_scales = np.append(scale, np.ones(self._order.shape[1], np.float32))
        self.network = CriticNetwork(part.hidden, torch.from_numpy(all_scales), seed).to(device)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=ppo.learning_rate, eps=1e-5, fused=True
        )

    @property
    def ready(self) -> bool:
        """Whether it has learned enough for advantages to be over its values."""
        return self.learned >= self.part.warm_up

    def hidden(self, table: Table, rows: IntArray, case: IntArray) -> npt.NDArray[np.uint8]:
        """What the seat to act in each of `rows` may not know, uint8[n, H], in canonical order."""
        plain: npt.NDArray[np.uint8] = table.hidden(rows)  # type: ignore[attr-defined]
        return np.take_along_axis(plain, self._order[case], axis=1)

    @torch.no_grad()
    def values(self, observation: Tensor, hidden: Tensor) -> Tensor:
        """Values float32[n] of decisions whose canonical inputs are given, uint8[n, ...]."""
        pieces = zip(observation.split(_AT_ONCE), hidden.split(_AT_ONCE), strict=True)
        with self._precision():
            return torch.cat([self.network(seen, unseen) for seen, unseen in pieces])

    def learn(self, batch: Batch, rate: float, generator: torch.Generator) -> dict[str, float]:
        """Gradient steps towards the targets of a batch; returns the mean loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total, steps = torch.zeros(()), 0
        for _ in range(self.part.epochs):
            order = torch.randperm(len(batch), generator=generator).to(self.device)
            for rows in split(order, self.ppo.minibatch):
                with self._precision():
                    value = self.network(
                        batch.observation.index_select(0, rows), batch.hidden.index_select(0, rows)
                    )
                loss = functional.mse_loss(value, batch.target[rows])
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), self.ppo.max_gradient)
                self.optimizer.step()
                total, steps = total + loss.detach().cpu(), steps + 1
        self.learned += len(batch)
        return {"critic_loss": float(total) / steps}

    def _precision(self) -> torch.autocast:
        fast = self.ppo.precision == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=fast)

    def tensors(self) -> dict[str, Tensor]:
        """Weights and optimizer for a checkpoint."""
        weights = {f"network/{n}": t.cpu().clone() for n, t in self.network.state_dict().items()}
        state = optimizer_tensors(self.network, self.optimizer)
        return weights | {f"optimizer/{name}": tensor for name, tensor in state.items()}

    def take_over(self, tensors: dict[str, Tensor], learned: int) -> None:
        """Put back what `tensors` gave. Raises KeyError or RuntimeError if they don't fit."""
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "optimizer": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = tensor
        self.network.load_state_dict(parts["network"])
        # One that has not learned yet has an optimizer without a state.
        if learned:
            load_optimizer(self.network, self.optimizer, parts["optimizer"])
        self.learned = learned
