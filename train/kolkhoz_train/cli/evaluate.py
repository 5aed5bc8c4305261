"""`kolkhoz evaluate A B`: two agents head to head."""

from __future__ import annotations

import argparse

from kolkhoz_train.cli.matches import add_match_options, finish, settings_of

EPILOG = """One A plays against copies of B, and one B against copies of A; every deal is played in
every seat rotation of both tables. Intervals are 95%, bootstrapped by deal.

examples:
  kolkhoz evaluate heuristic random --deals 1000 --seed 1
  kolkhoz evaluate runs/quickstart heuristic --until-width 0.01 --json result.json
  kolkhoz evaluate search:ms=100 heuristic --one-way --deals 50 --resume night.npz
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `kolkhoz evaluate`."""
    parser = subparsers.add_parser(
        "evaluate",
        help="two agents head to head",
        description="Play two agents head to head, and say how often each wins and how sure that "
        "is.",
        epilog=EPILOG,
    )
    parser.add_argument("first", metavar="A", help="an agent; `kolkhoz agents` lists what there is")
    parser.add_argument("second", metavar="B", help="another agent")
    parser.add_argument(
        "--one-way",
        action="store_true",
        help="only one A against copies of B: a quarter of A's decisions, if A thinks long",
    )
    add_match_options(parser)
    parser.set_defaults(run=run, command="evaluate")


def run(arguments: argparse.Namespace) -> int:
    """Play, print and write the verdict."""
    from kolkhoz_agents.display import evaluation_table
    from kolkhoz_agents.evaluation import evaluate

    result, match = evaluate(
        arguments.first, arguments.second, settings_of(arguments), one_way=arguments.one_way
    )
    return finish(arguments, result.as_dict(), [evaluation_table(result)], match, result.faults)
