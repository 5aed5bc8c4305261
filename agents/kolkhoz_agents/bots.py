"""Bots: trained networks in folders, and the agent that plays one.

A bot folder holds ``bot.json`` (game, rules, observation layout, network shape, how it was trained,
what it scored) and ``weights.safetensors``. Nothing in it can execute. A bot plays with one network
evaluation a decision, in numpy; torch is not needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .decisions import choose_best, choose_sampled
from .folders import (
    WEIGHTS,
    FolderError,
    check_game,
    check_keys,
    read_description,
    read_weights,
    short,
    write_folder,
)
from .games import names_only
from .learned import Learned
from .network import NetworkError, NetworkShape, NumpyNetwork, Weights
from .protocol import Agent, Decisions, Game, Option

FORMAT = "kolkhoz-bot/1"
DESCRIPTION = "bot.json"
KEYS = ("format", "game", "rules", "observation", "network", "training", "strength", "learned")
COLDEST, HOTTEST = 1e-6, 1e6
"""Temperatures between which float32 can sample; bots play their best move below."""


class BotError(FolderError):
    """A bot folder is missing, damaged, or made for another game."""


@dataclass(frozen=True)
class BotFile:
    """A bot folder in memory.

    `rules` is what the game's factory makes the bot's game of; `observation` has version and size
    of the layout that the network reads; `training` and `strength` are for people. `learned` is
    None for a bot that makes all decisions, else ``{"phases": [...], "partner": AGENT}``: the
    partner makes all decisions but those that `learned.Learned` finds in these phases. `weights`
    are float32 arrays; with `half` they are stored as float16, in half the space.
    """

    game: str
    rules: Mapping[str, Any]
    observation: Mapping[str, int]
    shape: NetworkShape
    weights: Weights
    training: Mapping[str, Any] = field(default_factory=dict)
    strength: list[Any] = field(default_factory=list)
    learned: Mapping[str, Any] | None = None
    half: bool = False

    def description(self) -> dict[str, Any]:
        """The content of ``bot.json``."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "game": self.game,
            "rules": dict(self.rules),
            "observation": dict(self.observation),
            "network": self.shape.to_dict(),
            "training": dict(self.training),
            "strength": list(self.strength),
        }
        if self.learned is not None:
            values["learned"] = dict(self.learned)
        return values


def bot_folder(path: str | os.PathLike[str]) -> Path:
    """The bot folder that `path` means: itself, or the ``bot`` folder of a run."""
    folder = Path(path)
    return folder / "bot" if (folder / "bot" / DESCRIPTION).is_file() else folder


def save_bot(path: str | os.PathLike[str], bot: BotFile) -> None:
    """Write a bot folder; each file is written aside and renamed into place."""
    write_folder(Path(path), DESCRIPTION, bot.description(), bot.weights, half=bot.half)


def load_bot(path: str | os.PathLike[str]) -> BotFile:
    """Read a bot or run folder. Raises `BotError` with one line that names the file and key."""
    folder = bot_folder(path)
    description = read_description(folder / DESCRIPTION, "a bot", BotError)
    where = folder / DESCRIPTION
    if description.get("format") != FORMAT:
        raise BotError(f"{where}: format: {description.get('format')!r} should be {FORMAT!r}")
    for key in description:
        if key not in KEYS:
            raise BotError(f"{where}: {key}: unknown key; known: {', '.join(KEYS)}")
    _check_description(description, where)
    try:
        shape = NetworkShape.from_dict(description["network"])
    except (NetworkError, TypeError) as error:
        raise BotError(f"{where}: {error}") from error
    weights, half = read_weights(folder / WEIGHTS, "a bot", BotError)
    return BotFile(
        game=description["game"],
        rules=description["rules"],
        observation=description["observation"],
        shape=shape,
        weights=weights,
        training=description.get("training", {}),
        strength=description.get("strength", []),
        learned=description.get("learned"),
        half=half,
    )


class Bot:
    """Plays a bot folder's network: the best move, or a sample at a temperature.

    Below `COLDEST` it plays the legal action of the highest logit; above, it samples from the
    policy, sharpened (< 1) or flattened (> 1) by the temperature.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "temperature", float, 0.0, "0 plays the best move, 1 samples the policy", minimum=0,
            maximum=HOTTEST,
        ),
    )

    def __init__(
        self,
        game: Game,
        bot: BotFile,
        *,
        name: str = "bot",
        temperature: float = 0.0,
        partner: Agent | None = None,
    ) -> None:
        check_fits(bot, game, name)
        try:
            self.network = NumpyNetwork(bot.shape, bot.weights, game)
        except NetworkError as error:
            raise BotError(f"{name}: {error}") from error
        self.name = name
        self.file = bot
        self.temperature = temperature
        partner_draws = partner is not None and not getattr(partner, "draws_nothing", False)
        self.draws_nothing = temperature < COLDEST and not partner_draws
        self.partner = partner
        self._learned = Learned(game, None if bot.learned is None else bot.learned["phases"])
        if partner is None and not self._learned.everything:
            raise BotError(f"{name}: it learned some phases only and needs its partner")
        self.needs = frozenset({"observation"}) | (partner.needs if partner else frozenset())

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B] legal actions."""
        if self.partner is None:
            return self._act(decisions)
        assert decisions.observation is not None, "a bot needs the observation"
        own = self._learned.rows(np.asarray(decisions.phase, np.int64), decisions.observation)
        actions = np.empty(len(decisions), np.int64)
        for chosen, act in ((own, self._act), (~own, self.partner.act)):
            rows = np.flatnonzero(chosen)
            if len(rows):
                actions[rows] = act(decisions.take(rows))
        return actions

    def _act(self, decisions: Decisions) -> NDArray[np.int64]:
        logits, _ = self.evaluate(decisions)
        if self.temperature < COLDEST:
            return choose_best(logits, decisions.mask)
        return choose_sampled(logits / self.temperature, decisions.mask, decisions.keys)

    def evaluate(self, decisions: Decisions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits float32[B, A] in plain order, unmasked, and values float32[B]."""
        assert decisions.observation is not None, "a bot needs the observation"
        return self.network.plain(decisions.observation, decisions.phase)

    def log_probs(self, decisions: Decisions) -> NDArray[np.float32]:
        """float32[B, A]: log-probabilities of the policy (temperature 1), -inf where illegal."""
        logits = np.where(decisions.mask, self.evaluate(decisions)[0], -np.inf)
        logits = logits - logits.max(1, keepdims=True)
        return (logits - np.log(np.exp(logits).sum(1, keepdims=True))).astype(np.float32)

    def values(self, decisions: Decisions) -> NDArray[np.float32]:
        """float32[B]: the return (win share less par, and margin term) that the seat can expect."""
        return self.evaluate(decisions)[1]


def make_bot(
    game: Game,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    temperature: float = 0.0,
    make_agent: Callable[[str, Game], Agent] | None = None,
) -> Bot:
    """The agent of a bot or run folder, for `game`.

    `make_agent` makes the partner of a bot that learned some phases only. Raises `BotError`.
    """
    bot = load_bot(path)
    partner = None
    if bot.learned is not None:
        if make_agent is None:
            raise BotError(f"{path}: its partner {bot.learned['partner']!r} cannot be made here")
        with names_only("a bot's folder may not name code, which would be run"):
            partner = make_agent(str(bot.learned["partner"]), game)
    return Bot(game, bot, name=name or str(path), temperature=temperature, partner=partner)


def check_fits(bot: BotFile, game: Game, name: str) -> None:
    """Raise `BotError` in one line unless the bot can play `game`."""
    check_game(bot, game, name, kind="a bot", description=DESCRIPTION, error=BotError)


def _check_description(description: Mapping[str, Any], where: Path) -> None:
    """Raise `BotError` unless every key of a bot.json holds what it should."""
    learned = description.get("learned")
    wanted: list[tuple[str, Any, type, str]] = [
        ("game", description.get("game"), str, "a text"),
        ("rules", description.get("rules"), dict, "an object"),
        ("observation", description.get("observation"), dict, "an object"),
        ("network", description.get("network"), dict, "an object"),
        ("training", description.get("training", {}), dict, "an object"),
        ("strength", description.get("strength", []), list, "a list"),
        ("learned", {} if learned is None else learned, dict, "an object or null"),
    ]
    check_keys(description, where, wanted, BotError)
    if learned is not None:
        phases = learned.get("phases")
        if not (isinstance(phases, list) and phases and all(isinstance(p, str) for p in phases)):
            raise BotError(f"{where}: learned.phases: {short(phases)} should be a list of phases")
        if not isinstance(learned.get("partner"), str):
            partner = short(learned.get("partner"))
            raise BotError(f"{where}: learned.partner: {partner} should be an AGENT's text")
