"""`kolkhoz records draw`: a recorded game as an animation or a folder of pictures."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import KolkhozError, RecordError
from kolkhoz_train.cli.common import natural_int, positive_int

EXAMPLE = """examples:
  kolkhoz records draw games.jsonl --game 3 --out game.gif
  kolkhoz records draw games.jsonl --every year --out pictures
  kolkhoz records draw games.jsonl --seat 0 --width 600 --every trick --out game.gif
"""

EVERY = ("move", "trick", "year")


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
        "--every", choices=EVERY, default="move",
        help="a picture of every move, or at the end of every trick or year (default: move)",
    )  # fmt: skip
    parser.add_argument(
        "--seat", type=natural_int, metavar="S",
        help="what this seat knows (default: all cards open)",
    )  # fmt: skip
    parser.add_argument(
        "--width", type=positive_int, default=800, metavar="W", help="pixels (default: 800)"
    )
    parser.add_argument(
        "--milliseconds", type=positive_int, default=700, metavar="T",
        help="how long the animation shows a picture (default: 700)",
    )  # fmt: skip
    parser.set_defaults(run=draw)


def draw(args: argparse.Namespace) -> int:
    """Write the animation or the pictures."""
    from kolkhoz_env.drawing.film import frames
    from kolkhoz_env.records import read_records

    if not args.file.is_file():
        raise KolkhozError(f"{args.file}: no such file")
    records = read_records(args.file)
    if args.game >= len(records):
        raise RecordError(
            f"{args.file}: --game {args.game} should be below {len(records)}, the number of games"
        )
    record = records[args.game]
    players = len(record["result"]["scores"])
    if args.seat is not None and args.seat >= players:
        raise KolkhozError(f"--seat {args.seat}: should be from 0 to {players - 1}")
    pictures = frames(record, args.every, args.seat, args.width)
    if args.out.suffix.lower() == ".gif":
        count = write_gif(args.out, pictures, args.milliseconds)
    else:
        count = write_folder(args.out, pictures)
    print(f"{args.out}: {count} pictures of game {args.game}")
    return 0


def write_gif(path: Path, pictures: Any, milliseconds: int) -> int:
    """One animation; the last picture stays five times as long."""
    from PIL import Image

    images = [image.quantize(64, dither=Image.Dither.NONE) for image in pictures]
    times = [milliseconds] * (len(images) - 1) + [5 * milliseconds]
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        images[0].save(
            aside, format="GIF", save_all=True, append_images=images[1:], duration=times, loop=0
        )
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return len(images)


def write_folder(folder: Path, pictures: Any) -> int:
    """Pictures 000.png, 001.png ..."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for image in pictures:
        image.save(folder / f"{count:03}.png")
        count += 1
    return count
