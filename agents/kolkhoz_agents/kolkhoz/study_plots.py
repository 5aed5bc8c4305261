"""Pictures of a study for people who know the game: trump, swaps and banking.

Every function takes studies by label (in the order of the legend) and returns a figure. Whiskers
are 95% intervals of a share that treat decisions as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kolkhoz_agents.kolkhoz.study_rows import (
    FROM_CELLAR,
    FROM_PLOT,
    NO_SWAP,
    Study,
    Trumps,
    crop_of,
    rank_of,
)

Studies = Mapping[str, Study]
COLOURS = ("#1f5a92", "#d77a1f", "#8a8a8a", "#3f8f4f", "#a3275f", "#6b4fa0")
GOOD, BAD, NEUTRAL = "#4f9a54", "#c8503f", "#b9b39f"
FAINT: dict[str, Any] = {"color": "#cccccc", "linewidth": 0.8, "zorder": 0}


def figure(columns: int, title: str, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """A row of axes under one title."""
    made = Figure(figsize=(4.1 * columns, height), layout="constrained", dpi=90)
    axes = np.atleast_1d(made.subplots(1, columns)).tolist()
    made.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.title.set_fontsize(10)
    return made, axes


def percent(axes: Axes, highest: float | None = 1.0) -> None:
    """Write the vertical axis in percent, from 0."""
    from matplotlib.ticker import PercentFormatter

    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylim(0, highest)


def share_line(
    axes: Axes, x: NDArray[Any], hit: NDArray[np.bool_], at: Sequence[int], **style: Any
) -> None:
    """Share of `hit` bool[n] among rows whose `x` int[n] is each of `at`, with its interval."""
    points = [(value, hit[x == value]) for value in at]
    points = [(value, part) for value, part in points if len(part) >= 5]
    places = np.array([value for value, _ in points], dtype=float)
    bounds = np.array([wilson(int(part.sum()), len(part)) for _, part in points]).reshape(-1, 3)
    mean, low, high = bounds.T
    axes.errorbar(places, mean, yerr=[mean - low, high - mean], marker="o", markersize=4,
                  linewidth=1.4, elinewidth=0.9, **style)  # fmt: skip


def wilson(hits: int, of: int) -> tuple[float, float, float]:
    """A share and its 95% interval."""
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * np.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return share, float(min(middle - half, share)), float(max(middle + half, share))


# Trump ---------------------------------------------------------------------------------------


def trump_choices(studies: Studies) -> Figure:
    """How often a crop is named trump, by what the Planner holds and sees of it."""
    made, (hand, reward, own) = figure(3, "Which crop does the Planner name trump?")
    bins = np.array([0, 1, 9, 17, 25])
    for colour, (label, study) in zip(COLOURS, studies.items(), strict=False):
        trumps, named = study.trumps, chosen(study.trumps)
        share_line(hand, trumps.cards.ravel(), named, range(6), color=colour, label=label)
        share_line(reward, trumps.reward.ravel(), named, range(1, 14), color=colour)
        late = np.repeat(trumps.year > 1, 4)
        held = np.digitize(trumps.own.ravel()[late], bins) - 1
        share_line(own, held, named[late], range(5), color=colour)
    hand.set(title="by cards of the crop in hand", xlabel="cards in hand", xticks=range(6))
    reward.set(title="by rank of its visible reward", xlabel="reward", xticks=range(1, 14, 2))
    own.set(title="by own holdings, Years 2-4", xlabel="ranks in own Plot and Cellar")
    own.set_xticks(range(5), ["0", "1-8", "9-16", "17-24", "25+"])
    for axes in (hand, reward, own):
        axes.axhline(0.25, **FAINT)
        percent(axes)
    hand.set_ylabel("share of chances in which it is named")
    hand.legend(frameon=False)
    return made


def chosen(trumps: Trumps) -> NDArray[np.bool_]:
    """bool[4 n]: whether each crop was the one named."""
    return np.asarray((np.arange(4) == trumps.crop[:, None]).ravel())


def trump_map(study: Study, label: str) -> Figure:
    """One agent's trump choice by cards in hand and visible reward together."""
    made, (axes,) = figure(1, f"{label}: trump by hand and reward", height=3.4)
    made.set_size_inches(6.4, 3.4)
    named, cards = chosen(study.trumps), study.trumps.cards.ravel()
    rewards = study.trumps.reward.ravel()
    bands = [(1, 2), (3, 4), (5, 7), (8, 10), (11, 13)]
    table = np.full((5, len(bands)), np.nan)
    for row in range(5):
        for column, (low, high) in enumerate(bands):
            cell = named[(np.minimum(cards, 4) == row) & (rewards >= low) & (rewards <= high)]
            if len(cell) >= 5:
                table[row, column] = cell.mean()
                axes.text(column, row, f"{cell.mean():.0%}", ha="center", va="center", fontsize=9,
                          color="white" if cell.mean() > 0.55 else "black")  # fmt: skip
    image = axes.imshow(table, cmap="YlGnBu", vmin=0, vmax=1, aspect="auto", origin="lower")
    axes.set_xticks(range(len(bands)), [f"{low}-{high}" for low, high in bands])
    axes.set_yticks(range(5), ["0", "1", "2", "3", "4 or 5"])
    axes.set(xlabel="rank of the crop's visible reward", ylabel="cards of the crop in hand")
    made.colorbar(image, ax=axes, label="share of chances in which it is named")
    return made


# Swapping and banking ------------------------------------------------------------------------


def swapping(studies: Studies) -> Figure:
    """What is swapped by year, and what it brings."""
    made, (zones, gains, trumps) = figure(3, "The yearly swap")
    width = 0.8 / len(studies)
    for number, (label, study) in enumerate(studies.items()):
        swaps, colour = study.swaps, COLOURS[number]
        made_one = swaps.zone != NO_SWAP
        gain = rank_of(swaps.given) - rank_of(swaps.taken)
        for year in range(2, 6):
            here = swaps.year == year
            x = year + (number - (len(studies) - 1) / 2) * width
            cellar = (swaps.zone[here] == FROM_CELLAR).mean()
            plot = (swaps.zone[here] == FROM_PLOT).mean()
            zones.bar(x, cellar, width * 0.92, color=colour)
            zones.bar(x, plot, width * 0.92, bottom=cellar, color=colour, alpha=0.45)
            gains.bar(x, gain[here & made_one].mean(), width * 0.92, color=colour)
            into_hand = crop_of(swaps.taken[here & made_one]) == swaps.trump[here & made_one]
            name = label if year == 2 else None
            trumps.bar(x, into_hand.mean(), width * 0.92, color=colour, label=name)
    zones.set(title="chances taken: Cellar (full), Plot (pale)", ylabel="share of chances")
    trumps.legend(frameon=False, fontsize=8)
    gains.set(title="rank given minus rank taken, a swap", ylabel="ranks won for Plot and Cellar")
    gains.axhline(0, **FAINT)
    trumps.set(title="the card taken into hand is a trump", ylabel="share of swaps")
    percent(zones)
    percent(trumps)
    for axes in (zones, gains, trumps):
        axes.set(xlabel="year", xticks=range(2, 6))
    return made


def banking(studies: Studies) -> Figure:
    """What is banked, and what of it is still there after the year's requisition."""
    made, (ranks, stays, years) = figure(3, "The card banked at the end of a year")
    for colour, (label, study) in zip(COLOURS, studies.items(), strict=False):
        banked = study.banked
        rank = rank_of(banked.card)
        counts = np.bincount(rank, minlength=14) / len(rank)
        ranks.plot(range(14), counts, marker="o", markersize=4, color=colour,
                   label=f"{label} (mean {rank.mean():.1f})")  # fmt: skip
        share_line(stays, rank, banked.stayed, range(1, 14), color=colour)
        mean = [rank[banked.year == year].mean() for year in range(1, 6)]
        kept = [(rank * banked.stayed)[banked.year == year].mean() for year in range(1, 6)]
        years.plot(range(1, 6), mean, marker="o", markersize=4, color=colour)
        years.plot(range(1, 6), kept, marker="o", markersize=4, color=colour, linestyle="--")
    ranks.set(title="its rank (0: the Saboteur)", xlabel="rank", ylabel="share of banked cards")
    ranks.legend(frameon=False, fontsize=8)
    stays.set(title="still there after requisition", xlabel="rank", ylabel="share")
    years.set(title="rank banked (full), what stayed (dashed)", xlabel="year", ylabel="mean rank")
    years.set(xticks=range(1, 6), ylim=(0, None))
    percent(ranks, None)
    percent(stays)
    return made
