"""Kolkhoz as a Gymnasium environment: one seat learns, given agents play the others.

```python
import gymnasium
import kolkhoz_env

table = gymnasium.make("kolkhoz/Kolkhoz-v0", players=4)
observation, info = table.reset(seed=7)
action = table.action_space.sample(info["action_mask"])
observation, reward, terminated, truncated, info = table.step(action)
```

A step is the learner's decision and all decisions of the others up to its next one. The
observation is a flat ``float32`` row without the mask, which is in ``info["action_mask"]``
(``int8[58]``) and comes from ``action_masks()`` (``bool[58]``), as MaskablePPO asks for it.

The others play at random unless `opponents` says who does: an agent for all other seats, or a list
with one for each seat from the learner's left. Any object with `act(decisions)` will do; the lab's
own come from `kolkhoz_agents.registry.make_agent`:

```python
import gymnasium
from kolkhoz_agents.games import make_game
from kolkhoz_agents.registry import make_agent

heuristic = make_agent("heuristic", make_game("kolkhoz", {"players": 4}))
table = gymnasium.make("kolkhoz/Kolkhoz-v0", players=4, opponents=heuristic)
```

An illegal action forfeits the game, since learners without masks choose some: it ends there, with
the lowest reward (-1 for ``score``: a hundred points below the mean) and
the reason in ``info["illegal_action"]``. With ``illegal="raise"`` it raises `IllegalActionError`
and the game goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.aec import RENDER_MODES, check_choices, check_render_seat, rules_from
from kolkhoz_env.errors import IllegalActionError, KolkhozError
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.observation import observation_table
from kolkhoz_env.one_game import OneGame
from kolkhoz_env.opponents import OpponentLike, Opponents
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.spaces import action_space, mask_of, observation_space

_ONLY = np.zeros(1, dtype=np.int64)


class KolkhozEnv(gymnasium.Env[NDArray[np.float32], int]):
    """One learner at a table with other agents.

    Args:
        players: number of seats.
        rules: a :class:`Rules` or a dict of its fields, instead of ``players``.
        reward: ``"win_share"`` (default), ``"score"`` or ``"rank"``; paid at the end.
        seat: the learner's seat; by default it goes round, one seat on with every game.
        opponents: agents for the other seats (one for all or one a seat, from the learner's left);
            random by default. See `kolkhoz_env.opponents`.
        illegal: what an illegal action does: ``"forfeit"`` or ``"raise"``.
        render_mode: ``None``, ``"ansi"``, ``"human"`` or ``"rgb_array"``.
        render_seat: whose knowledge is drawn: a seat or ``"open"``; the learner's by default.

    Raises:
        KolkhozError: an argument is impossible; names it.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium has it
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    def __init__(
        self,
        players: int = 4,
        rules: Rules | Mapping[str, Any] | None = None,
        reward: str = "win_share",
        seat: int | None = None,
        opponents: OpponentLike | Sequence[OpponentLike] | None = None,
        illegal: str = "forfeit",
        render_mode: str | None = None,
        render_seat: int | str | None = None,
    ) -> None:
        self.rules = rules_from(players, rules)
        check_choices(reward, render_mode)
        check_render_seat(render_seat, self.rules)
        check_learner_seat(seat, self.rules)
        if illegal not in ("forfeit", "raise"):
            raise KolkhozError(f"illegal: {illegal!r} is none of forfeit, raise")
        self.reward = reward
        self.illegal = illegal
        self.render_mode = render_mode
        self.render_seat = render_seat
        self.observation_space = observation_space(self.rules)
        self.action_space = action_space()
        self.__opponents = Opponents(KolkhozGame(self.rules), opponents)
        self.__scale = observation_table(self.rules).scale
        self.__fixed = seat
        self.__seat = 0 if seat is None else seat
        self.__game: OneGame | None = None
        self.__forfeited = False
        self.__seed: int | None = None
        self.__number = 0

    @property
    def seat(self) -> int:
        """The learner's seat in this game."""
        return self.__seat

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin game 0 of ``seed``, or the next game of the last seed; options are ignored."""
        super().reset(seed=seed)
        if seed is not None:
            self.__seed, self.__number = seed, 0
        elif self.__seed is None:
            self.__seed = self.np_random_seed
        else:
            self.__number += 1
        assert self.__seed is not None
        self.__opponents.seed(self.__seed)
        if self.__fixed is None:
            self.__seat = self.__number % self.rules.players
        self.__game = OneGame(self.rules, self.__seed, self.__number, self.reward)
        self.__forfeited = False
        self._let_others_play(self.__game)
        return self._observe(), self._info()

    def step(
        self, action: int
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """The learner's decision, then the others' up to the learner's next or the end.

        Raises:
            IllegalActionError: the action is not legal, and ``illegal="raise"``.
            KolkhozError: no game is under way.
        """
        game = self.__game
        if game is None or game.seat < 0 or self.__forfeited:
            raise KolkhozError("step: no game is under way; reset() begins one")
        if not isinstance(action, (int, np.integer, np.ndarray)):
            raise IllegalActionError(f"action {action!r} is not a whole number")
        try:
            rewards = _rewards(game.step(int(action)))
        except IllegalActionError as error:
            if self.illegal == "raise":
                raise
            return self._forfeit(str(error))
        if rewards is None:
            rewards = self._let_others_play(game)
        reward = 0.0 if rewards is None else float(rewards[self.__seat])
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, game.seat < 0, False, self._info()

    def _forfeit(self, why: str) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        lowest = -1 / self.rules.players if self.reward == "win_share" else -1.0
        self.__forfeited = True
        info = self._info()
        info["illegal_action"] = why
        return self._observe(), lowest, True, False, info

    def _let_others_play(self, game: OneGame) -> NDArray[np.float32] | None:
        actions = np.zeros(1, dtype=np.int64)
        learner = np.array([self.__seat], dtype=np.int8)
        while game.seat not in (self.__seat, -1):
            self.__opponents.act(game.table, _ONLY, learner, actions)
            rewards = _rewards(game.step(int(actions[0])))
            if rewards is not None:
                return rewards
        return None

    def _observe(self) -> NDArray[np.float32]:
        assert self.__game is not None
        return self.__game.observe(self.__seat) * self.__scale

    def _info(self) -> dict[str, Any]:
        game = self.__game
        assert game is not None
        info: dict[str, Any] = {
            "action_mask": self.action_masks().view(np.int8),
            "seat": self.__seat,
            "phase": PHASES[game.phase],
        }
        if game.seat < 0:
            result = game.table.outcome()
            info["win_share"] = result.win_share[0].tolist()
            info["score"] = result.score[0].tolist()
            info["rank"] = result.rank[0].tolist()
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, ``bool[58]``; none when no game is under way."""
        game = self.__game
        asked = game is not None and game.seat == self.__seat and not self.__forfeited
        return mask_of(game.legal_actions() if game is not None and asked else 0, np.bool_)

    def render(self) -> Any:
        """The table: text (``ansi``), printed text (``human``) or ``uint8[height, width, 3]``."""
        from kolkhoz_env.drawing import render

        if self.render_mode is None:
            gymnasium.logger.warn("render: this environment was made without a render_mode")
            return None
        if self.__game is None:
            raise KolkhozError("render: the environment needs reset() first")
        seat = self.__seat if self.render_seat is None else self.render_seat
        return render(self.__game, self.render_mode, seat)


def check_learner_seat(seat: int | None, rules: Rules) -> None:
    """Refuse a seat that does not exist (KolkhozError)."""
    if seat is not None and (isinstance(seat, bool) or seat not in range(rules.players)):
        raise KolkhozError(f"seat: {seat!r} is not a seat from 0 to {rules.players - 1}")


def _rewards(result: Any) -> NDArray[np.float32] | None:
    """Rewards of all seats if the game has ended."""
    return result.rewards[0] if result is not None and result.done[0] else None


__all__ = ["KolkhozEnv"]
