"""A recorded game, picture by picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from kolkhoz_env.cards import CROPS, action_number, card_number, zone_of
from kolkhoz_env.drawing.picture import WIDTH, paint
from kolkhoz_env.drawing.views import table_view
from kolkhoz_env.record_replay import replay
from kolkhoz_env.rules import ASSIGN, Rules
from kolkhoz_env.state import EMPTY, Int8, Int64, State, UInt64, empty_state
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course, set_up

_ONLY = np.zeros(1, dtype=np.int64)


def frames(
    record: dict[str, Any], every: str = "move", seat: int | None = None, width: int = 800
) -> Iterator[Image.Image]:
    """Pictures of a game in order.

    Args:
        record: a record; it is held against the engine first (RecordError).
        every: ``"move"``, ``"trick"`` (before the last Worker of each is assigned) or ``"year"``
            (before the last Worker of the year is assigned); the end is drawn in any case.
        seat: whose knowledge is drawn; all cards open for ``None``.
        width: of the pictures in pixels.
    """
    complete = replay(record)
    table = recorded_table(complete)
    looks = "open" if seat is None else seat
    for year in complete["years"]:
        for move in year["moves"]:
            if every == "move" or _ends(table, every):
                yield paint(table_view(table, 0, looks), width / WIDTH)
            table.step(np.array([action_number(move["move"])]))
    yield paint(table_view(table, 0, looks), width / WIDTH)


def recorded_table(record: dict[str, Any]) -> VectorKolkhoz:
    """A table of one game at its beginning, whose cards are those of a (valid) record."""
    rules = Rules.from_dict(record["rules"])

    def deal(state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
        year = record["years"][int(state.year[0]) - 1]
        hands = np.array([[zone_of(hand) for hand in year["hands"]]], dtype=np.uint64)
        turned_up = card_number(year["famine_card"]) if year["famine_card"] else EMPTY
        return hands, np.array([turned_up], dtype=np.int8)

    piles = np.full((1, 4, 5), EMPTY, dtype=np.int8)
    for number, crop in enumerate(CROPS[: rules.crops]):
        cards = [card_number(card) for card in record["reward_piles"][crop]]
        piles[0, number, : len(cards)] = cards
    state, course = empty_state(1, rules), Course(rules, dealer=deal)
    planner = np.array([record["first_planner"]], dtype=np.int8)
    set_up(state, _ONLY, course, np.zeros(1, dtype=np.uint64), piles, planner)
    return VectorKolkhoz.from_state(state, rules, course=course)


def _ends(table: VectorKolkhoz, every: str) -> bool:
    """Whether the decision to come is the last of a trick or year."""
    state, rules = table.state, table.rules
    last = state.phase[0] == ASSIGN and int(state.assigned[0]) == rules.players - 1
    if every == "trick":
        return bool(last)
    return bool(last) and int(state.trick_number[0]) == rules.tricks_in(int(state.year[0])) - 1
