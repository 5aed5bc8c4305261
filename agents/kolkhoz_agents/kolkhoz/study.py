"""Watching agents at the table: what they choose, what it brings, who profits.

:func:`watch` plays whole games and keeps, as arrays with one row a decision or a year, what a
designer of the game would ask about: trump choices beside the hand they were made from, swaps,
banked cards and their fate, assignments, the Saboteur's way, and what every year brought.

It sees all cards, as somebody does who reads a record afterwards; the agents see what their seats
may know and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import agent_seed
from kolkhoz_agents.games import make_game
from kolkhoz_agents.kolkhoz.study_rows import (
    FROM_CELLAR,
    FROM_PLOT,
    NO_SWAP,
    TABLES,
    Assignments,
    Banked,
    Bools,
    Ints,
    Rows,
    Saboteurs,
    Study,
    Swaps,
    Trumps,
    Years,
    crop_of,
    rank_of,
)
from kolkhoz_agents.protocol import Agent, Decisions
from kolkhoz_agents.referee import make_decisions
from kolkhoz_env.cards import CROP_ACTION, CROP_BITS, PASS, SABOTEUR
from kolkhoz_env.requisition import holdings, ranks_of
from kolkhoz_env.rules import ASSIGN, PLAY, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules
from kolkhoz_env.state import COUNTERS, SWAP_PLOT, State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course


def watch(
    agents: Sequence[Agent],
    *,
    deals: int,
    seed: int = 0,
    rules: Rules | None = None,
    seatings: Sequence[Sequence[int]] | None = None,
) -> Study:
    """Play `deals` deals in every seating and keep what happened.

    Args:
        agents: who plays.
        deals, seed: games 0 .. deals-1 of the seed.
        rules: the printed four-player game by default.
        seatings: rows of numbers of agents, one a seat; by default the first agent in every seat.
    """
    rules = rules or Rules()
    seats = np.array(seatings if seatings is not None else [[0] * rules.players], dtype=np.int64)
    games = np.repeat(np.arange(deals), len(seats))
    observer = _Observer(rules, np.tile(seats, (deals, 1)), seed, games)
    while observer.step(agents):
        pass
    return observer.study([agent.name for agent in agents])


class _Observer:
    """A batch of games under way, and the rows seen so far."""

    def __init__(self, rules: Rules, players: Ints, seed: int, games: Ints) -> None:
        self.rules, self.seed, self.players = rules, seed, players
        self.game = make_game("kolkhoz", rules.to_dict())
        size, years, seats = len(players), rules.years, rules.players
        by_crop, by_seat = (size, years, 4), (size, years, seats)
        self.totals = np.zeros((*by_seat, len(COUNTERS)), dtype=np.int64)
        self.by_year: dict[str, NDArray[Any]] = {
            "hours": np.zeros(by_crop, np.int64),
            "reward": np.zeros(by_crop, np.int64),
            "failed": np.zeros(by_crop, bool),
            "sabotaged": np.zeros(by_crop, bool),
            "claimed": np.zeros(by_crop, bool),
            "trump": np.zeros(by_crop[:2], np.int64),
            "planner": np.zeros(by_crop[:2], np.int64),
            "score": np.zeros(by_seat, np.int64),
        }
        self.card_banked = np.full(by_seat, -1, dtype=np.int64)
        self.card_stayed = np.zeros(by_seat, dtype=bool)
        self.seen: dict[str, list[dict[str, NDArray[Any]]]] = {name: [] for name in TABLES}
        self.seeds = [agent_seed(seed, str(number)) for number in range(int(players.max()) + 1)]
        course = Course(rules, year_ended=self._year_ended)
        self.table = VectorKolkhoz(size, seed=seed, restart=False, games=games, course=course)

    def step(self, agents: Sequence[Agent]) -> bool:
        """One decision in every running game; False once all are over."""
        table = self.table
        running = np.flatnonzero(~table.over)
        if not running.size:
            return False
        mask = table.legal_mask()
        player = np.full(table.size, -1)
        player[running] = self.players[running, table.seat[running]]
        actions = np.zeros(table.size, dtype=np.int64)
        for number, agent in enumerate(agents):
            rows = np.flatnonzero(player == number)
            if rows.size:
                actions[rows] = agent.act(self._ask(number, rows, mask[rows], agent.needs))
        self._look(running, actions, mask)
        table.step(actions)
        return True

    def _ask(self, number: int, rows: Ints, mask: Bools, needs: frozenset[str]) -> Decisions:
        table: Any = self.table
        return make_decisions(self.game, table, rows, mask, self.seeds[number], needs)

    # What is seen before a decision takes effect ----------------------------------------------

    def _look(self, running: Ints, actions: Ints, mask: Bools) -> None:
        state = self.table.state
        phase = state.phase[running]
        for code, look in (
            (TRUMP, self._trump),
            (SWAP_TAKE, self._declined),
            (SWAP_GIVE, self._swap),
            (PLAY, self._play),
            (ASSIGN, self._assign),
        ):
            rows = running[phase == code]
            if rows.size:
                look(state, rows, actions[rows], mask[rows])

    def _add(self, name: str, state: State, rows: Ints, **columns: NDArray[Any]) -> None:
        seat = state.seat[rows].astype(np.int64)
        columns |= {"game": rows, "year": state.year[rows], "seat": seat}
        self.seen[name].append({**columns, "agent": self.players[rows, seat]})

    def _trump(self, state: State, rows: Ints, actions: Ints, mask: Bools) -> None:
        hand = state.hands[rows, state.seat[rows]]
        self._add(
            "trumps", state, rows, crop=actions - CROP_ACTION,
            cards=np.bitwise_count(_by_crop(hand)), ranks=ranks_of(_by_crop(hand)),
            **_stakes(state, rows),
        )  # fmt: skip

    def _declined(self, state: State, rows: Ints, actions: Ints, mask: Bools) -> None:
        rows = rows[actions == PASS]
        none = np.full(rows.size, -1)
        zone = np.full(rows.size, NO_SWAP)
        self._add("swaps", state, rows, zone=zone, taken=none, given=none, trump=state.trump[rows])

    def _swap(self, state: State, rows: Ints, actions: Ints, mask: Bools) -> None:
        plot = state.swaps[rows, state.seat[rows]] == SWAP_PLOT
        self._add(
            "swaps", state, rows, zone=np.where(plot, FROM_PLOT, FROM_CELLAR),
            taken=state.taken[rows], given=actions, trump=state.trump[rows],
        )  # fmt: skip

    def _play(self, state: State, rows: Ints, actions: Ints, mask: Bools) -> None:
        played = np.flatnonzero(actions == SABOTEUR)
        rows = rows[played]
        self._add(
            "saboteurs", state, rows, trick=state.trick_number[rows],
            led=state.trick_size[rows] == 0, won=np.zeros(rows.size, bool),
            forced=mask[played].sum(axis=1) == 1,
        )  # fmt: skip

    def _assign(self, state: State, rows: Ints, actions: Ints, mask: Bools) -> None:
        card = state.trick[rows, state.assigned[rows]]
        crops = np.arange(4)
        self._add(
            "assignments", state, rows, card=card, field=actions - CROP_ACTION,
            legal=mask[:, CROP_ACTION : CROP_ACTION + 4], hours=state.hours[rows],
            claimed=(state.claimed[rows, None] >> crops) & 1 == 1,
            quota=np.full(rows.size, self.rules.field_quota), **_stakes(state, rows),
        )  # fmt: skip
        last = state.trick_number[rows] == [self.rules.tricks_in(y) - 1 for y in state.year[rows]]
        rows = rows[last & (state.assigned[rows] == 0)]
        # One card is left in each hand: the one that will be banked.
        left = state.hands[rows]
        cards = np.frexp(left.astype(np.float64))[1] - 1
        self.card_banked[rows, state.year[rows] - 1] = cards

    # What a year brought ----------------------------------------------------------------------

    def _year_ended(self, state: State, rows: NDArray[Any]) -> None:
        year, crops = state.year[rows] - 1, np.arange(4)
        at = (rows, year)
        self.totals[at] = state.totals[rows]
        values: dict[str, Any] = {
            "hours": state.hours[rows],
            "reward": state.revealed[rows, :, year],
            "failed": (state.failed[rows, None] >> crops) & 1 == 1,
            "sabotaged": state.fields[rows, :, SABOTEUR] == 1,
            "claimed": (state.claimed[rows, None] >> crops) & 1 == 1,
            "trump": state.trump[rows],
            "planner": state.planner[rows],
            "score": ranks_of(holdings(state, rows)),
        }
        for name, value in values.items():
            self.by_year[name][at] = value
        there = state.cellars[rows, :, year] == self.card_banked[at]
        self.card_stayed[at] = there

    # Putting it together ----------------------------------------------------------------------

    def study(self, names: Sequence[str]) -> Study:
        """All that was seen, once the games are over."""
        self._add_banked()
        tables: dict[str, Any] = {
            name: _join(kind, self.seen[name]) for name, kind in TABLES.items()
        }
        before = np.concatenate([np.zeros_like(self.totals[:, :1]), self.totals[:, :-1]], axis=1)
        years = Years(
            counts=self.totals - before,
            saboteur_banked=self.card_banked == SABOTEUR,
            players=self.players,
            win_share=self.table.outcome().win_share.astype(np.float64),
            **self.by_year,
        )
        tables["saboteurs"] = self._with_winners(tables["saboteurs"], years)
        decisions = int(self.table.decision.sum())
        return Study(self.rules, tuple(names), decisions, years=years, **tables)

    def _add_banked(self) -> None:
        game, year, seat = np.indices(self.card_banked.shape).reshape(3, -1)
        self.seen["banked"].append({
            "game": game, "year": year + 1, "seat": seat, "agent": self.players[game, seat],
            "card": self.card_banked.ravel(), "trump": self.by_year["trump"][game, year],
            "stayed": self.card_stayed.ravel(),
        })  # fmt: skip

    def _with_winners(self, table: Any, years: Years) -> Saboteurs:
        """Whoever assigns the Saboteur as Brigadier has won its trick."""
        brigadier = years.count("saboteurs").argmax(axis=2)
        won = brigadier[table.game, table.year - 1] == table.seat
        return replace(table, won=won)


def _by_crop(zones: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """uint64[..., 4]: zones uint64[...] split by crop."""
    return zones[..., None] & CROP_BITS[:4]


def _stakes(state: State, rows: Ints) -> dict[str, NDArray[Any]]:
    """Visible rewards, own holdings and the others' Plots by crop, int[n, 4], of seats to act."""
    seat = state.seat[rows]
    own = holdings(state, rows)[np.arange(rows.size), seat]
    plots = ranks_of(_by_crop(state.plots[rows]))
    mine = plots[np.arange(rows.size), seat]
    return {
        "reward": state.revealed[rows, :, state.year[rows] - 1],
        "own": ranks_of(_by_crop(own)),
        "others": plots.sum(axis=1) - mine,
    }


T = TypeVar("T", bound=Rows)


def _join(kind: type[T], parts: list[dict[str, NDArray[Any]]]) -> T:
    columns = {}
    for field in fields(kind):
        column = np.concatenate([part[field.name] for part in parts])
        columns[field.name] = column if column.dtype == bool else column.astype(np.int64)
    return kind(**columns)


__all__ = [
    "FROM_CELLAR",
    "FROM_PLOT",
    "NO_SWAP",
    "Assignments",
    "Banked",
    "Rows",
    "Saboteurs",
    "Study",
    "Swaps",
    "Trumps",
    "Years",
    "crop_of",
    "rank_of",
    "watch",
]
