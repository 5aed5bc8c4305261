"""Worlds: full games that agree with what one seat knows, drawn evenly from all that do.

The cards whose place the seat does not know go into *slots*: the other hands, the other seats'
face-down Cellar places, the hidden reward of each pile, and the undealt Workers Deck. A slot has
a bitboard of the cards that may lie there. Slots that don't take every card are filled as
:mod:`kolkhoz_env.placing` says, and the hands that do get what is left in random order.

All draws are hashes of a row's seed, so a row has the same worlds in any batch.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import BIT, NUM_CARDS, NUM_CROPS, ONE, U64, single_card, union
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.derived import derive
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.placing import draw, place_cards
from kolkhoz_env.rules import MAX_YEARS, REQUISITION, SWAP_GIVE
from kolkhoz_env.slots import Slots, find_slots
from kolkhoz_env.state import EMPTY, PLACE_SINCE, SWAP_CELLAR, Int64, State, UInt64
from kolkhoz_env.vector import VectorKolkhoz

#: Worlds drawn at a time, so that their slots stay in the processor's cache.
_CHUNK = 2048
#: What a hash is for, besides those of `placing`.
_KEY, _PILES, _SHUFFLE = 8 << 20, 9 << 20, 10 << 20
_CARDS = np.arange(NUM_CARDS, dtype=U64)
_LOW_BITS = U64(63)

#: ``int64[6, 120, 5]``: all orders of up to five cards, by their number.
_ORDERS = np.zeros((MAX_YEARS + 1, 120, MAX_YEARS), dtype=np.int64)
for _size in range(MAX_YEARS + 1):
    _ways = list(permutations(range(_size)))
    _ORDERS[_size, : len(_ways), :_size] = _ways
_NUM_ORDERS = np.array([1, 1, 2, 6, 24, 120], dtype=U64)


def sample_worlds(knowledge: Knowledge, count: int, seed: ArrayLike) -> VectorKolkhoz:
    """``n * count`` games that agree with the knowledge, each as likely as any other that does.

    Args:
        knowledge: of ``n`` games; the seat that knows must be the one to act at requisition.
        count: worlds a game.
        seed: a whole number, or ``uint64[n]`` with one for each game.

    Returns:
        A table that does not restart; rows ``i * count .. (i + 1) * count - 1`` belong to game
        ``i``. Future shuffles are random; ``game_ids`` number the worlds.

    Raises:
        KolkhozError: no world agrees (the knowledge contradicts itself), or ``count`` is below 1.
    """
    state, rules = knowledge.state, knowledge.rules
    if count < 1:
        raise KolkhozError(f"worlds: {count!r} is not a number of worlds (1 or more)")
    if ((state.phase == REQUISITION) & (state.seat != knowledge.seats)).any():
        raise KolkhozError("worlds: at requisition only the seat to act can ask for worlds")
    seeds = row_seeds(seed, knowledge.size)
    worlds = _repeated(state, count)
    if worlds.size:
        slots = find_slots(knowledge, int(state.year.max()))
        number = np.arange(1, count + 1, dtype=U64) * GOLDEN
        keys = mix((seeds[:, None] + number).ravel())
        game = np.repeat(np.arange(knowledge.size), count)
        for start in range(0, worlds.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            _draw_worlds(worlds, start, knowledge, slots, game[chunk], keys[chunk])
        _take_hidden(worlds)
        derive(worlds)
    return VectorKolkhoz.from_state(worlds, rules, game_ids=np.arange(worlds.size))


def row_seeds(seed: ArrayLike, rows: int) -> UInt64:
    """A seed ``uint64[n]`` for each game, of a whole number or of one for each game."""
    if isinstance(seed, (int, np.integer)):
        root = np.array([int(seed) & 0xFFFFFFFFFFFFFFFF], dtype=U64)
        return mix(mix(root + GOLDEN) + np.arange(1, rows + 1, dtype=U64) * GOLDEN)
    seeds = np.asarray(seed, dtype=U64)
    if seeds.shape != (rows,):
        raise KolkhozError(f"worlds: seeds of shape {seeds.shape} for {rows} games")
    return mix(seeds + GOLDEN)


def _repeated(state: State, count: int) -> State:
    """Every game ``count`` times over, in a row."""
    return State(
        **{f.name: np.repeat(getattr(state, f.name), count, axis=0) for f in fields(State)}
    )


def _draw_worlds(
    worlds: State, start: int, knowledge: Knowledge, slots: Slots, game: Int64, keys: UInt64
) -> None:
    """Put hidden cards into the worlds from row ``start`` on, of the games ``game``."""
    state, players = knowledge.state, worlds.players
    filled, left = place_cards(slots.packed, slots.bounds, slots.cards, game, keys)
    rows = np.arange(start, start + keys.size)
    worlds.key[start : start + keys.size] = draw(keys, _KEY)
    games = np.arange(knowledge.size)
    hands = _loose_hands(slots, game, left, keys)
    this_year = state.year - 1
    for step in range(1, players):
        seats = (knowledge.seats + step) % players
        hand = hands[step - 1]
        first = (step - 1) * slots.hand
        for column in range(first, first + slots.hand):
            if (slots.position[:, column] < len(filled) - 1).any():
                hand |= _lying(slots, filled, column, game)
        hand |= BIT[state.known[games, seats]][game]
        at_seat = rows * players + seats[game]
        worlds.hands.reshape(-1)[at_seat] = hand
        # As far as the worlds tell: what a seat holds now, and banked in other years, was dealt.
        dealt = worlds.dealt.reshape(-1)
        dealt[at_seat * MAX_YEARS + this_year[game]] = hand
        first = (players - 1) * slots.hand + (step - 1) * slots.places
        for place in range(slots.places):
            if not slots.open[:, first + place].any():
                continue
            card = _lying(slots, filled, first + place, game)
            hidden = slice(None) if slots.open[:, first + place].all() else np.flatnonzero(card)
            since = np.maximum(state.places[games, seats, place, PLACE_SINCE], 1).astype(np.int64)
            at_place = at_seat[hidden] * MAX_YEARS
            worlds.cellars.reshape(-1)[at_place + place] = single_card(card[hidden])
            dealt[at_place + (since - 1)[game[hidden]]] |= card[hidden]
    first = (players - 1) * (slots.hand + slots.places)
    high = [_lying(slots, filled, first + crop, game) for crop in range(NUM_CROPS)]
    _shuffle_piles(worlds.piles[start : start + keys.size], slots, game, high, keys, knowledge)


def _lying(slots: Slots, filled: UInt64, column: int, game: Int64) -> UInt64:
    """The card in a slot of each world as a bit, ``uint64[N]``; 0 if the slot is not tight."""
    where = slots.position[:, column]
    if (where == where[0]).all():
        return filled[where[0]]
    return filled[where[game], np.arange(game.size)]


def _loose_hands(slots: Slots, game: Int64, left: UInt64, keys: UInt64) -> list[UInt64]:
    """Cards of the other hands that may hold any, of those left, ``uint64[N]`` a hand."""
    last = slots.loose.cumsum(axis=1)
    dealt = int(last.max(initial=0))
    if not dealt:
        return [np.zeros(keys.size, dtype=U64) for _ in range(slots.loose.shape[1])]
    bits = _shuffled(slots.cards, game, left, keys)[:, :dealt]
    place = np.arange(dealt)
    hands = []
    for hand in range(slots.loose.shape[1]):
        own = place < last[:, hand, None]
        if hand:
            own &= place >= last[:, hand - 1, None]
        # One game, or many alike, need no mask for every world.
        if (own == own[0]).all():
            cards = bits[:, own[0]]
        else:
            cards = bits & np.where(own, ~U64(0), U64(0))[game]
        hands.append(union(cards) if cards.shape[1] else np.zeros(keys.size, dtype=U64))
    return hands


def _shuffled(cards: UInt64, game: Int64, left: UInt64, keys: UInt64) -> UInt64:
    """The cards ``left`` of each world in random order as bits, ``uint64[N, R]``, then zeros.

    ``cards`` ``uint64[n]``, of which they are a part, spares hashes for all other cards.
    """
    size = np.bitwise_count(cards)
    there = (cards[:, None] >> _CARDS) & ONE
    listed = np.argsort(there == 0, axis=1, kind="stable")[:, : int(size.max(initial=0))]
    numbers = listed.astype(U64)
    numbers = numbers if cards.size == 1 else numbers[game]
    order = mix(draw(keys, _SHUFFLE)[:, None] + (_CARDS[: numbers.shape[1]] + ONE) * GOLDEN)
    order &= ~_LOW_BITS
    order |= numbers
    # All ones for a card that is not left: after all others, and no card (63) in its low bits.
    order |= ((left[:, None] >> numbers) & ONE) - ONE
    order.sort(axis=1)
    order &= _LOW_BITS
    return np.where(order == _LOW_BITS, U64(0), ONE << order)


def _shuffle_piles(
    piles: NDArray[np.int8],
    slots: Slots,
    game: Int64,
    high: list[UInt64],
    keys: UInt64,
    knowledge: Knowledge,
) -> None:
    """Put the rewards to come into ``piles`` ``int8[N, 4, 5]`` in a random order.

    These are the low cards that nobody has seen and the hidden one, ``high`` ``uint64[N]`` by crop.
    """
    rules, crops = knowledge.rules, knowledge.rules.crops
    to_come = np.maximum(rules.pile_size - knowledge.state.year.astype(np.int64), 0)
    if not to_come.any():
        return
    rank = np.arange(rules.low_rewards)
    cards = 13 * np.arange(crops)[:, None] + rank
    unseen = (slots.lows[:, None, None] >> cards.astype(U64)) & ONE != 0
    listed = np.full((knowledge.size, crops, MAX_YEARS), EMPTY, dtype=np.int8)
    first = np.argsort(~unseen, axis=2, kind="stable")
    listed[:, :, : rules.low_rewards] = np.take_along_axis(
        np.broadcast_to(cards, unseen.shape), first, axis=2
    )
    number = unseen.sum(axis=2)
    coming = listed[game]
    steps = np.arange(_PILES, _PILES + crops, dtype=U64)[:, None]
    draws = (draw(keys, steps) >> U64(32)) * _NUM_ORDERS[to_come][game] >> U64(32)
    for crop in range(crops):
        there = np.flatnonzero(high[crop])
        coming[there, crop, number[game[there], crop]] = single_card(high[crop][there])
    # By flat indices: several times faster than along an axis of five.
    at = _ORDERS[to_come[game][:, None], draws.T.view(np.int64)]
    at += (np.arange(game.size * crops) * MAX_YEARS).reshape(-1, crops, 1)
    shuffled = coming.reshape(-1)[at]
    for ahead in np.unique(to_come[to_come > 0]):
        place = slice(rules.pile_size - ahead, rules.pile_size)
        if (to_come == ahead).all():
            piles[:, :crops, place] = shuffled[:, :, :ahead]
        else:
            rows = np.flatnonzero(to_come[game] == ahead)
            piles[rows, :crops, place] = shuffled[rows, :, :ahead]


def _take_hidden(worlds: State) -> None:
    """The card that another seat has picked for its swap lies in the Cellar place it named."""
    rows = np.flatnonzero((worlds.phase == SWAP_GIVE) & (worlds.taken == EMPTY))
    acting = worlds.seat[rows]
    place = worlds.swaps[rows, acting] - SWAP_CELLAR
    worlds.taken[rows] = worlds.cellars[rows, acting, place]
