"""Toy whist: a second tenant of the lab, small enough to learn in seconds.

Three seats, twelve cards (three suits of four ranks), four cards a hand. One seat (each in turn,
game by game) names the trump suit, then four tricks are played; each trick is a point. It satisfies
the same `Game` and `Table` protocols as Kolkhoz without sharing a line with it, so that agents and
training can be tested on a game that they don't know.

Cards are ``suit * 4 + rank``; actions are cards 0..11 and suits 12..14.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import numpy.typing as npt

SEATS, SUITS, RANKS, TRICKS = 3, 3, 4, 4
CARDS = SUITS * RANKS
ACTIONS = CARDS + SUITS
TRUMP, PLAY, OVER = 0, 1, 2
CARD_SUIT = np.arange(CARDS) // RANKS

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Block:
    """One named stretch of observation columns."""

    name: str
    offset: int
    length: int
    meaning: str
    scale: float = 1.0


@dataclass(frozen=True)
class ObservationTable:
    """Blocks of the observation; float input = uint8 value * scale."""

    blocks: tuple[Block, ...]
    version: int = 1

    @property
    def size(self) -> int:
        return sum(block.length for block in self.blocks)

    @property
    def scale(self) -> npt.NDArray[np.float32]:
        scales = [np.full(block.length, block.scale, np.float32) for block in self.blocks]
        return np.concatenate(scales)


@dataclass(frozen=True)
class Symmetry:
    """Suits sorted, trump first, then by the hand: ``canonical[j] = plain[index[case, j]]``."""

    key_columns: npt.NDArray[np.int64]
    key_weights: npt.NDArray[np.int64]
    observation_index: npt.NDArray[np.int64]
    action_index: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Results of finished games, each ``[n, P]``."""

    win_share: npt.NDArray[np.float32]
    rank: npt.NDArray[np.int8]
    score: npt.NDArray[np.int32]
    margin: npt.NDArray[np.int32]


@dataclass(frozen=True)
class StepResult:
    """Of one step: rewards float32[B, P], done bool[B], finished rows and their outcome."""

    rewards: npt.NDArray[np.float32]
    done: npt.NDArray[np.bool_]
    finished: npt.NDArray[np.int64]
    outcome: Outcome


def _blocks() -> tuple[Block, ...]:
    lengths = [
        ("hand", CARDS, "own cards", 1.0),
        ("trick_left", CARDS, "card of the next seat in this trick", 1.0),
        ("trick_right", CARDS, "card of the seat before in this trick", 1.0),
        ("gone", CARDS, "cards of earlier tricks", 1.0),
        ("trump", SUITS, "trump suit", 1.0),
        ("phase", 2, "trump, play", 1.0),
        ("tricks", SEATS, "tricks won, own seat first", 1.0 / TRICKS),
    ]
    blocks, offset = [], 0
    for name, length, meaning, scale in lengths:
        blocks.append(Block(name, offset, length, meaning, scale))
        offset += length
    return tuple(blocks)


def _symmetry(table: ObservationTable) -> Symmetry:
    trump = next(block for block in table.blocks if block.name == "trump")
    observation, action = [], []
    for order in permutations(range(SUITS)):
        cards = np.concatenate([suit * RANKS + np.arange(RANKS) for suit in order])
        suits = np.array(order)
        parts = []
        for block in table.blocks:
            inner = cards if block.length == CARDS else np.arange(block.length)
            if block.name == "trump":
                inner = suits
            parts.append(block.offset + inner)
        observation.append(np.concatenate(parts))
        action.append(np.concatenate([cards, CARDS + suits]))
    hand = np.arange(CARDS).reshape(SUITS, RANKS)
    columns = np.column_stack([trump.offset + np.arange(SUITS), hand])
    # No two hands of a suit have the same sum of these.
    weights = np.array([256, 17, 18, 20, 24])
    return Symmetry(columns, weights, np.stack(observation), np.stack(action))


class ToyGame:
    """The `Game` of toy whist."""

    name = "toy"
    num_seats = SEATS
    num_actions = ACTIONS
    phases = ("trump", "play")
    statistics = ("tricks", "named_longest")

    def __init__(self, rules: dict[str, object] | None = None) -> None:
        unknown = set(rules or {}) - {"trumps"}
        if unknown:
            raise ValueError(f"rules: unknown key {sorted(unknown)[0]!r}; toy whist has: trumps")
        self.trumps = bool((rules or {}).get("trumps", True))
        self.observation = ObservationTable(_blocks())
        self.symmetry = _symmetry(self.observation)

    def rules_dict(self) -> dict[str, object]:
        return {"trumps": self.trumps}

    def action_name(self, action: int) -> str:
        if action >= CARDS:
            return "CDH"[action - CARDS]
        return f"{'CDH'[action // RANKS]}{action % RANKS + 1}"

    def table(
        self,
        seed: int,
        games: Sequence[int] | npt.NDArray[np.int64],
        *,
        restart: bool = False,
        auto_forced: bool = False,
    ) -> ToyTable:
        return ToyTable(self, seed, np.asarray(games, np.int64), restart, auto_forced)


def make_game(rules: dict[str, object] | None = None) -> ToyGame:
    """Factory in the form that the lab looks games up by."""
    return ToyGame(rules)


@dataclass
class ToyKnowledge:
    """What the seats to act know: their hands and the public cards, and nothing else."""

    game: ToyGame
    seat: npt.NDArray[np.int8]
    _observation: npt.NDArray[np.uint8]
    _mask: npt.NDArray[np.bool_]

    @property
    def size(self) -> int:
        return len(self.seat)

    def legal_mask(self) -> npt.NDArray[np.bool_]:
        return self._mask

    def observe(self) -> npt.NDArray[np.uint8]:
        return self._observation

    def view(self, row: int) -> dict[str, object]:
        hand = np.flatnonzero(self._observation[row, :CARDS])
        return {
            "format": "toy-view/1",
            "seat": int(self.seat[row]),
            "hand": [self.game.action_name(int(card)) for card in hand],
            "legal": [self.game.action_name(int(a)) for a in np.flatnonzero(self._mask[row])],
        }


@dataclass
class ToyTable:
    """A batch of games of toy whist in numpy arrays."""

    game: ToyGame
    seed: int
    game_ids: npt.NDArray[np.int64]
    restart: bool = False
    auto_forced: bool = False
    hands: npt.NDArray[np.bool_] = field(init=False)
    trick: npt.NDArray[np.int8] = field(init=False)
    gone: npt.NDArray[np.bool_] = field(init=False)
    tricks: npt.NDArray[np.int8] = field(init=False)
    leader: npt.NDArray[np.int8] = field(init=False)
    trump: npt.NDArray[np.int8] = field(init=False)
    longest: npt.NDArray[np.bool_] = field(init=False)
    seat: npt.NDArray[np.int8] = field(init=False)
    phase: npt.NDArray[np.int8] = field(init=False)
    decision: npt.NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.game_ids)
        self.hands = np.zeros((size, SEATS, CARDS), bool)
        self.trick = np.full((size, SEATS), -1, np.int8)
        self.gone = np.zeros((size, CARDS), bool)
        self.tricks = np.zeros((size, SEATS), np.int8)
        self.leader = np.zeros(size, np.int8)
        self.trump = np.full(size, -1, np.int8)
        self.longest = np.zeros(size, bool)
        self.seat = np.zeros(size, np.int8)
        self.phase = np.zeros(size, np.int8)
        self.decision = np.zeros(size, np.int32)
        self._deal(np.arange(size))
        self._force()

    @property
    def size(self) -> int:
        return len(self.game_ids)

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.phase == OVER)

    def _deal(self, rows: npt.NDArray[np.int64]) -> None:
        for row in rows:
            order = np.random.default_rng([self.seed, int(self.game_ids[row])]).permutation(CARDS)
            self.hands[row] = False
            for seat in range(SEATS):
                self.hands[row, seat, order[seat * TRICKS : (seat + 1) * TRICKS]] = True
        planner = (self.game_ids[rows] % SEATS).astype(np.int8)
        self.leader[rows] = self.seat[rows] = planner
        self.phase[rows] = TRUMP if self.game.trumps else PLAY
        self.trick[rows], self.trump[rows] = -1, -1
        self.gone[rows], self.longest[rows] = False, False
        self.tricks[rows], self.decision[rows] = 0, 0

    def legal_mask(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros((self.size, ACTIONS), bool)
        mask[self.phase == TRUMP, CARDS:] = True
        rows = np.flatnonzero(self.phase == PLAY)
        hand = self.hands[rows, self.seat[rows]]
        led = self.trick[rows, self.leader[rows]]
        follow = hand & ((led // RANKS)[:, None] == CARD_SUIT) & (led >= 0)[:, None]
        mask[rows, :CARDS] = np.where(follow.any(1)[:, None], follow, hand)
        return mask

    def observe(self, rows: Array | None = None) -> npt.NDArray[np.uint8]:
        rows = np.arange(self.size) if rows is None else np.asarray(rows)
        seat = self.seat[rows]
        out = np.zeros((len(rows), self.game.observation.size), np.uint8)
        out[:, :CARDS] = self.hands[rows, seat]
        for place, turn in ((1, 1), (2, 2)):
            card = self.trick[rows, (seat + turn) % SEATS]
            shown = np.flatnonzero(card >= 0)
            out[shown, place * CARDS + card[shown]] = 1
        out[:, 3 * CARDS : 4 * CARDS] = self.gone[rows]
        named = np.flatnonzero(self.trump[rows] >= 0)
        out[named, 4 * CARDS + self.trump[rows][named]] = 1
        out[:, 4 * CARDS + SUITS] = self.phase[rows] == TRUMP
        out[:, 4 * CARDS + SUITS + 1] = self.phase[rows] == PLAY
        for turn in range(SEATS):
            out[:, 4 * CARDS + SUITS + 2 + turn] = self.tricks[rows, (seat + turn) % SEATS]
        return out

    def step(self, actions: Array) -> StepResult:
        actions = np.asarray(actions)
        mask = self.legal_mask()
        running = np.flatnonzero(~self.over)
        if not mask[running, actions[running]].all():
            raise ValueError("toy whist: illegal action")
        self._apply(running, actions)
        self._force()
        rewards = np.zeros((self.size, SEATS), np.float32)
        finished = running[self.phase[running] == OVER]
        outcome = self._outcome(finished)
        rewards[finished] = outcome.win_share - 1.0 / SEATS
        done = np.zeros(self.size, bool)
        done[finished] = True
        if self.restart and len(finished):
            self.game_ids[finished] += self.size
            self._deal(finished)
            self._force()
        return StepResult(rewards, done, finished, outcome)

    def _apply(self, running: npt.NDArray[np.int64], actions: Array) -> None:
        self.decision[running] += 1
        naming = running[self.phase[running] == TRUMP]
        suit = actions[naming] - CARDS
        lengths = self.hands[naming, self.seat[naming]].reshape(-1, SUITS, RANKS).sum(2)
        self.longest[naming] = lengths[np.arange(len(naming)), suit] == lengths.max(1, initial=0)
        self.trump[naming] = suit
        playing = running[self.phase[running] == PLAY]
        self.phase[naming] = PLAY
        seat = self.seat[playing]
        self.hands[playing, seat, actions[playing]] = False
        self.trick[playing, seat] = actions[playing]
        self.seat[playing] = (seat + 1) % SEATS
        self._take_trick(playing[(self.trick[playing] >= 0).all(1)])

    def _take_trick(self, rows: npt.NDArray[np.int64]) -> None:
        cards = self.trick[rows]
        led = cards[np.arange(len(rows)), self.leader[rows]] // RANKS
        suit, rank = cards // RANKS, cards % RANKS
        strength = rank + 10 * (suit == led[:, None]) + 20 * (suit == self.trump[rows][:, None])
        winner = strength.argmax(1).astype(np.int8)
        self.gone[rows[:, None], cards] = True
        self.tricks[rows, winner] += 1
        self.trick[rows] = -1
        self.leader[rows] = self.seat[rows] = winner
        ended = rows[~self.hands[rows].any((1, 2))]
        self.phase[ended], self.seat[ended] = OVER, -1

    def _force(self) -> None:
        while self.auto_forced:
            mask = self.legal_mask()
            forced = np.flatnonzero(mask.sum(1) == 1)
            if not len(forced):
                return
            self._apply(forced, mask.argmax(1))

    def _outcome(self, rows: npt.NDArray[np.int64]) -> Outcome:
        score = self.tricks[rows].astype(np.int32)
        best = score == score.max(1, keepdims=True, initial=0)
        win = (best / np.maximum(best.sum(1, keepdims=True), 1)).astype(np.float32)
        rank = (score[:, None, :] > score[:, :, None]).sum(2).astype(np.int8) + 1
        others = np.stack(
            [np.delete(score, seat, 1).max(1, initial=0) for seat in range(SEATS)], axis=1
        )
        return Outcome(win, rank.astype(np.int8), score, (score - others).astype(np.int32))

    def outcome(self) -> Outcome:
        return self._outcome(np.arange(self.size))

    def statistics(self) -> npt.NDArray[np.float32]:
        named = np.repeat(self.longest[:, None], SEATS, 1)
        return np.stack([self.tricks, named], axis=2).astype(np.float32)

    def knowledge(self, rows: Array) -> ToyKnowledge:
        rows = np.asarray(rows)
        return ToyKnowledge(self.game, self.seat[rows], self.observe(rows), self.legal_mask()[rows])

    def take(self, rows: Array) -> ToyTable:
        rows = np.asarray(rows)
        none = self.game_ids[:0].copy()
        other = ToyTable(self.game, self.seed, none, self.restart, self.auto_forced)
        for name in self._arrays():
            setattr(other, name, getattr(self, name)[rows].copy())
        return other

    def _arrays(self) -> Iterator[str]:
        yield from ("game_ids", "hands", "trick", "gone", "tricks", "leader", "trump", "longest")
        yield from ("seat", "phase", "decision")
