"""The demo page: one file that needs neither a server nor a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def demo_page(
    manifest: dict[str, Any], weights: str, views: list[dict[str, Any]], runtimes: Path
) -> str:
    """The page with runtime, manifest, weights (base64) and the views of a game written into it."""
    page = (runtimes / "demo.html").read_text(encoding="utf-8")
    parts = {
        "STYLE": (runtimes / "demo.css").read_text(encoding="utf-8"),
        "RUNTIME": (runtimes / "kolkhoz_bot.mjs").read_text(encoding="utf-8"),
        "SCRIPT": (runtimes / "demo.mjs").read_text(encoding="utf-8"),
        "DATA": _data({"manifest": manifest, "weights": weights, "views": views}),
    }
    for name, text in parts.items():
        page = page.replace(f"/*{name}*/", text, 1)
    return page


def _data(value: dict[str, Any]) -> str:
    """JSON that can stand in a script element: no `<` could end it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
