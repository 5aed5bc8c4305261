"""Who sits at the learner's tables: the mixture, and the pool of earlier selves.

Each game of a batch gets one entry of the mixture. `self` tables are the learner at every seat; at
any other table the entry's agent takes its number of seats and the learner the rest, in a random
order. `population` tables seat members of the pool, drawn anew for every batch. Networks of one
shape act together with the learner in one batch; every other agent acts once a step for all of its
seats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from kolkhoz_agents.bots import Bot
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import NetworkShape, Weights
from kolkhoz_agents.protocol import Agent, Game
from kolkhoz_agents.registry import make_agent

from .acting import ActingNetwork, make_network
from .config_model import POPULATION, SELF, OpponentsPart, TableMix
from .rollout import LEARNER, IntArray, Seating

Player = ActingNetwork | Agent
GREEDY = 1e-3
"""The temperature of a bot that plays its best move."""


@dataclass
class Pool:
    """Names of the snapshots in the pool, oldest first, and when the next one joins."""

    names: list[str]
    next_at: int
    every: int


class Opponents:
    """Seats the tables of every batch. `folder` is where the snapshots lie."""

    def __init__(
        self,
        part: OpponentsPart,
        game: Game,
        shape: NetworkShape,
        device: torch.device,
        precision: str,
        folder: Path,
    ) -> None:
        self.part = part
        self.game = game
        self.shape = shape
        self.device = device
        self.precision = precision
        self.folder = folder
        every = part.population.every
        self.pool = Pool([], every, every)
        self._loaded: dict[str, Player] = {}
        for table in part.tables:
            if table.agent not in (SELF, POPULATION):
                self.player(table.agent)
        for agent in part.population.agents:
            self.player(agent)

    def player(self, text: str) -> Player:
        """The player of an AGENT text; a bot of the learner's shape becomes a network."""
        if text not in self._loaded:
            agent = make_agent(text, self.game)
            self._loaded[text] = as_player(
                agent, self.shape, self.game, self.device, self.precision
            )
        return self._loaded[text]

    def seating(
        self,
        learner: ActingNetwork,
        learned: Learned,
        partner: Player | None,
        size: int,
        progress: float,
        generator: np.random.Generator,
    ) -> Seating:
        """Who sits where in a batch of `size` games, drawn with `generator`."""
        players: list[Player] = [learner]
        if partner is not None:
            players.append(partner)
        partner_number = len(players) - 1
        entry = self._entries(size, progress, generator)
        player = np.full((size, self.game.num_seats), LEARNER, np.int64)
        for number, table in enumerate(self.part.tables):
            rows = np.flatnonzero(entry == number)
            if table.agent == SELF or not len(rows):
                continue
            members = self._members(table, generator)
            if not members:
                continue
            numbers = len(players) + np.arange(len(members))
            players += members
            player[rows] = self._seats(table, len(rows), numbers, generator)
        return Seating(player, players, learned, partner_number)

    def _entries(self, size: int, progress: float, generator: np.random.Generator) -> IntArray:
        """Which entry of the mixture each game gets: exact shares, in random order, int64[size]."""
        shares = np.array([share_at(table, progress) for table in self.part.tables])
        bounds = np.floor(np.cumsum(shares) / shares.sum() * size + 0.5).astype(np.int64)
        entry = np.searchsorted(bounds, np.arange(size), side="right")
        return generator.permutation(np.minimum(entry, len(shares) - 1))

    def _members(self, table: TableMix, generator: np.random.Generator) -> list[Player]:
        if table.agent != POPULATION:
            return [self.player(table.agent)]
        pool = [*self.part.population.agents, *self.pool.names]
        drawn = min(self.part.population.drawn, len(pool))
        chosen = generator.choice(len(pool), drawn, replace=False) if drawn else ()
        return [self._member(pool[i]) for i in sorted(chosen)]

    def _member(self, name: str) -> Player:
        if name not in self.pool.names:
            return self.player(name)
        if name not in self._loaded:
            weights: Weights = load_file(self.folder / f"{name}.safetensors")
            network = make_network(self.shape, self.game, weights, self.device)
            self._loaded[name] = ActingNetwork(network, self.precision)
        return self._loaded[name]

    def _seats(
        self, table: TableMix, games: int, numbers: IntArray, generator: np.random.Generator
    ) -> IntArray:
        """Players int64[games, P]: the learner's seats and those of `numbers`, shuffled."""
        seats = self.game.num_seats
        taken = table.seats or seats - 1
        player = np.full((games, seats), LEARNER, np.int64)
        player[:, :taken] = numbers[generator.integers(len(numbers), size=(games, taken))]
        return generator.permuted(player, axis=1)

    def maybe_join(self, decisions: int, weights: Callable[[], Weights]) -> str | None:
        """Add a snapshot to the pool if one is due after `decisions`; returns its name."""
        uses_pool = any(table.agent == POPULATION for table in self.part.tables)
        if not uses_pool or decisions < self.pool.next_at:
            return None
        name = f"decisions-{decisions:012d}"
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{name}.part"
        save_file(weights(), aside)
        aside.replace(self.folder / f"{name}.safetensors")
        self.pool.names.append(name)
        if len(self.pool.names) >= self.part.population.keep:
            for old in self.pool.names[0::2]:
                self._loaded.pop(old, None)
            self.pool.names = self.pool.names[1::2]
            self.pool.every *= 2
        self.pool.next_at = decisions + self.pool.every
        return name


def share_at(table: TableMix, progress: float) -> float:
    """The share of an entry where `progress` (0 to 1) of the budget is used."""
    final = table.share if table.final_share is None else table.final_share
    return table.share + progress * (final - table.share)


def as_player(
    agent: Agent, shape: NetworkShape, game: Game, device: torch.device, precision: str
) -> Player:
    """A bot of the learner's shape as a network that acts as the bot does; else the agent."""
    if isinstance(agent, Bot) and agent.file.learned is None and agent.file.shape == shape:
        network = make_network(shape, game, agent.file.weights, device)
        return ActingNetwork(network, precision, max(agent.temperature, GREEDY))
    return agent
