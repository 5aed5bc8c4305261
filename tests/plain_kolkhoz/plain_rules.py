"""What can vary in a game, and the handful of facts about cards that follow from it.

Conventions of the recorded games, found by replaying all of them:

* A card is its crop letter and rank, `W1` .. `B13`; the Saboteur is `X0`.
* Lists of cards without an order of their own are sorted as text, so `B10` stands before `B9` and
  `X0` last: hands as dealt, legal cards, Plots, Cellars, the North.
* Lists of crops (legal crops, failed fields) stand in the printed order W, S, P, B.
* The legal moves of `swap_take` are the cards, sorted as text, and then `pass`.
* The cards of a trick are assigned in the order in which they were played.
* Reward piles are listed in the order revealed.
"""

from dataclasses import dataclass

PRINTED_CROPS = ("W", "S", "P", "B")
SABOTEUR = "X0"
PASS = "pass"


@dataclass(frozen=True)
class PlainRules:
    """The options of a game; `quota=None` stands for the printed quota of the number of players."""

    players: int = 4
    quota: int | None = None
    hero_of_labor: bool = True
    first_planner: int | None = None
    years: int = 5
    famine_year: int = 5
    swaps: bool = True
    saboteur: bool = True
    crops: int = 4
    ranks: int = 13
    tricks: int = 4
    low_rewards: int = 4

    @property
    def crop_letters(self) -> tuple[str, ...]:
        return PRINTED_CROPS[: self.crops]

    @property
    def hours_needed(self) -> int:
        if self.quota is not None:
            return self.quota
        return {2: 24, 3: 32, 4: 40}[self.players]

    def is_famine(self, year: int) -> bool:
        return year == self.famine_year

    def tricks_in(self, year: int) -> int:
        return self.tricks - 1 if self.is_famine(year) else self.tricks

    def hand_size(self, year: int) -> int:
        """One card more than there are tricks: the last one is banked."""
        return self.tricks_in(year) + 1

    def all_cards(self) -> list[str]:
        cards = [
            crop + str(rank) for crop in self.crop_letters for rank in range(1, self.ranks + 1)
        ]
        return [*cards, SABOTEUR] if self.saboteur else cards


def crop_of(card: str) -> str:
    """The crop letter; `X` for the Saboteur."""
    return card[0]


def rank_of(card: str) -> int:
    return int(card[1:])
