"""Many single-learner games at once as a `VecEnv` of Stable-Baselines3.

```python
from sb3_contrib import MaskablePPO
from kolkhoz_env.vec_env import KolkhozVecEnv

learner = MaskablePPO("MlpPolicy", KolkhozVecEnv(256, players=4))
learner.learn(100_000)
```

All games run in one batch of the engine. A step is the learner's decision in every game and the
others' decisions up to its next one; every game is one trajectory of one seat, so that rewards and
values never pass between opponents. The seat goes round: game ``k`` is played from seat
``k % players``. Needs the extra ``train``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.errors import IllegalActionError, KolkhozError, MissingExtraError

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise MissingExtraError("kolkhoz_env.vec_env", "train", error.name or "") from None

from kolkhoz_env.aec import check_choices, rules_from
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.observation import observation_table
from kolkhoz_env.opponents import OpponentLike, Opponents
from kolkhoz_env.rules import Rules
from kolkhoz_env.single import check_learner_seat
from kolkhoz_env.spaces import action_space, observation_space
from kolkhoz_env.state import Bool, Int8
from kolkhoz_env.vector import VectorKolkhoz

Float32 = NDArray[np.float32]


class KolkhozVecEnv(VecEnv):
    """``num_envs`` games in one batch, one seat of each learning.

    Args:
        num_envs: number of games at once.
        players, rules, reward, seat, opponents: as in `kolkhoz_env.single`.
        seed: names the decks and what the opponents draw.

    Raises:
        KolkhozError: an argument is impossible; names it.
    """

    def __init__(
        self,
        num_envs: int,
        players: int = 4,
        rules: Rules | Mapping[str, Any] | None = None,
        reward: str = "win_share",
        seat: int | None = None,
        opponents: OpponentLike | Sequence[OpponentLike] | None = None,
        seed: int = 0,
    ) -> None:
        self.rules = rules_from(players, rules)
        check_choices(reward, None)
        check_learner_seat(seat, self.rules)
        self.reward = reward
        self.render_mode = None
        self._fixed_seat = seat
        self._deck_seed = seed
        self._opponents = Opponents(KolkhozGame(self.rules), opponents, seed)
        self._scale = observation_table(self.rules).scale
        self._begin(num_envs)
        super().__init__(num_envs, observation_space(self.rules), action_space())

    def _begin(self, size: int) -> None:
        self._games = VectorKolkhoz(
            size, seed=self._deck_seed, rules=self.rules, reward=self.reward, restart=False
        )
        self._lengths = np.zeros(size, dtype=np.int64)
        self._actions = np.zeros(size, dtype=np.int64)
        self._seats = self._learner_seats()

    def _learner_seats(self) -> Int8:
        """The learner's seat in each game, ``int8[num_envs]``."""
        if self._fixed_seat is not None:
            return np.full(self._games.size, self._fixed_seat, dtype=np.int8)
        return (self._games.game_ids % self.rules.players).astype(np.int8)

    # What happens -----------------------------------------------------------------------------

    def reset(self) -> Float32:
        """Begin anew with games 0 .. num_envs - 1; ``float32[num_envs, observation_size]``."""
        wanted = next((seed for seed in self._seeds if seed is not None), None)
        if wanted is not None:
            self._deck_seed = wanted
            self._opponents.seed(wanted)
        self._reset_seeds()
        self._reset_options()
        self._begin(self.num_envs)
        self._let_others_play(np.zeros(self.num_envs, dtype=np.bool_))
        self.reset_infos = [self._info(row) for row in range(self.num_envs)]
        return self._observe()

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Take the learner's actions, ``int[num_envs]``."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalActionError(
                f"actions: {chosen.dtype} of shape {chosen.shape}; whole numbers of shape "
                f"({self.num_envs},) are needed"
            )
        self._actions[:] = chosen

    def step_wait(self) -> tuple[Float32, Float32, Bool, list[dict[str, Any]]]:
        """Play on to the learner's next decision everywhere.

        Returns:
            observations ``float32[num_envs, observation_size]``, rewards ``float32[num_envs]``,
            dones ``bool[num_envs]``, infos. Where a game ended it has begun anew; its info holds
            ``terminal_observation``, ``episode`` (reward, length) and the result.

        Raises:
            IllegalActionError: an action is not legal; no game has changed then.
        """
        rewards = np.zeros(self.num_envs, dtype=np.float32)
        dones = np.zeros(self.num_envs, dtype=np.bool_)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._lengths += 1
        # Until the engine has accepted the learner's actions nothing may count as changed.
        try:
            self._advance(np.ones(self.num_envs, dtype=np.bool_), rewards, dones, infos)
        except IllegalActionError:
            self._lengths -= 1
            raise
        self._let_others_play(dones, rewards, infos)
        return self._observe(), rewards, dones, infos

    def _let_others_play(
        self,
        dones: Bool,
        rewards: Float32 | None = None,
        infos: list[dict[str, Any]] | None = None,
    ) -> None:
        """The others' decisions until every game waits for the learner."""
        rewards = np.zeros(self.num_envs, dtype=np.float32) if rewards is None else rewards
        infos = [{} for _ in range(self.num_envs)] if infos is None else infos
        while True:
            waiting = self._games.seat != self._seats
            rows = np.flatnonzero(waiting)
            if not rows.size:
                return
            self._opponents.act(self._games, rows, self._seats, self._actions)
            self._advance(waiting, rewards, dones, infos)

    def _advance(
        self, where: Bool, rewards: Float32, dones: Bool, infos: list[dict[str, Any]]
    ) -> None:
        """One decision in some games; note what ended and begin anew there."""
        step = self._games.step(self._actions, where)
        ended = step.finished
        if not ended.size:
            return
        last = self._games.observe(ended, self._seats[ended]) * self._scale
        for index, row in enumerate(ended):
            seat = self._seats[row]
            rewards[row] = step.rewards[row, seat]
            dones[row] = True
            infos[row] = {
                "terminal_observation": last[index],
                "TimeLimit.truncated": False,
                "episode": {"r": float(rewards[row]), "l": int(self._lengths[row])},
                "seat": int(seat),
                "win_share": float(step.outcome.win_share[index, seat]),
                "score": float(step.outcome.score[index, seat]),
                "rank": float(step.outcome.rank[index, seat]),
            }
        self._lengths[ended] = 0
        self._games.begin_anew(ended)
        self._seats = self._learner_seats()

    def _observe(self) -> Float32:
        return self._games.observe() * self._scale

    def _info(self, row: int) -> dict[str, Any]:
        return {"seat": int(self._seats[row])}

    # What SB3 asks for ------------------------------------------------------------------------

    def action_masks(self) -> Bool:
        """Legal actions of the learner, ``bool[num_envs, 58]``."""
        return self._games.legal_mask()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the environments have an attribute."""
        return hasattr(self, attr_name)

    def get_attr(
        self, attr_name: str, indices: int | Iterable[int] | None = None
    ) -> list[Any]:
        """An attribute, the same for all environments."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(
        self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None
    ) -> None:
        """Set an attribute of all environments at once; some alone can't differ."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise KolkhozError(f"{attr_name}: all environments share it; set it for all")
        setattr(self, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method; ``action_masks`` gives each environment its own row."""
        rows = list(self._get_indices(indices))
        result = getattr(self, method_name)(*method_args, **method_kwargs)
        if method_name == "action_masks":
            return [result[row] for row in rows]
        return [result] * len(rows)

    def env_is_wrapped(
        self, wrapper_class: type, indices: int | Iterable[int] | None = None
    ) -> list[bool]:
        """No environment is wrapped."""
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> list[NDArray[np.uint8]]:
        """Nothing is drawn here: there is no render mode."""
        return []

    def close(self) -> None:
        """Nothing to release."""


__all__ = ["KolkhozVecEnv"]
