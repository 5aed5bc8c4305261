"""What `evaluate` and `tournament` share: their options, and how a match ends."""

from __future__ import annotations

import argparse
import itertools
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kolkhoz_agents.words import counted
from kolkhoz_env.errors import KolkhozError
from kolkhoz_train.cli.common import (
    check_writable,
    deal_count,
    natural_int,
    player_count,
    positive_int,
    write_json,
)

if TYPE_CHECKING:
    from kolkhoz_agents.evaluation import Settings
    from kolkhoz_agents.faults import Fault
    from kolkhoz_agents.match import Match

MOST_FAULT_FILES = 20


def positive_number(text: str) -> float:
    """An argument that is a number above 0, and of seconds that a clock can count."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number above 0, at most 1000000")
    return number


def add_match_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that plays a match."""
    parser.add_argument("--players", type=player_count, help="3 or 4 (default 4)")
    parser.add_argument("--deals", type=deal_count, help="deals to play (default 1000)")
    parser.add_argument(
        "--until-width",
        type=positive_number,
        metavar="W",
        help="play until every 95%% interval of a win share is W wide, such as 0.01",
    )
    parser.add_argument("--seed", type=natural_int, default=0, help="names the decks (default 0)")
    parser.add_argument("--workers", type=positive_int, help="processes (default: one a processor)")
    parser.add_argument("--json", metavar="FILE", help="write the result here ('-': to stdout)")
    parser.add_argument("--records", metavar="FILE", help="write a record of every game here")
    parser.add_argument(
        "--resume", metavar="FILE", help="go on from this file if it exists; save to it"
    )
    parser.add_argument(
        "--on-fault",
        choices=("stop", "forfeit"),
        default="stop",
        help="what follows when an agent fails: the match stops, or its seat loses the game",
    )
    parser.add_argument(
        "--time-limit",
        type=positive_number,
        default=600.0,
        metavar="S",
        help="seconds that an agent may take for one call, a batch of decisions (default 600)",
    )
    parser.add_argument(
        "--faults",
        metavar="DIR",
        default="faults",
        help="where faults are described (default faults)",
    )
    add_game_options(parser)


def add_game_options(parser: argparse.ArgumentParser) -> None:
    """The options that choose another game or other rules."""
    parser.add_argument("--game", default="kolkhoz", help="a registered game, or module:factory")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another rule than the printed one, such as hero_of_labor=false",
    )


def rules_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The rules that `--players` and `--rule` ask for."""
    rules: dict[str, Any] = {}
    for text in arguments.rule:
        name, equals, value = text.partition("=")
        if not equals:
            raise KolkhozError(f"--rule {text}: should have the form NAME=VALUE")
        if name in rules:
            raise KolkhozError(f"--rule {text}: {name} is given twice")
        try:
            rules[name] = json.loads(value)
        except (ValueError, RecursionError):
            rules[name] = {"true": True, "false": False}.get(value.lower(), value)
    if getattr(arguments, "players", None) is not None:
        if "players" in rules:
            raise KolkhozError(f"--players {arguments.players}: players is given by --rule too")
        rules["players"] = arguments.players
    return rules


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings of a match, shown on stderr while it runs."""
    from rich.console import Console

    from kolkhoz_agents.display import Watch
    from kolkhoz_agents.evaluation import Settings

    for option in ("json", "records", "resume", "plot"):
        path = getattr(arguments, option, None)
        if path == "-" and option != "json":
            raise KolkhozError(f"--{option} -: should be a file; only --json writes to stdout")
        if path not in (None, "-"):
            check_writable(f"--{option}", Path(path))
    if Path(arguments.faults).exists() and not Path(arguments.faults).is_dir():
        raise KolkhozError(f"--faults {arguments.faults}: is a file and should be a folder")
    return Settings(
        game=arguments.game,
        rules=rules_of(arguments),
        deals=arguments.deals,
        until_width=arguments.until_width,
        seed=arguments.seed,
        workers=arguments.workers,
        on_fault=arguments.on_fault,
        limit=arguments.time_limit,
        records=arguments.records,
        state=arguments.resume,
        progress=Watch(Console(stderr=True)),
    )


def finish(
    arguments: argparse.Namespace,
    result: dict[str, Any],
    tables: Sequence[Any],
    match: Match,
    faults: Sequence[Fault],
) -> int:
    """Print and write a result; the exit status says whether the match was played to its end."""
    from rich.console import Console

    if arguments.json == "-":
        print(json.dumps(result, indent=2, allow_nan=False))
    elif result["deals"]:
        for table in tables:
            Console().print(table)
    if arguments.json and arguments.json != "-":
        write_json(arguments.json, result)
    _report_faults(faults, Path(arguments.faults))
    if result["stopped"] is None:
        return 0
    if result["stopped"] not in ("interrupted", "fault"):
        _say(f"kolkhoz: {result['stopped']}")
    path = arguments.resume or _free_name(f"{arguments.command}-{arguments.seed}")
    match.save(path)
    again = arguments.words if arguments.resume else [*arguments.words, "--resume", path]
    _say(f"finished: {counted(result['deals'], 'deal')}, kept in {path}; to go on:")
    _say(f"  {shlex.join(['kolkhoz', *again])}")
    return 130 if result["stopped"] == "interrupted" else 1


def _free_name(stem: str) -> str:
    """A name for a state file that no file has yet."""
    names = (f"{stem}{'-' if n else ''}{n or ''}.npz" for n in itertools.count())
    return next(name for name in names if not Path(name).exists())


def _report_faults(faults: Sequence[Fault], folder: Path) -> None:
    for fault in faults[:MOST_FAULT_FILES]:
        place = fault.position
        name = f"deal{place['deal']}-seating{place['seating']}-decision{place['decision']}.json"
        write_json(folder / name, fault.as_dict())
        _say(f"kolkhoz: {fault.line()}; described in {folder / name}")
    if len(faults) > MOST_FAULT_FILES:
        _say(f"kolkhoz: and {counted(len(faults) - MOST_FAULT_FILES, 'fault')} more")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
