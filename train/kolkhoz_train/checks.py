"""What a config says is held against the game, the agents and the bots that it names.

This happens before anything is written, so that a mistake leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from operator import attrgetter
from typing import Any, NoReturn

import torch

from kolkhoz_agents.belief import tells_hidden
from kolkhoz_agents.bots import check_fits, load_bot
from kolkhoz_agents.games import game_factory, make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import check_weights
from kolkhoz_agents.protocol import Agent, Game
from kolkhoz_agents.registry import bot_path, make_agent
from kolkhoz_agents.search import SearchAgent
from kolkhoz_env.errors import KolkhozError

from .config_algorithms import BeliefPart, PpoPart, Sb3Part
from .config_messages import Source
from .config_model import (
    POPULATION,
    SELF,
    CheckpointPart,
    EvaluationPart,
    PopulationPart,
    TableMix,
    TrainingConfig,
)
from .config_parts import ConfigError, shown
from .grow import growth_problem

MOST_HELD = 50_000
"""Worlds of a batch if its games had one decision each; with all of theirs, some gigabytes."""


def check_config(config: TrainingConfig, source: Source, *, resume: bool = False) -> None:
    """Raise `ConfigError` unless a run of the config can begin (or go on).

    The error names the key and the file (or `--set`) that its value stands in.
    """
    _Check(config, source).run(resume=resume)


def choose_device(name: str) -> torch.device:
    """The device of a config. Raises `ConfigError` if there is none of the kind."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("'cuda' is wrong: torch finds no GPU; use auto or cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def by_the_clock(agent: Agent) -> bool:
    """Whether an agent, or one that it plays through, has a budget in time."""
    if isinstance(agent, SearchAgent):
        return not agent.worlds or by_the_clock(agent.policy)
    inner = [*getattr(agent, "agents", ()), getattr(agent, "partner", None)]
    return any(by_the_clock(one) for one in inner if one is not None)


class _Check:
    """The checks of one config, in the order of its keys."""

    def __init__(self, config: TrainingConfig, source: Source) -> None:
        self.config, self.source = config, source

    def run(self, *, resume: bool) -> None:
        config = self.config
        with self._at("device"):
            choose_device(config.device)
        game = self._game()
        with self._at("network.inputs"):
            config.network.shape().columns(game)
        if config.network.start_from is not None and not resume:
            self._weights("network.start_from", config.network.start_from, game, growing=True)
        self._algorithm(game)
        self._opponents(game)
        for number, name in enumerate(config.learn or ()):
            with self._at(f"learn.{number}", "learn"):
                Learned(game, [name])
        if config.partner is not None:
            self._training_agent("partner", config.partner, game)
        for number, text in enumerate(config.evaluation.opponents):
            with self._at(f"evaluation.opponents.{number}"):
                make_agent(text, game)

    def _refuse(self, key: str, what: str) -> NoReturn:
        raise ConfigError(f"{self.source.place(key)}: {what}")

    @contextmanager
    def _at(self, key: str, own: str | None = None) -> Iterator[None]:
        """Errors in the block are those of `key`; one that begins with the key says it once."""
        try:
            yield
        except KolkhozError as error:
            self._refuse(key, str(error).removeprefix(f"{own or key}: "))

    def _game(self) -> Game:
        part = self.config.game
        with self._at("game.name"):
            game_factory(part.name)
        try:
            return make_game(part.name, part.rules)
        except KolkhozError as error:
            where, colon, what = str(error).partition(": ")
            if colon and where.partition(".")[0] == "rules":
                self._refuse(f"game.{where}", what)
            self._refuse("game.rules", str(error))

    def _weights(self, key: str, text: str, game: Game, *, growing: bool = False) -> None:
        """The bot at `key` must be one whose weights the config's network can take over."""
        shape = self.config.network.shape()
        with self._at(key):
            bot = load_bot(bot_path(text))
            check_fits(bot, game, text)
            check_weights(bot.weights, bot.shape, game)
            if growing:
                problem = growth_problem(bot.shape, shape)
                if problem is not None:
                    raise ConfigError(f"{text} has a network that can't grow into this: {problem}")
                return
            own, wanted = bot.shape.to_dict(), shape.to_dict()
            apart = [
                f"network.{name} is {shown(own[name])} there and {shown(wanted[name])} here"
                for name in own
                if own[name] != wanted[name]
            ]
            if apart:
                raise ConfigError(f"{text} has another network: {'; '.join(apart)}")

    def _training_agent(self, key: str, text: str, game: Game) -> None:
        """An agent that plays while the run learns."""
        with self._at(key):
            if by_the_clock(make_agent(text, game)):
                raise ConfigError(
                    f"{text!r} has a budget in time, with which a run would take many times as "
                    "long and no two runs would be the same; give a search worlds=N, or name "
                    "another agent"
                )

    def _algorithm(self, game: Game) -> None:
        part = self.config.algorithm
        if isinstance(part, Sb3Part):
            self._sb3(game)
            return
        if isinstance(part, BeliefPart):
            self._belief(game, part)
            return
        assert isinstance(part, PpoPart)
        if part.anchor is not None:
            self._weights("algorithm.anchor.bot", part.anchor.bot, game)
        if part.critic is not None and not hasattr(game, "hidden_index"):
            self._refuse(
                "algorithm.critic", f"{game.name} does not tell what is hidden; allowed: null"
            )
        if part.imitation is not None:
            self._training_agent("algorithm.imitation.agent", part.imitation.agent, game)

    def _sb3(self, game: Game) -> None:
        """What the config asks for must be something that SB3's path has."""
        config, network = self.config, self.config.network
        seats = len(config.opponents.tables)
        native = "a game with a native VecEnv: kolkhoz"
        wrong = [
            (game.name != "kolkhoz", "game.name", game.name, native),
            (network.trunk != "separate", "network.trunk", network.trunk, "separate"),
            (network.heads != "shared", "network.heads", network.heads, "shared"),
            (network.inputs is not None, "network.inputs", "a list", "null"),
            (network.start_from is not None, "network.start_from", "a bot", "null"),
            (config.learn is not None, "learn", "a list", "null"),
            (config.reward.margin != 0, "reward.margin", config.reward.margin, "0"),
            (config.reward.win_share != 1, "reward.win_share", config.reward.win_share, "1"),
            (seats > game.num_seats - 1, "opponents.tables", f"{seats} entries", "one a seat"),
        ]
        for key, given, usual in self._unused():
            wrong.append((given != usual, key, given, f"{usual} (it is not used)"))
        for is_wrong, key, value, right in wrong:
            if is_wrong:
                self._refuse(key, f"{value!r} is wrong with sb3_maskable_ppo; allowed: {right}")
        part = config.algorithm
        assert isinstance(part, Sb3Part)
        size = part.environments * part.steps
        if min(size, part.minibatch) == 1 or size % part.minibatch == 1:
            self._refuse(
                "algorithm.minibatch",
                f"{part.minibatch} leaves one decision of the {size} in a batch (environments x "
                "steps) to a gradient step of its own, which nothing can be learned from",
            )
        for number, table in enumerate(config.opponents.tables):
            if table.agent in (SELF, POPULATION):
                self._refuse(
                    f"opponents.tables.{number}.agent",
                    f"{table.agent!r} is wrong with sb3_maskable_ppo; allowed: AGENTs like random "
                    "or heuristic, which sit to the learner's left in turn",
                )

    def _belief(self, game: Game, part: BeliefPart) -> None:
        """What the config asks for must be something that a belief is learned with."""
        if not tells_hidden(game):
            self._refuse(
                "algorithm.name", f"{game.name} does not tell what is hidden; allowed: ppo"
            )
        config, usual = self.config, TrainingConfig(budget=self.config.budget)
        keys = ("network.trunk", "network.heads", "network.start_from", "opponents", "reward",
                "learn", "partner", "evaluation.opponents")  # fmt: skip
        for key in keys:
            given, default = (attrgetter(key)(one) for one in (config, usual))
            if given != default:
                self._refuse(key, "is wrong with belief, which has no use for it; leave it out")
        held = part.games * part.kept * (1 + part.worlds)
        if held > MOST_HELD:
            self._refuse(
                "algorithm.worlds",
                f"games x kept x (1 + worlds) is {held:,.0f}, which would fill the memory; "
                f"allowed: up to {MOST_HELD:,}",
            )
        for number, player in enumerate(part.players):
            self._training_agent(f"algorithm.players.{number}.agent", player.agent, game)

    def _unused(self) -> Iterator[tuple[str, Any, Any]]:
        """Keys that SB3's path has no use for: what is given, and the default."""
        config = self.config
        for number, table in enumerate(config.opponents.tables):
            usual = TableMix(agent=table.agent)
            for key in ("share", "final_share", "seats"):
                yield f"opponents.tables.{number}.{key}", getattr(table, key), getattr(usual, key)
        parts: list[tuple[str, Any, Any, tuple[str, ...]]] = [
            ("opponents.population", config.opponents.population, PopulationPart(),
             ("every", "keep", "drawn", "agents")),
            ("evaluation", config.evaluation, EvaluationPart(), ("every_minutes", "deals")),
            ("checkpoint", config.checkpoint, CheckpointPart(), ("every_minutes", "keep")),
        ]  # fmt: skip
        for name, part, usual_part, keys in parts:
            for key in keys:
                yield f"{name}.{key}", getattr(part, key), getattr(usual_part, key)

    def _opponents(self, game: Game) -> None:
        part = self.config.opponents
        for number, table in enumerate(part.tables):
            key = f"opponents.tables.{number}"
            if table.seats is not None and table.seats >= game.num_seats:
                self._refuse(
                    f"{key}.seats",
                    f"{table.seats} leaves the learner no seat; allowed: 1 to {game.num_seats - 1}",
                )
            if table.agent not in (SELF, POPULATION):
                self._table_agent(f"{key}.agent", table.agent, game)
        for number, text in enumerate(part.population.agents):
            self._training_agent(f"opponents.population.agents.{number}", text, game)

    def _table_agent(self, key: str, text: str, game: Game) -> None:
        near = get_close_matches(text, (SELF, POPULATION), 1)
        try:
            self._training_agent(key, text, game)
        except ConfigError as error:
            if "unknown agent" not in str(error):
                raise
            hint = f"; did you mean {near[0]!r}?" if near else f"; {SELF} and {POPULATION} too"
            raise ConfigError(f"{error}{hint}") from error
