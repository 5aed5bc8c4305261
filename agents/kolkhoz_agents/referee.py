"""Playing many tables at once: who acts is asked, in one batch an agent, until all games are over.

A game's course depends on the match's seed, the number of the deal, the seating and the agents
alone; which games share a batch makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import agent_seed, choose_uniform, decision_keys
from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.faults import AgentFault, Fault, ask
from kolkhoz_agents.positions import describe
from kolkhoz_agents.protocol import (
    KNOWLEDGE,
    OBSERVATION,
    TABLE,
    Agent,
    Decisions,
    Game,
    Outcome,
    Table,
)

METRICS = ("win_share", "rank", "score", "margin")
"""The figures of every game; the game's own statistics follow them."""

OnFault = Literal["stop", "forfeit"]
FAULTS_IN_FULL = 20
TIME_LIMIT = 600.0
"""Seconds that one call of an agent (a batch of decisions) may take."""


@dataclass
class Played:
    """Finished games of D deals, S seatings a deal, P seats, M metrics, N agents.

    `values` float32[D, S, P, M]; `forfeits` bool[D, S, P]; `decisions` int64[N] and `seconds`
    float64[N] of each agent; `records` (if wanted) one a game, deal by deal and seating by seating.
    """

    deals: NDArray[np.int64]
    values: NDArray[np.float32]
    forfeits: NDArray[np.bool_]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    faults: list[Fault] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Referee:
    """Plays deals of a game between agents, in the seatings int8[S, P] (numbers of agents).

    An agent's randomness comes from the seed and its number in `agents`, so that two copies of
    one agent under two numbers don't play alike.
    """

    game: Game
    agents: Sequence[Agent]
    seatings: NDArray[np.int8]
    seed: int
    on_fault: OnFault = "stop"
    limit: float = TIME_LIMIT
    records: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.names = self.names or tuple(agent.name for agent in self.agents)
        seats = self.game.num_seats
        if self.seatings.ndim != 2 or self.seatings.shape[1] != seats:
            raise EvaluationError(f"seatings {self.seatings.shape}: rows should have {seats}")
        if self.records and not hasattr(self.game, "recorder"):
            raise EvaluationError(f"--records: the game {self.game.name!r} keeps no records")

    def play(self, deals: NDArray[np.int64], tick: Callable[[int], None] | None = None) -> Played:
        """All seatings of the deals; `tick` hears the number of decisions after each step.

        Raises AgentFault under `on_fault="stop"`.
        """
        match = _Match(self, np.asarray(deals, dtype=np.int64))
        while match.step(tick):
            pass
        return match.result()


class _Match:
    """The state of one call of `Referee.play`: B = D * S games side by side."""

    def __init__(self, referee: Referee, deals: NDArray[np.int64]) -> None:
        self.referee, self.game, self.deals = referee, referee.game, deals
        count = len(referee.seatings)
        ids = np.repeat(deals, count)
        self.players = np.tile(referee.seatings, (len(deals), 1)).astype(np.int64)
        table = self.game.table(referee.seed, ids, auto_forced=True)
        self.table: Any = cast(Any, self.game).recorder(table) if referee.records else table
        self.stand_in = len(referee.agents)
        self.forfeits = np.zeros(self.players.shape, dtype=bool)
        self.history: list[NDArray[np.int16]] = []
        self.decisions = np.zeros(self.stand_in, dtype=np.int64)
        self.seconds = np.zeros(self.stand_in)
        self.faults: list[Fault] = []
        roles = [*map(str, range(self.stand_in)), "stand-in"]
        self.seeds = [agent_seed(referee.seed, role) for role in roles]

    def step(self, tick: Callable[[int], None] | None) -> bool:
        """One decision in every running game; False once all are over."""
        table = self.table
        running = np.flatnonzero(~np.asarray(table.over))
        if not len(running):
            return False
        mask = table.legal_mask()
        seat = np.asarray(table.seat)
        player = np.full(table.size, -1)
        player[running] = self.players[running, seat[running]]
        actions = np.zeros(table.size, dtype=np.int64)
        for number in range(self.stand_in + 1):
            rows = np.flatnonzero(player == number)
            if len(rows):
                actions[rows] = self._decide(number, rows, mask[rows])
        actions[player < 0] = 0
        self.history.append(np.where(player < 0, -1, actions).astype(np.int16))
        table.step(actions)
        if tick:
            tick(len(running))
        return True

    def _decide(
        self, number: int, rows: NDArray[np.int64], mask: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The actions of one agent in some rows, or of the stand-in of seats that forfeited."""
        stand_in = number == self.stand_in
        needs = frozenset() if stand_in else self.referee.agents[number].needs
        decisions = make_decisions(self.game, self.table, rows, mask, self.seeds[number], needs)
        if stand_in:
            return choose_uniform(mask, decisions.keys)
        answer = ask(self.referee.agents[number], decisions, self.referee.limit)
        self.decisions[number] += len(rows)
        self.seconds[number] += answer.seconds
        for row, (reason, detail) in sorted(answer.wrong.items()):
            self._fault(number, int(rows[row]), reason, detail)
        if answer.wrong:
            wrong = np.array(sorted(answer.wrong))
            keys = decision_keys(self.seeds[-1], *_identity(self.table, rows[wrong]))
            answer.actions[wrong] = choose_uniform(mask[wrong], keys)
        return answer.actions

    def _fault(self, number: int, row: int, reason: str, detail: str) -> None:
        """Report a fault; the seat is played by a random stand-in from here on."""
        seat = int(self.table.seat[row])
        name = self.referee.names[number]
        fault = Fault(name, seat, reason, detail, self._position(row))
        self.faults.append(fault)
        if self.referee.on_fault == "stop":
            raise AgentFault(fault)
        self.forfeits[row, seat] = True
        self.players[row, seat] = self.stand_in

    def _position(self, row: int) -> dict[str, Any]:
        """Where a game stands; in full for the first faults, where a flood of them comes."""
        table, referee = self.table, self.referee
        seating = row % len(referee.seatings)
        position: dict[str, Any] = {
            "seating": seating,
            "agents": [referee.names[number] for number in referee.seatings[seating]],
        }
        if len(self.faults) >= FAULTS_IN_FULL:
            phase = self.game.phases[int(table.phase[row])]
            here = {"deal": int(table.game_ids[row]), "decision": int(table.decision[row])}
            return {**position, **here, "phase": phase}
        moves = [int(actions[row]) for actions in self.history if actions[row] >= 0]
        return {**position, **describe(self.game, table, row, referee.seed, moves)}

    def result(self) -> Played:
        """What was played, once all games are over."""
        referee = self.referee
        values = metrics(self.game, self.table, self.forfeits)
        shape = (len(self.deals), len(referee.seatings), self.game.num_seats)
        records = []
        if referee.records:
            records = [self.table.record(row) for row in range(self.table.size)]
        return Played(
            self.deals,
            values.reshape(*shape, -1),
            self.forfeits.reshape(shape),
            self.decisions,
            self.seconds,
            self.faults,
            records,
        )


def make_decisions(
    game: Game,
    table: Table,
    rows: NDArray[np.int64],
    mask: NDArray[np.bool_],
    seed: int,
    needs: frozenset[str],
) -> Decisions:
    """The decisions of the seats to act in some rows; `mask` bool[n, A] is theirs already."""
    return Decisions(
        game=game,
        mask=mask,
        seat=np.asarray(table.seat)[rows],
        phase=np.asarray(table.phase)[rows],
        keys=decision_keys(seed, *_identity(table, rows)),
        observation=table.observe(rows) if OBSERVATION in needs else None,
        knowledge=table.knowledge(rows) if KNOWLEDGE in needs else None,
        table=table.take(rows) if TABLE in needs else None,
    )


def _identity(table: Table, rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    return table.game_ids[rows], table.decision[rows], np.asarray(table.seat)[rows]


def metrics(game: Game, table: Table, forfeits: NDArray[np.bool_]) -> NDArray[np.float32]:
    """float32[B, P, M] of finished games: METRICS, then the game's statistics.

    A seat that forfeited (bool[B, P]) has no win share and is ranked last; the others are ranked
    among themselves.
    """
    outcome: Outcome = table.outcome()
    rank = np.asarray(outcome.rank, dtype=np.float64)
    share = np.asarray(outcome.win_share, dtype=np.float64)
    # Equal seats share the mean of their places, whatever the game's own convention is.
    order = rank + np.where(forfeits, 2.0 * game.num_seats, 0.0)
    better = (order[:, None, :] < order[:, :, None]).sum(axis=2)
    equal = (order[:, None, :] == order[:, :, None]).sum(axis=2)
    mean_rank = better + (equal + 1) / 2
    spoiled = np.asarray(forfeits.any(axis=1))
    first = (order == order.min(axis=1, keepdims=True)) & ~forfeits
    again = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
    share = np.where(spoiled.reshape(-1, 1), again, share)
    figures = [share, mean_rank, outcome.score, outcome.margin]
    general = np.stack(figures, axis=2).astype(np.float32)
    return np.concatenate([general, np.asarray(table.statistics(), np.float32)], axis=2)
