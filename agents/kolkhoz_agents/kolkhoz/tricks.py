"""How the heuristic plays its cards: what a trick is worth, and which card to bank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.kolkhoz.estimates import F32, Position, Weights, banking
from kolkhoz_env.cards import (
    CROP,
    CROP_BITS,
    NO_CROP,
    NUM_CARDS,
    ONE,
    SABOTEUR,
    U64,
)


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


def score_plays(
    position: Position, mask: NDArray[np.bool_], weights: Weights
) -> tuple[NDArray[np.int8], F32]:
    """Cards int8[n, 5] of each hand and their scores float32[n, 5], -inf where not legal."""
    cards = position.cards
    number = cards.astype(np.int64)
    gain, cost = worth_of_winning(position, weights)
    wins = _win_chance(position, cards, weights)

    bank = np.where(cards >= 0, position.bank, -1)
    order = np.sort(bank, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    third = np.maximum(order[:, -3:-2], 0)
    is_best, is_second = bank >= best, bank == second
    loses = weights.keep * np.where(is_best, best - second, 0)
    loses += weights.spare * np.where(is_best | is_second, np.maximum(second - third, 0), 0)

    # What is left in hand, but for the card that will be banked, may win against one's will.
    escape = np.log(escape_chance(cards, position.trump, position.unseen, weights))
    banked = np.where(is_best, _first(escape, is_second), _first(escape, is_best))
    risk = 1 - np.exp(np.minimum(escape.sum(axis=1, keepdims=True) - escape - banked, 0))
    heroic = hero_chance(position, weights)
    won = gain[:, None] + heroic * hero_stake(position, weights)[:, None]
    won = won - cost[:, None] * (1 - heroic)
    value = wins * won - (1 - wins) * cost[:, None] * risk
    allowed = mask[position.games[:, None], number] & (cards >= 0)
    return cards, np.where(allowed, value - loses, -np.inf).astype(np.float32)


def _first(values: F32, where: NDArray[np.bool_]) -> F32:
    """The value at the first place of each row that is so marked, 0 if none: float32[n, 1]."""
    place = where.argmax(axis=1)[:, None]
    marked = np.take_along_axis(where, place, axis=1)
    return np.where(marked, np.take_along_axis(values, place, axis=1), 0)


def escape_chance(
    cards: NDArray[np.int8], trump: NDArray[np.int8], unseen: NDArray[np.uint64], weights: Weights
) -> F32:
    """Chance that each hand card loses a later trick when it must be played, float32[n, k].

    1 for no card.
    """
    wins = weights.danger * (1 - _stronger_share(cards, trump, unseen)) ** weights.danger_power
    plain = CROP[cards] != trump[:, None]
    escapes = 1 - np.clip(wins * np.where(plain, weights.off_trump, 1), 0, 0.95)
    return np.where(cards >= 0, escapes, 1).astype(np.float32)


def lead_chance(
    cards: NDArray[np.int8], trump: NDArray[np.int8], unseen: NDArray[np.uint64], weights: Weights
) -> F32:
    """Chance that each hand card wins a trick that it leads, float32[n, k]."""
    chance = (1 - _stronger_share(cards, trump, unseen)) ** weights.hero_power
    plain = CROP[cards] != trump[:, None]
    return (chance * np.where(plain, weights.hero_plain, 1)).astype(np.float32)


def _stronger_share(
    cards: NDArray[np.int8], trump: NDArray[np.int8], unseen: NDArray[np.uint64]
) -> F32:
    """Share of the unseen cards of each card's crop that beat it, float32[n, k]."""
    number = cards.astype(np.int64)
    crop = np.where(CROP[cards] == NO_CROP, np.minimum(trump, NO_CROP - 1)[:, None], CROP[cards])
    own = CROP_BITS[crop] & unseen[:, None]
    stronger = STRONGER[trump[:, None], crop, number] & own
    share = np.bitwise_count(stronger) / (np.bitwise_count(own) + np.float32(0.5))
    return np.minimum(share, 1).astype(np.float32)


def worth_of_winning(position: Position, weights: Weights) -> tuple[F32, F32]:
    """What winning this trick brings and what the first Medal costs, in ranks, float32[n] each."""
    games, seats = position.games, position.seats
    own_loss = position.loss[games, seats]
    medals = position.medals[games, seats]
    has = medals > 0
    cost = np.where(has, 0, weights.medal * own_loss)
    # A seat that has won all so far has everybody inspected unless it is stopped.
    number = position.trick_number[:, None]
    rivals = (position.medals == number) & (number >= 1)
    rivals[games, seats] = False
    near = position.trick_number / np.maximum(position.trick_number + position.remaining - 1, 1)
    threat = weights.rival * np.where(rivals.any(axis=1), near**2, 0)
    gain = weights.control + weights.rewards * _rewards_in_reach(position)
    gain = gain + np.where(has, weights.again + weights.guard * own_loss, 0)
    gain = gain + threat * weights.deny * (position.loss * rivals).sum(axis=1)
    return gain.astype(np.float32), (cost * (1 - threat)).astype(np.float32)


def hero_stake(position: Position, weights: Weights) -> F32:
    """What it is worth that all the others are inspected, float32[n]."""
    own_loss = position.loss[position.games, position.seats]
    return weights.hero * (position.loss.sum(axis=1) - own_loss)


def hero_chance(position: Position, weights: Weights) -> F32:
    """Chance to win all tricks of the year after this one, by the card played, float32[n, 5].

    0 for a seat that has missed a trick. Of the other cards the strongest are played.
    """
    chance = lead_chance(position.cards, position.trump, position.unseen, weights)
    logs = np.where(position.cards >= 0, np.log(np.maximum(chance, 1e-6)), -99)
    order = np.argsort(-logs, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    total = np.take_along_axis(logs, order, axis=1).cumsum(axis=1)
    total = np.concatenate([np.zeros((len(total), 1)), total], axis=1)
    needed = np.maximum(position.remaining - 1, 0)[:, None]
    best = np.take_along_axis(total, np.minimum(needed, total.shape[1] - 1), axis=1)
    beyond = np.take_along_axis(total, np.minimum(needed + 1, total.shape[1] - 1), axis=1)
    later = np.where(place < needed, beyond - logs, best)
    on_way = position.medals[position.games, position.seats] == position.trick_number
    return np.where(on_way[:, None], np.exp(np.minimum(later, 0)), 0).astype(np.float32)


def hand_worth(
    cards: NDArray[np.int8], trump: NDArray[np.int8], position: Position, weights: Weights
) -> F32:
    """What hands int8[n, k] are worth before the first trick under a trump crop, float32[n].

    Either it wins every trick, or it should win none, and banks its best card.
    """
    there = cards >= 0
    leads = np.where(there, lead_chance(cards, trump, position.unseen, weights), 0)
    leads = -np.sort(-leads, axis=1)
    hero = np.where(np.arange(cards.shape[1]) < position.remaining[:, None], leads, 1).prod(axis=1)
    bank = banking(cards, position.fail, weights)
    banked = np.arange(cards.shape[1]) == bank.argmax(axis=1)[:, None]
    escape = np.where(banked, 1, escape_chance(cards, trump, position.unseen, weights))
    risk = 1 - escape.prod(axis=1)
    own_loss = position.loss[position.games, position.seats]
    cost = weights.medal * own_loss * (1 - hero) * risk
    return weights.banked * bank.max(axis=1) + hero * hero_stake(position, weights) - cost


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
