"""Which decisions a learner makes where it does not make all of them.

A decision is named by its phase (``trump``), by a group of phases (``swap`` for ``swap_take`` and
``swap_give``), or by a phase and what the first column of an observation block holds:
``play:hand_sizes=2`` is the play of a seat with two cards in hand, after which one is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import AgentError
from .protocol import Game


class Learned:
    """Says which decisions are the learner's. `names` None means all."""

    def __init__(self, game: Game, names: Sequence[str] | None) -> None:
        count = len(game.phases)
        self.names = None if names is None else tuple(names)
        self._whole = np.full(count + 1, names is None)
        self._parts: list[tuple[NDArray[np.bool_], int, int]] = []
        for name in names or ():
            phase, colon, condition = name.partition(":")
            mask = np.append(phases_named(game, phase), False)
            if colon:
                self._parts.append((mask, *_condition(game, condition)))
            else:
                self._whole |= mask

    @property
    def everything(self) -> bool:
        """Whether the learner makes all decisions."""
        return bool(self._whole[:-1].all())

    def rows(
        self, phase: NDArray[np.integer[Any]], observation: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        """bool[n]: the learner's among decisions of phases int[n] with observations [n, O]."""
        own = self._whole[phase]
        for mask, column, value in self._parts:
            own = own | (mask[phase] & (observation[:, column] == value))
        return own


def phases_named(game: Game, name: str) -> NDArray[np.bool_]:
    """bool[phases]: the phases that a name means. Raises AgentError."""
    groups: dict[str, tuple[str, ...]] = dict(getattr(game, "phase_groups", {}))
    wanted = groups.get(name, (name,))
    mask = np.array([phase in wanted for phase in game.phases])
    if not mask.any():
        allowed = ", ".join([*game.phases, *groups])
        raise AgentError(f"learn: {name!r} is no phase of {game.name}; allowed: {allowed}")
    return mask


def _condition(game: Game, text: str) -> tuple[int, int]:
    """Column and value of ``BLOCK=VALUE``."""
    name, equals, value = text.partition("=")
    blocks = {block.name: block for block in game.observation.blocks}
    if not equals or not value.isdigit() or name not in blocks:
        raise AgentError(
            f"learn: {text!r} should be BLOCK=NUMBER, with an observation block of {game.name}"
        )
    return int(blocks[name].offset), int(value)
