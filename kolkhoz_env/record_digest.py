"""A year of a recorded game put in words that a report needs: swaps, tricks, fields, losses.

A record lists decisions; what they came to (who was Brigadier, who crossed a quota, what was
banked, what went North) follows from them. `digest` works that out from a complete record, one
whose years hold `trump` and `end`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kolkhoz_env.cards import CROPS
from kolkhoz_env.rules import Rules


@dataclass
class Swap:
    """One seat's swap: what it took into its hand and what it gave; both None if it passed."""

    seat: int
    took: str | None = None
    gave: str | None = None


@dataclass
class Trick:
    """Cards in the order played, as (seat, card), and where the Brigadier sent each."""

    plays: list[tuple[int, str]] = field(default_factory=list)
    brigadier: int = -1
    assigned: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Field:
    """A crop's field at the end of the year."""

    reward: str
    hours: int = 0
    cards: list[str] = field(default_factory=list)
    claimed_by: int | None = None
    failed: bool = False


@dataclass
class Holding:
    """What became of a seat's holding in a year."""

    medals: int
    banked: str | None
    north: list[str]
    plot: list[str]
    cellar: list[str]

    @property
    def score(self) -> int:
        """Sum of the ranks in Plot and Cellar."""
        return sum(rank(card) for card in [*self.plot, *self.cellar])


@dataclass
class Year:
    """A whole year."""

    number: int
    planner: int
    trump: str | None
    famine_card: str | None
    hands: list[list[str]]
    swaps: list[Swap]
    tricks: list[Trick]
    fields: dict[str, Field]
    holdings: list[Holding]


def rank(card: str) -> int:
    """Rank of a card in text form; the Saboteur's is 0."""
    return int(card[1:])


def in_order(cards: list[str]) -> list[str]:
    """Cards by crop and falling rank, the Saboteur last."""
    return sorted(cards, key=lambda card: ((CROPS + "X").index(card[0]), -rank(card)))


def digest(record: dict[str, Any], index: int) -> Year:
    """Year `index` (0 for the first) of a complete record."""
    rules = Rules.from_dict(record["rules"])
    year = record["years"][index]
    end = year["end"]
    swaps, tricks = _swaps(year["moves"]), _tricks(year["moves"], rules.players)
    fields = {
        crop: Field(pile[index], failed=crop in end["failed"])
        for crop, pile in record["reward_piles"].items()
    }
    for trick in tricks:
        _work(trick, fields, rules.field_quota)
    before = record["years"][index - 1]["end"] if index else None
    holdings = []
    for seat in range(rules.players):
        held = [*before["plots"][seat], *before["cellars"][seat]] if before else []
        hand = list(year["hands"][seat])
        for swap in swaps:
            if swap.seat == seat and swap.took is not None and swap.gave is not None:
                held, hand = _exchange(held, hand, swap.took, swap.gave)
        played = {card for trick in tricks for who, card in trick.plays if who == seat}
        left = [card for card in hand if card not in played]
        held += [one.reward for one in fields.values() if one.claimed_by == seat] + left
        kept = {*end["plots"][seat], *end["cellars"][seat]}
        holdings.append(
            Holding(
                medals=end["medals"][seat],
                banked=left[0] if left else None,
                north=in_order([card for card in held if card not in kept]),
                plot=in_order(end["plots"][seat]),
                cellar=in_order(end["cellars"][seat]),
            )
        )
    return Year(
        number=year["year"], planner=year["planner"], trump=year["trump"],
        famine_card=year["famine_card"], hands=[in_order(hand) for hand in year["hands"]],
        swaps=swaps, tricks=tricks, fields=fields, holdings=holdings,
    )  # fmt: skip


def _exchange(
    held: list[str], hand: list[str], took: str, gave: str
) -> tuple[list[str], list[str]]:
    # A seat may give back the very card that it took: then nothing has changed.
    held = [card for card in held if card != took]
    hand = [card for card in [*hand, took] if card != gave]
    return [*held, gave], hand


def _swaps(moves: list[dict[str, Any]]) -> list[Swap]:
    swaps: list[Swap] = []
    for move in moves:
        if move["phase"] == "swap_take":
            swaps.append(Swap(move["seat"], None if move["move"] == "pass" else move["move"]))
        elif move["phase"] == "swap_give":
            swaps[-1].gave = move["move"]
    return swaps


def _tricks(moves: list[dict[str, Any]], players: int) -> list[Trick]:
    tricks: list[Trick] = []
    for move in moves:
        if move["phase"] == "play":
            if not tricks or len(tricks[-1].plays) == players:
                tricks.append(Trick())
            tricks[-1].plays.append((move["seat"], move["move"]))
        elif move["phase"] == "assign":
            tricks[-1].brigadier = move["seat"]
            tricks[-1].assigned.append((move["card"], move["move"]))
    return tricks


def _work(trick: Trick, fields: dict[str, Field], quota: int) -> None:
    for card, crop in trick.assigned:
        place = fields[crop]
        place.cards.append(card)
        place.hours += rank(card)
        if place.claimed_by is None and place.hours >= quota:
            place.claimed_by = trick.brigadier
