"""`kolkhoz tournament AGENT...`: every pairing, and mixed tables."""

from __future__ import annotations

import argparse

from kolkhoz_train.cli.common import natural_int
from kolkhoz_train.cli.matches import add_match_options, finish, settings_of

EPILOG = """Each pair plays as in `kolkhoz evaluate`; in mixed tables different agents sit together.
The matrix says what one of the row takes from copies of the column.

examples:
  kolkhoz tournament random greedy heuristic --deals 500 --seed 1 --plot matrix.png
  kolkhoz tournament heuristic foreman runs/quickstart --until-width 0.02 --json result.json
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `kolkhoz tournament`."""
    parser = subparsers.add_parser(
        "tournament",
        help="many agents: every pairing, and mixed tables",
        description="Play many agents against each other: every pairing, and mixed tables.",
        epilog=EPILOG,
    )
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="two agents or more")
    parser.add_argument("--plot", metavar="FILE", help="write the matrix as a picture (.png, .svg)")
    parser.add_argument(
        "--mixed",
        type=natural_int,
        default=24,
        metavar="N",
        help="the most groups of agents that share mixed tables (default 24; 0: none)",
    )
    add_match_options(parser)
    parser.set_defaults(run=run, command="tournament")


def run(arguments: argparse.Namespace) -> int:
    """Play, print, plot and write the outcome."""
    from kolkhoz_agents.display import tournament_tables
    from kolkhoz_agents.plots import check_plot_name, plot_matrix
    from kolkhoz_agents.tournament import tournament

    if arguments.plot:
        check_plot_name(arguments.plot)
    result, match = tournament(arguments.agents, settings_of(arguments), arguments.mixed)
    if arguments.plot and result.deals:
        plot_matrix(result, arguments.plot)
    return finish(arguments, result.as_dict(), tournament_tables(result), match, result.faults)
