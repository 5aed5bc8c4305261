"""`kolkhoz agents`: what can stand for an AGENT, with its options."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from kolkhoz_train.cli.matches import add_game_options, rules_of

if TYPE_CHECKING:
    from kolkhoz_agents.protocol import Option

DESCRIPTION = "List what can stand for an AGENT in other commands, with its options."
EPILOG = """An AGENT is written NAME, NAME:option=value,option=value, the path of a bot or run
folder (options too: runs/quickstart:temperature=1), or package.module:Factory for your own code. A
value with commas goes in parentheses: mix:play=(search:ms=100,rollout=foreman),rest=foreman.

examples:
  kolkhoz agents
  kolkhoz agents --json
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `kolkhoz agents`."""
    parser = subparsers.add_parser(
        "agents", help="what can stand for an AGENT", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    add_game_options(parser)
    parser.set_defaults(run=run, players=None)


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from rich.console import Console

    from kolkhoz_agents.games import make_game
    from kolkhoz_agents.registry import agent_kinds, bot_options, shipped_bots

    game = make_game(arguments.game, rules_of(arguments))
    entries = [(kind.name, kind.help, kind.options) for kind in agent_kinds(game)]
    entries += [(bot, "a shipped bot", bot_options()) for bot in shipped_bots()]
    entries.append(("BOT or RUN folder", "a trained bot", bot_options()))
    entries.append(("package.module:Factory", "your own code, Factory(game, **options)", ()))
    if arguments.json:
        described = [
            {"agent": name, "help": text, "options": [_describe(option) for option in options]}
            for name, text, options in entries
        ]
        print(json.dumps({"game": game.name, "agents": described}, indent=2))
        return 0
    console = Console(highlight=False)
    for name, text, options in entries:
        console.print(f"[bold]{name}[/bold]  {text}", soft_wrap=True)
        for option in options:
            console.print(_line(option), soft_wrap=True, markup=False)
    return 0


def _line(option: Option) -> str:
    default = "" if option.default in ("", None) else f" (default {_plain(option.default)})"
    choices = f", one of {', '.join(map(str, option.choices))}" if option.choices else ""
    return f"    {option.name}={_form(option)}  {option.help}{choices}{default}"


def _form(option: Option) -> str:
    return {int: "N", float: "X", bool: "true|false", str: "TEXT"}[option.kind]


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "kind": option.kind.__name__,
        "default": option.default,
        "choices": list(option.choices),
        "help": option.help,
    }
