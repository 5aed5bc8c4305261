"""Playing games on from where they stand, by one policy for all seats, to value a position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import mix
from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.protocol import (
    KNOWLEDGE,
    OBSERVATION,
    TABLE,
    Agent,
    Decisions,
    Game,
    IntArray,
    Table,
)

UNSURE = 0.1
"""Chance of other moves with a policy that gives no probabilities."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Playouts:
    """Plays tables on with `policy` in every seat, which gets what that seat may know.

    To the end of the games, or only until their `stage` (the year, in Kolkhoz) rises. There a
    policy with `values` is asked at the valued seat's next decision, and for any other the table's
    own `estimate` holds.
    """

    def __init__(self, game: Game, policy: Agent, *, to_end: bool) -> None:
        """Raises AgentError if the policy would see hidden cards, or the game has no stages."""
        if TABLE in policy.needs:
            raise AgentError(
                f"agent {policy.name!r} sees hidden cards and can't play on in a search"
            )
        if not to_end and not hasattr(game.table(0, np.arange(1)), "stage"):
            raise AgentError(f"the game {game.name!r} has no stages to end at; use horizon=game")
        self.game, self.policy, self.to_end = game, policy, to_end
        self.has_values = hasattr(policy, "values") and getattr(policy, "has_values", True)

    def values(
        self, table: Table, seats: IntArray, keys: NDArray[np.uint64]
    ) -> NDArray[np.float64]:
        """What each game is worth to the seat in `seats`, float64[n] win shares; uses up `table`.

        `keys` uint64[n] is the randomness of the policy: games with equal keys draw alike.
        """
        result = np.zeros(table.size)
        games = np.arange(table.size)
        start = None if self.to_end else np.array(_stage(table))
        leaves: list[tuple[IntArray, Decisions]] = []
        step = 0
        while True:
            step += 1
            over = np.array(table.over)
            rows = np.flatnonzero(over)
            if len(rows):
                result[games[rows]] = table.outcome().win_share[rows, seats[rows]]
            cut = self._cut(table, seats, start) & ~over
            rows = np.flatnonzero(cut)
            if len(rows) and self.has_values:
                leaves.append((games[rows], self._decisions(table, rows, keys[rows], step)))
            elif len(rows):
                result[games[rows]] = self._estimates(table, rows, seats[rows])
            rows = np.flatnonzero(~(over | cut))
            if not len(rows):
                break
            if len(rows) < table.size:
                table, seats, keys, games = table.take(rows), seats[rows], keys[rows], games[rows]
                start = None if start is None else start[rows]
            decisions = self._decisions(table, np.arange(table.size), keys, step)
            table.step(np.asarray(self.policy.act(decisions)))
        for played, decisions in _gathered(leaves):
            values = self.policy.values(decisions)  # type: ignore[attr-defined]
            result[played] = np.asarray(values) + 1 / self.game.num_seats
        return result

    def log_probs(self, table: Table) -> NDArray[np.float64]:
        """Log of the chance of each move with the policy, float64[n, A], -inf where illegal."""
        rows = np.arange(table.size)
        return policy_log_probs(
            self.policy, self._decisions(table, rows, np.zeros(table.size, dtype=np.uint64), 0)
        )

    def _cut(self, table: Table, seats: IntArray, start: IntArray | None) -> NDArray[np.bool_]:
        """Which games are valued where they stand, bool[n]; anything for those that are over."""
        if start is None:
            return np.zeros(table.size, dtype=np.bool_)
        cut: NDArray[np.bool_] = _stage(table) > start
        return cut & (np.asarray(table.seat) == seats) if self.has_values else cut

    def _estimates(self, table: Table, rows: IntArray, seats: IntArray) -> NDArray[Any]:
        part = table.take(rows)
        if not hasattr(part, "estimate"):
            raise AgentError(f"the game {self.game.name!r} estimates no position; use horizon=game")
        return np.asarray(part.estimate())[np.arange(len(rows)), seats]

    def _decisions(
        self, table: Table, rows: IntArray, keys: NDArray[np.uint64], step: int
    ) -> Decisions:
        needs = self.policy.needs
        with np.errstate(over="ignore"):
            drawn = mix(keys + np.uint64(step) * _GOLDEN)
        mask = table.legal_mask()
        return Decisions(
            game=self.game,
            mask=mask if len(rows) == table.size else mask[rows],
            seat=np.asarray(table.seat)[rows],
            phase=np.asarray(table.phase)[rows],
            keys=drawn,
            observation=table.observe(rows) if OBSERVATION in needs else None,
            knowledge=table.knowledge(rows) if KNOWLEDGE in needs else None,
        )


def policy_log_probs(policy: Agent, decisions: Decisions) -> NDArray[np.float64]:
    """The policy's own `log_probs`; for one that only acts, a little doubt about its choice."""
    if hasattr(policy, "log_probs"):
        return np.asarray(policy.log_probs(decisions), dtype=np.float64)
    mask = decisions.mask
    logs = np.where(mask, np.log(UNSURE / np.maximum(mask.sum(axis=1, keepdims=True), 1)), -np.inf)
    logs[np.arange(len(mask)), policy.act(decisions)] = np.log(1 - UNSURE)
    return logs


def _gathered(leaves: list[tuple[IntArray, Decisions]]) -> list[tuple[IntArray, Decisions]]:
    """Leaves with their games, all in one call where nothing but arrays was asked for.

    A network takes hardly longer for many than for few.
    """
    if len(leaves) < 2 or any(part.knowledge is not None for _, part in leaves):
        return leaves
    parts = [part for _, part in leaves]
    seen = [part.observation for part in parts if part.observation is not None]
    whole = replace(
        parts[0],
        mask=np.concatenate([part.mask for part in parts]),
        seat=np.concatenate([part.seat for part in parts]),
        phase=np.concatenate([part.phase for part in parts]),
        keys=np.concatenate([part.keys for part in parts]),
        observation=np.concatenate(seen) if seen else None,
    )
    return [(np.concatenate([rows for rows, _ in leaves]), whole)]


def _stage(table: Table) -> IntArray:
    stage: IntArray = table.stage  # type: ignore[attr-defined]
    return stage
