"""How the heuristic assigns Workers: which fields it wants to succeed and which to fail."""

from __future__ import annotations

import numpy as np

from kolkhoz_agents.kolkhoz.estimates import F32, Position, Weights, fail_chance, trick_hours
from kolkhoz_env.cards import NO_CROP, RANK, SABOTEUR, SABOTEUR_BIT


def score_fields(position: Position, quota: int, weights: Weights) -> F32:
    """Scores float32[n, 4] of the fields for the next card of the trick."""
    state, games = position.state, position.games
    wanted = value_of_success(position, weights)
    hours = trick_hours(state, games)
    need = (quota - state.hours).astype(np.float32)
    after = position.left - hours
    sabotaged = (state.fields & SABOTEUR_BIT) != 0
    pull = weights.trump_pull * (np.arange(NO_CROP) == state.trump[:, None])
    without = fail_chance(need, after[:, None], pull, weights)
    with_all = fail_chance(need - hours[:, None], after[:, None], pull, weights)
    change = np.where(sabotaged, 0, without - with_all)

    year = state.year.astype(np.int64) - 1
    reward = RANK[state.piles[games, :, year]]
    open_ = (state.claimed[:, None] >> np.arange(NO_CROP, dtype=np.uint8)) & 1 == 0
    completes = open_ & (need <= hours[:, None])
    score = wanted * change + completes * (np.maximum(reward, 0) + weights.reward)
    # Hours brought nearer to a reward for later, a little.
    card = state.trick[games, state.assigned]
    spoil = -wanted * np.where(sabotaged, 0, 1 - position.fail)
    return np.where((card == SABOTEUR)[:, None], spoil, score).astype(np.float32)


def value_of_success(position: Position, weights: Weights) -> F32:
    """What it is worth to the seat, in ranks, that each field succeeds rather than fails."""
    games, seats = position.games, position.seats
    failed = position.fail.sum(axis=1)[:, None]
    pool = np.einsum("nc,npc->np", position.fail, position.counts)
    taken = np.minimum(1, np.maximum(failed, 1) / np.maximum(pool, 1))
    saved = position.stakes * taken[:, :, None]
    # A further failed field takes a further card from whoever is inspected.
    at_risk = np.where(position.inspected, 1.0, 0.25).astype(np.float32)
    at_risk[games, seats] = 0
    theirs = (saved * at_risk[:, :, None]).sum(axis=1)
    return saved[games, seats] - weights.others * theirs
