"""From played deals to the lines of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.protocol import TABLE, Agent
from kolkhoz_agents.referee import METRICS
from kolkhoz_agents.results import Results
from kolkhoz_agents.seating import Line
from kolkhoz_agents.statistics import Bootstrap, Estimate


@dataclass(frozen=True)
class LineResult:
    """One agent's figures at one kind of table; intervals are 95%, bootstrapped by deal."""

    agent: str
    against: str
    games: int
    win_share: Estimate
    rank: Estimate
    score: Estimate
    margin: Estimate
    per_seat: tuple[Estimate, ...]
    statistics: dict[str, Estimate]
    forfeits: int
    seconds_per_decision: float
    sees_all_cards: bool

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; an estimate is [mean, low, high]."""
        return {
            "agent": self.agent,
            "against": self.against,
            "games": self.games,
            **{name: getattr(self, name).as_list() for name in METRICS},
            "per_seat": [
                {"seat": seat, "win_share": estimate.as_list()}
                for seat, estimate in enumerate(self.per_seat)
            ],
            "statistics": {name: value.as_list() for name, value in self.statistics.items()},
            "forfeits": self.forfeits,
            "seconds_per_decision": self.seconds_per_decision,
            "sees_all_cards": self.sees_all_cards,
        }


class Reporter:
    """Makes the lines of one result, all from the same bootstrap draws."""

    def __init__(
        self,
        results: Results,
        names: Sequence[str],
        agents: Sequence[Agent],
        statistics: Sequence[str],
        seed: int,
    ) -> None:
        self.results, self.names, self.agents = results, names, agents
        self.statistics = tuple(statistics)
        self.bootstrap = Bootstrap(len(results.deals), seed)

    def line(self, line: Line) -> LineResult:
        """The figures of one line."""
        top, bottom = parts(self.results.values, line.places)
        figures = self.bootstrap.estimates(top, bottom)
        shares = self.bootstrap.shares(top[:, 0], bottom[:, 0])
        number = line.agent
        return LineResult(
            agent=self.names[number],
            against=", ".join(self.names[other] for other in line.against) or "mixed tables",
            games=len({seating for seating, _ in line.places}) * len(self.results.deals),
            win_share=shares[0],
            rank=figures[1],
            score=figures[2],
            margin=figures[3],
            per_seat=self._per_seat(line),
            statistics=dict(zip(self.statistics, figures[len(METRICS) :], strict=True)),
            forfeits=int(sum(self.results.forfeits[:, s, p].sum() for s, p in line.places)),
            seconds_per_decision=self.seconds_per_decision(number),
            sees_all_cards=TABLE in self.agents[number].needs,
        )

    def seconds_per_decision(self, number: int) -> float:
        """Wall time of one agent's calls over the number of its decisions."""
        return float(self.results.seconds[number] / max(int(self.results.decisions[number]), 1))

    def _per_seat(self, line: Line) -> tuple[Estimate, ...]:
        seats = self.results.values.shape[2]
        tops, bottoms = [], []
        for wanted in range(seats):
            places = [(seating, seat) for seating, seat in line.places if seat == wanted]
            top, bottom = parts(self.results.values[..., :1], places)
            tops.append(top[:, 0])
            bottoms.append(bottom[:, 0])
        return tuple(self.bootstrap.shares(np.stack(tops, 1), np.stack(bottoms, 1)))


def parts(
    values: NDArray[np.float32], places: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums and counts float64[D, M] over places of values [D, S, P, M]; NaN does not count."""
    top = np.zeros((values.shape[0], values.shape[3]))
    bottom = np.zeros_like(top)
    for seating, seat in places:
        here = values[:, seating, seat]
        known = ~np.isnan(here)
        top += np.where(known, here, 0)
        bottom += known
    return top, bottom


def shares_by_deal(values: NDArray[np.float32], lines: Sequence[Line]) -> NDArray[np.float64]:
    """float64[D, lines]: the win share of each line in each deal."""
    columns = []
    for line in lines:
        top, bottom = parts(values[..., :1], line.places)
        columns.append(top[:, 0] / bottom[:, 0])
    return np.stack(columns, axis=1)
