"""Who beats whom: ratings for display, and cycles that no rating can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_GAMES = 5000
PASSES = 8


@dataclass(frozen=True)
class Rating:
    """A Bradley-Terry rating: mean and uncertainty, in openskill's units (25 is the middle)."""

    agent: str
    mu: float
    sigma: float


def ratings(
    names: Sequence[str],
    seatings: NDArray[np.int8],
    ranks: NDArray[np.float32],
    seed: int,
) -> list[Rating]:
    """Ratings from all games, best first: seatings int[S, P], ranks float[D, S, P].

    openskill's full Bradley-Terry model sees up to 5,000 games one by one. What it says last hangs
    on the luck of the last few dozen: a rating is the mean over the second half of the games, in
    eight passes over games drawn without order. Of copies of one agent at a table one speaks for
    all.
    """
    deals, count = ranks.shape[:2]
    generator = np.random.default_rng([seed, deals, count])
    passes = np.array([_pass(names, seatings, ranks, generator) for _ in range(PASSES)])
    means = passes.mean(axis=0).tolist()
    result = [Rating(name, mu, sigma) for name, (mu, sigma) in zip(names, means, strict=True)]
    return sorted(result, key=lambda rating: -rating.mu)


def _pass(
    names: Sequence[str],
    seatings: NDArray[np.int8],
    ranks: NDArray[np.float32],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """float64[N, 2]: mu and sigma of each agent, averaged over the second half of some games."""
    from openskill.models import BradleyTerryFull

    model = BradleyTerryFull()
    found = [model.rating(name=name) for name in names]
    deals, count = ranks.shape[:2]
    games = generator.permutation(deals * count)[:MOST_GAMES].tolist()
    total, looks = np.zeros((len(names), 2)), 0
    for number, game in enumerate(games):
        agents = seatings[game % count]
        shuffled = generator.permutation(len(agents))
        speakers = shuffled[np.unique(agents[shuffled], return_index=True)[1]]
        players = agents[speakers].tolist()
        places = ranks[game // count, game % count, speakers].tolist()
        for agent, team in zip(
            players, model.rate([[found[agent]] for agent in players], ranks=places), strict=True
        ):
            found[agent] = team[0]
        if 2 * number >= len(games) - 1:
            total += [(rating.mu, rating.sigma) for rating in found]
            looks += 1
    return total / max(looks, 1)


def cycles(beats: NDArray[np.bool_]) -> list[list[int]]:
    """A shortest cycle through each agent that is in one, each cycle once; beats bool[N, N].

    A cycle [a, b, c] says that a beats b, b beats c and c beats a; its smallest number is first.
    """
    found = []
    for start in range(len(beats)):
        cycle = _shortest_cycle(beats, start)
        if cycle:
            turn = cycle.index(min(cycle))
            found.append(tuple(cycle[turn:] + cycle[:turn]))
    return [list(cycle) for cycle in dict.fromkeys(found)]


def _shortest_cycle(beats: NDArray[np.bool_], start: int) -> list[int]:
    """Breadth first from `start` back to it; empty if there is no way."""
    paths = [[start]]
    seen: set[int] = set()
    while paths:
        longer = []
        for path in paths:
            for after in np.flatnonzero(beats[path[-1]]).tolist():
                if after == start:
                    return path
                if after not in seen:
                    seen.add(after)
                    longer.append([*path, after])
        paths = longer
    return []
