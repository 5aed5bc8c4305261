"""From views to knowledge: the form of every field, then whether the position is possible.

What follows from other fields (hours, hand sizes, legal moves, failed fields ...) must be as it
follows, so that a front end that has counted wrongly learns it here, by the field's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from kolkhoz_env import view_fields as form
from kolkhoz_env.cards import CROPS, NO_CROP, RANK, SABOTEUR, card_name, cards_in
from kolkhoz_env.derived import derive
from kolkhoz_env.errors import RulesError, ViewError
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import OVER, PHASES, REQUISITION, SWAP_GIVE, SWAP_TAKE, Rules
from kolkhoz_env.state import (
    EMPTY,
    HIDDEN,
    MAX_YEARS,
    PLACE_HIGHEST,
    PLACE_PUBLIC,
    PLACE_SABOTEUR,
    PLACE_SINCE,
    PLACE_SWAPPED,
    SWAP_CELLAR,
    SWAP_NONE,
    SWAP_PASS,
    SWAP_PLOT,
    State,
    empty_state,
)
from kolkhoz_env.tricks import CROP_SET, STRENGTH
from kolkhoz_env.view_checks import check_position
from kolkhoz_env.view_fields import refuse

FORMAT = "kolkhoz-view/1"

KEYS = (
    "format", "rules", "seat", "turn", "year", "planner", "trump", "trick_number", "leader",
    "hand", "hand_sizes", "known_in_hand", "voids", "plots", "cellars", "fields", "trick",
    "assign_card", "swaps", "taken", "medals", "north", "rewards_revealed", "last_seen", "failed",
    "inspected", "to_send", "legal",
)  # fmt: skip
_PLACE_KEYS = ("banked", "since", "card", "public", "highest", "saboteur")
_FIELD_KEYS = ("hours", "reward", "claimed", "cards")
_RANKS = RANK.tolist()
_STRENGTH = STRENGTH.tolist()
_CROP_SET = CROP_SET.tolist()


def read_views(views: Sequence[Mapping[str, Any] | str]) -> Knowledge:
    """What views of games of the same rules tell, as one batch.

    Raises:
        ViewError: a view is malformed or describes no possible position; names the field.
    """
    games = [_read(view) for view in views]
    if not games:
        refuse("views", "none are given")
    rules = games[0].rules
    state = empty_state(len(games), rules)
    for row, game in enumerate(games):
        if game.rules != rules:
            refuse("rules", "not those of the first view; views read together share theirs")
        game.fill(state, row)
    derive(state)
    seats = np.array([game.knower for game in games], dtype=np.int8)
    # Others have seen what was public, but the views don't tell that from the seat's own deal.
    state.last_seen[np.arange(rules.players) != seats[:, None]] = 0
    return Knowledge(state, seats, rules)


def _read(view: Mapping[str, Any] | str) -> Game:
    if isinstance(view, str):
        view = form.parse_text(view)
    if isinstance(view, Mapping) and view.get("format") != FORMAT:
        given = form.short(view.get("format"))
        refuse("format", f"{given} is not {FORMAT!r}, the form that is read here")
    game = Game(form.table(view, "view", KEYS))
    check_position(game)
    return game


@lru_cache(maxsize=64)
def _rules(items: tuple[tuple[str, type, Any], ...]) -> Rules:
    return Rules.from_dict({key: value for key, _, value in items})


def _read_rules(value: Any) -> Rules:
    if not isinstance(value, Mapping):
        refuse("rules", f"{form.short(value)} is not an object")
    try:
        return _rules(tuple((key, type(entry), entry) for key, entry in value.items()))
    except TypeError:
        refuse("rules", f"{form.short(value)} holds lists or objects; a rule is a plain value")
    except RulesError as error:
        raise ViewError(str(error)) from None


class Game:
    """One view in numbers: zones are whole numbers used as bitboards."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.rules = rules = _read_rules(view["rules"])
        self.crops = CROPS[: rules.crops]
        self.deck = rules.deck
        self.seats = range(rules.players)
        self.knower = self._seat(view["seat"], "seat")
        self._turn(view["turn"])
        self.year = form.whole(view["year"], "year", 1, rules.years)
        self.tricks = rules.tricks_in(self.year)
        self.planner = self._seat(view["planner"], "planner")
        self.trump = form.crop(view["trump"], "trump", self.crops)
        self.number = form.whole(view["trick_number"], "trick_number", 1, self.tricks)
        self.done = self.number - (self.phase not in (REQUISITION, OVER))
        self.leader = self._seat(view["leader"], "leader")
        self.hand = form.zone(view["hand"], "hand", self.deck)
        self.hand_sizes = self._by_seat(view, "hand_sizes", self._count)
        self.known = self._by_seat(view, "known_in_hand", self._known)
        self.voids = self._by_seat(view, "voids", self._crop_set)
        self.plots = self._by_seat(view, "plots", self._zone)
        self._cellars(form.listed(view["cellars"], "cellars", rules.players))
        self._fields(form.table(view["fields"], "fields", self.crops))
        self._trick(form.listed(view["trick"], "trick"))
        self.assign_card = self._card_or_none(view["assign_card"], "assign_card")
        self.swaps = self._by_seat(view, "swaps", self._swap)
        self.taken = self._card_or_none(view["taken"], "taken")
        self.medals = self._by_seat(view, "medals", self._count)
        self.north = form.zone(view["north"], "north", self.deck)
        self._piles(form.table(view["rewards_revealed"], "rewards_revealed", self.crops))
        self._last_seen(view["last_seen"])
        self.failed = form.crop_set(view["failed"], "failed", self.crops)
        self.inspected = self._seat_set(view["inspected"], "inspected")
        self.to_send = form.whole(view["to_send"], "to_send", 0, 4)
        self.legal = form.moves(view["legal"], "legal")

    # One field or entry each

    def _by_seat(self, view: Mapping[str, Any], field: str, read: Any) -> list[Any]:
        entries = form.listed(view[field], field, self.rules.players)
        return [read(entry, f"{field}[{seat}]") for seat, entry in enumerate(entries)]

    def _seat(self, value: Any, field: str) -> int:
        return form.whole(value, field, 0, self.rules.players - 1)

    def _seat_set(self, value: Any, field: str) -> int:
        bits = 0
        for entry in form.listed(value, field):
            bit = 1 << self._seat(entry, field)
            if bits & bit:
                refuse(field, f"seat {entry} stands twice")
            bits |= bit
        return bits

    def _count(self, value: Any, field: str) -> int:
        return form.whole(value, field, 0, 5)

    def _zone(self, value: Any, field: str) -> int:
        return form.zone(value, field, self.deck)

    def _crop_set(self, value: Any, field: str) -> int:
        return form.crop_set(value, field, self.crops)

    def _card_or_none(self, value: Any, field: str) -> int:
        return EMPTY if value is None else form.card(value, field, self.deck)

    def _known(self, value: Any, field: str) -> int:
        if len(form.listed(value, field)) > 1:
            refuse(field, f"{form.short(value)}: no more than one card can be known in a hand")
        return form.card(value[0], field, self.deck) if value else EMPTY

    def _turn(self, value: Any) -> None:
        turn = form.table(value, "turn", ("seat", "phase"))
        if turn["phase"] not in PHASES:
            refuse("turn.phase", f"{form.short(turn['phase'])} is not one of {', '.join(PHASES)}")
        self.phase = PHASES.index(turn["phase"])
        if self.phase == OVER and turn["seat"] is not None:
            refuse("turn.seat", "must be null when the game is over")
        self.turn = -1 if self.phase == OVER else self._seat(turn["seat"], "turn.seat")

    def _cellars(self, value: list[Any]) -> None:
        self.cellars = [[EMPTY] * MAX_YEARS for _ in value]
        self.places = [[[0] * 8 for _ in range(MAX_YEARS)] for _ in value]
        for seat, entries in enumerate(value):
            for index, entry in enumerate(form.listed(entries, f"cellars[{seat}]")):
                self._place(seat, entry, f"cellars[{seat}][{index}]")

    def _place(self, seat: int, value: Any, field: str) -> None:
        place = form.table(value, field, _PLACE_KEYS)
        year = form.whole(place["banked"], f"{field}.banked", 1, self.year)
        if self.cellars[seat][year - 1] != EMPTY:
            refuse(f"{field}.banked", f"two places of year {year}")
        since = form.whole(place["since"], f"{field}.since", year, self.year)
        public = form.flag(place["public"], f"{field}.public")
        card = self._card_or_none(place["card"], f"{field}.card")
        if (card == EMPTY) == (public or seat == self.knower):
            known = "known to the seat, so it must be named" if card == EMPTY else "must be null"
            refuse(f"{field}.card", known)
        highest = form.table(place["highest"], f"{field}.highest", self.crops)
        ranks = [form.whole(highest[c], f"{field}.highest.{c}", 0, 13) for c in self.crops]
        saboteur = form.flag(place["saboteur"], f"{field}.saboteur")
        facts = self.places[seat][year - 1]
        facts[PLACE_SINCE], facts[PLACE_PUBLIC] = since, int(public)
        facts[PLACE_SWAPPED] = int(since > year)
        facts[PLACE_HIGHEST : PLACE_HIGHEST + 4] = ranks + [13] * (4 - len(ranks))
        facts[PLACE_SABOTEUR] = int(saboteur)
        if card == SABOTEUR:
            possible = saboteur
        else:
            possible = card == EMPTY or _RANKS[card] <= highest[CROPS[card // 13]]
        if not possible:
            refuse(f"{field}.card", f"{card_name(card)} is ruled out by highest and saboteur")
        self.cellars[seat][year - 1] = HIDDEN if card == EMPTY else card

    def _fields(self, value: Mapping[str, Any]) -> None:
        self.fields, self.hours, self.claimed, self.rewards = [], [], 0, {}
        for c, crop in enumerate(self.crops):
            field = f"fields.{crop}"
            entry = form.table(value[crop], field, _FIELD_KEYS)
            self.hours.append(form.whole(entry["hours"], f"{field}.hours", 0, 400))
            self.claimed |= form.flag(entry["claimed"], f"{field}.claimed") << c
            self.fields.append(form.zone(entry["cards"], f"{field}.cards", self.deck))
            self.rewards[crop] = self._card_or_none(entry["reward"], f"{field}.reward")

    def _trick(self, value: list[Any]) -> None:
        self.trick: list[int] = []
        self.assigned = 0
        players = self.rules.players
        if len(value) > players:
            refuse("trick", f"{len(value)} cards of {players} seats")
        for index, entry in enumerate(value):
            field = f"trick[{index}]"
            played = form.table(entry, field, ("seat", "card", "assigned"))
            if self._seat(played["seat"], f"{field}.seat") != (self.leader + index) % players:
                refuse(f"{field}.seat", "not the next seat after the leader, clockwise")
            self.trick.append(form.card(played["card"], f"{field}.card", self.deck))
            if form.flag(played["assigned"], f"{field}.assigned"):
                if self.assigned < index:
                    refuse(f"{field}.assigned", "cards are assigned in the order played")
                self.assigned += 1
        self.led = self.trick[0] // 13 if self.trick else NO_CROP
        best = [_STRENGTH[self.trump][self.led][card] for card in self.trick]
        self.best = max(best, default=0)
        first = best.index(self.best) if best else 0
        self.winner = (self.leader + first) % players if best else 0

    def _swap(self, value: Any, field: str) -> int:
        if value is None:
            return SWAP_NONE
        if value == "pass":
            return SWAP_PASS
        if isinstance(value, Mapping) and value.get("zone") == "plot":
            form.table(value, field, ("zone",))
            return SWAP_PLOT
        swap = form.table(value, field, ("zone", "banked"))
        if swap["zone"] != "cellar":
            refuse(f"{field}.zone", f"{form.short(swap['zone'])} is neither 'plot' nor 'cellar'")
        return SWAP_CELLAR - 1 + form.whole(swap["banked"], f"{field}.banked", 1, self.year)

    def _piles(self, value: Mapping[str, Any]) -> None:
        self.piles = []
        for crop in self.crops:
            field = f"rewards_revealed.{crop}"
            pile = [form.card(name, field, self.deck) for name in form.listed(value[crop], field)]
            if len(pile) != self.year:
                refuse(field, f"{len(pile)} rewards in year {self.year}; one a year is revealed")
            if len(set(pile)) != len(pile) or any(card_name(card)[0] != crop for card in pile):
                refuse(field, f"not {self.year} different cards of {crop}")
            self.piles.append(pile)

    def _last_seen(self, value: Any) -> None:
        if not isinstance(value, Mapping):
            refuse("last_seen", f"{form.short(value)} is not an object")
        self.seen = [0] * MAX_YEARS
        for name, year in value.items():
            card = form.card(name, "last_seen", self.deck)
            self.seen[form.whole(year, f"last_seen.{name}", 1, self.year) - 1] |= 1 << card

    # Into the arrays

    def fill(self, state: State, row: int) -> None:
        """Write the game into row ``row`` of an empty state."""
        numbers = {
            "year": self.year, "planner": self.planner, "phase": self.phase, "seat": self.turn,
            "trump": self.trump, "voids": self.voids, "plots": self.plots, "known": self.known,
            "cellars": self.cellars, "places": self.places, "north": self.north,
            "claimed": self.claimed, "trick_size": len(self.trick), "trick_number": self.done,
            "leader": self.leader, "led": self.led,
            "best": self.best, "winner": self.winner, "assigned": self.assigned,
            "medals": self.medals, "swaps": self.swaps, "taken": self.taken,
            "failed": self.failed, "inspected": self.inspected, "to_send": self.to_send,
            "seen": self.seen, "rewards": self.unclaimed,
        }  # fmt: skip
        for name, value in numbers.items():
            getattr(state, name)[row] = value
        state.hands[row, self.knower] = self.hand
        state.trick[row, : len(self.trick)] = self.trick
        for crop, cards in enumerate(self.fields):
            state.fields[row, crop, cards_in(cards)] = 1
        state.hours[row, : len(self.crops)] = self.hours
        for crop, pile in enumerate(self.piles):
            state.piles[row, crop, : self.year] = pile
            state.revealed[row, crop, : self.year] = [_RANKS[card] for card in pile]
        for card in self.trick:
            state.crops[row] |= _CROP_SET[card]
        public = state.places[row, :, :, PLACE_PUBLIC] == 1
        lying = state.cellars[row] != EMPTY
        state.faces[row] = np.where(public, state.cellars[row], np.where(lying, HIDDEN, EMPTY))
        if self.phase in (SWAP_TAKE, SWAP_GIVE, REQUISITION):
            state.cursor[row] = (self.turn - self.planner - 1) % self.rules.players
        if self.phase == REQUISITION and self.turn == self.knower:
            state.tied[row] = self.legal

    @property
    def unclaimed(self) -> int:
        """Rewards that lie beside their fields."""
        return sum(1 << card for card in self.rewards.values() if card != EMPTY)
