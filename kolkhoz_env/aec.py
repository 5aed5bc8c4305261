"""Kolkhoz as a PettingZoo environment: agents take turns (AEC).

```python
from kolkhoz_env import env

table = env(players=4)
table.reset(seed=7)
for agent in table.agent_iter():
    observation, reward, terminated, truncated, info = table.last()
    if terminated or truncated:
        action = None
    else:
        action = table.action_space(agent).sample(observation["action_mask"])
    table.step(action)
```

| | |
|---|---|
| Import | `from kolkhoz_env import env, raw_env` |
| Registered as | `pettingzoo.make("aec", "kolkhoz/kolkhoz-v0")` |
| Agents | `player_0` .. `player_3` (or fewer), the seats clockwise |
| Actions | `Discrete(58)`: cards, crops, pass; the mask says which are legal |
| Observations | `Dict`: `observation`, `float32`, and `action_mask`, `int8[58]` |
| State | `float32`, the hidden cards too, for centralised critics |
| Parallel API | no: one seat decides at a time |
| Length | about 175 decisions with four players, 131 with three |

An observation is what the seat may know and nothing else. Its mask is that of the decision if the
seat is to act, else all zeros; `infos` holds the same mask. An illegal action raises
`IllegalActionError`, which names what was legal, and leaves the game as it was; wrap the
environment in PettingZoo's `TerminateIllegalWrapper` for a penalty instead. One seat may decide
several times in a row (swaps, assignments).

All rewards come with the end of the game, to every seat at once, and sum to zero:

| `reward` | a seat gets |
|---|---|
| `win_share` | 1 for victory, split in a shared one, else 0; minus 1 / players |
| `score` | its score minus the mean score, in units of 100 points |
| `rank` | from 1 for the first to -1 for the last, equal steps between; ties get the mean |

Arguments of `env` and `raw_env`:

| argument | default | |
|---|---|---|
| `players` | 4 | seats; 3 or 4 in the printed game |
| `rules` | `None` | a `Rules`, or a dict of its fields, instead of `players` |
| `reward` | `"win_share"` | see above |
| `render_mode` | `None` | `"ansi"`: text, `"human"`: the same, printed, `"rgb_array"`: a picture |
| `render_seat` | `None` | who looks: a seat, `"open"` for all cards; `None` for the seat to act |

`reset(seed=s)` begins game 0 of a seed, and every further `reset()` the next game of it; equal
seeds meet equal decks. Other reset options are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from kolkhoz_env.cards import NUM_ACTIONS
from kolkhoz_env.errors import IllegalActionError, KolkhozError
from kolkhoz_env.observation import observation_table
from kolkhoz_env.one_game import OneGame
from kolkhoz_env.rules import Rules
from kolkhoz_env.scoring import REWARDS
from kolkhoz_env.spaces import (
    action_space,
    full_state,
    mask_of,
    masked_observation_space,
    state_space,
)

RENDER_MODES = ("ansi", "human", "rgb_array")

Observation = dict[str, NDArray[Any]]


def env(**options: Any) -> AECEnv[str, Observation, int]:
    """The environment with PettingZoo's check of the order of calls; options of `raw_env`."""
    return OrderEnforcingWrapper(raw_env(**options))


def rules_from(players: int, rules: Rules | Mapping[str, Any] | None) -> Rules:
    """The rules that an environment's arguments mean."""
    if isinstance(rules, Rules):
        return rules
    return Rules.from_dict({"players": players, **(rules or {})})


def check_choices(reward: str, render_mode: str | None) -> None:
    """Refuse an unknown reward or render mode (KolkhozError)."""
    if reward not in REWARDS:
        raise KolkhozError(f"reward: {reward!r} is none of {', '.join(REWARDS)}")
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise KolkhozError(f"render_mode: {render_mode!r} is none of {', '.join(RENDER_MODES)}")


def check_render_seat(render_seat: int | str | None, rules: Rules) -> None:
    """Refuse a seat that does not exist (KolkhozError)."""
    if render_seat not in (None, "open", *range(rules.players)):
        raise KolkhozError(
            f"render_seat: {render_seat!r} is neither a seat from 0 to {rules.players - 1} "
            "nor 'open'"
        )


class raw_env(AECEnv[str, Observation, int]):
    """One game after the other, one decision a step. See the module for all of it.

    Args:
        players: number of seats.
        rules: the rules instead of ``players``.
        reward: ``"win_share"``, ``"score"`` or ``"rank"``.
        render_mode: ``None``, ``"ansi"``, ``"human"`` or ``"rgb_array"``.
        render_seat: whose knowledge :meth:`render` draws.

    Raises:
        KolkhozError: an argument is impossible; names it.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as PettingZoo has it
        "name": "kolkhoz_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        players: int = 4,
        rules: Rules | Mapping[str, Any] | None = None,
        reward: str = "win_share",
        render_mode: str | None = None,
        render_seat: int | str | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules_from(players, rules)
        check_choices(reward, render_mode)
        check_render_seat(render_seat, self.rules)
        self.reward = reward
        self.render_mode = render_mode
        self.render_seat = render_seat
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.players)]
        self.agents: list[str] = []
        self.observation_spaces: dict[str, gymnasium.spaces.Space[Any]] = {
            agent: masked_observation_space(self.rules) for agent in self.possible_agents
        }
        self.action_spaces: dict[str, gymnasium.spaces.Space[Any]] = {
            agent: action_space() for agent in self.possible_agents
        }
        self.state_space = state_space(self.rules)
        self.__scale = observation_table(self.rules).scale
        self.__seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        # Hidden cards are in the game alone, which no public attribute reaches.
        self.__game: OneGame | None = None
        self.__seed: int | None = None
        self.__number = 0

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The space of an agent's observations, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game: number 0 of ``seed`` if one is given, else the next of the last seed."""
        if seed is not None:
            self.__seed, self.__number = int(seed), 0
        elif self.__seed is None:
            self.__seed = seeding.np_random(None)[1]
        else:
            self.__number += 1
        self.__game = OneGame(self.rules, self.__seed, self.__number, self.reward)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": mask_of(0)} for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self.possible_agents[max(self.__game.seat, 0)]
        self._show_mask()
        self._settle(None)

    def step(self, action: int | None) -> None:
        """The selected agent's decision.

        Raises:
            IllegalActionError: the action is not legal; the game is as it was.
            ValueError: an agent whose game is over takes anything but ``None``.
        """
        if not self.agents:
            raise KolkhozError("step: no game is under way; reset() begins one")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        game = self.__game
        assert game is not None
        try:
            number = action.__index__()  # type: ignore[union-attr]
        except (AttributeError, TypeError):
            raise IllegalActionError(
                f"{agent}: action {action!r} is not a whole number from 0 to {NUM_ACTIONS - 1}"
            ) from None
        result = game.step(number)
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {"action_mask": np.zeros(NUM_ACTIONS, dtype=np.int8)}
        if game.seat >= 0:
            self.agent_selection = self.possible_agents[game.seat]
            self._show_mask()
        else:
            assert result is not None
            self._settle(result.rewards[0])
        if self.render_mode == "human":
            self.render()

    def _show_mask(self) -> None:
        assert self.__game is not None
        if self.__game.seat >= 0:
            mask = mask_of(self.__game.legal_actions())
            self.infos[self.agent_selection] = {"action_mask": mask}

    def _settle(self, rewards: NDArray[np.float32] | None) -> None:
        """After the last decision: rewards to all, every agent done."""
        assert self.__game is not None
        if self.__game.seat >= 0:
            return
        for seat, agent in enumerate(self.agents):
            self.terminations[agent] = True
            if rewards is not None:
                self.rewards[agent] = float(rewards[seat])
        self._accumulate_rewards()
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Observation:
        """What an agent may know: ``observation``, ``float32``, and ``action_mask``, ``int8``."""
        game = self.__game
        if game is None:
            raise KolkhozError("observe: the environment needs reset() first")
        seat = self.__seats[agent]
        legal = game.legal_actions() if seat == game.seat else 0
        return {
            "observation": game.observe(seat) * self.__scale,
            "action_mask": mask_of(legal),
        }

    def state(self) -> NDArray[np.float32]:
        """The whole state, hidden cards included: for centralised critics, never for agents."""
        game = self.__game
        if game is None:
            raise KolkhozError("state: the environment needs reset() first")
        return full_state(game.table.state, self.rules, game.observe(0) * self.__scale)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table: text (``ansi``), printed text (``human``) or ``uint8[height, width, 3]``."""
        from kolkhoz_env.drawing import render

        if self.render_mode is None:
            gymnasium.logger.warn("render: this environment was made without a render_mode")
            return None
        if self.__game is None:
            raise KolkhozError("render: the environment needs reset() first")
        return render(self.__game, self.render_mode, self.render_seat)

    def close(self) -> None:
        """Nothing to release: drawing opens no window."""


__all__ = ["env", "raw_env"]
