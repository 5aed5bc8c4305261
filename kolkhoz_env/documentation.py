"""The environment page of the documentation, written from the code that it describes.

`python -m kolkhoz_env.documentation docs/environment.md` writes the page; a test checks that the
page in the repository is current.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from dataclasses import fields
from pathlib import Path

from kolkhoz_env.cards import CROP_ACTION, CROP_NAMES, CROPS, NUM_ACTIONS, PASS, SABOTEUR
from kolkhoz_env.observation import OBSERVATION_VERSION, observation_table
from kolkhoz_env.rules import Rules
from kolkhoz_env.spaces import state_space

_HERE = Path(__file__).parent

_OPENING = """\
<!-- Written by `python -m kolkhoz_env.documentation docs/environment.md`: edit the code. -->
"""

#: Phase, who decides, the action, and what is legal.
_PHASES = (
    ("`trump` (Years 1 to 4)", "the Planner", "a crop", "all crops"),
    (
        "`swap_take` (from Year 2)",
        "each seat with a Plot or Cellar card, once",
        "the card it takes, or pass",
        "its Plot and Cellar, pass",
    ),
    ("`swap_give`", "the same seat", "the card it gives for it", "its hand"),
    ("`play`", "the seat to play", "a card", "cards that follow the lead, else the hand"),
    (
        "`assign`",
        "the Brigadier, once a card of the trick",
        "the field that works it",
        "crops of the trick; all with the Saboteur",
    ),
    (
        "`requisition`",
        "an inspected seat with a tie at the cutoff",
        "the card that goes North",
        "the tied cards",
    ),
)

_CODES = """\
A *code* of eight columns is a card: four crop flags, Saboteur flag, rank / 13, "a card is here",
"its face is unknown". The eight *facts* of a Cellar place are: year / 5 since which its card lies
there, face public, came by a swap, the highest rank / 13 of each crop that the public can't rule
out, and whether it may be the Saboteur. Seats are relative: 0 is the observing seat, 1 the seat to
its left. The engine gives rows of `uint8`; the environments multiply them by the scale.
"""

_HISTORY = """\
## Versions

The environment's version (`v0`) rises when the same actions could lead to other states or rewards;
the observation's version rises when its layout or the meaning of a block changes. Bots and export
bundles name the version that they were made for.

| observation | environment | what changed |
|---|---|---|
| 1 | v0 | the first |
"""


def environment_page() -> str:
    """The whole page as Markdown."""
    rules = Rules()
    table = observation_table(rules)
    three = observation_table(Rules(players=3))
    parts = [
        _OPENING,
        "# The environment\n",
        _module_text("aec.py").partition("\n\n")[2],
        "## Phases\n\nOne decision is one action of one seat.\n",
        _phases(),
        _actions(),
        f"## Observation (version {OBSERVATION_VERSION})\n",
        f"{table.size} columns with four players, {three.size} with three. The blocks, with the "
        "columns for four players:\n",
        _blocks(),
        _CODES,
        _state(rules),
        "## Rules that can vary\n",
        _rules(),
        "## One seat learning: Gymnasium\n",
        _module_text("single.py").partition("\n\n")[2],
        "## Many games for Stable-Baselines3\n",
        _module_text("vec_env.py").partition("\n\n")[2],
        "## Exact solutions of small games: OpenSpiel\n",
        _module_text("openspiel.py").partition("\n\n")[2],
        _HISTORY,
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _module_text(name: str) -> str:
    """Docstring of a module, read without importing it: some need extras."""
    return ast.get_docstring(ast.parse((_HERE / name).read_text(encoding="utf-8"))) or ""


def _phases() -> str:
    lines = ["| phase | who decides | the action | legal |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in _PHASES)])


def _actions() -> str:
    crops = ", ".join(f"{13 * c} .. {13 * c + 12}" for c in range(4))
    names = ", ".join(f"{CROP_NAMES[crop]} (`{crop}1` .. `{crop}13`)" for crop in CROPS)
    lines = [
        "## Actions\n",
        f"`Discrete({NUM_ACTIONS})`, the same in every phase:\n",
        "| action | meaning |",
        "|---|---|",
        f"| {crops} | the cards of {names}, Ace to King |",
        f"| {SABOTEUR} | the Saboteur (`X0`) |",
        f"| {CROP_ACTION} .. {CROP_ACTION + 3} | the crops {', '.join(CROP_NAMES.values())} |",
        f"| {PASS} | pass |",
    ]
    return "\n".join(lines)


def _blocks() -> str:
    lines = ["| block | columns | shape | scale | meaning |", "|---|---|---|---|---|"]
    for block in observation_table(Rules()).blocks:
        shape = " x ".join(f"{axis} {n}" for axis, n in zip(block.axes, block.shape, strict=True))
        last = block.offset + block.length - 1
        coded = block.axes[-1] in ("code", "fact")
        scale = "as below" if coded else "1" if block.scale == 1 else f"1 / {1 / block.scale:.0f}"
        columns = f"{block.offset}" if block.length == 1 else f"{block.offset} .. {last}"
        lines.append(f"| `{block.name}` | {columns} | {shape} | {scale} | {block.meaning} |")
    return "\n".join(lines)


def _state(rules: Rules) -> str:
    size = state_space(rules).shape
    assert size is not None
    return (
        "## State\n\n"
        f"`state()` gives `float32[{size[0]}]` with four players: the observation of seat 0, then "
        "53 flags each for the hand of every seat, the Cellar of every seat, and the rewards that "
        "are still to be revealed. It holds what no seat may know: it is for a critic that is used "
        "in training alone."
    )


def _rules() -> str:
    """The fields of `Rules`, from its docstring."""
    text = inspect.getdoc(Rules) or ""
    found = dict(re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text, flags=re.MULTILINE))
    lines = ["| rule | default | meaning |", "|---|---|---|"]
    for field in fields(Rules):
        meaning = " ".join(found[field.name].split()).replace("``", "`")
        lines.append(f"| `{field.name}` | `{field.default}` | {meaning} |")
    return "\n".join(lines)


def main(path: str) -> None:
    """Write the page, whole or not at all."""
    aside = f"{path}.part"
    Path(aside).write_text(environment_page(), encoding="utf-8")
    os.replace(aside, path)


if __name__ == "__main__":
    main(sys.argv[1])
