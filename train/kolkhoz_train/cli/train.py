"""`kolkhoz train`: train what a config file describes."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

EXAMPLE = """examples:
  kolkhoz train configs/quickstart.yaml
  kolkhoz train quickstart --set budget.minutes=1 --set network.hidden=[128,128]
  kolkhoz train --resume runs/quickstart
  kolkhoz train --explain
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "train",
        help="train what a config file describes",
        description="Train what a config file describes, and write a run folder: the config as "
        "resolved, run.json, checkpoints, TensorBoard logs and the bot (or belief). Ctrl-C saves; "
        "--resume goes on.",
        epilog=EXAMPLE,
    )
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG.yaml", help="a file, or the name of a shipped config"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY.PATH=VALUE",
        dest="settings",
        help="another value for a key of the config; may be given several times",
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        metavar="DIR",
        help="the run folder (default: runs/NAME, or the first of runs/NAME-2, ... that is free)",
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in a folder")
    parser.add_argument(
        "--code",
        action="store_true",
        help="let the config name code, package.module:Factory, which is run: your own, that is",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print every key with its meaning, and its value in CONFIG.yaml (if given)",
    )
    parser.set_defaults(run=run)


NO_CODE = "a config names code, which is run, only with --code (or register it by an entry point)"


def run(args: argparse.Namespace) -> int:
    """Explain, train or resume."""
    from kolkhoz_agents.games import names_only

    with nullcontext() if args.code else names_only(NO_CODE):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from kolkhoz_train.config import ConfigError, read_config
    from kolkhoz_train.config_messages import Source
    from kolkhoz_train.shipped import find_config

    console = Console()
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    if args.resume is not None and (args.config or args.settings or args.run_dir):
        raise ConfigError("--resume goes on with the run's own config: give it alone")
    if args.explain and (args.resume or args.run_dir):
        raise ConfigError("--explain trains nothing: give it a CONFIG.yaml, or nothing else")
    if args.resume is None and args.config is None and not args.explain:
        raise ConfigError("give a CONFIG.yaml to train, or --resume DIR to go on with a run")
    config = None
    if args.config is not None:
        config = read_config(find_config(args.config), args.settings)
    if args.explain:
        from kolkhoz_train.explain import explain

        print(explain(config))
        return 0
    from kolkhoz_train import train

    folder = args.resume or args.run_dir or train.free_folder(Path(args.config or "").stem)
    if config is not None:
        done = train.begin_run(config, folder, Source(args.config, tuple(args.settings)))
    try:
        if config is None:
            done = train.resume_run(args.resume, console)
        else:
            say(f"training {args.config} in {folder}")
            train.train_run(config, done, console)
    except KeyboardInterrupt:
        if config is not None and config.algorithm.name == "sb3_maskable_ppo":
            say(f"stopped; the bot as it was is in {done.bot}")
        else:
            say(f"stopped and saved; go on with: kolkhoz train --resume {folder}")
        raise
    say(f"done: the {done.result.name} is in {done.result}")
    return 0
