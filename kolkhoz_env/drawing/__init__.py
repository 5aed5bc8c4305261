"""Drawing the table: from a seat's view to text or a picture.

`text` writes what a person needs to follow the game, `picture` paints it. Both take a view
(`kolkhoz-view/1`, see `kolkhoz_env.view`), so whoever has one can draw it. :func:`open_view` is
the view of somebody who walks round the table and sees all cards.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.drawing.picture import paint
from kolkhoz_env.drawing.text import table_lines, table_text
from kolkhoz_env.drawing.views import open_view, table_view
from kolkhoz_env.one_game import OneGame


def render(game: OneGame, mode: str, seat: int | str | None = None) -> str | NDArray[Any] | None:
    """What an environment's `render` returns.

    Args:
        game: the game.
        mode: ``"ansi"`` for text, ``"human"`` to print it, ``"rgb_array"`` for a picture.
        seat: who looks: a seat, ``"open"`` for all cards, ``None`` for the seat to act (seat 0
            when the game is over).

    Returns:
        text, ``None``, or ``uint8[height, width, 3]``.
    """
    view = table_view(game.table, 0, seat)
    if mode == "rgb_array":
        return np.asarray(paint(view))
    if mode == "ansi":
        return table_text(view)
    from rich.console import Console

    Console(file=sys.stdout).print(table_lines(view))
    return None


__all__ = ["open_view", "paint", "render", "table_lines", "table_text", "table_view"]
