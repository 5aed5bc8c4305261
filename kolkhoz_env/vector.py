"""Many games at once in numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolkhoz_env.cards import NUM_ACTIONS, action_name, single_card
from kolkhoz_env.deal import game_keys
from kolkhoz_env.errors import IllegalActionError, KolkhozError, RulesError
from kolkhoz_env.knowledge import Knowledge, hidden_cards, redact
from kolkhoz_env.legal import as_mask, legal_actions
from kolkhoz_env.observation import observation_table
from kolkhoz_env.rules import ASSIGN, OVER, PHASES, Rules
from kolkhoz_env.scoring import REWARDS, Outcome, expected_share, outcome, reward
from kolkhoz_env.state import COUNTERS, Bool, Int8, Int32, Int64, State, UInt8, UInt64, empty_state
from kolkhoz_env.year import Course, advance, assign_rest, set_up


@dataclass(frozen=True)
class StepResult:
    """What a step brought.

    Attributes:
        rewards: ``float32[N, P]``, zero except for games that ended in this step.
        done: ``bool[N]``, games that ended in this step.
        finished: ``int64[n]``, their rows.
        outcome: their results, rows as in ``finished``.
    """

    rewards: NDArray[np.float32]
    done: Bool
    finished: Int64
    outcome: Outcome

    def __iter__(self) -> Any:
        """``rewards, done = games.step(actions)`` works as well."""
        return iter((self.rewards, self.done))


class VectorKolkhoz:
    """``size`` games of Kolkhoz that take one decision each at every step.

    Args:
        size: number of games.
        players: number of seats; ignored when ``rules`` is given.
        seed: names the decks; game ``k`` of a seed is the same in any batch.
        rules: a :class:`Rules`; defaults to the printed game for ``players``.
        restart: finished games begin anew in place, under the number of the game plus ``size``.
        games: numbers of the games, ``int[size]``; default 0 .. size-1.
        reward: ``"win_share"`` (default), ``"score"`` or ``"rank"``, all zero-sum.
        course: replaces rules, dealer and hooks together (for replays).

    Attributes:
        rules: the rules of all games.
        state: the arrays; treat them as read-only.
        game_ids: ``int64[size]``, number of the game in each row.
    """

    def __init__(
        self,
        size: int,
        players: int = 4,
        seed: int = 0,
        rules: Rules | None = None,
        *,
        restart: bool = True,
        games: ArrayLike | None = None,
        reward: str = "win_share",
        course: Course | None = None,
    ) -> None:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise KolkhozError(f"size: {size!r} is not a number of games (1 or more)")
        if reward not in REWARDS:
            raise KolkhozError(f"reward: {reward!r} is none of {', '.join(REWARDS)}")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise KolkhozError(f"seed: {seed!r} is not a whole number")
        self.course = course or Course(rules or Rules(players=players))
        self.rules = self.course.rules
        self.seed = int(seed)
        self.restart = restart
        self.reward = reward
        self.game_ids = np.arange(size) if games is None else np.array(games, dtype=np.int64)
        if self.game_ids.shape != (size,):
            raise KolkhozError(f"games: {self.game_ids.shape} numbers for {size} games")
        self.stride = size
        self.state = empty_state(int(size), self.rules)
        set_up(self.state, self._all(), self.course, game_keys(self.seed, self.game_ids))
        self._legal: UInt64 | None = None
        self._settle(np.zeros(size, dtype=np.bool_))

    @classmethod
    def from_state(
        cls,
        state: State,
        rules: Rules,
        *,
        game_ids: Int64 | None = None,
        reward: str = "win_share",
        course: Course | None = None,
    ) -> VectorKolkhoz:
        """Games that go on from ``state`` (not copied); they do not restart."""
        table = cls.__new__(cls)
        table.course = course or Course(rules)
        table.rules = rules
        table.seed = 0
        table.restart = False
        table.reward = reward
        table.game_ids = np.zeros(state.size, dtype=np.int64) if game_ids is None else game_ids
        table.stride = state.size
        table.state = state
        table._legal = None
        return table

    # What is the case -------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of games."""
        return self.state.size

    @property
    def num_actions(self) -> int:
        """Size of the action space."""
        return NUM_ACTIONS

    @property
    def seat(self) -> Int8:
        """Seat to act in each game, -1 when over, ``int8[N]``."""
        return self.state.seat

    @property
    def phase(self) -> Int8:
        """Phase code of each game (:data:`kolkhoz_env.rules.PHASES`), ``int8[N]``."""
        return self.state.phase

    @property
    def over(self) -> Bool:
        """Whether each game is over, ``bool[N]``."""
        return self.state.phase == OVER

    @property
    def decision(self) -> Int32:
        """Decisions made so far in each game, forced ones included, ``int32[N]``."""
        return self.state.decision

    @property
    def stage(self) -> Int8:
        """Year of each game, ``int8[N]``: where it rises, a look ahead may well end."""
        return self.state.year

    def legal_actions(self) -> UInt64:
        """Legal actions of the seat to act as bits, ``uint64[N]``; 0 for games that are over."""
        if self._legal is None:
            self._legal = legal_actions(self.state, self.rules)
        return self._legal

    def forget_legal(self) -> None:
        """To be called by whoever changes :attr:`state` without :meth:`step`."""
        self._legal = None

    def legal_mask(self) -> Bool:
        """Legal actions of the seat to act, ``bool[N, 58]``; no ``True`` for games over."""
        return as_mask(self.legal_actions())

    def observe(
        self, rows: Int64 | None = None, seats: Int8 | None = None, out: UInt8 | None = None
    ) -> UInt8:
        """Observation of the seat to act (or of ``seats``), ``uint8[n, observation_size]``.

        Multiply by ``observation_table(rules).scale`` for floats in about [0, 1].
        """
        return observation_table(self.rules).encode(self.state, rows, seats, out)

    def knowledge(self, rows: Int64 | None = None, seats: Int8 | None = None) -> Knowledge:
        """What the seat to act (or ``seats[n]``) may know of ``rows``, as redacted copies."""
        rows = self._all() if rows is None else np.asarray(rows)
        seats = self.state.seat[rows] if seats is None else np.asarray(seats, dtype=np.int8)
        return Knowledge(redact(self.state, rows, seats), seats, self.rules)

    def hidden(self, rows: Int64) -> UInt8:
        """What the seat to act may not know, ``uint8[n, H]``: see :func:`knowledge.hidden_cards`.

        For critics that are used in training alone, and for worlds: never of a true game for
        agents.
        """
        rows = np.asarray(rows)
        whole = rows.size == self.size and bool((rows == self._all()).all())
        some = self.state if whole else self.state.take(rows)
        return hidden_cards(some, some.seat)

    def outcome(self) -> Outcome:
        """Results of all games; of a game that is not over, as its holdings lie now."""
        return outcome(self.state, self._all())

    def estimate(self) -> NDArray[np.float32]:
        """Share of the victory that each seat can expect, ``float32[N, P]``, from its holdings."""
        return expected_share(self.state, self._all(), self.rules)

    def statistics(self) -> NDArray[np.float32]:
        """Counters of each seat so far, ``float32[N, P, len(COUNTERS)]``."""
        return self.state.totals.astype(np.float32)

    # What happens -----------------------------------------------------------------------------

    def step(self, actions: ArrayLike, where: Bool | None = None) -> StepResult:
        """One decision in every game that is not over; ``actions`` is ``int[N]``.

        Args:
            actions: one a game; those of games that are over or left out are ignored.
            where: ``bool[N]``, the games that take part; the others stay as they are.

        Raises:
            IllegalActionError: names game, seat, phase, action and what was legal; no game of
                the batch has changed then.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (self.size,) or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalActionError(
                f"actions: {chosen.dtype} of shape {chosen.shape}; whole numbers of shape "
                f"({self.size},) are needed"
            )
        chosen = chosen.astype(np.int64, copy=False)
        legal = self.legal_actions()
        over = self.state.seat < 0
        if where is not None:
            over |= ~np.asarray(where, dtype=np.bool_)
        self._check(chosen, legal, over)
        running = np.flatnonzero(~over) if over.any() else self._all()
        advance(self.state, running, chosen[running] if over.any() else chosen, self.course)
        return self._settle(over)

    def _settle(self, over: Bool) -> StepResult:
        """Make forced decisions if wanted, then collect and restart what ended."""
        self._legal = None
        if self.rules.auto_forced:
            self._play_forced()
        ended = (self.state.seat < 0) & ~over
        finished = np.flatnonzero(ended)
        rewards = np.zeros((self.size, self.rules.players), dtype=np.float32)
        result = outcome(self.state, finished) if finished.size else _nothing(self.rules.players)
        if finished.size:
            rewards[finished] = reward(result, self.reward)
            if self.restart:
                self.begin_anew(finished)
        return StepResult(rewards, ended, finished, result)

    def _play_forced(self) -> None:
        legal = self.legal_actions()
        rows = np.flatnonzero(np.bitwise_count(legal) == 1)
        while rows.size:
            actions = single_card(legal[rows]).astype(np.int64)
            # A trick of one crop is worked by one field: no need to ask card by card.
            assigning = self.state.phase[rows] == ASSIGN
            if assigning.any():
                assign_rest(self.state, rows[assigning], actions[assigning], self.course)
            advance(self.state, rows[~assigning], actions[~assigning], self.course)
            legal[rows] = legal_actions(self.state, self.rules, rows)
            rows = rows[np.bitwise_count(legal[rows]) == 1]

    def begin_anew(self, rows: Int64) -> None:
        """Replace games by new ones, each under the number of the old one plus ``size``."""
        self.game_ids[rows] += self.stride
        set_up(self.state, rows, self.course, game_keys(self.seed, self.game_ids[rows]))
        self._legal = None
        if self.rules.auto_forced:
            self._play_forced()

    def _check(self, actions: Int64, legal: UInt64, over: Bool) -> None:
        # Numbers below 0 become very large ones, and shifts by 64 or more leave no bits.
        allowed = (legal >> actions.astype(np.uint64)) & np.uint64(1) != 0
        (wrong,) = (~(allowed | over)).nonzero()
        if wrong.size:
            row = int(wrong[0])
            raise IllegalActionError(self.describe_illegal(row, int(actions[row])))

    def describe_illegal(self, row: int, action: int) -> str:
        """One line on why ``action`` is not legal in game ``row``."""
        bits = int(self.legal_actions()[row])
        legal = ", ".join(action_name(a) for a in range(NUM_ACTIONS) if bits >> a & 1)
        name = action_name(action) if 0 <= action < NUM_ACTIONS else "no action"
        return (
            f"game {int(self.game_ids[row])}, seat {int(self.seat[row])}, phase "
            f"{PHASES[self.phase[row]]}: action {action} ({name}) is not legal; legal: {legal}"
        )

    # Copies -----------------------------------------------------------------------------------

    def take(self, rows: ArrayLike) -> VectorKolkhoz:
        """Independent copy of some games (rows may repeat); it does not restart them."""
        rows = np.asarray(rows, dtype=np.int64)
        copy = self.from_state(
            self.state.take(rows), self.rules, game_ids=self.game_ids[rows], reward=self.reward
        )
        copy.course = replace(self.course, year_ended=None)
        return copy

    def _all(self) -> Int64:
        return np.arange(self.size)


@lru_cache(maxsize=4)
def _nothing(players: int) -> Outcome:
    """Results of no game; most steps end none, and working them out would cost as much."""
    return Outcome(**{f.name: np.zeros((0, players), np.float32) for f in fields(Outcome)})


STATISTICS = COUNTERS

__all__ = ["STATISTICS", "RulesError", "StepResult", "VectorKolkhoz"]
