"""Finding a game by name, so that nothing in the lab imports one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.options import unknown
from kolkhoz_agents.protocol import Game

GAME_GROUP = "kolkhoz_lab.games"


def make_game(name: str = "kolkhoz", rules: Mapping[str, Any] | None = None) -> Game:
    """The game of a name in the entry points `kolkhoz_lab.games`, or of `package.module:factory`.

    The factory is called with the rules as a dict. Raises EvaluationError for an unknown name and
    the game's own error for rules that it refuses.
    """
    found = entry_points(group=GAME_GROUP)
    if name in found.names:
        factory = found[name].load()
    elif ":" in name:
        factory = load_object(name, "game")
    else:
        raise EvaluationError(unknown("game", name, sorted(found.names)))
    game: Game = factory(dict(rules or {}))
    return game


def load_object(text: str, what: str) -> Any:
    """The object that `package.module:name` means; EvaluationError if there is none.

    Modules of the current folder are found too, after the installed ones.
    """
    module_name, _, name = text.partition(":")
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not (error.name and (module_name + ".").startswith(error.name + ".")):
            raise
        raise EvaluationError(
            f"{what} {text!r}: there is no module {error.name!r} on the Python path"
        ) from None
    if not hasattr(module, name):
        raise EvaluationError(f"{what} {text!r}: module {module_name!r} has no {name!r}")
    return getattr(module, name)
