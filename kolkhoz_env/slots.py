"""Where the cards may lie that a seat does not know: the slots that worlds are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolkhoz_env.cards import CROP_BITS, NUM_CROPS, RANK_BITS, SABOTEUR_BIT, U64, zone_with
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge, last_seen_planes
from kolkhoz_env.state import (
    EMPTY,
    HIDDEN,
    PLACE_HIGHEST,
    PLACE_SABOTEUR,
    PLACE_SINCE,
    Bool,
    Int64,
    UInt64,
)

#: ``uint64[4, 14]`` by crop and rank: the cards of a crop up to a rank.
_UP_TO = np.array(
    [[sum(1 << (13 * c + r) for r in range(top)) for top in range(14)] for c in range(NUM_CROPS)],
    dtype=U64,
)
_UNVOID = np.array(
    [sum(int(CROP_BITS[c]) for c in range(4) if not v >> c & 1) for v in range(16)], dtype=U64
)
_UNVOID[0] |= SABOTEUR_BIT
_NOTHING = U64(0)


@dataclass(frozen=True)
class Slots:
    """Where the cards of ``n`` knowledges may lie: ``M`` slots each, the Workers Deck aside.

    Columns: the hands of the other seats clockwise (``hand`` slots each), their Cellar places
    (``places`` each), the hidden rewards by crop. Cards that are put in none stay in the deck.

    A slot is *tight* if it takes a card and does not take every one: all but the hands that have
    shown no void. The tight slots are also listed packed, the tightest first, ``K`` in a row.

    Attributes:
        cards: ``uint64[n]``, the cards to place.
        open: ``bool[n, M]``, slots that take a card.
        masks: ``uint64[n, M]``, the cards that may lie in each open slot; 0 for a closed one.
        lows: ``uint64[n]``, cards known to lie in the reward piles.
        packed: ``uint64[n, K]``, the masks of the tight slots, 0 beyond.
        bounds: ``int64[n, K]``: so many cards of a mask, at most, the slots before it leave.
        position: ``int64[n, M]``, where a slot stands in ``packed``; ``K`` if nowhere.
        loose: ``int64[n, P - 1]``, cards in each other hand that may be any.
    """

    hand: int
    places: int
    cards: UInt64
    open: Bool
    masks: UInt64
    lows: UInt64
    packed: UInt64
    bounds: Int64
    position: Int64
    loose: Int64


def find_slots(knowledge: Knowledge, year: int) -> Slots:
    """The slots of knowledges of which none is later than ``year``.

    Raises:
        KolkhozError: the knowledge contradicts itself.
    """
    state, rules, seats = knowledge.state, knowledge.rules, knowledge.seats
    size, players = state.size, state.players
    planes = last_seen_planes(state, seats)
    low_bits = np.bitwise_or.reduce(RANK_BITS[1 : rules.low_rewards + 1], initial=_NOTHING)
    lows = low_bits & U64(rules.deck) & ~planes[:, 0]
    cards = knowledge.unseen() & ~lows & ~zone_with(state.known)
    cards &= ~zone_with(state.cellars)

    games = np.arange(size)[:, None]
    others = (seats[:, None] + np.arange(1, players)) % players
    hand = max(rules.hand_size(number) for number in range(1, year + 1))
    sizes = knowledge.hand_sizes() - (state.known != EMPTY)
    fits = _UNVOID[state.voids[games, others]]
    in_hands = sizes[games, others][:, :, None] > np.arange(hand)
    in_cellars = state.cellars[games, others, :year] == HIDDEN
    piles = state.piles
    shown = (piles >= 0) & (np.arange(piles.shape[2]) < state.year[:, None, None])
    in_piles = ~np.any((piles % 13 >= rules.low_rewards) & shown, axis=2)
    in_piles[:, rules.crops :] = False
    is_open = np.concatenate(
        [in_hands.reshape(size, -1), in_cellars.reshape(size, -1), in_piles], axis=1
    )
    masks = np.concatenate(
        [
            np.repeat(fits, hand, axis=1),
            _cellar_cards(knowledge, others, planes, year).reshape(size, -1),
            CROP_BITS[:NUM_CROPS] & ~planes[:, :1],
        ],
        axis=1,
    )
    masks = np.where(is_open, masks & cards[:, None], _NOTHING)
    if (is_open & (masks == 0)).any():
        raise KolkhozError("worlds: no card fits a place; the knowledge contradicts itself")
    if (np.bitwise_count(cards) < is_open.sum(axis=1)).any():
        raise KolkhozError("worlds: more places than cards; the knowledge contradicts itself")
    loose = is_open & (masks == cards[:, None])
    loose[:, (players - 1) * hand :] = False
    packed, position = _pack(masks, is_open & ~loose)
    in_loose_hands = loose[:, : (players - 1) * hand].reshape(size, players - 1, hand)
    return Slots(
        hand=hand,
        places=year,
        cards=cards,
        open=is_open,
        masks=masks,
        lows=lows,
        packed=packed,
        bounds=_bounds(packed),
        position=position,
        loose=in_loose_hands.sum(axis=2),
    )


def _cellar_cards(knowledge: Knowledge, others: Int64, planes: UInt64, year: int) -> UInt64:
    """What the Cellar places of other seats ``[n, P - 1]`` can hold, ``uint64[n, P - 1, year]``.

    By their public facts; and no card seen since one was laid there.
    """
    games = np.arange(others.shape[0])[:, None]
    facts = knowledge.state.places[games, others, :year]
    possible = np.where(facts[..., PLACE_SABOTEUR] == 1, SABOTEUR_BIT, _NOTHING)
    for crop in range(NUM_CROPS):
        possible |= _UP_TO[crop][np.minimum(facts[..., PLACE_HIGHEST + crop], 13)]
    since = np.maximum(facts[..., PLACE_SINCE], 1) - 1
    return possible & ~planes[games[:, :, None], since]


def _pack(masks: UInt64, tight: Bool) -> tuple[UInt64, Int64]:
    """The masks of tight slots in order of how few cards fit, and where each slot went."""
    width = np.where(tight, np.bitwise_count(masks), np.uint8(100))
    order = np.argsort(width, axis=1, kind="stable")
    count = tight.sum(axis=1, keepdims=True)
    most = int(count.max(initial=0))
    rank = np.arange(masks.shape[1])
    packed = np.take_along_axis(masks, order, axis=1)[:, :most]
    packed[rank[:most] >= count] = _NOTHING
    position = np.empty(masks.shape, dtype=np.int64)
    np.put_along_axis(position, order, np.where(rank < count, rank, most), axis=1)
    return packed, position


def _bounds(packed: UInt64) -> Int64:
    """Cards of each mask less those that earlier slots are certain to take, ``int64[n, K]``.

    An earlier slot is certain to take one if all its cards fit here as well. At least 1.
    """
    within = (packed[:, None, :] & ~packed[:, :, None]) == 0
    earlier = np.tri(packed.shape[1], k=-1, dtype=np.bool_)
    taken = (within & earlier).sum(axis=2)
    return np.maximum(np.bitwise_count(packed).astype(np.int64) - taken, 1)
