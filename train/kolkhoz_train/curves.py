"""Reading a run's TensorBoard curves back, for notebooks and reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.errors import KolkhozError

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]


def read_curves(folder: Path) -> dict[str, Curve]:
    """All curves of a run folder by name: learned decisions int64[n] and values float64[n].

    Raises KolkhozError if the folder holds none.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logs = folder / "tensorboard"
    if not logs.is_dir():
        raise KolkhozError(f"{folder}: there is no {logs.name} folder with curves")
    events = EventAccumulator(str(logs), size_guidance={"scalars": 0})
    events.Reload()
    found = {}
    for name in events.Tags()["scalars"]:
        points = events.Scalars(name)
        steps = np.array([point.step for point in points], dtype=np.int64)
        found[name] = (steps, np.array([point.value for point in points], dtype=np.float64))
    return found
