"""`kolkhoz bench`: decisions per second of every part."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from kolkhoz_train.cli.common import check_writable, player_count, positive_int, write_json

EXAMPLE = """examples:
  kolkhoz bench --json speed.json
  kolkhoz bench --parts engine --batch 4096 --runs 9
  kolkhoz bench --parts agents --agents heuristic search:worlds=8
"""

PLAYERS = 4
MOST_GAMES = 1_000_000
PARTS = ("engine", "aec", "agents", "train")
BATCHES = (1, 256, 1024, 4096, 8192, 16384)


def add_parser(subparsers: Any) -> None:
    """Add the command's parser to those of `kolkhoz`."""
    parser = subparsers.add_parser(
        "bench",
        help="decisions per second of engine, masks, observations, agents, training",
        description="Measure decisions per second, each the median of several runs. Engine, "
        "environments and agents keep to one core; training takes what its config takes.",
        epilog=EXAMPLE,
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART",
        help=f"what to measure, of: {', '.join(PARTS)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--players", type=player_count, metavar="P", help="3 or 4 (default: 4, or the config's)"
    )
    parser.add_argument(
        "--batch", type=batch_size, nargs="+", default=BATCHES, metavar="N",
        help=f"batch sizes of the engine (default: {' '.join(map(str, BATCHES))})",
    )  # fmt: skip
    parser.add_argument(
        "--agents", nargs="+", metavar="AGENT",
        help="agents to time (default: random, greedy, heuristic and the shipped bots)",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=positive_int, default=3, metavar="N", help="runs a figure (default: 3)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=0.3, metavar="T",
        help="least seconds a run, before the engine's whole game (default: 0.3)",
    )  # fmt: skip
    parser.add_argument(
        "--train-seconds", type=seconds, default=20.0, metavar="T",
        help="seconds of training to measure (default: 20)",
    )  # fmt: skip
    parser.add_argument(
        "--config", default="from_nothing", metavar="CONFIG.yaml",
        help="what to train (default: from_nothing)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings",
        help="another value for a key of the config, as in kolkhoz train",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.set_defaults(run=lambda args: run(args))


def batch_size(text: str) -> int:
    """An argument that is a number of games side by side, some 2 KB each."""
    number = positive_int(text)
    if number > MOST_GAMES:
        raise argparse.ArgumentTypeError(f"{text!r} should be at most {MOST_GAMES}")
    return number


def seconds(text: str) -> float:
    """An argument that is a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 3600.0:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number of seconds above 0")
    return value


def run(args: argparse.Namespace) -> int:
    """Measure, print as figures come, and write what was measured even if interrupted."""
    args.seats = args.players or PLAYERS
    check(args)
    report: dict[str, Any] = {"runs": args.runs, "machine": machine()}
    try:
        for part in dict.fromkeys(args.parts):
            with one_core() if part != "train" else nullcontext():
                MEASURES[part](args, report)
    finally:
        if args.json:
            write_json(args.json, report)
            print(f"figures in {args.json}")
    return 0


def check(args: argparse.Namespace) -> None:
    """Raise KolkhozError for what could not be measured or written: now, not minutes later."""
    from kolkhoz_agents.games import make_game
    from kolkhoz_agents.registry import make_agent

    if args.json:
        check_writable("--json", args.json)
    if "agents" in args.parts and args.agents:
        game = make_game("kolkhoz", {"players": args.seats})
        for text in args.agents:
            make_agent(text, game)
    if "train" in args.parts:
        from kolkhoz_train.checks import check_config
        from kolkhoz_train.config import read_config
        from kolkhoz_train.config_messages import Source
        from kolkhoz_train.shipped import find_config

        config = read_config(find_config(args.config), args.settings)
        check_config(config, Source(args.config, tuple(args.settings)))


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, matrix products and all, to one core where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    import numpy as np

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def processor() -> str:
    """Name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def line(name: str, rate: float) -> None:
    """One figure as a line."""
    print(f"  {name:<34}{rate:>14,.0f} /s", flush=True)


def engine(args: argparse.Namespace, report: dict[str, Any]) -> None:
    """The engine at every batch size."""
    from kolkhoz_train import benchmark

    print(f"engine, {args.seats} players, decisions a second on one core")
    print(f"  {'batch':>8}{'step':>14}{'+ mask':>14}{'+ observation':>16}")
    report["engine"] = []
    for batch in args.batch:
        row = benchmark.engine(args.seats, batch, runs=args.runs, seconds=args.seconds)
        report["engine"].append(row)
        print(
            f"  {batch:>8,}{row['step']:>14,.0f}{row['step_mask']:>14,.0f}"
            f"{row['step_mask_observe']:>16,.0f}",
            flush=True,
        )
    report["state_bytes"] = benchmark.state_bytes(args.seats)
    print(f"  {report['state_bytes']:,} bytes of state a game")


def aec(args: argparse.Namespace, report: dict[str, Any]) -> None:
    """The PettingZoo environments."""
    from kolkhoz_train import benchmark

    print("PettingZoo environments, decisions a second with random legal play")
    report["aec"] = benchmark.aec(args.seats, runs=args.runs, seconds=args.seconds)
    for name, rate in report["aec"].items():
        line(name, rate)


def agents(args: argparse.Namespace, report: dict[str, Any]) -> None:
    """The agents."""
    from kolkhoz_train import benchmark

    print(f"agents, decisions a second in batches of {benchmark.AGENT_BATCH}")
    report["agents"] = {}
    measured = benchmark.agents(args.seats, args.agents, runs=args.runs, seconds=args.seconds)
    for name, rate in measured:
        report["agents"][name] = rate
        line(name, rate)


def train(args: argparse.Namespace, report: dict[str, Any]) -> None:
    """Training from end to end."""
    from kolkhoz_train import benchmark

    print(f"training, decisions a second end to end ({args.train_seconds:g} s of {args.config})")
    players = [f"game.rules.players={args.players}"] if args.players else []
    settings = [*players, *args.settings]
    report["train"] = benchmark.train(args.config, settings, args.train_seconds)
    line(f"learned, {report['train']['threads']} threads", report["train"]["decisions_per_s"])
    for name, share in sorted(report["train"]["time_shares"].items(), key=lambda item: -item[1]):
        print(f"    {name:<32}{share:>13.1%} of the time")


MEASURES = {"engine": engine, "aec": aec, "agents": agents, "train": train}
