"""The random agent: every legal action is as likely as any other. The floor of every ladder."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import choose_uniform
from kolkhoz_agents.protocol import Decisions, Game, Option


class RandomAgent:
    """Plays a uniformly random legal action, of any game."""

    help: ClassVar[str] = "a uniformly random legal action"
    options: ClassVar[tuple[Option, ...]] = ()

    def __init__(self, game: Game) -> None:
        self.name = "random"
        self.needs: frozenset[str] = frozenset()

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions."""
        return choose_uniform(decisions.mask, decisions.keys)

    def log_probs(self, decisions: Decisions) -> NDArray[np.float32]:
        """float32[B, A]: minus the log of the number of legal actions, -inf where illegal."""
        mask = decisions.mask
        level = -np.log(mask.sum(axis=1, keepdims=True).astype(np.float32))
        return np.where(mask, level, np.float32(-np.inf)).astype(np.float32)
