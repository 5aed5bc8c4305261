"""Many agents: every pairing head to head, and mixed tables.

The matrix says what one of the row's agent takes from copies of the column's agent.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.evaluation import Settings
from kolkhoz_agents.faults import Fault
from kolkhoz_agents.games import make_game
from kolkhoz_agents.match import Match
from kolkhoz_agents.protocol import Game
from kolkhoz_agents.ratings import Rating, cycles, ratings
from kolkhoz_agents.report import LineResult, Reporter, parts
from kolkhoz_agents.seating import Plan, mixed_groups, tournament_plan
from kolkhoz_agents.statistics import Bootstrap, interval
from kolkhoz_env.errors import MissingExtraError

DEFAULT_MIXED = 24


@dataclass(frozen=True)
class Tournament:
    """The outcome of a tournament of N agents.

    `pairs[i][j]` is the line of one i against copies of j (None where i is j), `mixed` each
    agent's line over its mixed tables. `beats` bool[N, N]: i takes more from copies of j than j
    from copies of i, by more than chance (95%).
    """

    game: Game
    agents: tuple[str, ...]
    deals: int
    seed: int
    pairs: tuple[tuple[LineResult | None, ...], ...]
    mixed: tuple[LineResult, ...]
    ratings: tuple[Rating, ...]
    beats: NDArray[np.bool_]
    cycles: tuple[tuple[str, ...], ...]
    stopped: str | None
    faults: tuple[Fault, ...]

    def shares(self) -> NDArray[np.float64]:
        """float64[N, N]: the mean win shares of `pairs`, NaN on the diagonal."""
        rows = [[np.nan if cell is None else cell.win_share.mean for cell in row]
                for row in self.pairs]  # fmt: skip
        return np.array(rows, dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """The result as `kolkhoz tournament --json` writes it."""
        lines = [cell for row in self.pairs for cell in row if cell is not None]
        return {
            "game": self.game.name,
            "rules": self.game.rules_dict(),
            "players": self.game.num_seats,
            "agents": list(self.agents),
            "deals": self.deals,
            "seed": self.seed,
            "par": 1.0 / self.game.num_seats,
            "matrix": [
                [None if cell is None else cell.win_share.as_list() for cell in row]
                for row in self.pairs
            ],
            "mixed": [line.as_dict() for line in self.mixed],
            "ratings": [asdict(rating) for rating in self.ratings],
            "beats": self.beats.tolist(),
            "cycles": [list(cycle) for cycle in self.cycles],
            "tables": [line.as_dict() for line in lines],
            "stopped": self.stopped,
            "faults": [fault.as_dict() for fault in self.faults],
        }


def tournament(
    agents: Sequence[str], settings: Settings, mixed: int = DEFAULT_MIXED
) -> tuple[Tournament, Match]:
    """Plays the tournament: its outcome, and the match as it was left.

    `mixed` is the most groups of agents that share mixed tables (0: none). Raises AgentError or
    EvaluationError for what cannot be played.
    """
    if len(agents) < 2:
        raise EvaluationError("a tournament needs at least two agents")
    twice = [agent for agent in dict.fromkeys(agents) if list(agents).count(agent) > 1]
    if twice:
        raise EvaluationError(f"agent {twice[0]!r} is given twice")
    if find_spec("openskill") is None:
        raise MissingExtraError("a tournament", "evaluate", "openskill")
    seats = make_game(settings.game, settings.rules).num_seats
    groups = mixed_groups(len(agents), seats, mixed, settings.seed) if mixed else []
    plan = tournament_plan(seats, len(agents), groups)
    match = settings.match(agents, plan)
    stopped = settings.play(match, plan)
    return _outcome(match, plan, stopped), match


def _outcome(match: Match, plan: Plan, stopped: str | None) -> Tournament:
    game, results, names = match.referee.game, match.results, match.spec.agents
    seed, count = match.spec.seed, len(names)
    pairs: list[list[LineResult | None]] = [[None] * count for _ in range(count)]
    mixed: list[LineResult] = []
    rated: list[Rating] = []
    beats = np.zeros((count, count), dtype=bool)
    if len(results.deals):
        reporter = Reporter(results, names, match.referee.agents, game.statistics, seed)
        for line in plan.lines:
            if line.against:
                pairs[line.agent][line.against[0]] = reporter.line(line)
            else:
                mixed.append(reporter.line(line))
        ranks = results.values[..., 1]
        rated = ratings(names, plan.seatings, ranks, seed)
        beats = beaten(results.values, plan, count, reporter.bootstrap)
    named = tuple(tuple(names[number] for number in cycle) for cycle in cycles(beats))
    return Tournament(
        game,
        tuple(names),
        len(results.deals),
        seed,
        tuple(map(tuple, pairs)),
        tuple(mixed),
        tuple(rated),
        beats,
        named,
        stopped,
        tuple(results.faults),
    )


def beaten(
    values: NDArray[np.float32], plan: Plan, agents: int, bootstrap: Bootstrap
) -> NDArray[np.bool_]:
    """bool[N, N]: whose advantage over whom is above 0 in its whole 95% interval.

    The advantage of i over j is the win share of one i among copies of j minus that of one j among
    copies of i, from the same bootstrap draws.
    """
    result = np.zeros((agents, agents), dtype=bool)
    if bootstrap.deals < 2:
        return result
    lines = {(line.agent, line.against[0]): line for line in plan.lines if line.against}
    for first, second in itertools.combinations(range(agents), 2):
        drawn = [
            bootstrap.replicates(*parts(values[..., :1], lines[pair].places))
            for pair in ((first, second), (second, first))
        ]
        low, high = interval(drawn[0] - drawn[1], bootstrap.deals)
        result[first, second] = low[0] > 0
        result[second, first] = high[0] < 0
    return result
