"""Examples of decisions: views of real games with all that the bot makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.decisions import choose_sampled, choose_uniform, decision_keys
from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.view import make_views

#: Log-probabilities that are apart by less may change places by rounding.
CLEAR = 1e-5


@dataclass(frozen=True)
class Positions:
    """n decisions with what the seats to act know and what the network says of them.

    `observation` uint8[n, O], `mask` bool[n, A], `phase` int8[n], `log_probs` float32[n, A],
    `value` float32[n]; `game` int64[n] numbers the games.
    """

    knowledge: Knowledge
    observation: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    phase: NDArray[np.int8]
    log_probs: NDArray[np.float32]
    value: NDArray[np.float32]
    game: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.phase)

    def take(self, rows: NDArray[np.int64]) -> Positions:
        """Some of the decisions."""
        values = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return Positions(self.knowledge.take(rows), **values)

    def views(self) -> list[dict[str, Any]]:
        """The views of the seats to act."""
        return make_views(self.knowledge)

    def moves(self) -> NDArray[np.int64]:
        """The network's best legal action of each decision, int64[n]."""
        return self.log_probs.argmax(axis=1)

    def clear(self) -> NDArray[np.bool_]:
        """Where the best move is better by more than rounding, bool[n]."""
        best = np.sort(self.log_probs, axis=1)[:, -2:]
        return best[:, 1] - best[:, 0] > CLEAR


_ARRAYS = ("observation", "mask", "phase", "log_probs", "value", "game")


def log_softmax(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Log-probabilities float32[n, A] of legal actions, -inf for the others."""
    masked = np.where(mask, logits, np.float32(-np.inf))
    masked = masked - masked.max(axis=1, keepdims=True)
    return masked - np.log(np.exp(masked).sum(axis=1, keepdims=True))


def played(game: KolkhozGame, network: NumpyNetwork, games: int, seed: int) -> Iterator[Positions]:
    """The decisions of whole games, one from each running game at a time.

    The bot itself plays the even games, sampling its policy; moves of the odd ones are random, so
    that positions come up which it would not choose.
    """
    table = game.table(seed, np.arange(games))
    while not table.over.all():
        rows = np.flatnonzero(~table.over)
        observation, mask = table.observe(rows), table.legal_mask()[rows]
        phase = table.phase[rows].copy()
        logits, value = network.plain(observation, phase)
        log_probs = log_softmax(logits, mask)
        knowledge = table.knowledge(rows)
        numbers = table.game_ids[rows]
        yield Positions(knowledge, observation, mask, phase, log_probs, value, numbers)
        keys = decision_keys(seed, numbers, table.decision[rows], table.seat[rows])
        own = choose_sampled(log_probs, mask, keys)
        actions = np.zeros(games, np.int64)
        actions[rows] = np.where(numbers % 2 == 0, own, choose_uniform(mask, keys))
        table.step(actions)


def choose(steps: list[Positions], count: int, seed: int) -> list[Positions]:
    """About `count` of the decisions, the phases in turn, so that rare ones come up too.

    Decisions without a clearly best move are left out: no runtime could promise to repeat them.
    """
    phases = np.concatenate([np.where(step.clear(), step.phase, -1) for step in steps])
    order = np.random.default_rng(seed).permutation(len(phases))
    rank = np.full(len(phases), len(phases), np.int64)
    for phase in np.unique(phases[phases >= 0]):
        rows = order[phases[order] == phase]
        rank[rows] = np.arange(len(rows))
    chosen = np.zeros(len(phases), bool)
    chosen[np.argsort(rank, kind="stable")[:count]] = True
    chosen &= phases >= 0
    starts = np.cumsum([0, *(len(step) for step in steps)])
    parts = [
        step.take(np.flatnonzero(chosen[start : start + len(step)]))
        for step, start in zip(steps, starts[:-1], strict=True)
    ]
    return [part for part in parts if len(part)]


def vectors(positions: Positions, game: KolkhozGame) -> Iterator[dict[str, Any]]:
    """Each decision as a JSON-able example."""
    moves = positions.moves()
    for row, view in enumerate(positions.views()):
        legal = np.flatnonzero(positions.mask[row])
        logs = positions.log_probs[row, legal].astype(np.float64)
        seed = (int(positions.game[row]) * 1000003 + int(legal.sum()) * 7919 + row) % 2**32
        yield {
            "game": int(positions.game[row]),
            "view": view,
            "observation": positions.observation[row].tolist(),
            "mask": positions.mask[row].astype(int).tolist(),
            "log_probs": {
                game.action_name(int(action)): round(float(entry), 7)
                for action, entry in zip(legal, logs, strict=True)
            },
            "value": round(float(positions.value[row]), 7),
            "move": game.action_name(int(moves[row])),
            "sampled": {
                "temperature": 1.0,
                "seed": seed,
                "move": game.action_name(int(legal[pick_sampled(logs, 1.0, seed)])),
            },
        }


def uniform(seed: int) -> float:
    """A number in (0, 1) for a seed below 2**32: the 32-bit finaliser of MurmurHash3."""
    h = (seed + 0x9E3779B9) & 0xFFFFFFFF
    h = (h ^ (h >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return ((h ^ (h >> 16)) + 0.5) / 2**32


def pick_sampled(logs: NDArray[np.floating[Any]], temperature: float, seed: int) -> int:
    """Index of a sample of log-probabilities at a temperature: the way of all runtimes."""
    weights = np.exp((logs - logs.max()) / temperature)
    return int(min(np.searchsorted(np.cumsum(weights), uniform(seed) * weights.sum(), "right"),
                   len(logs) - 1))  # fmt: skip


def to_lines(examples: Iterator[dict[str, Any]]) -> str:
    """JSON, one example a line."""
    return "".join(
        json.dumps(example, separators=(",", ":"), allow_nan=False) + "\n" for example in examples
    )
