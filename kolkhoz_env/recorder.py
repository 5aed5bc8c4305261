"""Records of the games that are played on a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kolkhoz_env.cards import CROPS, action_name, card_name, names_in, single_card
from kolkhoz_env.deal import hashed_deal
from kolkhoz_env.errors import RecordError
from kolkhoz_env.legal import legal_actions
from kolkhoz_env.record_format import FORMAT
from kolkhoz_env.record_replay import replay_records
from kolkhoz_env.rules import OVER, PHASES, Rules
from kolkhoz_env.scoring import Outcome
from kolkhoz_env.state import Int8, Int64, State, UInt64, empty_state
from kolkhoz_env.year import Course, advance, set_up

if TYPE_CHECKING:
    from kolkhoz_env.vector import StepResult, VectorKolkhoz


@dataclass
class _Log:
    """One game as played: where its cards come from and what was chosen."""

    game: int
    key: np.uint64
    piles: Int8
    first_planner: int
    actions: list[int] = field(default_factory=list)
    result: dict[str, Any] | None = None


class Recorder:
    """A table that is played as before and keeps the records of its games.

    Everything but :meth:`step` goes to the table. While games run only the chosen actions are
    kept; records are made from them when asked for, by playing the games again, and have been
    replayed once more by then. Games that restart in place are recorded one after the other.

    Args:
        table: a table whose games have not begun.

    Raises:
        RecordError: a game has already begun, or its cards don't come from its seed.
    """

    def __init__(self, table: VectorKolkhoz) -> None:
        if table.course.dealer is not hashed_deal:
            raise RecordError("recorder: the deals of this table don't come from its seed")
        if not table.rules.auto_forced and (table.decision > 0).any():
            game = int(table.game_ids[np.flatnonzero(table.decision > 0)[0]])
            raise RecordError(f"recorder: game {game} has already begun")
        self.table = table
        self._logs = [self._open(row) for row in range(table.size)]
        self._finished: list[_Log] = []
        self._written: dict[int, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "table":  # not yet set: a copy or a failed construction
            raise AttributeError(name)
        return getattr(self.table, name)

    def _open(self, row: int) -> _Log:
        state = self.table.state
        first = (int(state.planner[row]) - int(state.year[row]) + 1) % state.players
        game = int(self.table.game_ids[row])
        return _Log(game, state.key[row], state.piles[row].copy(), first)

    def step(self, actions: ArrayLike) -> StepResult:
        """The table's step, recorded; arguments, result and errors are the table's."""
        running = np.flatnonzero(self.table.seat >= 0)
        step = self.table.step(actions)
        chosen = np.asarray(actions)
        for row in running:
            self._logs[row].actions.append(int(chosen[row]))
        for index, row in enumerate(step.finished):
            self._logs[row].result = _result(step.outcome, index)
            self._finished.append(self._logs[row])
            if self.table.restart:
                self._logs[row] = self._open(int(row))
        return step

    def records(self) -> list[dict[str, Any]]:
        """Records of all games that have ended, in the order of their numbers."""
        finished = sorted(self._finished, key=lambda log: log.game)
        return _write_out(finished, self.table.rules)

    def record(self, row: int) -> dict[str, Any]:
        """Record of the game that ended in a row of a table that does not restart."""
        log = self._logs[row]
        if log.result is None:
            raise RecordError(f"recorder: game {log.game} is not over")
        if id(log) not in self._written:
            # Playing again costs about the same for one game as for all that have ended.
            ended = [one for one in self._logs if one.result is not None]
            records = _write_out(ended, self.table.rules)
            self._written = {id(one): found for one, found in zip(ended, records, strict=True)}
        return self._written[id(log)]


def _result(outcome: Outcome, index: int) -> dict[str, Any]:
    return {
        "scores": [int(score) for score in outcome.score[index]],
        "cards": [int(cards) for cards in outcome.cards[index]],
        "winners": [int(seat) for seat in np.flatnonzero(outcome.win_share[index] > 0)],
    }


def record_rules(rules: Rules) -> dict[str, Any]:
    """Rules as a record states them: the two usual ones and whatever is not as printed.

    A record lists every decision, so that `auto_forced` is no part of it.
    """
    printed = Rules(players=rules.players).to_dict()
    return {
        key: value
        for key, value in rules.to_dict().items()
        if key != "auto_forced" and (key in ("players", "hero_of_labor") or value != printed[key])
    }


def _write_out(logs: list[_Log], rules: Rules) -> list[dict[str, Any]]:
    if not logs:
        return []
    records = []
    for log, result in zip(logs, replay_records(_Scribe(logs, rules).write()), strict=True):
        if isinstance(result, RecordError):
            raise RecordError(f"recorder: game {log.game}: {result}")
        records.append(result)
    return records


class _Scribe:
    """Plays logged games again and writes down deals and moves."""

    def __init__(self, logs: list[_Log], rules: Rules) -> None:
        self.logs = logs
        self.forced = rules.auto_forced
        self.rules = replace(rules, auto_forced=False)
        self.records: list[dict[str, Any]] = [self._opening(log) for log in logs]

    def _opening(self, log: _Log) -> dict[str, Any]:
        piles = {
            crop: [card_name(int(card)) for card in log.piles[c] if card >= 0]
            for c, crop in enumerate(CROPS[: self.rules.crops])
        }
        return {
            "format": FORMAT,
            "rules": record_rules(self.rules),
            "first_planner": log.first_planner,
            "reward_piles": piles,
            "years": [],
            "result": log.result,
        }

    def write(self) -> list[dict[str, Any]]:
        """The records without legal moves and year ends."""
        rows = np.arange(len(self.logs))
        key = np.array([log.key for log in self.logs], dtype=np.uint64)
        piles = np.stack([log.piles for log in self.logs])
        planners = np.array([log.first_planner for log in self.logs], dtype=np.int8)
        waiting = [iter(log.actions) for log in self.logs]
        course = Course(self.rules, dealer=self._deal)
        state = empty_state(rows.size, self.rules)
        set_up(state, rows, course, key, piles, planners)
        while rows.size:
            actions = self._next_actions(state, rows, waiting)
            self._note(state, rows, actions)
            advance(state, rows, actions, course)
            rows = np.flatnonzero(state.phase != OVER)
        return self.records

    def _next_actions(self, state: State, rows: Int64, waiting: list[Any]) -> Int64:
        legal = legal_actions(state, self.rules)[rows]
        single = (np.bitwise_count(legal) == 1) & self.forced
        forced = single_card(legal)
        return np.array(
            [forced[i] if single[i] else next(waiting[row]) for i, row in enumerate(rows)],
            dtype=np.int64,
        )

    def _note(self, state: State, rows: Int64, actions: Int64) -> None:
        for row, action in zip(rows, actions, strict=True):
            phase = PHASES[state.phase[row]]
            move = {"seat": int(state.seat[row]), "phase": phase, "move": action_name(int(action))}
            if phase == "assign":
                move["card"] = card_name(int(state.trick[row, state.assigned[row]]))
            self.records[row]["years"][-1]["moves"].append(move)

    def _deal(self, state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
        hands, turned_up = hashed_deal(state, rows, rules)
        for index, row in enumerate(rows):
            number = int(state.year[row])
            revealed = rules.reveals_in(number)
            self.records[row]["years"].append(
                {
                    "year": number,
                    "planner": int(state.planner[row]),
                    "hands": [names_in(hand) for hand in hands[index]],
                    "famine_card": card_name(int(turned_up[index])) if revealed else None,
                    "moves": [],
                }
            )
        return hands, turned_up


__all__ = ["Recorder", "record_rules"]
