"""The table as text, in colour where the terminal has it and readable without."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kolkhoz_env.cards import CROP_NAMES
from kolkhoz_env.drawing.views import hand_of, headline, in_order
from kolkhoz_env.rules import Rules

#: Glyph and colour by a card's first letter; the letter itself says the same without either.
GLYPHS = {"W": "‡", "S": "✹", "P": "●", "B": "♥", "X": "☠"}
COLOURS = {"W": "yellow", "S": "bright_red", "P": "green", "B": "magenta", "X": "bold"}
BACK = "▒▒"
BAR = 20


def card_text(card: str | None) -> Text:
    """One card: glyph, crop letter and rank in the crop's colour, or its back."""
    if card is None:
        return Text(BACK, style="blue")
    return Text(GLYPHS[card[0]] + card, style=COLOURS[card[0]])


def cards_text(cards: Iterable[str | None], nothing: str = "-") -> Text:
    """Cards beside each other, or `nothing`."""
    return Text(" ").join(card_text(card) for card in cards) or Text(nothing, style="dim")


def crop_text(crop: str) -> Text:
    """A crop by glyph and name in its colour."""
    return Text(f"{GLYPHS[crop]} {CROP_NAMES[crop]}", style=COLOURS[crop])


def table_text(view: dict[str, Any], width: int = 100, colour: bool = False) -> str:
    """The whole table as text of at most ``width`` columns, with ANSI colours if wanted."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, color_system=_system(colour))
    console.print(table_lines(view))
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _system(colour: bool) -> Any:
    return "standard" if colour else None


def table_lines(view: dict[str, Any], you: int | None = None) -> RenderableType:
    """The whole table for a rich console; seat ``you`` is called so."""
    parts: list[RenderableType] = [title(view, you), "", fields_table(view)]
    parts += ["", seats_table(view, you)]
    if view["trick"]:
        parts += ["", trick_line(view, you)]
    parts += ["", north_line(view)]
    if "result" in view:
        parts += ["", result_line(view["result"], you)]
    return Group(*parts)


def seat_name(seat: int, you: int | None = None) -> str:
    """`seat 2`, or `you`."""
    return "you" if seat == you else f"seat {seat}"


def title(view: dict[str, Any], you: int | None = None) -> Text:
    """One line: year, Planner, trick, whose turn, trump."""
    text = Text(" · ".join(headline(view, you)), style="bold")
    if view["trump"]:
        text.append(" · trump ").append_text(crop_text(view["trump"]))
    elif view["turn"]["phase"] != "trump":
        text.append(" · no trump")
    return text


def bar(hours: int, quota: int, colour: str) -> Text:
    """Hours against the quota, full when it is reached."""
    filled = min(BAR, hours * BAR // quota)
    return Text("█" * filled, style=colour).append("░" * (BAR - filled), style="dim")


def fields_table(view: dict[str, Any]) -> Table:
    """The year's fields with hours, rewards and Workers."""
    quota = Rules.from_dict(view["rules"]).field_quota
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("Field", f"towards {quota} hours", "", "Reward", "Workers"):
        table.add_column(heading, no_wrap=heading != "Workers")
    table.columns[2].justify = "right"
    for crop, field in view["fields"].items():
        hours = field["hours"]
        reward = Text("claimed", style="dim") if field["claimed"] else card_text(field["reward"])
        if field["reward"] is None and not field["claimed"]:
            reward = Text("-", style="dim")
        work = cards_text(in_order(field["cards"]))
        if "X0" in field["cards"]:
            work.append("  sabotaged: will fail", style="bold red")
        elif crop in view["failed"]:
            work.append("  failed", style="bold red")
        table.add_row(crop_text(crop), bar(hours, quota, COLOURS[crop]), f"{hours}", reward, work)
    return table


def seats_table(view: dict[str, Any], you: int | None = None) -> Table:
    """Hands, Plots, Cellars and Medals by seat."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "Seat", "Medals", "Hand", "Plot", "Cellar (by year banked)"):
        table.add_column(heading, no_wrap=heading in ("", "Seat", "Medals"))
    for seat, plot in enumerate(view["plots"]):
        name = seat_name(seat, you).capitalize()
        marks = " (Planner)" if seat == view["planner"] else ""
        table.add_row(
            ">" if seat == view["turn"]["seat"] else "",
            Text(name, style="bold" if seat == you else "") + Text(marks, style="dim"),
            "★" * view["medals"][seat],
            cards_text(in_order(hand_of(view, seat))),
            cards_text(in_order(plot)),
            cellar_text(view["cellars"][seat]),
        )
    return table


def cellar_text(places: list[dict[str, Any]]) -> Text:
    """Cellar places: year banked, then the card or its back; `*` marks a card swapped in."""
    cells = []
    for place in places:
        cell = Text(f"{place['banked']}:", style="dim").append_text(card_text(place["card"]))
        cells.append(cell.append("*" if place["since"] != place["banked"] else ""))
    return Text(" ").join(cells) or Text("-", style="dim")


def trick_line(view: dict[str, Any], you: int | None = None) -> Text:
    """The trick in the order played; cards that are assigned already are dim."""
    text = Text("Trick: ")
    for number, play in enumerate(view["trick"]):
        text.append(", " if number else "").append(f"{seat_name(play['seat'], you)} ")
        card = card_text(play["card"])
        text.append_text(card)
        text.append(" (assigned)" if play["assigned"] else "", style="dim")
    if view["assign_card"]:
        text.append("; to assign now: ").append_text(card_text(view["assign_card"]))
    return text


def north_line(view: dict[str, Any]) -> Text:
    """The cards that are out of the game."""
    return Text(f"North ({len(view['north'])}): ").append_text(cards_text(in_order(view["north"])))


def result_line(result: dict[str, Any], you: int | None = None) -> Text:
    """Final scores and who won."""
    winners = [seat_name(seat, you) for seat in result["winners"]]
    text = Text(" and ".join(winners).capitalize(), style="bold")
    text.append(" share the victory" if len(winners) > 1 else " won" if winners == ["you"] else
                " wins")  # fmt: skip
    scores = ", ".join(f"{seat_name(s, you)} {score}" for s, score in enumerate(result["scores"]))
    return text.append(f"; points: {scores}", style="not bold")
