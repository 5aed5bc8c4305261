"""`kolkhoz records draw`: a recorded game as an animation or a folder of pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kolkhoz_agents.words import counted
from kolkhoz_env.errors import KolkhozError, RecordError
from kolkhoz_env.files import whole
from kolkhoz_train.cli.common import (
    check_place,
    check_writable,
    existing_file,
    natural_int,
    positive_int,
)

EXAMPLE = """examples:
  kolkhoz records draw games.jsonl --game 3 --out game.gif
  kolkhoz records draw games.jsonl --every year --out pictures
  kolkhoz records draw games.jsonl --seat 0 --width 600 --every move --out game.gif
"""

EVERY = ("move", "trick", "year")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".svg", ".pdf", ".mp4", ".webm", ".apng")
WIDTHS = (200, 4000)
LONGEST = 130_000
"""Milliseconds: a GIF counts hundredths of a second in 16 bits."""


def add_draw(actions: Any) -> None:
    """Add the action to those of `kolkhoz records`."""
    parser = actions.add_parser(
        "draw",
        help="a game as an animation or a folder of pictures",
        description="Draw a recorded game: an animation if OUT ends with .gif, else a folder of "
        "PNG files.",
        epilog=EXAMPLE,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a file of records")
    parser.add_argument(
        "--game", type=natural_int, default=0, metavar="K", help="which game, from 0 (default: 0)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="GIF or folder")
    parser.add_argument(
        "--every", choices=EVERY, default="trick",
        help="a picture at the end of every trick or year, or, which takes a while, of every move "
        "(default: trick)",
    )  # fmt: skip
    parser.add_argument(
        "--seat", type=natural_int, metavar="S",
        help="what this seat knows (default: all cards open)",
    )  # fmt: skip
    parser.add_argument(
        "--width",
        type=pixels,
        default=800,
        metavar="W",
        help=f"pixels, {WIDTHS[0]} to {WIDTHS[1]} (default: 800)",
    )
    parser.add_argument(
        "--milliseconds", type=milliseconds, default=700, metavar="T",
        help="how long the animation shows a picture (default: 700)",
    )  # fmt: skip
    parser.set_defaults(run=draw)


def pixels(text: str) -> int:
    """An argument that is a picture's width."""
    number, (least, most) = positive_int(text), WIDTHS
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} should be from {least} to {most}")
    return number


def milliseconds(text: str) -> int:
    """An argument that is a time which a GIF can state, five times as long for its last picture."""
    number = positive_int(text)
    if number > LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} should be at most {LONGEST}")
    return number


def one_record(path: Path, game: int) -> tuple[dict[str, Any], int]:
    """A record of a file by its number, and how many there are. Raises RecordError."""
    from kolkhoz_env.records import read_records

    records = read_records(existing_file(path))
    if not records:
        raise RecordError(f"{path}: holds no record")
    if game >= len(records):
        raise RecordError(
            f"{path}: --game {game} should be below {len(records)}, the number of games"
        )
    return records[game], len(records)


def draw(args: argparse.Namespace) -> int:
    """Write the animation or the pictures."""
    from rich.console import Console
    from rich.progress import track

    from kolkhoz_env.drawing.film import frames

    record, _ = one_record(args.file, args.game)
    animation = args.out.suffix.lower() == ".gif"
    if animation:
        check_writable("--out", args.out)
    else:
        check_folder(args.out)
    players = len(record["result"]["scores"])
    if args.seat is not None and args.seat >= players:
        raise KolkhozError(f"--seat {args.seat}: should be from 0 to {players - 1}")
    console = Console(stderr=True)
    pictures = track(
        frames(record, args.every, args.seat, args.width), "drawing",
        how_many(record, args.every), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    try:
        if animation:
            count = write_gif(args.out, pictures, args.milliseconds)
        else:
            count = write_folder(args.out, pictures)
    except RecordError as error:
        raise RecordError(f"{args.file}, game {args.game}, {error}") from None
    print(f"{args.out}: {counted(count, 'picture')} of game {args.game}")
    return 0


def how_many(record: dict[str, Any], every: str) -> int:
    """Number of pictures of a record's game."""
    years, players = record["years"], len(record["result"]["scores"])
    moves = [move for year in years for move in year["moves"]]
    tricks = sum(move["phase"] == "assign" for move in moves) // players
    return 1 + {"move": len(moves), "trick": tricks, "year": len(years)}[every]


def check_folder(path: Path) -> None:
    """Raise KolkhozError unless pictures can be written at a path that holds nothing yet."""
    if path.suffix.lower() in PICTURES:
        raise KolkhozError(f"--out {path}: should end with .gif, or be the name of a folder")
    if path.is_file():
        raise KolkhozError(f"--out {path}: is a file; name a .gif, or a new or empty folder")
    if path.is_dir() and any(path.iterdir()):
        raise KolkhozError(f"--out {path}: the folder holds files; name a new or an empty one")
    check_place("--out", path)


def write_gif(path: Path, pictures: Any, milliseconds: int) -> int:
    """One animation; the last picture stays five times as long."""
    from PIL import Image

    images = [image.quantize(64, dither=Image.Dither.NONE) for image in pictures]
    times = [milliseconds] * (len(images) - 1) + [5 * milliseconds]
    with whole(path) as aside:
        images[0].save(
            aside, format="GIF", save_all=True, append_images=images[1:], duration=times, loop=0
        )
    return len(images)


def write_folder(folder: Path, pictures: Any) -> int:
    """Pictures 000.png, 001.png ..., all of them or none."""
    count = 0
    with whole(folder) as aside:
        aside.mkdir()
        for image in pictures:
            image.save(aside / f"{count:03}.png")
            count += 1
    return count
