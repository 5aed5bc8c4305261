"""The heuristic agent: a scripted player with thought for what the State will collect."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import choose_best
from kolkhoz_agents.kolkhoz.estimates import Position, Weights, estimate
from kolkhoz_agents.kolkhoz.fields import score_fields
from kolkhoz_agents.kolkhoz.holdings import score_gives, score_losses, score_takes, score_trumps
from kolkhoz_agents.kolkhoz.tricks import score_plays
from kolkhoz_agents.protocol import KNOWLEDGE, Decisions, Game, Option
from kolkhoz_env.cards import CROP_ACTION, NO_CROP, NUM_ACTIONS, NUM_CARDS
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import ASSIGN, PLAY, REQUISITION, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules

_CROPS = slice(CROP_ACTION, CROP_ACTION + NO_CROP)
_CARDS = slice(0, NUM_CARDS)


class HeuristicAgent:
    """Weighs every trick against the Medal's risk, banks high, and assigns for its own holdings."""

    help: ClassVar[str] = "a scripted player: banks high, shuns Medals, works its own fields"
    options: ClassVar[tuple[Option, ...]] = ()
    games: ClassVar[tuple[str, ...]] = ("kolkhoz",)
    draws_nothing: ClassVar[bool] = True

    def __init__(self, game: Game, weights: Weights | None = None) -> None:
        self.name = "heuristic"
        self.needs = frozenset({KNOWLEDGE})
        self.weights = weights or Weights()

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions; the same knowledge always gets the same answer."""
        known = cast(Knowledge, decisions.knowledge)
        position = estimate(known, self.weights)
        phases = known.state.phase
        actions = np.zeros(known.size, dtype=np.int64)
        for phase in np.unique(phases):
            rows = np.flatnonzero(phases == phase)
            part = position if rows.size == known.size else position.take(rows)
            actions[rows] = self._decide(int(phase), part, decisions.mask[rows], known.rules)
        return actions

    def _decide(
        self, phase: int, position: Position, mask: NDArray[np.bool_], rules: Rules
    ) -> NDArray[np.int64]:
        weights = self.weights
        if phase == PLAY:
            cards, scores = score_plays(position, mask, weights)
            return cards[position.games, scores.argmax(axis=1)].astype(np.int64)
        scores = np.zeros((position.size, NUM_ACTIONS), dtype=np.float32)
        if phase == ASSIGN:
            scores[:, _CROPS] = score_fields(position, rules.field_quota, weights)
        elif phase == TRUMP:
            scores[:, _CROPS] = score_trumps(position, weights)
        elif phase == SWAP_TAKE:
            scores[:] = score_takes(position, mask, weights)
        elif phase == SWAP_GIVE:
            scores[:, _CARDS] = score_gives(position, position.taken, weights)
        elif phase == REQUISITION:
            scores[:, _CARDS] = score_losses(position)
        return choose_best(scores, mask)
