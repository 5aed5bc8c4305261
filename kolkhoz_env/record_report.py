"""A recorded game as a report in the terminal, year by year."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kolkhoz_env.cards import CROP_NAMES
from kolkhoz_env.record_digest import Trick, Year, digest
from kolkhoz_env.rules import Rules

COLOURS = {"W": "yellow", "S": "bright_red", "P": "green", "B": "magenta", "X": "bold"}
"""Colour of a card by its first letter; the letter itself says the same without colour."""


def card_text(card: str) -> Text:
    """One card in its crop's colour."""
    return Text(card, style=COLOURS[card[0]])


def cards_text(cards: Iterable[str], nothing: str = "-") -> Text:
    """Cards beside each other, or `nothing`."""
    return Text(" ").join(card_text(card) for card in cards) or Text(nothing, style="dim")


def seats_text(seats: Iterable[int]) -> str:
    """`seat 1`, or `seats 0 and 2`."""
    names = [str(seat) for seat in seats]
    return f"seat {names[0]}" if len(names) == 1 else f"seats {' and '.join(names)}"


def print_game(record: dict[str, Any], console: Console, title: str) -> None:
    """Print a complete record (every year with its `trump` and `end`)."""
    rules = Rules.from_dict(record["rules"])
    console.rule(f"[bold]{title}")
    hero = "with" if rules.hero_of_labor else "without"
    console.print(
        f"{rules.players} players, {rules.field_quota} hours a field, {hero} Hero of Labor; "
        f"first Planner: seat {record['first_planner']}\n"
        "In a trick, > leads and * wins the Medal.\n"
    )
    for index in range(len(record["years"])):
        console.print(year_panel(digest(record, index), rules))
    console.print(_result(record["result"]))


def year_panel(year: Year, rules: Rules) -> Panel:
    """Everything of one year."""
    parts: list[RenderableType] = [_opening(year)]
    if year.swaps:
        parts.append(_swaps(year))
    for table in (_tricks(year, rules), _fields(year, rules), _holdings(year)):
        parts += ["", table]
    famine = " (Famine)" if year.number == rules.famine_year else ""
    return Panel(Group(*parts), title=f"Year {year.number}{famine}", title_align="left")


def _opening(year: Year) -> Text:
    text = Text()
    if year.famine_card:
        text.append("The Famine reveals ").append_text(card_text(year.famine_card)).append(": ")
    else:
        text.append(f"Planner: seat {year.planner}; ")
    text.append("trump ").append(*(_crop(year.trump) if year.trump else ("none", "bold")))
    text.append("; rewards ").append_text(cards_text(one.reward for one in year.fields.values()))
    for seat, hand in enumerate(year.hands):
        text.append(f"\n  seat {seat} is dealt ").append_text(cards_text(hand))
    return text


def _crop(crop: str) -> tuple[str, str]:
    return CROP_NAMES[crop], f"bold {COLOURS[crop]}"


def _swaps(year: Year) -> Text:
    text = Text("Swaps: ")
    for number, swap in enumerate(year.swaps):
        text.append("; " if number else "").append(f"seat {swap.seat} ")
        if swap.took is None or swap.gave is None:
            text.append("passes")
        else:
            text.append("takes ").append_text(card_text(swap.took))
            text.append(" for ").append_text(card_text(swap.gave))
    return text


def _tricks(year: Year, rules: Rules) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("Trick")
    for seat in range(rules.players):
        table.add_column(f"seat {seat}", justify="center")
    table.add_column("The Brigadier's work")
    for number, trick in enumerate(year.tricks, 1):
        table.add_row(str(number), *_played(trick, rules.players), _assigned(trick))
    return table


def _played(trick: Trick, players: int) -> list[Text]:
    cells = [Text("-", style="dim") for _ in range(players)]
    for place, (seat, card) in enumerate(trick.plays):
        cell = Text("> " if place == 0 else "  ", style="dim") + card_text(card)
        cells[seat] = cell.append(" *" if seat == trick.brigadier else "  ", style="bold")
    return cells


def _assigned(trick: Trick) -> Text:
    text = Text(f"seat {trick.brigadier}: ")
    fields = dict.fromkeys(crop for _, crop in trick.assigned)
    for number, crop in enumerate(fields):
        text.append("; " if number else "")
        text.append_text(cards_text(card for card, to in trick.assigned if to == crop))
        text.append(" to ").append(*_crop(crop))
    return text


def _fields(year: Year, rules: Rules) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("Field", "Hours", "Reward", "", "Cards"):
        table.add_column(heading)
    for crop, one in year.fields.items():
        claimed = "" if one.claimed_by is None else f"claimed by seat {one.claimed_by}"
        failed = "failed" if one.failed else ""
        table.add_row(
            Text(*_crop(crop)),
            f"{one.hours}/{rules.field_quota}",
            card_text(one.reward),
            Text(", ".join(filter(None, (claimed, failed)))),
            cards_text(one.cards),
        )
    return table


def _holdings(year: Year) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("Seat", "Medals", "Banked", "Sent North", "Plot", "Cellar", "Points"):
        table.add_column(heading)
    for seat, one in enumerate(year.holdings):
        table.add_row(
            str(seat), str(one.medals), cards_text([one.banked] if one.banked else []),
            cards_text(one.north), cards_text(one.plot), cards_text(one.cellar), str(one.score),
        )  # fmt: skip
    return table


def _result(result: dict[str, Any]) -> Text:
    winners = result["winners"]
    verb = "wins" if len(winners) == 1 else "share the victory"
    text = Text(f"{seats_text(winners).capitalize()} {verb}", style="bold")
    scores = ", ".join(str(score) for score in result["scores"])
    counts = ", ".join(str(count) for count in result["cards"])
    return text.append(f"; points by seat: {scores} (cards: {counts})", style="not bold")
