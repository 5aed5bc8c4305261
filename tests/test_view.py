"""A seat's view, observation and redacted state say the same, and nothing else is taken for one."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kolkhoz_tools import chosen_by_hash, random_rules

from kolkhoz_env import Knowledge, Rules, VectorKolkhoz, ViewError, observation_table
from kolkhoz_env.cards import CROPS, card_name
from kolkhoz_env.rules import OVER, PHASES
from kolkhoz_env.state import State
from kolkhoz_env.view import make_view, make_views, read_view, read_views, view_text

#: Arrays that no view tells of: secrets and counters of the engine's own. What was seen and dealt
#: in which year is told by the last year alone; the tests compare that.
UNTOLD = {"key", "totals", "decision", "seen", "dealt"}

quick = settings(max_examples=8, deadline=None)


def positions(rules: Rules, seed: int, games: int) -> list[VectorKolkhoz]:
    """Tables at every decision of some games; of 30 more only where an owner has a choice."""
    table = VectorKolkhoz(games + 30, seed=seed, rules=rules, restart=False)
    found = []
    while not table.over.all():
        kept = (table.phase == PHASES.index("requisition")) | (table.game_ids < games)
        found.append(table.take(np.flatnonzero(kept)))
        table.step(chosen_by_hash(table, seed))
    return [*found, table.take(np.arange(games))]


def knowledge_of(table: VectorKolkhoz, seat: int) -> Knowledge:
    return table.knowledge(None, np.full(table.size, seat, dtype=np.int8))


def assert_same_knowledge(one: Knowledge, other: Knowledge) -> None:
    over = one.state.phase == OVER
    for field in dataclasses.fields(State):
        if field.name in UNTOLD:
            continue
        left, right = getattr(one.state, field.name), getattr(other.state, field.name)
        if field.name == "cursor":  # where the last requisition stopped: of no use any more
            left, right = np.where(over, 0, left), np.where(over, 0, right)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right, field.name)
    np.testing.assert_array_equal(one.seats, other.seats)
    np.testing.assert_array_equal(one.unseen(), other.unseen())


def sample_view(phase: str, rules: Rules | None = None, own: bool = True) -> dict[str, Any]:
    """A view of the first decision of a phase after Year 1, by the seat to act or the next one."""
    table = VectorKolkhoz(64, seed=11, rules=rules, restart=False)
    while True:
        rows = np.flatnonzero((table.phase == PHASES.index(phase)) & (table.state.year > 1))
        if rows.size:
            seat = table.seat[rows[:1]] if phase != "over" else np.zeros(1, dtype=np.int8)
            seat = seat if own else (seat + 1) % table.rules.players
            return make_view(table.knowledge(rows[:1], seat.astype(np.int8)))
        table.step(chosen_by_hash(table, 5))


# From each to the others ---------------------------------------------------------------------


@given(st.integers(0, 10**6), st.booleans())
@quick
def test_a_view_gives_back_the_redacted_state(seed: int, printed: bool) -> None:
    source = random.Random(seed)
    rules = Rules(players=source.choice([3, 4])) if printed else random_rules(source)
    for table in positions(rules, seed, 1):
        for seat in range(rules.players):
            knowledge = knowledge_of(table, seat)
            views = make_views(knowledge)
            read = read_views(views)
            assert_same_knowledge(knowledge, read)
            assert make_views(read) == views


@pytest.mark.parametrize("players", [2, 3, 4])
def test_view_observation_and_mask_agree_at_every_decision(players: int) -> None:
    rules = Rules(players=players)
    phases = set()
    for table in positions(rules, 3, 3):
        phases |= set(table.phase.tolist())
        for seat in range(players):
            knowledge = knowledge_of(table, seat)
            views = make_views(knowledge)
            observation = knowledge.observe()
            read = read_views(views)
            np.testing.assert_array_equal(read.observe(), observation)
            np.testing.assert_array_equal(read.legal_mask(), knowledge.legal_mask())
            for row, view in enumerate(views):
                facts = facts_of(observation[row], rules, seat)
                assert facts == {key: view[key] for key in facts}
                assert set(view) - set(facts) <= {"format", "rules", "legal", "trump"}
    assert phases == set(range(7))


@pytest.mark.parametrize("phase", PHASES)
def test_a_view_goes_through_text(phase: str) -> None:
    view = sample_view(phase)
    text = view_text(view)
    assert "\n" not in text
    assert json.loads(text) == view
    assert make_view(read_view(text)) == view
    assert make_view(read_view(view)) == view
    assert read_view(view).view() == view


def facts_of(row: np.ndarray, rules: Rules, seat: int) -> dict[str, Any]:
    """What an observation says, in the words of a view; written from the table's meanings alone."""
    o = observation_table(rules).named(row)
    players, crops = rules.players, CROPS[: rules.crops]
    order = [(absolute - seat) % players for absolute in range(players)]

    def names(plane: np.ndarray) -> list[str]:
        return sorted(card_name(int(card)) for card in np.flatnonzero(plane))

    def face(code: np.ndarray) -> str | None:
        if not code[6] or code[7]:
            return None
        return "X0" if code[4] else f"{CROPS[int(code[:4].argmax())]}{code[5]}"

    def absolute(flags: np.ndarray) -> int | None:
        return int((flags.argmax() + seat) % players) if flags.any() else None

    def flags(values: np.ndarray) -> list[str]:
        return [crop for crop, value in zip(CROPS, values, strict=True) if value]

    year = int(o["year"].argmax()) + 1
    over = not o["phase"].any()
    phase = "over" if over else PHASES[int(o["phase"].argmax())]
    done = int(o["trick_number"].argmax())
    number = rules.tricks_in(year) if phase in ("over", "requisition") else done + 1
    leader = absolute(o["leader"])
    trick = [
        {
            "seat": at,
            "card": face(o["trick"][order[at]]),
            "assigned": bool(o["assigned"][order[at]]),
        }
        for at in ((leader + step) % players for step in range(players))
        if o["trick"][order[at]][6]
    ]
    revealed = {
        crop: [f"{crop}{rank}" for rank in o["revealed"][c][:year]] for c, crop in enumerate(crops)
    }
    facts: dict[str, Any] = {
        "seat": seat,
        "turn": {"seat": absolute(o["to_act"]), "phase": phase},
        "year": year,
        "planner": absolute(o["planner"]),
        "trump": None if not o["trump"][:4].any() else CROPS[int(o["trump"].argmax())],
        "trick_number": number,
        "leader": leader,
        "hand": names(o["hand"]),
        "hand_sizes": o["hand_sizes"][order].tolist(),
        "known_in_hand": [[face(o["known_in_hand"][r])] if o["known_in_hand"][r][6] else []
                          for r in order],
        "voids": [flags(o["voids"][r]) for r in order],
        "plots": [names(o["plots"][r]) for r in order],
        "cellars": [
            [
                {
                    "banked": place + 1,
                    "since": int(facts[0]),
                    "card": face(o["cellar_cards"][r][place]),
                    "public": bool(facts[1]),
                    "highest": {crop: int(facts[3 + c]) for c, crop in enumerate(crops)},
                    "saboteur": bool(facts[7]),
                }
                for place, facts in enumerate(o["cellar_places"][r])
                if o["cellar_cards"][r][place][6]
            ]
            for r in order
        ],
        "fields": {
            crop: {
                "hours": int(o["hours"][c]),
                "reward": None if o["claimed"][c] or over else revealed[crop][-1],
                "claimed": bool(o["claimed"][c]),
                "cards": names(o["fields"][c]),
            }
            for c, crop in enumerate(crops)
        },
        "trick": trick,
        "assign_card": face(o["assign_card"]) if phase == "assign" else None,
        "swaps": [_swap(o["swaps"][r]) for r in order],
        "taken": face(o["taken"]),
        "medals": o["medals"][order].tolist(),
        "north": names(o["north"]),
        "rewards_revealed": revealed,
        "last_seen": dict(sorted(
            (card_name(int(card)), int(o["last_seen"][card]))
            for card in np.flatnonzero(o["last_seen"])
        )),
        "failed": flags(o["failed"]),
        "inspected": [at for at in range(players) if o["inspected"][order[at]]],
        "to_send": int(o["to_send"].argmax()) + 1 if o["to_send"].any() else 0,
    }  # fmt: skip
    if over:  # there is nothing to decide any more, and the observation leaves trump out
        del facts["trump"]
    return facts


def _swap(flags: np.ndarray) -> Any:
    number = int(flags.argmax())
    if number < 2:
        return "pass" if number else None
    return {"zone": "plot"} if number == 7 else {"zone": "cellar", "banked": number - 1}


# What is refused -----------------------------------------------------------------------------


def _set(*path: Any) -> Any:
    """A change of a view: the last argument is put where the others lead."""

    def change(view: dict[str, Any]) -> None:
        *way, key, value = path
        place: Any = view
        for step in way:
            place = place[step]
        place[key] = value(place[key]) if callable(value) else value

    return change


def _drop(key: str) -> Any:
    return lambda view: view.pop(key)


WRONG = [
    ("play", _set("format", "kolkhoz-view/2"), "format"),
    ("play", _drop("hand"), "hand"),
    ("play", _set("colour", "red"), "colour"),
    ("play", _set("seat", 4), "seat"),
    ("play", _set("seat", True), "seat"),
    ("play", _set("rules", "players", 7), "rules.players"),
    ("play", _set("rules", "jokers", 2), "rules.jokers"),
    ("play", _set("rules", "players", [4]), "rules"),
    ("play", _set("turn", "phase", "dance"), "turn.phase"),
    ("play", _set("turn", "seat", lambda seat: (seat + 1) % 4), "turn.seat"),
    ("play", _set("year", 6), "year"),
    ("play", _set("planner", "0"), "planner"),
    ("play", _set("trump", None), "trump"),
    ("play", _set("trump", "Z"), "trump"),
    ("play", _set("trick_number", 2), "hand_sizes[0]"),
    ("play", _set("leader", lambda seat: (seat + 1) % 4), "leader"),
    ("play", _set("hand", 0, "W99"), "hand"),
    ("play", _set("hand", lambda cards: cards[1:] + cards[-1:]), "hand"),
    ("play", _set("hand", lambda cards: cards[1:]), "hand"),
    ("play", _set("hand_sizes", 0, 3), "hand_sizes[0]"),
    ("play", _set("voids", 0, ["W", "W"]), "voids[0]"),
    ("play", _set("plots", lambda plots: plots[:3]), "plots"),
    ("play", _set("north", lambda cards: cards[:-1]), "last_seen"),
    ("play", _set("north", lambda cards: [*cards, "X0"]), "last_seen"),
    ("play", _set("fields", "W", "hours", 12), "fields.W.hours"),
    ("play", _set("fields", "W", "claimed", True), "fields.W.claimed"),
    ("play", _set("fields", "W", "reward", None), "fields.W.reward"),
    ("play", _set("fields", "S", "cards", ["X0"]), "fields"),
    ("play", _set("assign_card", "W1"), "assign_card"),
    ("play", _set("taken", "W1"), "taken"),
    ("play", _set("medals", [1, 0, 0, 0]), "medals"),
    ("play", _set("rewards_revealed", "W", ["W1"]), "rewards_revealed.W"),
    ("play", _set("rewards_revealed", "W", ["W1", "S2"]), "rewards_revealed.W"),
    ("play", _set("rewards_revealed", "W", ["W11", "W12"]), "fields.W.reward"),
    ("play", _set("last_seen", "W1", 9), "last_seen.W1"),
    ("play", _set("failed", ["W"]), "failed"),
    ("play", _set("inspected", [0]), "inspected"),
    ("play", _set("to_send", 1), "to_send"),
    ("play", _set("legal", lambda legal: legal[1:]), "legal"),
    ("play", _set("legal", lambda legal: [*legal, "pass"]), "legal"),
    ("play", _set("legal", ["fly"]), "legal"),
    ("assign", _set("trick", 0, "seat", lambda seat: (seat + 1) % 4), "trick[0].seat"),
    ("assign", _set("trick", 1, "assigned", True), "trick[1].assigned"),
    ("assign", _set("trick", lambda trick: trick[:3]), "hand_sizes"),
    ("assign", _set("medals", [4, 0, 0, 0]), "medals"),
    ("swap_give", _set("swaps", lambda swaps: [None] * 4), "swaps"),
    ("swap_give", _set("taken", lambda card: "W1" if card != "W1" else "W2"), "taken"),
    ("requisition", _set("to_send", 4), "to_send"),
    ("requisition", _set("failed", []), "failed"),
    ("over", _set("turn", "seat", 1), "turn.seat"),
    ("over", _set("year", 4), "cellars[0][0].banked"),
]


@pytest.mark.parametrize(("phase", "change", "field"), WRONG)
def test_a_wrong_view_is_refused_by_the_field(phase: str, change: Any, field: str) -> None:
    view = sample_view(phase)
    change(view)
    with pytest.raises(ViewError) as caught:
        read_view(view)
    assert str(caught.value).startswith(field)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_set("cellars", 0, [{}]), "cellars[0][0].banked"),
        (_set("cellars", 0, lambda places: places * 2), "cellars[0][1].banked"),
        (_set("cellars", 0, 0, "since", 9), "cellars[0][0].since"),
        (_set("cellars", 0, 0, "card", "W5"), "cellars[0][0].card"),
        (_set("cellars", 0, 0, "public", 1), "cellars[0][0].public"),
        (_set("cellars", 0, 0, "highest", {}), "cellars[0][0].highest.W"),
        (_set("cellars", 0, 0, "highest", "B", 14), "cellars[0][0].highest.B"),
        (_set("cellars", 0, 0, "since", 2), "swaps[0]"),
        (_set("cellars", 3, 0, "card", None), "cellars[3][0].card"),
        (_set("known_in_hand", 1, ["W1", "W2"]), "known_in_hand[1]"),
    ],
)
def test_a_wrong_place_is_refused_by_the_field(change: Any, field: str) -> None:
    table = VectorKolkhoz(16, seed=2, rules=Rules(first_planner=0), restart=False)
    found = np.zeros(16, dtype=bool)
    while not found.any():
        table.step(chosen_by_hash(table))
        banked = (table.state.cellars[:, [0, 3], 0] >= 0).all(axis=1)
        found = banked & (table.state.year == 2)
    view = make_view(table.knowledge(np.flatnonzero(found)[:1], np.array([3], dtype=np.int8)))
    assert view["turn"]["phase"] == "trump"
    change(view)
    with pytest.raises(ViewError) as caught:
        read_view(view)
    assert str(caught.value).startswith(field)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "17", '"view"', "{", '{"format": NaN}', '{"seat": 1, "seat": 1}',
     "[" * 100_000, '{"format": "kolkhoz-view/1"}', "1" * 5000, " " * 2_000_000],
    ids=range(12),
)  # fmt: skip
def test_a_text_that_is_no_view_is_refused(text: str) -> None:
    with pytest.raises(ViewError) as caught:
        read_view(text)
    assert "\n" not in str(caught.value)


JUNK: list[Any] = [
    None, True, -1, 0, 3, 2**70, 1.5, "", "W1", "X0", "pass", "W", [], ["W1"], {}, {"a": 1}
]  # fmt: skip


@given(st.sampled_from(PHASES), st.data())
@settings(max_examples=80, deadline=None)
def test_nothing_but_a_view_error_comes_of_damage(phase: str, data: Any) -> None:
    view = copy.deepcopy(SAMPLES.setdefault(phase, sample_view(phase)))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = view
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            if not (isinstance(place[key], dict | list) and place[key]) or data.draw(st.booleans()):
                break
            place = place[key]
        # A copy: the next round may damage what was put in.
        place[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    try:
        knowledge = read_view(view)
    except ViewError:
        return
    again = make_view(knowledge)
    assert make_view(read_view(again)) == again


SAMPLES: dict[str, dict[str, Any]] = {}


def test_views_of_different_rules_are_not_one_batch() -> None:
    with pytest.raises(ViewError, match="rules"):
        read_views([sample_view("play"), sample_view("play", Rules(quota=30))])
    with pytest.raises(ViewError, match="none"):
        read_views([])
