"""Finding a game by name, so that nothing in the lab imports one."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from typing import Any

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.options import unknown
from kolkhoz_agents.protocol import Game, GameFactory
from kolkhoz_env.errors import KolkhozError

GAME_GROUP = "kolkhoz_lab.games"
_REFUSED: ContextVar[str | None] = ContextVar("why code may not be named", default=None)


def make_game(name: str = "kolkhoz", rules: Mapping[str, Any] | None = None) -> Game:
    """The game of a name in the entry points `kolkhoz_lab.games`, or of `package.module:factory`.

    The factory is called with the rules as a dict. Raises EvaluationError for an unknown name and
    the game's own error for rules that it refuses.
    """
    factory = game_factory(name)
    try:
        game: Game = factory(dict(rules or {}))
    except KolkhozError:
        raise
    except Exception as error:
        if ":" not in name:
            raise
        raise EvaluationError(f"game {name!r}: its factory refused the rules: {error}") from error
    for attribute in ("name", "num_seats", "num_actions", "phases", "observation", "table"):
        if not hasattr(game, attribute):
            raise EvaluationError(f"game {name!r}: the object has no {attribute!r}; a game has it")
    return game


def game_factory(name: str) -> GameFactory:
    """What makes the game of a name. Raises EvaluationError for an unknown one."""
    found = entry_points(group=GAME_GROUP)
    if name in found.names:
        try:
            factory = found[name].load()
        except Exception as error:
            raise EvaluationError(f"game {name!r}: {_import_failed(error)}") from error
    elif ":" in name:
        factory = load_named_code(name, "game")
    else:
        names = [*sorted(found.names), "package.module:factory"]
        raise EvaluationError(unknown("game", name, names))
    if not callable(factory):
        raise EvaluationError(f"game {name!r}: is no factory: {type(factory).__name__}")
    made: GameFactory = factory
    return made


@contextmanager
def names_only(reason: str) -> Iterator[None]:
    """Within it `package.module:name` is refused, for `reason`: only what is installed has a name.

    For what files say: whoever loads a file that somebody made must not run code by it.
    """
    before = _REFUSED.set(reason)
    try:
        yield
    finally:
        _REFUSED.reset(before)


def load_named_code(text: str, what: str) -> Any:
    """The object that somebody's `package.module:name` means; EvaluationError if it is refused."""
    reason = _REFUSED.get()
    if reason is not None:
        raise EvaluationError(f"{what} {text!r}: {reason}")
    return load_object(text, what)


def load_object(text: str, what: str) -> Any:
    """The object that `package.module:name` means; EvaluationError if there is none.

    Modules of the current folder are found too, after the installed ones.
    """
    module_name, _, name = text.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), name]):
        raise EvaluationError(f"{what} {text!r}: should have the form package.module:name")
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
        if missing and f"{module_name}.".startswith(f"{missing}."):
            raise EvaluationError(
                f"{what} {text!r}: there is no module {missing!r} on the Python path"
            ) from None
        if module_name.startswith("kolkhoz_"):
            raise
        raise EvaluationError(f"{what} {text!r}: {_import_failed(error)}") from error
    if not hasattr(module, name):
        raise EvaluationError(f"{what} {text!r}: module {module_name!r} has no {name!r}")
    return getattr(module, name)


def _import_failed(error: Exception) -> str:
    """What somebody's module raised when it was imported, and where."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:1] != "<"]
    place = frames[-1]
    where = "" if place.filename == __file__ else f" ({place.filename}, line {place.lineno})"
    return f"importing its module raised {type(error).__name__}: {error}{where}"
