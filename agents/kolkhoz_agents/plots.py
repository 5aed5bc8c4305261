"""The win-share matrix of a tournament as a picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kolkhoz_agents.display import SEES_ALL
from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.tournament import Tournament
from kolkhoz_agents.words import counted
from kolkhoz_env.files import whole

LONGEST_NAME = 28


def plot_matrix(result: Tournament, path: str | os.PathLike[str]) -> None:
    """Write the matrix as a picture of the kind that the file's name ends with.

    Colours say how far a share is from par: blue above, red below; dots mark cells whose 95%
    interval does not hold par.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    shares, count = result.shares(), len(result.agents)
    par = 1.0 / result.game.num_seats
    side = 2.6 + 0.85 * count
    figure = Figure(figsize=(side + 1.6, side), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor("0.88")
    colours: Any = TwoSlopeNorm(par, 0.0, 1.0)
    image = axes.imshow(shares, cmap="RdBu", norm=colours)
    for row in range(count):
        for column in range(count):
            cell = result.pairs[row][column]
            if cell is None:
                continue
            share = cell.win_share
            clear = not share.low <= par <= share.high
            text = f"{share.mean:.3f}\n±{share.width / 2:.3f}" + (" •" if clear else "")
            dark = abs(colours(share.mean) - 0.5) > 0.3
            axes.text(column, row, text, ha="center", va="center", fontsize=9,
                      color="white" if dark else "black")  # fmt: skip
    names = [
        _short(name)
        + (f"\n({SEES_ALL})" if any(cell and cell.sees_all_cards for cell in row) else "")
        for name, row in zip(result.agents, result.pairs, strict=True)
    ]
    axes.set_xticks(np.arange(count), names, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(count), names)
    axes.set_xlabel(f"against {result.game.num_seats - 1} copies of")
    axes.set_ylabel("win share of one")
    deals = counted(result.deals, "deal")
    axes.set_title(f"{deals}, {result.game.num_seats} players, par {par:.3g}")
    bar = figure.colorbar(image, ax=axes, shrink=0.8, label="win share")
    bar.set_ticks([0.0, par, 0.5, 0.75, 1.0])
    with whole(path) as aside:
        figure.savefig(aside, dpi=130, format=Path(path).suffix[1:] or "png")


def _short(name: str) -> str:
    """A name with its middle left out where it is long: both ends of a path or option tell."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}"


def check_plot_name(path: str | os.PathLike[str]) -> None:
    """Raise EvaluationError unless pictures of this kind can be written."""
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in kinds:
        possible = ", ".join(f".{kind}" for kind in ("png", "svg", "pdf") if kind in kinds)
        raise EvaluationError(f"--plot {path}: should end with one of: {possible}")
