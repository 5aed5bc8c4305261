"""Networks that act: frozen weights in the fastest form for batches of decisions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kolkhoz_agents.torch_network import PolicyValueNetwork

ILLEGAL = -1e9


class ActingNetwork:
    """A copy of a network's weights for acting: scale folded in, cast once, no gradients.

    At `temperature` 1 it acts by its policy; near 0 it plays its best move.
    """

    def __init__(
        self, network: PolicyValueNetwork, precision: str, temperature: float = 1.0
    ) -> None:
        self.temperature = temperature
        self.shape = network.shape
        self.num_actions = network.num_actions
        self.device = network.scale.device
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self._weights = {name: w.detach().clone() for name, w in network.state_dict().items()}
        for trunk in ("trunk", "value_trunk"):
            if f"{trunk}.0.weight" in self._weights:
                self._weights[f"{trunk}.0.weight"] *= network.scale
        for name, weight in self._weights.items():
            if "trunk" in name:
                self._weights[name] = weight.to(self.dtype)

    @torch.inference_mode()
    def evaluate(self, counts: Tensor, mask: Tensor, phase: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities float32[n, A] (`ILLEGAL` where illegal) and values float32[n].

        `counts` uint8[n, inputs] and `mask` bool[n, A] are in canonical order; `phase` int64[n].
        """
        inputs = counts.to(self.dtype)
        hidden = self._run("trunk", inputs).float()
        logits = self._linear(hidden, "policy")
        if self.shape.heads == "phase":
            logits = logits.view(len(logits), -1, self.num_actions)
            logits = logits[torch.arange(len(logits), device=self.device), phase]
        if self.shape.trunk == "separate":
            hidden = self._run("value_trunk", inputs).float()
        value = self._linear(hidden, "value")[:, 0]
        if self.temperature != 1:
            logits = logits / self.temperature
        return torch.log_softmax(logits.masked_fill(~mask, ILLEGAL), 1), value

    def _linear(self, inputs: Tensor, name: str) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.linear(inputs, weight, bias)

    def _run(self, trunk: str, hidden: Tensor) -> Tensor:
        act = functional.relu if self.shape.activation == "relu" else functional.silu
        for i in range(len(self.shape.hidden)):
            hidden = act(self._linear(hidden, f"{trunk}.{i}"))
        return hidden


@torch.inference_mode()
def sample(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """One action a row, int64[n], with the probabilities of `log_probs` float32[n, A].

    One uniform number a row is drawn on the CPU, so that a draw is the same on any device.
    """
    # The bound spares the slow path of exp; what it adds to a sum of about 1 is lost in rounding.
    total = log_probs.clamp_min(-80).exp().cumsum(1)
    drawn = 1 - torch.rand(len(total), 1, generator=generator)
    threshold = drawn.to(total.device) * total[:, -1:]
    return (total < threshold).sum(1)


def make_network(shape: Any, game: Any, weights: Any, device: torch.device) -> PolicyValueNetwork:
    """A network with given weights, on a device."""
    network = PolicyValueNetwork(shape, game)
    network.load(weights, game)
    return network.to(device)
