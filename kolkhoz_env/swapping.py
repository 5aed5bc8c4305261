"""Swapping: each seat may exchange a Plot or Cellar card for one of its hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kolkhoz_env.cards import BIT, CODE, PASS, RANK
from kolkhoz_env.derived import show
from kolkhoz_env.requisition import PLACE_FILLED, holdings
from kolkhoz_env.rules import PLAY, SWAP_GIVE, SWAP_TAKE, Rules
from kolkhoz_env.state import (
    COUNTER,
    EMPTY,
    HIDDEN,
    PLACE_SINCE,
    PLACE_SWAPPED,
    SWAP_CELLAR,
    SWAP_PASS,
    SWAP_PLOT,
    Int64,
    State,
)
from kolkhoz_env.tricks import FIRST_IN_ORDER, STILL_TO_COME

if TYPE_CHECKING:
    from kolkhoz_env.year import Course


def begin_swaps(state: State, rows: Int64, rules: Rules) -> None:
    """From Year 2 on seats may swap, one after the other; else the first trick begins."""
    swapping = state.year[rows] > 1 if rules.swaps else np.zeros(rows.size, dtype=np.bool_)
    _begin_tricks(state, rows[~swapping])
    _next_swap(state, rows[swapping])


def _next_swap(state: State, rows: Int64) -> None:
    """The next seat in swap order that holds a Plot or Cellar card, else the first trick."""
    if not rows.size:
        return
    players, planner = state.players, state.planner[rows]
    waiting = np.packbits(holdings(state, rows) != 0, axis=1, bitorder="little")[:, 0]
    waiting &= STILL_TO_COME[players][planner, state.cursor[rows]]
    position = FIRST_IN_ORDER[players][planner, waiting]
    found = waiting != 0
    there = rows[found]
    state.phase[there] = SWAP_TAKE
    state.cursor[there] = position[found]
    state.seat[there] = ((planner + 1 + position) % players)[found]
    _begin_tricks(state, rows[~found])


def swap_take(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """A seat picks the Plot or Cellar card that it wants in hand, or declines."""
    declines = actions == PASS
    passed = rows[declines]
    state.swaps[passed, state.seat[passed]] = SWAP_PASS
    state.cursor[passed] += 1
    _next_swap(state, passed)

    rows, cards = rows[~declines], actions[~declines]
    if not rows.size:
        return
    seats = state.seat[rows]
    state.taken[rows] = cards
    in_plot = (state.plots[rows, seats] & BIT[cards]) != 0
    place = (state.cellars[rows, seats] == cards[:, None]).argmax(axis=1)
    state.swaps[rows, seats] = np.where(in_plot, SWAP_PLOT, SWAP_CELLAR + place)
    state.phase[rows] = SWAP_GIVE


def swap_give(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """The hand card takes the place of the picked one; a Plot stays face-up, a Cellar face-down."""
    seats = state.seat[rows]
    taken = state.taken[rows].astype(np.int64)
    state.hands[rows, seats] ^= BIT[actions] | BIT[taken]
    state.totals[rows, seats, COUNTER["swaps"]] += 1
    state.totals[rows, seats, COUNTER["swap_gain"]] += RANK[actions] - RANK[taken]

    plot = state.swaps[rows, seats] == SWAP_PLOT
    r, s = rows[plot], seats[plot]
    state.plots[r, s] ^= BIT[actions[plot]] | BIT[taken[plot]]
    state.known[r, s] = taken[plot]
    show(state, r, actions[plot])

    r, s = rows[~plot], seats[~plot]
    place = state.swaps[r, s] - SWAP_CELLAR
    # A card whose face was known in the Cellar is known in the hand.
    public = state.faces[r, s, place] >= 0
    state.known[r[public], s[public]] = taken[~plot][public]
    given = actions[~plot]
    state.in_cellar[r, s] ^= BIT[given] | BIT[taken[~plot]]
    state.cellars[r, s, place] = given
    state.cellar_codes[r, s, place] = CODE[given]
    state.faces[r, s, place] = HIDDEN
    state.face_codes[r, s, place] = CODE[HIDDEN]
    state.places[r, s, place] = PLACE_FILLED[0]
    state.places[r, s, place, PLACE_SWAPPED] = 1
    state.places[r, s, place, PLACE_SINCE] = state.year[r]

    state.taken[rows] = EMPTY
    state.cursor[rows] += 1
    _next_swap(state, rows)


def _begin_tricks(state: State, rows: Int64) -> None:
    leader = (state.planner[rows] + 1) % state.players
    state.cursor[rows] = 0
    state.leader[rows] = leader
    state.seat[rows] = leader
    state.phase[rows] = PLAY
