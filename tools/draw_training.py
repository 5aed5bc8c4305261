"""Keep what a run was measured at on its way, and draw it.

    python tools/draw_training.py runs/foreman_anew foreman_anew_run

writes docs/results/foreman_anew_run.json, of which `python tools/results.py write` makes a table,
and docs/images/foreman_anew_run.svg.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("seed", "threads", "batches", "games", "decisions", "learned_decisions", "seconds",
        "learned_decisions_per_s", "time_shares", "commit", "results")  # fmt: skip


def kept(run: Path) -> dict[str, Any]:
    """What of a run's run.json is worth keeping."""
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return {key: record[key] for key in KEPT}


def draw(record: dict[str, Any], title: str) -> Figure:
    """Win shares against each opponent by millions of learned decisions, with their intervals."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for against in dict.fromkeys(entry["against"] for entry in record["results"]):
        entries = [entry for entry in record["results"] if entry["against"] == against]
        learned = [entry["learned"] / 1e6 for entry in entries]
        mean, low, high = zip(*(entry["win_share"] for entry in entries), strict=True)
        (line,) = axes.plot(learned, [100 * x for x in mean], marker="o", markersize=4)
        axes.fill_between(learned, [100 * x for x in low], [100 * x for x in high], alpha=0.18)
        axes.annotate(f"against 3 × {against}", (learned[-1], 100 * mean[-1]), (-4, 12),
                      textcoords="offset points", ha="right", color=line.get_color())  # fmt: skip
    axes.axhline(25, color="0.6", linewidth=0.8, linestyle="--")
    axes.annotate("par", (0, 25), (2, 3), textcoords="offset points", color="0.45", fontsize=8)
    axes.set(xlabel="million learned decisions", ylabel="win share, %", title=title)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def main() -> int:
    """Write both files whole."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    asked = parser.parse_args()
    record = kept(asked.run)
    minutes = record["seconds"] / 60
    title = f"{asked.run.name}: {minutes:.0f} minutes on {record['threads']} threads"
    places = ROOT / f"docs/results/{asked.name}.json", ROOT / f"docs/images/{asked.name}.svg"
    for place in places:
        aside = place.with_name(f".{os.getpid()}.part{place.suffix}")
        if place.suffix == ".json":
            aside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        else:
            # Without a date and with fixed names, so that the same run gives the same picture.
            draw(record, title).savefig(aside, metadata={"Date": None})
        os.replace(aside, place)
        print(place.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
