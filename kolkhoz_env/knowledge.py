"""What a seat may know: redacted states, in which hidden cards do not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import BIT, NUM_CARDS, U64, union, zone_with
from kolkhoz_env.legal import as_mask, legal_actions
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import (
    EMPTY,
    SWAP_CELLAR,
    SWAP_PLOT,
    Bool,
    Int8,
    Int64,
    State,
    UInt8,
    UInt64,
)

if TYPE_CHECKING:
    from kolkhoz_env.vector import VectorKolkhoz


def redact(state: State, rows: Int64, seats: Int8) -> State:
    """Copy of ``rows`` with everything gone that ``seats`` (``int8[n]``) may not know.

    Other hands and deals are empty, other Cellar places :data:`HIDDEN` unless their face is
    public, reward piles end with the current year, the key of the shuffles and the statistics
    are zero.
    """
    known = state.take(rows)
    own = np.arange(state.players) == seats[:, None]
    known.key[:] = 0
    known.totals[:] = 0
    others = ~own
    known.hands[others] = 0
    known.dealt[others] = 0
    known.cellars[others] = known.faces[others]
    known.cellar_codes[others] = known.face_codes[others]
    known.in_cellar[others] = zone_with(known.faces[others])
    known.last_seen[others] = 0
    ahead = np.arange(known.piles.shape[2]) >= known.year[:, None]
    known.piles[np.broadcast_to(ahead[:, None, :], known.piles.shape)] = EMPTY
    known.taken[hides_taken(known, seats)] = EMPTY
    known.tied[known.seat != seats] = 0
    return known


def hides_taken(state: State, seats: Int8) -> Bool:
    """Whether the card picked for a swap is hidden from ``seats``, ``bool[n]``.

    It is when another seat picked it in its Cellar and the face there is not public.
    """
    games = np.arange(state.size)
    zone = state.swaps[games, state.seat]
    place = np.clip(zone - SWAP_CELLAR, 0, 4)
    public = (zone == SWAP_PLOT) | (state.faces[games, state.seat, place] >= 0)
    return (state.seat != seats) & ~public


def hidden_cards(state: State, seats: Int8) -> UInt8:
    """Flags of the cards that ``seats`` (``int8[n]``) may not know, ``uint8[n, 53 * (2 * P - 1)]``.

    53 each for the hands of the other seats, from the left neighbour on, for their Cellars, and for
    the rewards that are still to be revealed. For critics that are used in training alone, and to
    weigh worlds.
    """
    games, others = np.arange(state.size), state.players - 1
    count = 2 * others + 1
    zones = np.empty((state.size, count), dtype=U64)
    for step in range(others):
        left = (seats + step + 1) % state.players
        zones[:, step] = state.hands[games, left]
        zones[:, others + step] = state.in_cellar[games, left]
    ahead = np.arange(state.piles.shape[2]) >= state.year[:, None, None]
    zones[:, -1] = union(union(np.where(ahead, BIT[state.piles], U64(0))))
    flags = np.unpackbits(zones.view(np.uint8), axis=1, bitorder="little")
    cards = flags.reshape(state.size, count, 64)[:, :, :NUM_CARDS]
    return cards.reshape(state.size, count * NUM_CARDS)


def hand_sizes(state: State, rules: Rules) -> Int8:
    """Cards in every hand, ``int8[n, P]``: follows from the tricks, so it needs no hands."""
    n, players = state.size, state.players
    full = rules.tricks + 1 - (state.year == rules.famine_year)
    order = (np.arange(players) - state.leader[:, None]) % players
    # Between its last card and its assignment a trick has been played by all.
    in_trick = order < state.trick_size[:, None]
    sizes = full[:, None] - state.trick_number[:, None] - in_trick
    # After the last trick the remaining card has been banked.
    banked = state.trick_number >= full - 1
    sizes[banked] = 0
    return sizes.astype(np.int8).reshape(n, players)


def last_seen_planes(state: State, seats: Int8) -> UInt64:
    """Cards that each seat has seen in year ``y`` or later, ``uint64[n, 5]``.

    Seen is what lay face-up and what was dealt to the seat itself. A card seen in a year was then
    in the Workers Deck or on the table, so it is in no Cellar place filled before.
    """
    planes = state.seen | state.dealt[np.arange(state.size), seats]
    for year in range(3, -1, -1):
        planes[:, year] |= planes[:, year + 1]
    return planes


def unseen(state: State, seats: Int8, deck: int) -> UInt64:
    """Cards of the ``deck`` whose place each seat does not know, ``uint64[n]``.

    Everything that was public in this year still is where the public knows it to be.
    """
    games = np.arange(state.size)
    own = state.hands[games, seats] | state.seen[games, state.year - 1]
    own |= state.in_cellar[games, seats]
    return U64(deck) & ~own


@dataclass(frozen=True)
class Knowledge:
    """What one seat of each of ``n`` games may know, and nothing else.

    Attributes:
        state: redacted games; hidden cards do not exist in them.
        seats: ``int8[n]``, the seat that knows.
        rules: the rules of all games.
    """

    state: State
    seats: Int8
    rules: Rules

    @property
    def size(self) -> int:
        """Number of games."""
        return self.state.size

    def legal_actions(self) -> UInt64:
        """Legal actions as bits, ``uint64[n]``; 0 where the seat is not the one to act."""
        legal = legal_actions(self.state, self.rules)
        return np.where(self.state.seat == self.seats, legal, U64(0))

    def legal_mask(self) -> Bool:
        """Legal actions, ``bool[n, 58]``; all ``False`` where the seat is not the one to act."""
        return as_mask(self.legal_actions())

    def observe(self) -> UInt8:
        """Observations, ``uint8[n, observation_size]``."""
        from kolkhoz_env.observation import observation_table

        return observation_table(self.rules).encode(self.state, None, self.seats)

    def unseen(self) -> UInt64:
        """Cards whose place the seat does not know, ``uint64[n]``."""
        return unseen(self.state, self.seats, self.rules.deck)

    def hand_sizes(self) -> Int8:
        """Cards in every hand, ``int8[n, P]``."""
        return hand_sizes(self.state, self.rules)

    def take(self, rows: NDArray[np.integer]) -> Knowledge:
        """Independent copy of some of the games; rows may repeat."""
        return Knowledge(self.state.take(rows), self.seats[rows], self.rules)

    def view(self, row: int = 0) -> dict[str, Any]:
        """The same facts in words: a seat's view as JSON values."""
        from kolkhoz_env.view import make_view

        return make_view(self, row)

    def worlds(self, count: int, seed: ArrayLike) -> VectorKolkhoz:
        """``n * count`` full games that are consistent with the knowledge.

        Rows ``i * count .. (i + 1) * count - 1`` belong to game ``i``; ``seed`` is a whole number,
        or ``uint64[n]`` with one for each game.
        """
        from kolkhoz_env.worlds import sample_worlds

        return sample_worlds(self, count, seed)
