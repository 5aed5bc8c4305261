"""Several processes that play pieces of one match; results don't depend on their number.

The processes ignore Ctrl-C, so that the parent alone decides what becomes of it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.faults import AgentFault
from kolkhoz_agents.games import make_game
from kolkhoz_agents.referee import TIME_LIMIT, OnFault, Played, Referee
from kolkhoz_agents.registry import make_agent
from kolkhoz_env.errors import KolkhozError

Tick = Callable[[int], None]
TICK_SECONDS = 0.2


class WorkerDied(EvaluationError):
    """A process ended in the midst of its work: killed, out of memory, or by an agent's doing."""


@dataclass(frozen=True)
class MatchSpec:
    """All that a process needs to play its part of a match: plain data.

    `game` and `rules` go to `games.make_game`, `agents` to `registry.make_agent`.
    """

    game: str
    rules: dict[str, Any]
    agents: tuple[str, ...]
    seatings: NDArray[np.int8]
    seed: int
    on_fault: OnFault = "stop"
    limit: float = TIME_LIMIT
    records: bool = False

    def referee(self) -> Referee:
        """Game and agents made, ready to play."""
        game = make_game(self.game, self.rules)
        agents = [make_agent(text, game) for text in self.agents]
        return Referee(
            game,
            agents,
            self.seatings,
            self.seed,
            self.on_fault,
            self.limit,
            self.records,
            self.agents,
        )


def available_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_pieces(
    spec: MatchSpec, pieces: Sequence[NDArray[np.int64]], workers: int, tick: Tick
) -> Iterator[Played]:
    """Plays pieces (deals int64[n] each) in up to `workers` processes; yields them as they end.

    Raises AgentFault, or WorkerDied if a process does. Closing the iterator ends them all.
    """
    with _processes(spec, min(workers, len(pieces))) as pool:
        yield from _distribute(pool, iter(pieces), tick)


def _distribute(
    pool: dict[Connection, BaseProcess], pieces: Iterable[NDArray[np.int64]], tick: Tick
) -> Iterator[Played]:
    queue = iter(pieces)
    busy = {pipe for pipe in pool if _give(pipe, queue)}
    while busy:
        for pipe in wait(list(busy)):
            assert isinstance(pipe, Connection)
            try:
                kind, content = pipe.recv()
            except (EOFError, ConnectionError):
                pool[pipe].join(1)
                code = pool[pipe].exitcode
                raise WorkerDied(f"a worker process died (exit code {code})") from None
            if kind == "tick":
                tick(content)
                continue
            if kind == "error":
                raise content
            if not _give(pipe, queue):
                busy.discard(pipe)
            yield content


def _give(pipe: Connection, queue: Iterator[NDArray[np.int64]]) -> bool:
    piece = next(queue, None)
    if piece is None:
        return False
    # A process that has died meanwhile is noticed when nothing comes back.
    with suppress(ConnectionError):
        pipe.send(piece)
    return True


@contextmanager
def _processes(spec: MatchSpec, count: int) -> Iterator[dict[Connection, BaseProcess]]:
    """Processes by their pipes, one thread each, ended when the block is left."""
    context = multiprocessing.get_context("spawn")
    pool: dict[Connection, BaseProcess] = {}
    try:
        with _one_thread_each():
            for _ in range(count):
                here, there = context.Pipe()
                process: BaseProcess = context.Process(
                    target=_work, args=(spec, there), daemon=True
                )
                process.start()
                there.close()
                pool[here] = process
        yield pool
    finally:
        for pipe, process in pool.items():
            process.terminate()
            process.join()
            pipe.close()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes share the processors already: their linear algebra must not fight over them."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(spec: MatchSpec, pipe: Connection) -> None:
    """The life of a process: play what the parent sends until the pipe closes.

    It closes when the parent ends, killed or not: a tick that cannot be sent ends the piece too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        referee = spec.referee()
        while True:
            deals = pipe.recv()
            pipe.send(("played", referee.play(deals, _Ticker(pipe))))
    except (EOFError, ConnectionError):
        return
    except AgentFault as fault:
        pipe.send(("error", fault))
    except KolkhozError as error:
        pipe.send(("error", EvaluationError(str(error))))
    except Exception:
        pipe.send(("error", RuntimeError(f"in a worker process:\n{traceback.format_exc()}")))


class _Ticker:
    """Tells the parent how many decisions were made, a few times a second."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe, self.count, self.last = pipe, 0, monotonic()

    def __call__(self, decisions: int) -> None:
        self.count += decisions
        if monotonic() - self.last > TICK_SECONDS:
            self.pipe.send(("tick", self.count))
            self.count, self.last = 0, monotonic()
