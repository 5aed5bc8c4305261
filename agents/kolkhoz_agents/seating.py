"""Who sits where: the seatings that a deal is played in, and what each says about whom.

Every arrangement is played in all of its rotations, so that no agent owes anything to its seats.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Line:
    """One line of a result: the seats of some seatings that belong to one agent.

    `agent` plays; `against` names the others at its table (numbers of agents). `places` are pairs
    (seating, seat).
    """

    agent: int
    against: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Plan:
    """All seatings of a deal, int8[S, P] (numbers of agents), and the lines they give."""

    seatings: NDArray[np.int8]
    lines: tuple[Line, ...]


class _Builder:
    """Collects seatings, each distinct one once."""

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.numbers: dict[tuple[int, ...], int] = {}

    def rotations(self, row: Sequence[int]) -> list[int]:
        """The numbers of a row's rotations: rotation r puts place k at seat (k + r) mod P."""
        turned = [tuple(np.roll(row, turn).tolist()) for turn in range(self.seats)]
        return [self.numbers.setdefault(seats, len(self.numbers)) for seats in turned]

    def array(self) -> NDArray[np.int8]:
        return np.array(list(self.numbers), dtype=np.int8).reshape(-1, self.seats)


def pair_plan(seats: int, pairs: Sequence[tuple[int, int]], *, one_way: bool = False) -> Plan:
    """For each pair: one of the first against copies of the second, then the other way about.

    With `one_way` only the former.
    """
    builder = _Builder(seats)
    lines = []
    for first, second in pairs:
        for one, many in ((first, second), (second, first))[: 1 if one_way else 2]:
            rotations = builder.rotations([one] + [many] * (seats - 1))
            places = tuple((seating, seat) for seat, seating in enumerate(rotations))
            lines.append(Line(one, (many,), places))
    return Plan(builder.array(), tuple(lines))


def mixed_groups(agents: int, seats: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """Groups of different agents for mixed tables, at most about `most`, each agent as often.

    With fewer agents than seats the groups hold every agent, some of them twice or more.
    """
    if agents < seats:
        base = tuple(range(agents))
        extra = itertools.combinations_with_replacement(base, seats - agents)
        groups = [tuple(sorted(base + more)) for more in extra]
    else:
        groups = list(itertools.combinations(range(agents), seats))
    if len(groups) <= most:
        return groups
    return _balanced(groups, agents, most, np.random.default_rng([seed, agents, seats]))


def _balanced(
    groups: list[tuple[int, ...]], agents: int, most: int, generator: np.random.Generator
) -> list[tuple[int, ...]]:
    """`most` groups, one after another from those whose members have sat least so far."""
    left = [groups[number] for number in generator.permutation(len(groups))]
    sat = np.zeros(agents)
    chosen = []
    for _ in range(most):
        best = min(range(len(left)), key=lambda number: sum(sat[list(left[number])]))
        group = left.pop(best)
        sat += np.bincount(group, minlength=agents)
        chosen.append(group)
    return chosen


def tournament_plan(seats: int, agents: int, mixed: Sequence[tuple[int, ...]]) -> Plan:
    """Every pairing, and the mixed groups; a mixed line gathers all places of one agent.

    Lines: two for each pair in the order of `itertools.combinations`, then one for each agent's
    mixed tables (`against` empty).
    """
    pairs = list(itertools.combinations(range(agents), 2))
    plan = pair_plan(seats, pairs)
    builder = _Builder(seats)
    for row in plan.seatings.tolist():
        builder.numbers[tuple(row)] = len(builder.numbers)
    sat: dict[int, list[tuple[int, int]]] = {agent: [] for agent in range(agents)}
    for group in mixed:
        for seating, turn in zip(builder.rotations(group), range(seats), strict=True):
            for seat, agent in enumerate(np.roll(group, turn).tolist()):
                sat[agent].append((seating, seat))
    lines = [Line(agent, (), tuple(places)) for agent, places in sat.items() if places]
    return Plan(builder.array(), plan.lines + tuple(lines))
