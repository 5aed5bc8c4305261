"""A match in progress: its pieces played, saved, resumed and shown while they run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.referee import METRICS, Played, Referee
from kolkhoz_agents.results import Results, check_same, load_results, save_results
from kolkhoz_agents.workers import MatchSpec, Tick, play_pieces
from kolkhoz_env.files import whole, write_text

BATCH = 4096
"""Games side by side in a piece, unless an agent's `batch` asks for fewer."""

SAVE_SECONDS = 30.0


class Progress(Protocol):
    """Who hears how a match goes on."""

    def start(self, deals: int, total: int) -> None: ...
    def decisions(self, count: int) -> None: ...
    def deals(self, count: int) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """A progress that nobody watches."""

    def start(self, deals: int, total: int) -> None: ...
    def decisions(self, count: int) -> None: ...
    def deals(self, count: int) -> None: ...
    def stop(self) -> None: ...


class Match:
    """Deals of one spec, played piece by piece into `results`."""

    def __init__(
        self,
        spec: MatchSpec,
        *,
        referee: Referee | None = None,
        workers: int = 0,
        state: str | os.PathLike[str] | None = None,
        records: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Plays in `workers` processes of its own, or with 0 in this one, by `referee`.

        `state` is a file to go on from if it exists, and to save to. Raises AgentError or
        EvaluationError for an agent or file that doesn't fit.
        """
        self.spec = replace(spec, records=records is not None)
        self.referee = referee or self.spec.referee()
        self.workers = workers
        self.state = None if state is None else Path(state)
        self.progress = progress or Silent()
        self.chunk = deals_at_once(self.referee)
        self.results = self._load()
        self.records = None if records is None else RecordParts(Path(records))
        if self.records:
            self.records.check(self.results.deals)
        # The first piece is saved at once, so that an early crash of the machine costs little.
        self._save_at = -math.inf

    @property
    def meta(self) -> dict[str, Any]:
        """What makes this match the same as another: for state files."""
        spec = self.spec
        return {
            "game": spec.game,
            "rules": self.referee.game.rules_dict(),
            "agents": list(spec.agents),
            "bots": [digests(agent) for agent in self.referee.agents],
            "seatings": spec.seatings.tolist(),
            "seed": spec.seed,
            "on_fault": spec.on_fault,
        }

    def play_to(self, deals: int) -> None:
        """Plays what is missing of the deals 0 .. deals-1.

        On Ctrl-C or a fault what was finished is kept and saved, then the exception goes on.
        """
        pieces = list(self.results.missing(deals, self.chunk))
        if not pieces:
            return
        finished: list[Played] = []
        self.progress.start(deals - sum(map(len, pieces)), deals)
        try:
            for played in self._play(pieces):
                finished.append(replace(played, records=[]))
                if self.records:
                    self.records.add(played)
                self.progress.deals(len(played.deals))
                if monotonic() > self._save_at:
                    self._keep(finished)
        finally:
            self.progress.stop()
            self._keep(finished)

    def _play(self, pieces: Sequence[NDArray[np.int64]]) -> Iterator[Played]:
        tick: Tick = self.progress.decisions
        if self.workers == 0:
            for piece in pieces:
                yield self.referee.play(piece, tick)
        else:
            yield from play_pieces(self.spec, pieces, self.workers, tick)

    def _keep(self, finished: list[Played]) -> None:
        started = monotonic()
        self.results.add(finished)
        finished.clear()
        if self.state:
            self.save(self.state)
        # Large results take their time to write: a twentieth of the match at most.
        cost = monotonic() - started
        self._save_at = monotonic() + max(SAVE_SECONDS, 20 * cost)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a state file that `--resume` goes on from."""
        save_results(path, self.results, self.meta)

    def _load(self) -> Results:
        if self.state and self.state.exists():
            results, meta = load_results(self.state)
            check_same(self.state, meta, self.meta)
            return results
        game = self.referee.game
        figures = len(METRICS) + len(game.statistics)
        count = len(self.referee.seatings)
        return Results.empty(count, game.num_seats, figures, len(self.referee.agents))


def deals_at_once(referee: Referee) -> int:
    """How many deals are played side by side: fewer where an agent's `batch` asks for that."""
    batch = min([BATCH, *(getattr(agent, "batch", BATCH) for agent in referee.agents)])
    return max(int(batch) // len(referee.seatings), 1)


def digests(agent: Any) -> list[str]:
    """Checksums of the networks of an agent and of those it plays through.

    A bot may have learned on under its name: its old games are another's.
    """
    found = []
    weights = getattr(getattr(agent, "file", None), "weights", None)
    if weights is not None:
        content = hashlib.blake2b(digest_size=16)
        for name in sorted(weights):
            content.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
        found.append(content.hexdigest())
    inner = [getattr(agent, name, None) for name in ("policy", "partner")]
    for other in (*getattr(agent, "agents", ()), *inner):
        found += [] if other is None else digests(other)
    return found


class RecordParts:
    """Records on their way into one file: a part for each piece, put together in order of deals."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(path.name + ".parts")

    def check(self, deals: NDArray[np.int64]) -> None:
        """Raise EvaluationError unless the parts hold the records of all finished deals.

        A part that was written after the state was saved for the last time is removed: a match
        that was killed in between plays its deals again.
        """
        finished, found = set(deals.tolist()), 0
        for part in self._parts():
            first, count = map(int, part.stem.split("-"))
            if finished.issuperset(range(first, first + count)):
                found += count
            else:
                part.unlink()
        if not found and self.folder.is_dir():
            # Unless something else lies there.
            with contextlib.suppress(OSError):
                self.folder.rmdir()
        if found != len(deals):
            raise EvaluationError(
                f"{self.folder}: holds the records of {found} deals where {len(deals)} are "
                "finished; leave out --records, or begin anew without --resume"
            )

    def add(self, played: Played) -> None:
        """Keep the records of one piece."""
        name = f"{int(played.deals[0]):012d}-{len(played.deals)}.jsonl"
        lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in played.records]
        write_text(self.folder / name, "".join(lines))

    def gather(self, *, complete: bool) -> None:
        """Write the file; the parts stay if the match is not complete."""
        with whole(self.path) as aside, open(aside, "wb") as file:
            for part in self._parts():
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, file)
        if complete and self.folder.exists():
            shutil.rmtree(self.folder)

    def _parts(self) -> list[Path]:
        found = self.folder.glob("[0-9]*.jsonl") if self.folder.is_dir() else ()
        return sorted(path for path in found if re.fullmatch(r"\d{12}-\d+", path.stem))
