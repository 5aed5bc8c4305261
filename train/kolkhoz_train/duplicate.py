"""Duplicate play, as in bridge: one deal at several tables, and luck in common taken away.

A batch may hold every deal several times (`algorithm.copies`). The copies differ in what the
networks drew as their moves, but have the shuffles of all rounds in common. What a seat's
advantage has in common with those of the same seat at the other copies, at the same moment of the
game, says nothing about its own move: it is a baseline, and to subtract one leaves the policy's
gradient as it is on average (Williams, *Simple statistical gradient-following algorithms*, 1992),
with less noise. The mean over the other samples of a question as its baseline is that of Kool, van
Hoof and Welling, *Buy 4 REINFORCE samples, get a baseline for free!*, 2019; here it stands on top
of GAE.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Duplicates:
    """A batch of games in which every `copies` neighbours are of one deal, alike seated.

    `kind` int64[B] says who plays in each game; `seats` is their number.
    """

    copies: int
    kind: IntArray
    seats: int

    def luck(self, advantage: FloatArray, trajectory: IntArray, scene: IntArray) -> FloatArray:
        """The part float32[N] of each advantage that its deal and not its decision has brought.

        Decisions [N] of a trajectory (game * seats + seat) are neighbours, in order of time;
        `scene` int64[N] is as `moments` takes it.
        """
        game, seat = np.divmod(trajectory, self.seats)
        deal = game // self.copies
        moment = moments(trajectory, scene)
        return shared_luck(advantage, deal, deal * self.seats + seat, moment, self.kind[game])


def moments(trajectory: IntArray, scene: IntArray) -> IntArray:
    """Numbers int64[N] of moments: a scene, and how many decisions of it came before.

    Decisions [N] of a trajectory are neighbours, in order of time; `scene` int64[N] says of what
    kind a decision is (the round of the game and the phase, say).
    """
    scenes = int(scene.max()) + 1 if len(scene) else 1
    group = trajectory * scenes + scene
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    length = np.diff(np.r_[starts, len(ordered)])
    before = np.empty_like(group)
    before[order] = np.arange(len(ordered)) - np.repeat(starts, length)
    return before * scenes + scene


def shared_luck(
    advantage: FloatArray, deal: IntArray, seat: IntArray, moment: IntArray, kind: IntArray
) -> FloatArray:
    """The baseline float32[N]: what the other copies of a deal say about an advantage.

    `deal` and `seat` int64[N] number the deals and the seats of all deals, equal for the copies of
    a deal; every copy has at most one decision a seat and `moment` int64[N]. The mean of the other
    copies (drawn to 0 by one more that would say 0) is scaled by what fits the other deals of the
    batch best, for each moment and `kind` int64[N] of table: where copies have gone apart, as they
    do among opponents that draw their moves, the baseline fades by itself.
    """
    moments = int(moment.max()) + 1 if len(moment) else 1
    _, place = np.unique(seat * moments + moment, return_inverse=True)
    wide = advantage.astype(np.float64)
    total, count = np.bincount(place, wide), np.bincount(place)
    others = (total[place] - wide) / count[place]
    group = kind * moments + moment
    # A deal has no say in its own scale, which would else depend on the moves to be judged.
    _, own = np.unique(deal * (int(group.max(initial=0)) + 1) + group, return_inverse=True)
    fit, power = others * wide, others * others
    scale = np.bincount(group, fit)[group] - np.bincount(own, fit)[own]
    scale /= np.maximum(np.bincount(group, power)[group] - np.bincount(own, power)[own], 1e-9)
    return (np.clip(scale, 0, 2) * others).astype(np.float32)
