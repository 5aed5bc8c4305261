"""Pictures of how the learner plays, phase by phase: bidding, banking, assignment.

They are drawn from a batch of games that was played anyway: from the statistics that the game keeps
of every seat, and, for bidding, from what the learner saw when it named trump. A game that lacks a
statistic lacks its picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kolkhoz_agents.network import NetworkShape
from kolkhoz_agents.protocol import Game

from .rollout import Played

Values = dict[str, NDArray[np.float32]]


def means(game: Game, played: Played) -> dict[str, float]:
    """Means over the learner's seats: score, win share and each of the game's statistics."""
    own, score = played.learner, np.asarray(played.outcome.score)
    values = {
        "play/score": float(score[own].mean()),
        "play/winning_score": float(score.max(1).mean()),
        "play/win_share": float(np.asarray(played.outcome.win_share)[own].mean()),
    }
    for name, column in own_statistics(game, played).items():
        values[f"behaviour/{name}"] = float(column.mean())
    return values


def own_statistics(game: Game, played: Played) -> Values:
    """The game's statistics by name, float32[n], over the learner's seats."""
    own = played.statistics[played.learner]
    return {name: own[:, i] for i, name in enumerate(game.statistics)}


def pictures(game: Game, shape: NetworkShape, played: Played) -> dict[str, Figure]:
    """One picture a group of phases, by name."""
    values = own_statistics(game, played)
    made: dict[str, Figure] = {}
    lengths = trump_lengths(game, shape, played)
    if lengths is not None:
        made["bidding"] = bidding(*lengths)
    if {"banked_ranks", "banked_kept", "swaps", "swap_gain"} <= set(values):
        made["banking"] = banking(values)
    if {"fields_completed", "fields_failed", "cards_north"} <= set(values):
        made["assignment"] = assignment(values)
    return made


def trump_lengths(
    game: Game, shape: NetworkShape, played: Played
) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Cards of each crop in hand int64[n, crops] where trump was named, and which was named.

    None where the game has no phase ``trump`` or no block ``hand``, or nobody named any.
    """
    blocks = {block.name: block for block in game.observation.blocks}
    if "trump" not in game.phases or "hand" not in blocks:
        return None
    batch = played.batch
    rows = (batch.phase == game.phases.index("trump")).cpu()
    if not bool(rows.any()):
        return None
    columns = list(shape.columns(game))
    hand = blocks["hand"]
    if hand.offset not in columns:
        return None
    start = columns.index(hand.offset)
    # Canonical order is the same for the hand as for the actions: which crop it is does not matter.
    cards = batch.observation[rows.to(batch.phase.device)][:, start : start + hand.length]
    mask = batch.mask[rows.to(batch.phase.device)].cpu().numpy()
    action = batch.action[rows.to(batch.phase.device)].cpu().numpy()
    crops = np.flatnonzero(mask.any(0))
    per_crop = hand.length // len(crops)
    counted = cards[:, : len(crops) * per_crop].cpu().numpy().astype(np.int64)
    lengths = counted.reshape(len(counted), len(crops), per_crop).sum(2)
    return lengths, action[:, None] == crops


def bidding(lengths: NDArray[np.int64], named: NDArray[np.bool_]) -> Figure:
    """How often a crop is named by how many of its cards are in hand."""
    figure, (axes,) = _figure(1)
    counts = np.arange(lengths.max() + 1)
    shares = [named[lengths == n].mean() if (lengths == n).any() else 0.0 for n in counts]
    longest = (lengths == lengths.max(1, keepdims=True))[named].mean()
    axes.bar(counts, shares)
    axes.set(xlabel="cards of the crop in hand", ylabel="share named trump", ylim=(0, 1))
    axes.set_title(f"a longest crop is named in {100 * longest:.0f}% of choices")
    return figure


def banking(values: Values) -> Figure:
    """Ranks banked and kept in a game, and what swaps were worth."""
    figure, (left, right) = _figure(2)
    top = max(10.0, float(values["banked_ranks"].max()))
    bins = np.linspace(0, top, 27)
    for name, label in (("banked_ranks", "banked"), ("banked_kept", "in the Cellar at the end")):
        mean = values[name].mean()
        left.hist(values[name], bins=bins, alpha=0.6, label=f"{label} (mean {mean:.1f})")
    left.set(xlabel="ranks of a seat in a game", ylabel="seats")
    left.legend()
    swapped = values["swaps"] > 0
    gain = values["swap_gain"][swapped] / values["swaps"][swapped]
    right.hist(gain, bins=np.arange(-12.5, 13.5))
    right.set(xlabel="rank gained in holdings a swap", ylabel="seats")
    right.set_title(f"{values['swaps'].mean():.2f} swaps a game")
    return figure


def assignment(values: Values) -> Figure:
    """Fields that a seat completed, fields that failed, and cards lost to the North."""
    figure, all_axes = _figure(3)
    labels = {
        "fields_completed": "fields completed as Brigadier",
        "fields_failed": "fields failed in the game",
        "cards_north": "own cards lost to the North",
    }
    for axes, (name, label) in zip(all_axes, labels.items(), strict=True):
        top = int(values[name].max(initial=1))
        axes.hist(values[name], bins=np.arange(-0.5, top + 1))
        axes.set(xlabel=label, ylabel="seats")
        axes.set_title(f"mean {values[name].mean():.2f}")
    return figure


def _figure(panels: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.2 * panels, 3.4), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, panels))
