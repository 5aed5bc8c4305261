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

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import (
    BIT,
    CROP_BITS,
    NUM_CROPS,
    ONE,
    RANK_BITS,
    SABOTEUR_BIT,
    U64,
    cards_in,
    single_card,
)
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge, hand_sizes, last_seen_planes
from kolkhoz_env.rules import REQUISITION, SWAP_GIVE, Rules
from kolkhoz_env.state import (
    EMPTY,
    HIDDEN,
    PLACE_HIGHEST,
    PLACE_SABOTEUR,
    PLACE_SINCE,
    SWAP_CELLAR,
    Int8,
    Int64,
    State,
    UInt64,
)
from kolkhoz_env.vector import VectorKolkhoz

#: Rounds of exchanges that every world gets where anything restrains the cards. Each offers one
#: exchange to every slot; the tests compare the outcome with exhaustive enumeration.
ROUNDS = 24
#: Random fills tried before a fill is searched for.
ATTEMPTS = 12
#: Worlds filled and exchanged at a time, so that their slots stay in the processor's cache.
_CHUNK = 1024
#: ``uint64[14, ...]`` by rank and crop: the cards of a crop up to a rank.
_UP_TO = np.array(
    [[sum(1 << (13 * c + r) for r in range(top)) for c in range(NUM_CROPS)] for top in range(14)],
    dtype=U64,
)
#: What a hash is for, besides the exchanges (which count from 0).
_KEY, _PILES, _FILL = 1 << 20, 2 << 20, 3 << 20


@dataclass(frozen=True)
class Slots:
    """Where the cards of ``n`` knowledges may lie, all of one year: ``M`` slots each.

    Columns: the hands of the other seats clockwise (``hand`` slots each), their Cellar places (one
    for each year so far), the hidden rewards by crop, the Workers Deck.

    Attributes:
        hand: slots of each hand.
        places: Cellar places of each seat.
        cards: ``uint64[n]``, the cards to place.
        masks: ``uint64[n, M]``, the cards that may lie in each slot; 0 for a slot that is closed.
        open: ``bool[n, M]``.
        deck: number of slots of the Workers Deck; they come last.
        lows: ``uint64[n]``, cards known to lie in the reward piles.
        restrained: ``bool[n]``, whether a random fill alone is not even.
    """

    hand: int
    places: int
    cards: UInt64
    masks: UInt64
    open: NDArray[np.bool_]
    deck: int
    lows: UInt64
    restrained: NDArray[np.bool_]


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
    seeds = _row_seeds(seed, knowledge.size)
    worlds = state.take(np.repeat(np.arange(knowledge.size), count))
    for year in np.unique(state.year):
        rows = np.flatnonzero(state.year == year)
        part = knowledge.take(rows)
        slots = find_slots(part, int(year))
        here = (rows[:, None] * count + np.arange(count)).ravel()
        keys = mix(
            np.repeat(seeds[rows], count)
            + np.tile(np.arange(1, count + 1, dtype=U64), rows.size) * GOLDEN
        )
        game = np.repeat(np.arange(rows.size), count)
        for start in range(0, here.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            filled = _fill(slots, game[chunk], keys[chunk])
            _write(worlds, here[chunk], part, game[chunk], slots, filled, keys[chunk])
    _take_hidden(worlds, np.repeat(knowledge.seats, count))
    return VectorKolkhoz.from_state(worlds, rules, game_ids=np.arange(worlds.size))


def _row_seeds(seed: ArrayLike, rows: int) -> UInt64:
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


# What may lie where ---------------------------------------------------------------------------


def find_slots(knowledge: Knowledge, year: int) -> Slots:
    """The slots of knowledges that are all of one ``year``."""
    state, rules, seats = knowledge.state, knowledge.rules, knowledge.seats
    n, players = state.size, state.players
    games = np.arange(n)
    planes = last_seen_planes(state, seats)
    deck = U64(rules.deck)
    low_bits = np.bitwise_or.reduce(RANK_BITS[1 : rules.low_rewards + 1], initial=U64(0)) & deck
    lows = low_bits & ~planes[:, 0]
    cards = knowledge.unseen() & ~lows & ~np.bitwise_or.reduce(BIT[state.known], axis=1)
    cards &= ~np.bitwise_or.reduce(BIT[state.cellars.reshape(n, -1)], axis=1)

    hand = rules.hand_size(year)
    columns: list[UInt64] = []
    sizes = hand_sizes(state, rules) - (state.known != EMPTY)
    others = [(seats + step) % players for step in range(1, players)]
    restrained = np.zeros(n, dtype=np.bool_)
    for seat in others:
        voids = state.voids[games, seat]
        possible = np.where(voids == 0, SABOTEUR_BIT, U64(0))
        for crop in range(NUM_CROPS):
            possible |= np.where(voids >> crop & 1, U64(0), CROP_BITS[crop])
        restrained |= (voids != 0) & (sizes[games, seat] > 0)
        columns += [
            np.where(sizes[games, seat] > card, possible & cards, U64(0)) for card in range(hand)
        ]
    for seat in others:
        for place in range(year):
            hidden = state.cellars[games, seat, place] == HIDDEN
            facts = state.places[games, seat, place]
            possible = np.where(facts[:, PLACE_SABOTEUR] == 1, SABOTEUR_BIT, U64(0))
            for crop in range(NUM_CROPS):
                possible |= _UP_TO[np.minimum(facts[:, PLACE_HIGHEST + crop], 13), crop]
            since = np.maximum(facts[:, PLACE_SINCE].astype(np.int64), 1) - 1
            possible &= ~planes[games, since]
            restrained |= hidden
            columns.append(np.where(hidden, possible & cards, U64(0)))
    shown = np.arange(state.piles.shape[2]) < year
    high = (state.piles % 13 >= rules.low_rewards) & shown & (state.piles >= 0)
    for crop in range(NUM_CROPS):
        waits = ~high[:, crop].any(axis=1) & (crop < rules.crops)
        possible = CROP_BITS[crop] & cards & ~planes[:, 0]
        columns.append(np.where(waits, possible, U64(0)))
    return _closed(hand, columns, cards, lows, restrained, year)


def _closed(
    hand: int, columns: list[UInt64], cards: UInt64, lows: UInt64, restrained: NDArray[np.bool_],
    places: int,
) -> Slots:  # fmt: skip
    """Slots with the Workers Deck, which takes the cards that are left."""
    # A slot that no card may fill is told apart from a closed one by the count of cards.
    masks = np.stack(columns, axis=1)
    used = masks != 0
    left = np.bitwise_count(cards).astype(np.int64) - used.sum(axis=1)
    if (left < 0).any():
        raise KolkhozError("worlds: more places than cards; the knowledge contradicts itself")
    deck = int(left.max())
    in_deck = np.arange(deck) < left[:, None]
    masks = np.concatenate([masks, np.where(in_deck, cards[:, None], U64(0))], axis=1)
    return Slots(hand, places, cards, masks, masks != 0, deck, lows, restrained)


# Filling and exchanging -----------------------------------------------------------------------


def _fill(slots: Slots, game: Int64, keys: UInt64) -> UInt64:
    """The card of each slot as a bit, ``uint64[M, N]``, for worlds of the games ``game``."""
    filled, failed = _fill_at_random(slots, game, keys, _FILL)
    for attempt in range(1, ATTEMPTS):
        if not failed.size:
            break
        purpose = _FILL + attempt * 64
        again, still = _fill_at_random(slots, game[failed], keys[failed], purpose)
        filled[:, failed] = again
        failed = failed[still]
    for world in failed:
        filled[:, world] = _matching(slots.masks[game[world]], int(slots.cards[game[world]]))
    busy = np.flatnonzero(slots.restrained[game])
    if busy.size:
        part = filled if busy.size == game.size else np.ascontiguousarray(filled[:, busy])
        masks = np.ascontiguousarray(slots.masks[game[busy]].T)
        _exchange(part, masks, keys[busy])
        if part is not filled:
            filled[:, busy] = part
    return filled


def _fill_at_random(slots: Slots, game: Int64, keys: UInt64, purpose: int) -> tuple[UInt64, Int64]:
    """Cards ``uint64[M, N]`` drawn slot by slot, tightest first; worlds that came to a dead end."""
    constrained = slots.masks.shape[1] - slots.deck
    narrow = slots.masks[:, :constrained]
    width = np.where(narrow == 0, 64, np.bitwise_count(narrow))
    order = np.argsort(width, axis=1, kind="stable")
    steps = int((narrow != 0).sum(axis=1).max(initial=0))
    filled = np.zeros((slots.masks.shape[1], game.size), dtype=U64)
    left = slots.cards[game]
    worlds = np.arange(game.size)
    dead = np.zeros(game.size, dtype=np.bool_)
    for step in range(steps):
        slot = order[game, step]
        mask = narrow[game, slot]
        card = random_bit(mask & left, _draw(keys, purpose + step))
        dead |= (card == 0) & (mask != 0)
        filled[slot, worlds] = card
        left ^= card
    for column in range(constrained, slots.masks.shape[1]):
        card = left & (~left + ONE)
        filled[column] = np.where(slots.open[game, column], card, U64(0))
        left ^= filled[column]
    return filled, np.flatnonzero(dead)


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
            # Never with a closed slot: its mask is empty, and so is the card that it would give.
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

    for slot in sorted(range(len(masks)), key=lambda s: int(masks[s]).bit_count()):
        if masks[slot] and not place(slot, set()):
            raise KolkhozError("worlds: no world agrees with what the seat knows")
    filled = np.zeros(len(masks), dtype=U64)
    for card, slot in holder.items():
        filled[slot] = BIT[card]
    return filled


# Writing worlds -------------------------------------------------------------------------------


def _write(
    worlds: State,
    rows: Int64,
    knowledge: Knowledge,
    game: Int64,
    slots: Slots,
    filled: UInt64,
    keys: UInt64,
) -> None:
    """Put the cards of the slots into the hands, Cellars and piles of ``rows``."""
    rules, players = knowledge.rules, worlds.players
    year = int(worlds.year[rows[0]])
    seats = knowledge.seats[game]
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
