"""A PPO run from its first batch to its bot, and from any checkpoint on.

Whatever is drawn in a batch follows from the run's seed and the batch's number, so a run that was
stopped and resumed is the same as one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kolkhoz_agents.bots import Bot, BotFile, load_bot, save_bot
from kolkhoz_agents.decisions import agent_seed
from kolkhoz_agents.folders import halved
from kolkhoz_agents.games import make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon
from kolkhoz_agents.registry import bot_path, make_agent
from kolkhoz_agents.torch_network import PolicyValueNetwork

from .acting import ActingNetwork, make_network
from .average import Average
from .checkpoint import (
    Checkpoint,
    CheckpointError,
    load_latest,
    network_tensors,
    prefixed,
    save_checkpoint,
    without_prefix,
)
from .checks import choose_device
from .config_algorithms import PpoPart
from .config_model import TrainingConfig
from .critic import Critic
from .grow import grow
from .measure import Measured, measure
from .opponents import Opponents, Pool, as_player
from .ppo import DivergedError, Ppo, Schedule, load_optimizer, optimizer_tensors, schedule
from .progress import Progress
from .reward import MarginReward
from .rollout import LEARNER, Played, Rollout, Seating
from .run_folder import RunFolder
from .stopping import Cadence, StopRequest

Tell = Callable[[list[Measured], int], None]
"""Hears the results of an evaluation and after how many learned decisions it was."""


@dataclass(frozen=True)
class Report:
    """What one batch brought, for whoever watches."""

    progress: Progress
    fraction: float
    now: Schedule
    losses: dict[str, float]
    played: Played
    trainer: Trainer


class Trainer:
    """Trains what a config describes in a run folder."""

    def __init__(self, config: TrainingConfig, run: RunFolder, *, resume: bool = False) -> None:
        """Ready to begin; with `resume`, to take over a checkpoint, which brings its weights."""
        assert isinstance(config.algorithm, PpoPart)
        self.config, self.run, self.part = config, run, config.algorithm
        torch.set_num_threads(config.threads)
        self.device = choose_device(config.device)
        self.game = make_game(config.game.name, config.game.rules)
        self.shape = config.network.shape()
        self.network = PolicyValueNetwork(self.shape, self.game)
        if not resume:
            self._first_weights()
        self.network.to(self.device)
        self.ppo = Ppo(self.part, self.network, self.game.phases, self._anchor())
        precision = self.part.precision
        self.opponents = Opponents(
            config.opponents, self.game, self.shape, self.device, precision, run.snapshots
        )
        self.learned = Learned(self.game, config.learn)
        self.partner = None
        if config.partner is not None:
            partner = make_agent(config.partner, self.game)
            self.partner = as_player(partner, self.shape, self.game, self.device, precision)
        reward = MarginReward(config.reward, self.game.num_seats)
        self.critic = self._critic()
        self.rollout = Rollout(
            self.game, Canon(self.game, self.shape), reward, self.device, self.critic
        )
        self.average = Average(self.network, self.part.average)
        self.progress = Progress()
        self.results: list[dict[str, Any]] = []

    # Beginning, or going on -----------------------------------------------------------------

    def _first_weights(self) -> None:
        source = self.config.network.start_from
        if source is None:
            self.network.initialise(stream(self.config.seed, "network"))
            return
        bot = load_bot(bot_path(source))
        drawn = np.random.default_rng([self.config.seed, 1])
        self.network.load(grow(bot.weights, bot.shape, self.shape, self.game, drawn), self.game)

    def _critic(self) -> Critic | None:
        if self.part.critic is None:
            return None
        seed = stream(self.config.seed, "critic")
        columns = self.shape.columns(self.game)
        return Critic(self.part.critic, self.part, self.game, columns, self.device, seed)

    def _anchor(self) -> PolicyValueNetwork | None:
        if self.part.anchor is None:
            return None
        weights = load_bot(bot_path(self.part.anchor.bot)).weights
        return make_network(self.shape, self.game, weights, self.device)

    def resume(self, warn: Callable[[str], None]) -> None:
        """Take over the newest checkpoint of the run folder that can be read."""
        checkpoint = load_latest(self.run.path, warn)
        try:
            self._take_over(checkpoint.state, checkpoint.tensors)
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(
                f"{self.run.path}: its checkpoint does not fit its config.yaml (was it changed?): "
                f"{' '.join(str(error).split())}"
            ) from error

    def _take_over(self, state: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        self.network.load_state_dict(without_prefix("network", tensors))
        optimizer = without_prefix("optimizer", tensors)
        load_optimizer(self.network, self.ppo.optimizer, optimizer)
        if self.critic is not None:
            self.critic.take_over(without_prefix("critic", tensors), state["critic_learned"])
        # A checkpoint without an average begins one with its own weights.
        self.average.tensors = without_prefix("average", tensors) or network_tensors(self.network)
        self.progress = Progress(**state["progress"])
        self.opponents.pool = Pool(**state["pool"])
        self.results = list(state["results"])

    # The run --------------------------------------------------------------------------------

    def fraction(self) -> float:
        """How much of the budget is used, 0 to 1."""
        return self.config.budget.used(self.progress.learned, self.progress.seconds)

    def train(
        self,
        watchers: Sequence[Callable[[Report], None]] = (),
        say: Callable[[str], None] = print,
        measured: Tell | None = None,
        stop: StopRequest | None = None,
    ) -> None:
        """Train until the budget is used; each of `watchers` is told about every batch.

        On Ctrl-C (or a request to terminate) the batch in hand is finished, or an evaluation left
        off, and a checkpoint saved; then KeyboardInterrupt is raised. A second Ctrl-C stops at
        once. `stop` is a request that is listening already.
        """
        saves = Cadence(self.config.checkpoint.every_minutes, self.progress.seconds)
        measures = Cadence(self.config.evaluation.every_minutes, self.progress.seconds)
        with nullcontext(stop) if stop is not None else StopRequest() as stop:
            while self.fraction() < 1:
                self._batch(watchers)
                due = measures.due(self.progress.seconds) and self.fraction() < 1
                if due and not stop.asked:
                    self.evaluate(self.config.evaluation.deals, say, measured, stop)
                if stop.asked or saves.due(self.progress.seconds):
                    self.save()
                if stop.asked:
                    raise KeyboardInterrupt
            self.save()
            self.finish(say, measured, stop)

    def _batch(self, watchers: Sequence[Callable[[Report], None]]) -> None:
        """Play one batch of games and learn from it."""
        started = time.perf_counter()
        number, part = self.progress.batch, self.part
        fraction = self.fraction()
        now = schedule(part, fraction)
        seating = self._seating(number, fraction)
        imitating = seating.kept != LEARNER
        copies = 1 if imitating else part.copies
        played = self.rollout.play(
            stream(self.config.seed, "games"),
            self.progress.games + np.arange(part.games) // copies,
            seating,
            torch.Generator().manual_seed(stream(self.config.seed, "moves", number)),
            discount=part.discount,
            gae_lambda=1.0 if imitating else part.gae_lambda,
            copies=copies,
        )
        before = time.perf_counter()
        order = torch.Generator().manual_seed(stream(self.config.seed, "order", number))
        if imitating and part.imitation is not None:
            losses = self.ppo.imitate(played.batch, part.imitation.learning_rate, order)
        else:
            losses = self.ppo.learn(played.batch, now, order)
            if self.critic is not None:
                losses |= self.critic.learn(played.batch, now.learning_rate, order)
        played.seconds["learning"] = time.perf_counter() - before
        self._check_finite(now)
        self._count(played, part.games)
        self.average.update(self.network, self.progress.batch)
        self.opponents.maybe_join(self.progress.learned, self.network.weights)
        self.progress.seconds += time.perf_counter() - started
        before = time.perf_counter()
        report = Report(self.progress, self.fraction(), now, losses, played, self)
        for watch in watchers:
            watch(report)
        self._spend("watching", before)

    def _check_finite(self, now: Schedule) -> None:
        """Stop before weights that are no numbers get into the average and into checkpoints."""
        if all(bool(torch.isfinite(weights).all()) for weights in self.network.parameters()):
            return
        raise DivergedError(
            f"{self.run.path}: training diverged in batch {self.progress.batch + 1} (learning rate "
            f"{now.learning_rate:g}): weights are no finite numbers any more; what was saved "
            "stays; begin anew with a lower algorithm.learning_rate or algorithm.max_gradient"
        )

    def _seating(self, number: int, fraction: float) -> Seating:
        """Who sits where in batch `number`: the mixture, or at first the agent to imitate."""
        part = self.part
        acting = ActingNetwork(self.network, part.precision)
        if part.imitation is not None and self.progress.learned < part.imitation.decisions:
            shown = self.opponents.player(part.imitation.agent)
            player = np.ones((part.games, self.game.num_seats), np.int64)
            return Seating(player, [acting, shown], self.learned, kept=1)
        generator = np.random.default_rng(stream(self.config.seed, "seating", number))
        deals = part.games // part.copies
        seating = self.opponents.seating(
            acting, self.learned, self.partner, deals, fraction, generator
        )
        return replace(seating, player=seating.player.repeat(part.copies, axis=0))

    def _count(self, played: Played, games: int) -> None:
        progress = self.progress
        progress.batch += 1
        progress.games += games
        progress.decisions += played.decisions
        progress.learned += len(played.batch)
        for name, seconds in played.seconds.items():
            progress.spent(name, seconds)

    def _spend(self, name: str, since: float) -> None:
        seconds = time.perf_counter() - since
        self.progress.seconds += seconds
        self.progress.spent(name, seconds)

    # Measuring and saving -------------------------------------------------------------------

    def evaluate(
        self,
        deals: int,
        say: Callable[[str], None],
        tell: Tell | None = None,
        stop: StopRequest | None = None,
    ) -> list[Measured]:
        """Measure the bot as it is against the config's opponents, and note the results.

        It is left off at a request to stop.
        """
        started = time.perf_counter()
        part = self.config.evaluation
        bot = Bot(self.game, self.bot_file(), name="bot", partner=self._bot_partner())
        measured = []
        for text in part.opponents:
            opponent = make_agent(text, self.game)
            result = measure(self.game, bot, opponent, text, deals, part.seed, stop)
            if result is None:
                break
            measured.append(result)
            learned = self.progress.learned
            say(f"{learned / 1e6:.1f} M decisions: {result.line(self.game.num_seats)}")
            entry = {"learned": learned, "trained_seconds": round(self.progress.seconds, 1)}
            self.results.append({**entry, **result.to_dict()})
        if tell is not None:
            tell(measured, self.progress.learned)
        self._spend("evaluation", started)
        return measured

    def _bot_partner(self) -> Any:
        return None if self.config.partner is None else make_agent(self.config.partner, self.game)

    def bot_file(self) -> BotFile:
        """The bot as it is now."""
        observation = self.game.observation
        training = {
            "algorithm": self.part.name,
            "seed": self.config.seed,
            "learned_decisions": self.progress.learned,
            "games": self.progress.games,
            "minutes": round(self.progress.seconds / 60, 2),
            "threads": self.config.threads,
            "commit": self.run.record.get("commit"),
            "config": self.config.model_dump(mode="json", exclude_defaults=True),
        }
        learned = None
        if self.config.partner is not None:
            learned = {"phases": list(self.learned.names or ()), "partner": self.config.partner}
        weights, half = self.average.weights(), self.config.network.stored == "float16"
        if half:
            weights = halved(weights)
        return BotFile(
            game=self.game.name,
            rules=self.game.rules_dict(),
            observation={"version": observation.version, "size": observation.size},
            shape=self.shape,
            weights=weights,
            training=training,
            strength=self.results[-len(self.config.evaluation.opponents) :],
            learned=learned,
            half=half,
        )

    def save(self) -> Path:
        """Write a checkpoint, the bot and run.json."""
        tensors = prefixed("network", network_tensors(self.network))
        optimizer = optimizer_tensors(self.network, self.ppo.optimizer)
        tensors |= prefixed("optimizer", optimizer)
        tensors |= prefixed("average", self.average.tensors)
        state: dict[str, Any] = {
            "progress": asdict(self.progress),
            "pool": asdict(self.opponents.pool),
            "results": self.results,
        }
        if self.critic is not None:
            tensors |= prefixed("critic", self.critic.tensors())
            state["critic_learned"] = self.critic.learned
        keep = self.config.checkpoint.keep
        place = save_checkpoint(
            self.run.path, self.progress.batch, Checkpoint(state, tensors), keep
        )
        save_bot(self.run.bot, self.bot_file())
        self._record(finished=False)
        return place

    def finish(
        self, say: Callable[[str], None], tell: Tell | None = None, stop: StopRequest | None = None
    ) -> None:
        """The last evaluation, and the bot with its results. Raises KeyboardInterrupt."""
        self.evaluate(self.config.evaluation.final_deals, say, tell, stop)
        if stop is not None and stop.asked:
            raise KeyboardInterrupt
        save_bot(self.run.bot, self.bot_file())
        self._record(finished=True)

    def _record(self, *, finished: bool) -> None:
        self.run.record |= {
            "finished": finished,
            "threads": self.config.threads,
            **self.progress.record(),
            "results": self.results,
        }
        self.run.save()


def stream(seed: int, *names: object) -> int:
    """A seed for one purpose: 63 bits that depend on all of its arguments."""
    return agent_seed(seed, "/".join(map(str, names))) >> 1
