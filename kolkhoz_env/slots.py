"""Where the cards may lie that a seat does not know: the slots that worlds are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, CROP_BITS, NUM_CROPS, RANK_BITS, SABOTEUR_BIT, U64
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge, hand_sizes, last_seen_planes
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

#: ``uint64[14, 4]`` by rank and crop: the cards of a crop up to a rank.
_UP_TO = np.array(
    [[sum(1 << (13 * c + r) for r in range(top)) for c in range(NUM_CROPS)] for top in range(14)],
    dtype=U64,
)
_UNVOID = np.array(
    [sum(int(CROP_BITS[c]) for c in range(4) if not v >> c & 1) for v in range(16)], dtype=U64
)
_UNVOID[0] |= SABOTEUR_BIT


@dataclass(frozen=True)
class Slots:
    """Where the cards of ``n`` knowledges may lie, all of one year: ``M`` slots each.

    Columns: the hands of the other seats clockwise (``hand`` slots each), their Cellar places (one
    for each year so far), the hidden rewards by crop, the Workers Deck (``deck`` slots).

    Attributes:
        cards: ``uint64[n]``, the cards to place.
        open: ``bool[n, M]``, slots that take a card.
        masks: ``uint64[n, M]``, the cards that may lie in each open slot; 0 for a closed one.
        lows: ``uint64[n]``, cards known to lie in the reward piles.
        restrained: ``bool[n]``, whether a random fill alone is not even.
        order: ``int64[n, M]``, the slots by how few cards fit: open ones first, the deck last.
    """

    hand: int
    places: int
    deck: int
    cards: UInt64
    open: Bool
    masks: UInt64
    lows: UInt64
    restrained: Bool
    order: Int64


def find_slots(knowledge: Knowledge, year: int) -> Slots:
    """The slots of knowledges that are all of one ``year``.

    Raises:
        KolkhozError: the knowledge contradicts itself.
    """
    state, rules, seats = knowledge.state, knowledge.rules, knowledge.seats
    planes = last_seen_planes(state, seats)
    low_bits = np.bitwise_or.reduce(RANK_BITS[1 : rules.low_rewards + 1], initial=U64(0))
    lows = low_bits & U64(rules.deck) & ~planes[:, 0]
    cards = knowledge.unseen() & ~lows & ~np.bitwise_or.reduce(BIT[state.known], axis=1)
    cards &= ~np.bitwise_or.reduce(BIT[state.cellars.reshape(state.size, -1)], axis=1)
    others = [(seats + step) % state.players for step in range(1, state.players)]

    hand = rules.hand_size(year)
    columns = _hands(knowledge, others, hand)
    restrained = _shows_void(knowledge, others)
    for seat in others:
        places = _places(knowledge, seat, planes, year)
        restrained |= np.logical_or.reduce([is_open for is_open, _ in places])
        columns += places
    columns += _hidden_rewards(knowledge, planes, year)
    is_open = np.stack([column[0] for column in columns], axis=1)
    masks = np.stack([np.where(column[0], column[1] & cards, U64(0)) for column in columns], axis=1)
    if (is_open & (masks == 0)).any():
        raise KolkhozError("worlds: no card fits a place; the knowledge contradicts itself")
    left = np.bitwise_count(cards).astype(np.int64) - is_open.sum(axis=1)
    if (left < 0).any():
        raise KolkhozError("worlds: more places than cards; the knowledge contradicts itself")
    deck = int(left.max(initial=0))
    in_deck = np.arange(deck) < left[:, None]
    width = np.where(is_open, np.bitwise_count(masks), 100)
    width = np.concatenate([width, np.where(in_deck, 64, 100)], axis=1)
    return Slots(
        hand=hand,
        places=year,
        deck=deck,
        cards=cards,
        open=np.concatenate([is_open, in_deck], axis=1),
        masks=np.concatenate([masks, np.where(in_deck, cards[:, None], U64(0))], axis=1),
        lows=lows,
        restrained=restrained,
        order=np.argsort(width, axis=1, kind="stable"),
    )


_Column = tuple[NDArray[np.bool_], UInt64]


def _hands(knowledge: Knowledge, others: list[NDArray[np.int8]], hand: int) -> list[_Column]:
    """Hand slots: whoever did not follow a crop holds none of it, nor the Saboteur."""
    state, games = knowledge.state, np.arange(knowledge.size)
    sizes = hand_sizes(state, knowledge.rules) - (state.known != EMPTY)
    columns = []
    for seat in others:
        possible = _UNVOID[state.voids[games, seat]]
        columns += [(sizes[games, seat] > card, possible) for card in range(hand)]
    return columns


def _shows_void(knowledge: Knowledge, others: list[NDArray[np.int8]]) -> Bool:
    games = np.arange(knowledge.size)
    shown = [knowledge.state.voids[games, seat] != 0 for seat in others]
    return np.any(np.stack(shown), axis=0)


def _places(
    knowledge: Knowledge, seat: NDArray[np.int8], planes: UInt64, year: int
) -> list[_Column]:
    """Cellar places: by their public facts, and no card seen since one was laid there."""
    state, games = knowledge.state, np.arange(knowledge.size)
    columns = []
    for place in range(year):
        hidden = state.cellars[games, seat, place] == HIDDEN
        facts = state.places[games, seat, place]
        possible = np.where(facts[:, PLACE_SABOTEUR] == 1, SABOTEUR_BIT, U64(0))
        for crop in range(NUM_CROPS):
            possible |= _UP_TO[np.minimum(facts[:, PLACE_HIGHEST + crop], 13), crop]
        since = np.maximum(facts[:, PLACE_SINCE].astype(np.int64), 1) - 1
        columns.append((hidden, possible & ~planes[games, since]))
    return columns


def _hidden_rewards(knowledge: Knowledge, planes: UInt64, year: int) -> list[_Column]:
    """The hidden higher reward of each pile until it shows: a card that nobody has seen."""
    piles, rules = knowledge.state.piles, knowledge.rules
    shown = (piles >= 0) & (np.arange(piles.shape[2]) < year)
    high = np.any((piles % 13 >= rules.low_rewards) & shown, axis=2)
    return [
        (~high[:, crop] & (crop < rules.crops), CROP_BITS[crop] & ~planes[:, 0])
        for crop in range(NUM_CROPS)
    ]
