"""How the heuristic names trump, swaps, and chooses what goes North."""

from __future__ import annotations

import numpy as np

from kolkhoz_agents.kolkhoz.estimates import F32, Position, Weights, by_crop
from kolkhoz_agents.kolkhoz.tricks import STRENGTH
from kolkhoz_env.cards import CROP, NUM_CARDS, ONE, PASS, RANK, U64

_ALL = np.arange(NUM_CARDS)


def score_trumps(position: Position, weights: Weights) -> F32:
    """Scores float32[n, 4] of the crops as trump."""
    ranks, cards = by_crop(position.hand)
    held = position.stakes[position.games, position.seats]
    return (
        weights.length * cards
        + weights.strength * ranks
        + weights.stake * held
        + weights.prize * position.rewards
    )


def card_worth(position: Position, weights: Weights) -> F32:
    """What each card is worth in Plot or Cellar, float32[n, 53]."""
    fail = np.concatenate([position.fail, np.zeros((len(position.fail), 1), np.float32)], axis=1)
    return RANK[:NUM_CARDS] * (1 - weights.exposed * fail[:, CROP[:NUM_CARDS]])


def _swap_worth(position: Position, weights: Weights) -> F32:
    """What each card is worth more in Plot or Cellar than in the hand, float32[n, 53]."""
    strong = STRENGTH[position.trump][:, 0, :NUM_CARDS] / np.float32(33)
    stake = position.loss[position.games, position.seats]
    return card_worth(position, weights) + weights.easier * strong * stake[:, None]


def score_takes(position: Position, weights: Weights) -> F32:
    """Scores float32[n, 58] of what to take into the hand; passing stands for the least gain."""
    worth = _swap_worth(position, weights)
    hand = (position.hand[:, None] >> _ALL.astype(U64)) & ONE == 1
    best = np.where(hand, worth, 0).max(axis=1)
    scores = np.full((len(worth), PASS + 1), -np.inf, dtype=np.float32)
    scores[:, :NUM_CARDS] = best[:, None] - worth
    scores[:, PASS] = weights.threshold
    return scores


def score_gives(position: Position, weights: Weights) -> F32:
    """Scores float32[n, 53] of what to give for the card taken: the most valuable card."""
    return _swap_worth(position, weights)


def score_losses(position: Position) -> F32:
    """Scores float32[n, 53] of what to send North among equals: the crop held most."""
    counts = position.counts[position.games, position.seats]
    counts = np.concatenate([counts, np.zeros((len(counts), 1), np.float32)], axis=1)
    return counts[:, CROP[:NUM_CARDS]]
