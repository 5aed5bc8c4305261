"""The game of Kolkhoz in ordinary lists and sets, in the order of the printed rules."""

from dataclasses import dataclass
from typing import Any

from .deals import DealProvider
from .plain_rules import PASS, SABOTEUR, PlainRules, crop_of, rank_of


@dataclass(frozen=True)
class Position:
    """What the game waits for. `card` is the card to assign in the `assign` phase, else None."""

    seat: int
    phase: str
    legal: list[str]
    card: str | None = None


@dataclass
class Place:
    """One face-down place of a Cellar: the card in it and the year in which it was banked."""

    card: str
    banked: int


class PlainGame:
    """One game. `position` is None once the game is over; `apply` makes the move of `position`."""

    def __init__(self, rules: PlainRules, deals: DealProvider) -> None:
        self.rules = rules
        self.deals = deals
        self.crops = rules.crop_letters
        self.seats = range(rules.players)
        self.position: Position | None = None
        self.year_ends: list[dict[str, Any]] = []
        self.trumps: list[str | None] = []
        self.result: dict[str, Any] | None = None
        self._set_up()

    # Setup

    def _set_up(self) -> None:
        self.piles = self.deals.reward_piles()
        in_piles = {card for pile in self.piles.values() for card in pile}
        self.deck = {card for card in self.rules.all_cards() if card not in in_piles}
        self.plots: list[list[str]] = [[] for _ in self.seats]
        self.cellars: list[list[Place]] = [[] for _ in self.seats]
        self.north: list[str] = []
        self.planner = self.deals.first_planner()
        self.year = 0
        self._begin_year()

    # Planning

    def _begin_year(self) -> None:
        self.year += 1
        self._deal_hands()
        self.rewards: dict[str, str | None] = {crop: self.piles[crop].pop(0) for crop in self.crops}
        self.fields: dict[str, list[str]] = {crop: [] for crop in self.crops}
        self.medals = [0 for _ in self.seats]
        self.trick: list[tuple[int, str]] = []
        self.unassigned: list[str] = []
        self.trump: str | None = None
        self.famine_card: str | None = None
        self.failed: list[str] = []
        if self.rules.is_famine(self.year):
            self._reveal_famine_card()
            self._begin_swaps()
        else:
            self.position = Position(self.planner, "trump", list(self.crops))

    def _deal_hands(self) -> None:
        self.hands = self.deals.hands(self.year, sorted(self.deck))
        dealt = [card for hand in self.hands for card in hand]
        assert len(self.hands) == self.rules.players
        assert all(len(hand) == self.rules.hand_size(self.year) for hand in self.hands)
        assert len(set(dealt)) == len(dealt), "a card was dealt twice"
        assert set(dealt) <= self.deck, "a card was dealt that is not in the deck"
        self.deck -= set(dealt)

    def _reveal_famine_card(self) -> None:
        if not self.deck:
            return  # four players without the Saboteur hold every Worker: no trump
        card = self.deals.famine_card(self.year, sorted(self.deck))
        self.deck.remove(card)
        self.north.append(card)
        self.famine_card = card
        self.trump = None if card == SABOTEUR else crop_of(card)

    def _from_planners_left(self) -> list[int]:
        return [(self.planner + 1 + step) % self.rules.players for step in self.seats]

    # Swapping

    def _begin_swaps(self) -> None:
        swaps_allowed = self.rules.swaps and self.year >= 2
        self.to_swap = self._from_planners_left() if swaps_allowed else []
        self.taking: str | None = None
        self._next_swap()

    def _holdings(self, seat: int) -> list[str]:
        return self.plots[seat] + [place.card for place in self.cellars[seat]]

    def _next_swap(self) -> None:
        while self.to_swap and not self._holdings(self.to_swap[0]):
            self.to_swap.pop(0)
        if self.to_swap:
            seat = self.to_swap[0]
            self.position = Position(seat, "swap_take", [*sorted(self._holdings(seat)), PASS])
        else:
            self.leader = self._from_planners_left()[0]
            self._await_play(self.leader)

    def _exchange(self, seat: int, taken: str, given: str) -> None:
        hand = self.hands[seat]
        hand[hand.index(given)] = taken
        if taken in self.plots[seat]:
            self.plots[seat].remove(taken)
            self.plots[seat].append(given)
        else:
            for place in self.cellars[seat]:
                if place.card == taken:
                    place.card = given

    # Trick-taking

    def _await_play(self, seat: int) -> None:
        self.position = Position(seat, "play", sorted(self._playable(seat)))

    def _playable(self, seat: int) -> list[str]:
        hand = self.hands[seat]
        if not self.trick or self.trick[0][1] == SABOTEUR:
            return hand
        led = crop_of(self.trick[0][1])
        following = [card for card in hand if crop_of(card) == led or card == SABOTEUR]
        return following or hand

    def _winner_of_trick(self) -> int:
        led = crop_of(self.trick[0][1])
        trumps = [
            (rank_of(card), seat)
            for seat, card in self.trick
            if self.trump is not None and (crop_of(card) == self.trump or card == SABOTEUR)
        ]
        followers = [(rank_of(card), seat) for seat, card in self.trick if crop_of(card) == led]
        return max(trumps or followers)[1]

    def _end_trick(self) -> None:
        self.brigadier = self._winner_of_trick()
        self.medals[self.brigadier] += 1
        self.unassigned = [card for _, card in self.trick]
        self._await_assignment()

    # Assigning Workers

    def _await_assignment(self) -> None:
        appeared = {crop_of(card) for _, card in self.trick}
        if SABOTEUR in [card for _, card in self.trick]:
            appeared = set(self.crops)
        legal = [crop for crop in self.crops if crop in appeared]
        self.position = Position(self.brigadier, "assign", legal, self.unassigned[0])

    def hours(self, crop: str) -> int:
        return sum(rank_of(card) for card in self.fields[crop])

    def _assign(self, crop: str) -> None:
        self.fields[crop].append(self.unassigned.pop(0))
        reward = self.rewards[crop]
        if reward is not None and self.hours(crop) >= self.rules.hours_needed:
            self.plots[self.brigadier].append(reward)
            self.rewards[crop] = None
        if self.unassigned:
            self._await_assignment()
            return
        self.trick = []
        if sum(self.medals) < self.rules.tricks_in(self.year):
            self.leader = self.brigadier
            self._await_play(self.leader)
        else:
            self._bank()
            self._begin_requisition()

    # Banking

    def _bank(self) -> None:
        for seat in self.seats:
            (card,) = self.hands[seat]
            self.cellars[seat].append(Place(card, self.year))
            self.hands[seat] = []

    # Requisition

    def _begin_requisition(self) -> None:
        self.failed = [
            crop
            for crop in self.crops
            if self.hours(crop) < self.rules.hours_needed or SABOTEUR in self.fields[crop]
        ]
        self.to_inspect = [seat for seat in self._from_planners_left() if self._inspected(seat)]
        self._next_inspection()

    def _inspected(self, seat: int) -> bool:
        if self.rules.hero_of_labor and max(self.medals) == self.rules.tricks_in(self.year):
            return self.medals[seat] == 0
        return self.medals[seat] > 0

    def _next_inspection(self) -> None:
        while self.to_inspect:
            self.to_send = len(self.failed)
            if self._send_highest(self.to_inspect[0]):
                return
            self.to_inspect.pop(0)
        self._clean_up()

    def _pool(self, seat: int) -> list[str]:
        """The eligible cards, highest rank first."""
        eligible = [
            card
            for card in self._holdings(seat)
            if crop_of(card) in self.failed or (card == SABOTEUR and self.failed)
        ]
        return sorted(eligible, key=rank_of, reverse=True)

    def _send_highest(self, seat: int) -> bool:
        """Send what leaves no choice; True if the owner must choose among tied cards."""
        while self.to_send > 0 and self._pool(seat):
            pool = self._pool(seat)
            tied = [card for card in pool if rank_of(card) == rank_of(pool[0])]
            if len(tied) > self.to_send:
                self.position = Position(seat, "requisition", sorted(tied))
                return True
            for card in tied:
                self._send_north(seat, card)
        return False

    def _send_north(self, seat: int, card: str) -> None:
        self.plots[seat] = [held for held in self.plots[seat] if held != card]
        self.cellars[seat] = [place for place in self.cellars[seat] if place.card != card]
        self.north.append(card)
        self.to_send -= 1

    # End of the year and of the game

    def _clean_up(self) -> None:
        for crop in self.crops:
            reward = self.rewards[crop]
            if reward is not None:
                self.north.append(reward)
                self.rewards[crop] = None
        self.trumps.append(self.trump)
        self.year_ends.append(self._year_end())
        if self.year == self.rules.years:
            self.position = None
            self.result = self._final_scoring()
            return
        for crop in self.crops:
            self.deck |= set(self.fields[crop])
        self.planner = (self.planner + 1) % self.rules.players
        self._begin_year()

    def _year_end(self) -> dict[str, Any]:
        return {
            "hours": {crop: self.hours(crop) for crop in self.crops},
            "failed": list(self.failed),
            "medals": list(self.medals),
            "plots": [sorted(plot) for plot in self.plots],
            "cellars": [sorted(place.card for place in cellar) for cellar in self.cellars],
            "north": sorted(self.north),
        }

    def _final_scoring(self) -> dict[str, Any]:
        scores = [sum(rank_of(card) for card in self._holdings(seat)) for seat in self.seats]
        cards = [len(self._holdings(seat)) for seat in self.seats]
        best = max(zip(scores, cards, strict=True))
        winners = [seat for seat in self.seats if (scores[seat], cards[seat]) == best]
        return {"scores": scores, "cards": cards, "winners": winners}

    # The moves

    def apply(self, move: str) -> None:
        """Make a move of the seat to act; ValueError if it is not legal."""
        position = self.position
        if position is None or move not in position.legal:
            raise ValueError(f"{move} is not legal at {position}")
        if position.phase == "trump":
            self.trump = move
            self._begin_swaps()
        elif position.phase == "swap_take":
            self._take(position.seat, move)
        elif position.phase == "swap_give":
            assert self.taking is not None
            self._exchange(position.seat, self.taking, move)
            self.taking = None
            self.to_swap.pop(0)
            self._next_swap()
        elif position.phase == "play":
            self._play(position.seat, move)
        elif position.phase == "assign":
            self._assign(move)
        else:
            self._send_north(position.seat, move)
            if not self._send_highest(position.seat):
                self.to_inspect.pop(0)
                self._next_inspection()

    def _take(self, seat: int, move: str) -> None:
        if move == PASS:
            self.to_swap.pop(0)
            self._next_swap()
        else:
            self.taking = move
            self.position = Position(seat, "swap_give", sorted(self.hands[seat]))

    def _play(self, seat: int, card: str) -> None:
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if len(self.trick) < self.rules.players:
            self._await_play((seat + 1) % self.rules.players)
        else:
            self._end_trick()

    # Looking at the table

    def zones(self) -> dict[str, Any]:
        """Every card in its one place; lists are sorted as text except the piles."""
        on_table = self.unassigned if self.unassigned else [card for _, card in self.trick]
        return {
            "piles": {crop: list(self.piles[crop]) for crop in self.crops},
            "rewards": [self.rewards[crop] for crop in self.crops if self.rewards[crop]],
            "deck": sorted(self.deck),
            "hands": [sorted(hand) for hand in self.hands],
            "plots": [sorted(plot) for plot in self.plots],
            "cellars": [sorted(place.card for place in cellar) for cellar in self.cellars],
            "fields": {crop: sorted(self.fields[crop]) for crop in self.crops},
            "trick": sorted(on_table),
            "north": sorted(self.north),
        }
