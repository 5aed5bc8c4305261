"""Results as tables for people, and the progress of a match while it runs."""

from __future__ import annotations

import math
from time import monotonic

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from kolkhoz_agents.evaluation import Evaluation
from kolkhoz_agents.report import LineResult
from kolkhoz_agents.statistics import Estimate
from kolkhoz_agents.tournament import Tournament
from kolkhoz_agents.words import counted

SEES_ALL = "sees all cards"
MOST_NAMED_COLUMNS = 4
"""A matrix of more agents has numbers over its columns, for want of room."""


def interval_text(estimate: Estimate, digits: int = 3) -> str:
    """`0.512 [0.498, 0.526]`; a dash for what is unknown."""
    if math.isnan(estimate.mean):
        return "–"
    if math.isnan(estimate.low):
        return f"{estimate.mean:.{digits}f}"
    return f"{estimate.mean:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def narrow_text(estimate: Estimate) -> str:
    """The same in less width: the interval under the mean, to two digits."""
    mean, *bounds = interval_text(estimate), *interval_text(estimate, 2).split(" ", 1)[1:]
    return "\n".join([mean.split(" ")[0], *bounds])


def agent_text(line: LineResult) -> str:
    """An agent's name, and whether it is shown the hidden cards."""
    return f"{line.agent} ({SEES_ALL})" if line.sees_all_cards else line.agent


def speed_text(seconds: float) -> str:
    """A time per decision in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "–"


def evaluation_table(result: Evaluation) -> Table:
    """The verdict of a head-to-head match."""
    seats = result.game.num_seats
    deals = counted(result.deals, "deal")
    table = Table(title=f"{deals}, seed {result.seed}, par {result.par:.4g}")
    table.add_column("")
    others = "copies of " if seats > 2 else ""
    for line in result.tables:
        table.add_column(Text(f"{agent_text(line)}\nagainst {others}{line.against}"))
    rows = [("games", [f"{line.games:,}" for line in result.tables])]
    rows.append(("win share", [interval_text(line.win_share) for line in result.tables]))
    for name in ("rank", "score", "margin"):
        rows.append((name, [interval_text(getattr(line, name), 2) for line in result.tables]))
    for label, cells in rows:
        table.add_row(label, *cells, style="bold" if label == "win share" else None)
    table.add_section()
    for seat in range(seats):
        cells = [interval_text(line.per_seat[seat]) for line in result.tables]
        table.add_row(f"win share, seat {seat}", *cells)
    table.add_section()
    for name in result.game.statistics:
        cells = [interval_text(line.statistics[name], 2) for line in result.tables]
        table.add_row(name.replace("_", " "), *cells)
    table.add_section()
    if any(line.forfeits for line in result.tables):
        table.add_row("forfeits", *(f"{line.forfeits:,}" for line in result.tables))
    table.add_row(
        "per decision", *(speed_text(line.seconds_per_decision) for line in result.tables)
    )
    return table


class Watch:
    """Shows deals done, decisions a second and the time left on a console (if it is a terminal)."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self.task = TaskID(0)
        self.made = 0
        self.running = 0
        self.done = 0
        self.first = 0
        self.started = monotonic()

    def start(self, deals: int, total: int) -> None:
        """`deals` of `total` are finished already."""
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("deals, {task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("playing", total=total, completed=deals, rate="")
        self.first = self.done = deals
        self.made = self.running = 0
        self.started = monotonic()
        self.bar.start()

    def decisions(self, count: int) -> None:
        """`count` decisions more were made."""
        self.made += count
        rate = self.made / max(monotonic() - self.started, 1e-3)
        finished = self.done - self.first
        # Decisions in unfinished deals count as parts of deals once it is known how many make one.
        a_deal = (self.made - self.running) / finished if finished else math.inf
        self.running += count
        part = min(self.running / a_deal, 0.5) if a_deal else 0.0
        if self.bar:
            self.bar.update(self.task, completed=self.done + part, rate=f"{rate:,.0f} decisions/s")

    def deals(self, count: int) -> None:
        """`count` deals more are finished."""
        self.done += count
        self.running = 0
        if self.bar:
            self.bar.update(self.task, completed=self.done)

    def stop(self) -> None:
        """Nothing more is played."""
        if self.bar:
            self.bar.stop()
            self.bar = None


def tournament_tables(result: Tournament) -> list[Table | Text]:
    """Matrix, mixed tables, ratings and cycles."""
    par = 1.0 / result.game.num_seats
    title = f"{counted(result.deals, 'deal')}, seed {result.seed}, par {par:.4g}"
    matrix = Table(title=f"Win share of one (row) against copies of (column): {title}")
    matrix.add_column("")
    names = [
        agent_text(next(cell for cell in row if cell is not None)) if result.deals else name
        for name, row in zip(result.agents, result.pairs, strict=True)
    ]
    numbered = len(names) > MOST_NAMED_COLUMNS
    for number, name in enumerate(names, start=1):
        matrix.add_column(Text(str(number) if numbered else name))
    for number, (name, row) in enumerate(zip(names, result.pairs, strict=True), start=1):
        label = f"{number} {name}" if numbered else name
        cells = ["" if cell is None else narrow_text(cell.win_share) for cell in row]
        matrix.add_row(Text(label), *cells)
    shown: list[Table | Text] = [matrix]
    if result.ratings:
        shown.append(_standing_table(result))
    for cycle in result.cycles:
        ring = " beats ".join([*cycle, cycle[0]])
        shown.append(Text(f"A cycle, which no rating can show: {ring}", style="bold"))
    if result.deals and not result.cycles:
        shown.append(Text("No cycle: nobody beats, by more than chance, whoever beats it."))
    return shown


def _standing_table(result: Tournament) -> Table:
    """Ratings, best first, with each agent's share of its mixed tables and its speed."""
    table = Table(title="Ratings (Bradley-Terry, for display) and mixed tables")
    for title in ("agent", "rating", "mixed: win share", "score", "per decision"):
        table.add_column(title)
    mixed = {line.agent: line for line in result.mixed}
    lines = {row.agent: row for cells in result.pairs for row in cells if row is not None}
    for rating in result.ratings:
        line = mixed.get(rating.agent)
        cells = ["–", "–"]
        if line is not None:
            cells = [interval_text(line.win_share), interval_text(line.score, 1)]
        speed = speed_text(lines[rating.agent].seconds_per_decision)
        name = Text(agent_text(lines[rating.agent]))
        table.add_row(name, f"{rating.mu:.1f} ± {2 * rating.sigma:.1f}", *cells, speed)
    return table
