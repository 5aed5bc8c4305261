"""Worlds: full games that agree with what one seat knows, drawn evenly from all that do.

The cards whose place the seat does not know go into *slots*: the other hands, the other seats'
face-down Cellar places, the hidden reward of each pile, and the undealt Workers Deck. A slot has
a bitboard of the cards that may lie there. Each world is filled at random, the tightest slots
first, and then shuffled by many exchanges of two or three cards between slots, made with
probability one half wherever all of them may lie in their new slots. Such exchanges leave the even
distribution as it is, whatever the fill.

All draws are hashes of a row's seed, so a row has the same worlds in any batch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import BIT, NUM_CROPS, ONE, U64, cards_in, single_card
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import REQUISITION, SWAP_GIVE, Rules
from kolkhoz_env.slots import Slots, find_slots
from kolkhoz_env.state import EMPTY, PLACE_SINCE, SWAP_CELLAR, Int8, Int64, State, UInt64
from kolkhoz_env.vector import VectorKolkhoz

#: Rounds of exchanges that every world gets where anything restrains the cards. Each offers one
#: exchange to every slot; the tests compare the outcome with exhaustive enumeration.
ROUNDS = 24
#: Random fills tried before a fill is searched for.
ATTEMPTS = 12
#: Worlds filled and exchanged at a time, so that their slots stay in the processor's cache.
_CHUNK = 1024
#: What a hash is for, besides the exchanges (which count from 0).
_KEY, _PILES, _FILL = 1 << 20, 2 << 20, 3 << 20


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
        KolkhozError: no world agrees (the knowledge contradicts itself).
    """
    state, rules = knowledge.state, knowledge.rules
    if ((state.phase == REQUISITION) & (state.seat != knowledge.seats)).any():
        raise KolkhozError("worlds: at requisition only the seat to act can ask for worlds")
    seeds = row_seeds(seed, knowledge.size)
    worlds = state.take(np.repeat(np.arange(knowledge.size), count))
    number = np.arange(1, count + 1, dtype=U64) * GOLDEN
    for year in np.unique(state.year):
        rows = np.flatnonzero(state.year == year)
        slots = find_slots(knowledge.take(rows), int(year))
        # Games with equally many open slots share the work; no game's worlds depend on another.
        size = slots.open.sum(axis=1)
        for width in np.unique(size):
            alike = np.flatnonzero(size == width)
            at = (rows[alike][:, None] * count + np.arange(count)).ravel()
            game = np.repeat(alike, count)
            keys = mix((seeds[rows[alike]][:, None] + number).ravel())
            for start in range(0, at.size, _CHUNK):
                chunk = slice(start, start + _CHUNK)
                filled = _fill(slots, game[chunk], int(width), keys[chunk])
                _write(worlds, at[chunk], slots, game[chunk], filled, keys[chunk], knowledge)
    _take_hidden(worlds, np.repeat(knowledge.seats, count))
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


def _draw(keys: UInt64, purpose: int) -> UInt64:
    """Hashes ``uint64[N]`` of the worlds' keys for a purpose."""
    step = np.array([purpose], dtype=U64) * GOLDEN
    return mix(keys ^ mix(step + GOLDEN))


# Filling and exchanging -----------------------------------------------------------------------


def _fill(slots: Slots, game: Int64, width: int, keys: UInt64) -> UInt64:
    """The card of each slot as a bit, ``uint64[M, N]``, for worlds of the games ``game``.

    All have ``width`` open slots, which are worked on packed together, tightest first.
    """
    order = slots.order[game, :width].T
    masks = np.ascontiguousarray(slots.masks[game, order])
    cards = slots.cards[game]
    packed, failed = _fill_at_random(masks, cards, slots.deck, keys, _FILL)
    for attempt in range(1, ATTEMPTS):
        if not failed.size:
            break
        again, still = _fill_at_random(
            masks[:, failed], cards[failed], slots.deck, keys[failed], _FILL + (attempt << 12)
        )
        packed[:, failed] = again
        failed = failed[still]
    for world in failed:
        packed[:, world] = _matching(masks[:, world], int(cards[world]))
    busy = np.flatnonzero(slots.restrained[game])
    if busy.size == game.size:
        _exchange(packed, masks, keys)
    elif busy.size:
        part = np.ascontiguousarray(packed[:, busy])
        _exchange(part, np.ascontiguousarray(masks[:, busy]), keys[busy])
        packed[:, busy] = part
    filled = np.zeros((slots.masks.shape[1], game.size), dtype=U64)
    filled[order, np.arange(game.size)] = packed
    return filled


def _fill_at_random(
    masks: UInt64, cards: UInt64, deck: int, keys: UInt64, purpose: int
) -> tuple[UInt64, Int64]:
    """Cards ``uint64[M, N]`` drawn slot by slot, the deck last; worlds that met a dead end."""
    constrained = masks.shape[0] - deck
    filled = np.empty(masks.shape, dtype=U64)
    left = cards
    dead = np.zeros(cards.size, dtype=np.bool_)
    for slot in range(constrained):
        card = random_bit(masks[slot] & left, _draw(keys, purpose + slot))
        dead |= card == 0
        filled[slot] = card
        left = left ^ card
    filled[constrained:] = _shuffled(left, deck, keys, purpose + constrained)
    return filled, np.flatnonzero(dead)


def _shuffled(zones: UInt64, size: int, keys: UInt64, purpose: int) -> UInt64:
    """The cards of zones ``uint64[N]`` in random order, one bit each: ``uint64[size, N]``.

    The order matters to the exchanges: a slot of the deck must hold any of its cards alike.
    """
    order = np.empty((zones.size, size), dtype=U64)
    for place in range(size):
        low = zones & (~zones + ONE)
        # An empty zone gives no card (63), after all others.
        card = np.where(low != 0, single_card(low), 63).astype(U64)
        draw = np.where(low != 0, _draw(keys, purpose + place), ~U64(0))
        order[:, place] = draw & ~U64(63) | card
        zones = zones ^ low
    order.sort(axis=1)
    return np.where(order == ~U64(0), U64(0), ONE << (order & U64(63))).T


def random_bit(zones: UInt64, draws: UInt64) -> UInt64:
    """One card of each zone, drawn evenly by random numbers, as a bit; 0 for an empty zone."""
    count = np.bitwise_count(zones).astype(U64)
    # The high half of the draw times the count is an even choice to within 2**-32.
    rank = ((draws >> U64(32)) * count) >> U64(32)
    rest = zones.copy()
    position = np.zeros(zones.shape, dtype=U64)
    for width in (32, 16, 8, 4, 2, 1):
        low = np.bitwise_count(rest & U64((1 << width) - 1)).astype(U64)
        beyond = rank >= low
        rank -= np.where(beyond, low, U64(0))
        shift = beyond * U64(width)
        rest >>= shift
        position += shift
    return np.where(count > 0, ONE << (position & U64(63)), U64(0))


@lru_cache(maxsize=64)
def _orders(slots: int) -> tuple[NDArray[np.int64], ...]:
    """A fixed random order of the slots for every round, which says who exchanges with whom."""
    generator = np.random.default_rng(slots)
    return tuple(generator.permutation(slots) for _ in range(ROUNDS))


def _exchange(filled: UInt64, masks: UInt64, keys: UInt64) -> None:
    """Random exchanges between slots, in place; ``filled`` and ``masks`` are ``uint64[M, N]``.

    Every fourth round moves three cards in a circle, because exchanges of two alone can't reach
    every world. Either direction is as likely, so each move is as likely as its reverse.
    """
    for number, order in enumerate(_orders(filled.shape[0])):
        group = 3 if number % 4 == 3 else 2
        size = filled.shape[0] // group
        coins = _draw(keys, number)
        agreed = _coin(coins, size, 0)
        parts = [order[part * size : (part + 1) * size] for part in range(group)]
        cards = [filled[part] for part in parts]
        moved = cards[1:] + cards[:1]
        if group == 3:
            onward = _coin(coins, size, 32)
            back = cards[-1:] + cards[:-1]
            moved = [np.where(onward, *pair) for pair in zip(moved, back, strict=True)]
        for part, card in zip(parts, moved, strict=True):
            agreed &= (masks[part] & card) != 0
        for part, card, old in zip(parts, moved, cards, strict=True):
            filled[part] = np.where(agreed, card, old)


def _coin(draws: UInt64, size: int, first: int) -> NDArray[np.bool_]:
    """Bits ``first`` .. ``first + size - 1`` of draws ``uint64[N]`` as ``bool[size, N]``."""
    return (draws & (ONE << np.arange(first, first + size, dtype=U64))[:, None]) != 0


def _matching(masks: UInt64, cards: int) -> UInt64:
    """One way to fill the slots, found by augmenting paths; for worlds that no draw could fill."""
    holder: dict[int, int] = {}

    def place(slot: int, tried: set[int]) -> bool:
        for card in cards_in(int(masks[slot]) & cards):
            if card not in tried:
                tried.add(card)
                if card not in holder or place(holder[card], tried):
                    holder[card] = slot
                    return True
        return False

    for slot in range(len(masks)):
        if not place(slot, set()):
            raise KolkhozError("worlds: no world agrees with what the seat knows")
    filled = np.zeros(len(masks), dtype=U64)
    for card, slot in holder.items():
        filled[slot] = BIT[card]
    return filled


# Writing worlds -------------------------------------------------------------------------------


def _write(
    worlds: State,
    rows: Int64,
    slots: Slots,
    game: Int64,
    filled: UInt64,
    keys: UInt64,
    knowledge: Knowledge,
) -> None:
    """Put the cards of the slots into the hands, Cellars and piles of ``rows``."""
    rules, players = knowledge.rules, worlds.players
    year = slots.places
    # ``rows`` holds the same number of worlds for every game of the knowledge.
    seats = knowledge.seats[rows // (worlds.size // knowledge.size)]
    worlds.key[rows] = _draw(keys, _KEY)
    column = (players - 1) * slots.hand
    for step in range(1, players):
        seat = (seats + step) % players
        start = (step - 1) * slots.hand
        hand = np.bitwise_or.reduce(filled[start : start + slots.hand], axis=0)
        hand |= BIT[worlds.known[rows, seat]]
        worlds.hands[rows, seat] = hand
        # As far as the worlds tell: what a seat holds now, and banked in other years, was dealt.
        worlds.dealt[rows, seat, year - 1] = hand
        for place in range(slots.places):
            card = filled[column + place]
            hidden = np.flatnonzero(card)
            banked = single_card(card[hidden])
            at = rows[hidden]
            worlds.cellars[at, seat[hidden], place] = banked
            since = worlds.places[at, seat[hidden], place, PLACE_SINCE].astype(np.int64)
            worlds.dealt[at, seat[hidden], since - 1] |= card[hidden]
        column += slots.places
    hidden_rewards = filled[column : column + NUM_CROPS]
    _shuffle_piles(worlds, rows, slots.lows[game], hidden_rewards, year, keys, rules)


def _shuffle_piles(
    worlds: State,
    rows: Int64,
    lows: UInt64,
    hidden: UInt64,
    year: int,
    keys: UInt64,
    rules: Rules,
) -> None:
    """Put the rewards to come into a random order."""
    left = rules.pile_size - year
    if left <= 0:
        return
    order = np.full((rows.size, NUM_CROPS, rules.low_rewards + 1), ~U64(0), dtype=U64)
    for crop in range(rules.crops):
        draws = [_draw(keys, _PILES + 8 * crop + place) for place in range(rules.low_rewards + 1)]
        for rank in range(rules.low_rewards):
            card = 13 * crop + rank
            there = lows & BIT[card] != 0
            order[there, crop, rank] = draws[rank][there] & ~U64(63) | U64(card)
        there = hidden[crop] != 0
        card_number = single_card(hidden[crop][there]).astype(U64)
        order[there, crop, -1] = draws[-1][there] & ~U64(63) | card_number
    order.sort(axis=2)
    piles = (order[:, : rules.crops, :left] & U64(63)).astype(np.int8)
    worlds.piles[rows, : rules.crops, year : year + left] = piles


def _take_hidden(worlds: State, seats: Int8) -> None:
    """The card that another seat has picked for its swap lies in the Cellar place it named."""
    rows = np.flatnonzero((worlds.phase == SWAP_GIVE) & (worlds.taken == EMPTY))
    acting = worlds.seat[rows]
    place = worlds.swaps[rows, acting] - SWAP_CELLAR
    worlds.taken[rows] = worlds.cellars[rows, acting, place]
