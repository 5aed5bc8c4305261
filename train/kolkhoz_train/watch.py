"""Watching a run: the progress bar in the terminal and the curves in TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from torch.utils.tensorboard import SummaryWriter

from .behaviour import means, pictures
from .belief import BeliefTrainer
from .measure import Measured
from .ppo import entropy_by_phase
from .trainer import Report

PICTURES_EVERY = 0.05
"""Pictures of behaviour are drawn each time this share of the budget is used."""


class Bar:
    """A progress bar over the budget, with rate and time left; a line a minute in a file."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.percentage:5.1f}%  {task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self.task = self.progress.add_task("train", total=1.0, text="first batch ...")
        self.next_line = 60.0

    def __enter__(self) -> Bar:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def show(self, report: Report) -> None:
        """Show where the run stands."""
        rate = len(report.played.batch) / max(sum(report.played.seconds.values()), 1e-9)
        text = (
            f"{report.progress.learned / 1e6:.1f} M decisions, {rate / 1e3:.0f} k/s, "
            f"entropy {report.losses['entropy']:.2f}"
        )
        self.at(report.fraction, report.progress.seconds, text)

    def at(self, done: float, seconds: float, text: str) -> None:
        """Show that a share of the budget is done after so many seconds, what else, and how long
        the rest will take.
        """
        left = seconds * (1 - done) / max(done, 1e-9)
        text = f"{text}, {clock(left)} left"
        self.progress.update(self.task, completed=done, text=text)
        if not self.console.is_terminal and seconds >= self.next_line:
            self.next_line = seconds + 60
            self.say(f"{100 * done:.1f}%: {text}")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, highlight=False)


class Board:
    """TensorBoard curves and pictures of a run, against the learned decisions."""

    def __init__(self, folder: Path, every: int = 5, purge_after: int | None = None) -> None:
        purge = None if purge_after is None else purge_after + 1
        self.writer = SummaryWriter(str(folder), purge_step=purge)
        self.every = every
        self.next_pictures = 0.0

    def show(self, report: Report) -> None:
        """Write the curves of one batch; of every fifth, those that cost something."""
        step = report.progress.learned
        self.figures("learning", report.losses, step)
        self.writer.add_scalar("learning/learning_rate", report.now.learning_rate, step)
        self.writer.add_scalar("learning/entropy_weight", report.now.entropy, step)
        seconds = report.played.seconds
        rate = len(report.played.batch) / max(sum(seconds.values()), 1e-9)
        self.writer.add_scalar("time/learned_decisions_per_s", rate, step)
        for name, value in seconds.items():
            self.writer.add_scalar(f"time/share_{name}", value / sum(seconds.values()), step)
        if report.progress.batch % self.every:
            return
        trainer = report.trainer
        for name, value in entropy_by_phase(trainer.ppo, report.played.batch).items():
            self.writer.add_scalar(f"entropy/{name}", value, step)
        for name, value in means(trainer.game, report.played).items():
            self.writer.add_scalar(name, value, step)
        if report.fraction >= self.next_pictures:
            self.next_pictures = report.fraction + PICTURES_EVERY
            for name, figure in pictures(trainer.game, trainer.shape, report.played).items():
                self.writer.add_figure(name, figure, step)

    def figures(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Write curves of a group by name."""
        for name, value in values.items():
            self.writer.add_scalar(f"{group}/{name}", value, step)

    def measured(self, results: list[Measured], step: int) -> None:
        """Write the win share with its interval, and the score, against each opponent."""
        for result in results:
            for name, value in zip(("mean", "low", "high"), result.win_share, strict=True):
                self.writer.add_scalar(f"win_share/{result.against}/{name}", value, step)
            self.writer.add_scalar(f"score/{result.against}", result.score[0], step)

    def close(self) -> None:
        """Write out what is left."""
        self.writer.close()


class BeliefWatch:
    """Shows a run that learns a belief: on the bar after every batch, and on the board."""

    def __init__(self, bar: Bar, board: Board) -> None:
        self.bar, self.board = bar, board

    def show(self, trainer: BeliefTrainer, figures: dict[str, float]) -> None:
        """Show where the run stands after a batch with these figures."""
        progress, rate = trainer.progress, figures["decisions_per_s"]
        text = (
            f"{progress.learned / 1e6:.1f} M decisions, {rate / 1e3:.1f} k/s, "
            f"loss {figures['loss']:.2f}"
        )
        self.bar.at(trainer.fraction(), progress.seconds, text)
        figures = {**figures, "learning_rate": trainer.rate()}
        self.board.figures("learning", figures, progress.learned)

    def measured(self, trainer: BeliefTrainer, figures: dict[str, float]) -> None:
        """Write the gains."""
        self.board.figures("belief", figures, trainer.progress.learned)


def clock(seconds: float) -> str:
    """A length of time for people."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"

