"""`kolkhoz records`: games as text, played, verified, shown and drawn."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kolkhoz_agents.words import counted
from kolkhoz_env.errors import KolkhozError, RecordError
from kolkhoz_train.cli.common import (
    check_writable,
    existing_file,
    natural_int,
    positive_int,
)
from kolkhoz_train.cli.records_draw import add_draw, one_record

EXAMPLE = """examples:
  kolkhoz records play --agents heuristic random random random --games 10 --seed 1 games.jsonl
  kolkhoz records verify games.jsonl
  kolkhoz records show games.jsonl --game 3
  kolkhoz records draw games.jsonl --game 3 --out game.gif
"""

BATCH = 256
"""Games that are played side by side: fast, and little memory for their records."""
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "records",
        help="play and record games; verify, show and draw records",
        description="Records of whole games, one a line, format kolkhoz-record/1.",
        epilog=EXAMPLE,
    )
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True)
    _add_play(actions)
    _add_verify(actions)
    _add_show(actions)
    add_draw(actions)


def _add_play(actions: Any) -> None:
    parser = actions.add_parser(
        "play",
        help="play and record whole games",
        description="Play whole games and write their records. The agents take the seats in the "
        "order given; as many agents as players, 3 or 4.",
        epilog="example:\n"
        "  kolkhoz records play --agents heuristic random random --games 5 --seed 1 games.jsonl\n",
    )
    parser.add_argument("--agents", nargs="+", required=True, metavar="AGENT", help="who plays")
    parser.add_argument(
        "--games", type=positive_int, default=1, metavar="N", help="how many games (default: 1)"
    )
    parser.add_argument(
        "--seed", type=natural_int, default=0, metavar="S", help="seed of the deals (default: 0)"
    )
    parser.add_argument(
        "out",
        type=Path,
        nargs="?",
        metavar="OUT.jsonl",
        help="the file to write (replaced if it exists)",
    )
    parser.set_defaults(run=play)


def _add_verify(actions: Any) -> None:
    parser = actions.add_parser(
        "verify",
        help="replay records through the engine",
        description="Replay every record through the engine. Exit 0 only if every legal set, "
        "transition and result agrees; else exit 1 and the first disagreement of each file, by "
        "line, year and move.",
        epilog="example:\n  kolkhoz records verify games.jsonl more.jsonl\n",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files of records")
    parser.set_defaults(run=verify)


def _add_show(actions: Any) -> None:
    parser = actions.add_parser(
        "show",
        help="a record as a readable table, year by year",
        description="Show a recorded game year by year: hands, swaps, tricks and the Brigadiers' "
        "work, fields, and what each seat banked, lost to the North and holds.",
        epilog="example:\n  kolkhoz records show games.jsonl --game 3\n",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a file of records")
    parser.add_argument(
        "--game", type=natural_int, default=0, metavar="K", help="which game, from 0 (default: 0)"
    )
    parser.set_defaults(run=show)


def play(args: argparse.Namespace) -> int:
    """Play the games with the agents in the seats in the order given, and write the records."""
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    from kolkhoz_agents.games import make_game
    from kolkhoz_agents.referee import Referee
    from kolkhoz_agents.registry import make_agent
    from kolkhoz_env.records import write_records

    if args.out is None:
        # Nothing stood between the agents and the file, so that it was taken for one of them.
        if not args.agents[-1].endswith(".jsonl"):
            raise KolkhozError("records play: the file to write is missing: OUT.jsonl, at the end")
        args.out = Path(args.agents.pop())
    players = len(args.agents)
    if players not in (3, 4):
        raise KolkhozError(f"--agents: {players} agents given; 3 or 4 are needed, one a seat")
    game = make_game("kolkhoz", {"players": players})
    agents = [make_agent(text, game) for text in args.agents]
    check_writable("OUT.jsonl", args.out)
    if args.out.suffix in PACKED:
        raise KolkhozError(f"OUT.jsonl {args.out}: records are written as text; give another name")
    seating = np.arange(players, dtype=np.int8)[None, :]
    referee = Referee(game, agents, seating, args.seed, records=True)

    def batches() -> Iterator[dict[str, Any]]:
        for first in range(0, args.games, BATCH):
            deals = np.arange(first, min(first + BATCH, args.games))
            yield from referee.play(deals).records

    console = Console(stderr=True)
    played = track(
        batches(), "playing", args.games, console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    args.out.parent.mkdir(parents=True, exist_ok=True)
    count = write_records(args.out, played)
    print(f"{args.out}: {counted(count, 'game')}, seed {args.seed}")
    return 0


def verify(args: argparse.Namespace) -> int:
    """Verify all files; 1 if any record disagrees with the engine."""
    from kolkhoz_env.records import verify_file

    for path in args.files:
        existing_file(path)
    status = 0
    for path in args.files:
        try:
            count = verify_file(path)
        except RecordError as error:
            print(f"kolkhoz: {error}", file=sys.stderr)
            status = 1
        else:
            agree = "agrees" if count == 1 else "agree"
            print(f"{path}: {counted(count, 'game')} {agree} with the engine")
    return status


def show(args: argparse.Namespace) -> int:
    """Print one game of a file."""
    from rich.console import Console

    from kolkhoz_env.record_report import print_game
    from kolkhoz_env.records import replay

    record, count = one_record(args.file, args.game)
    try:
        complete = replay(record)
    except RecordError as error:
        raise RecordError(f"{args.file}, game {args.game}, {error}") from None
    # A report that goes into a file or a pipe keeps its columns whatever the terminal was.
    console = Console() if sys.stdout.isatty() else Console(width=100)
    print_game(complete, console, f"Game {args.game} of {count} in {args.file.name}")
    return 0
