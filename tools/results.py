"""Measured results: made by the commands of docs/results/commands.yaml, shown in the pages' tables.

    python tools/results.py list             # every measurement, and whether it is there
    python tools/results.py run NAME ...     # measure (writes docs/results/NAME.json)
    python tools/results.py write            # write the tables of the pages anew

A table stands in a page between `<!-- results: KIND NAME ... -->` and `<!-- /results -->`; a name
may end with `*`. Measurements that are not there are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs/results"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"(<!-- results: ([a-z-]+) ?([^>]*?) ?-->\n)(.*?)(<!-- /results -->)", re.DOTALL)

Result = dict[str, Any]
SCRIPTED = ("ablations", "foreman_anew_run")
"""Results of other scripts in this folder."""
ENGINE = ("step", "step_mask", "step_mask_observe")


def commands() -> dict[str, str]:
    """The measurements: arguments of `kolkhoz` by name."""
    text = (RESULTS / "commands.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def found(patterns: list[str]) -> Iterator[tuple[str, Result]]:
    """Results that are there, in the order of the patterns and of commands.yaml."""
    for pattern in patterns:
        for name in [*commands(), *SCRIPTED]:
            path = RESULTS / f"{name}.json"
            if fnmatch(name, pattern) and path.is_file():
                yield name, json.loads(path.read_text(encoding="utf-8"))


# Tables ----------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; an empty text without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def share(values: list[float]) -> str:
    """`61.2% (60.1 to 62.3)`."""
    mean, low, high = (100 * value for value in values)
    return f"{mean:.1f}% ({low:.1f} to {high:.1f})"


def span(values: list[float]) -> str:
    """`31.2 (30.1 to 32.3)`."""
    return "{:.1f} ({:.1f} to {:.1f})".format(*values)


def duration(seconds: float) -> str:
    """A time per decision."""
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def rate(value: float) -> str:
    """Decisions a second: `5.21 M`, `38 k`, `120`."""
    for unit, size in ((" M", 1e6), (" k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


def head_to_head(results: list[tuple[str, Result]]) -> str:
    """One row a table of `kolkhoz evaluate`."""
    rows = []
    for _, result in results:
        others = result["players"] - 1
        for line in result["tables"]:
            name = f"`{line['agent']}`" + (" (sees all cards)" if line["sees_all_cards"] else "")
            rows.append([
                name, f"{others} × `{line['against']}`", share(line["win_share"]),
                span(line["score"]), f"{line['games']:,}", duration(line["seconds_per_decision"]),
            ])  # fmt: skip
    head = ["one", "against", "win share (95%)", "score (95%)", "games", "a decision"]
    return table(head, rows)


def short(results: list[tuple[str, Result]]) -> str:
    """The first agent's win share in each result."""
    rows = []
    for _, result in results:
        line, others = result["tables"][0], result["players"] - 1
        against = f"{others} × `{line['against']}`"
        rows.append([f"`{line['agent']}`", against, share(line["win_share"]), f"{line['games']:,}"])
    return table(["one", "against", "wins (95%)", "games"], rows)


def ceiling(results: list[tuple[str, Result]]) -> str:
    """How much of the way from par to the last result's first agent each of the others goes."""
    if len(results) < 2:
        return ""
    par = 1 / results[-1][1]["players"]
    above = [result["tables"][0]["win_share"][0] - par for _, result in results]
    rows = []
    for (_, result), gain in zip(results, above, strict=True):
        line = result["tables"][0]
        against = f"{result['players'] - 1} × `{line['against']}`"
        share_of = f"{gain / above[-1]:.0%}"
        rows.append([f"`{line['agent']}`", against, share(line["win_share"]), share_of])
    return table(["one", "against", "win share (95%)", "of the way to the last line"], rows)


def matrix(results: list[tuple[str, Result]]) -> str:
    """The win-share matrix of a tournament."""
    text = ""
    for _, result in results:
        rows = []
        for agent, row in zip(result["agents"], result["matrix"], strict=True):
            cells = ["" if cell is None else share(cell) for cell in row]
            rows.append([f"`{agent}`", *cells])
        names = [f"{result['players'] - 1} × `{agent}`" for agent in result["agents"]]
        text += table(["one \\ against", *names], rows)
    return text


def cross(results: list[tuple[str, Result]]) -> str:
    """The win shares of many results in one table: one agent of the row, copies of the column's.

    Agents are in the order in which they first appear; of two results of a pairing the first
    counts.
    """
    cells: dict[tuple[str, str], list[float]] = {}
    for _, result in results:
        if "matrix" in result:
            for agent, row in zip(result["agents"], result["matrix"], strict=True):
                for other, cell in zip(result["agents"], row, strict=True):
                    if cell is not None:
                        cells.setdefault((agent, other), cell)
        for line in result.get("tables", []):
            if "matrix" not in result:
                cells.setdefault((line["agent"], line["against"]), line["win_share"])
    agents = list(dict.fromkeys(name for pair in cells for name in pair))
    against = [name for name in agents if any(other == name for _, other in cells)]
    others = results[0][1]["players"] - 1 if results else 0
    rows = []
    for agent in agents:
        shares = [cells.get((agent, other)) for other in against]
        rows.append([f"`{agent}`", *("" if cell is None else share(cell) for cell in shares)])
    return table(["one \\ against", *(f"{others} × `{name}`" for name in against)], rows)


def ratings(results: list[tuple[str, Result]]) -> str:
    """Ratings of a tournament, for display."""
    rows = []
    for _, result in results:
        for entry in result["ratings"]:
            rows.append([f"`{entry['agent']}`", f"{entry['mu']:.1f} ± {2 * entry['sigma']:.1f}"])
    return table(["agent", "rating (two standard deviations)"], rows)


def statistics(results: list[tuple[str, Result]]) -> str:
    """What explains a head-to-head result, a seat and game."""
    text = ""
    for _, result in results:
        lines = result["tables"]
        rows = [
            [name.replace("_", " "), *(span(line["statistics"][name]) for line in lines)]
            for name in lines[0]["statistics"]
        ]
        heads = [f"`{line['agent']}` against `{line['against']}`" for line in lines]
        text += table(["a seat-game", *heads], rows)
    return text


def how(results: list[tuple[str, Result]]) -> str:
    """The commands behind results, each of which writes the JSON file of its name."""
    known = commands()
    lines = [f"kolkhoz {known[name]} --json docs/results/{name}.json" for name, _ in results]
    return "```sh\n" + "\n".join(lines) + "\n```\n" if lines else ""


def engine(results: list[tuple[str, Result]]) -> str:
    """The engine by batch size, decisions a second on one core."""
    rows = [
        [f"{row['batch']:,}", *(rate(row[key]) for key in ENGINE)]
        for _, result in results
        for row in result.get("engine", [])
    ]
    return table(["batch", "step", "step + mask", "step + mask + observation"], rows)


def engine_time(results: list[tuple[str, Result]]) -> str:
    """Where the engine's time goes: nanoseconds a decision of each part, by batch size."""
    rows = []
    for _, result in results:
        for row in result.get("engine", []):
            step, mask, everything = (1e9 / row[key] for key in ENGINE)
            parts = (step, mask - step, everything - mask, everything)
            cells = [f"{max(part, 0):,.0f} ns" for part in parts]
            rows.append([f"{row['batch']:,}", *cells])
    return table(["batch", "step", "mask", "observation", "together"], rows)


def rates(results: list[tuple[str, Result]]) -> str:
    """Environments, agents and training, decisions a second."""
    rows = []
    for _, result in results:
        rows += [[f"PettingZoo `{name}`", rate(value)] for name, value in result["aec"].items()]
        for name, value in result.get("agents", {}).items():
            rows.append([f"agent `{name}`", rate(value)])
        if "train" in result:
            threads = result["train"]["threads"]
            name = f"training end to end, {threads} threads"
            rows.append([name, rate(result["train"]["decisions_per_s"])])
    return table(["what", "decisions a second"], rows)


def time_shares(results: list[tuple[str, Result]]) -> str:
    """Where the time of training goes."""
    rows = []
    for _, result in results:
        shares = result.get("train", {}).get("time_shares", {})
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        rows += [[name, f"{value:.1%}"] for name, value in ordered]
    return table(["part of training", "of the time"], rows)


def machine(results: list[tuple[str, Result]]) -> str:
    """What a benchmark ran on."""
    text = ""
    for _, result in results:
        on = result["machine"]
        text += (
            f"Measured on {on['processor']}, {on['cores']} cores, Python {on['python']}, "
            f"numpy {on['numpy']}; each figure is the median of {result['runs']} runs. "
            f"A game's state takes {result['state_bytes']:,} bytes.\n"
        )
    return text


def ablations(results: list[tuple[str, Result]]) -> str:
    """Changes to a config: the mean over seeds, and the lowest and highest seed."""
    text = ""
    for _, result in results:
        runs: dict[str, list[Result]] = {}
        for one in result["runs"]:
            runs.setdefault(one["change"], []).append(one)
        against = list(result["runs"][0]["win_share"])
        rows = []
        for change, seeds in runs.items():
            cells = []
            for name in against:
                shares = [100 * one["win_share"][name][0] for one in seeds]
                mean = sum(shares) / len(shares)
                several = len(shares) > 1
                cells.append(span([mean, min(shares), max(shares)]) if several else f"{mean:.1f}")
            rows.append([change, str(len(seeds)), *cells])
        heads = [f"against 3 × `{name}`" for name in against]
        text += table(["change", "seeds", *heads], rows)
    return text


def training(results: list[tuple[str, Result]]) -> str:
    """What a run was measured at on its way."""
    text = ""
    for _, result in results:
        rows: dict[int, list[str]] = {}
        for entry in result["results"]:
            minutes = f"{entry['trained_seconds'] / 60:.0f}"
            row = rows.setdefault(entry["learned"], [f"{entry['learned'] / 1e6:.0f}", minutes])
            row.append(share(entry["win_share"]))
        against = list(dict.fromkeys(entry["against"] for entry in result["results"]))
        heads = [f"against `{name}`" for name in against]
        text += table(["M decisions learned", "minutes", *heads], list(rows.values()))
    return text


KINDS: dict[str, Callable[[list[tuple[str, Result]]], str]] = {
    "head-to-head": head_to_head, "short": short, "ceiling": ceiling, "matrix": matrix,
    "cross": cross, "ratings": ratings, "statistics": statistics, "commands": how, "engine": engine,
    "engine-time": engine_time, "rates": rates, "time-shares": time_shares, "machine": machine,
    "ablations": ablations, "training": training,
}  # fmt: skip


def filled(text: str) -> str:
    """A page's text with its tables made anew."""

    def fill(block: re.Match[str]) -> str:
        opening, kind, names, _, closing = block.groups()
        made = KINDS[kind](list(found(shlex.split(names))))
        return f"{opening}\n{made}\n{closing}" if made else f"{opening}{closing}"

    return BLOCK.sub(fill, text)


# What can be asked for -------------------------------------------------------------------------


def write() -> int:
    """Write every page whose tables are not current."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            aside = page.with_name(f".{page.name}.{os.getpid()}.part")
            aside.write_text(new, encoding="utf-8")
            os.replace(aside, page)
            print(f"{page.relative_to(ROOT)}: tables written")
    return 0


def run(names: list[str]) -> int:
    """Measure by name; stops at the first command that fails."""
    known = commands()
    for name in names:
        if name not in known:
            print(f"results: no measurement {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    for name in names:
        command = [str(Path(sys.executable).with_name("kolkhoz")), *shlex.split(known[name])]
        done = subprocess.run([*command, "--json", str(RESULTS / f"{name}.json")], check=False)
        if done.returncode:
            return done.returncode
    return write()


def main() -> int:
    """List, measure or write."""
    parser = argparse.ArgumentParser(description="Measured results and the tables made of them.")
    parser.add_argument("what", choices=("list", "run", "write"))
    parser.add_argument("names", nargs="*", help="measurements, for `run`")
    asked = parser.parse_args()
    if asked.what == "run":
        return run(asked.names)
    if asked.what == "write":
        return write()
    for name, command in commands().items():
        mark = "there  " if (RESULTS / f"{name}.json").is_file() else "missing"
        print(f"{mark}  {name:20} kolkhoz {command}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
