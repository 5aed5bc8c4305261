"""Search by determinised Monte Carlo, for any game of the lab.

The agent draws worlds that agree with what its seat knows, tries its moves in them, lets a policy
play on for everybody, and takes the move that fares best on average. Every move is tried in the
same worlds with the same randomness to come (common random numbers), and the worse half is dropped
from round to round (sequential halving: Karnin, Koren and Somekh, 2013).

It sees what a `Knowledge` holds and nothing else: its worlds come from `Knowledge.worlds`, drawn by
a belief if there is one, and in them each seat's policy again gets only what that seat may know.
The *cheater* is the same search in the true world, with the decks to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.belief import Belief, load_named, shipped_beliefs
from kolkhoz_agents.decisions import mix
from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.games import load_object
from kolkhoz_agents.playouts import Playouts, policy_log_probs
from kolkhoz_agents.protocol import (
    KNOWLEDGE,
    OBSERVATION,
    TABLE,
    Agent,
    Decisions,
    Game,
    IntArray,
    Option,
)
from kolkhoz_agents.quick_network import quickened
from kolkhoz_agents.registry import BUILT_IN, make_agent
from kolkhoz_agents.sampling import Sample, each_once

ROWS = 8192
"""Games that are played on side by side."""
FEW_ROWS = 128
"""Fewer take hardly less time."""
BATCH, MOST = 128, 512
"""Decisions that suit one call; so many if few worlds are drawn for each."""
MOST_WORLDS = 20_000
"""Worlds that a decision may ask for: with all its moves they must fit into memory."""
PRIOR, BOT_PRIOR, BOT_PRIOR_WORLDS = 0.01, 0.003, 0.16
"""Weight of a log-probability, as a share of the victory: of one that is taken for granted with an
agent that gives none; of a bot's own at least; and of a bot's own times the number of worlds (the
noise that it is to outweigh, a variance, falls with their number)."""
LEAST_PRIOR = -10.0
CALL_SECONDS = 60.0
"""Time that one call should take at most."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class _Trial:
    """B decisions with more than one legal move, and how their moves have fared so far.

    `alive` bool[B, A]: moves still in the running; `total` float64[B, A]: summed values in `tried`
    int64[B] worlds; `prior` float64[B, A]; `passes`: times that worlds were drawn.
    """

    decisions: Decisions
    alive: NDArray[np.bool_]
    total: NDArray[np.float64]
    prior: NDArray[np.float64]
    tried: NDArray[np.int64]
    passes: int = 0

    @property
    def moves(self) -> NDArray[np.int64]:
        """int64[B]: moves still in the running."""
        count: NDArray[np.int64] = self.alive.sum(axis=1)
        return count

    def scores(self) -> NDArray[np.float64]:
        mean = self.total / np.maximum(self.tried, 1)[:, None]
        return np.where(self.alive, mean + self.prior, -np.inf)

    def narrow(self, keep: NDArray[np.int64]) -> None:
        """Keep the best moves of each decision, as many as int64[B] `keep` says."""
        order = np.argsort(-self.scores(), axis=1, kind="stable")
        place = np.argsort(order, axis=1)
        self.alive &= place < keep[:, None]


class _Pace:
    """How long a pass takes: so much whatever its size, and so much a row.

    A straight line through the passes so far, in which older ones count less and less. What a few
    rows take is nearly all for the pass, so that a rate alone would ask for far too few.
    """

    def __init__(self) -> None:
        self._sums = np.zeros(5)

    def took(self, rows: float, seconds: float) -> None:
        """A pass over so many rows took so long."""
        self._sums *= 0.9
        self._sums += (1, rows, rows * rows, seconds, rows * seconds)

    def _line(self) -> tuple[float, float]:
        """Seconds a pass, seconds a row."""
        count, rows, squares, seconds, products = self._sums.tolist()
        if not rows:
            return 0.0, 0.0
        spread = squares - rows * rows / count
        # Passes of one size say nothing of a line: all of the time is laid to the rows.
        slope = seconds / rows
        if spread > 0.01 * squares:
            slope = min(max((products - rows * seconds / count) / spread, 0.0), slope)
        return (seconds - slope * rows) / count, slope

    def seconds(self, rows: float) -> float:
        """What a pass over so many rows takes; 0 before the first."""
        each_pass, each_row = self._line()
        return each_pass + each_row * rows

    def rows(self, seconds: float) -> float:
        """How many rows can be done in one pass; few before the first."""
        each_pass, each_row = self._line()
        if not each_row:
            return FEW_ROWS
        return max(seconds - each_pass, 0.0) / each_row


class SearchAgent:
    """Tries its moves in worlds that agree with what it knows, and plays them on."""

    help: ClassVar[str] = "tries its moves in worlds that agree with what it knows (Monte Carlo)"
    kind: ClassVar[str] = "search"
    believes: ClassVar[bool] = True

    def __init__(
        self,
        game: Game,
        ms: float = 100.0,
        worlds: int = 0,
        rollout: str = "random",
        horizon: str = "game",
        prior: float | None = None,
        belief: str = "auto",
        precision: str = "auto",
    ) -> None:
        """Options as in `options_for`; raises AgentError for a rollout agent that won't do."""
        budget = f"worlds={worlds}" if worlds else f"ms={ms:g}"
        self.name = f"{self.kind}:{budget},rollout={rollout},horizon={horizon}"
        self.name += "" if belief == "auto" else f",belief={belief}"
        self.game = game
        if worlds:
            self.batch = int(np.clip(ROWS // (4 * worlds), BATCH, MOST))
        else:
            self.batch = int(np.clip(CALL_SECONDS * 1000 / ms, 1, BATCH))
        self.policy = _rollout_agent(rollout, game)
        # A search by the clock is repeatable nowhere; one by worlds should be everywhere.
        if precision == "bfloat16" or (precision == "auto" and not worlds):
            self._hurry(required=precision != "auto")
        self.playouts = Playouts(game, self.policy, to_end=horizon == "game")
        self.belief = _belief(belief, rollout, game) if self.believes else None
        self.needs = frozenset({KNOWLEDGE}) | self.policy.needs
        self.needs |= frozenset({OBSERVATION} if self.belief else ())
        self.seconds, self.worlds = ms / 1000, worlds
        self.weight = self._usual_prior() if prior is None else prior
        self._pace = _Pace()

    def _hurry(self, required: bool) -> None:
        """Let a bot that plays on compute in bfloat16 where the machine can do that."""
        quick = quickened(self.policy, self.game)
        if quick is None and required:
            raise AgentError(
                "precision=bfloat16 needs a bot as rollout, torch, and a processor with bfloat16"
            )
        self.policy = quick or self.policy

    def _usual_prior(self) -> float:
        if not hasattr(self.policy, "log_probs"):
            return PRIOR
        return max(BOT_PRIOR, BOT_PRIOR_WORLDS / self.worlds) if self.worlds else BOT_PRIOR

    @classmethod
    def options_for(cls, game: Game) -> tuple[Option, ...]:
        """Budget, rollout agent and horizon; the defaults are what suits `game`."""
        rollout = "heuristic" if _has_heuristic(game) else "random"
        staged = hasattr(game.table(0, np.arange(1)), "stage")
        horizon = "year" if staged else "game"
        return (
            Option("ms", float, 100.0, "milliseconds a decision", minimum=1),
            Option(
                "worlds",
                int,
                0,
                "worlds for each move instead: repeatable",
                minimum=0,
                maximum=MOST_WORLDS,
            ),
            Option("rollout", str, rollout, "who plays on: heuristic, random or a bot"),
            Option("horizon", str, horizon, "play on to the end of", choices=("year", "game")),
            Option(
                "prior", float, None, "weight of the rollout agent's own judgement (default for a "
                f"bot's {BOT_PRIOR_WORLDS} / worlds, at least {BOT_PRIOR}; {PRIOR} for another's)",
                minimum=0,
            ),
            Option(
                "belief", str, "auto", "which worlds are likely: a belief's name or folder, or "
                "none; auto: what was shipped for the rollout bot",
            ),
            Option(
                "precision", str, "auto", "of a bot that plays on; auto: bfloat16 with ms",
                choices=("auto", "float32", "bfloat16"),
            ),
        )

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions."""
        actions = decisions.mask.argmax(axis=1).astype(np.int64)
        choices = decisions.mask.sum(axis=1)
        rows = np.flatnonzero(choices > 1)
        if len(rows):
            trial = self._trial(decisions.take(rows))
            if self.worlds:
                self._by_worlds(trial)
            else:
                self._by_time(trial)
            actions[rows] = trial.scores().argmax(axis=1)
        return actions

    def _trial(self, decisions: Decisions) -> _Trial:
        mask = decisions.mask
        prior = self.weight * self._prior(decisions) if self.weight else np.zeros(mask.shape)
        tried = np.zeros(len(mask), dtype=np.int64)
        return _Trial(decisions, mask.copy(), np.zeros(mask.shape), prior, tried)

    def _prior(self, decisions: Decisions) -> NDArray[np.float64]:
        """float64[B, A]: log of the chance of each move with the rollout agent."""
        return np.maximum(policy_log_probs(self.policy, decisions), LEAST_PRIOR)

    def _by_worlds(self, trial: _Trial) -> None:
        """Each round of a decision spends the same number of games, on fewer and fewer moves."""
        moves = trial.moves
        rounds = np.ceil(np.log2(moves)).astype(np.int64)
        for number in range(int(rounds.max())):
            goes_on = number < rounds
            alive = trial.moves
            count = -(-self.worlds * moves // (rounds * alive))
            self._try(trial, np.where(goes_on, count, 0))
            trial.narrow(np.where(goes_on, -(-alive // 2), alive))

    def _by_time(self, trial: _Trial) -> None:
        """Each round takes the same time; no more rounds than there is time for."""
        begin = perf_counter()
        total = self.seconds * len(trial.decisions)
        rounds = int(np.ceil(np.log2(trial.moves.max())))
        rounds = int(np.clip(total / max(self._pace.seconds(FEW_ROWS), 1e-6), 1, rounds))
        for number in range(rounds):
            deadline = begin + total * (number + 1) / rounds
            left = deadline - perf_counter()
            while True:
                count = self._worlds_in(left, int(trial.moves.sum()))
                self._try(trial, np.full(len(trial.decisions), count))
                left = deadline - perf_counter()
                if left < 0.5 * self._pace.seconds(FEW_ROWS):
                    break
            trial.narrow(np.maximum(-(-trial.moves // 2), 1 if number == rounds - 1 else 2))

    def _worlds_in(self, seconds: float, moves: int) -> int:
        """How many worlds to draw in one pass over `moves` moves."""
        return max(int(np.clip(self._pace.rows(seconds), FEW_ROWS, ROWS) / moves), 1)

    def _try(self, trial: _Trial, counts: NDArray[np.int64]) -> None:
        """Try all moves in the running in new worlds, int64[B] `counts` for each decision."""
        started = perf_counter()
        trial.passes += 1
        rows = trial.moves * counts
        asked = np.flatnonzero(rows)
        parts = np.cumsum(rows[asked]) // ROWS
        for part in np.split(asked, np.flatnonzero(np.diff(parts)) + 1):
            trial.total[part] += self._values(trial, part, counts[part])
        trial.tried += counts
        self._pace.took(float(rows.sum()), perf_counter() - started)

    def _values(
        self, trial: _Trial, part: IntArray, counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Values of the moves of some decisions, summed over their worlds, float64[n, A]."""
        decisions = trial.decisions.take(part)
        with np.errstate(over="ignore"):
            seeds = mix(decisions.keys + np.uint64(trial.passes) * _GOLDEN)
            sample = self._draw(decisions, counts, seeds)
            keys = mix(seeds[sample.owner] + sample.place().astype(np.uint64))
        world, move = np.nonzero(trial.alive[part][sample.owner])
        owner = sample.owner[world]
        table = sample.table.take(world)
        table.step(move)
        values = self.playouts.values(table, np.asarray(decisions.seat)[owner], keys[world])
        total = np.zeros(decisions.mask.shape)
        np.add.at(total, (owner, move), values * sample.weight[world])
        return total

    def _draw(
        self, decisions: Decisions, counts: NDArray[np.int64], seeds: NDArray[np.uint64]
    ) -> Sample:
        """Worlds, int64[n] `counts` for each decision."""
        assert decisions.knowledge is not None, "search needs the knowledge"
        if self.belief is not None:
            return self.belief.sample(decisions, counts, seeds)
        return each_once(decisions.knowledge.worlds(int(counts.max()), seeds), counts)


class CheaterAgent(SearchAgent):
    """The same search in the true world: all cards seen, and the decks to come."""

    help: ClassVar[str] = "the same search with all cards seen, for the ceiling that luck sets"
    kind: ClassVar[str] = "cheater"
    believes: ClassVar[bool] = False

    def __init__(self, game: Game, **options: Any) -> None:
        """Options as in `options_for`."""
        super().__init__(game, **options)
        self.needs = (self.needs - {KNOWLEDGE}) | {TABLE} | self.policy.needs
        # There is one true world, and a policy that draws nothing plays it on in one way.
        if getattr(self.policy, "draws_nothing", False):
            self.worlds = 1

    @classmethod
    def options_for(cls, game: Game) -> tuple[Option, ...]:
        """As for search, but there is nothing to believe."""
        return tuple(option for option in super().options_for(game) if option.name != "belief")

    def _draw(
        self, decisions: Decisions, counts: NDArray[np.int64], seeds: NDArray[np.uint64]
    ) -> Sample:
        assert decisions.table is not None, "the cheater needs the table"
        owner = np.repeat(np.arange(len(decisions)), counts)
        return Sample(decisions.table.take(owner), owner, np.ones(len(owner)))


def _rollout_agent(text: str, game: Game) -> Agent:
    """The agent that plays on; AgentError for one that can't."""
    try:
        agent = make_agent(text, game)
    except AgentError as error:
        raise AgentError(f"rollout: {error}") from error
    if isinstance(agent, SearchAgent) and TABLE not in agent.needs:
        raise AgentError(f"rollout={text}: a search would think at every move of every playout")
    return agent


def _has_heuristic(game: Game) -> bool:
    factory = load_object(BUILT_IN["heuristic"], "agent 'heuristic': factory")
    return game.name in getattr(factory, "games", ())


def _belief(text: str, rollout: str, game: Game) -> Belief | None:
    """The belief that an option names; with auto, what was shipped for the rollout bot."""
    if text == "auto":
        text = rollout.partition(":")[0]
        if text not in shipped_beliefs():
            return None
    return None if text == "none" else load_named(text, game)
