"""The table as a picture."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from kolkhoz_env.cards import CROP_NAMES
from kolkhoz_env.drawing.views import hand_of, headline, in_order
from kolkhoz_env.rules import Rules

WIDTH, HEIGHT = 1200, 760
FELT, PANEL, INK, PALE, PAPER = "#23402f", "#2d5140", "#f4efe0", "#b9c9b6", "#fbf7ea"
DONE, EMPTY = "#8fc873", "#1b3024"
BACK, MARK, BAD, DARK = "#5b6f9c", "#f0c648", "#e2574c", "#262626"
COLOURS = {"W": "#b98209", "S": "#d4521a", "P": "#3f7d33", "B": "#a3275f", "X": DARK}
#: Width and height of cards: in hands and Plots, among the Workers of a field, in the North.
CARD, WORKER, SMALL = (38, 49), (30, 40), (34, 40)


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def paint(view: dict[str, Any], scale: float = 1.0) -> Image.Image:
    """The table of a view as an RGB image, ``1200 * scale`` pixels wide."""
    image = Image.new("RGB", (WIDTH, HEIGHT), FELT)
    easel = _Easel(ImageDraw.Draw(image))
    _header(easel, view)
    for row, crop in enumerate(view["fields"]):
        _field(easel, view, crop, 14, 66 + 112 * row)
    _trick(easel, view, 14, 514)
    players = view["rules"]["players"]
    for seat in range(players):
        _seat(easel, view, seat, 566, 66 + 141 * seat)
    _north(easel, view, 14, 642)
    if scale != 1.0:
        size = (round(WIDTH * scale), round(HEIGHT * scale))
        image = image.resize(size, Image.Resampling.LANCZOS)
    return image


class _Easel:
    """A few shapes on an image."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self.draw = draw

    def text(
        self, x: float, y: float, text: str, size: int = 15, fill: str = INK, anchor: str = "la",
        outline: int = 0,
    ) -> float:
        """Write, and return where the text ends; an outline makes it readable on any ground."""
        self.draw.text(
            (x, y), text, fill, _font(size), anchor, stroke_width=outline, stroke_fill=DARK
        )
        return x + self.draw.textlength(text, font=_font(size))

    def panel(self, x: float, y: float, width: float, height: float, marked: bool = False) -> None:
        """A plate to write on."""
        self.draw.rounded_rectangle(
            (x, y, x + width, y + height), 8, PANEL, MARK if marked else None, 2 if marked else 0
        )

    def card(
        self, x: float, y: float, card: str | None, size: tuple[int, int] = CARD, ring: str = ""
    ) -> None:
        """A card face-up, or its back for ``None``."""
        width, height = size
        box = (x, y, x + width, y + height)
        if card is None:
            self.draw.rounded_rectangle(box, 4, BACK, ring or "#8797bb", 2 if ring else 1)
            inner = (x + 4, y + 4, x + width - 4, y + height - 4)
            self.draw.rounded_rectangle(inner, 3, None, "#8797bb")
            return
        colour = COLOURS[card[0]]
        self.draw.rounded_rectangle(box, 4, PAPER, ring or "#8a8574", 2 if ring else 1)
        middle, letters = x + width / 2, max(12, height * 2 // 5)
        self.text(middle, y + height * 0.36, card[0] + card[1:], letters * 3 // 4, colour, "mm")
        self.glyph(middle, y + height * 0.76, height * 0.15, card[0])

    def glyph(self, x: float, y: float, r: float, crop: str) -> None:
        """The sign of a crop, about ``2 * r`` wide."""
        draw, colour = self.draw, COLOURS[crop]
        if crop == "W":
            draw.line((x, y - r, x, y + r), colour, 2)
            for step in (-0.7, 0, 0.7):
                draw.line((x - r * 0.7, y + r * (step - 0.4), x, y + r * step), colour, 2)
                draw.line((x + r * 0.7, y + r * (step - 0.4), x, y + r * step), colour, 2)
        elif crop == "S":
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7),
                           (-0.7, -0.7)):  # fmt: skip
                draw.line((x, y, x + r * dx, y + r * dy), colour, 2)
            draw.ellipse((x - r / 2, y - r / 2, x + r / 2, y + r / 2), colour)
        elif crop == "P":
            draw.ellipse((x - r * 1.1, y - r * 0.75, x + r * 1.1, y + r * 0.75), colour)
        elif crop == "B":
            draw.polygon((x - r, y - r * 0.4, x + r, y - r * 0.4, x, y + r), colour)
            draw.pieslice((x - r, y - r, x, y + r * 0.2), 170, 370, colour)
            draw.pieslice((x, y - r, x + r, y + r * 0.2), 170, 370, colour)
        else:
            draw.line((x - r, y - r, x + r, y + r), colour, 3)
            draw.line((x - r, y + r, x + r, y - r), colour, 3)

    def row(
        self, x: float, y: float, cards: list[Any], room: float, size: tuple[int, int] = CARD
    ) -> None:
        """Cards beside each other, overlapping where ``room`` is short."""
        step = min(size[0] + 4, (room - size[0]) / max(len(cards) - 1, 1))
        for number, card in enumerate(cards):
            self.card(x + step * number, y, card, size)


def _header(easel: _Easel, view: dict[str, Any]) -> None:
    if "result" in view:
        winners = " and ".join(f"seat {seat}" for seat in view["result"]["winners"])
        verb = "share the victory" if len(view["result"]["winners"]) > 1 else "wins"
        easel.text(18, 18, f"{winners.capitalize()} {verb}", 26)
        return
    first, *rest = headline(view)
    x = easel.text(18, 18, first, 26)
    x = easel.text(x + 24, 25, " · ".join(rest), 18, PALE)
    x = easel.text(x + 30, 25, "trump", 18, PALE)
    if view["trump"]:
        easel.card(x + 10, 6, None, (34, 46))
        easel.draw.rounded_rectangle((x + 10, 6, x + 44, 52), 4, PAPER, MARK, 2)
        easel.glyph(x + 27, 29, 12, view["trump"])
        easel.text(x + 54, 25, CROP_NAMES[view["trump"]], 18, INK)
    else:
        easel.text(x + 10, 25, "?" if view["turn"]["phase"] == "trump" else "none", 18, INK)


def _field(easel: _Easel, view: dict[str, Any], crop: str, x: float, y: float) -> None:
    field, quota = view["fields"][crop], Rules.from_dict(view["rules"]).field_quota
    hours, fails = field["hours"], "X0" in field["cards"] or crop in view["failed"]
    easel.panel(x, y, 538, 104)
    easel.draw.rounded_rectangle((x + 8, y + 8, x + 36, y + 36), 4, PAPER)
    easel.glyph(x + 22, y + 22, 10, crop)
    easel.text(x + 44, y + 12, CROP_NAMES[crop], 18)
    left, right = x + 150, x + 410
    colour = BAD if fails else DONE if hours >= quota else MARK
    easel.draw.rounded_rectangle((left, y + 10, right, y + 34), 5, EMPTY)
    if hours:
        end = left + max(8, (right - left) * min(hours / quota, 1))
        easel.draw.rounded_rectangle((left, y + 10, end, y + 34), 5, colour)
    state = "sabotaged" if "X0" in field["cards"] else "failed" if fails else ""
    label = f"{hours} of {quota} hours" + (f", {state}" if state else "")
    easel.text((left + right) / 2, y + 22, label, 15, INK, "mm", outline=2)
    easel.text(x + 424, y + 12, "Reward", 14, PALE)
    if field["claimed"]:
        easel.text(x + 424, y + 32, "claimed", 14, PALE)
    elif field["reward"]:
        easel.card(x + 486, y + 8, field["reward"])
    easel.row(x + 10, y + 58, in_order(field["cards"]), 460, WORKER)


def _trick(easel: _Easel, view: dict[str, Any], x: float, y: float) -> None:
    easel.panel(x, y, 538, 118)
    easel.text(x + 10, y + 10, "Trick", 18)
    for number, play in enumerate(view["trick"]):
        left = x + 110 + 106 * number
        asked = play["card"] == view["assign_card"] and not play["assigned"]
        easel.card(left, y + 12, play["card"], (52, 70), MARK if asked else "")
        note = "assigned" if play["assigned"] else f"seat {play['seat']}"
        easel.text(left + 26, y + 98, note, 14, MARK if asked else PALE, "mm")


def _seat(easel: _Easel, view: dict[str, Any], seat: int, x: float, y: float) -> None:
    easel.panel(x, y, 620, 133, seat == view["turn"]["seat"])
    name = f"Seat {seat}" + (" · Planner" if seat == view["planner"] else "")
    if "result" in view:
        name += f" · {view['result']['scores'][seat]} points"
    end = easel.text(x + 12, y + 8, name, 17)
    for medal in range(view["medals"][seat]):
        left = end + 16 + 24 * medal
        easel.draw.ellipse((left, y + 9, left + 18, y + 27), MARK, "#8a6d1a", 2)
    easel.text(x + 12, y + 50, "Hand", 13, PALE)
    easel.row(x + 50, y + 27, in_order(hand_of(view, seat)), 210)
    easel.text(x + 12, y + 98, "Plot", 13, PALE)
    easel.row(x + 50, y + 80, in_order(view["plots"][seat]), 556)
    easel.text(x + 290, y + 50, "Cellar", 13, PALE)
    for number, place in enumerate(view["cellars"][seat]):
        left = x + 334 + 54 * number
        easel.card(left, y + 27, place["card"], ring=MARK if place["public"] else "")
        swapped = place["since"] != place["banked"]
        note = f"{place['since']}" + ("*" if swapped else "")
        easel.text(left + 41, y + 33, note, 11, PALE)


def _north(easel: _Easel, view: dict[str, Any], x: float, y: float) -> None:
    easel.panel(x, y, 1172, 104)
    easel.text(x + 10, y + 8, "North", 18)
    easel.text(x + 10, y + 34, str(len(view["north"])), 18, PALE)
    for number, card in enumerate(in_order(view["north"])):
        row, column = divmod(number, 27)
        easel.card(x + 80 + 40 * column, y + 12 + 44 * row, card, SMALL)
