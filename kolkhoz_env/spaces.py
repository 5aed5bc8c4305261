"""Gymnasium spaces of the environments, made from the observation table."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from kolkhoz_env.cards import NUM_ACTIONS, cards_in
from kolkhoz_env.observation import observation_table
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import State


@lru_cache(maxsize=32)
def observation_limits(rules: Rules) -> NDArray[np.float32]:
    """Highest value of each observation column, ``float32[observation_size]``; the lowest is 0."""
    table = observation_table(rules)
    highest = np.rint(1 / table.scale)
    hours = table["hours"].columns
    highest[hours] = 255
    return (highest * table.scale).astype(np.float32)


def observation_space(rules: Rules) -> spaces.Space[Any]:
    """Scaled observations, ``float32[observation_size]``."""
    return spaces.Box(np.float32(0), observation_limits(rules), dtype=np.float32)


def masked_observation_space(rules: Rules) -> spaces.Dict:
    """``observation`` as above and ``action_mask``, ``int8[58]``."""
    mask = spaces.Box(0, 1, (NUM_ACTIONS,), dtype=np.int8)
    return spaces.Dict({"observation": observation_space(rules), "action_mask": mask})


def action_space() -> spaces.Space[Any]:
    """All actions of all phases."""
    return spaces.Discrete(NUM_ACTIONS)


def mask_of(legal: int, dtype: type = np.int8) -> NDArray[Any]:
    """Legal actions given as bits as a mask, ``[58]``."""
    octets = np.frombuffer(legal.to_bytes(8, "little"), dtype=np.uint8)
    return np.unpackbits(octets, count=NUM_ACTIONS, bitorder="little").view(dtype)


# The whole state for a centralised critic ----------------------------------------------------

#: Numbers per card of the state: what every seat holds in hand and Cellar, rewards to come.
_CARDS = 53


def state_space(rules: Rules) -> spaces.Box:
    """What :func:`full_state` returns, ``float32[observation_size + 53 * (2 * players + 1)]``."""
    extra = np.ones(_CARDS * (2 * rules.players + 1), dtype=np.float32)
    high = np.concatenate([observation_limits(rules), extra])
    return spaces.Box(np.float32(0), high, dtype=np.float32)


def full_state(
    state: State, rules: Rules, observation: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Everything about the game of row 0, hidden cards included: for centralised critics alone.

    Args:
        state: one game.
        rules: its rules.
        observation: the scaled observation of seat 0, ``float32[observation_size]``.

    Returns:
        the observation, then 53 flags each for the hand of every seat, the Cellar of every seat,
        and the rewards that are still to be revealed.
    """
    flags = np.zeros((2 * rules.players + 1, _CARDS), dtype=np.float32)
    for seat in range(rules.players):
        flags[seat, cards_in(int(state.hands[0, seat]))] = 1
        cellar = state.cellars[0, seat]
        flags[rules.players + seat, cellar[cellar >= 0]] = 1
    hidden = state.piles[0, :, state.year[0] :]
    flags[-1, hidden[hidden >= 0]] = 1
    return np.concatenate([observation, flags.ravel()])
