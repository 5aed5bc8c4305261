"""The one function that says what is legal, and its forms: bitboard, mask, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import (
    ALL_CARDS,
    CROP_ACTION,
    CROP_BITS,
    NUM_ACTIONS,
    PASS,
    SABOTEUR_BIT,
    U64,
)
from kolkhoz_env.rules import ASSIGN, REQUISITION, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules
from kolkhoz_env.state import Bool, Int64, State, UInt64

#: ``uint64[5]``: cards that follow each led crop; with none led, any card.
FOLLOWS = np.append(CROP_BITS[:4] | SABOTEUR_BIT, ALL_CARDS)
_CROP_ACTION = U64(CROP_ACTION)
_PASS_BIT = U64(1 << PASS)


def legal_actions(state: State, rules: Rules, rows: Int64 | None = None) -> UInt64:
    """Legal actions of the seat to act, ``uint64[n]``: bit ``a`` is action ``a``.

    For the games ``rows`` (default all). Games that are over have none; every other game has at
    least one.
    """
    games = np.arange(state.size) if rows is None else rows

    def of(values: NDArray[Any]) -> NDArray[Any]:
        return values if rows is None else values[rows]

    seat, phase = of(state.seat), of(state.phase)
    # Seat -1 of a game that is over reads a neighbour here and is masked below.
    hand = state.hands.ravel()[games * state.players + seat]
    follow = hand & FOLLOWS[of(state.led)]
    # By a product: a choice that can't be foretold costs the processor more.
    legal = follow | hand * (follow == 0)

    crops = (1 << rules.crops) - 1
    (there,) = (phase == ASSIGN).nonzero()
    legal[there] = (of(state.crops)[there] & np.uint8(crops)).astype(U64) << _CROP_ACTION
    for rare in (TRUMP, SWAP_TAKE, SWAP_GIVE, REQUISITION):
        (there,) = (phase == rare).nonzero()
        if not there.size:
            continue
        game, actor = games[there], seat[there]
        if rare == TRUMP:
            legal[there] = U64(crops << CROP_ACTION)
        elif rare == SWAP_TAKE:
            own = state.plots[game, actor] | state.in_cellar[game, actor]
            legal[there] = own | _PASS_BIT
        elif rare == SWAP_GIVE:
            legal[there] = hand[there]
        else:
            legal[there] = state.tied[game]
    legal[seat < 0] = 0
    return legal


def as_mask(legal: UInt64) -> Bool:
    """Legal actions ``uint64[N]`` as ``bool[N, 58]``."""
    # All bits in one run, of which the first of each row are kept: half the time of row by row.
    bits = np.unpackbits(legal.view(np.uint8), bitorder="little").reshape(len(legal), 64)
    return bits.view(np.bool_)[:, :NUM_ACTIONS]
