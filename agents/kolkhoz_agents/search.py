"""Search by determinised Monte Carlo, for any game of the lab.

The agent draws worlds that agree with what its seat knows, tries its moves in them, lets a policy
play on for everybody, and takes the move that fares best on average. Every move is tried in the
same worlds with the same randomness to come (common random numbers), and the worse half is dropped
from round to round (sequential halving: Karnin, Koren and Somekh, 2013).

It sees what a `Knowledge` holds and nothing else: its worlds come from `Knowledge.worlds`, and in
them each seat's policy again gets only what that seat may know. The *cheater* is the same search
in the true world, with the decks to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import mix
from kolkhoz_agents.games import load_object
from kolkhoz_agents.playouts import Playouts
from kolkhoz_agents.protocol import KNOWLEDGE, TABLE, Decisions, Game, IntArray, Option, Table
from kolkhoz_agents.registry import BUILT_IN, make_agent

ROWS = 8192
"""Games that are played on side by side."""
FEW_ROWS = 128
"""Fewer take hardly less time."""
BATCH = 128
"""Decisions that suit one call."""
UNSURE = 0.05
"""Chance of a move that a policy without `log_probs` would not make, for the prior."""
LEAST_PRIOR = -10.0
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class _Trial:
    """B decisions with more than one legal move, and how their moves have fared so far.

    `alive` bool[B, A]: moves still in the running; `total` float64[B, A]: summed values in `tried`
    worlds; `prior` float64[B, A]; `passes`: times that worlds were drawn.
    """

    decisions: Decisions
    alive: NDArray[np.bool_]
    total: NDArray[np.float64]
    prior: NDArray[np.float64]
    tried: int = 0
    passes: int = 0

    @property
    def moves(self) -> NDArray[np.int64]:
        """int64[B]: moves still in the running."""
        count: NDArray[np.int64] = self.alive.sum(axis=1)
        return count

    def scores(self) -> NDArray[np.float64]:
        mean = self.total / max(self.tried, 1)
        return np.where(self.alive, mean + self.prior, -np.inf)

    def narrow(self, keep: NDArray[np.int64]) -> None:
        """Keep the best moves of each decision, as many as int64[B] `keep` says."""
        order = np.argsort(-self.scores(), axis=1, kind="stable")
        place = np.argsort(order, axis=1)
        self.alive &= place < keep[:, None]


class SearchAgent:
    """Tries its moves in worlds that agree with what it knows, and plays them on."""

    help: ClassVar[str] = "tries its moves in worlds that agree with what it knows (Monte Carlo)"
    kind: ClassVar[str] = "search"

    def __init__(
        self,
        game: Game,
        ms: float = 100.0,
        worlds: int = 0,
        rollout: str = "random",
        horizon: str = "game",
        prior: float = 0.01,
    ) -> None:
        """Options as in `options_for`; raises AgentError for a rollout agent that won't do."""
        budget = f"worlds={worlds}" if worlds else f"ms={ms:g}"
        self.name = f"{self.kind}:{budget},rollout={rollout},horizon={horizon}"
        self.game, self.batch = game, BATCH
        self.policy = make_agent(rollout, game)
        self.playouts = Playouts(game, self.policy, to_end=horizon == "game")
        self.needs = frozenset({KNOWLEDGE}) | self.policy.needs
        self.seconds, self.worlds, self.weight = ms / 1000, worlds, prior
        # Rows a second in the last pass: what a pass is sized by.
        self._rate = 0.0

    @classmethod
    def options_for(cls, game: Game) -> tuple[Option, ...]:
        """Budget, rollout agent and horizon; the defaults are what suits `game`."""
        rollout = "heuristic" if _has_heuristic(game) else "random"
        staged = hasattr(game.table(0, np.arange(1)), "stage")
        horizon = "year" if staged else "game"
        return (
            Option("ms", float, 100.0, "milliseconds a decision", minimum=1),
            Option("worlds", int, 0, "worlds for each move instead: repeatable", minimum=0),
            Option("rollout", str, rollout, "who plays on: heuristic, random or a bot"),
            Option("horizon", str, horizon, "play on to the end of", choices=("year", "game")),
            Option("prior", float, 0.01, "weight of the rollout agent's own judgement", minimum=0),
        )

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions."""
        actions = decisions.mask.argmax(axis=1).astype(np.int64)
        choices = decisions.mask.sum(axis=1)
        if self.worlds:
            for count in np.unique(choices[choices > 1]):
                rows = np.flatnonzero(choices == count)
                actions[rows] = self._by_worlds(self._trial(decisions.take(rows)), int(count))
        elif (choices > 1).any():
            rows = np.flatnonzero(choices > 1)
            actions[rows] = self._by_time(self._trial(decisions.take(rows)))
        return actions

    def _trial(self, decisions: Decisions) -> _Trial:
        mask = decisions.mask
        prior = self.weight * self._prior(decisions) if self.weight else np.zeros(mask.shape)
        return _Trial(decisions, mask.copy(), np.zeros(mask.shape), prior)

    def _prior(self, decisions: Decisions) -> NDArray[np.float64]:
        """float64[B, A]: log of the chance of each move with the rollout agent."""
        if hasattr(self.policy, "log_probs"):
            logs = np.asarray(self.policy.log_probs(decisions), dtype=np.float64)
            return np.maximum(logs, LEAST_PRIOR)
        prior = np.full(decisions.mask.shape, np.log(UNSURE))
        prior[np.arange(len(decisions)), self.policy.act(decisions)] = 0
        return prior

    def _by_worlds(self, trial: _Trial, moves: int) -> NDArray[np.int64]:
        """Each round spends the same number of games, on fewer and fewer moves."""
        rounds = _rounds(moves)
        for _ in range(rounds):
            alive = int(trial.moves[0])
            self._try(trial, -(-self.worlds * moves // (rounds * alive)))
            trial.narrow(np.full(len(trial.decisions), max(-(-alive // 2), 1)))
        return trial.scores().argmax(axis=1)

    def _by_time(self, trial: _Trial) -> NDArray[np.int64]:
        """Each round takes the same time."""
        begin = perf_counter()
        total = self.seconds * len(trial.decisions)
        rounds = _rounds(int(trial.moves.max()))
        for number in range(rounds):
            deadline = begin + total * (number + 1) / rounds
            left = deadline - perf_counter()
            while True:
                count = self._worlds_in(left, int(trial.moves.sum()))
                started = perf_counter()
                self._try(trial, count)
                left = deadline - perf_counter()
                if left < 0.5 * (perf_counter() - started):
                    break
            trial.narrow(np.maximum(-(-trial.moves // 2), 1))
        return trial.scores().argmax(axis=1)

    def _worlds_in(self, seconds: float, moves: int) -> int:
        """How many worlds to draw in one pass over `moves` moves."""
        rows = self._rate * seconds if self._rate else FEW_ROWS
        return max(int(min(max(rows, FEW_ROWS), ROWS) / moves), 1)

    def _try(self, trial: _Trial, count: int) -> None:
        """Try all moves in the running in `count` new worlds of each decision."""
        started = perf_counter()
        trial.passes += 1
        moves = trial.moves
        rows = int(moves.sum()) * count
        cuts = np.cumsum(moves * count) // ROWS
        for part in np.split(np.arange(len(moves)), np.flatnonzero(np.diff(cuts)) + 1):
            trial.total[part] += self._values(trial, part, count)
        trial.tried += count
        self._rate = rows / max(perf_counter() - started, 1e-6)

    def _values(self, trial: _Trial, part: IntArray, count: int) -> NDArray[np.float64]:
        """Values of the moves of some decisions, summed over `count` worlds, float64[n, A]."""
        decisions = trial.decisions.take(part)
        with np.errstate(over="ignore"):
            seeds = mix(decisions.keys + np.uint64(trial.passes) * _GOLDEN)
            keys = mix(
                np.repeat(seeds, count) + np.tile(np.arange(count, dtype=np.uint64), len(part))
            )
        worlds = self._draw(decisions, count, seeds)
        which, move = np.nonzero(trial.alive[part])
        rows = (which[:, None] * count + np.arange(count)).ravel()
        table = worlds.take(rows)
        seats = np.repeat(np.asarray(decisions.seat)[which], count)
        table.step(np.repeat(move, count))
        values = self.playouts.values(table, seats, keys[rows])
        total = np.zeros(decisions.mask.shape)
        total[which, move] = values.reshape(-1, count).sum(axis=1)
        return total

    def _draw(self, decisions: Decisions, count: int, seeds: NDArray[np.uint64]) -> Table:
        assert decisions.knowledge is not None, "search needs the knowledge"
        return decisions.knowledge.worlds(count, seeds)


class CheaterAgent(SearchAgent):
    """The same search in the true world: all cards seen, and the decks to come."""

    help: ClassVar[str] = "the same search with all cards seen, for the ceiling that luck sets"
    kind: ClassVar[str] = "cheater"

    def __init__(self, game: Game, **options: object) -> None:
        super().__init__(game, **options)  # type: ignore[arg-type]
        self.needs = (self.needs - {KNOWLEDGE}) | {TABLE} | self.policy.needs

    def _draw(self, decisions: Decisions, count: int, seeds: NDArray[np.uint64]) -> Table:
        assert decisions.table is not None, "the cheater needs the table"
        return decisions.table.take(np.repeat(np.arange(len(decisions)), count))


def _rounds(moves: int) -> int:
    return max(int(np.ceil(np.log2(moves))), 1)


def _has_heuristic(game: Game) -> bool:
    factory = load_object(BUILT_IN["heuristic"], "agent 'heuristic': factory")
    return game.name in getattr(factory, "games", ())
