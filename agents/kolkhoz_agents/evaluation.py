"""Head to head: one A against copies of B, and one B against copies of A.

Every deal is played in every seat rotation of both tables (of the first alone, if one way is
enough), so that neither luck of the cards nor seats favour anybody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.faults import AgentFault, Fault
from kolkhoz_agents.games import make_game
from kolkhoz_agents.match import Match, Progress
from kolkhoz_agents.protocol import Agent, Game
from kolkhoz_agents.referee import TIME_LIMIT, OnFault, Referee
from kolkhoz_agents.report import LineResult, Reporter, shares_by_deal
from kolkhoz_agents.seating import Plan, pair_plan
from kolkhoz_agents.statistics import play_until_width
from kolkhoz_agents.workers import MatchSpec, WorkerDied, available_cpus

MOST_DEALS = 10_000_000
DEFAULT_DEALS = 1000


@dataclass(frozen=True)
class Settings:
    """How a match is played, whatever the agents are.

    `deals` and `until_width`: play that many deals, or until every interval of a win share is that
    narrow (with both, at most `deals`). `workers`: processes to play in (None: one a processor; 0:
    none but this one). `state`: file to go on from and to save to.
    """

    game: str = "kolkhoz"
    rules: Mapping[str, Any] = field(default_factory=dict)
    deals: int | None = None
    until_width: float | None = None
    seed: int = 0
    workers: int | None = None
    on_fault: OnFault = "stop"
    limit: float = TIME_LIMIT
    records: str | os.PathLike[str] | None = None
    state: str | os.PathLike[str] | None = None
    progress: Progress | None = None

    def match(self, agents: Sequence[str], plan: Plan) -> Match:
        """The match of these agents, ready to play."""
        spec = MatchSpec(
            self.game,
            dict(self.rules),
            tuple(agents),
            plan.seatings,
            self.seed,
            self.on_fault,
            self.limit,
        )
        return Match(
            spec,
            workers=available_cpus() if self.workers is None else self.workers,
            state=self.state,
            records=self.records,
            progress=self.progress,
        )

    def play(self, match: Match, plan: Plan) -> str | None:
        """Plays the match; None, or why it stopped early: `interrupted`, `fault`, or in words.

        Under `on_fault="stop"` the fault that stopped it is added to the results.
        """
        stopped: str | None = None
        try:
            if self.until_width is None:
                match.play_to(self.deals or DEFAULT_DEALS)
            else:
                self._play_until_width(match, plan, self.until_width)
        except KeyboardInterrupt:
            stopped = "interrupted"
        except AgentFault as fault:
            match.results.faults.append(fault.fault)
            stopped = "fault"
        except WorkerDied as error:
            stopped = str(error)
        if match.records:
            match.records.gather(complete=stopped is None)
        return stopped

    def _play_until_width(self, match: Match, plan: Plan, width: float) -> None:
        if not 0 < width < 1:
            raise EvaluationError(f"--until-width {width:g}: should be between 0 and 1")

        def play_to(deals: int):  # type: ignore[no-untyped-def]
            match.play_to(deals)
            # A file that was gone on from may hold deals beyond these.
            wanted = match.results.deals < deals
            return shares_by_deal(match.results.values[wanted], plan.lines)

        play_until_width(play_to, width, self.deals or MOST_DEALS)


@dataclass(frozen=True)
class Evaluation:
    """The verdict of a head-to-head match."""

    game: Game
    deals: int
    seed: int
    tables: tuple[LineResult, ...]
    seatings: tuple[tuple[str, ...], ...]
    stopped: str | None
    faults: tuple[Fault, ...]

    @property
    def par(self) -> float:
        """The win share of an agent that is no better than the others."""
        return 1.0 / self.game.num_seats

    def as_dict(self) -> dict[str, Any]:
        """The result as `kolkhoz evaluate --json` writes it."""
        return {
            "game": self.game.name,
            "rules": self.game.rules_dict(),
            "players": self.game.num_seats,
            "deals": self.deals,
            "seed": self.seed,
            "par": self.par,
            "tables": [line.as_dict() for line in self.tables],
            "seatings": [list(names) for names in self.seatings],
            "stopped": self.stopped,
            "faults": [fault.as_dict() for fault in self.faults],
        }


def evaluate(
    first: str, second: str, settings: Settings, *, one_way: bool = False
) -> tuple[Evaluation, Match]:
    """Plays `first` against `second` (agents' texts): the verdict, and the match as it was left.

    With `one_way` only one `first` against copies of `second`, not the other way about.
    Ctrl-C ends the match early; what was finished before counts.

    Raises AgentError or EvaluationError for what cannot be played.
    """
    seats = make_game(settings.game, settings.rules).num_seats
    plan = pair_plan(seats, [(0, 1)], one_way=one_way)
    match = settings.match((first, second), plan)
    stopped = settings.play(match, plan)
    return _verdict(match, plan, stopped), match


def evaluate_agents(
    game: Game,
    first: Agent,
    second: Agent,
    *,
    deals: int,
    seed: int = 0,
    on_fault: OnFault = "stop",
    limit: float = TIME_LIMIT,
) -> Evaluation:
    """The same in this process, for agents that are at hand as objects (in training, say).

    Raises AgentFault under `on_fault="stop"`.
    """
    plan = pair_plan(game.num_seats, [(0, 1)])
    names = (first.name, second.name)
    spec = MatchSpec(
        game.name, dict(game.rules_dict()), names, plan.seatings, seed, on_fault, limit
    )
    referee = Referee(game, (first, second), plan.seatings, seed, on_fault, limit, names=names)
    match = Match(spec, referee=referee)
    match.play_to(deals)
    return _verdict(match, plan, None)


def _verdict(match: Match, plan: Plan, stopped: str | None) -> Evaluation:
    game, results = match.referee.game, match.results
    names = match.spec.agents
    tables: tuple[LineResult, ...] = ()
    if len(results.deals):
        reporter = Reporter(results, names, match.referee.agents, game.statistics, match.spec.seed)
        tables = tuple(reporter.line(line) for line in plan.lines)
    seatings = tuple(tuple(names[number] for number in row) for row in plan.seatings)
    return Evaluation(
        game,
        len(results.deals),
        match.spec.seed,
        tables,
        seatings,
        stopped,
        tuple(results.faults),
    )
