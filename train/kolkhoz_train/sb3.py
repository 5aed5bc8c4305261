"""The same game learned by sb3-contrib's MaskablePPO, and its weights taken over into a bot.

MaskablePPO sees the engine's native VecEnv through `CanonicalVecEnv`, which puts observations,
masks and actions into canonical order (crops sorted), so that the policy's layers are exactly those
of a bot with separate trunks. SB3's own zip may be kept, but nothing needs it to play.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from kolkhoz_agents.bots import Bot, BotFile, save_bot
from kolkhoz_agents.folders import halved
from kolkhoz_agents.games import make_game
from kolkhoz_agents.network import Canon, NetworkShape, Weights
from kolkhoz_agents.protocol import Agent, Game
from kolkhoz_agents.registry import make_agent

from .config_algorithms import Sb3Part
from .config_model import TrainingConfig
from .measure import measure
from .ppo import DivergedError
from .run_folder import RunFolder

ACTIVATIONS = {"relu": torch.nn.ReLU, "silu": torch.nn.SiLU}


class CanonicalVecEnv(VecEnvWrapper):
    """Observations float32[n, O], masks bool[n, A] and actions int[n] in canonical order."""

    def __init__(self, venv: VecEnv, game: Game) -> None:
        super().__init__(venv)
        self.canon = Canon(game, NetworkShape())
        self.case = np.zeros(venv.num_envs, np.int64)

    def reset(self) -> NDArray[np.float32]:
        """Begin anew."""
        return self._turn(self.venv.reset())

    def step_async(self, actions: NDArray[np.integer[Any]]) -> None:
        """Take the learner's actions in canonical numbers."""
        self.venv.step_async(self.canon.action_to_plain(np.asarray(actions, np.int64), self.case))

    def step_wait(self) -> Any:
        """Play on to the learner's next decision everywhere."""
        observation, reward, done, infos = self.venv.step_wait()
        for row in np.flatnonzero(done):
            # The last position of a game is over: its order does not matter to anyone.
            last = infos[row]["terminal_observation"]
            infos[row]["terminal_observation"] = last[self.canon.observation_index[0]]
        return self._turn(observation), reward, done, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the learner, bool[n, A]."""
        masks = np.stack(self.venv.env_method("action_masks"))
        return self.canon.mask_to_canonical(masks, self.case)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method of the environments; masks are in canonical order."""
        if method_name != "action_masks":
            return self.venv.env_method(method_name, *args, indices=indices, **kwargs)
        masks = self.action_masks()
        return [masks[row] for row in self._get_indices(indices)]

    def _turn(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        counts = np.rint(observation / self.canon.scale).astype(np.uint8)
        self.case = self.canon.case(counts)
        return self.canon.to_canonical(counts, self.case) * self.canon.scale


def train_sb3(config: TrainingConfig, run: RunFolder, console: Console) -> None:
    """Train with MaskablePPO until the budget is used; writes the bot."""
    part = config.algorithm
    assert isinstance(part, Sb3Part)
    game = make_game(config.game.name, config.game.rules)
    shape = config.network.shape()
    torch.set_num_threads(config.threads)
    venv = CanonicalVecEnv(_native(config, game, part), game)
    clock = _Clock(config.budget.minutes)
    learner = MaskablePPO(
        "MlpPolicy",
        venv,
        learning_rate=_Falling(part.learning_rate, clock),
        n_steps=part.steps,
        batch_size=part.minibatch,
        n_epochs=part.epochs,
        gamma=part.discount,
        gae_lambda=part.gae_lambda,
        clip_range=part.clip,
        ent_coef=part.entropy,
        policy_kwargs={
            "net_arch": {"pi": list(shape.hidden), "vf": list(shape.hidden)},
            "activation_fn": ACTIVATIONS[shape.activation],
        },
        seed=config.seed % 2**32,
        device="auto" if config.device == "auto" else config.device,
    )
    learner.set_logger(configure(str(run.logs), ["tensorboard"]))
    clock.start()
    try:
        _learn(learner, config, _Watch(clock, console.print))
    finally:
        seconds = clock.seconds
        _record(run, learner, seconds, [], finished=False)
        # Of a run that diverged there is nothing worth keeping.
        if _is_finite(learner):
            if part.keep_zip:
                learner.save(run.path / "maskable_ppo.zip")
            bot = _bot_file(config, run, game, shape, take_over(learner, shape), learner, seconds)
            save_bot(run.bot, bot)
    results = _measure(config, game, bot, console)
    save_bot(run.bot, BotFile(**{**vars(bot), "strength": results}))
    _record(run, learner, seconds, results, finished=True)


def _learn(learner: MaskablePPO, config: TrainingConfig, watch: BaseCallback) -> None:
    try:
        learner.learn(config.budget.decisions or 2**62, callback=watch, use_masking=True)
    except ValueError as error:
        if _is_finite(learner):
            raise
        raise DivergedError(
            f"training diverged after {learner.num_timesteps} decisions: weights are no finite "
            "numbers any more; begin anew with a lower algorithm.learning_rate"
        ) from error


def _is_finite(learner: MaskablePPO) -> bool:
    return all(bool(torch.isfinite(weights).all()) for weights in learner.policy.parameters())


def _native(config: TrainingConfig, game: Game, part: Sb3Part) -> VecEnv:
    from kolkhoz_env.vec_env import KolkhozVecEnv

    made = {t.agent: make_agent(t.agent, game) for t in config.opponents.tables}
    order: list[Agent] = [made[table.agent] for table in config.opponents.tables]
    others = [order[i % len(order)] for i in range(game.num_seats - 1)]
    rules = {**game.rules_dict(), "auto_forced": True}
    return KolkhozVecEnv(part.environments, rules=rules, opponents=others, seed=config.seed)


def take_over(learner: MaskablePPO, shape: NetworkShape) -> Weights:
    """The weights of MaskablePPO's policy under a bot's names."""
    state = {name: w.detach().cpu().numpy() for name, w in learner.policy.state_dict().items()}
    weights: Weights = {}
    for i in range(len(shape.hidden)):
        for ours, theirs in (("trunk", "policy_net"), ("value_trunk", "value_net")):
            for kind in ("weight", "bias"):
                # SB3's layers alternate with activations, which have no weights.
                source = state[f"mlp_extractor.{theirs}.{2 * i}.{kind}"]
                weights[f"{ours}.{i}.{kind}"] = source.astype(np.float32)
    for ours, theirs in (("policy", "action_net"), ("value", "value_net")):
        for kind in ("weight", "bias"):
            weights[f"{ours}.{kind}"] = state[f"{theirs}.{kind}"].astype(np.float32)
    return weights


class _Clock:
    """The time of a run, and how much of its minutes is left."""

    def __init__(self, minutes: float | None) -> None:
        self.minutes = minutes
        self.start()

    def start(self) -> None:
        """Begin at 0."""
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    @property
    def left(self) -> float:
        """The share of the minutes that is left, 1 to 0; 1 without such a budget."""
        return 1.0 if self.minutes is None else max(1 - self.seconds / (60 * self.minutes), 0.0)


class _Falling:
    """A learning rate that falls to 0 with the budget, whichever of its parts is used up first."""

    def __init__(self, rate: float, clock: _Clock) -> None:
        self.rate, self.clock = rate, clock

    def __call__(self, remaining: float) -> float:
        """`remaining` is the share of the decisions, 1 to 0."""
        return self.rate * min(remaining, self.clock.left)


class _Watch(BaseCallback):
    """Ends the run when its minutes are used, and says where it stands."""

    def __init__(self, clock: _Clock, say: Callable[[str], None]) -> None:
        super().__init__()
        self.clock = clock
        self.say = say
        self.next = 30.0

    def _on_step(self) -> bool:
        seconds = self.clock.seconds
        if seconds >= self.next:
            self.next += 30.0
            rate = self.num_timesteps / seconds
            self.say(f"{self.num_timesteps / 1e6:.2f} M decisions, {rate / 1e3:.1f} k/s")
        return self.clock.left > 0


def _bot_file(
    config: TrainingConfig,
    run: RunFolder,
    game: Game,
    shape: NetworkShape,
    weights: Weights,
    learner: MaskablePPO,
    seconds: float,
) -> BotFile:
    training = {
        "algorithm": config.algorithm.name,
        "seed": config.seed,
        "learned_decisions": learner.num_timesteps,
        "minutes": round(seconds / 60, 2),
        "commit": run.record.get("commit"),
        "config": config.model_dump(mode="json", exclude_defaults=True),
    }
    observation = {"version": game.observation.version, "size": game.observation.size}
    half = config.network.stored == "float16"
    if half:
        weights = halved(weights)
    return BotFile(game.name, game.rules_dict(), observation, shape, weights, training, half=half)


def _measure(
    config: TrainingConfig, game: Game, bot: BotFile, console: Console
) -> list[dict[str, Any]]:
    part, results = config.evaluation, []
    for text in part.opponents:
        opponent = make_agent(text, game)
        agent = Bot(game, bot, name="bot")
        result = measure(game, agent, opponent, text, part.final_deals, part.seed)
        assert result is not None
        console.print(result.line(game.num_seats), highlight=False)
        results.append(result.to_dict())
    return results


def _record(
    run: RunFolder,
    learner: MaskablePPO,
    seconds: float,
    results: list[dict[str, Any]],
    *,
    finished: bool,
) -> None:
    run.record |= {
        "finished": finished,
        "threads": torch.get_num_threads(),
        "time_shares": {},
        "learned_decisions": learner.num_timesteps,
        "seconds": round(seconds, 1),
        "learned_decisions_per_s": round(learner.num_timesteps / max(seconds, 1e-9)),
        "results": results,
    }
    run.save()
