"""Games of one decision a seat, whose outcome is plain to see and to check."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np


class OneMove:
    """Three seats choose one action each, then `winner` says who wins."""

    name = "one-move"
    num_seats = 3
    num_actions = 3
    phases = ("choose",)
    statistics = ("choice",)
    observation = SimpleNamespace(size=1, version=1, scale=np.ones(1, np.float32), blocks=())

    def rules_dict(self) -> dict[str, Any]:
        return {}

    def action_name(self, action: int) -> str:
        return ("rock", "paper", "scissors")[action]

    def table(self, seed: int, games: Any, **options: bool) -> OneMoveTable:
        return OneMoveTable(self, seed, np.asarray(games))

    def winner(self, chosen: np.ndarray, games: np.ndarray, seed: int) -> np.ndarray:
        """The seats that win, int[B]: here always the first."""
        return np.zeros(len(games), dtype=int)


class Lottery(OneMove):
    """The first seat wins two deals of three, by the deck."""

    def winner(self, chosen: np.ndarray, games: np.ndarray, seed: int) -> np.ndarray:
        luck = np.array([np.random.default_rng([seed, int(game)]).random() for game in games])
        return np.where(luck < 2 / 3, 0, np.where(luck < 0.8, 1, 2))


class OneMoveTable:
    """Games side by side in which all seats choose in turn."""

    def __init__(self, game: OneMove, seed: int, games: np.ndarray) -> None:
        self.game, self.seed, self.game_ids = game, seed, games
        self.size = len(games)
        self.chosen = np.full((self.size, game.num_seats), -1)
        self.decision = np.zeros(self.size, np.int32)
        self.phase = np.zeros(self.size, np.int8)

    @property
    def over(self) -> np.ndarray:
        return self.decision == self.game.num_seats

    @property
    def seat(self) -> np.ndarray:
        return np.where(self.over, -1, self.decision).astype(np.int8)

    def legal_mask(self) -> np.ndarray:
        return np.repeat(~self.over[:, None], self.game.num_actions, axis=1)

    def observe(self, rows: Any = None) -> np.ndarray:
        count = self.size if rows is None else len(rows)
        return np.zeros((count, 1), np.uint8)

    def knowledge(self, rows: Any) -> Any:
        return SimpleNamespace(size=len(rows))

    def step(self, actions: np.ndarray) -> None:
        rows = np.flatnonzero(~self.over)
        self.chosen[rows, self.decision[rows]] = actions[rows]
        self.decision[rows] += 1

    def outcome(self) -> Any:
        winner = self.game.winner(self.chosen, self.game_ids, self.seed)
        share = (np.arange(self.game.num_seats) == winner[:, None]).astype(float)
        return SimpleNamespace(win_share=share, rank=2 - share, score=share, margin=2 * share - 1)

    def statistics(self) -> np.ndarray:
        return self.chosen[:, :, None].astype(np.float32)


class Duel(OneMove):
    """Rock, paper, scissors of two seats; a draw goes to the seat that the deal says."""

    num_seats = 2

    def winner(self, chosen: np.ndarray, games: np.ndarray, seed: int) -> np.ndarray:
        lead = (chosen[:, 0] - chosen[:, 1]) % 3
        return np.select([lead == 1, lead == 2], [0, 1], games % 2)


class Always:
    """Chooses the same action whatever happens."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, game: Any, action: int = 0) -> None:
        self.name, self.action = f"always-{action}", int(action)

    def act(self, decisions: Any) -> np.ndarray:
        return np.full(len(decisions), self.action)


def make_duel(rules: dict[str, Any]) -> Duel:
    return Duel()


def make_lottery(rules: dict[str, Any]) -> Lottery:
    return Lottery()
