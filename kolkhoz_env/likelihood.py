"""Weighing worlds by how likely a policy would have played the trick as it lies.

`sample_worlds` draws evenly from all worlds that agree with what is known. Some of them make the
cards seen on the table look odd: a seat with an Ace to spare would not have thrown its King. Here a
policy is asked in each world how likely the other seats' cards of the trick were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import BIT, NO_CROP, U64
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.derived import remember
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import ASSIGN, PLAY
from kolkhoz_env.state import EMPTY, Int8, Int64, State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.worlds import row_seeds, sample_worlds

#: Asked of a table: log-probabilities ``float32[N, 58]`` of the moves of the seats to act.
LogProbs = Callable[[VectorKolkhoz], NDArray[np.floating]]


def trick_likelihood(
    worlds: VectorKolkhoz, observers: Int8, log_probs: LogProbs
) -> NDArray[np.float64]:
    """Log-likelihood ``float64[N]`` of the cards of the trick, but for the observers' own.

    0 where no trick lies on the table, or some of its cards have been assigned.
    """
    result = np.zeros(worlds.size)
    state = worlds.state
    lies = (state.trick_size > 0) & (state.assigned == 0)
    lies &= (state.phase == PLAY) | (state.phase == ASSIGN)
    for size in np.unique(state.trick_size[lies]):
        rows = np.flatnonzero(lies & (state.trick_size == size))
        cards = state.trick[rows].astype(np.int64)
        rules = replace(worlds.rules, auto_forced=False)
        table = VectorKolkhoz.from_state(_before_trick(state, rows), rules)
        for place in range(int(size)):
            asked = table.seat != observers[rows]
            log = np.asarray(log_probs(table), dtype=np.float64)
            result[rows] += np.where(asked, log[np.arange(rows.size), cards[:, place]], 0)
            table.step(cards[:, place])
    return result


def _before_trick(state: State, rows: Int64) -> State:
    """Copies of games as they stood before their trick, its cards back in the hands."""
    past = state.take(rows)
    games = np.arange(rows.size)
    won = past.phase == ASSIGN
    past.medals[games[won], past.winner[won]] -= 1
    for place in range(past.players):
        seat = (past.leader + place) % past.players
        card = BIT[past.trick[:, place]]
        past.hands[games, seat] |= card
        past.seen[games, past.year - 1] &= ~card
    remember(past)
    past.trick[:] = EMPTY
    past.led[:] = NO_CROP
    past.phase[:] = PLAY
    past.seat[:] = past.leader
    for cleared in (past.trick_size, past.crops, past.best, past.winner):
        cleared[:] = 0
    return past


def likely_worlds(
    knowledge: Knowledge,
    count: int,
    seed: ArrayLike,
    log_probs: LogProbs,
    oversample: int = 4,
) -> VectorKolkhoz:
    """``n * count`` worlds as of :func:`~kolkhoz_env.worlds.sample_worlds`, by likelihood.

    Of ``count * oversample`` even worlds a game, ``count`` are drawn with the likelihood as their
    weight (systematic resampling: a world far likelier than others comes more than once).
    """
    drawn = count * oversample
    worlds = sample_worlds(knowledge, drawn, seed)
    observers = np.repeat(knowledge.seats, drawn)
    log = trick_likelihood(worlds, observers, log_probs).reshape(-1, drawn)
    weights = np.exp(log - log.max(axis=1, keepdims=True))
    share = weights.cumsum(axis=1) / weights.sum(axis=1, keepdims=True)
    offset = (mix(row_seeds(seed, knowledge.size) + GOLDEN) >> U64(11)).astype(np.float64) / 2**53
    marks = (np.arange(count) + offset[:, None]) / count
    row = np.arange(knowledge.size)[:, None]
    chosen = np.searchsorted((share + row).ravel(), (marks + row).ravel())
    chosen = np.clip(
        chosen, np.repeat(row * drawn, count), np.repeat(row * drawn + drawn - 1, count)
    )
    table = worlds.take(chosen)
    table.game_ids = np.arange(table.size)
    return table
