"""`kolkhoz quickstart`: from nothing to a trained, measured and exported bot."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from kolkhoz_env.errors import KolkhozError
from kolkhoz_train.cli.common import deal_count, natural_int

CONFIG = "quickstart"
EXAMPLE = """example:
  kolkhoz quickstart
  kolkhoz quickstart --run-dir runs/first --set budget.minutes=1
"""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "quickstart",
        help="train a first bot, evaluate it against random, export it and check the export",
        description="Train a first bot from configs/quickstart.yaml (a few minutes), evaluate it "
        "against random, export it for other front ends and check the export. Stopped half-way, "
        "the same command goes on; when all is done, it starts another run in a folder beside.",
        epilog=EXAMPLE,
    )
    parser.add_argument("--config", default=CONFIG, help="the config (default: quickstart)")
    parser.add_argument(
        "--run-dir",
        type=Path,
        default=Path("runs/quickstart"),
        metavar="DIR",
        help="the run folder (default: runs/quickstart)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="another value for a key of the config, as in kolkhoz train",
    )
    parser.add_argument(
        "--deals",
        type=deal_count,
        default=500,
        metavar="N",
        help="deals of the evaluation, each played in every seat rotation (default: 500)",
    )
    parser.add_argument(
        "--seed",
        type=natural_int,
        default=1,
        metavar="S",
        help="seed of the evaluation's deals (default: 1)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do every step that is not done yet, and say where everything is."""
    from kolkhoz_train.cli.main import main

    folder = next_folder(args.run_dir)
    evaluation, bundle = folder / "evaluation.json", folder / "bundle"
    steps = []
    if not is_trained(folder):
        check_goes_on(folder, args.config, args.settings)
        steps.append(train_command(folder, args.config, args.settings))
    if not evaluation.exists():
        deals = ["--deals", str(args.deals), "--seed", str(args.seed)]
        steps.append(["evaluate", str(folder), "random", *deals, "--json", str(evaluation)])
    steps.append(["export", str(folder), str(bundle)])
    steps.append(["verify-export", str(bundle)])
    for number, step in enumerate(steps, 1):
        print(f"\n[{number}/{len(steps)}] kolkhoz {shlex.join(step)}", flush=True)
        if status := main(step):
            return status
    (folder / "quickstart.done").touch()
    return report(folder, json.loads(evaluation.read_text(encoding="utf-8")))


def next_folder(folder: Path) -> Path:
    """`folder`, or the first of folder-2, folder-3, ... in which there is something left to do."""
    candidate, number = folder, 1
    while (candidate / "quickstart.done").exists() or is_lost(candidate):
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate


def is_trained(folder: Path) -> bool:
    """Whether the run in `folder` went to its end."""
    try:
        state = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(state.get("finished")) and (folder / "bot" / "bot.json").exists()


def is_lost(folder: Path) -> bool:
    """Whether the run in `folder` was stopped and is one of SB3's, which can't go on."""
    try:
        state = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        algorithm = state["config"]["algorithm"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return not state.get("finished") and algorithm == "sb3_maskable_ppo"


def check_goes_on(folder: Path, config: str, settings: list[str]) -> None:
    """Raise KolkhozError if an unfinished run in `folder` is of another config than this one."""
    from kolkhoz_train.config import read_config
    from kolkhoz_train.shipped import find_config

    if not (folder / "run.json").exists() or not (settings or config != CONFIG):
        return
    if read_config(find_config(config), settings) != read_config(folder / "config.yaml"):
        raise KolkhozError(
            f"{folder}: an unfinished run of another config lies there; leave out --config and "
            "--set to go on with it, or name another folder by --run-dir"
        )


def train_command(folder: Path, config: str, settings: list[str]) -> list[str]:
    """Arguments that begin the run in `folder`, or go on with it."""
    if (folder / "run.json").exists():
        return ["train", "--resume", str(folder)]
    overrides = [part for setting in settings for part in ("--set", setting)]
    return ["train", config, "--run-dir", str(folder), *overrides]


def report(folder: Path, evaluation: dict[str, Any]) -> int:
    """Print how strong the bot is and where everything lies; 1 if it is not clearly above par."""
    players, table = evaluation["players"], evaluation["tables"][0]
    mean, low, high = (100 * value for value in table["win_share"])
    par = 100 / players
    verdict = "clearly better than random" if low > par else "NOT clearly better than random"
    print(
        f"\nThe bot is {verdict}: it wins {mean:.1f}% of {table['games']} games against "
        f"{players - 1} random players\n(par {par:.0f}%, 95% interval {low:.1f} to {high:.1f}%).\n"
        "\n"
        f"  the bot         {folder}/bot\n"
        f"  for front ends  {folder}/bundle (start with its README.md)\n"
        f"  its curves      tensorboard --logdir {folder}\n"
        f"  its results     {folder}/evaluation.json\n"
        f"  play it         kolkhoz play --opponents {folder}\n"
    )
    return 0 if low > par else 1
