"""Where the cards of a plain game come from: a record, the engine, or a shuffle."""

import random
from typing import Any, Protocol

from .plain_rules import SABOTEUR, PlainRules, rank_of


class DealProvider(Protocol):
    """Chance, taken out of the game. `deck` is the Workers Deck as it stands, sorted as text."""

    def first_planner(self) -> int: ...

    def reward_piles(self) -> dict[str, list[str]]:
        """For each crop its reward pile in the order it will be revealed."""

    def hands(self, year: int, deck: list[str]) -> list[list[str]]:
        """The hands of a year, by seat."""

    def famine_card(self, year: int, deck: list[str]) -> str:
        """The Worker revealed in the Famine year from what is left after the deal."""


class RecordedDeals:
    """The deals of a game record."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    def first_planner(self) -> int:
        return self.record["first_planner"]

    def reward_piles(self) -> dict[str, list[str]]:
        return {crop: list(pile) for crop, pile in self.record["reward_piles"].items()}

    def hands(self, year: int, deck: list[str]) -> list[list[str]]:
        return [list(hand) for hand in self.record["years"][year - 1]["hands"]]

    def famine_card(self, year: int, deck: list[str]) -> str:
        return self.record["years"][year - 1]["famine_card"]


class ShuffledDeals:
    """Deals as at a table: shuffle and deal."""

    def __init__(self, rules: PlainRules, seed: int) -> None:
        self.rules = rules
        self.random = random.Random(seed)

    def first_planner(self) -> int:
        if self.rules.first_planner is not None:
            return self.rules.first_planner
        return self.random.randrange(self.rules.players)

    def reward_piles(self) -> dict[str, list[str]]:
        piles = {}
        for crop in self.rules.crop_letters:
            own = [card for card in self.rules.all_cards() if card[0] == crop and card != SABOTEUR]
            pile = [card for card in own if rank_of(card) <= self.rules.low_rewards]
            high = [card for card in own if rank_of(card) > self.rules.low_rewards]
            pile.append(self.random.choice(high))
            self.random.shuffle(pile)
            piles[crop] = pile
        return piles

    def hands(self, year: int, deck: list[str]) -> list[list[str]]:
        shuffled = list(deck)
        self.random.shuffle(shuffled)
        size = self.rules.hand_size(year)
        return [shuffled[seat * size : (seat + 1) * size] for seat in range(self.rules.players)]

    def famine_card(self, year: int, deck: list[str]) -> str:
        return self.random.choice(deck)
