"""Requisition: which cards of the inspected seats the State collects."""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import BIT, CROP_BITS, RANK, RANK_BITS, U64
from kolkhoz_env.state import (
    COUNTER,
    EMPTY,
    PLACE_HIGHEST,
    PLACE_SABOTEUR,
    Bool,
    Int8,
    Int16,
    Int64,
    State,
    UInt64,
)

#: ``uint64[16]``: cards eligible when these fields failed; the Saboteur matches every one.
ELIGIBLE = np.array(
    [sum(int(CROP_BITS[c]) for c in range(4) if v >> c & 1) | (bool(v) << 52) for v in range(16)],
    dtype=U64,
)
#: ``bool[16, 4]``: failed fields as flags by crop.
_FAILED_CROPS = (np.arange(16)[:, None] >> np.arange(4)) & 1 == 1
_RANKS_DOWN = np.arange(13, -1, -1)
_RANK_BITS_DOWN = RANK_BITS[_RANKS_DOWN]


def holdings(state: State, rows: Int64) -> UInt64:
    """Plot and Cellar of each seat together, ``uint64[n, P]``."""
    return state.plots[rows] | np.bitwise_or.reduce(BIT[state.cellars[rows]], axis=2)


def cutoff(pool: UInt64, quota: Int8) -> tuple[UInt64, UInt64, Int8, Int64]:
    """Split pools ``uint64[n, P]`` at the highest ``quota`` (``[n]``) cards.

    Returns the cards that go for certain, the cards tied at the cutoff where a choice is left
    (else none), how many of these must go, and the lowest rank that goes for certain: 14 if no
    card does, 0 if fewer than ``quota`` go because the pool holds no more. That last figure is
    what everybody at the table sees, so it tells nothing of the cards that stay.
    """
    bits = np.unpackbits(pool.view(np.uint8), bitorder="little").reshape(*pool.shape, 64)
    counts = np.empty((*pool.shape, 14), dtype=np.int8)
    counts[..., :13] = bits[..., :52].reshape(*pool.shape, 4, 13).sum(axis=-2)[..., ::-1]
    counts[..., 13] = bits[..., 52]
    reached = counts.cumsum(axis=-1, dtype=np.int8)
    limit = quota[:, None, None]
    sure = reached <= limit
    above = reached - counts
    tie = ~sure & (above < limit)
    sure_cards = (_RANK_BITS_DOWN * sure).sum(axis=-1, dtype=U64) & pool
    tied_cards = (_RANK_BITS_DOWN * tie).sum(axis=-1, dtype=U64) & pool
    to_choose = ((limit - above) * tie).sum(axis=-1, dtype=np.int8)
    lowest = np.where(sure & (counts > 0), _RANKS_DOWN, 14).min(axis=-1)
    exhausted = (np.bitwise_count(sure_cards) < quota[:, None]) & (to_choose == 0)
    return sure_cards, tied_cards, to_choose, np.where(exhausted, 0, lowest)


def inspect(state: State, rows: Int64) -> Bool:
    """Take from the inspected seats of ``rows``, in order from ``cursor``, what is certain.

    Stops at the first seat that has a choice: it is put to act with ``tied`` and ``to_send``.
    Returns ``bool[n]``: whether such a seat was found.
    """
    players = state.players
    seats = np.arange(players)
    order = (seats - state.planner[rows, None] - 1) % players
    inspected = (state.inspected[rows, None] >> seats.astype(np.uint8)) & 1 == 1
    inspected &= order >= state.cursor[rows, None]

    eligible = ELIGIBLE[state.failed[rows]]
    quota = np.bitwise_count(state.failed[rows]).astype(np.int8)
    pool = holdings(state, rows) & eligible[:, None]
    sure, tied, to_choose, lowest = cutoff(pool, quota)

    choice = inspected & (to_choose > 0)
    first = np.where(choice, order, players).min(axis=1)
    reached = inspected & (order <= first[:, None])
    _send_north(state, rows, np.where(reached, sure, U64(0)))
    # What the table can conclude: the Cellar keeps no card of a failed crop that ranks as high
    # as one that went; and where fewer went than fields failed, nothing eligible at all.
    concluded = np.where(reached & (quota > 0)[:, None], lowest, 14)
    _conclude(state, rows, concluded - 1)

    found = first < players
    if found.any():
        games, owner = rows[found], (choice & (order == first[:, None])).argmax(axis=1)[found]
        state.seat[games] = owner
        state.cursor[games] = first[found]
        state.tied[games] = tied[found, owner]
        state.to_send[games] = to_choose[found, owner]
    return found


def send_chosen(state: State, rows: Int64, cards: Int64) -> Bool:
    """Send one chosen card of each acting owner North; ``bool[n]``: whether its choice is over."""
    seats = state.seat[rows]
    send = np.zeros((rows.size, state.players), dtype=U64)
    send[np.arange(rows.size), seats] = BIT[cards]
    _send_north(state, rows, send)
    state.tied[rows] &= ~BIT[cards]
    state.to_send[rows] -= 1
    # The tie told that equal ranks may be left, but nothing higher.
    highest = np.full((rows.size, state.players), 13, dtype=np.int64)
    highest[np.arange(rows.size), seats] = RANK[cards]
    _conclude(state, rows, highest)
    finished = state.to_send[rows] == 0
    over = rows[finished]
    state.tied[over] = 0
    state.cursor[over] += 1
    return finished


def _send_north(state: State, rows: Int64, send: UInt64) -> None:
    """Move cards ``uint64[n, P]`` of each seat's Plot and Cellar to the North."""
    if not send.any():
        return
    state.plots[rows] &= ~send
    cellars = state.cellars[rows]
    gone = (BIT[cellars] & send[:, :, None]) != 0
    cellars[gone] = EMPTY
    state.cellars[rows] = cellars
    faces = state.faces[rows]
    faces[gone] = EMPTY
    state.faces[rows] = faces
    places = state.places[rows]
    places[gone] = 0
    state.places[rows] = places
    all_gone = np.bitwise_or.reduce(send, axis=1)
    state.north[rows] |= all_gone
    state.seen[rows, state.year[rows] - 1] |= all_gone
    totals = state.totals[rows]
    totals[:, :, COUNTER["cards_north"]] += np.bitwise_count(send)
    totals[:, :, COUNTER["ranks_north"]] += ranks_of(send)
    state.totals[rows] = totals


def _conclude(state: State, rows: Int64, highest: Int64) -> None:
    """Note that a seat's Cellar keeps no card of a failed crop above ``highest`` (``[n, P]``).

    13 says nothing, -1 that nothing eligible is left, the Saboteur included.
    """
    places = state.places[rows]
    limit = np.where(
        _FAILED_CROPS[state.failed[rows]][:, None, :], np.maximum(highest, 0)[:, :, None], 13
    ).astype(np.uint8)
    crops = slice(PLACE_HIGHEST, PLACE_HIGHEST + 4)
    places[..., crops] = np.minimum(places[..., crops], limit[:, :, None, :])
    places[..., PLACE_SABOTEUR] &= (highest >= 0)[:, :, None]
    state.places[rows] = places


def ranks_of(zones: UInt64) -> Int16:
    """Summed printed ranks of zones ``uint64[...]``, ``int16``; the Saboteur counts 0."""
    total = np.zeros(zones.shape, dtype=np.int16)
    for rank in range(1, 14):
        total += np.bitwise_count(zones & RANK_BITS[rank]) * np.int16(rank)
    return total
