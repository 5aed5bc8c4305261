"""The README's picture of `kolkhoz play`, from the game itself: `python tools/draw_terminal.py`."""

from __future__ import annotations

import io
import os
import re
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from kolkhoz_env.rules import PLAY, Rules
from kolkhoz_train.play import Left, Session
from kolkhoz_train.play_save import SavedGame

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/play.svg"
BOT = "foreman"
SEED, YEAR = 24, 3
DARK = TerminalTheme(
    (29, 33, 30), (226, 224, 214),
    [(29, 33, 30), (226, 87, 76), (143, 200, 115), (240, 198, 72), (110, 158, 214),
     (201, 126, 178), (110, 190, 190), (200, 198, 188)],
    [(120, 124, 118), (240, 120, 110), (170, 220, 145), (250, 215, 110), (140, 180, 230),
     (220, 150, 200), (140, 210, 210), (244, 239, 224)],
)  # fmt: skip


def play_turn(console: Console) -> None:
    """A game in which the person always takes the first move, up to a choice in Year 3.

    Only that last turn stays in the recording; there the person asks for a hint.
    """
    saved = SavedGame(Rules().to_dict(), SEED, 0, [BOT] * 3)
    asked = False

    def read(prompt: str) -> str | None:
        nonlocal asked
        if asked:
            console.print(prompt, highlight=False, markup=False)
            return None
        if is_worth_showing(session):
            asked = True
            console.print(f"{prompt}h", highlight=False, markup=False)
            return "h"
        console.export_text(clear=True)
        return "1"

    session = Session(saved, BOT, console, read)
    with suppress(Left):
        session.run()


def is_worth_showing(session: Session) -> bool:
    """A card to play in Year 3 or later, with a trick under way and three moves or more."""
    state = session.table.state
    late = int(state.year[0]) >= YEAR and int(state.trick_number[0]) >= 1
    choice = session.table.legal_mask().sum() >= 3 and int(state.trick_size[0]) > 0
    return bool(late and choice and int(state.phase[0]) == PLAY)


def draw() -> None:
    """Write the picture, without references to fonts elsewhere."""
    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    play_turn(console)
    svg = console.export_svg(title="kolkhoz play", theme=DARK, unique_id="play")
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
    aside = PICTURE.with_name(f".{PICTURE.name}.{os.getpid()}.part")
    aside.write_text(svg, encoding="utf-8")
    os.replace(aside, PICTURE)


if __name__ == "__main__":
    draw()
