"""How the heuristic names trump, swaps, and chooses what goes North."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.kolkhoz.estimates import F32, Position, Weights, by_crop
from kolkhoz_agents.kolkhoz.tricks import hand_worth
from kolkhoz_env.cards import CROP, NO_CROP, NUM_CARDS, PASS, RANK


def score_trumps(position: Position, weights: Weights) -> F32:
    """Scores float32[n, 4] of the crops as trump."""
    ranks, cards = by_crop(position.hand)
    held = position.stakes[position.games, position.seats]
    scores: F32 = (
        weights.length * cards
        + weights.strength * ranks
        + weights.stake * held
        + weights.prize * position.rewards
    )
    for crop in range(NO_CROP):
        trump = np.full(position.size, crop, dtype=np.int8)
        hand = hand_worth(position.cards, trump, position, weights)
        scores[:, crop] += weights.hand * hand
    return scores


def card_worth(position: Position, weights: Weights) -> F32:
    """What each card is worth in Plot or Cellar, float32[n, 54]; nothing for no card."""
    fail = np.zeros((position.size, NO_CROP + 1), dtype=np.float32)
    fail[:, :NO_CROP] = position.fail
    worth = RANK[: NUM_CARDS + 1] * (1 - weights.exposed * fail[:, CROP[: NUM_CARDS + 1]])
    return worth.astype(np.float32)


def _swap_gains(position: Position, taken: NDArray[np.int8], weights: Weights) -> F32:
    """Worth float32[n, 5] of giving each hand card for the card ``taken`` int8[n]."""
    games = position.games
    worth = card_worth(position, weights)
    gains: F32 = np.empty(position.cards.shape, dtype=np.float32)
    for place in range(position.cards.shape[1]):
        given = position.cards[:, place]
        hand = position.cards.copy()
        hand[:, place] = taken
        change = hand_worth(hand, position.trump, position, weights)
        gains[:, place] = worth[games, given] - worth[games, taken] + weights.swapped * change
    return np.where(position.cards >= 0, gains, -np.inf)


def score_takes(position: Position, mask: NDArray[np.bool_], weights: Weights) -> F32:
    """Scores float32[n, 58] of what to take into the hand, with the best card to give for it."""
    scores = np.full((position.size, PASS + 1), -np.inf, dtype=np.float32)
    cards = mask[:, :NUM_CARDS]
    keeps = weights.swapped * hand_worth(position.cards, position.trump, position, weights)
    scores[:, PASS] = keeps + weights.threshold
    for number in range(int(cards.sum(axis=1).max(initial=0))):
        ranked = cards & (cards.cumsum(axis=1) == number + 1)
        rows = np.flatnonzero(ranked.any(axis=1))
        taken = ranked[rows].argmax(axis=1).astype(np.int8)
        gains = _swap_gains(position.take(rows), taken, weights)
        scores[rows, taken] = gains.max(axis=1)
    return scores


def score_gives(position: Position, taken: NDArray[np.int8], weights: Weights) -> F32:
    """Scores float32[n, 53] of what to give for the card taken."""
    gains = _swap_gains(position, taken, weights)
    scores = np.full((position.size, NUM_CARDS + 1), -np.inf, dtype=np.float32)
    np.put_along_axis(scores, position.cards.astype(np.int64), gains, axis=1)
    return scores[:, :NUM_CARDS]


def score_losses(position: Position) -> F32:
    """Scores float32[n, 53] of what to send North among equals: the crop held most."""
    counts = position.counts[position.games, position.seats]
    counts = np.concatenate([counts, np.zeros((len(counts), 1), np.float32)], axis=1)
    return counts[:, CROP[:NUM_CARDS]]
