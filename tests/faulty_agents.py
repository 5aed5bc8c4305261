"""Agents that fail, or ask for too much, each in its own way."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from kolkhoz_agents.random_agent import RandomAgent


def chosen_few(decisions: Any) -> np.ndarray:
    """The decisions that go wrong: about one in forty, whatever the batch."""
    return decisions.keys % np.uint64(40) == 0


class Cheat(RandomAgent):
    """Plays a move that is not legal."""

    def act(self, decisions: Any) -> np.ndarray:
        wrong = np.argmin(decisions.mask, axis=1)
        return np.where(chosen_few(decisions), wrong, super().act(decisions))


class OutOfRange(RandomAgent):
    """Plays a move that does not exist."""

    def act(self, decisions: Any) -> np.ndarray:
        return np.where(chosen_few(decisions), 999, super().act(decisions))


class Crash(RandomAgent):
    """Raises an exception."""

    def act(self, decisions: Any) -> np.ndarray:
        if chosen_few(decisions).any():
            raise RuntimeError("no idea")
        return super().act(decisions)


class Sleeper(RandomAgent):
    """Thinks for ever, and catches every exception meanwhile."""

    batch = 16

    def act(self, decisions: Any) -> np.ndarray:
        while chosen_few(decisions).any():
            try:
                time.sleep(0.01)
            except Exception:
                continue
        return super().act(decisions)


class Misshapen(RandomAgent):
    """Answers floats."""

    def act(self, decisions: Any) -> np.ndarray:
        return super().act(decisions).astype(float)


class Ragged(RandomAgent):
    """Answers what makes no array."""

    def act(self, decisions: Any) -> Any:
        return [[1], [1, 2]]


class Slow(RandomAgent):
    """Plays at random, slowly, in small batches."""

    batch = 60

    def act(self, decisions: Any) -> np.ndarray:
        time.sleep(0.002)
        return super().act(decisions)


class Beating(RandomAgent):
    """Takes a second a call, and leaves a sign of life of its process at each."""

    batch = 60

    def act(self, decisions: Any) -> np.ndarray:
        Path(f"beat-{os.getpid()}").write_text("")
        time.sleep(1)
        return super().act(decisions)


class Curious(RandomAgent):
    """Keeps what it was given."""

    def __init__(self, game: Any, needs: str = "") -> None:
        super().__init__(game)
        self.needs = frozenset(needs.split("+") if needs else ())
        self.given: list[Any] = []

    def act(self, decisions: Any) -> np.ndarray:
        self.given.append(decisions)
        return super().act(decisions)


class Peek(RandomAgent):
    """Asks for the full state."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.needs = frozenset({"table"})


class Dead(RandomAgent):
    """Takes its whole process along."""

    def act(self, decisions: Any) -> np.ndarray:
        os._exit(3)
