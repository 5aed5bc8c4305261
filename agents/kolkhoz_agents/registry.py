"""From an agent's text to the agent.

An agent is written in one of these ways:

- `NAME` or `NAME:option=value,option=value`, a registered agent or a shipped bot;
- a path to a bot or run folder, with options too: `runs/quickstart:temperature=0.5`;
- `package.module:Factory` (and `package.module:Factory:option=value`), somebody else's code; not in
  a file that is loaded (see `games.names_only`).

A package registers agents of its own through the entry points `kolkhoz_lab.agents`: a name and a
factory, called as `factory(game, **options)`.
"""

from __future__ import annotations

import ast
import importlib
import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kolkhoz_agents.errors import AgentError, EvaluationError
from kolkhoz_agents.games import load_named_code, load_object
from kolkhoz_agents.options import check_options, split_options, unknown
from kolkhoz_agents.protocol import NEEDS, Agent, AgentFactory, Game, Option
from kolkhoz_env.errors import KolkhozError

AGENT_GROUP = "kolkhoz_lab.agents"
BOTS = Path(__file__).parent / "bots"

BUILT_IN = {
    "random": "kolkhoz_agents.random_agent:RandomAgent",
    "greedy": "kolkhoz_agents.kolkhoz.greedy:GreedyAgent",
    "heuristic": "kolkhoz_agents.kolkhoz.heuristic:HeuristicAgent",
    "search": "kolkhoz_agents.search:SearchAgent",
    "cheater": "kolkhoz_agents.search:CheaterAgent",
    "mix": "kolkhoz_agents.mix:MixAgent",
}
"""The lab's own agents, from the weakest to the strongest, and the mixture of others."""


@dataclass(frozen=True)
class AgentKind:
    """One kind of agent that can be made by name for a game."""

    name: str
    help: str
    factory: AgentFactory
    game: Game

    @property
    def options(self) -> tuple[Option, ...]:
        """What may be set in the agent's text."""
        return _declared(self.factory, self.game) or ()


def make_agent(text: str, game: Game) -> Agent:
    """The agent that `text` means, ready to play `game`. Raises AgentError, in one clear line."""
    text = text.strip()
    if not text:
        raise AgentError("an agent's name is missing")
    head, _, rest = text.partition(":")
    if not head:
        raise AgentError(f"agent {text!r}: the name before the colon is missing")
    if head in _factories():
        return _make_named(head, rest, text, game)
    named = "/" not in head and os.sep not in head
    foreign = named and bool(rest) and "=" not in rest.partition(":")[0]
    folder = _bot_folder(head, may_be_package=foreign)
    if folder is not None:
        return _make_bot(folder, rest, text, game)
    if foreign:
        return _make_foreign(head, rest, text, game)
    if "/" in head or os.sep in head:
        raise AgentError(f"agent {text!r}: there is no bot or run folder {head!r}")
    raise AgentError(
        f"{unknown('agent', head, [*_factories(), *shipped_bots()])}, a bot's folder, "
        "or package.module:Factory"
    )


def agent_kinds(game: Game) -> list[AgentKind]:
    """All agents by name that can play `game`, with their options."""
    kinds = []
    for name in _factories():
        factory = _load(name)
        if game.name in getattr(factory, "games", (game.name,)):
            kinds.append(AgentKind(name, _help(factory), factory, game))
    return kinds


def shipped_bots() -> list[str]:
    """Names of the bots that come with the lab."""
    if not BOTS.is_dir():
        return []
    return sorted(path.parent.name for path in BOTS.glob("*/bot.json"))


def bot_path(text: str) -> Path:
    """The folder that the name of a shipped bot, or the path of a bot or run folder, means.

    Raises AgentError, which names the shipped bots.
    """
    path = Path(os.path.expanduser(text))
    if text in shipped_bots():
        return BOTS / text
    if any((folder / "bot.json").is_file() for folder in (path, path / "bot")):
        return path
    problem = "the folder has neither bot.json nor bot/bot.json" if path.is_dir() else (
        "is a file and no bot" if path.exists() else "there is no such folder"
    )  # fmt: skip
    raise AgentError(
        f"{text}: {problem}; allowed: a bot or run folder, or a shipped bot's name "
        f"({', '.join(shipped_bots())})"
    )


def bot_options() -> tuple[Option, ...]:
    """The options that any bot takes."""
    options: tuple[Option, ...] = importlib.import_module("kolkhoz_agents.bots").Bot.options
    return options


def _factories() -> dict[str, str]:
    """Names and where their factories are; a module that is not installed does not count."""
    found = {name: where for name, where in BUILT_IN.items() if _exists(where.partition(":")[0])}
    for point in entry_points(group=AGENT_GROUP):
        found.setdefault(point.name, point.value)
    return found


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _load(name: str) -> AgentFactory:
    factory: AgentFactory = load_object(_factories()[name], f"agent {name!r}: factory")
    return factory


def _help(factory: AgentFactory) -> str:
    text = getattr(factory, "help", None) or (factory.__doc__ or "").strip().partition("\n")[0]
    return str(text)


def _declared(factory: AgentFactory, game: Game) -> tuple[Option, ...] | None:
    """The options that a factory declares for a game; None if it declares nothing."""
    if hasattr(factory, "options_for"):
        return tuple(factory.options_for(game))
    options = getattr(factory, "options", None)
    return None if options is None else tuple(options)


def _make_named(name: str, rest: str, text: str, game: Game) -> Agent:
    factory = _load(name)
    games = getattr(factory, "games", (game.name,))
    if game.name not in games:
        raise AgentError(f"agent {text!r} plays {', '.join(games)}, not {game.name}")
    return _make(factory, rest, text, game)


def _make(factory: AgentFactory, rest: str, text: str, game: Game) -> Agent:
    where = f"agent {text!r}"
    given = split_options(rest, where) if rest else {}
    declared = _declared(factory, game)
    if declared is None:
        options: dict[str, Any] = {name: _literal(value) for name, value in given.items()}
    else:
        options = check_options(given, declared, where)
    try:
        agent = factory(game, **options)
    except KolkhozError:
        raise
    except Exception as error:
        if declared is not None:
            raise
        raise AgentError(f"{where}: its factory refused the options: {error}") from error
    return _check_agent(agent, where)


def _literal(value: str) -> Any:
    """A number or bool where the text is one, else the text."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def _check_agent(agent: Any, where: str) -> Agent:
    for attribute in ("name", "needs", "act"):
        if not hasattr(agent, attribute):
            raise AgentError(f"{where}: the object has no {attribute!r}; an agent has it")
    wrong = sorted(frozenset(agent.needs) - NEEDS)
    if wrong:
        raise AgentError(f"{where}: {unknown('need', wrong[0], sorted(NEEDS))}")
    made: Agent = agent
    return made


def _bot_folder(head: str, *, may_be_package: bool = False) -> Path | None:
    """The bot's folder that `head` means: a shipped bot, a bot folder, or a run's `bot`.

    A folder without a bot is an error, unless it may be a package that holds an agent.
    """
    if head in shipped_bots():
        return BOTS / head
    path = Path(os.path.expanduser(head))
    for folder in (path, path / "bot"):
        if (folder / "bot.json").is_file():
            return folder
    if path.is_dir() and not may_be_package:
        raise AgentError(f"agent {head!r}: the folder has neither bot.json nor bot/bot.json")
    return None


def _make_bot(folder: Path, rest: str, text: str, game: Game) -> Agent:
    bots = importlib.import_module("kolkhoz_agents.bots")
    where = f"agent {text!r}"
    given = split_options(rest, where) if rest else {}
    options = check_options(given, bot_options(), where)
    try:
        bot = bots.make_bot(game, folder, name=text, make_agent=make_agent, **options)
    except RecursionError:
        raise AgentError(f"{where}: its learned.partner leads back to the bot itself") from None
    return _check_agent(bot, where)


def _make_foreign(head: str, rest: str, text: str, game: Game) -> Agent:
    name, _, options = rest.partition(":")
    try:
        factory = load_named_code(f"{head}:{name}", "agent")
    except EvaluationError as error:
        raise AgentError(str(error)) from None
    return _make(factory, options, text, game)
