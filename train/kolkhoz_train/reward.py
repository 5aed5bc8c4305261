"""What a seat is paid at the end of a game."""

from __future__ import annotations

import numpy as np

from kolkhoz_agents.protocol import Outcome

from .config_model import RewardPart
from .rollout import FloatArray


class MarginReward:
    """Win share less par, plus a bounded term of the margin over the best other seat.

    The margin term tells a close loss from a rout, which makes a seat's return less noisy; it is
    bounded so that no rout is worth a win.
    """

    def __init__(self, part: RewardPart, seats: int) -> None:
        self.part = part
        self.par = 1.0 / seats

    def __call__(self, outcome: Outcome) -> FloatArray:
        """Returns float32[n, P] of finished games."""
        part = self.part
        share = np.asarray(outcome.win_share, np.float32) - np.float32(self.par)
        margin = np.tanh(np.asarray(outcome.margin, np.float32) / np.float32(part.margin_scale))
        return np.asarray(part.win_share * share + part.margin * margin, np.float32)
