"""Kolkhoz as a python game of OpenSpiel, so that its algorithms run here.

```python
import pyspiel
import kolkhoz_env.openspiel  # registers "python_kolkhoz"

game = pyspiel.load_game("python_kolkhoz", {
    "players": 2, "crops": 1, "ranks": 5, "tricks": 1, "years": 1, "low_rewards": 0, "quota": 8,
    "first_planner": 0, "auto_forced": True, "famine_year": 0,
})
```

Parameters are the fields of `Rules` (`quota` 0 for the printed one, `first_planner` -1 for a drawn
one). Chance draws the first Planner, the hidden card of each reward pile, each reward, then hand by
hand the cards in rising order (so that every hand is reached in one way), and the Famine's card.
Utilities are the win share minus 1 / players. An information state is all that its player has
observed and done, in order; its text begins with the position and ends with a digest of the past.
Needs the extra ``openspiel``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kolkhoz_env.errors import MissingExtraError

try:
    import pyspiel
except ModuleNotFoundError as error:
    raise MissingExtraError("kolkhoz_env.openspiel", "openspiel", error.name or "") from None

from kolkhoz_env.cards import CROPS, NUM_ACTIONS, NUM_CARDS, action_name, card_name, cards_in
from kolkhoz_env.knowledge import Knowledge, redact
from kolkhoz_env.observation import observation_table
from kolkhoz_env.open_course import OpenCourse
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.state import State
from kolkhoz_env.view import make_view
from kolkhoz_env.view_reader import FORMAT

NAME = "python_kolkhoz"
_ONLY = np.zeros(1, dtype=np.int64)
#: Parameters of OpenSpiel have no None.
_NONE = {"quota": 0, "first_planner": -1}

GAME_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Kolkhoz",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=4,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={
        name: _NONE.get(name, value) for name, value in Rules().to_dict().items()
    },
)


class KolkhozGame(pyspiel.Game):
    """The game under the rules that its parameters name."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**GAME_TYPE.parameter_specification, **(params or {})}
        values = {
            name: None if name in _NONE and value == _NONE[name] else value
            for name, value in given.items()
        }
        self.rules = Rules.from_dict(values)
        players = self.rules.players
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=NUM_CARDS,
            num_players=players,
            min_utility=-1 / players,
            max_utility=1 - 1 / players,
            utility_sum=0.0,
            max_game_length=_longest(self.rules),
        )
        super().__init__(GAME_TYPE, info, params or {})
        self.opening = OpenCourse(self.rules)

    def new_initial_state(self) -> KolkhozState:
        """The game before anything is drawn."""
        return KolkhozState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> KolkhozObserver:
        """An observer of what a player knows."""
        return KolkhozObserver(
            iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params, self.rules
        )


def _longest(rules: Rules) -> int:
    """No game has more decisions: trump, swaps, plays and assignments, requisition."""
    players, crops = rules.players, rules.crops
    return rules.years * (1 + 2 * players + 2 * players * rules.tricks + players * crops)


class KolkhozState(pyspiel.State):
    """A game under way, its next draw or decision."""

    def __init__(self, game: KolkhozGame) -> None:
        super().__init__(game)
        self.course = game.opening

    def current_player(self) -> int:
        """The player to decide, chance, or terminal."""
        if self.course.dealing:
            return int(pyspiel.PlayerId.CHANCE)
        if self.course.over:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(self.course.state.seat[0])

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.course.legal)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """What may be drawn now, with probabilities."""
        return self.course.outcomes()

    def _apply_action(self, action: int) -> None:
        self.course = self.course.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_name(action)
        return f"planner {action}" if self.course.next_draw() == "planner" else card_name(action)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.course.over

    def returns(self) -> list[float]:
        """Win share minus 1 / players for every player; zeros before the end."""
        return list(self.course.rewards)

    def __str__(self) -> str:
        """The position in a line, all cards open."""
        if self.course.dealing:
            return f"dealing Year {self.course.year}"
        state = self.course.state
        hands = [" ".join(card_name(c) for c in cards_in(int(h))) for h in state.hands[0]]
        return f"{_position(state)}, hands {' | '.join(hands)}"


def _position(state: State) -> str:
    trump = "-" if state.trump[0] > 3 else CROPS[state.trump[0]]
    trick = " ".join(card_name(int(card)) for card in state.trick[0] if card >= 0)
    return (
        f"Year {state.year[0]} {PHASES[state.phase[0]]} seat {state.seat[0]}, trump {trump}, "
        f"trick {trick or '-'}"
    )


def information_text(course: OpenCourse, player: int) -> str:
    """All that a player has observed and done, as text."""
    hand = " ".join(card_name(card) for card in cards_in(int(course.state.hands[0, player])))
    return f"{_position(course.state)}, hand {hand}, past {course.pasts[player].hex()}"


class KolkhozObserver:
    """What a player knows: as the float observation, and as text.

    Attributes:
        tensor: ``float32[observation_size]``.
        dict: views into it by block name.
    """

    def __init__(self, iig_obs_type: Any, params: Any, rules: Rules) -> None:
        if params:
            raise ValueError(f"observation parameters are not supported; passed {params}")
        self.table = observation_table(rules)
        self.rules = rules
        self.recall = iig_obs_type.perfect_recall
        self.tensor = np.zeros(self.table.size, dtype=np.float32)
        self.dict = self.table.named(self.tensor)

    def set_from(self, state: KolkhozState, player: int) -> None:
        """Fill the tensor with what a player knows; zeros during a deal."""
        self.tensor.fill(0)
        if not state.course.dealing:
            seats = np.array([player], dtype=np.int8)
            seen = self.table.encode(state.course.state, None, seats)[0]
            self.tensor[:] = seen * self.table.scale

    def string_from(self, state: KolkhozState, player: int) -> str:
        """What a player knows, as text: with its past if recall is perfect, else its view."""
        if state.course.dealing:
            return "dealing"
        if self.recall:
            return f"player {player}: {information_text(state.course, player)}"
        seats = np.array([player], dtype=np.int8)
        view = make_view(Knowledge(redact(state.course.state, _ONLY, seats), seats, self.rules))
        del view["rules"]
        return f"{FORMAT} {view}"


pyspiel.register_game(GAME_TYPE, KolkhozGame)

__all__ = ["NAME", "KolkhozGame", "KolkhozState"]
