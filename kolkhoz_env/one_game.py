"""One game at a time, fast: for environments that ask for one decision after the other.

Array operations on a batch of one cost a hundred times what they compute. :class:`OneGame` keeps
the arrays of :class:`~kolkhoz_env.state.State` and the functions of `year` for all that is rare,
and plays cards, assigns Workers and offers swaps, nine decisions in ten, on single numbers. Both
ways leave the very same arrays, which the tests compare after every decision.
"""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from kolkhoz_env.cards import (
    CROP,
    CROP_ACTION,
    CROP_BITS,
    NO_CROP,
    NUM_ACTIONS,
    NUM_CARDS,
    PASS,
    RANK,
    SABOTEUR,
)
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.legal import FOLLOWS
from kolkhoz_env.one_observation import OneEncoder
from kolkhoz_env.rules import ASSIGN, PLAY, REQUISITION, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules
from kolkhoz_env.state import (
    COUNTER,
    COUNTERS,
    EMPTY,
    SWAP_CELLAR,
    SWAP_PASS,
    SWAP_PLOT,
    State,
    UInt8,
)
from kolkhoz_env.tricks import CROP_SET, STRENGTH
from kolkhoz_env.vector import StepResult, VectorKolkhoz

_FOLLOWS = [int(cards) for cards in FOLLOWS]
_CROP = CROP.tolist()
_CROP_BITS = CROP_BITS.tolist()
_RANK = RANK.tolist()
_CROP_SET = CROP_SET.tolist()
_STRENGTH = STRENGTH.tolist()
_FIRST = np.zeros(1, dtype=np.int64)


def number_views(state: State) -> SimpleNamespace:
    """The arrays of a state as flat memoryviews: single numbers are read and written fast."""
    return SimpleNamespace(
        **{f.name: memoryview(getattr(state, f.name).reshape(-1)) for f in fields(state)}
    )


class OneGame:
    """One game of Kolkhoz that does not restart.

    Args:
        rules: its rules.
        seed: names the decks, as for :class:`~kolkhoz_env.vector.VectorKolkhoz`.
        game: number of the game under that seed.
        reward: what a seat is rewarded with.
    """

    def __init__(self, rules: Rules, seed: int, game: int = 0, reward: str = "win_share") -> None:
        self.table = VectorKolkhoz(
            1, seed=seed, rules=rules, games=[game], restart=False, reward=reward
        )
        self.rules = rules
        self._attach()

    def _attach(self) -> None:
        self._numbers = number_views(self.table.state)
        self._encoder = OneEncoder(self._numbers, self.rules)

    def __getstate__(self) -> dict[str, Any]:
        """Views can't be copied: a copy makes its own."""
        return {"table": self.table, "rules": self.rules}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._attach()

    @property
    def seat(self) -> int:
        """Seat to act, -1 when the game is over."""
        return self._numbers.seat[0]

    @property
    def phase(self) -> int:
        """Code of the phase."""
        return self._numbers.phase[0]

    def knowledge(self, seat: int) -> Knowledge:
        """What a seat may know, as a redacted copy."""
        return self.table.knowledge(_FIRST, np.array([seat], dtype=np.int8))

    def observe(self, seat: int) -> UInt8:
        """Observation of a seat, ``uint8[observation_size]``."""
        return self._encoder.encode(seat)

    def legal_actions(self) -> int:
        """Legal actions of the seat to act as bits; 0 when the game is over."""
        n = self._numbers
        phase, seat = n.phase[0], n.seat[0]
        crops = (1 << self.rules.crops) - 1
        if phase == PLAY:
            hand = n.hands[seat]
            return hand & _FOLLOWS[n.led[0]] or hand
        if phase == ASSIGN:
            return (n.crops[0] & crops) << CROP_ACTION
        if phase == TRUMP:
            return crops << CROP_ACTION
        if phase == SWAP_TAKE:
            return n.plots[seat] | n.in_cellar[seat] | 1 << PASS
        if phase == SWAP_GIVE:
            return n.hands[seat]
        return n.tied[0] if phase == REQUISITION else 0

    def step(self, action: int) -> StepResult | None:
        """Carry out one decision; the :class:`StepResult` (of one game) if it may have ended it.

        Raises:
            IllegalActionError: the action is not legal; nothing has changed then.
        """
        legal = 0 <= action < NUM_ACTIONS and self.legal_actions() >> action & 1
        if legal and not self.rules.auto_forced:
            phase = self.phase
            if phase == PLAY:
                self._play(action)
                return None
            if phase == ASSIGN and self._assign(action):
                return None
            if phase == SWAP_TAKE:
                self._swap_take(action)
                return None
        return self.table.step(np.array([action], dtype=np.int64))

    def _decided(self) -> None:
        self._numbers.decision[0] += 1
        self.table.forget_legal()

    def _play(self, card: int) -> None:
        """`year.play_card` on single numbers."""
        self._decided()
        n, players = self._numbers, self.rules.players
        seat, size, bit = n.seat[0], n.trick_size[0], 1 << card
        n.hands[seat] ^= bit
        if n.known[seat] == card:
            n.known[seat] = EMPTY
        n.trick[size] = card
        n.seen[n.year[0] - 1] |= bit
        for stamp in range(card, players * NUM_CARDS, NUM_CARDS):
            n.last_seen[stamp] = n.year[0]
        n.crops[0] |= _CROP_SET[card]
        led, crop = n.led[0], _CROP[card]
        if led not in (NO_CROP, crop) and crop != NO_CROP:
            n.voids[seat] |= 1 << led
        if size == 0:
            n.led[0] = led = crop
        strength = _STRENGTH[n.trump[0]][led][card]
        if strength > n.best[0]:
            n.best[0] = strength
            n.winner[0] = seat
        n.trick_size[0] = size + 1
        n.seat[0] = (seat + 1) % players
        if size + 1 == players:
            n.seat[0] = brigadier = n.winner[0]
            n.medals[brigadier] += 1
            n.phase[0] = ASSIGN

    def _assign(self, action: int) -> bool:
        """`year.assign_card` on single numbers; false where the year ends with it."""
        n, crop, place = self._numbers, action - CROP_ACTION, self._numbers.assigned[0]
        last = place + 1 == self.rules.players
        if last and n.trick_number[0] + 1 == self.rules.tricks_in(n.year[0]):
            return False
        card = n.trick[place]
        hours = n.hours[crop] + _RANK[card]
        self._decided()
        n.fields[crop * NUM_CARDS + card] = 1
        n.hours[crop] = hours
        if hours >= self.rules.field_quota and not n.claimed[0] >> crop & 1:
            self._claim_reward(crop)
        if card == SABOTEUR:
            self._count("saboteurs", 1)
        n.assigned[0] = place + 1
        if last:
            self._finish_trick()
        return True

    def _claim_reward(self, crop: int) -> None:
        n = self._numbers
        reward = n.rewards[0] & _CROP_BITS[crop]
        n.claimed[0] |= 1 << crop
        n.rewards[0] ^= reward
        n.plots[n.seat[0]] |= reward
        self._count("fields_completed", 1)
        self._count("reward_ranks", _RANK[reward.bit_length() - 1])

    def _count(self, name: str, number: int) -> None:
        n = self._numbers
        n.totals[n.seat[0] * len(COUNTERS) + COUNTER[name]] += number

    def _swap_take(self, action: int) -> None:
        """`year.swap_take` on single numbers."""
        self._decided()
        n, seat = self._numbers, self._numbers.seat[0]
        if action == PASS:
            n.swaps[seat] = SWAP_PASS
            n.cursor[0] += 1
            self._next_swap()
            return
        n.taken[0] = action
        places = n.cellars[5 * seat : 5 * seat + 5].tolist()
        in_plot = n.plots[seat] >> action & 1
        n.swaps[seat] = SWAP_PLOT if in_plot else SWAP_CELLAR + places.index(action)
        n.phase[0] = SWAP_GIVE

    def _next_swap(self) -> None:
        n, players = self._numbers, self.rules.players
        first = n.planner[0] + 1
        for position in range(n.cursor[0], players):
            seat = (first + position) % players
            if n.plots[seat] | n.in_cellar[seat]:
                n.cursor[0] = position
                n.seat[0] = seat
                return
        n.cursor[0] = 0
        n.leader[0] = n.seat[0] = first % players
        n.phase[0] = PLAY

    def _finish_trick(self) -> None:
        n = self._numbers
        n.leader[0] = n.seat[0]
        n.trick_number[0] += 1
        n.phase[0] = PLAY
        for place in range(self.rules.players):
            n.trick[place] = EMPTY
        n.led[0] = NO_CROP
        for cleared in (n.trick_size, n.crops, n.best, n.winner, n.assigned):
            cleared[0] = 0
        n.taken[0] = EMPTY


__all__ = ["OneGame", "number_views"]
