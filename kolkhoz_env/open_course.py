"""A game whose draws are made one by one from outside: for game trees and exact enumeration.

Where the engine deals a whole year at once, :class:`OpenCourse` stops and asks for every draw: the
first Planner, the hidden card of each reward pile, each reward, then hand by hand the cards in
rising order (so that every hand is reached in one way), and the Famine's card.
"""

from __future__ import annotations

import hashlib
from copy import copy
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from kolkhoz_env.cards import NUM_ACTIONS, cards_in, single_card
from kolkhoz_env.deal import workers_deck
from kolkhoz_env.legal import legal_actions
from kolkhoz_env.one_game import number_views
from kolkhoz_env.one_observation import OneEncoder
from kolkhoz_env.rules import OVER, Rules
from kolkhoz_env.scoring import outcome, reward
from kolkhoz_env.state import EMPTY, Int8, Int64, State, UInt64, empty_state
from kolkhoz_env.year import Course, advance, set_up

_ONLY = np.zeros(1, dtype=np.int64)


class OpenCourse:
    """One game between two draws or decisions; it never changes, :meth:`after` gives another.

    A position remembers what follows from it, up to a number of positions a game: algorithms for
    small games walk the same tree again and again.

    Args:
        rules: of the game.
        memory: how many positions are remembered.

    Attributes:
        rules: of the game.
        state: the game of one row; before the first deal it is empty.
        dealing: whether a draw comes next rather than a decision.
        pasts: by seat, a digest of all that it has observed and done.
    """

    def __init__(self, rules: Rules, memory: int = 10_000) -> None:
        self.rules = rules
        self._room = [memory]
        self._known: dict[int, OpenCourse] = {}
        self.state = empty_state(1, rules)
        self.pasts = [b""] * rules.players
        self._piles = np.full((1, 4, 5), EMPTY, dtype=np.int8)
        self._planner = -1 if rules.first_planner is None else rules.first_planner
        self._waiting: int | None = None
        self._deck = 0
        self._hidden: list[int] = []
        self._begin_deal()
        self._go_on()

    def after(self, choice: int) -> OpenCourse:
        """The game after the next draw or decision; a decision must be legal."""
        if choice in self._known:
            return self._known[choice]
        other = self._copy()
        if self.dealing:
            other._draw(choice)
        else:
            other._decide(choice)
        other._go_on()
        if self._room[0] > 0:
            self._room[0] -= 1
            self._known[choice] = other
        return other

    def _copy(self) -> OpenCourse:
        # Arrays are replaced, never changed in place, so that both may share them.
        other = copy(self)
        for cached in ("legal", "rewards"):
            other.__dict__.pop(cached, None)
        other._known = {}
        other.pasts = self.pasts.copy()
        other._hidden = self._hidden.copy()
        other._hands = [hand.copy() for hand in self._hands]
        other._rewards = self._rewards.copy()
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenCourse:
        return self

    @cached_property
    def legal(self) -> list[int]:
        """Legal actions of the seat to act, in rising order."""
        bits = int(legal_actions(self.state, self.rules)[0])
        return [action for action in range(NUM_ACTIONS) if bits >> action & 1]

    @cached_property
    def rewards(self) -> list[float]:
        """Win share minus 1 / players by seat; zeros before the end."""
        if not self.over:
            return [0.0] * self.rules.players
        return [float(value) for value in reward(outcome(self.state, _ONLY), "win_share")[0]]

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return not self.dealing and bool(self.state.phase[0] == OVER)

    @property
    def year(self) -> int:
        """The year that is played or dealt."""
        return int(self.state.year[0]) + self.dealing

    # Draws ------------------------------------------------------------------------------------

    def _begin_deal(self) -> None:
        self.dealing = True
        self._hands: list[list[int]] = [[] for _ in range(self.rules.players)]
        self._rewards: list[int] = []
        self._famine: int | None = None

    def next_draw(self) -> str:
        """What is drawn next: planner, hidden, reward, hand, famine; empty when all is dealt."""
        if self._planner < 0:
            return "planner"
        if len(self._hidden) < self.rules.crops:
            return "hidden"
        if len(self._rewards) < self.rules.crops:
            return "reward"
        if any(len(hand) < self.rules.hand_size(self.year) for hand in self._hands):
            return "hand"
        return "famine" if self._famine is None and self.year == self.rules.famine_year else ""

    def outcomes(self) -> list[tuple[int, float]]:
        """What may be drawn next, in rising order, with probabilities."""
        draw = self.next_draw()
        if draw == "hand":
            return self._next_card()
        if draw == "planner":
            choices = list(range(self.rules.players))
        elif draw == "hidden":
            first = 13 * len(self._hidden)
            choices = list(range(first + self.rules.low_rewards, first + self.rules.ranks))
        elif draw == "reward":
            crop = len(self._rewards)
            choices = sorted(set(self._pile(crop)) - set(self._piles[0, crop].tolist()))
        else:
            choices = cards_in(self._undealt())
        return [(choice, 1 / len(choices)) for choice in choices]

    def _pile(self, crop: int) -> list[int]:
        low = [13 * crop + rank for rank in range(self.rules.low_rewards)]
        return [*low, self._hidden[crop]]

    def _next_card(self) -> list[tuple[int, float]]:
        """The next card of the hand being dealt, in rising order.

        With ``k`` cards still to come out of ``m`` that rank after the last, the one at place
        ``i`` is the lowest of them in ``C(m - 1 - i, k - 1)`` of ``C(m, k)`` hands.
        """
        size = self.rules.hand_size(self.year)
        hand = next(hand for hand in self._hands if len(hand) < size)
        cards = [card for card in cards_in(self._undealt()) if not hand or card > hand[-1]]
        left, total = size - len(hand), comb(len(cards), size - len(hand))
        return [
            (card, comb(len(cards) - 1 - place, left - 1) / total)
            for place, card in enumerate(cards[: len(cards) - left + 1])
        ]

    def _undealt(self) -> int:
        dealt = sum(1 << card for hand in self._hands for card in hand)
        return self._workers() & ~dealt

    def _workers(self) -> int:
        """The Workers Deck of the year being dealt."""
        if self._waiting is not None:
            return self._deck
        rewards = sum(1 << card for crop in range(self.rules.crops) for card in self._pile(crop))
        return self.rules.deck & ~rewards

    def _draw(self, choice: int) -> None:
        """Make the next draw."""
        draw = self.next_draw()
        if draw == "planner":
            self._planner = choice
        elif draw == "hidden":
            self._hidden.append(choice)
        elif draw == "reward":
            self._piles = self._piles.copy()
            self._piles[0, len(self._rewards), self.year - 1] = choice
            self._rewards.append(choice)
        elif draw == "famine":
            self._famine = choice
        else:
            size = self.rules.hand_size(self.year)
            next(hand for hand in self._hands if len(hand) < size).append(choice)

    # The course of the game -------------------------------------------------------------------

    def _go_on(self) -> None:
        """Do what leaves no choice, up to the next draw or decision."""
        while not self.over:
            if self.dealing:
                if not self.next_draw():
                    self._end_deal()
                elif len(choices := self.outcomes()) == 1:
                    self._draw(choices[0][0])
                else:
                    return
            elif self.rules.auto_forced:
                legal = legal_actions(self.state, self.rules)
                if np.bitwise_count(legal)[0] != 1:
                    return
                self._decide(int(single_card(legal)[0]))
            else:
                return

    def _end_deal(self) -> None:
        """Begin the year with what was drawn."""
        self.dealing = False
        course = Course(self.rules, dealer=self._deal)
        self.state = self.state.take(_ONLY)
        if self._waiting is None:
            planner = np.array([self._planner], dtype=np.int8)
            key = np.zeros(1, dtype=np.uint64)
            set_up(self.state, _ONLY, course, key, self._with_rest(), planner)
        else:
            self.state.piles[:] = self._with_rest()
            advance(self.state, _ONLY, np.array([self._waiting]), course)
        self._note(None, None)

    def _with_rest(self) -> Int8:
        """Piles whose cards to come lie in any order: each is drawn when its year begins."""
        full = self._piles.copy()
        for crop in range(self.rules.crops):
            rest = sorted(set(self._pile(crop)) - set(full[0, crop].tolist()))
            full[0, crop, self.rules.pile_size - len(rest) : self.rules.pile_size] = rest
        return full

    def _deal(self, state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
        hands = np.array([[sum(1 << c for c in hand) for hand in self._hands]], dtype=np.uint64)
        turned_up = EMPTY if self._famine is None else self._famine
        return hands, np.array([turned_up], dtype=np.int8)

    def _decide(self, action: int) -> None:
        """One legal decision; where it ends a year, the draws of the next come first."""
        player = int(self.state.seat[0])
        after = self.state.take(_ONLY)
        decks: list[int] = []

        def note_deck(state: State, rows: Int64, rules: Rules) -> tuple[UInt64, Int8]:
            decks.append(int(workers_deck(state, rows, rules)[0]))
            return np.zeros((1, rules.players), dtype=np.uint64), np.array([EMPTY], dtype=np.int8)

        advance(after, _ONLY, np.array([action]), Course(self.rules, dealer=note_deck))
        if decks:
            # The engine would deal within this step: it is made again when all is drawn.
            self._waiting, self._deck = action, decks[0]
            self.pasts[player] = _digest(self.pasts[player], bytes([action]))
            self._begin_deal()
            return
        self.state = after
        self._note(player, action)

    def _note(self, player: int | None, action: int | None) -> None:
        """Add what every seat sees now, and what the one that decided did, to its past."""
        encoder = OneEncoder(number_views(self.state), self.rules)
        for seat in range(self.rules.players):
            own = bytes([action]) if seat == player and action is not None else b""
            self.pasts[seat] = _digest(self.pasts[seat], own + encoder.encode(seat).tobytes())


def _digest(past: bytes, news: bytes) -> bytes:
    return hashlib.blake2b(past + news, digest_size=12).digest()
