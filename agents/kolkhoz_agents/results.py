"""What has been played so far: kept deal by deal, saved, and gone on from.

A state file is a numpy archive of plain arrays and one JSON text; nothing in it can execute.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.faults import Fault
from kolkhoz_agents.referee import Played
from kolkhoz_env.files import whole

FORMAT = "kolkhoz-results/1"


@dataclass
class Results:
    """Finished deals in ascending order; shapes as in `referee.Played`."""

    deals: NDArray[np.int64]
    values: NDArray[np.float32]
    forfeits: NDArray[np.bool_]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    faults: list[Fault] = field(default_factory=list)

    @classmethod
    def empty(cls, seatings: int, seats: int, figures: int, agents: int) -> Results:
        """No deals yet."""
        return cls(
            np.zeros(0, np.int64),
            np.zeros((0, seatings, seats, figures), np.float32),
            np.zeros((0, seatings, seats), bool),
            np.zeros(agents, np.int64),
            np.zeros(agents),
        )

    def add(self, pieces: list[Played]) -> None:
        """Take in finished pieces, in any order."""
        if not pieces:
            return
        deals = np.concatenate([self.deals, *(piece.deals for piece in pieces)])
        order = np.argsort(deals)
        self.deals = deals[order]
        values = np.concatenate([self.values, *(piece.values for piece in pieces)])
        forfeits = np.concatenate([self.forfeits, *(piece.forfeits for piece in pieces)])
        self.values, self.forfeits = values[order], forfeits[order]
        for piece in sorted(pieces, key=lambda piece: int(piece.deals[0])):
            self.decisions = self.decisions + piece.decisions
            self.seconds = self.seconds + piece.seconds
            self.faults.extend(piece.faults)

    def missing(self, wanted: int, chunk: int) -> Iterator[NDArray[np.int64]]:
        """The deals 0 .. wanted-1 that are not finished, in pieces whose borders never move."""
        left = np.setdiff1d(np.arange(wanted), self.deals)
        for border in np.unique(left // chunk):
            yield left[left // chunk == border]


def save_results(path: str | os.PathLike[str], results: Results, meta: Mapping[str, Any]) -> None:
    """Write a state file, whole or not at all."""
    text = json.dumps(
        {"format": FORMAT, **meta, "faults": [asdict(fault) for fault in results.faults]}
    )
    with whole(path) as aside, open(aside, "wb") as file:
        np.savez_compressed(
            file,
            meta=np.array(text),
            deals=results.deals,
            values=results.values,
            forfeits=results.forfeits,
            decisions=results.decisions,
            seconds=results.seconds,
        )


def load_results(path: str | os.PathLike[str]) -> tuple[Results, dict[str, Any]]:
    """Read a state file. Raises EvaluationError in one line if it is none or is damaged."""
    what = "not a file of results (an .npz that --resume wrote), or damaged"
    if Path(path).exists() and not zipfile.is_zipfile(path):
        raise EvaluationError(f"{path}: {what}")
    try:
        with np.load(path, allow_pickle=False) as archive:
            meta = json.loads(str(archive["meta"]))
            names = ("deals", "values", "forfeits", "decisions", "seconds")
            arrays = {name: archive[name] for name in names}
    except FileNotFoundError:
        raise EvaluationError(f"{path}: there is no such file") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise EvaluationError(f"{path}: {what} ({error})") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise EvaluationError(f"{path}: should have the format {FORMAT!r}")
    try:
        faults = [Fault(**fault) for fault in meta.pop("faults", [])]
    except TypeError:
        raise EvaluationError(f"{path}: {what} (faults)") from None
    return Results(**arrays, faults=faults), meta


def check_same(
    path: str | os.PathLike[str], found: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Raise EvaluationError unless the saved match is the one asked for."""
    for key, value in now.items():
        if found.get(key) != json.loads(json.dumps(value)):
            raise EvaluationError(
                f"{path}: holds results of another match: {key} is {found.get(key)!r} there and "
                f"{value!r} here"
            )
