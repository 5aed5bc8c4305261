"""Pictures of a study for people who know the game: fields, Medals, the Saboteur and the score.

As in `study_plots`: every function takes studies by label and returns a figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kolkhoz_agents.kolkhoz.study_plots import (
    BAD,
    COLOURS,
    FAINT,
    GOOD,
    NEUTRAL,
    Studies,
    figure,
    percent,
    share_line,
    wilson,
)
from kolkhoz_agents.kolkhoz.study_rows import Assignments, Study, rank_of
from kolkhoz_env.cards import SABOTEUR

# Fields --------------------------------------------------------------------------------------


def field_years(studies: Studies) -> Figure:
    """How many of the four fields complete and fail, and with how many hours a year ends."""
    made, (complete, fail, hours) = figure(3, "What becomes of the fields")
    for colour, (label, study) in zip(COLOURS, studies.items(), strict=False):
        years, x = study.years, range(1, study.rules.years + 1)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "color": colour}
        complete.plot(x, years.claimed.sum(axis=2).mean(axis=0), label=label, **style)
        fail.plot(x, years.failed.sum(axis=2).mean(axis=0), **style)
        fail.plot(x, years.sabotaged.sum(axis=2).mean(axis=0), linestyle=":", **style)
        # Year 5 has a trick less and would blur the picture.
        full = years.hours[:, :4].ravel()
        bins = np.arange(0, 101, 5)
        heights, _ = np.histogram(np.minimum(full, 99), bins)
        hours.stairs(heights / len(full), bins, color=colour, linewidth=1.5)
    complete.set(title="fields that pay their reward, a year", ylabel="of four fields")
    fail.set(title="fields that fail (dotted: by the Saboteur)", ylabel="of four fields")
    hours.set(title="hours of a field at the end of Years 1-4", xlabel="hours")
    hours.axvline(study.rules.field_quota, color="black", linewidth=0.8, linestyle="--")
    percent(hours, None)
    hours.set_ylabel("share of fields")
    for axes in (complete, fail):
        axes.set(xlabel="year", ylim=(0, 4), xticks=range(1, 6))
    complete.legend(frameon=False)
    return made


def assignment(studies: Studies) -> Figure:
    """Where a Brigadier sends a card when there is a choice."""
    made, (take, stake, reward) = figure(3, "Where the Brigadier sends a Worker")
    names = list(studies)
    for number, (label, study) in enumerate(studies.items()):
        rows, colour = study.assignments, COLOURS[number]
        choice = rows.legal.sum(axis=1) > 1
        possible = choice & rows.can_complete.any(axis=1)
        mean, low, high = wilson(int(rows.completes[possible].sum()), max(int(possible.sum()), 1))
        take.bar(number, mean, 0.7, color=colour)
        take.errorbar(number, mean, yerr=[[mean - low], [high - mean]], color="black")
        take.text(number, 0.03, f"{possible.sum()} chances", ha="center", fontsize=8, color="white")
        # Cards that complete nothing: which of the open fields gets the hours?
        quiet = choice & ~rows.can_complete.any(axis=1) & (rows.card != SABOTEUR)
        difference = np.clip(np.round((rows.own - rows.others / 3) / 4), -3, 3)[quiet]
        legal = rows.legal[quiet] & ~rows.claimed[quiet]
        chosen = np.arange(4) == rows.field[quiet, None]
        share_line(stake, difference[legal], chosen[legal], range(-3, 4), color=colour, label=label)
        prize = rows.reward[quiet]
        share_line(reward, prize[legal], chosen[legal], range(1, 14), color=colour)
    take.set_xticks(range(len(names)), names)
    take.set(title="completes a field when it can", ylabel="share of chances")
    stake.set(title="else: by own stake", xlabel="own ranks minus the others' mean Plot")
    stake.set_xticks(range(-3, 4), ["-10", "-8", "-4", "0", "4", "8", "10+"], fontsize=8)
    reward.set(title="else: by reward", xlabel="rank of the visible reward")
    reward.set_xticks(range(1, 14, 2))
    for axes in (take, stake, reward):
        percent(axes)
    stake.set_ylabel("share of legal open fields chosen")
    stake.legend(frameon=False, fontsize=8)
    return made


# Medals and what a year brings ---------------------------------------------------------------


def year_balance(studies: Studies) -> Figure:
    """Ranks that a seat wins and loses in a year, by the number of its Medals."""
    made, all_axes = figure(len(studies), "What a year brings a seat, by Medals won", height=4.0)
    for axes, (label, study) in zip(all_axes, studies.items(), strict=True):
        years = study.years
        medals = np.minimum(years.count("medals"), 4)
        part = {
            "rewards": years.count("reward_ranks"),
            "banked and swapped": years.count("banked_ranks") + years.count("swap_gain"),
        }
        lost = -years.count("ranks_north")
        marks = []
        for number in range(5):
            here = medals == number
            marks.append(f"{number}\n{here.mean():.0%}")
            if here.sum() < 5:
                continue
            bottom = 0.0
            for (name, values), colour in zip(part.items(), (GOOD, NEUTRAL), strict=True):
                height = float(values[here].mean())
                axes.bar(number, height, 0.7, bottom=bottom, color=colour,
                         label=name if number == 0 else None)  # fmt: skip
                bottom += height
            gone = float(lost[here].mean())
            axes.bar(number, gone, 0.7, color=BAD, label="sent North" if number == 0 else None)
            axes.plot(number, bottom + gone, "D", color="black", markersize=6,
                      label="in all" if number == 0 else None)  # fmt: skip
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_xticks(range(5), marks)
        axes.set(title=label, xlabel="Medals in the year, share of seat-years")
    low = min(axes.get_ylim()[0] for axes in all_axes)
    high = max(axes.get_ylim()[1] for axes in all_axes)
    for axes in all_axes:
        axes.set_ylim(low, high)
    all_axes[0].set_ylabel("ranks, mean")
    made.legend(*all_axes[0].get_legend_handles_labels(), loc="upper right", ncols=4, fontsize=8,
                frameon=False)  # fmt: skip
    return made


def requisition(studies: Studies) -> Figure:
    """Whom the State inspects, what it takes, and whether it takes more from those who lead."""
    made, (taken, inspected, leading) = figure(3, "Requisition: whom does it hit?")
    for colour, (label, study) in zip(COLOURS, studies.items(), strict=False):
        years = study.years
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "color": colour}
        lost, seen = years.count("ranks_north"), years.count("inspections") > 0
        failed = np.broadcast_to(years.failed.sum(axis=2)[..., None], lost.shape)
        mean = [_mean(lost[seen & (failed == number)]) for number in range(5)]
        taken.plot(range(5), mean, label=label, **style)
        inspected.plot(range(1, study.rules.years + 1), seen.mean(axis=(0, 2)), **style)
        # Places before the year: 0 leads. Equal scores share a place.
        before = years.score[:, :-1]
        place = (before[..., None, :] > before[..., None]).sum(axis=3)
        mean = [_mean(lost[:, 1:][place == number]) for number in range(study.rules.players)]
        leading.plot(range(1, study.rules.players + 1), mean, **style)
    taken.set(title="ranks lost by an inspected seat", xlabel="failed fields", xticks=range(5))
    inspected.set(title="seats inspected", xlabel="year", xticks=range(1, 6))
    leading.set(title="ranks lost by place before the year", xlabel="place (1 leads)")
    leading.set(xticks=range(1, study.rules.players + 1), ylim=(0, None))
    percent(inspected)
    taken.set_ylabel("ranks sent North, mean")
    taken.legend(frameon=False)
    return made


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size >= 5 else float("nan")


def scores(studies: Studies) -> Figure:
    """How the score grows, and whether the seat matters."""
    made, (growth, seats) = figure(2, "The score over the years, and the seat")
    for colour, (label, study) in zip(COLOURS, studies.items(), strict=False):
        years, x = study.years, range(1, study.rules.years + 1)
        weight = years.win_share[:, None, :]
        winner = (years.score * weight).sum(axis=2).mean(axis=0)
        players = study.rules.players
        others = (years.score * (1 - weight)).sum(axis=2).mean(axis=0) / (players - 1)
        growth.plot(x, winner, marker="o", markersize=4, color=colour, label=f"{label}: winner")
        growth.plot(x, others, marker="o", markersize=4, color=colour, linestyle="--")
        first = (np.arange(players) + years.planner[:, :1]) % players
        share = np.take_along_axis(years.win_share, first, axis=1)
        error = 1.96 * share.std(axis=0) / np.sqrt(len(share))
        seats.errorbar(range(players), share.mean(axis=0), yerr=error, marker="o", color=colour,
                       linewidth=1, label=label)  # fmt: skip
    growth.set(title="mean score (dashed: the others)", xlabel="after year", xticks=range(1, 6))
    growth.legend(frameon=False, fontsize=8)
    seats.axhline(1 / players, **FAINT)
    seats.set(title="win share by seat", xlabel="seats to the left of the first Planner")
    seats.set_xticks(range(players))
    percent(seats, 0.5)
    return made


# The Saboteur --------------------------------------------------------------------------------


def saboteur_uses(study: Study) -> dict[str, int]:
    """How often the Saboteur was led, followed by choice, followed because it had to, or banked."""
    played = study.saboteurs
    return {
        "led": int(played.led.sum()),
        "followed by choice": int((~played.led & ~played.forced).sum()),
        "had to follow": int((~played.led & played.forced).sum()),
        "banked": int(study.years.saboteur_banked.sum()),
    }


def saboteur_targets(rows: Assignments) -> dict[str, NDArray[np.float64]]:
    """For each Saboteur assigned with a choice: the chosen field against the mean legal field.

    Columns float[n]: own ranks at stake, the others' Plot ranks at stake (mean a seat), rank of the
    reward, hours.
    """
    pick = (rows.card == SABOTEUR) & (rows.legal.sum(axis=1) > 1)
    at = np.flatnonzero(pick)
    legal = rows.legal[at]
    found = {}
    for name, values in (
        ("own ranks in the crop", rows.own),
        ("others' Plots, a seat", rows.others / 3),
        ("its visible reward", rows.reward),
        ("its hours so far", rows.hours),
    ):
        mean = (values[at] * legal).sum(axis=1) / legal.sum(axis=1)
        found[name] = values[at, rows.field[at]] - mean
    return found


def saboteur(studies: Studies) -> Figure:
    """What becomes of the Saboteur, and which field it is sent to."""
    made, (uses, tricks, targets) = figure(3, "The Saboteur", height=3.8)
    width = 0.8 / len(studies)
    for number, (label, study) in enumerate(studies.items()):
        colour, shift = COLOURS[number], (number - (len(studies) - 1) / 2) * width
        found = saboteur_uses(study)
        total = max(sum(found.values()), 1)
        x = np.arange(len(found)) + shift
        uses.bar(x, [n / total for n in found.values()], width * 0.92, color=colour, label=label)
        rows = study.saboteurs
        share_line(tricks, rows.trick + 1, rows.won, range(1, 5), color=colour)
        shares = saboteur_targets(study.assignments)
        means = [float(values.mean()) for values in shares.values()]
        errors = [1.96 * float(values.std()) / np.sqrt(len(values)) for values in shares.values()]
        targets.barh(np.arange(4) + shift, means, width * 0.92, xerr=errors, color=colour,
                     error_kw={"elinewidth": 0.9})  # fmt: skip
    uses.set_xticks(range(4), [name.replace(" ", "\n", 1) for name in found], fontsize=8)
    uses.set(title="what its holder does with it", ylabel="share")
    uses.legend(frameon=False, fontsize=8)
    tricks.set(title="wins the trick that it is played to", xlabel="trick of the year")
    tricks.set(xticks=range(1, 5))
    targets.axvline(0, color="black", linewidth=0.8)
    targets.set_yticks(range(4), list(shares), fontsize=8)
    targets.invert_yaxis()
    targets.set(title="its field against the mean legal field", xlabel="ranks or hours above mean")
    percent(uses, None)
    percent(tricks)
    return made


def headline(study: Study) -> dict[str, float]:
    """A few figures that describe how an agent plays, from all of a study's seats."""
    years = study.years
    longest = study.trumps.cards.max(axis=1)
    taken = study.trumps.cards[np.arange(len(study.trumps)), study.trumps.crop]
    return {
        "games": study.games,
        "mean score": float(years.score[:, -1].mean()),
        "winner's score": float((years.score[:, -1] * years.win_share).sum(axis=1).mean()),
        "names its longest crop": float((taken == longest).mean()),
        "rank banked": float(rank_of(study.banked.card).mean()),
        "of it still there": float(study.banked.stayed.mean()),
        "swaps when it may": float((study.swaps.zone > 0).mean()),
        "seat-years without a Medal": float((years.count("medals") == 0).mean()),
        "Hero of Labor, a seat-year": float((years.count("heroes") > 0).mean()),
        "fields completed, a year": float(years.claimed.sum(axis=2).mean()),
        "fields failed, a year": float(years.failed.sum(axis=2).mean()),
        "ranks sent North, a seat-year": float(years.count("ranks_north").mean()),
    }
