"""The one function that says what is legal, and its forms: bitboard, mask, numbers."""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import (
    ALL_CARDS,
    BIT,
    CROP_ACTION,
    CROP_BITS,
    NUM_ACTIONS,
    PASS,
    SABOTEUR_BIT,
    U64,
    union,
)
from kolkhoz_env.rules import ASSIGN, REQUISITION, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules
from kolkhoz_env.state import Bool, State, UInt64

#: ``uint64[5]``: cards that follow each led crop; with none led, any card.
FOLLOWS = np.append(CROP_BITS[:4] | SABOTEUR_BIT, ALL_CARDS)
_CROP_ACTION = U64(CROP_ACTION)
_PASS_BIT = U64(1 << PASS)


def legal_actions(state: State, rules: Rules) -> UInt64:
    """Legal actions of the seat to act in every game, ``uint64[N]``: bit ``a`` is action ``a``.

    Games that are over have none; every other game has at least one.
    """
    n, players = state.size, state.players
    seat = state.seat
    at_seat = np.arange(0, n * players, players) + seat  # seat -1 reads a neighbour: masked below
    hand = state.hands.ravel()[at_seat]
    follow = hand & FOLLOWS[state.led]
    legal = np.where(follow != 0, follow, hand)

    phase = state.phase
    crops = (1 << rules.crops) - 1
    rows = np.flatnonzero(phase == ASSIGN)
    legal[rows] = (state.crops[rows] & np.uint8(crops)).astype(U64) << _CROP_ACTION
    for rare in (TRUMP, SWAP_TAKE, SWAP_GIVE, REQUISITION):
        rows = np.flatnonzero(phase == rare)
        if not rows.size:
            continue
        if rare == TRUMP:
            legal[rows] = U64(crops << CROP_ACTION)
        elif rare == SWAP_TAKE:
            cellar = union(BIT[state.cellars[rows, seat[rows]]])
            legal[rows] = state.plots[rows, seat[rows]] | cellar | _PASS_BIT
        elif rare == SWAP_GIVE:
            legal[rows] = hand[rows]
        else:
            legal[rows] = state.tied[rows]
    legal[seat < 0] = 0
    return legal


def as_mask(legal: UInt64) -> Bool:
    """Legal actions ``uint64[N]`` as ``bool[N, 58]``."""
    octets = legal.view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(octets, axis=1, bitorder="little", count=NUM_ACTIONS)
    return bits.view(np.bool_)
