"""A record with any wrong fact is refused with its place named, and so is a malformed file."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kolkhoz_tools import reference_games

from kolkhoz_env.errors import RecordError
from kolkhoz_env.records import (
    check_form,
    replay,
    replay_records,
)

Record = dict[str, Any]
#: Four players; Year 2 ends with a choice between tied cards; seats 2 and 3 share the victory.
GAME = reference_games("rare")[0]


def bad(change: Callable[[Record], Any]) -> Record:
    record = copy.deepcopy(GAME)
    change(record)
    return record


def year(record: Record, number: int) -> Record:
    return record["years"][number - 1]


def move(record: Record, number: int, index: int) -> Record:
    return year(record, number)["moves"][index - 1]


def put(path: str, value: Any) -> Callable[[Record], None]:
    """A change: the value at a path such as ``years/0/moves/3/seat``."""

    def change(record: Record) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        target: Any = record
        for step in steps:
            target = target[step]
        target[last] = value

    return change


def drop(path: str) -> Callable[[Record], None]:
    def change(record: Record) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        target: Any = record
        for step in steps:
            target = target[step]
        del target[last]

    return change


def swap_hand_card(record: Record) -> None:
    hands = year(record, 1)["hands"]
    hands[0][0], hands[1][0] = hands[1][0], hands[0][0]


def swap_reward_order(record: Record) -> None:
    pile = record["reward_piles"]["W"]
    pile[0], pile[1] = pile[1], pile[0]


WRONG_FACTS: dict[str, tuple[Callable[[Record], Any], str]] = {
    "seat": (put("years/0/moves/2/seat", 0), "year 1, move 3, seat: 0, but it is 3"),
    "phase": (put("years/0/moves/2/phase", "swap_give"), "year 1, move 3, phase: swap_give, but"),
    "legal one less": (drop("years/0/moves/1/legal/0"), "year 1, move 2, legal: P11 .*but legal"),
    "legal one more": (
        lambda r: move(r, 1, 3)["legal"].append("W13"),
        "year 1, move 3, legal: S11 W13, but legal are S11",
    ),
    "illegal move": (
        lambda r: (drop("years/0/moves/2/legal")(r), put("years/0/moves/2/move", "W13")(r)),
        r"year 1, move 3, move: W13 is not legal for seat 3 \(play\): S11",
    ),
    "another legal move": (put("years/0/moves/1/move", "B5"), "year 1, move 3, legal"),
    "another assignment": (put("years/0/moves/13/move", "B"), "year 1, end, hours: .*but it is"),
    "card to assign": (put("years/0/moves/5/card", "S11"), "year 1, move 6, card: S11, but it is"),
    "hands exchanged": (swap_hand_card, "year 1, move 12, legal"),
    "hand not in the deck": (
        put("years/1/hands/0/0", "W13"),
        "year 2, hands of seat 0: W13 is not in the Workers Deck",
    ),
    "hand from a reward pile": (put("years/0/hands/0/0", "W2"), "W2 is not in the Workers Deck"),
    "planner": (put("years/3/planner", 1), "year 4, planner: 1, but it is 0"),
    "first planner": (put("first_planner", 2), "year 1, planner: 1, but it is 2"),
    "trump": (put("years/2/trump", "W"), "year 3, trump: W, but it is P"),
    "no trump": (put("years/2/trump", None), "year 3, trump: None, but it is P"),
    "famine card": (put("years/4/famine_card", "S8"), "famine_card: S8 is not in the Workers Deck"),
    "another famine card": (put("years/4/famine_card", "B13"), "year 5, famine_card"),
    "hours": (put("years/0/end/hours/W", 26), "year 1, end, hours: W 26.*but it is W 25"),
    "failed": (put("years/0/end/failed", ["W"]), "year 1, end, failed: W, but it is W P"),
    "none failed": (put("years/0/end/failed", []), "year 1, end, failed: none, but it is W P"),
    "medals": (put("years/0/end/medals", [1, 1, 1, 1]), "year 1, end, medals: 1 1 1 1, but it is"),
    "plots": (drop("years/0/end/plots/2/0"), "year 1, end, plots"),
    "cellars": (put("years/0/end/cellars/0", []), "year 1, end, cellars"),
    "cellars of other seats": (
        lambda r: year(r, 1)["end"]["cellars"].reverse(),
        "year 1, end, cellars",
    ),
    "north": (drop("years/0/end/north/0"), "year 1, end, north"),
    "requisition": (
        lambda r: year(r, 2)["moves"][-1].update(move="S4"),
        "year 2, end, plots",
    ),
    "rewards in another order": (swap_reward_order, "year 1, end, north|year 2"),
    "move missing": (drop("years/0/moves/4"), "year 1, move 5, phase"),
    "moves missing at the end": (
        lambda r: year(r, 5)["moves"].pop(),
        r"year 5, moves: ends after move \d+, but seat 0 has a decision \(assign\)",
    ),
    "no moves": (put("years/0/moves", []), "year 1, moves: ends after move 0, but seat 1"),
    "a move twice": (
        lambda r: year(r, 5)["moves"].append(year(r, 5)["moves"][-1]),
        "year 5, move 31: the year ended with move 30",
    ),
    "scores": (put("result/scores/0", 6), "result, scores: 6 0 18 18, but it is 5 0 18 18"),
    "cards": (put("result/cards/1", 1), "result, cards"),
    "winners": (put("result/winners", [2]), "result, winners: 2, but it is 2 3"),
    "no winners": (put("result/winners", []), "result, winners: none"),
    "quota": (put("rules/quota", 24), "year 1, "),
}


@pytest.mark.parametrize("name", WRONG_FACTS)
def test_wrong_facts(name: str) -> None:
    change, words = WRONG_FACTS[name]
    with pytest.raises(RecordError, match=words):
        replay(bad(change))


WRONG_FORM: dict[str, tuple[Callable[[Record], Any], str]] = {
    "format": (put("format", "kolkhoz-record/2"), "format: 'kolkhoz-record/2' is not"),
    "no format": (drop("format"), "key 'format' is missing"),
    "extra key": (put("comment", "x"), "unknown key 'comment'"),
    "extra year key": (put("years/1/note", 1), "year 2: unknown key 'note'"),
    "extra move key": (put("years/1/moves/0/note", 1), "year 2, move 1: unknown key 'note'"),
    "extra end key": (put("years/1/end/note", 1), "year 2, end: unknown key 'note'"),
    "extra result key": (put("result/note", 1), "result: unknown key 'note'"),
    "extra rule": (put("rules/note", 1), "rules.note: no such rule"),
    "rules": (put("rules", []), "rules: .* is not a table"),
    "players": (put("rules/players", 7), "rules.players: 7 is not"),
    "players as text": (put("rules/players", "4"), "rules.players: '4' is not"),
    "auto_forced": (put("rules/auto_forced", True), "rules.auto_forced: a record lists"),
    "other players": (put("rules/players", 3), "year 1, hands: has 4 entries, not 3"),
    "first planner out of range": (put("first_planner", 4), "first_planner: 4 is not"),
    "first planner of the rules": (put("rules/first_planner", 3), "first_planner: is not seat 3"),
    "first planner true": (put("first_planner", True), "first_planner: True is not"),
    "huge seat": (put("years/0/moves/0/seat", 10**400), "year 1, move 1, seat: 1000"),
    "seat as text": (put("years/0/moves/0/seat", "1"), "year 1, move 1, seat: '1' is not"),
    "piles": (put("reward_piles", []), "reward_piles: .* is not an object"),
    "pile missing": (drop("reward_piles/B"), "reward_piles: key 'B' is missing"),
    "pile short": (drop("reward_piles/B/0"), "reward_piles, B: has 4 entries, not 5"),
    "pile of two highs": (put("reward_piles/W/0", "W9"), "reward_piles, W: .* is not W1 to W4 and"),
    "pile of another crop": (put("reward_piles/W/1", "S9"), "reward_piles, W: .* is not W1 to W4"),
    "pile with the Saboteur": (put("reward_piles/W/1", "X0"), "reward_piles, W: .* is not W1"),
    "pile twice the same": (put("reward_piles/W/0", "W2"), "reward_piles, W: card W2 stands twice"),
    "years": (put("years", {}), "years: .* is not a list"),
    "year missing": (drop("years/4"), "years: year 5 is missing"),
    "middle year missing": (drop("years/2"), "year 3, year: 4 is not 3"),
    "year too many": (lambda r: r["years"].append(r["years"][0]), "years: the game has 5 years"),
    "year number": (put("years/0/year", 2), "year 1, year: 2 is not 1"),
    "year true": (put("years/0/year", True), "year 1, year: True is not 1"),
    "year no object": (put("years/0", 1), "year 1: 1 is not an object"),
    "hand short": (drop("years/0/hands/2/0"), "year 1, hands of seat 2: has 4 entries, not 5"),
    "card twice": (put("years/0/hands/2/0", "P11"), "hands of seat 2: card P11 stands twice"),
    "card of two seats": (put("years/0/hands/2/0", "B9"), "card B9 is another seat's too"),
    "no such card": (put("years/0/hands/2/0", "W14"), "hands of seat 2: 'W14' is not a card"),
    "lower case": (put("years/0/hands/2/0", "w13"), "hands of seat 2: 'w13' is not a card"),
    "crop for a card": (put("years/0/hands/2/0", "W"), "hands of seat 2: 'W' is not a card"),
    "number for a card": (put("years/0/hands/2/0", 5), "hands of seat 2: 5 is not a card"),
    "list for a card": (put("years/0/hands/2/0", ["W5"]), r"hands of seat 2: \['W5'\] is not a"),
    "null for a hand": (put("years/0/hands/2", None), "hands of seat 2: None is not a list"),
    "famine card early": (put("years/0/famine_card", "W5"), "year 1, famine_card: must be null"),
    "famine card missing": (put("years/4/famine_card", None), "year 5, famine_card: None is not"),
    "moves": (put("years/0/moves", None), "year 1, moves: None is not a list"),
    "move no object": (put("years/0/moves/3", "W5"), "year 1, move 4: 'W5' is not an object"),
    "move without phase": (drop("years/0/moves/3/phase"), "year 1, move 4: key 'phase' is missing"),
    "phase unknown": (put("years/0/moves/3/phase", "bank"), "year 1, move 4, phase: 'bank' is not"),
    "phase over": (put("years/0/moves/3/phase", "over"), "year 1, move 4, phase: 'over' is not"),
    "phase a list": (put("years/0/moves/3/phase", []), r"year 1, move 4, phase: \[\] is not"),
    "move of another kind": (put("years/0/moves/3/move", "W"), "year 1, move 4, move: 'W' is not"),
    "pass in play": (put("years/0/moves/3/move", "pass"), "year 1, move 4, move: 'pass' is not"),
    "card for a crop": (put("years/0/moves/0/move", "W5"), "year 1, move 1, move: 'W5' is not a"),
    "two crops": (put("years/0/moves/0/move", "WS"), "year 1, move 1, move: 'WS' is not a crop"),
    "no crop": (put("years/0/moves/0/move", ""), "year 1, move 1, move: '' is not a crop"),
    "card where none is due": (put("years/0/moves/1/card", "W5"), "move 2: unknown key 'card'"),
    "card not named": (drop("years/0/moves/5/card"), "year 1, move 6: key 'card' is missing"),
    "legal twice": (
        lambda r: move(r, 1, 3)["legal"].append("S11"),
        "year 1, move 3, legal: a move stands twice",
    ),
    "legal null": (put("years/0/moves/1/legal", None), "year 1, move 2, legal: None is not a list"),
    "legal of another kind": (put("years/0/moves/1/legal/0", "W"), "move 2, legal: 'W' is not a"),
    "trump unknown": (put("years/0/trump", "X"), "year 1, trump: 'X' is not a crop"),
    "end null": (put("years/0/end", None), "year 1, end: None is not an object"),
    "end without north": (drop("years/0/end/north"), "year 1, end: key 'north' is missing"),
    "hours of a crop missing": (drop("years/0/end/hours/W"), "end, hours: key 'W' is missing"),
    "hours negative": (put("years/0/end/hours/W", -1), "end, hours, W: -1 is not a whole number"),
    "hours a fraction": (put("years/0/end/hours/W", 25.0), "end, hours, W: 25.0 is not a whole"),
    "hours not finite": (put("years/0/end/hours/W", float("inf")), "end, hours, W: inf is not"),
    "failed twice": (put("years/0/end/failed", ["W", "W", "P"]), "failed: a crop stands twice"),
    "medals of three": (drop("years/0/end/medals/0"), "year 1, end, medals: has 3 entries, not 4"),
    "north twice": (put("years/0/end/north/0", "W13"), "end, north: card W13 stands twice"),
    "plot of two seats": (put("years/0/end/plots/0", ["B4"]), "plots of seat 2: card B4 is"),
    "result null": (put("result", None), "result: None is not an object"),
    "scores not finite": (put("result/scores/0", float("nan")), "result, scores: nan is not"),
    "winners twice": (put("result/winners", [2, 2]), "result, winners: a seat stands twice"),
    "winner unknown": (put("result/winners", [2, 4]), "result, winners: 4 is not"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FORM)
def test_wrong_form(name: str) -> None:
    change, words = WRONG_FORM[name]
    with pytest.raises(RecordError, match=words) as error:
        check_form(bad(change))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [GAME]])
def test_what_is_no_record(value: Any) -> None:
    with pytest.raises(RecordError):
        replay(value)


# Every single fact -------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all objects and lists."""
    if isinstance(value, (dict, list)):
        yield path
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes(item, (*path, key))


def at(record: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        record = record[step]
    return record


def refused(records: list[Record]) -> list[bool]:
    """Whether each record is refused, by its form or by the replay."""
    formed = []
    answers = [True] * len(records)
    for index, record in enumerate(records):
        try:
            check_form(record)
        except RecordError:
            continue
        formed.append(index)
    for index, result in zip(formed, replay_records([records[i] for i in formed]), strict=True):
        answers[index] = isinstance(result, RecordError)
    return answers


def test_any_changed_value_is_noticed() -> None:
    source = random.Random(1)
    text = json.dumps(GAME)
    paths = [path for path in leaves(GAME) if path != ("rules", "hero_of_labor")]
    values = {path: at(GAME, path) for path in paths}
    by_type: dict[type, list[Any]] = {}
    for value in values.values():
        by_type.setdefault(type(value), []).append(value)
    records, changed = [], source.sample(paths, 300)
    for path in changed:
        record = json.loads(text)
        others = [value for value in by_type[type(values[path])] if value != values[path]]
        at(record, path[:-1])[path[-1]] = source.choice(others or [0])
        records.append(record)
    missed = [path for path, answer in zip(changed, refused(records), strict=True) if not answer]
    assert missed == []


def test_anything_missing_or_doubled_is_noticed() -> None:
    source = random.Random(2)
    text = json.dumps(GAME)
    records, changed = [], []
    paths = [path for path in nodes(GAME) if at(GAME, path)]
    for path in source.sample(paths, 250):
        record = json.loads(text)
        node = at(record, path)
        if isinstance(node, dict):
            key = source.choice(list(node))
            if key in ("legal", "trump", "end", "hero_of_labor", "players"):
                continue
            del node[key]
        elif source.random() < 0.5:
            node.pop(source.randrange(len(node)))
        else:
            node.append(source.choice(node))
        records.append(record)
        changed.append(path)
    missed = [path for path, answer in zip(changed, refused(records), strict=True) if not answer]
    assert missed == []
