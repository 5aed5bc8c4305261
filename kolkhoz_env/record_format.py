"""Game records as text: the form of `kolkhoz-record/1`, checked field by field.

A record is one JSON object on one line. :func:`parse_line` turns a line into plain Python values
and :func:`check_form` says whether those values have the form of a record: the keys, the types,
cards that exist, zones without a card twice. Whether the game could have gone so is for
`record_replay`. Both raise :class:`RecordError`, whose text names the place, such as
``year 2, move 7, legal``.
"""

from __future__ import annotations

import json
import reprlib
from typing import Any, NoReturn

from kolkhoz_env.cards import CROPS, NUM_CARDS, SABOTEUR, card_name, card_number, cards_in
from kolkhoz_env.errors import RecordError, RulesError
from kolkhoz_env.rules import PHASES, Rules

FORMAT = "kolkhoz-record/1"

#: Decisions whose move is a crop; the others move cards, and `swap_take` may also pass.
CROP_PHASES = ("trump", "assign")

_KEYS = ("format", "rules", "first_planner", "reward_piles", "years", "result")
_YEAR_KEYS = ("year", "planner", "hands", "famine_card", "moves")
_YEAR_OPTIONS = ("trump", "end")
_MOVE_KEYS = ("seat", "phase", "move")
_END_KEYS = ("hours", "failed", "medals", "plots", "cellars", "north")
_RESULT_KEYS = ("scores", "cards", "winners")

_repr = reprlib.Repr()
_repr.maxstring, _repr.maxlong, _repr.maxdict, _repr.maxlist, _repr.maxlevel = 40, 24, 3, 4, 2
#: A value of a file for a message: never long, whatever the file holds.
_short = _repr.repr


def refuse(place: str, what: str) -> NoReturn:
    """Raise :class:`RecordError` with the text ``PLACE: WHAT``."""
    raise RecordError(f"{place}: {what}" if place else what)


def parse_line(line: str) -> Any:
    """The JSON value of one line; RecordError if it is not JSON, or JSON that no record holds.

    Keys that stand twice are refused: JSON readers differ on them. So they do on numbers with a
    fraction and on ``NaN`` or ``Infinity``, which `check_form` refuses where they stand.
    """
    try:
        return json.loads(
            line,
            object_pairs_hook=_object,
            parse_float=_Unwhole,
            parse_constant=_Unwhole,
        )
    except RecordError:
        raise
    except json.JSONDecodeError as error:
        if error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated string"):
            refuse("", "the line ends before the record does")
        refuse("", f"not JSON: {error.msg} at column {error.pos + 1}")
    except RecursionError:
        refuse("", "not a record: JSON nested too deeply")
    except ValueError as error:
        refuse("", f"not JSON: {error}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        refuse("", f"key {_short(twice)} stands twice in one object")
    return value


class _Unwhole:
    """A number that no record holds, as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if len(self.text) <= 24 else f"{self.text[:20]}..."


def check_form(record: Any) -> Rules:
    """Check the form of a whole record and return its rules; RecordError names what is wrong."""
    _check_keys(record, _KEYS, (), "")
    if record["format"] != FORMAT:
        refuse(
            "format", f"{_short(record['format'])} is not {FORMAT!r}, the form that is read here"
        )
    rules = _check_rules(record["rules"])
    _check_int(record["first_planner"], 0, rules.players - 1, "first_planner")
    if rules.first_planner is not None and rules.first_planner != record["first_planner"]:
        refuse("first_planner", f"is not seat {rules.first_planner}, as the rules say")
    _check_piles(record["reward_piles"], rules)
    years = record["years"]
    if not isinstance(years, list):
        refuse("years", f"{_short(years)} is not a list")
    for index, year in enumerate(years, start=1):
        if index > rules.years:
            refuse("years", f"the game has {rules.years} years, the record {len(years)}")
        _check_year(year, index, rules)
    if len(years) < rules.years:
        refuse("years", f"year {len(years) + 1} is missing; the game has {rules.years}")
    _check_result(record["result"], rules)
    return rules


def _check_rules(value: Any) -> Rules:
    try:
        rules = Rules.from_dict(value)
    except RulesError as error:
        raise RecordError(str(error)) from None
    except TypeError:
        refuse("rules", f"{_short(value)} is not a table of rules")
    if rules.auto_forced:
        refuse("rules.auto_forced", "a record lists every decision, forced ones too")
    return rules


def _check_keys(
    value: Any, needed: tuple[str, ...], optional: tuple[str, ...], place: str
) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(place, f"{_short(value)} is not an object")
    for key in needed:
        if key not in value:
            refuse(place, f"key {key!r} is missing")
    for key in value:
        if key not in needed and key not in optional:
            known = ", ".join((*needed, *optional))
            refuse(place, f"unknown key {_short(key)}; known are {known}")
    return value


def _check_int(value: Any, low: int, high: int, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        refuse(place, f"{_short(value)} is not a whole number from {low} to {high}")
    return value


def _check_list(value: Any, length: int | None, place: str) -> list[Any]:
    if not isinstance(value, list):
        refuse(place, f"{_short(value)} is not a list")
    if length is not None and len(value) != length:
        refuse(place, f"has {len(value)} entries, not {length}")
    return value


def _check_card(value: Any, rules: Rules, place: str) -> int:
    try:
        card = card_number(value)
    except ValueError as error:
        refuse(place, str(error) if isinstance(value, str) else f"{_short(value)} is not a card")
    if not rules.deck >> card & 1:
        refuse(place, f"card {value} is not in the deck of these rules")
    return card


def check_zone(value: Any, rules: Rules, place: str, length: int | None = None) -> int:
    """A list of distinct cards of the deck as a bitboard."""
    zone = 0
    for name in _check_list(value, length, place):
        bit = 1 << _check_card(name, rules, place)
        if zone & bit:
            refuse(place, f"card {name} stands twice")
        zone |= bit
    return zone


def _check_zones(value: Any, rules: Rules, place: str, length: int | None = None) -> None:
    taken = 0
    for seat, cards in enumerate(_check_list(value, rules.players, place)):
        zone = check_zone(cards, rules, f"{place} of seat {seat}", length)
        if taken & zone:
            (name, *_) = (card_name(card) for card in cards_in(taken & zone))
            refuse(f"{place} of seat {seat}", f"card {name} is another seat's too")
        taken |= zone


def _check_crops(value: Any, rules: Rules, place: str) -> list[str]:
    names = _check_list(value, None, place)
    for crop in names:
        _check_crop(crop, rules, place)
    if len(set(names)) != len(names):
        refuse(place, f"a crop stands twice in {_short(names)}")
    return names


def _check_crop(value: Any, rules: Rules, place: str) -> None:
    if not isinstance(value, str) or value not in tuple(CROPS[: rules.crops]):
        refuse(place, f"{_short(value)} is not a crop (one of {' '.join(CROPS[: rules.crops])})")


def _check_piles(value: Any, rules: Rules) -> None:
    crops = tuple(CROPS[: rules.crops])
    _check_keys(value, crops, (), "reward_piles")
    for number, crop in enumerate(crops):
        place = f"reward_piles, {crop}"
        zone = check_zone(value[crop], rules, place, rules.pile_size)
        ranks = [card % 13 + 1 for card in cards_in(zone) if card // 13 == number]
        ranks = [] if zone >> SABOTEUR & 1 else ranks
        low = list(range(1, rules.low_rewards + 1))
        if len(ranks) != rules.pile_size or ranks[:-1] != low:
            refuse(
                place,
                f"{' '.join(value[crop])} is not {crop}1 to {crop}{rules.low_rewards} and one "
                "higher card of the crop",
            )


def _check_year(year: Any, number: int, rules: Rules) -> None:
    place = f"year {number}"
    _check_keys(year, _YEAR_KEYS, _YEAR_OPTIONS, place)
    if type(year["year"]) is not int or year["year"] != number:
        refuse(f"{place}, year", f"{_short(year['year'])} is not {number}")
    _check_int(year["planner"], 0, rules.players - 1, f"{place}, planner")
    _check_zones(year["hands"], rules, f"{place}, hands", rules.hand_size(number))
    if rules.reveals_in(number):
        _check_card(year["famine_card"], rules, f"{place}, famine_card")
    elif year["famine_card"] is not None:
        refuse(f"{place}, famine_card", "must be null, no Worker is revealed in this year")
    for index, move in enumerate(_check_list(year["moves"], None, f"{place}, moves"), start=1):
        _check_move(move, rules, f"{place}, move {index}")
    if year.get("trump") is not None:
        _check_crop(year["trump"], rules, f"{place}, trump")
    if "end" in year:
        _check_end(year["end"], rules, f"{place}, end")


def _check_move(move: Any, rules: Rules, place: str) -> None:
    if not isinstance(move, dict):
        refuse(place, f"{_short(move)} is not an object")
    phase = move.get("phase")
    assign = phase == "assign"
    _check_keys(move, (*_MOVE_KEYS, "card") if assign else _MOVE_KEYS, ("legal",), place)
    if phase not in PHASES[:-1]:
        refuse(f"{place}, phase", f"{_short(phase)} is not one of {', '.join(PHASES[:-1])}")
    _check_int(move["seat"], 0, rules.players - 1, f"{place}, seat")
    _check_choice(move["move"], phase, rules, f"{place}, move")
    if assign:
        _check_card(move["card"], rules, f"{place}, card")
    if "legal" in move:
        legal = _check_list(move["legal"], None, f"{place}, legal")
        for choice in legal:
            _check_choice(choice, phase, rules, f"{place}, legal")
        if len(set(legal)) != len(legal):
            refuse(f"{place}, legal", "a move stands twice")


def _check_choice(value: Any, phase: str, rules: Rules, place: str) -> None:
    if phase in CROP_PHASES:
        _check_crop(value, rules, place)
    elif phase != "swap_take" or value != "pass":
        _check_card(value, rules, place)


def _check_end(end: Any, rules: Rules, place: str) -> None:
    _check_keys(end, _END_KEYS, (), place)
    crops = tuple(CROPS[: rules.crops])
    _check_keys(end["hours"], crops, (), f"{place}, hours")
    for crop in crops:
        _check_int(end["hours"][crop], 0, NUM_CARDS * rules.ranks, f"{place}, hours, {crop}")
    _check_crops(end["failed"], rules, f"{place}, failed")
    _check_ints(end["medals"], rules, f"{place}, medals")
    _check_zones(end["plots"], rules, f"{place}, plots")
    _check_zones(end["cellars"], rules, f"{place}, cellars")
    check_zone(end["north"], rules, f"{place}, north")


def _check_ints(value: Any, rules: Rules, place: str) -> None:
    for number in _check_list(value, rules.players, place):
        _check_int(number, 0, NUM_CARDS * rules.ranks, place)


def _check_result(result: Any, rules: Rules) -> None:
    _check_keys(result, _RESULT_KEYS, (), "result")
    _check_ints(result["scores"], rules, "result, scores")
    _check_ints(result["cards"], rules, "result, cards")
    winners = _check_list(result["winners"], None, "result, winners")
    for seat in winners:
        _check_int(seat, 0, rules.players - 1, "result, winners")
    if len(set(winners)) != len(winners):
        refuse("result, winners", "a seat stands twice")
