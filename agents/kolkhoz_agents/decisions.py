"""Randomness of decisions, and choices made with it.

A decision's key is a hash of the agent's seed, the game, the number of the decision and the seat.
All that an agent draws follows from that key, so that a result is the same in any batch and for any
number of workers. The agent's seed comes from the match's seed by a one-way hash: it tells nothing
of the deck.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.protocol import BoolArray, FloatArray, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def agent_seed(seed: int, role: str) -> int:
    """The seed of the agent that plays a role in a match: 64 bits of BLAKE2b of both."""
    text = f"kolkhoz agent\n{int(seed)}\n{role}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's finaliser: a bijection of uint64 in which every bit depends on every other."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def decision_keys(
    seed: int | NDArray[np.uint64], games: IntArray, decision: IntArray, seat: IntArray
) -> NDArray[np.uint64]:
    """uint64[B] keys of decisions: `seed` is an agent's (a scalar or uint64[B])."""
    with np.errstate(over="ignore"):
        keys = mix(np.asarray(seed, dtype=np.uint64) + _GOLDEN)
        keys = mix((keys ^ games.astype(np.int64).view(np.uint64)) + _GOLDEN)
        number = decision.astype(np.int64) * 64 + seat
        return mix((keys ^ number.view(np.uint64)) + _GOLDEN)


def uniform(keys: NDArray[np.uint64], columns: int, purpose: int = 0) -> NDArray[np.float64]:
    """float64[B, columns] in (0, 1), drawn from keys uint64[B].

    Draws of different `purpose` (a number of your choice) are independent of each other.
    """
    with np.errstate(over="ignore"):
        base = mix(keys ^ mix(np.array(purpose, dtype=np.uint64) + _GOLDEN))
        steps = (np.arange(1, columns + 1, dtype=np.uint64)) * _GOLDEN
        bits = mix(base[:, None] + steps[None, :])
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def choose_uniform(mask: BoolArray, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """int64[B]: a uniformly random legal action of mask bool[B, A]."""
    running = np.cumsum(mask, axis=1, dtype=np.int32)
    count = running[:, -1]
    wanted = (uniform(keys, 1)[:, 0] * count).astype(np.int32) + 1
    return np.argmax(running == wanted[:, None], axis=1).astype(np.int64)


def choose_best(scores: FloatArray, mask: BoolArray) -> NDArray[np.int64]:
    """int64[B]: the legal action of the highest score; of equal ones the first."""
    return np.argmax(np.where(mask, scores, -np.inf), axis=1).astype(np.int64)


def choose_sampled(
    log_weights: FloatArray, mask: BoolArray, keys: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """int64[B]: a legal action with probability in proportion to exp(log_weights) (Gumbel-max)."""
    noise = -np.log(-np.log(uniform(keys, mask.shape[1])))
    return choose_best(log_weights + noise, mask)
