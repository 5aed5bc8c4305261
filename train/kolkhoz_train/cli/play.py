"""`kolkhoz play`: a person at the table."""

from __future__ import annotations

import argparse
import secrets
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import KolkhozError
from kolkhoz_train.cli.common import check_writable, natural_int, player_count

NO_CODE = "a saved game names code, which is run, only with --code"
EXAMPLE = """examples:
  kolkhoz play
  kolkhoz play --seat 2 --opponents heuristic random heuristic --seed 7
  kolkhoz play --players 3 --opponents heuristic --save game.json
  kolkhoz play --resume game.json
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "play",
        help="a person at the table, in the terminal",
        description="Play a game against agents. Legal moves are numbered; ? explains the rule at "
        "hand, h asks a bot, t shows the table, s saves, q leaves. Reads numbers from a pipe too.",
        epilog=EXAMPLE,
    )
    parser.add_argument(
        "--players", type=player_count, metavar="P",
        help="3 or 4 (default: one more than there are opponents, else 4)",
    )  # fmt: skip
    parser.add_argument("--seat", type=natural_int, metavar="K", help="your seat (default: 0)")
    parser.add_argument(
        "--opponents", nargs="+", metavar="AGENT",
        help="one for all other seats, or one a seat from your left (default: the first shipped "
        "bot, or heuristic)",
    )  # fmt: skip
    parser.add_argument(
        "--hint", metavar="AGENT", help="whom h asks (default: as the default opponent)"
    )
    parser.add_argument(
        "--seed", type=natural_int, metavar="S", help="seed of the deals (default: a random one)"
    )
    parser.add_argument(
        "--save", type=Path, metavar="FILE",
        help="keep the game in FILE after every move of yours; at its end FILE is its record",
    )  # fmt: skip
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="take up a saved game, and keep it there"
    )
    parser.add_argument(
        "--code",
        action="store_true",
        help="let a saved game name opponents by package.module:Factory, which is run",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play one game; 0 as well when the person leaves before the end."""
    from rich.console import Console

    from kolkhoz_train.play import Left, Session, line_reader
    from kolkhoz_train.play_save import load_game, save_game

    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    if args.save is not None and args.save.exists() and args.save != args.resume:
        raise KolkhozError(f"--save {args.save}: exists already; name another file, or --resume it")
    keep = args.save or args.resume
    if keep is not None:
        check_writable("--save" if args.save else "--resume", keep)
    if args.resume is not None:
        saved = load_game(args.resume)
        for option in ("players", "seat", "opponents", "seed"):
            if getattr(args, option) is not None:
                raise KolkhozError(f"--{option}: --resume goes on with the game as it was begun")
    else:
        saved = new_game(args)
    hint = args.hint or default_agent(len(saved.opponents) + 1)
    check_agents(args.resume, saved, hint, code=args.code)
    source = str(args.resume or "saved game")
    session = Session(saved, hint, console, line_reader(console), keep, source)
    names = ", ".join(f"seat {seat} {agent.name}" for seat, agent in session.agents.items())
    console.print(f"You sit at seat {saved.seat}; {names}. Seed {saved.seed}.", highlight=False)
    try:
        session.run()
    except (Left, KeyboardInterrupt) as reason:
        stopped = isinstance(reason, KeyboardInterrupt)
        console.print("\nStopped." if stopped else str(reason), highlight=False)
        if keep is not None:
            save_game(keep, saved)
            again = f"Take the game up again with: kolkhoz play --resume {keep}"
            console.print(again, soft_wrap=True)
        return 130 if stopped else 0
    return 0


def new_game(args: argparse.Namespace) -> Any:
    """The game that the arguments ask for."""
    from kolkhoz_env.rules import Rules
    from kolkhoz_train.play_save import SavedGame

    given = len(args.opponents or [])
    players = args.players or (given + 1 if given > 1 else 4)
    opponents = args.opponents or [default_agent(players)]
    if len(opponents) == 1:
        opponents = opponents * (players - 1)
    if len(opponents) != players - 1 or players not in (3, 4):
        raise KolkhozError(
            f"--opponents: {len(opponents)} given; one, or one for each of "
            f"{(args.players or 4) - 1} other seats, is needed"
        )
    seat = args.seat or 0
    if seat >= players:
        raise KolkhozError(f"--seat {seat}: should be from 0 to {players - 1}")
    seed = secrets.randbelow(10**6) if args.seed is None else args.seed
    return SavedGame(Rules(players=players).to_dict(), seed, seat, list(opponents))


def check_agents(path: Path | None, saved: Any, hint: str, *, code: bool) -> None:
    """Raise KolkhozError unless everybody who sits down or is asked can play this game.

    Opponents that a file names are no code, unless that is allowed.
    """
    from kolkhoz_agents.games import make_game, names_only
    from kolkhoz_agents.registry import make_agent

    game = make_game("kolkhoz", saved.rules)
    opponents = "--opponents" if path is None else f"{path}: opponents"
    asked = [*((opponents, text) for text in dict.fromkeys(saved.opponents)), ("--hint", hint)]
    for where, text in asked:
        named = path is not None and where == opponents and not code
        try:
            with names_only(NO_CODE) if named else nullcontext():
                make_agent(text, game)
        except KolkhozError as error:
            raise KolkhozError(f"{where}: {error}") from error


def default_agent(players: int) -> str:
    """The first shipped bot that plays at this table, else the heuristic agent."""
    from kolkhoz_agents.games import make_game
    from kolkhoz_agents.registry import make_agent, shipped_bots

    game = make_game("kolkhoz", {"players": players})
    for name in shipped_bots():
        try:
            make_agent(name, game)
        except KolkhozError:
            continue
        return name
    return "heuristic"
