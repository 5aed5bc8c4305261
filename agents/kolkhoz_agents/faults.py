"""Asking an agent safely: illegal moves, exceptions and endless thought become faults.

A fault names the agent, its seat and the position, so that its author can look at it; the batch
that it happened in is taken apart, so that the other decisions of the batch are still answered.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.protocol import Agent, Decisions
from kolkhoz_agents.words import counted

FORMAT = "kolkhoz-fault/1"


@dataclass(frozen=True)
class Fault:
    """One decision that an agent failed to make."""

    agent: str
    seat: int
    reason: str
    detail: str = ""
    position: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """The fault in one line, for people."""
        where = self.position
        return (
            f"{self.agent} at seat {self.seat} {self.reason} "
            f"(phase {where.get('phase')}, deal {where.get('deal')}, "
            f"decision {where.get('decision')})"
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON-able, with its format."""
        return {"format": FORMAT, **asdict(self)}


class AgentFault(EvaluationError):
    """An agent failed and the match stops; `fault` has the position."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.line())
        self.fault = fault

    def __reduce__(self) -> tuple[Any, ...]:
        return (AgentFault, (self.fault,))


@dataclass
class Answer:
    """What a batch of decisions brought: actions int64[B], and what went wrong in which rows."""

    actions: NDArray[np.int64]
    wrong: dict[int, tuple[str, str]]
    seconds: float


class _TimeUp(BaseException):
    """Raised inside an agent whose time is up; no `except Exception` of its code catches it."""


def ask(agent: Agent, decisions: Decisions, limit: float) -> Answer:
    """The agent's answer to B decisions; `wrong` maps a row to (reason, detail).

    `limit` is the number of seconds that one call may take. A call that raises is repeated in
    halves until the decisions that cause it are found; one that takes too long is wrong as a whole.
    """
    started = perf_counter()
    try:
        with time_limit(limit):
            given = agent.act(decisions)
    except _TimeUp:
        count = len(decisions)
        size = counted(count, "decision")
        reason = f"took more than {limit:g} seconds (--time-limit) for a call of {size}"
        return _all_wrong(decisions, (reason, ""), limit)
    except Exception as error:
        raised = error
    else:
        seconds = perf_counter() - started
        try:
            given = np.asarray(given)
        except Exception as error:
            return _all_wrong(decisions, (f"answered what is no array: {error}", ""), seconds)
        return _check(given, decisions, seconds)
    # Out of the handler, so that a traceback from a half does not drag this one along.
    return _take_apart(agent, decisions, limit, raised)


def _check(given: Any, decisions: Decisions, seconds: float) -> Answer:
    """What an agent returned, taken apart into moves and faults."""
    actions = np.asarray(given)
    if actions.shape != (len(decisions),) or not np.issubdtype(actions.dtype, np.integer):
        shape = ", ".join(map(str, actions.shape))
        reason = f"answered {actions.dtype}[{shape}] where int64[{len(decisions)}] is wanted"
        return _all_wrong(decisions, (reason, ""), seconds)
    return Answer(actions.astype(np.int64), _illegal(actions, decisions), seconds)


def _all_wrong(decisions: Decisions, why: tuple[str, str], seconds: float) -> Answer:
    count = len(decisions)
    return Answer(np.full(count, -1), dict.fromkeys(range(count), why), seconds)


def _take_apart(agent: Agent, decisions: Decisions, limit: float, error: Exception) -> Answer:
    """Ask for each half apart; a single decision that raises is wrong."""
    count = len(decisions)
    if count == 1:
        what = f"raised {type(error).__name__}: {error}".splitlines()[0]
        return _all_wrong(decisions, (what, _traceback(error)), 0.0)
    actions, wrong, seconds = np.zeros(count, np.int64), {}, 0.0
    for rows in np.array_split(np.arange(count), 2):
        answer = ask(agent, decisions.take(rows), limit)
        actions[rows] = answer.actions
        wrong.update({int(rows[row]): why for row, why in answer.wrong.items()})
        seconds += answer.seconds
    return Answer(actions, wrong, seconds)


def _traceback(error: Exception) -> str:
    """The traceback from the agent's own frames on."""
    entry = error.__traceback__
    return "".join(traceback.format_exception(error.with_traceback(entry and entry.tb_next)))


def _illegal(actions: NDArray[Any], decisions: Decisions) -> dict[int, tuple[str, str]]:
    inside = (actions >= 0) & (actions < decisions.mask.shape[1])
    safe = np.where(inside, actions, 0)
    legal = inside & decisions.mask[np.arange(len(actions)), safe]
    wrong = {}
    for row in np.flatnonzero(~legal).tolist():
        action = int(actions[row])
        name = decisions.game.action_name(action) if inside[row] else "no action"
        wrong[row] = (f"played {action} ({name}), which is not legal", "")
    return wrong


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises inside the block when the time is up.

    Works by an interval timer in the main thread of systems that have one (not Windows); elsewhere
    the block runs without a limit. A call into native code is interrupted when it returns.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (seconds > 0 and main and hasattr(signal, "setitimer")):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
