"""What beliefs are learned from: decisions of games between agents, and worlds for each.

Of each decision that is kept there are the observation of the seat to act, what it may not know as
it truly is, and the same of worlds drawn evenly from all that agree with what the seat knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import agent_seed
from kolkhoz_agents.network import Canon
from kolkhoz_agents.protocol import KNOWLEDGE, OBSERVATION, Agent, Game, Table
from kolkhoz_agents.referee import make_decisions

NEEDS = frozenset({KNOWLEDGE, OBSERVATION})


@dataclass(frozen=True)
class Examples:
    """n decisions: columns of arrays.

    `counts` uint8[n, inputs]: what the network sees, in canonical order. `case` int64[n]: of the
    symmetry. `hidden` uint8[n, 1 + K, H]: what the seat may not know, in plain order, truly and in
    K worlds. `phase` int64[n], `stage` int64[n] (0 where the game has none).
    """

    counts: NDArray[np.uint8]
    case: NDArray[np.int64]
    hidden: NDArray[np.uint8]
    phase: NDArray[np.int64]
    stage: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.case)


def joined(parts: Sequence[Examples]) -> Examples:
    """All examples of several."""
    columns = ([getattr(part, column.name) for part in parts] for column in fields(Examples))
    return Examples(*map(np.concatenate, columns))


def seated(shares: Sequence[float], games: int, seats: int, seed: int) -> NDArray[np.int64]:
    """Who sits where, int64[games, seats]: numbers of players, drawn by their shares."""
    bounds = np.cumsum(shares) / np.sum(shares)
    drawn = np.random.default_rng(seed).random((games, seats))
    return np.minimum(np.searchsorted(bounds, drawn, side="right"), len(bounds) - 1)


class Examiner:
    """Plays games between agents and keeps some of their decisions; `decisions` counts all."""

    def __init__(self, game: Game, canon: Canon, players: Sequence[Agent]) -> None:
        self.game, self.canon, self.players = game, canon, players
        self.decisions = 0

    def play(
        self,
        seed: int,
        games: NDArray[np.int64],
        seating: NDArray[np.int64],
        worlds: int,
        kept: float,
        draws: np.random.Generator,
    ) -> Iterator[Examples]:
        """Games int64[B] of `seed` to their end; seats are played as `seating` int64[B, P] says.

        Of the decisions with a choice a share of `kept` comes, each with so many `worlds`.
        """
        table = self.game.table(seed, games, auto_forced=True)
        while True:
            mask = table.legal_mask()
            rows = np.flatnonzero(mask.sum(axis=1) > 1)
            if not len(rows):
                break
            self.decisions += len(rows)
            actions = np.zeros(table.size, np.int64)
            player = seating[rows, np.asarray(table.seat)[rows]]
            for number, agent in enumerate(self.players):
                own = rows[player == number]
                if len(own):
                    key = agent_seed(seed, f"player {number}")
                    asked = make_decisions(self.game, table, own, mask[own], key, agent.needs)
                    actions[own] = agent.act(asked)
            chosen = rows[draws.random(len(rows)) < kept]
            if len(chosen):
                yield self._examples(table, chosen, mask[chosen], worlds, draws)
            table.step(actions)

    def _examples(
        self,
        table: Table,
        rows: NDArray[np.int64],
        mask: NDArray[np.bool_],
        worlds: int,
        draws: np.random.Generator,
    ) -> Examples:
        asked = make_decisions(self.game, table, rows, mask, 0, NEEDS)
        assert asked.knowledge is not None
        assert asked.observation is not None
        seeds = draws.integers(2**64, size=len(rows), dtype=np.uint64)
        drawn = asked.knowledge.worlds(worlds, seeds)
        true = _hidden(table, rows)[:, None]
        even = _hidden(drawn, np.arange(drawn.size)).reshape(len(rows), worlds, -1)
        case = self.canon.case(asked.observation)
        stage = getattr(table, "stage", None)
        return Examples(
            counts=self.canon.to_canonical(asked.observation, case),
            case=case,
            hidden=np.concatenate([true, even], axis=1),
            phase=np.asarray(asked.phase, np.int64),
            stage=np.zeros(len(rows), np.int64) if stage is None else stage[rows].astype(np.int64),
        )


def _hidden(table: Table, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    hidden: NDArray[np.uint8] = table.hidden(rows)  # type: ignore[attr-defined]
    return hidden
