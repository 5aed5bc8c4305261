"""Measuring a bot while it trains: one copy of it among copies of a fixed opponent."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolkhoz_agents.match import deals_at_once
from kolkhoz_agents.protocol import Agent, Game
from kolkhoz_agents.referee import METRICS, Referee
from kolkhoz_agents.statistics import Bootstrap
from kolkhoz_agents.words import counted

from .stopping import StopRequest


@dataclass(frozen=True)
class Measured:
    """Win share and score with 95% intervals, each ``(mean, low, high)``, over whole deals."""

    against: str
    games: int
    win_share: tuple[float, float, float]
    score: tuple[float, float, float]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, as in run.json."""
        return {
            "against": self.against,
            "games": self.games,
            "win_share": list(self.win_share),
            "score": list(self.score),
            "seconds": round(self.seconds, 2),
        }

    def line(self, seats: int) -> str:
        """One line for people."""
        mean, low, high = (100 * value for value in self.win_share)
        return (
            f"{mean:.1f}% against {seats - 1} x {self.against} "
            f"(95% {low:.1f} to {high:.1f}, {counted(self.games, 'game')})"
        )


def measure(
    game: Game, bot: Agent, opponent: Agent, name: str, deals: int, seed: int,
    stop: StopRequest | None = None,
) -> Measured | None:
    """Play `deals` deals of `seed`, the bot once in every seat, against copies of `opponent`.

    None if it was left off because of `stop`.
    """
    started = time.perf_counter()
    seats = game.num_seats
    seatings = (~np.eye(seats, dtype=bool)).astype(np.int8)
    referee = Referee(game, [bot, opponent], seatings, seed)
    parts, chunk = [], deals_at_once(referee)
    for first in range(0, deals, chunk):
        if stop is not None and stop.asked:
            return None
        played = referee.play(np.arange(first, min(deals, first + chunk)))
        own = np.arange(seats)
        parts.append(played.values[:, own, own, :].mean(axis=1))
    values = np.concatenate(parts)
    bootstrap = Bootstrap(deals)
    share = bootstrap.shares(values[:, METRICS.index("win_share")], np.ones(deals))[0]
    score = bootstrap.estimates(values[:, METRICS.index("score")], np.ones(deals))[0]
    return Measured(
        name,
        deals * seats,
        (share.mean, share.low, share.high),
        (score.mean, score.low, score.high),
        time.perf_counter() - started,
    )
