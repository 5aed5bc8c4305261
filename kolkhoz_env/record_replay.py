"""Replay of game records through the engine, many games at a time.

The deals of the records are injected into the engine; before every move the seat, the phase, the
card to assign and the legal moves are compared with the record, and at the end of every year and
of the game all that the record states of it. The outcome of a replay is the whole record as the
engine tells it, with the optional parts filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import (
    CROPS,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_CROPS,
    action_name,
    action_number,
    card_name,
    card_number,
    cards_in,
    names_in,
    zone_of,
)
from kolkhoz_env.deal import workers_deck
from kolkhoz_env.errors import RecordError
from kolkhoz_env.legal import as_mask, legal_actions
from kolkhoz_env.record_format import FORMAT, check_form
from kolkhoz_env.rules import ASSIGN, MAX_YEARS, OVER, PHASES, Rules
from kolkhoz_env.scoring import outcome
from kolkhoz_env.state import EMPTY, Int8, Int64, State, UInt64, empty_state
from kolkhoz_env.year import Course, advance, set_up

#: Actions in the order of a record's legal lists: cards as text, crops as printed, pass.
_LISTED = np.array(
    [*sorted(range(NUM_CARDS), key=action_name), *range(NUM_CARDS, NUM_ACTIONS)], dtype=np.int64
)
_LISTED_NAMES = [action_name(action) for action in _LISTED]


def replay_records(records: Sequence[dict[str, Any]]) -> list[dict[str, Any] | RecordError]:
    """Replay records whose form has been checked; for each its facts or the first disagreement."""
    groups: dict[Rules, list[int]] = {}
    for index, record in enumerate(records):
        groups.setdefault(Rules.from_dict(record["rules"]), []).append(index)
    results: list[dict[str, Any] | RecordError] = [RecordError("not replayed")] * len(records)
    for rules, members in groups.items():
        replay = _Replay([records[index] for index in members], rules)
        for index, result in zip(members, replay.run(), strict=True):
            results[index] = result
    return results


def replay(record: Any) -> dict[str, Any]:
    """Replay one record through the engine.

    Returns:
        the record with every optional part (`legal`, `trump`, `end`) as the engine has it, in the
        order of keys and lists that written records use.

    Raises:
        RecordError: the form is wrong or a fact differs; names the year, the move and what.
    """
    check_form(record)
    (result,) = replay_records([record])
    if isinstance(result, RecordError):
        raise result
    return result


class _Replay:
    """Records of the same rules, one row of the engine's arrays each."""

    def __init__(self, records: list[dict[str, Any]], rules: Rules) -> None:
        self.records = records
        self.rules = rules
        self.crops = CROPS[: rules.crops]
        self.errors: list[RecordError | None] = [None] * len(records)
        self.facts = [_opening(record) for record in records]
        self.moves_made = [0] * len(records)
        self.course = Course(rules, dealer=self._deal, year_ended=self._year_ended)
        self.state = empty_state(len(records), rules)

    def run(self) -> list[dict[str, Any] | RecordError]:
        """Play all games to their ends or first disagreements."""
        rows = np.arange(len(self.records))
        planners = np.array([record["first_planner"] for record in self.records], dtype=np.int8)
        key = np.zeros(rows.size, dtype=np.uint64)
        set_up(self.state, rows, self.course, key, self._piles(), planners)
        while True:
            running = np.flatnonzero(self.state.phase != OVER).tolist()
            mask = as_mask(legal_actions(self.state, self.rules))[:, _LISTED]
            alive = [row for row in running if self.errors[row] is None]
            pairs = [(row, self._check_move(row, mask[row])) for row in alive]
            chosen = [(row, action) for row, action in pairs if action is not None]
            if not chosen:
                break
            rows, actions = np.array(chosen, dtype=np.int64).T
            advance(self.state, rows, actions, self.course)
        self._check_results()
        return [
            fact if error is None else error
            for fact, error in zip(self.facts, self.errors, strict=True)
        ]

    def _fail(self, row: int, place: str, what: str) -> None:
        if self.errors[row] is None:
            self.errors[row] = RecordError(f"{place}: {what}")

    # Deals

    def _piles(self) -> Int8:
        piles = np.full((len(self.records), NUM_CROPS, MAX_YEARS), EMPTY, dtype=np.int8)
        for row, record in enumerate(self.records):
            for index, crop in enumerate(self.crops):
                cards = [card_number(name) for name in record["reward_piles"][crop]]
                piles[row, index, : len(cards)] = cards
        return piles

    def _deal(self, state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
        """The engine's dealer: the hands and Famine cards of the records."""
        decks = workers_deck(state, rows, rules)
        hands = np.zeros((rows.size, rules.players), dtype=np.uint64)
        famine = np.full(rows.size, EMPTY, dtype=np.int8)
        for index, row in enumerate(rows):
            year = self._begin_year(int(row), int(decks[index]))
            hands[index] = [zone_of(hand) for hand in year["hands"]]
            if year["famine_card"] is not None:
                famine[index] = card_number(year["famine_card"])
        return hands, famine

    def _begin_year(self, row: int, deck: int) -> dict[str, Any]:
        number = int(self.state.year[row])
        year = self.records[row]["years"][number - 1]
        planner = int(self.state.planner[row])
        if year["planner"] != planner:
            self._fail(row, f"year {number}, planner", f"{year['planner']}, but it is {planner}")
        for seat, hand in enumerate(year["hands"]):
            zone = zone_of(hand)
            if zone & ~deck:
                stray = card_name(cards_in(zone & ~deck)[0])
                place = f"year {number}, hands of seat {seat}"
                self._fail(row, place, f"{stray} is not in the Workers Deck")
            deck &= ~zone
        card = year["famine_card"]
        if card is not None and not deck >> card_number(card) & 1:
            place = f"year {number}, famine_card"
            self._fail(row, place, f"{card} is not in the Workers Deck after the deal")
        self.moves_made[row] = 0
        self.facts[row]["years"].append(
            {
                "year": number,
                "planner": planner,
                "hands": [sorted(hand) for hand in year["hands"]],
                "famine_card": card,
                "moves": [],
            }
        )
        return year

    # Moves

    def _check_move(self, row: int, mask: NDArray[np.bool_]) -> int | None:
        """Compare the record's next move with the engine's position; its action, None if wrong."""
        state = self.state
        number, seat = int(state.year[row]), int(state.seat[row])
        phase = PHASES[state.phase[row]]
        moves = self.records[row]["years"][number - 1]["moves"]
        made = self.moves_made[row]
        if made == len(moves):
            what = f"ends after move {made}, but seat {seat} has a decision ({phase})"
            self._fail(row, f"year {number}, moves", what)
            return None
        move, place = moves[made], f"year {number}, move {made + 1}"
        legal = [_LISTED_NAMES[index] for index in np.flatnonzero(mask)]
        fact = {"seat": seat, "phase": phase, "move": move["move"], "legal": legal}
        if state.phase[row] == ASSIGN:
            fact["card"] = card_name(int(state.trick[row, state.assigned[row]]))
        for key in ("phase", "seat", "card"):
            if move.get(key) != fact.get(key):
                self._fail(row, f"{place}, {key}", f"{move.get(key)}, but it is {fact.get(key)}")
                return None
        if "legal" in move and set(move["legal"]) != set(legal):
            what = f"{_words(move['legal'])}, but legal are {_words(legal)}"
            self._fail(row, f"{place}, legal", what)
            return None
        if move["move"] not in legal:
            what = f"{move['move']} is not legal for seat {seat} ({phase}): {_words(legal)}"
            self._fail(row, f"{place}, move", what)
            return None
        self.facts[row]["years"][-1]["moves"].append(fact)
        self.moves_made[row] = made + 1
        return action_number(move["move"])

    # Ends

    def _year_ended(self, state: State, rows: Int64) -> None:
        """The engine's call at the end of a year, before anything is cleared."""
        for row in (int(row) for row in rows):
            number = int(state.year[row])
            place = f"year {number}"
            year, facts = self.records[row]["years"][number - 1], self.facts[row]["years"][-1]
            extra = len(year["moves"]) - self.moves_made[row]
            if extra:
                what = f"the year ended with move {self.moves_made[row]}"
                self._fail(row, f"{place}, move {self.moves_made[row] + 1}", what)
            facts["trump"] = CROPS[state.trump[row]] if state.trump[row] < NUM_CROPS else None
            if "trump" in year and year["trump"] != facts["trump"]:
                self._fail(row, f"{place}, trump", f"{year['trump']}, but it is {facts['trump']}")
            facts["end"] = self._year_end(state, row)
            if "end" in year:
                self._compare(row, f"{place}, end", year["end"], facts["end"])

    def _year_end(self, state: State, row: int) -> dict[str, Any]:
        return {
            "hours": {crop: int(state.hours[row, c]) for c, crop in enumerate(self.crops)},
            "failed": [crop for c, crop in enumerate(self.crops) if state.failed[row] >> c & 1],
            "medals": [int(medals) for medals in state.medals[row]],
            "plots": [names_in(plot) for plot in state.plots[row]],
            "cellars": [
                sorted(card_name(int(card)) for card in cellar if card >= 0)
                for cellar in state.cellars[row]
            ],
            "north": names_in(state.north[row]),
        }

    def _check_results(self) -> None:
        result = outcome(self.state, np.arange(len(self.records)))
        for row, record in enumerate(self.records):
            winners = np.flatnonzero(result.win_share[row] > 0)
            facts = {
                "scores": [int(score) for score in result.score[row]],
                "cards": [int(cards) for cards in result.cards[row]],
                "winners": [int(seat) for seat in winners],
            }
            self.facts[row]["result"] = facts
            self._compare(row, "result", record["result"], facts)

    def _compare(self, row: int, place: str, stated: Any, true: Any) -> None:
        """Note the first difference between a stated and a true part, key by key."""
        for key in true:
            if _unordered(key, stated[key]) != _unordered(key, true[key]):
                what = f"{_words(stated[key])}, but it is {_words(true[key])}"
                self._fail(row, f"{place}, {key}", what)


def _opening(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "rules": dict(record["rules"]),
        "first_planner": record["first_planner"],
        "reward_piles": {crop: list(pile) for crop, pile in record["reward_piles"].items()},
        "years": [],
    }


def _unordered(key: str, value: Any) -> Any:
    """Zones and sets of crops or seats are the same in any order."""
    if key in ("plots", "cellars"):
        return [set(cards) for cards in value]
    return set(value) if key in ("failed", "north", "winners") else value


def _words(value: Any) -> str:
    """A stated or true value for a message: ``W9 B10``, ``W 12, S 40``, ``[W9] []``."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    items: Iterable[Any] = value
    words = [f"[{' '.join(item)}]" if isinstance(item, list) else str(item) for item in items]
    return " ".join(words) or "none"
