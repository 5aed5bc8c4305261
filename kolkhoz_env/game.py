"""Kolkhoz as the lab above the engine sees it: one game among others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolkhoz_env.cards import NUM_ACTIONS, NUM_CARDS, action_name
from kolkhoz_env.observation import ObservationTable, Symmetry, observation_table
from kolkhoz_env.recorder import Recorder
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.state import COUNTERS, Int64
from kolkhoz_env.vector import VectorKolkhoz


class KolkhozGame:
    """The game under given rules.

    Attributes:
        name: ``"kolkhoz"``.
        rules: the :class:`Rules`.
        num_seats, num_actions: sizes.
        phases: names of the decision phases by code.
        phase_groups: names for phases that are studied together.
        observation: the :class:`ObservationTable`.
        symmetry: how the crops may be sorted.
        statistics: names of the per-seat statistics of a table.
    """

    name = "kolkhoz"
    num_actions = NUM_ACTIONS
    phases = PHASES[:-1]
    phase_groups: Mapping[str, tuple[str, ...]] = {"swap": ("swap_take", "swap_give")}
    statistics = COUNTERS

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.num_seats = self.rules.players

    @property
    def observation(self) -> ObservationTable:
        """The observation table."""
        return observation_table(replace(self.rules, auto_forced=False))

    @property
    def symmetry(self) -> Symmetry:
        """How the crops may be sorted."""
        return self.observation.symmetry

    @property
    def hidden_index(self) -> Int64:
        """The symmetry of the columns of ``table.hidden``, ``int64[K, 53 * (2 * P - 1)]``."""
        cards = self.symmetry.action_index[:, :NUM_CARDS]
        zones = NUM_CARDS * np.arange(2 * self.num_seats - 1)
        return (zones[:, None] + cards[:, None, :]).reshape(len(cards), -1)

    def rules_dict(self) -> dict[str, Any]:
        """The rules as plain JSON values, which :func:`make_game` takes back."""
        return self.rules.to_dict()

    def action_name(self, action: int) -> str:
        """Text form of an action."""
        return action_name(action)

    def table(
        self, seed: int, games: ArrayLike, *, restart: bool = False, auto_forced: bool = False
    ) -> VectorKolkhoz:
        """The games numbered ``games`` of a seed, at their first decision."""
        rules = replace(self.rules, auto_forced=auto_forced)
        numbers = np.asarray(games, dtype=np.int64)
        return VectorKolkhoz(numbers.size, seed=seed, rules=rules, games=numbers, restart=restart)

    def recorder(self, table: VectorKolkhoz) -> Recorder:
        """The table, whose games have not begun, with a keeper of records around it."""
        return Recorder(table)


def make_game(rules: Mapping[str, Any] | None = None) -> KolkhozGame:
    """Kolkhoz under rules given as plain values; a wrong one raises :class:`RulesError`."""
    return KolkhozGame(Rules.from_dict(rules or {}))
