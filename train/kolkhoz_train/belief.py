"""Learning a belief: a network that tells the true world from worlds drawn evenly.

Games are played by the config's players. For each decision that is kept the network weighs the true
world and K even ones; the loss is the cross-entropy of picking the true one (InfoNCE), whose
optimum weighs a world by how much likelier it is than an even draw (see `kolkhoz_agents.belief`).
What is measured is the *gain* in nats: the mean log of how much likelier the true world is than an
even one by the belief, 0 for one that knows nothing. Whatever is drawn in a batch follows from
the run's seed and the batch's number, so a run that was stopped and resumed is the same as one that
was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from kolkhoz_agents.belief import BeliefFile, save_belief
from kolkhoz_agents.folders import halved
from kolkhoz_agents.games import make_game
from kolkhoz_agents.network import Canon, Weights
from kolkhoz_agents.quick_network import quickened
from kolkhoz_agents.registry import make_agent

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
from .config_algorithms import BeliefPart
from .config_model import TrainingConfig
from .config_parts import ConfigError
from .examples import Examiner, Examples, joined, seated
from .ppo import DivergedError, load_optimizer, optimizer_tensors, split
from .progress import Progress
from .run_folder import RunFolder
from .stopping import Cadence, StopRequest
from .trainer import stream

MEASURED_WORLDS = 127
"""Even worlds of a decision when the gain is measured."""
MEASURED_GAMES = 32
"""Games that are measured side by side: few, because so many worlds take room."""

Watch = Callable[["BeliefTrainer", dict[str, float]], None]
"""Hears the figures of a batch, or of an evaluation."""


class BeliefNetwork(nn.Module):
    """Multi-layer perceptron with a log-weight for each hidden card in each place."""

    scale: Tensor
    plain: Tensor

    def __init__(self, canon: Canon, config: TrainingConfig, game: Any, seed: int) -> None:
        super().__init__()
        self.activation = config.network.activation
        self.register_buffer("scale", torch.from_numpy(canon.scale), persistent=False)
        order = np.argsort(np.asarray(game.hidden_index, np.int64), axis=1)
        self.register_buffer("plain", torch.from_numpy(order), persistent=False)
        sizes = (len(canon.scale), *config.network.hidden)
        self.trunk = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.belief = nn.Linear(sizes[-1], order.shape[1])
        generator = torch.Generator().manual_seed(seed)
        for layer in self.trunk:
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, 2.0**0.5, generator=generator)
            nn.init.zeros_(layer.bias)
        # At first all worlds are alike.
        nn.init.zeros_(self.belief.weight)
        nn.init.zeros_(self.belief.bias)

    def forward(self, counts: Tensor, case: Tensor, hidden: Tensor) -> Tensor:
        """Log-weights float32[n, W] of worlds given by their hidden cards uint8[n, W, H]."""
        fast = torch.is_autocast_enabled(counts.device.type)
        dtype = torch.bfloat16 if fast else torch.float
        act = functional.relu if self.activation == "relu" else functional.silu
        state = counts.to(dtype)
        for number, layer in enumerate(self.trunk):
            assert isinstance(layer, nn.Linear)
            weight = layer.weight if number else layer.weight * self.scale
            state = act(functional.linear(state, weight, layer.bias))
        weights = self.belief(state).float().gather(1, self.plain[case])
        # A sum of weights needs more digits than bfloat16 has.
        with torch.autocast(counts.device.type, enabled=False):
            return torch.bmm(hidden.float(), weights[:, :, None])[:, :, 0]


class BeliefTrainer:
    """Trains the belief that a config describes in a run folder."""

    def __init__(self, config: TrainingConfig, run: RunFolder) -> None:
        assert isinstance(config.algorithm, BeliefPart)
        self.config, self.run, self.part = config, run, config.algorithm
        torch.set_num_threads(config.threads)
        self.device = choose_device(config.device)
        self.game = make_game(config.game.name, config.game.rules)
        self.shape = config.network.shape()
        canon = Canon(self.game, self.shape)
        seed = stream(config.seed, "network")
        self.network = BeliefNetwork(canon, config, self.game, seed).to(self.device)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=self.part.learning_rate, eps=1e-5, fused=True
        )
        made = [make_agent(player.agent, self.game) for player in self.part.players]
        fast = self.part.precision == "bfloat16"
        players = [(fast and quickened(player, self.game)) or player for player in made]
        self.examiner = Examiner(self.game, canon, players)
        self.progress = Progress()
        self.results: list[dict[str, Any]] = []

    # Beginning, or going on -----------------------------------------------------------------

    def resume(self, warn: Callable[[str], None]) -> None:
        """Take over the newest checkpoint of the run folder that can be read."""
        checkpoint = load_latest(self.run.path, warn)
        try:
            self.network.load_state_dict(without_prefix("network", checkpoint.tensors))
            optimizer = without_prefix("optimizer", checkpoint.tensors)
            load_optimizer(self.network, self.optimizer, optimizer)
            self.progress = Progress(**checkpoint.state["progress"])
            self.results = list(checkpoint.state["results"])
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(
                f"{self.run.path}: its checkpoint does not fit its config.yaml (was it changed?): "
                f"{' '.join(str(error).split())}"
            ) from error

    # The run --------------------------------------------------------------------------------

    def fraction(self) -> float:
        """How much of the budget is used, 0 to 1."""
        return self.config.budget.used(self.progress.learned, self.progress.seconds)

    def rate(self) -> float:
        """The learning rate at this point of the run."""
        first, last = self.part.learning_rate, self.part.final_learning_rate
        return first + self.fraction() * (last - first)

    def train(
        self, watch: Watch, measured: Watch, say: Callable[[str], None], stop: StopRequest | None
    ) -> None:
        """Train until the budget is used; on Ctrl-C save and raise KeyboardInterrupt."""
        saves = Cadence(self.config.checkpoint.every_minutes, self.progress.seconds)
        measures = Cadence(self.config.evaluation.every_minutes, self.progress.seconds)
        with nullcontext(stop) if stop is not None else StopRequest() as stop:
            while self.fraction() < 1:
                watch(self, self._batch())
                due = measures.due(self.progress.seconds) and self.fraction() < 1
                if due and not stop.asked:
                    self._measure(self.config.evaluation.deals, measured, say, stop)
                if stop.asked or saves.due(self.progress.seconds):
                    self.save()
                if stop.asked:
                    raise KeyboardInterrupt
            self.save()
            self._measure(self.config.evaluation.final_deals, measured, say, stop)
            if stop.asked:
                raise KeyboardInterrupt
            self.save(finished=True)

    def _batch(self) -> dict[str, float]:
        """Play one batch of games and learn from it; returns the mean loss."""
        started, part, number = time.perf_counter(), self.part, self.progress.batch
        games, made = self.progress.games + np.arange(part.games), self.examiner.decisions
        played = list(self._play("belief", self.config.seed, number, games, part.worlds))
        if not played:
            raise ConfigError(
                f"algorithm.kept: {part.kept:g} of {part.games} games' decisions are none at all; "
                "give more games, or keep more"
            )
        examples = joined(played)
        before = time.perf_counter()
        order = torch.Generator().manual_seed(stream(self.config.seed, "order", number))
        loss = self._learn(examples, order)
        progress = self.progress
        progress.batch += 1
        progress.games += part.games
        progress.decisions += self.examiner.decisions - made
        progress.learned += len(examples)
        now = time.perf_counter()
        progress.spent("playing", before - started)
        progress.spent("learning", now - before)
        progress.seconds += now - started
        return {"loss": loss, "decisions_per_s": len(examples) / (now - started)}

    def _play(
        self, role: str, seed: int, number: int, games: NDArray[np.int64], worlds: int
    ) -> Iterator[Examples]:
        """Examples from games int64[B] of a seed; those of another role are never the same."""
        shares = [player.share for player in self.part.players]
        seats = stream(seed, f"{role} seats", number)
        seating = seated(shares, len(games), self.game.num_seats, seats)
        draws = np.random.default_rng(stream(seed, f"{role} draws", number))
        deals = stream(seed, f"{role} games")
        return self.examiner.play(deals, games, seating, worlds, self.part.kept, draws)

    def _learn(self, examples: Examples, generator: torch.Generator) -> float:
        """One pass over the examples; returns the mean loss.

        A second pass would learn by heart what these games hid: it costs a third of the gain.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        losses = []
        order = torch.randperm(len(examples), generator=generator)
        for rows in split(order, self.part.minibatch):
            logs = self._weigh(examples, rows.numpy(), fast=self.part.precision == "bfloat16")
            aim = torch.zeros(len(rows), dtype=torch.long, device=self.device)
            loss = functional.cross_entropy(logs, aim)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimizer.step()
            losses.append(float(loss.detach()))
        if not all(bool(torch.isfinite(weights).all()) for weights in self.network.parameters()):
            raise DivergedError(
                f"{self.run.path}: training diverged in batch {self.progress.batch + 1}: weights "
                "are no finite numbers any more; what was saved stays; begin anew with a lower "
                "algorithm.learning_rate"
            )
        return float(np.mean(losses))

    def _weigh(self, examples: Examples, rows: NDArray[np.int64], *, fast: bool) -> Tensor:
        """Log-weights float32[n, 1 + K] of the worlds of some examples."""
        columns = (examples.counts[rows], examples.case[rows], examples.hidden[rows])
        counts, case, hidden = (torch.from_numpy(c).to(self.device) for c in columns)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=fast):
            result: Tensor = self.network(counts, case, hidden)
        return result

    # Measuring and saving -------------------------------------------------------------------

    def gains(self, deals: int, stop: StopRequest) -> dict[str, float] | None:
        """Mean gain in nats on games of the evaluation's seed: in all, by phase and by stage.

        None if it was left off at a request to stop, or no decision was kept.
        """
        parts: list[NDArray[np.float64]] = []
        for first in range(0, deals, MEASURED_GAMES):
            games = np.arange(first, min(first + MEASURED_GAMES, deals))
            seed = self.config.evaluation.seed
            for examples in self._play("measured", seed, first, games, MEASURED_WORLDS):
                if stop.asked:
                    return None
                with torch.no_grad():
                    logs = self._weigh(examples, np.arange(len(examples)), fast=False).double()
                even = torch.logsumexp(logs[:, 1:], 1) - math.log(MEASURED_WORLDS)
                gain = (logs[:, 0] - even).cpu().numpy()
                parts.append(np.stack([gain, examples.phase, examples.stage]))
        if not parts:
            return None
        gain, phase, stage = np.concatenate(parts, axis=1)
        figures = {"gain": float(gain.mean())}
        for number, text in enumerate(self.game.phases):
            if (phase == number).any():
                figures[f"gain/{text}"] = float(gain[phase == number].mean())
        for number in np.unique(stage):
            figures[f"gain/stage_{int(number)}"] = float(gain[stage == number].mean())
        return figures

    def _measure(
        self, deals: int, tell: Watch, say: Callable[[str], None], stop: StopRequest
    ) -> None:
        started = time.perf_counter()
        figures = self.gains(deals, stop)
        if figures is not None:
            learned, gain = self.progress.learned, figures["gain"]
            say(
                f"{learned / 1e6:.1f} M decisions: the true world is {math.exp(gain):.2f} times as "
                f"likely as an even draw (gain {gain:.3f} nats, {deals} games)"
            )
            entry = {"learned": learned, "trained_seconds": round(self.progress.seconds, 1)}
            self.results.append({**entry, "games": deals, **figures})
            tell(self, figures)
        seconds = time.perf_counter() - started
        self.progress.seconds += seconds
        self.progress.spent("evaluation", seconds)

    def belief_file(self) -> BeliefFile:
        """The belief as it is now."""
        observation = self.game.observation
        weights: Weights = {
            name: tensor.numpy().astype(np.float32)
            for name, tensor in network_tensors(self.network).items()
        }
        half = self.config.network.stored == "float16"
        training = {
            "algorithm": self.part.name,
            "seed": self.config.seed,
            "learned_decisions": self.progress.learned,
            "games": self.progress.games,
            "minutes": round(self.progress.seconds / 60, 2),
            "threads": self.config.threads,
            "commit": self.run.record.get("commit"),
            "config": self.config.model_dump(mode="json", exclude_defaults=True),
            "results": self.results[-1:],
        }
        return BeliefFile(
            game=self.game.name,
            rules=self.game.rules_dict(),
            observation={"version": observation.version, "size": observation.size},
            shape=self.shape,
            weights=halved(weights) if half else weights,
            training=training,
            half=half,
        )

    def save(self, *, finished: bool = False) -> None:
        """Write a checkpoint, the belief and run.json."""
        progress = self.progress
        tensors = prefixed("network", network_tensors(self.network))
        tensors |= prefixed("optimizer", optimizer_tensors(self.network, self.optimizer))
        state = {"progress": asdict(progress), "results": self.results}
        save_checkpoint(
            self.run.path, progress.batch, Checkpoint(state, tensors), self.config.checkpoint.keep
        )
        save_belief(self.run.belief, self.belief_file())
        self.run.record |= {
            "finished": finished,
            "threads": self.config.threads,
            **progress.record(),
            "results": self.results,
        }
        self.run.save()
