"""The greedy agent: the highest card wherever a card is asked for, and fields completed at once."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import choose_best
from kolkhoz_agents.protocol import KNOWLEDGE, Decisions, Game, Option
from kolkhoz_env.cards import CROP, CROP_ACTION, NO_CROP, NUM_ACTIONS, PASS, RANK, SABOTEUR
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import ASSIGN, REQUISITION, SWAP_TAKE, TRUMP


class GreedyAgent:
    """Plays its highest card, completes fields when it can, and takes its lowest card in a swap."""

    help: ClassVar[str] = "the highest legal card; completes fields when it can"
    options: ClassVar[tuple[Option, ...]] = ()
    games: ClassVar[tuple[str, ...]] = ("kolkhoz",)
    draws_nothing: ClassVar[bool] = True

    def __init__(self, game: Game) -> None:
        self.name = "greedy"
        self.needs = frozenset({KNOWLEDGE})

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions."""
        known = cast(Knowledge, decisions.knowledge)
        state = known.state
        games = np.arange(state.size)
        scores = np.zeros((state.size, NUM_ACTIONS), dtype=np.float32)
        scores[:, :53] = RANK[:53]
        # A swap gives away the lowest card held, and is declined for a card that cannot improve.
        lowest = (decisions.phase == SWAP_TAKE) | (decisions.phase == REQUISITION)
        scores[lowest, :53] *= -1
        hand = (state.hands[games, known.seats][:, None] >> np.arange(53, dtype=np.uint64)) & 1
        best = (hand * RANK[:53]).max(axis=1)
        scores[:, PASS] = np.where(decisions.phase == SWAP_TAKE, -best.astype(np.float32), 0)
        crops = slice(CROP_ACTION, CROP_ACTION + NO_CROP)
        bidding = decisions.phase == TRUMP
        scores[bidding, crops] = hand[bidding, :52].reshape(-1, NO_CROP, 13).sum(axis=2)
        assigning = np.flatnonzero(decisions.phase == ASSIGN)
        scores[assigning, crops] = self._fields(known, assigning)
        return choose_best(scores, decisions.mask)

    @staticmethod
    def _fields(known: Knowledge, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Scores float32[n, 4]: the unpaid field nearest its quota; a paid one for the Saboteur."""
        state = known.state
        paid = (state.claimed[rows, None] >> np.arange(NO_CROP, dtype=np.uint8)) & 1 == 1
        hours = np.where(paid, -1, state.hours[rows]).astype(np.float32)
        card = state.trick[rows, state.assigned[rows]]
        own_crop = np.arange(NO_CROP) == CROP[card][:, None]
        return np.where((card == SABOTEUR)[:, None], -hours, hours + own_crop * 0.5)
