"""Worlds drawn for decisions: which ones, and how often each.

A world that was drawn more than once is played on once and counts as often as it was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .protocol import Table


@dataclass(frozen=True)
class Sample:
    """m worlds for n decisions, those of each in a row.

    `owner` int64[m]: number of the decision that a world is for, rising. `weight` float64[m]: how
    often it was drawn.
    """

    table: Table
    owner: NDArray[np.int64]
    weight: NDArray[np.float64]

    def place(self) -> NDArray[np.int64]:
        """int64[m]: number of each world among those of its decision, the same in any batch."""
        return np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner)


def each_once(table: Table, counts: NDArray[np.int64]) -> Sample:
    """The first int64[n] `counts` of each row of a table with as many worlds in each of n rows."""
    most = table.size // len(counts)
    rows = np.flatnonzero(np.arange(most) < counts[:, None])
    if len(rows) < table.size:
        table = table.take(rows)
    return Sample(table, rows // most, np.ones(len(rows)))


def distinct(table: Table, chosen: NDArray[np.int64], counts: NDArray[np.int64]) -> Sample:
    """Chosen worlds of a table with as many worlds in each of n rows.

    Of `chosen` int64[n, C], places within the row, the first int64[n] `counts` hold.
    """
    most = table.size // len(counts)
    rows = chosen + most * np.arange(len(counts))[:, None]
    wanted = np.arange(chosen.shape[1]) < counts[:, None]
    worlds, times = np.unique(rows[wanted], return_counts=True)
    return Sample(table.take(worlds), worlds // most, times.astype(np.float64))


def resampled(
    logs: NDArray[np.float64], counts: NDArray[np.int64], offset: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Of each row of log-weights [n, m] columns by their weight, int64[n, highest count].

    A row has int64[n] `counts` of them and then the last column. Systematic resampling: a column of
    weight w (of all 1) comes floor(w * count) times, or once more. `offset` float64[n], in (0, 1),
    is the randomness.
    """
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    share = weights.cumsum(axis=1)
    places = np.arange(int(counts.max()))
    marks = (places + offset[:, None]) / counts[:, None] * share[:, -1:]
    chosen = np.array([np.searchsorted(*row) for row in zip(share, marks, strict=True)], np.int64)
    return np.minimum(chosen.reshape(len(logs), len(places)), logs.shape[1] - 1)
