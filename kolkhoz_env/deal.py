"""Shuffles by counter: every card of every game and year has a priority that is a hash.

A game is named by (seed, game number). The Workers Deck of a year is dealt in the order of a
priority that depends on (seed, game, year, card) alone, so game ``k`` is the same in any batch and
after resuming, and two tables that play the same seed meet the same deck wherever their decks
agree (common random numbers).

The hash is the finaliser of splitmix64 (Steele, Lea and Flood, *Fast splittable pseudorandom
number generators*, 2014).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kolkhoz_env.cards import (
    NUM_CARDS,
    U64,
    union,
    zone_with,
)
from kolkhoz_env.requisition import holdings
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import EMPTY, Int8, Int64, State, UInt64

GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX_1 = U64(0xBF58476D1CE4E5B9)
_MIX_2 = U64(0x94D049BB133111EB)
_CARD_STEP = (np.arange(1, NUM_CARDS + 1, dtype=U64) * GOLDEN)[None, :]
_CARD_INDEX = np.arange(NUM_CARDS, dtype=U64)
_LOW_BITS = U64(63)
_LAST = ~U64(0)

# What a hash is for: years 1 to 5 shuffle the Workers Deck, these the setup.
_PILES, _HIDDEN_REWARD, _PLANNER = 16, 17, 18

#: A dealer returns, for ``rows`` of a state whose year has begun, the hands ``uint64[n, P]`` and
#: the card turned up in the Famine ``int8[n]`` (EMPTY if none is left; ignored in other years).
Dealer = Callable[[State, Int64, Rules], tuple[UInt64, Int8]]


def mix(values: UInt64) -> UInt64:
    """The splitmix64 finaliser, elementwise on ``uint64``."""
    z = values ^ (values >> U64(30))
    z *= _MIX_1
    z ^= z >> U64(27)
    z *= _MIX_2
    z ^= z >> U64(31)
    return z


def game_keys(seed: int, games: Int64) -> UInt64:
    """Keys ``uint64[n]`` of the games numbered ``games`` of a seed (any Python int)."""
    low, high = seed & 0xFFFFFFFFFFFFFFFF, (seed >> 64) & 0xFFFFFFFFFFFFFFFF
    root = mix(np.array([low], dtype=U64) + GOLDEN) ^ mix(np.array([high], dtype=U64))
    return mix(mix(root + games.astype(U64) * GOLDEN) + GOLDEN)


def _priorities(key: UInt64, purpose: UInt64 | int) -> UInt64:
    """``uint64[n, 53]``: a random priority for every card, the card itself in the low bits."""
    # Arrays throughout: scalar arithmetic would warn of the wanted overflow.
    base = key ^ mix(np.atleast_1d(purpose).astype(U64) * GOLDEN)
    hashed = mix(base[:, None] + _CARD_STEP)
    return (hashed & ~_LOW_BITS) | _CARD_INDEX


def reward_piles(key: UInt64, rules: Rules) -> Int8:
    """Shuffled reward piles ``int8[n, 4, 5]`` in the order in which they will be revealed.

    Each holds the ranks Ace .. ``low_rewards`` of its crop and one hidden higher card.
    """
    n, low = key.shape[0], rules.low_rewards
    order = _priorities(key, _PILES)[:, :52].reshape(n, 4, 13)
    hidden = _priorities(key, _HIDDEN_REWARD)[:, :52].reshape(n, 4, 13)
    fifth = low + hidden[:, :, low : rules.ranks].argmin(axis=2)
    # The fifth card takes its own place in the shuffle: a smallest hash would come out first.
    own_place = np.take_along_axis(order, fifth[:, :, None], axis=2)
    pile = np.concatenate([order[:, :, :low], own_place], axis=2)
    cards = (pile & _LOW_BITS).astype(np.int8)
    shuffled = np.take_along_axis(cards, np.argsort(pile, axis=2), axis=2)
    piles = np.full((n, 4, 5), EMPTY, dtype=np.int8)
    piles[:, : rules.crops, : rules.pile_size] = shuffled[:, : rules.crops]
    return piles


def first_planners(key: UInt64, rules: Rules) -> Int8:
    """Seat of the first Planner ``int8[n]``, drawn from the key unless the rules name it."""
    if rules.first_planner is not None:
        return np.full(key.shape, rules.first_planner, dtype=np.int8)
    drawn = mix(key + np.array([_PLANNER], dtype=U64) * GOLDEN) >> U64(33)
    return (drawn % U64(rules.players)).astype(np.int8)


def workers_deck(state: State, rows: Int64, rules: Rules) -> UInt64:
    """Workers Deck ``uint64[n]`` at the start of a year.

    Every card of the game that is in no Plot, Cellar, reward pile or the North.
    """
    held = union(holdings(state, rows)) | state.north[rows]
    ahead = np.arange(5) >= (state.year[rows, None] - 1)
    piles = np.where(ahead[:, None, :], state.piles.take(rows, axis=0), np.int8(EMPTY))
    held |= zone_with(piles)
    return U64(rules.deck) & ~held


def hashed_deal(state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
    """The :data:`Dealer` of ordinary games: the Workers Deck in the order of its priorities.

    All rows must be in years with the same hand size.
    """
    deck = workers_deck(state, rows, rules)
    order = _priorities(state.key[rows], state.year[rows].astype(U64))
    # All bits set, so the last of all, where a card is absent.
    order |= ((deck[:, None] >> _CARD_INDEX) & U64(1)) - U64(1)
    order.sort(axis=1)
    hand = rules.hand_size(int(state.year[rows[0]]))
    dealt = rules.players * hand
    cards = (order[:, : dealt + 1] & _LOW_BITS).astype(np.int8)
    hands = zone_with(cards[:, :dealt].reshape(-1, hand)).reshape(-1, rules.players)
    return hands, np.where(order[:, dealt] == _LAST, np.int8(EMPTY), cards[:, dealt])
