"""What can vary in a game of Kolkhoz: an immutable, validated value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from kolkhoz_env.errors import RulesError

#: Names of the phases by code. The last one is no decision: the game is over.
PHASES = ("trump", "swap_take", "swap_give", "play", "assign", "requisition", "over")
TRUMP, SWAP_TAKE, SWAP_GIVE, PLAY, ASSIGN, REQUISITION, OVER = range(7)

#: Hours that complete a field, by number of players. Three and four are printed; the two-player
#: game exists only among the small games and continues the row.
PRINTED_QUOTA = {2: 24, 3: 32, 4: 40}

MAX_YEARS = 5
MAX_PLAYERS = 4


@dataclass(frozen=True)
class Rules:
    """The rules of one game. Defaults are the printed four-player game.

    Args:
        players: number of seats, 2 to 4 (the printed game has 3 or 4).
        quota: hours that complete a field; ``None`` takes the printed figure for ``players``.
        hero_of_labor: the winner of every trick of a year is exempt and all others are inspected.
        first_planner: seat of the first Planner; ``None`` draws it from the game's seed.
        years: number of years played, 1 to 5.
        famine_year: the year played as Famine (one card and one trick less, trump revealed);
            0 for none. Later than ``years`` means that it never comes.
        swaps: whether seats may swap from Year 2 on.
        saboteur: whether the Saboteur is in the deck.
        auto_forced: decisions with one legal action are made by the engine.
        crops: number of crops in the deck, 1 to 4 (small games).
        ranks: highest rank of a crop, 2 to 13 (small games).
        tricks: tricks of a full year, 1 to 4; a hand has one card more (small games).
        low_rewards: ranks Ace .. ``low_rewards`` of each crop start in its reward pile, together
            with one hidden higher card (small games; 4 in the printed game).

    Raises:
        RulesError: names the key, its value and what is allowed.
    """

    players: int = 4
    quota: int | None = None
    hero_of_labor: bool = True
    first_planner: int | None = None
    years: int = 5
    famine_year: int = 5
    swaps: bool = True
    saboteur: bool = True
    auto_forced: bool = False
    crops: int = 4
    ranks: int = 13
    tricks: int = 4
    low_rewards: int = 4

    def __post_init__(self) -> None:
        _check_int(self.players, "players", 2, MAX_PLAYERS)
        _check_int(self.years, "years", 1, MAX_YEARS)
        _check_int(self.famine_year, "famine_year", 0, MAX_YEARS)
        _check_int(self.crops, "crops", 1, 4)
        _check_int(self.ranks, "ranks", 2, 13)
        _check_int(self.tricks, "tricks", 1, 4)
        _check_int(self.low_rewards, "low_rewards", 0, min(4, self.ranks - 1))
        if self.quota is not None:
            _check_int(self.quota, "quota", 1, 400)
        if self.first_planner is not None:
            _check_int(self.first_planner, "first_planner", 0, self.players - 1)
        for key in ("hero_of_labor", "swaps", "saboteur", "auto_forced"):
            if not isinstance(getattr(self, key), bool):
                raise RulesError(f"rules.{key}: {getattr(self, key)!r} is not true or false")
        self._check_deck()

    def _check_deck(self) -> None:
        if self.low_rewards + 1 < self.years:
            raise RulesError(
                f"rules.low_rewards: {self.low_rewards} gives reward piles of "
                f"{self.low_rewards + 1} cards, too few for {self.years} years"
            )
        if self.famine_year and self.famine_year <= self.years and self.tricks < 2:
            raise RulesError("rules.tricks: a Famine year needs at least 2 tricks in a full year")
        for year in range(1, self.years + 1):
            workers = self.workers_in(year)
            # In the Famine one more is revealed. Without the Saboteur none may be left for that
            # (as with four players), and the year has no trump; with it there must be one, so
            # that the Saboteur is never in play in a year without trump.
            revealed = year == self.famine_year and self.saboteur
            needed = self.players * self.hand_size(year) + revealed
            if workers < needed:
                raise RulesError(
                    f"rules: the Workers Deck of year {year} has {workers} cards, "
                    f"{needed} are needed"
                )

    @cached_property
    def field_quota(self) -> int:
        """Hours that complete a field."""
        return PRINTED_QUOTA[self.players] if self.quota is None else self.quota

    @cached_property
    def deck(self) -> int:
        """Bitboard of all cards of the game."""
        crop = (1 << self.ranks) - 1
        return sum(crop << (13 * c) for c in range(self.crops)) | (self.saboteur << 52)

    @cached_property
    def pile_size(self) -> int:
        """Cards in each reward pile at the start."""
        return self.low_rewards + 1

    def workers_in(self, year: int) -> int:
        """Cards in the Workers Deck of a year.

        Each seat banks one Worker a year and the Famine sends one North; a swap with the Plot or
        Cellar is one for one.
        """
        workers = self.crops * (self.ranks - self.low_rewards - 1) + self.saboteur
        after_famine = 0 < self.famine_year < year
        return workers - self.players * (year - 1) - after_famine

    def reveals_in(self, year: int) -> bool:
        """Whether a Worker is revealed in a year: in the Famine, if one is left after the deal."""
        dealt = self.players * self.hand_size(year)
        return year == self.famine_year and self.workers_in(year) > dealt

    def tricks_in(self, year: int) -> int:
        """Tricks of a year (1-based): one less in the Famine year."""
        return self.tricks - (year == self.famine_year)

    def hand_size(self, year: int) -> int:
        """Cards dealt to each seat in a year: one more than its tricks, which is banked."""
        return self.tricks_in(year) + 1

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain JSON values; :meth:`from_dict` takes them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Rules from plain values; unknown keys and wrong values raise :class:`RulesError`."""
        if not isinstance(values, Mapping):
            raise RulesError(f"rules: {values!r} is not a table of rules")
        known = [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                raise RulesError(f"rules.{key}: no such rule; known are {', '.join(known)}")
        return cls(**values)


def _check_int(value: Any, key: str, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RulesError(f"rules.{key}: {value!r} is not a whole number from {low} to {high}")
