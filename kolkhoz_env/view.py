"""A seat's view: what a seat may know, as JSON values that any front end can write and read.

Format ``kolkhoz-view/1``. Seats are absolute; cards, crops and moves are texts; a list that stands
for a set is written in the order of records (sorted as text) and read in any order:

==================  ==============================================================================
``format``          ``"kolkhoz-view/1"``
``rules``           the rules; a rule left out has its default
``seat``            the seat that knows all this
``turn``            ``{"seat": 2, "phase": "play"}``; ``{"seat": null, "phase": "over"}`` at the end
``year``            1 ..
``planner``         seat
``trump``           crop; null before the choice and in a year without trump
``trick_number``    1 for the first trick of the year; stays at the last one until the year ends
``leader``          seat that leads or led the trick
``hand``            own cards
``hand_sizes``      by seat
``known_in_hand``   by seat: cards publicly known to be in that hand
``voids``           by seat: crops that the seat has shown this year not to hold
``plots``           by seat
``cellars``         by seat: its places, see below
``fields``          by crop: ``{"hours": 12, "reward": "W3", "claimed": false, "cards": [..]}``;
                    ``reward`` is null once it is claimed or gone North
``trick``           as played: ``{"seat": 3, "card": "W9", "assigned": false}``
``assign_card``     the card of the trick to assign now; null outside that phase
``swaps``           by seat: null, ``"pass"``, ``{"zone": "plot"}`` or
                    ``{"zone": "cellar", "banked": 2}``; set from ``swap_take`` on
``taken``           in ``swap_give``, the card picked, if the seat may know it; else null
``medals``          by seat: Medals won this year
``north``           cards in the North
``rewards_revealed``  by crop: the rewards revealed so far, one a year
``last_seen``       by card: the last year in which it lay where everybody knew it or was dealt to
                    the seat; cards never seen are left out
``failed``          crops of the failed fields, at requisition and when the game is over
``inspected``       seats, as above
``to_send``         cards that the acting owner has still to choose for the North
``legal``           legal moves of the seat; empty when it is not its turn
==================  ==============================================================================

A Cellar place is ``{"banked": 1, "since": 3, "card": null, "public": false, "highest": {"W": 13,
..}, "saboteur": true}``: the year whose banking filled the place; the year since which its card has
lain there (a swap renews it); the card if the seat may know it; whether everybody knows it; for
each crop the highest rank that the public can't rule out (13 says nothing, 0 none); and whether it
may be the Saboteur for all that the public knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kolkhoz_env.cards import CROPS, NUM_CROPS, action_name, card_name
from kolkhoz_env.knowledge import Knowledge, last_seen_planes
from kolkhoz_env.rules import ASSIGN, OVER, PHASES, REQUISITION, Rules
from kolkhoz_env.state import (
    EMPTY,
    PLACE_HIGHEST,
    PLACE_PUBLIC,
    PLACE_SABOTEUR,
    PLACE_SINCE,
    SWAP_CELLAR,
    SWAP_NONE,
    SWAP_PASS,
    SWAP_PLOT,
)
from kolkhoz_env.view_reader import FORMAT, read_views

#: Arrays of a state that a view tells of.
_ARRAYS = (
    "year", "planner", "phase", "seat", "trump", "hands", "plots", "cellars", "places", "known",
    "voids", "north", "piles", "rewards", "claimed", "fields", "hours", "trick", "trick_size",
    "trick_number", "leader", "assigned", "medals", "swaps", "taken", "failed", "inspected",
    "to_send",
)  # fmt: skip


def make_view(knowledge: Knowledge, row: int = 0) -> dict[str, Any]:
    """The view of one game of a batch, as JSON values."""
    return make_views(knowledge.take(np.array([row])))[0]


def make_views(knowledge: Knowledge) -> list[dict[str, Any]]:
    """The views of all games of a batch, as JSON values."""
    state = knowledge.state
    columns = {name: getattr(state, name).tolist() for name in _ARRAYS}
    columns["knower"] = knowledge.seats.tolist()
    columns["hand_sizes"] = knowledge.hand_sizes().tolist()
    columns["legal"] = knowledge.legal_actions().tolist()
    columns["planes"] = last_seen_planes(state, knowledge.seats).tolist()
    rows = zip(*columns.values(), strict=True)
    games = [dict(zip(columns, values, strict=True)) for values in rows]
    return [_view(game, knowledge.rules) for game in games]


def read_view(view: Mapping[str, Any] | str) -> Knowledge:
    """What a view tells, as a batch of one game; the inverse of :func:`make_view`.

    Raises:
        ViewError: the view is malformed or describes no possible position; names the field.
    """
    return read_views([view])


def view_text(view: Mapping[str, Any]) -> str:
    """A view as one line of text, which :func:`read_view` takes back."""
    return json.dumps(view, separators=(",", ":"), allow_nan=False)


def _view(game: dict[str, Any], rules: Rules) -> dict[str, Any]:
    crops = CROPS[: rules.crops]
    phase, year, leader = game["phase"], game["year"], game["leader"]
    assigned = game["assigned"]
    trick = game["trick"][: game["trick_size"]]
    done = game["trick_number"] + (phase not in (REQUISITION, OVER))
    legal = game["legal"]
    return {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "seat": game["knower"],
        "turn": {"seat": None if phase == OVER else game["seat"], "phase": PHASES[phase]},
        "year": year,
        "planner": game["planner"],
        "trump": CROPS[game["trump"]] if game["trump"] < NUM_CROPS else None,
        "trick_number": done,
        "leader": leader,
        "hand": _names(game["hands"][game["knower"]]),
        "hand_sizes": game["hand_sizes"],
        "known_in_hand": [[] if card == EMPTY else [card_name(card)] for card in game["known"]],
        "voids": [_crops(bits) for bits in game["voids"]],
        "plots": [_names(plot) for plot in game["plots"]],
        "cellars": [
            _cellar(cards, places, crops)
            for cards, places in zip(game["cellars"], game["places"], strict=True)
        ],
        "fields": _fields(game, crops),
        "trick": [
            {
                "seat": (leader + place) % rules.players,
                "card": card_name(card),
                "assigned": place < assigned,
            }
            for place, card in enumerate(trick)
        ],
        "assign_card": card_name(trick[assigned]) if phase == ASSIGN else None,
        "swaps": [_swap(swap) for swap in game["swaps"]],
        "taken": None if game["taken"] == EMPTY else card_name(game["taken"]),
        "medals": game["medals"],
        "north": _names(game["north"]),
        "rewards_revealed": {
            crop: [card_name(card) for card in pile[:year]]
            for crop, pile in zip(crops, game["piles"], strict=False)
        },
        "last_seen": _last_seen(game["planes"]),
        "failed": _crops(game["failed"]),
        "inspected": [seat for seat in range(rules.players) if game["inspected"] >> seat & 1],
        "to_send": game["to_send"],
        "legal": _names(legal & ((1 << 53) - 1)) + [action_name(a) for a in _bits(legal >> 53, 53)],
    }


def _bits(bits: int, start: int = 0) -> Iterable[int]:
    """Numbers of the bits set, counted from ``start``, rising."""
    while bits:
        yield start + (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _names(zone: int) -> list[str]:
    """Text forms of the cards of a zone in the order of records."""
    return sorted(card_name(card) for card in _bits(zone))


def _crops(bits: int) -> list[str]:
    return [crop for c, crop in enumerate(CROPS) if bits >> c & 1]


def _cellar(cards: list[int], places: list[list[int]], crops: str) -> list[dict[str, Any]]:
    return [
        {
            "banked": year,
            "since": facts[PLACE_SINCE],
            "card": card_name(card) if card >= 0 else None,
            "public": bool(facts[PLACE_PUBLIC]),
            "highest": {crop: facts[PLACE_HIGHEST + c] for c, crop in enumerate(crops)},
            "saboteur": bool(facts[PLACE_SABOTEUR]),
        }
        for year, (card, facts) in enumerate(zip(cards, places, strict=True), start=1)
        if card != EMPTY
    ]


def _fields(game: dict[str, Any], crops: str) -> dict[str, dict[str, Any]]:
    fields = {}
    for c, (crop, cards) in enumerate(zip(crops, game["fields"], strict=False)):
        reward = _names(game["rewards"] >> 13 * c & 0x1FFF)
        fields[crop] = {
            "hours": game["hours"][c],
            "reward": crop + reward[0][1:] if reward else None,
            "claimed": bool(game["claimed"] >> c & 1),
            "cards": sorted(card_name(card) for card, there in enumerate(cards) if there),
        }
    return fields


def _swap(swap: int) -> str | dict[str, Any] | None:
    if swap == SWAP_NONE:
        return None
    if swap == SWAP_PASS:
        return "pass"
    if swap == SWAP_PLOT:
        return {"zone": "plot"}
    return {"zone": "cellar", "banked": swap - SWAP_CELLAR + 1}


def _last_seen(planes: list[int]) -> dict[str, int]:
    """Years by card; ``planes[y]`` holds the cards seen in year ``y + 1`` or later."""
    years = {}
    for card in _bits(planes[0]):
        years[card_name(card)] = sum(plane >> card & 1 for plane in planes)
    return dict(sorted(years.items()))


__all__ = ["FORMAT", "make_view", "make_views", "read_view", "read_views", "view_text"]
