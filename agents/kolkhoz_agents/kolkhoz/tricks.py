"""How the heuristic plays its cards: what a trick is worth, and which card to bank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.kolkhoz.estimates import F32, Position, Weights
from kolkhoz_env.cards import (
    CROP,
    CROP_BITS,
    NO_CROP,
    NUM_CARDS,
    ONE,
    RANK,
    SABOTEUR,
    U64,
    single_card,
)

_HAND = 5


def _strengths() -> NDArray[np.uint8]:
    """uint8[5, 5, 54] by trump, led crop and card, as tricks are won; the last is no card."""
    table = np.zeros((5, 5, NUM_CARDS + 1), dtype=np.uint8)
    for crop in range(NO_CROP):
        cards = slice(13 * crop, 13 * crop + 13)
        table[:, crop, cards] = np.arange(1, 14)
        table[crop, :, cards] = np.arange(21, 34)
    table[:, :, SABOTEUR] = 20
    return table


def _stronger(strengths: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """uint64[5, 5, 54]: the cards that beat each card."""
    beats = strengths[:, :, None, :NUM_CARDS] > strengths[:, :, :, None]
    powers = ONE << np.arange(NUM_CARDS, dtype=U64)
    return (beats * powers).sum(axis=3, dtype=U64)


STRENGTH = _strengths()
STRONGER = _stronger(STRENGTH)


def hand_cards(hand: NDArray[np.uint64], most: int = _HAND) -> NDArray[np.int8]:
    """The cards of hands uint64[n] as int8[n, most], -1 beyond."""
    cards = np.full((hand.size, most), -1, dtype=np.int8)
    rest = hand.copy()
    for place in range(most):
        low = rest & (~rest + ONE)
        cards[:, place] = np.where(low != 0, single_card(low), -1)
        rest ^= low
    return cards


def banking(position: Position, cards: NDArray[np.int8], weights: Weights) -> F32:
    """What each hand card is worth in the Cellar, float32[n, k]; -1 for no card."""
    crop = np.minimum(CROP[cards], 3).astype(np.int64)
    risk = np.take_along_axis(position.fail, crop, axis=1) * (cards != SABOTEUR)
    return np.where(cards >= 0, RANK[cards] * (1 - weights.exposed * risk), -1).astype(np.float32)


def score_plays(
    position: Position, mask: NDArray[np.bool_], weights: Weights
) -> tuple[NDArray[np.int8], F32]:
    """Cards int8[n, 5] of each hand and their scores float32[n, 5], -inf where not legal."""
    cards = hand_cards(position.hand)
    number = cards.astype(np.int64)
    worth = _worth_of_winning(position, weights)
    wins = _win_chance(position, cards, weights)

    bank = banking(position, cards, weights)
    order = np.sort(bank, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    third = np.maximum(order[:, -3:-2], 0)
    is_best, is_second = bank >= best, bank == second
    loses = weights.keep * np.where(is_best, best - second, 0)
    loses += weights.spare * np.where(is_best | is_second, np.maximum(second - third, 0), 0)

    strong = STRENGTH[
        position.trump[:, None], np.where(CROP[cards] == NO_CROP, 0, CROP[cards]), number
    ]
    shed = weights.shed * strong * ~is_best
    score = wins * worth[:, None] - loses + shed * (1 - wins)
    allowed = mask[position.games[:, None], number]
    return cards, np.where(allowed & (cards >= 0), score, -np.inf).astype(np.float32)


def _worth_of_winning(position: Position, weights: Weights) -> F32:
    """What winning this trick is worth to the seat in ranks, float32[n]; mostly a cost."""
    games, seats = position.games, position.seats
    own_loss = position.loss[games, seats]
    best = (position.hand[:, None] & CROP_BITS[:4]) != 0
    medals = position.medals[games, seats]
    has = medals > 0
    # The card that will be banked is at risk as well.
    prospective = (best * position.fail).mean(axis=1) * 6
    cost = weights.medal * (own_loss + prospective)
    # A seat that has won all so far makes this seat inspected anyway unless it is stopped.
    rivals = (position.medals == position.trick_number[:, None]) & (
        position.trick_number[:, None] >= 2
    )
    rivals[games, seats] = False
    cost = np.where(rivals.any(axis=1), cost * 0.3, cost)
    gain = weights.control + weights.rewards * _rewards_in_reach(position)
    gain = gain + np.where(has, weights.again + 0.3 * own_loss, 0)
    on_way = has & (medals == position.trick_number)
    table = position.loss.sum(axis=1) - own_loss
    hero = own_loss + weights.others * table
    gain = gain + np.where(on_way, weights.hero * hero * (medals - 0.5), 0)
    return gain - np.where(has, 0, cost)


def _rewards_in_reach(position: Position) -> F32:
    """Ranks of the rewards whose fields are under way, float32[n]."""
    return (position.rewards * (position.hours >= 8)).sum(axis=1).astype(np.float32)


def _win_chance(position: Position, cards: NDArray[np.int8], weights: Weights) -> F32:
    """Chance that each hand card wins the trick, float32[n, 5]."""
    crop = CROP[cards]
    led = np.where((position.trick_size == 0)[:, None], crop, position.led[:, None])
    number = cards.astype(np.int64)
    trump = position.trump[:, None].astype(np.int64)
    strength = STRENGTH[trump, led, number]
    winning = strength > position.best[:, None]
    after = (position.players - 1 - position.trick_size).astype(np.float32)[:, None]
    better = np.bitwise_count(STRONGER[trump, led, number] & position.unseen[:, None])
    unseen = np.maximum(np.bitwise_count(position.unseen), 1)[:, None]
    held = np.maximum(np.bitwise_count(position.hand), 1)[:, None]
    # Following suit makes it likelier that a stronger card of the led crop comes down.
    holds = 1 - (1 - np.minimum(better / unseen, 1)) ** held
    return (winning * (1 - weights.trumped * holds) ** after).astype(np.float32)
