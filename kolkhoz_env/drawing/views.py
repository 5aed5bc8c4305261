"""Whose view of a table is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolkhoz_env.vector import VectorKolkhoz


def table_view(
    table: VectorKolkhoz, row: int = 0, seat: int | str | None = None
) -> dict[str, Any]:
    """The view of one game for a seat, for ``"open"``, or (``None``) for the seat to act."""
    if seat == "open":
        return open_view(table, row)
    looks = max(int(table.seat[row]), 0) if seat is None else int(seat)
    knowledge = table.knowledge(np.array([row]), np.array([looks], dtype=np.int8))
    return _with_outcome(knowledge.view(0), table, row)


def open_view(table: VectorKolkhoz, row: int = 0) -> dict[str, Any]:
    """All cards of one game: the view of the seat to act with every hand (``hands``) and Cellar."""
    seats = table.rules.players
    rows = np.full(seats, row)
    knowledge = table.knowledge(rows, np.arange(seats, dtype=np.int8))
    views = [knowledge.view(seat) for seat in range(seats)]
    view = dict(views[max(int(table.seat[row]), 0)])
    view["seat"] = None
    view["hands"] = [one["hand"] for one in views]
    view["cellars"] = [one["cellars"][seat] for seat, one in enumerate(views)]
    return _with_outcome(view, table, row)


def _with_outcome(view: dict[str, Any], table: VectorKolkhoz, row: int) -> dict[str, Any]:
    """Final scores and winners, once the game is over, as ``result``."""
    if not table.over[row]:
        return view
    outcome = table.take([row]).outcome()
    winners = [int(seat) for seat in np.flatnonzero(outcome.win_share[0] > 0)]
    return {**view, "result": {"scores": outcome.score[0].astype(int).tolist(), "winners": winners}}


def hand_of(view: dict[str, Any], seat: int) -> list[str | None]:
    """Cards of a hand as far as the view has them; ``None`` for each that it does not."""
    if "hands" in view:
        return list(view["hands"][seat])
    if seat == view["seat"]:
        return list(view["hand"])
    known = list(view["known_in_hand"][seat])
    return [*known, *[None] * (view["hand_sizes"][seat] - len(known))]


def in_order(cards: list[Any]) -> list[Any]:
    """Cards by crop and falling rank, the Saboteur and hidden ones last."""
    return sorted(
        cards,
        key=lambda card: ("WSPBX".index(card[0]), -int(card[1:])) if card else (9, 0),
    )


def headline(view: dict[str, Any], you: int | None = None) -> list[str]:
    """Year, Planner, trick and whose turn, as short texts."""
    rules, turn = view["rules"], view["turn"]
    year = view["year"]
    famine = " (Famine)" if year == rules["famine_year"] else ""
    tricks = rules["tricks"] - bool(famine)
    planner = "you" if view["planner"] == you else f"seat {view['planner']}"
    parts = [f"Year {year} of {rules['years']}{famine}", f"Planner {planner}"]
    if turn["phase"] == "over":
        return [*parts, "the game is over"]
    if turn["phase"] in ("play", "assign"):
        parts.append(f"trick {view['trick_number']} of {tricks}")
    if turn["seat"] == you:
        return [*parts, "your turn"]
    return [*parts, f"seat {turn['seat']} {DOES[turn['phase']]}"]


#: What the seat to act does, by phase.
DOES = {
    "trump": "chooses trump",
    "swap_take": "may swap",
    "swap_give": "gives a card for the swap",
    "play": "plays",
    "assign": "assigns Workers",
    "requisition": "chooses what goes North",
}
