"""The bot's weights: a moving average of the learner's.

The weights at the end of a batch are those of a learner that has just pulled itself about by one
batch's luck. Their average over the last batches plays better than any of them.
"""

from __future__ import annotations

from torch import Tensor, nn

from kolkhoz_agents.network import Weights


class Average:
    """An exponential moving average of a network's weights, batch by batch.

    `kept` is how much of the average stays at a batch. The window is never longer than about a
    quarter of the run so far, so that a short run is not held back by its first batches.
    """

    def __init__(self, network: nn.Module, kept: float) -> None:
        self.kept = kept
        self.tensors = _copies(network)

    def update(self, network: nn.Module, batch: int) -> None:
        """Take in the weights after batch number `batch` (the first is 1)."""
        new = max(1 - self.kept, 4 / (batch + 3))
        for name, tensor in _copies(network).items():
            self.tensors[name].lerp_(tensor, new)

    def weights(self) -> Weights:
        """The average, float32 arrays by name."""
        return {name: tensor.numpy().copy() for name, tensor in self.tensors.items()}


def _copies(network: nn.Module) -> dict[str, Tensor]:
    return {name: t.detach().cpu().clone() for name, t in network.state_dict().items()}
