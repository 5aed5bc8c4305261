"""Decisions per second of each part: engine, environments, agents, training.

Moves are legal and random, chosen beforehand and played again, so that the engine's rate holds no
choice of moves. A rate is the median of several runs. Everything but training keeps to one core.
"""

from __future__ import annotations

import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.bots import BotError
from kolkhoz_agents.decisions import agent_seed
from kolkhoz_agents.games import make_game
from kolkhoz_agents.protocol import Agent, Decisions, Game, Table
from kolkhoz_agents.referee import make_decisions
from kolkhoz_agents.registry import make_agent, shipped_bots
from kolkhoz_env import VectorKolkhoz

GAME_LENGTH = 180
"""Steps that a measurement takes at least: a whole game, so that every phase has its share."""

AGENT_BATCH = 512
"""Positions that an agent is asked for at once."""


def random_actions(mask: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """int64[B]: a uniformly random legal action of each row of mask bool[B, A]."""
    return np.where(mask, generator.random(mask.shape, dtype=np.float32), -1.0).argmax(axis=1)


def median_rate(play: Callable[[], int], runs: int) -> float:
    """Decisions a second of `play`, which returns how many it made: the median of several runs."""
    rates = []
    for _ in range(runs):
        begin = time.perf_counter()
        decisions = play()
        rates.append(decisions / (time.perf_counter() - begin))
    return round(statistics.median(rates), 1)


def engine(players: int, batch: int, *, runs: int, seconds: float) -> dict[str, Any]:
    """Rates of step, step and mask, step and mask and observation, at one batch size.

    Observations go into one array (`observe(out=...)`), as a rollout buffer would take them: a new
    one of tens of megabytes a step would measure the operating system.
    """
    start = VectorKolkhoz(batch, players=players, seed=1)
    seen = start.observe()
    actions = _chosen(copy.deepcopy(start), seconds)

    def play(mask: bool, observe: bool) -> int:
        games = copy.deepcopy(start)
        for chosen in actions:
            games.step(chosen)
            if mask:
                games.legal_mask()
            if observe:
                games.observe(out=seen)
        return len(actions) * batch

    return {
        "players": players,
        "batch": batch,
        "step": median_rate(lambda: play(False, False), runs),
        "step_mask": median_rate(lambda: play(True, False), runs),
        "step_mask_observe": median_rate(lambda: play(True, True), runs),
    }


def _chosen(games: VectorKolkhoz, seconds: float) -> list[NDArray[np.int64]]:
    """Random legal actions of consecutive steps, at least a whole game and about `seconds`."""
    generator = np.random.default_rng(1)
    actions: list[NDArray[np.int64]] = []
    begin = time.perf_counter()
    while len(actions) < GAME_LENGTH or time.perf_counter() - begin < seconds:
        actions.append(random_actions(games.legal_mask(), generator))
        games.step(actions[-1])
    return actions


def state_bytes(players: int) -> int:
    """Bytes of state that a game takes."""
    state = VectorKolkhoz(1000, players=players, seed=1).state
    arrays = [value for value in vars(state).values() if isinstance(value, np.ndarray)]
    return round(sum(array.nbytes for array in arrays) / 1000)


def aec(players: int, *, runs: int, seconds: float) -> dict[str, float]:
    """Rates of the PettingZoo environments: `last`, a random legal move, `step`."""
    from kolkhoz_env import env, raw_env

    rates = {}
    for name, make in (("raw_env", raw_env), ("env", env)):
        table = make(players=players)
        rates[name] = median_rate(partial(_play_aec, table, seconds), runs)
    return rates


def _play_aec(table: Any, seconds: float) -> int:
    generator = np.random.default_rng(1)
    begin, decisions, seed = time.perf_counter(), 0, 0
    while decisions == 0 or time.perf_counter() - begin < seconds:
        table.reset(seed=seed)
        seed += 1
        for _ in table.agent_iter():
            observation, _, terminated, truncated, _ = table.last()
            if terminated or truncated:
                table.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"])
            table.step(legal[int(generator.random() * len(legal))])
            decisions += 1
    return decisions


def agents(
    players: int, names: list[str] | None = None, *, runs: int, seconds: float
) -> Iterator[tuple[str, float]]:
    """Decisions a second of agents that are asked for many positions at once."""
    game = make_game("kolkhoz", {"players": players})
    moments = _moments(game)
    for name, agent in _asked_for(names, game):
        rows, seed = np.arange(AGENT_BATCH), agent_seed(1, name)
        asked = [
            make_decisions(game, table, rows, table.legal_mask(), seed, agent.needs)
            for table in moments
        ]

        def play(agent: Agent = agent, asked: list[Decisions] = asked) -> int:
            begin, decisions = time.perf_counter(), 0
            while decisions == 0 or time.perf_counter() - begin < seconds:
                for batch in asked:
                    agent.act(batch)
                    decisions += len(batch)
            return decisions

        yield name, median_rate(play, runs)


def _asked_for(names: list[str] | None, game: Game) -> Iterator[tuple[str, Agent]]:
    """The named agents; by default the fast scripted ones and the shipped bots for the game."""
    if names is not None:
        yield from ((name, make_agent(name, game)) for name in names)
        return
    for name in ("random", "greedy", "heuristic", *shipped_bots()):
        try:
            yield name, make_agent(name, game)
        except BotError:  # a shipped bot for other rules, another number of players say
            continue


def _moments(game: Game) -> list[Table]:
    """The same games at several moments from the first to the last year."""
    table = game.table(1, np.arange(AGENT_BATCH))
    generator = np.random.default_rng(1)
    moments = []
    for step in range(GAME_LENGTH * 4 // 5):
        if step % (GAME_LENGTH // 10) == 0:
            moments.append(table.take(np.arange(AGENT_BATCH)))
        table.step(random_actions(table.legal_mask(), generator))
    return moments


def train(name: str, settings: list[str], seconds: float) -> dict[str, Any]:
    """Learned decisions a second of a short run of a config, and shares of its time.

    Acting, encoding, stepping, learning and logging count; saving and the evaluation do not.
    """
    from rich.console import Console

    from kolkhoz_train.config import read_config
    from kolkhoz_train.shipped import find_config
    from kolkhoz_train.train import new_run

    brief = (
        f"budget.minutes={seconds / 60}",
        "budget.decisions=null",
        "evaluation.every_minutes=60",
        "evaluation.final_deals=2",
    )
    config = read_config(find_config(name), [*settings, *brief])
    with tempfile.TemporaryDirectory() as folder:
        run = new_run(config, Path(folder) / "run", "bench", Console(quiet=True))
    return {
        "decisions_per_s": run.record["learned_decisions_per_s"],
        "config": name,
        "threads": run.record["threads"],
        "decisions": run.record["learned_decisions"],
        "time_shares": run.record["time_shares"],
    }
