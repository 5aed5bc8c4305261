"""Compare settings of `search` by what they gain a decision over the bot that plays on in it.

Whole games tell settings apart slowly, because luck decides most of them. Here positions are taken
from games of the bot against itself. Every setting chooses a move in each; wherever not all agree,
the moves chosen are played on to the end of the game by the bot for all seats, in the same worlds,
which no search has seen. Printed is what a setting gains over the bot's own moves, in win shares a
decision, and the difference to the first setting, each with its 95% interval.

    python tools/search_settings.py foreman search:worlds=16,rollout=foreman \
        search:worlds=48,rollout=foreman --decisions 1200 --seed 1
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import mix
from kolkhoz_agents.playouts import Playouts
from kolkhoz_agents.protocol import KNOWLEDGE, OBSERVATION, Agent, Decisions
from kolkhoz_agents.referee import make_decisions
from kolkhoz_agents.registry import make_agent
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import State

GAMES = 48
AT_ONCE = 40
"""Positions whose moves are judged side by side."""
CHOICES = 95
"""A count of decisions is for games with so few of them; most have half as many again."""


def positions(game: KolkhozGame, bot: Agent, count: int, seed: int) -> Decisions:
    """About `count` decisions with a choice, from games of the bot against itself."""
    table = game.table(seed, np.arange(GAMES), auto_forced=True)
    draw = np.random.default_rng(seed)
    parts: list[Decisions] = []
    while not table.over.all():
        rows = np.flatnonzero(~table.over)
        mask = table.legal_mask()
        chosen = draw.random(len(rows)) < count / (GAMES * CHOICES)
        asked = rows[(mask[rows].sum(axis=1) > 1) & chosen]
        if len(asked):
            needs = frozenset({KNOWLEDGE, OBSERVATION})
            parts.append(make_decisions(game, table, asked, mask[asked], seed, needs))
        actions = np.zeros(table.size, dtype=np.int64)
        actions[rows] = bot.act(make_decisions(game, table, rows, mask[rows], 1, bot.needs))
        table.step(actions)
    return joined(game, parts)


def joined(game: KolkhozGame, parts: list[Decisions]) -> Decisions:
    """All decisions in one batch."""
    known: list[Any] = [part.knowledge for part in parts]
    state = State(
        **{f.name: np.concatenate([getattr(k.state, f.name) for k in known]) for f in fields(State)}
    )
    knowledge = Knowledge(state, np.concatenate([k.seats for k in known]), known[0].rules)
    names = ("mask", "seat", "phase", "keys", "observation")
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Decisions(game=game, knowledge=knowledge, **arrays)


def worth(
    playouts: Playouts, decisions: Decisions, wanted: NDArray[np.bool_], worlds: int
) -> NDArray[np.float64]:
    """Mean win share of the wanted moves bool[B, A] in worlds common to a decision's moves."""
    result = np.zeros(wanted.shape)
    rows = np.flatnonzero(wanted.any(axis=1))
    for part in np.array_split(rows, len(rows) // AT_ONCE + 1):
        few = decisions.take(part)
        assert few.knowledge is not None
        which, move = np.nonzero(wanted[part])
        world = (which[:, None] * worlds + np.arange(worlds)).ravel()
        # Not the worlds of any search: those are hashed from the key in another way.
        table = few.knowledge.worlds(worlds, mix(few.keys + np.uint64(987654321))).take(world)
        table.step(np.repeat(move, worlds))
        seats = np.repeat(np.asarray(few.seat)[which], worlds)
        values = playouts.values(table, seats, mix(world.astype(np.uint64)))
        result[part[which], move] = values.reshape(-1, worlds).mean(axis=1)
    return result


def main() -> None:
    """Ask, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bot", help="who plays on, and whose own moves are the measure")
    parser.add_argument("agents", nargs="+", help="settings of search")
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--decisions", type=int, default=1200)
    parser.add_argument("--worlds", type=int, default=64, help="worlds that judge a move")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    game = KolkhozGame(Rules(players=args.players))
    bot = make_agent(args.bot, game)
    decisions = positions(game, bot, args.decisions, args.seed)
    chosen = [bot.act(decisions)]
    for text in args.agents:
        begin = process_time()
        chosen.append(make_agent(text, game).act(decisions))
        cost = 1000 * (process_time() - begin) / len(decisions)
        differs = (chosen[-1] != chosen[0]).mean()
        print(f"{text}: {cost:.1f} ms a decision, {differs:.1%} other moves", flush=True)
    moves = np.stack(chosen, axis=1)
    wanted = np.zeros(decisions.mask.shape, dtype=np.bool_)
    np.put_along_axis(wanted, moves, True, axis=1)
    wanted[(moves == moves[:, :1]).all(axis=1)] = False
    value = worth(Playouts(game, bot, to_end=True), decisions, wanted, args.worlds)
    gains = np.take_along_axis(value, moves, axis=1)
    gains -= gains[:, :1]
    print(f"{len(decisions)} decisions; gains in 1/10,000 of a win a decision")
    for number, text in enumerate(args.agents, 1):
        print(f"{text}: {interval(gains[:, number])}", end="")
        print(f"; to the first {interval(gains[:, number] - gains[:, 1])}" if number > 1 else "")


def interval(values: NDArray[np.float64]) -> str:
    """Mean and 95% interval, in ten-thousandths."""
    half = 1.96 * values.std() / np.sqrt(len(values))
    return f"{1e4 * values.mean():.0f} ({1e4 * (values.mean() - half):.0f} to "\
        f"{1e4 * (values.mean() + half):.0f})"  # fmt: skip


if __name__ == "__main__":
    main()
