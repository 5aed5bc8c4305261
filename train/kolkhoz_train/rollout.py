"""Playing whole games with the current network and its opponents, and what is learned from them.

All games of a batch run side by side from deal to end. Each seat of each game has a *player*:
number 0 is the learner, the others are opponents. Only the learner's decisions are kept, as one
trajectory a seat: its own decisions in order, with the game's result at the end. Mixing seats into
one stream would bootstrap a value through an opponent's position.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from kolkhoz_agents.decisions import agent_seed, decision_keys
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon
from kolkhoz_agents.protocol import Agent, Decisions, Game, Outcome, Table

from .acting import ActingNetwork, sample
from .config_parts import ConfigError
from .critic import Critic
from .duplicate import Duplicates
from .kept import Batch, Keeper, Kept, with_advantages

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
LEARNER = 0


class Reward(Protocol):
    """Turns the outcome of games into a return for each seat, float32[n, P]."""

    def __call__(self, outcome: Outcome) -> FloatArray: ...


@dataclass(frozen=True)
class Seating:
    """Who sits where: `player` int64[B, P] numbers into `players`, whose entry 0 is the learner.

    `learned` says which decisions at the learner's seats it makes; the player of number `partner`
    makes the others. The decisions of the player `kept` are learned from: the
    learner's own, or those of an agent that is imitated.
    """

    player: IntArray
    players: Sequence[ActingNetwork | Agent]
    learned: Learned
    partner: int = LEARNER
    kept: int = LEARNER


@dataclass
class Played:
    """What a batch of games brought: the learned decisions, results, and where the time went.

    `outcome` and `statistics` float32[B, P, S] are those of all games; `learner` bool[B, P] marks
    the learner's seats; `decisions` counts everybody's.
    """

    batch: Batch
    outcome: Outcome
    statistics: FloatArray
    learner: npt.NDArray[np.bool_]
    decisions: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class _Asked:
    """n decisions to be made: int64[n] columns, masks, observations."""

    row: IntArray
    seat: IntArray
    phase: IntArray
    stage: IntArray
    player: IntArray
    mask: npt.NDArray[np.bool_]
    observation: npt.NDArray[np.uint8]

    def take(self, rows: IntArray) -> _Asked:
        """Some of them; all of them uncopied."""
        if len(rows) == len(self.row):
            return self
        return _Asked(*(getattr(self, column.name)[rows] for column in fields(self)))

    def key(self, seats: int) -> IntArray:
        """Numbers of the trajectories that the decisions belong to, int64[n]."""
        return self.row * seats + self.seat


class Rollout:
    """Plays batches of whole games. `canon` is the order in which the learner's network sees.

    With a `critic` the advantages are over its values as soon as it has learned enough.
    """

    def __init__(
        self,
        game: Game,
        canon: Canon,
        reward: Reward,
        device: torch.device,
        critic: Critic | None = None,
    ) -> None:
        self.game = game
        self.critic = critic
        self.canon = canon
        self.reward = reward
        self.device = device
        self._keeper = Keeper()

    def play(
        self,
        seed: int,
        games: IntArray,
        seating: Seating,
        generator: torch.Generator,
        *,
        discount: float,
        gae_lambda: float,
        copies: int = 1,
    ) -> Played:
        """Play games int64[B] of `seed` to their end; every `copies` neighbours are of one deal.

        `generator` (on the CPU) draws the networks' moves; agents draw from each decision's key.
        """
        seconds = {"environment": 0.0, "encoding": 0.0, "acting": 0.0, "opponents": 0.0}
        clock = _Clock(seconds)
        table = self.game.table(seed, games)
        self._keeper.begin()
        decisions = 0
        while True:
            mask = table.legal_mask()
            choices = _counts(mask)
            if not choices.any():
                break
            # Forced decisions are carried out beside the others: to step them on at once, as a
            # table with `auto_forced` does, takes several steps of a few games each.
            actions = np.zeros(table.size, np.int64)
            forced, rows = np.flatnonzero(choices == 1), np.flatnonzero(choices > 1)
            actions[forced] = mask[forced].argmax(axis=1)
            if len(rows):
                decisions += len(rows)
                asked = self._ask(table, rows, mask, seating)
                clock.lap("environment")
                self._decide(table, asked, actions, seed, seating, generator, clock)
            table.step(actions)
            clock.lap("environment")
        outcome = table.outcome()
        returns = self.reward(outcome)
        if not self._keeper.size:
            raise ConfigError("learn: a whole batch of games held no decision of the learner's")
        kept = self.kept
        value = kept.value
        if self.critic is not None and self.critic.ready:
            value = self.critic.values(kept.observation, kept.hidden)
            clock.lap("acting")
        duplicates = None
        if copies > 1:
            kind = seating.player.max(axis=1)
            duplicates = Duplicates(copies, kind, self.game.num_seats)
        final = returns.reshape(-1)
        batch = with_advantages(kept, value, final, discount, gae_lambda, duplicates)
        clock.lap("encoding")
        return Played(
            batch, outcome, table.statistics(), seating.player == seating.kept, decisions, seconds
        )

    @property
    def kept(self) -> Kept:
        """What was kept of the games played last, in the order of their batch."""
        return self._keeper.kept

    def _ask(
        self, table: Table, rows: IntArray, mask: npt.NDArray[np.bool_], seating: Seating
    ) -> _Asked:
        """What is to be decided in `rows`, and by which player; `mask` bool[B, A]."""
        seat = np.asarray(table.seat)[rows].astype(np.int64)
        phase = np.asarray(table.phase)[rows].astype(np.int64)
        observation = table.observe(None if len(rows) == table.size else rows)
        player = seating.player[rows, seat]
        if not seating.learned.everything:
            left = (player == LEARNER) & ~seating.learned.rows(phase, observation)
            player = np.where(left, seating.partner, player)
        stage = np.asarray(getattr(table, "stage", table.phase * 0))[rows].astype(np.int64)
        return _Asked(rows, seat, phase, stage, player, mask[rows], observation)

    def _decide(
        self,
        table: Table,
        asked: _Asked,
        actions: IntArray,
        seed: int,
        seating: Seating,
        generator: torch.Generator,
        clock: _Clock,
    ) -> None:
        """Write into `actions` int64[B] what the players do in the rows that are asked."""
        networks = np.array([isinstance(p, ActingNetwork) for p in seating.players])
        chosen = np.flatnonzero(networks[asked.player])
        if len(chosen):
            some = asked.take(chosen)
            actions[some.row] = self._networks(table, some, seating, generator, clock)
        for number, agent in enumerate(seating.players):
            chosen = np.flatnonzero(asked.player == number)
            if len(chosen) and not isinstance(agent, ActingNetwork):
                some = asked.take(chosen)
                made = self._agent(agent, table, some, agent_seed(seed, f"player {number}"))
                actions[some.row] = made
                clock.lap("opponents")
                if number == seating.kept:
                    own = np.flatnonzero(seating.learned.rows(some.phase, some.observation))
                    self._keep_shown(table, some.take(own), made[own])
                    clock.lap("encoding")

    def _networks(
        self,
        table: Table,
        asked: _Asked,
        seating: Seating,
        generator: torch.Generator,
        clock: _Clock,
    ) -> IntArray:
        """Moves of all players that are networks, int64[n] in plain order; keeps the learner's."""
        case = self.canon.case(asked.observation)
        counts = torch.from_numpy(self.canon.to_canonical(asked.observation, case)).to(self.device)
        legal = torch.from_numpy(self.canon.mask_to_canonical(asked.mask, case)).to(self.device)
        phases = torch.from_numpy(asked.phase).to(self.device)
        clock.lap("encoding")
        log_probs = torch.empty(legal.shape, device=self.device)
        values = torch.empty(len(phases), device=self.device)
        for number in np.unique(asked.player):
            network = seating.players[number]
            assert isinstance(network, ActingNetwork)
            chosen = np.flatnonzero(asked.player == number)
            if len(chosen) == len(asked.player):
                log_probs, values = network.evaluate(counts, legal, phases)
                continue
            index = torch.from_numpy(chosen).to(self.device)
            log_probs[index], values[index] = network.evaluate(
                counts.index_select(0, index), legal.index_select(0, index), phases[index]
            )
        action = sample(log_probs, generator)
        log_prob = log_probs.gather(1, action[:, None])[:, 0]
        mine = asked.player == seating.kept
        if seating.kept != LEARNER:
            mine &= seating.learned.rows(asked.phase, asked.observation)
        if mine.any():
            key = torch.from_numpy(asked.key(self.game.num_seats)).to(self.device)
            rows = np.flatnonzero(mine)
            hidden = torch.from_numpy(self._hidden(table, asked.row[rows], case[rows]))
            stages = torch.from_numpy(asked.stage).to(self.device)
            kept = Kept(
                key, counts, legal, action, log_prob, values, phases, stages, hidden.to(self.device)
            )
            own = None if mine.all() else torch.from_numpy(rows).to(self.device)
            self._keeper.add(kept, own)
        plain = self.canon.action_to_plain(action.cpu().numpy(), case)
        clock.lap("acting")
        return plain

    def _keep_shown(self, table: Table, asked: _Asked, action: IntArray) -> None:
        """Keep an agent's decisions, in canonical order, to imitate them."""
        case = self.canon.case(asked.observation)
        none = np.zeros(len(action), np.float32)
        columns = (
            asked.key(self.game.num_seats),
            self.canon.to_canonical(asked.observation, case),
            self.canon.mask_to_canonical(asked.mask, case),
            self.canon.action_to_canonical(action, case),
            none,
            none,
            asked.phase,
            asked.stage,
            self._hidden(table, asked.row, case),
        )
        self._keeper.add(Kept(*(torch.from_numpy(column).to(self.device) for column in columns)))

    def _hidden(self, table: Table, rows: IntArray, case: IntArray) -> npt.NDArray[np.uint8]:
        """What only a critic sees of decisions that are kept, in canonical order: uint8[n, H]."""
        if self.critic is None:
            return np.zeros((len(rows), 0), np.uint8)
        return self.critic.hidden(table, rows, case)

    def _agent(self, agent: Agent, table: Table, asked: _Asked, seed: int) -> IntArray:
        """An agent's moves int64[n]; it draws from keys that `seed` and the decisions give."""
        needs, rows = agent.needs, asked.row
        decision = np.asarray(table.decision)[rows]
        return agent.act(
            Decisions(
                self.game,
                asked.mask,
                asked.seat,
                asked.phase,
                decision_keys(seed, table.game_ids[rows], decision, asked.seat),
                asked.observation if "observation" in needs else None,
                table.knowledge(rows) if "knowledge" in needs else None,
                table.take(rows) if "table" in needs else None,
            )
        )


def _counts(mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """How many of each row bool[n, A] are true; twice as fast as its sum."""
    wide = np.uint8 if mask.shape[1] < 256 else np.int64
    return np.einsum("na->n", mask.view(np.uint8), dtype=wide)


class _Clock:
    """Adds the time since the last lap to a named sum."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] += now - self.last
        self.last = now
