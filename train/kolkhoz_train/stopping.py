"""When a run saves and measures, and how it is asked to stop."""

from __future__ import annotations

import signal
import threading
from typing import Any


class Cadence:
    """Says when `minutes` of a run's time have gone by again."""

    def __init__(self, minutes: float, now: float) -> None:
        self.every = 60 * minutes
        self.next = now + self.every

    def due(self, now: float) -> bool:
        """Whether it is time; if so, the next time is set."""
        if now < self.next:
            return False
        self.next = now + self.every
        return True


class StopRequest:
    """Turns the first SIGINT or SIGTERM into a request; the next one acts as it always did."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in self.SIGNALS}
        return self

    def _ask(self, *_: object) -> None:
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def __exit__(self, *_: object) -> None:
        self._restore()
