"""The command `kolkhoz`: its list of commands, and what becomes of errors.

A command is a module of this package with a function `add_parser(subparsers)` that adds its parser
and sets `run`, a function from the parsed arguments to the exit status. Command modules import
what is large (torch, the engine) inside `run`, so that `kolkhoz --help` answers at once and works
without the optional extras.

Exit status: 0 done, 1 a check said no, 2 a bad argument, file or config, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import version
from itertools import groupby
from typing import NoReturn

from rich.text import Text
from rich_argparse import RawDescriptionRichHelpFormatter

from kolkhoz_env.errors import KolkhozError, MissingExtraError

COMMANDS = (
    "quickstart",
    "train",
    "evaluate",
    "tournament",
    "export",
    "verify_export",
    "serve",
    "records",
    "play",
    "bench",
    "agents",
)
"""Modules of this package, in the order of the help."""

EXTRAS = {
    "torch": "train",
    "tensorboard": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "matplotlib": "evaluate",
    "openskill": "evaluate",
    "onnx": "export",
    "onnxruntime": "export",
    "onnxscript": "export",
    "starlette": "export",
    "uvicorn": "export",
}
"""The extra that brings a package outside the base install."""

EPILOG = """examples:
  kolkhoz quickstart
  kolkhoz evaluate heuristic random --deals 200 --seed 1
  kolkhoz play --opponents heuristic
"""


class HelpFormatter(RawDescriptionRichHelpFormatter):
    """Coloured help that shows brackets as they are and leaves examples as they are written."""

    help_markup = False
    text_markup = False

    def _rich_fill_text(self, text: Text, width: int, indent: Text) -> Text:
        """Sentences wrapped to the width; what is indented, as examples are, stays on its line."""
        lines: list[Text] = []
        for raw, group in groupby(text.split(allow_blank=True), _stays):
            together = list(group)
            lines += together if raw else Text(" ").join(together).wrap(self.console, width)
        return Text("\n").join(indent + line for line in lines) + "\n\n"


def _stays(line: Text) -> bool:
    """Whether a line of help is no part of a paragraph: indented, as examples are, or blank."""
    return line.plain.startswith("  ") or not line.plain.strip()


class Parser(argparse.ArgumentParser):
    """An argument parser that answers a bad argument with one line."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Print one line that names the argument, and exit with 2."""
        choice = re.match(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        if choice:
            name, given, possible = choice.groups()
            names = re.findall(r"[\w-]+", possible)
            near = get_close_matches(given, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"{name} {given!r} should be one of {', '.join(names)}{hint}"
        self.exit(2, f"{self.prog}: {one_line(message)} (see: {self.prog} --help)\n")


def one_line(message: object) -> str:
    """The text of `message` on one line."""
    return "; ".join(line.strip() for line in str(message).splitlines() if line.strip())


def make_parser() -> Parser:
    """The parser of `kolkhoz` with all commands."""
    parser = Parser(
        prog="kolkhoz",
        description="Train, measure, play and export players of the card game Kolkhoz.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"kolkhoz {version('kolkhoz-lab')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"kolkhoz_train.cli.{name}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; expected errors become one line on stderr."""
    parsed = make_parser().parse_args(arguments)
    # How the command may be called again, whoever called it.
    parsed.words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = parsed.run(parsed)
        sys.stdout.flush()
    except KolkhozError as error:
        return fail(error)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        return fail(MissingExtraError("this command", EXTRAS[module], module))
    except BrokenPipeError:
        # The reader (`head`, a pager) has gone: nothing is left to tell it, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError as error:
        return fail(f"not enough memory: {error}" if str(error) else "not enough memory")
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else error)
    except KeyboardInterrupt:
        print("kolkhoz: stopped", file=sys.stderr)
        return 130
    return int(status or 0)


def fail(message: object) -> int:
    """Say what is wrong in one line on stderr; the exit status of a bad argument or file."""
    print(f"kolkhoz: {one_line(message)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
