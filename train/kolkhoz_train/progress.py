"""The counters of a run; they go into every checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """How far a run is: batches, games, decisions (everybody's, and those learned), and its time.

    `timings` has the seconds of each part of the work, evaluation included.
    """

    batch: int = 0
    games: int = 0
    decisions: int = 0
    learned: int = 0
    seconds: float = 0.0
    timings: dict[str, float] = field(default_factory=dict)

    def spent(self, name: str, seconds: float) -> None:
        """Note time that a part has taken."""
        self.timings[name] = self.timings.get(name, 0.0) + seconds

    def record(self) -> dict[str, Any]:
        """What run.json says of it."""
        total = sum(self.timings.values()) or 1.0
        working = total - self.timings.get("evaluation", 0.0)
        return {
            "batches": self.batch,
            "games": self.games,
            "decisions": self.decisions,
            "learned_decisions": self.learned,
            "seconds": round(self.seconds, 1),
            "learned_decisions_per_s": round(self.learned / max(working, 1e-9)),
            "time_shares": {name: round(s / total, 4) for name, s in self.timings.items()},
        }
