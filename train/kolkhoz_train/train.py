"""Training what a config describes: one function for the command, for tests and for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from .checkpoint import list_checkpoints
from .checks import check_config
from .config_algorithms import BeliefPart, Sb3Part
from .config_messages import Source
from .config_model import TrainingConfig
from .config_parts import ConfigError
from .run_folder import CONFIG, RunFolder
from .stopping import StopRequest


def new_run(config: TrainingConfig, folder: Path, origin: str, console: Console) -> RunFolder:
    """Begin a run in `folder` and train it to its end. Raises `ConfigError`, KeyboardInterrupt."""
    run = begin_run(config, folder, Source(origin))
    train_run(config, run, console)
    return run


def begin_run(config: TrainingConfig, folder: Path, source: Source) -> RunFolder:
    """The folder of a new run, its config checked: one that cannot run leaves no folder.

    Raises `ConfigError`, which names the place in `source`.
    """
    if isinstance(config.algorithm, Sb3Part):
        from . import sb3  # noqa: F401 (what is not installed is said before the folder is made)
    check_config(config, source)
    return RunFolder.create(folder, config, source.file)


def train_run(config: TrainingConfig, run: RunFolder, console: Console) -> None:
    """Train a run that has just begun to its end. Raises KeyboardInterrupt."""
    _train(config, run, console, resume=False)


def resume_run(folder: Path, console: Console) -> RunFolder:
    """Go on with the run in `folder` from its newest checkpoint that can be read."""
    run, config = RunFolder.reopen(folder)
    if run.record.get("finished"):
        _say(console, f"{folder}: this run went to its end already")
        return run
    if isinstance(config.algorithm, Sb3Part):
        raise ConfigError(
            f"--resume {folder}: a run of sb3_maskable_ppo cannot be resumed; begin anew"
        )
    begun = bool(list_checkpoints(folder)) or run.result.exists()
    check_config(config, Source(str(folder / CONFIG)), resume=begun)
    if not begun:
        _say(console, f"{folder}: no checkpoint was written yet; beginning anew")
    _train(config, run, console, resume=begun)
    return run


def _train(config: TrainingConfig, run: RunFolder, console: Console, *, resume: bool) -> None:
    with run.held():
        if isinstance(config.algorithm, Sb3Part):
            from .sb3 import train_sb3

            train_sb3(config, run, console)
        elif isinstance(config.algorithm, BeliefPart):
            _train_belief(config, run, console, resume=resume)
        else:
            _train_ppo(config, run, console, resume=resume)


def _train_ppo(config: TrainingConfig, run: RunFolder, console: Console, *, resume: bool) -> None:
    # From here on: an interrupt in the seconds that torch takes to load could get lost in there.
    with StopRequest() as stop:
        from .trainer import Trainer
        from .watch import Bar, Board

        trainer = Trainer(config, run, resume=resume)
        if resume:
            trainer.resume(lambda text: _say(console, f"kolkhoz: {text}"))
        board = Board(run.logs, purge_after=trainer.progress.learned if run.logs.exists() else None)
        try:
            with Bar(console) as bar:
                watchers: list[Callable[..., None]] = [bar.show, board.show]
                trainer.train(watchers, bar.say, board.measured, stop)
        finally:
            board.close()


def _train_belief(
    config: TrainingConfig, run: RunFolder, console: Console, *, resume: bool
) -> None:
    with StopRequest() as stop:
        from .belief import BeliefTrainer
        from .watch import Bar, BeliefWatch, Board

        trainer = BeliefTrainer(config, run)
        if resume:
            trainer.resume(lambda text: _say(console, f"kolkhoz: {text}"))
        board = Board(run.logs, purge_after=trainer.progress.learned if run.logs.exists() else None)
        try:
            with Bar(console) as bar:
                watch = BeliefWatch(bar, board)
                trainer.train(watch.show, watch.measured, bar.say, stop)
        finally:
            board.close()


def free_folder(stem: str, parent: Path = Path("runs")) -> Path:
    """The first of runs/STEM, runs/STEM-2, ... that does not exist."""
    folder, number = parent / stem, 1
    while folder.exists():
        number += 1
        folder = parent / f"{stem}-{number}"
    return folder


def _say(console: Console, text: str) -> None:
    """A line that stays one, however long."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)
