"""How the heuristic assigns Workers: which fields it wants to succeed and which to fail."""

from __future__ import annotations

import numpy as np

from kolkhoz_agents.kolkhoz.estimates import (
    F32,
    Position,
    Weights,
    fail_chance,
    further_losses,
    trick_hours,
)
from kolkhoz_env.cards import SABOTEUR


def score_fields(position: Position, quota: int, weights: Weights) -> F32:
    """Scores float32[n, 4] of the fields for the next card of the trick."""
    wanted = value_of_success(position, weights)
    hours = trick_hours(position.trick, position.assigned)
    need = (quota - position.hours).astype(np.float32)
    after = position.left - hours
    without = fail_chance(need, after, position.trump, weights)
    with_all = fail_chance(need - hours[:, None], after, position.trump, weights)
    change = np.where(position.sabotaged, 0, without - with_all)
    completes = (position.rewards > 0) & (need <= hours[:, None])
    score = wanted * change + completes * (position.rewards + weights.reward)
    spoil = -wanted * np.where(position.sabotaged, 0, 1 - position.fail)
    card = position.trick[position.games, position.assigned]
    return np.where((card == SABOTEUR)[:, None], spoil, score).astype(np.float32)


def value_of_success(position: Position, weights: Weights) -> F32:
    """What it is worth to the seat, in ranks, that each field succeeds rather than fails."""
    games, seats = position.games, position.seats
    further = further_losses(position.fail, position.stakes, position.counts)
    at_risk = np.where(position.medals > 0, 1.0, weights.unsure).astype(np.float32)
    # A seat on its way to win every trick is exempt in the end, and all others are inspected.
    on_way = position.medals[games, seats] == position.trick_number + 1
    hero = np.where(on_way, weights.hero_hope ** (position.remaining - 1), 0).astype(np.float32)
    at_risk = np.maximum(at_risk, hero[:, None])
    at_risk[games, seats] = 0
    theirs = (further * at_risk[:, :, None]).sum(axis=1)
    return further[games, seats] * (1 - hero)[:, None] - weights.others * theirs
