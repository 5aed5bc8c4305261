"""Final scoring: scores, tie-breaks, shared victory, and what learners get of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.requisition import holdings, ranks_of
from kolkhoz_env.rules import OVER, Rules
from kolkhoz_env.state import Int64, State


@dataclass(frozen=True)
class Outcome:
    """Results of ``n`` finished games for ``P`` seats, ``float32[n, P]`` each.

    Attributes:
        win_share: 1 for the winner, split evenly in a shared victory; each game sums to 1.
        rank: 1 is best; seats that stay equal after both tie-breaks share the mean of their ranks.
        score: summed ranks of Plot and Cellar.
        margin: score minus the best other seat's score.
        cards: number of cards in Plot and Cellar, the first tie-break.
    """

    win_share: NDArray[np.float32]
    rank: NDArray[np.float32]
    score: NDArray[np.float32]
    margin: NDArray[np.float32]
    cards: NDArray[np.float32]

    def take(self, rows: NDArray[np.integer]) -> Outcome:
        """The results of some of the games."""
        return Outcome(**{name: values[rows] for name, values in vars(self).items()})


def outcome(state: State, rows: Int64) -> Outcome:
    """Results of ``rows`` as if their games ended now (holdings as they lie)."""
    held = holdings(state, rows)
    score = ranks_of(held).astype(np.int32)
    cards = np.bitwise_count(held).astype(np.int32)
    # At most 53 cards, so the score decides and the number of cards breaks its ties.
    order = score * 64 + cards
    best = order.max(axis=1, keepdims=True)
    winners = order == best
    better = (order[:, None, :] > order[:, :, None]).sum(axis=2)
    equal = (order[:, None, :] == order[:, :, None]).sum(axis=2)
    players = score.shape[1]
    others = np.where(np.eye(players, dtype=np.bool_), -1, score[:, None, :]).max(axis=2)

    def f32(values: NDArray[np.generic]) -> NDArray[np.float32]:
        return values.astype(np.float32)

    return Outcome(
        win_share=f32(winners / winners.sum(axis=1, keepdims=True)),
        rank=f32(1 + better + (equal - 1) / 2),
        score=f32(score),
        margin=f32(score - others),
        cards=f32(cards),
    )


#: How many ranks make a seat e times likelier to win: in the last year, and more for each year
#: before it. What a card is worth beyond its rank, since a low one can be swapped for a high one.
_SPREAD, _SPREAD_PER_YEAR, _CARD_WORTH = 20.0, 11.0, 3.5


def expected_share(state: State, rows: Int64, rules: Rules) -> NDArray[np.float32]:
    """Share of the victory that each seat can expect as the holdings lie, ``float32[n, P]``.

    A plain guess for looking ahead without a trained value: fitted to games of the heuristic.
    Where a game is over it is what the seat has won.
    """
    held = holdings(state, rows)
    worth = ranks_of(held) + _CARD_WORTH * np.bitwise_count(held)
    left = np.maximum(rules.years - state.year[rows], 0).astype(np.float32)
    drift = worth / (_SPREAD + _SPREAD_PER_YEAR * left)[:, None]
    share = np.exp(drift - drift.max(axis=1, keepdims=True))
    share = share / share.sum(axis=1, keepdims=True)
    over = (state.phase[rows] == OVER)[:, None]
    return np.where(over, outcome(state, rows).win_share, share).astype(np.float32)


#: What a seat may be rewarded with at the end of a game.
REWARDS = ("win_share", "score", "rank")


def reward(result: Outcome, kind: str) -> NDArray[np.float32]:
    """Zero-sum reward ``float32[n, P]`` of finished games.

    ``win_share``: share of the victory minus par (1 / players). ``score``: score minus the mean
    score of the table, in units of 100 points. ``rank``: evenly spaced from +1 (first) to -1.
    """
    players = result.score.shape[1]
    if kind == "win_share":
        return result.win_share - np.float32(1 / players)
    if kind == "score":
        return (result.score - result.score.mean(axis=1, keepdims=True)) / np.float32(100)
    if kind == "rank":
        return 1 - 2 * (result.rank - 1) / np.float32(players - 1)
    raise ValueError(f"reward {kind!r} is none of {', '.join(REWARDS)}")
