"""Arrays of a state that follow from its others, kept because every decision reads them.

The year keeps them as it goes; whoever lays cards in another way calls :func:`derive` after it.
"""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import BIT, CODE, NUM_CARDS, U64, zone_with
from kolkhoz_env.state import Int64, State, UInt8, UInt64


def derive(state: State) -> None:
    """Work out what follows from Cellars, faces, ``seen`` and ``dealt``, for every seat."""
    places = state.cellars.reshape(-1, state.cellars.shape[2])
    state.in_cellar[:] = zone_with(places).reshape(state.in_cellar.shape)
    state.cellar_codes[:] = CODE.take(state.cellars)
    state.face_codes[:] = CODE.take(state.faces)
    remember(state)


def remember(state: State) -> None:
    """Work out ``last_seen`` from ``seen`` and ``dealt``, for every seat."""
    planes = (state.dealt | state.seen[:, None]).reshape(-1, state.seen.shape[1])
    state.last_seen[:] = last_years(planes).reshape(state.last_seen.shape)


def last_years(planes: UInt64) -> UInt8:
    """Last year whose plane holds each card, ``uint64[m, 5]`` to ``uint8[m, 53]``; 0 for none."""
    one, two, three, four, five = planes.T.copy()
    # By year "seen then or later"; the number of those that hold a card is the last year, here
    # as binary digits.
    four |= five
    three |= four
    two |= three
    one |= two
    digits = np.array([(one & ~two) | (three & ~four) | five, two & ~four, four])
    bits = np.unpackbits(digits.view(np.uint8), axis=None, bitorder="little")
    ones, twos, fours = bits.view(np.uint64).reshape(3, len(planes), 8)
    twos <<= U64(1)
    fours <<= U64(2)
    ones |= twos
    ones |= fours
    return ones.view(np.uint8)[:, :NUM_CARDS]


def show(state: State, rows: Int64, cards: Int64) -> None:
    """Everybody at the table sees a card ``[m]`` of the games ``rows``, which may repeat."""
    year = state.year[rows]
    np.bitwise_or.at(state.seen.ravel(), rows * 5 + (year - 1), BIT[cards])
    at = rows[:, None] * (state.players * NUM_CARDS) + cards[:, None]
    at = at + np.arange(0, state.players * NUM_CARDS, NUM_CARDS)
    state.last_seen.ravel()[at] = year[:, None]
