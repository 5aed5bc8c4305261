"""What a study keeps: arrays with one row a decision, and arrays by game and year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import CROP, RANK, SABOTEUR
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import COUNTERS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_SWAP, FROM_PLOT, FROM_CELLAR = 0, 1, 2
"""Values of `Swaps.zone`."""


@dataclass(frozen=True)
class Rows:
    """Columns of equal length. `game` is a row of `Years`, `agent` a number in `Study.agents`."""

    game: Ints
    year: Ints
    seat: Ints
    agent: Ints

    def __len__(self) -> int:
        return len(self.game)


@dataclass(frozen=True)
class Trumps(Rows):
    """One row a trump choice: the crop, and by crop [n, 4] what the Planner looked at.

    `cards` and `ranks`: its hand. `reward`: rank of the visible reward. `own`: ranks in its Plot
    and Cellar; `others`: in the others' Plots.
    """

    crop: Ints
    cards: Ints
    ranks: Ints
    reward: Ints
    own: Ints
    others: Ints


@dataclass(frozen=True)
class Swaps(Rows):
    """One row a chance to swap: `zone` NO_SWAP, FROM_PLOT or FROM_CELLAR, and both cards.

    `taken` came into the hand and `given` took its place; -1 where there was no swap. `trump` is
    the crop of the year (4: none).
    """

    zone: Ints
    taken: Ints
    given: Ints
    trump: Ints


@dataclass(frozen=True)
class Banked(Rows):
    """One row a card banked: `card`, `trump` of the year, whether it lay there after requisition
    (`stayed`)."""

    card: Ints
    trump: Ints
    stayed: Bools


@dataclass(frozen=True)
class Assignments(Rows):
    """One row a card assigned by a Brigadier: `card`, chosen `field`, and by crop [n, 4]
    `legal`, `hours` before, `claimed` before, `reward` rank, `own` and `others` holdings as in
    `Trumps`. `quota` is the hours that a field needs, the same in every row.
    """

    card: Ints
    field: Ints
    legal: Bools
    hours: Ints
    claimed: Bools
    reward: Ints
    own: Ints
    others: Ints
    quota: Ints

    @property
    def can_complete(self) -> Bools:
        """bool[n, 4]: fields that this card would complete now, paying their reward."""
        met = self.hours + RANK[self.card][:, None] >= self.quota[:, None]
        return self.legal & ~self.claimed & met & (self.card != SABOTEUR)[:, None]

    @property
    def completes(self) -> Bools:
        """bool[n]: the choice completed a field."""
        return np.asarray(self.can_complete[np.arange(len(self)), self.field])


@dataclass(frozen=True)
class Saboteurs(Rows):
    """One row for each time that somebody played the Saboteur: `trick` (0 the first of the year),
    whether it was `led`, `won` the trick, or was `forced` (the only legal card)."""

    trick: Ints
    led: Bools
    won: Bools
    forced: Bools


@dataclass(frozen=True)
class Years:
    """What each year of G games brought: arrays [G, Y, ...] of P seats and 4 crops.

    `counts` int[G, Y, P, C]: the year's share of every counter in `COUNTERS`. `hours`, `reward`
    int[G, Y, 4]; `failed`, `sabotaged`, `claimed` bool[G, Y, 4]; `trump`, `planner` int[G, Y];
    `score` int[G, Y, P] after the year; `saboteur_banked` bool[G, Y, P]; `players` int[G, P]:
    the agent in each seat; `win_share` float[G, P].
    """

    counts: Ints
    hours: Ints
    reward: Ints
    failed: Bools
    sabotaged: Bools
    claimed: Bools
    trump: Ints
    planner: Ints
    score: Ints
    saboteur_banked: Bools
    players: Ints
    win_share: NDArray[np.float64]

    def count(self, name: str) -> Ints:
        """int[G, Y, P]: one counter by its name."""
        return np.asarray(self.counts[..., COUNTERS.index(name)])


@dataclass(frozen=True)
class Study:
    """Everything that was seen; `agents` are names, `decisions` how many were made."""

    rules: Rules
    agents: tuple[str, ...]
    decisions: int
    trumps: Trumps
    swaps: Swaps
    banked: Banked
    assignments: Assignments
    saboteurs: Saboteurs
    years: Years

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.years.players)


TABLES: dict[str, type[Rows]] = {
    "trumps": Trumps,
    "swaps": Swaps,
    "banked": Banked,
    "assignments": Assignments,
    "saboteurs": Saboteurs,
}


def crop_of(cards: Ints) -> Ints:
    """int[n]: crops of cards; 4 for the Saboteur and for no card."""
    return CROP[cards].astype(np.int64)


def rank_of(cards: Ints) -> Ints:
    """int[n]: ranks of cards; 0 for the Saboteur and for no card."""
    return RANK[cards].astype(np.int64)
