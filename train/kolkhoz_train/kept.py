"""The learned decisions of a batch of games, column by column, in memory that is used again.

`Keeper` gathers them while `rollout` plays; `with_advantages` makes of them the `Batch` that `ppo`
learns from.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .duplicate import Duplicates


@dataclass
class Batch:
    """N learned decisions in the order in which they were made, on the learner's device.

    `observation` uint8[N, inputs] and `mask` bool[N, A] are in canonical order, as is `action`
    int64[N]; `log_prob`, `value`, `advantage` and `target` float32[N]; `phase` int64[N]; `hidden`
    uint8[N, H] is what only a critic sees (H = 0 without one);
    `trajectory` int64[N] is the number of the game times the number of seats, plus the seat. Most
    are views into a `Keeper`, which hold until it begins anew.
    """

    trajectory: Tensor
    observation: Tensor
    mask: Tensor
    action: Tensor
    log_prob: Tensor
    value: Tensor
    advantage: Tensor
    target: Tensor
    phase: Tensor
    hidden: Tensor

    def __len__(self) -> int:
        return len(self.action)


@dataclass
class Kept:
    """Columns of n decisions, as in `Batch`; `stage` int64[n] is the round of the game."""

    trajectory: Tensor
    observation: Tensor
    mask: Tensor
    action: Tensor
    log_prob: Tensor
    value: Tensor
    phase: Tensor
    stage: Tensor
    hidden: Tensor


class Keeper:
    """Gathers decisions step by step.

    Its memory, hundreds of megabytes, is kept from one batch of games to the next: to get it anew
    each time from the system would take longer than filling it.
    """

    def __init__(self) -> None:
        self.size = 0
        self._memory: Kept | None = None

    def begin(self) -> None:
        """Forget what was kept."""
        self.size = 0

    def add(self, some: Kept, rows: Tensor | None = None) -> None:
        """Keep some decisions, or the `rows` int64[n] of them, whose `hidden` has their n rows."""
        added = len(some.trajectory) if rows is None else len(rows)
        end = self.size + added
        for name, memory in vars(self._room(some, end)).items():
            place, column = memory[self.size : end], getattr(some, name)
            if rows is None or name == "hidden":
                place.copy_(column)
            else:
                torch.index_select(column, 0, rows, out=place)
        self.size = end

    def _room(self, like: Kept, size: int) -> Kept:
        old = self._memory
        capacity = 0 if old is None else len(old.trajectory)
        if old is not None and size <= capacity:
            return old
        # A quarter to spare: batches of as many games differ by a few per cent.
        larger = max(size + size // 4, 2 * capacity if self.size else 0)
        new = {}
        for column in fields(Kept):
            given: Tensor = getattr(like, column.name)
            new[column.name] = torch.empty(
                (larger, *given.shape[1:]), dtype=given.dtype, device=given.device
            )
            if old is not None:
                new[column.name][: self.size] = getattr(old, column.name)[: self.size]
        self._memory = Kept(**new)
        return self._memory

    @property
    def kept(self) -> Kept:
        """All that was kept since `begin`, as views; something must have been kept."""
        assert self._memory is not None
        return Kept(**{name: memory[: self.size] for name, memory in vars(self._memory).items()})


def with_advantages(
    kept: Kept,
    value: Tensor,
    returns: npt.NDArray[np.float32],
    discount: float,
    gae_lambda: float,
    duplicates: Duplicates | None = None,
) -> Batch:
    """The decisions with their advantages over `value` float32[N], the network's or a critic's.

    `returns` float32[T] is that of each trajectory. Where games are `duplicates` of each other the
    luck they have in common is taken out of the advantages (not out of the values' targets).
    """
    trajectory = kept.trajectory.cpu().numpy()
    # Sorting the small columns and writing back what comes of them spares the wide ones.
    order = np.argsort(trajectory, kind="stable")
    values = value.cpu().numpy()
    advantage = np.empty_like(values)
    ordered = trajectory[order]
    advantage[order] = advantages(values[order], ordered, returns[ordered], discount, gae_lambda)
    target = advantage + values
    if duplicates is not None:
        stage, phase = kept.stage.cpu().numpy(), kept.phase.cpu().numpy()
        scene = (stage * (phase.max() + 1) + phase)[order]
        advantage[order] -= duplicates.luck(advantage[order], ordered, scene)
    device = value.device
    return Batch(
        kept.trajectory,
        kept.observation,
        kept.mask,
        kept.action,
        kept.log_prob,
        value,
        torch.from_numpy(advantage).to(device),
        torch.from_numpy(target).to(device),
        kept.phase,
        kept.hidden,
    )


def advantages(
    value: npt.NDArray[np.float32],
    key: npt.NDArray[np.int64],
    final: npt.NDArray[np.float32],
    discount: float,
    gae_lambda: float,
) -> npt.NDArray[np.float32]:
    """GAE float32[N] over each trajectory's own decisions.

    Decisions [N] of a trajectory are neighbours, in order of time, with equal `key` int64[N]; the
    only reward of a trajectory is `final` float32[N] (equal within it), after its last decision.
    """
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    ends = np.r_[starts[1:], len(key)] - 1
    length = ends - starts + 1
    longest_first = np.argsort(-length, kind="stable")
    ends, length = ends[longest_first], length[longest_first]
    out = np.zeros_like(value)
    following = final[ends]
    running = np.zeros(len(ends), np.float32)
    for back in range(int(length[0]) if len(length) else 0):
        live = int(np.searchsorted(-length, -back, side="left"))
        at = ends[:live] - back
        step = discount if back else 1.0
        delta = step * following[:live] - value[at]
        running = delta + discount * gae_lambda * running[:live]
        out[at] = running
        following = value[at]
    return out
