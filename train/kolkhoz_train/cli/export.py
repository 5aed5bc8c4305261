"""`kolkhoz export`: a bot as a bundle for front ends in any language."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kolkhoz_agents.words import counted
from kolkhoz_train.cli.common import check_place, natural_int, positive_int

EXAMPLE = """examples:
  kolkhoz export runs/quickstart bundle
  kolkhoz export runs/quickstart bundle --storage float32 --vectors 1000
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "export",
        help="write a bot as a bundle for front ends",
        description="Write a bot as a folder that front ends in any language can play: an ONNX "
        "model, plain weights with a JavaScript and a Python module that turn a seat's view into a "
        "move, a manifest, examples to check against, and a page to try it.",
        epilog=EXAMPLE,
    )
    parser.add_argument("bot", metavar="BOT", help="a bot or run folder, or a shipped bot's name")
    parser.add_argument("out", type=Path, metavar="OUT_DIR", help="the folder to write")
    parser.add_argument(
        "--storage", choices=("auto", "float16", "float32"), default="auto",
        help="numbers of the weights; auto: 16 bits if no move changes by it (default)",
    )
    parser.add_argument(
        "--vectors", type=positive_int, default=256, metavar="N",
        help="number of examples in vectors.jsonl (default: 256)",
    )
    parser.add_argument(
        "--seed", type=natural_int, default=1, metavar="S",
        help="seed of the games that the examples come from (default: 1)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the bundle and say what is in it."""
    from rich.console import Console

    from kolkhoz_train.export.bundle import export_bot, find_bot

    check_place("OUT_DIR", args.out)
    with Console(stderr=True).status("reading the bot") as status:
        done = export_bot(
            find_bot(args.bot), args.out, name=args.bot, storage=args.storage,
            count=args.vectors, seed=args.seed, tell=status.update,
        )  # fmt: skip
    for name, size in sorted(done.sizes.items()):
        print(f"  {name:<18} {size:>10,} bytes")
    cost = done.storage
    decisions = counted(cost["decisions"], "decision")
    print(
        f"{done.folder}: weights in {cost['storage']}; over {decisions} they "
        f"change {counted(cost['moves_changed'], 'move')}, and log-probabilities by up to "
        f"{cost['log_prob']:.1e}"
    )
    return 0
