"""The demo page: one file that needs neither a server nor a network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def demo_page(
    manifest: dict[str, Any], weights: str, views: list[dict[str, Any]], runtimes: Path
) -> str:
    """The page with runtime, manifest, weights (base64) and the views of a game written into it."""
    page = (runtimes / "demo.html").read_text(encoding="utf-8")
    names = {"STYLE": "demo.css", "BOT": "kolkhoz_bot.mjs", "RECORD": "kolkhoz_record.mjs",
             "SCRIPT": "demo.mjs"}  # fmt: skip
    parts = {part: (runtimes / name).read_text(encoding="utf-8") for part, name in names.items()}
    # A page from the disk can't import its neighbours: the modules meet in one global object.
    parts["BOT"] += "globalThis.kolkhoz = { load };\n"
    parts["RECORD"] += "globalThis.kolkhoz.viewsOfRecord = viewsOfRecord;\n"
    parts["DATA"] = _data({"manifest": manifest, "weights": weights, "views": views})
    pieces = re.split(r"/\*([A-Z]+)\*/", page)
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _data(value: dict[str, Any]) -> str:
    """JSON that can stand in a script element: no `<` could end it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
