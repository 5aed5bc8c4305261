"""The folder of a run: config, run.json, checkpoints, snapshots, TensorBoard logs, and its result.

What a run makes is a bot, or a belief.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import torch

from kolkhoz_env.files import write_text

from .config import dump_config, read_config
from .config_algorithms import BeliefPart
from .config_model import TrainingConfig
from .config_parts import ConfigError

CONFIG, RUN, BOT, LOGS, SNAPSHOTS = "config.yaml", "run.json", "bot", "tensorboard", "snapshots"
BELIEF, LOCK = "belief", ".lock"
FIXED = ("seed", "game", "network")
"""Parts of a config that may not change while a run lasts; others, as the budget, may."""


class RunFolder:
    """Paths of a run folder, and its run.json in memory (`record`)."""

    def __init__(self, path: Path, record: dict[str, Any], config: TrainingConfig) -> None:
        self.path = path
        self.record = record
        self.config = config

    @classmethod
    def create(cls, path: Path, config: TrainingConfig, origin: str) -> RunFolder:
        """Begin a run in an empty or new folder. Raises `ConfigError` if that can't be."""
        if (path / RUN).exists() or (path / CONFIG).exists():
            raise ConfigError(
                f"--run-dir {path}: a run is there already; go on with it by "
                f"`kolkhoz train --resume {path}`, or name another folder"
            )
        record = {"finished": False, "origin": origin, **versions(), "seed": config.seed}
        run = cls(path, record, config)
        run.record["config"] = config.model_dump(mode="json")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ConfigError(
                    f"--run-dir {path}: the folder holds other files; name a new or an empty one"
                )
            write_text(path / CONFIG, dump_config(config))
            run.save()
        except OSError as error:
            reason = "it is a file" if path.is_file() else error.strerror
            raise ConfigError(f"--run-dir {path}: can't begin a run there: {reason}") from error
        return run

    @classmethod
    def reopen(cls, path: Path) -> tuple[RunFolder, TrainingConfig]:
        """A run that is there, and its config. Raises `ConfigError`."""
        try:
            record = json.loads((path / RUN).read_text(encoding="utf-8"))
        except OSError as error:
            reason = f"no run is there ({RUN}: {error.strerror})"
            raise ConfigError(f"--resume {path}: {reason}") from error
        except ValueError as error:
            raise ConfigError(f"--resume {path / RUN}: damaged ({error})") from error
        if not isinstance(record, dict):
            raise ConfigError(f"--resume {path / RUN}: damaged (should hold a JSON object)")
        config = read_config(path / CONFIG)
        begun, now = record.get("config"), config.model_dump(mode="json")
        for key in FIXED:
            if isinstance(begun, dict) and begun.get(key) != now[key]:
                raise ConfigError(
                    f"{path / CONFIG}: {key}: differs from what the run began with ({RUN}); put it "
                    "back, or begin a new run"
                )
        return cls(path, record, config), config

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else trains in the folder meanwhile. Raises `ConfigError` if somebody does.

        The lock is the system's and ends with the process, killed or not.
        """
        try:
            with filelock.FileLock(self.path / LOCK, blocking=False):
                yield
        except filelock.Timeout as error:
            raise ConfigError(
                f"--run-dir {self.path}: another process trains in it; stop that one first"
            ) from error

    @property
    def bot(self) -> Path:
        """The bot's folder."""
        return self.path / BOT

    @property
    def belief(self) -> Path:
        """The folder of a belief."""
        return self.path / BELIEF

    @property
    def result(self) -> Path:
        """The folder of what the run makes, a bot or a belief."""
        return self.belief if isinstance(self.config.algorithm, BeliefPart) else self.bot

    @property
    def snapshots(self) -> Path:
        """Earlier selves that opponents are drawn from."""
        return self.path / SNAPSHOTS

    @property
    def logs(self) -> Path:
        """TensorBoard event files."""
        return self.path / LOGS

    def save(self) -> None:
        """Write run.json."""
        write_text(self.path / RUN, json.dumps(self.record, indent=2, allow_nan=False) + "\n")


def versions() -> dict[str, Any]:
    """What a run was made with: versions, the commit, the machine."""
    return {
        "versions": {
            "kolkhoz-lab": _version("kolkhoz-lab"),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "commit": _commit(),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout that the code is in, with a mark if files differ from it."""
    folder = Path(__file__).parent
    try:
        head = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}{'-changed' if changed else ''}"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
