"""Training what a config describes: one function for the command, for tests and for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from .config_model import ConfigError, Sb3Part, TrainingConfig
from .run_folder import RunFolder


def new_run(config: TrainingConfig, folder: Path, origin: str, console: Console) -> RunFolder:
    """Begin a run in `folder` and train it to its end. Raises `ConfigError`, KeyboardInterrupt."""
    run = RunFolder.create(folder, config, origin)
    _train(config, run, console, resume=False)
    return run


def resume_run(folder: Path, console: Console) -> RunFolder:
    """Go on with the run in `folder` from its newest checkpoint that can be read."""
    run, config = RunFolder.reopen(folder)
    if run.record.get("finished"):
        console.print(f"{folder}: this run went to its end already", highlight=False)
        return run
    _train(config, run, console, resume=True)
    return run


def _train(config: TrainingConfig, run: RunFolder, console: Console, *, resume: bool) -> None:
    if isinstance(config.algorithm, Sb3Part):
        if resume:
            raise ConfigError("--resume: a run of sb3_maskable_ppo cannot be resumed; begin anew")
        from .sb3 import train_sb3

        train_sb3(config, run, console)
        return
    from .trainer import Trainer
    from .watch import Bar, Board

    trainer = Trainer(config, run)
    if resume:
        trainer.resume(lambda text: console.print(f"kolkhoz: {text}", highlight=False))
    board = Board(run.logs, purge_after=trainer.progress.learned if resume else None)
    try:
        with Bar(console) as bar:
            watchers: list[Callable[..., None]] = [bar.show, board.show]
            trainer.train(watchers, bar.say, board.measured)
    finally:
        board.close()


def free_folder(stem: str, parent: Path = Path("runs")) -> Path:
    """The first of runs/STEM, runs/STEM-2, ... that does not exist."""
    folder, number = parent / stem, 1
    while folder.exists():
        number += 1
        folder = parent / f"{stem}-{number}"
    return folder
