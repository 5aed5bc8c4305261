"""`kolkhoz verify-export`: whether a bundle is whole and plays as the bot does here."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

EXAMPLE = """example:
  kolkhoz verify-export bundle
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "verify-export",
        help="check a bundle: checksums, and every example in every runtime",
        description="Recompute the checksums of a bundle and replay its examples through this lab, "
        "onnxruntime, the Python module, and the JavaScript module where Node is installed. Exit 1 "
        "and one line for each file that was changed and each runtime that disagrees.",
        epilog=EXAMPLE,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the bundle")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the bundle; 1 if anything is wrong with it."""
    from kolkhoz_train.export.verify import verify_bundle

    verdict = verify_bundle(args.folder)
    for problem in verdict.changed:
        print(f"kolkhoz: {args.folder}: {problem}", file=sys.stderr)
    for replay in verdict.replays:
        good = replay.agrees or replay.missing
        print(replay.line(), file=sys.stdout if good else sys.stderr)
    if verdict.passed:
        print(f"{args.folder}: whole, and every runtime here plays as the bot does")
    return 0 if verdict.passed else 1
