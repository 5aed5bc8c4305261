"""The engine agrees with the plain implementation at every decision of random games."""

import random

import numpy as np
import pytest
from kolkhoz_tools import EngineDeals, assert_agree, legal_names, plain_rules, random_rules, zones
from plain_kolkhoz import PlainGame

from kolkhoz_env.cards import action_number
from kolkhoz_env.rules import PHASES, REQUISITION, Rules
from kolkhoz_env.state import State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course


class Duel:
    """A table of the engine and one plain game for each of its rows, played side by side."""

    def __init__(self, rules: Rules, games: int, seed: int) -> None:
        self.rules = rules
        self.ends: list[list[dict]] = [[] for _ in range(games)]
        self.source = random.Random(seed)
        course = Course(rules, year_ended=self._year_ended)
        self.table = VectorKolkhoz(games, seed=seed, rules=rules, restart=False, course=course)
        self.plain = [
            PlainGame(plain_rules(rules), EngineDeals(self.table.state, row, rules))
            for row in range(games)
        ]
        #: Probability of assigning to a game's favourite crop, so that fields get completed too.
        self.bias = [self.source.choice([0.0, 0.5, 0.9]) for _ in range(games)]
        self.decisions = 0
        self.requisitions = 0

    def _year_ended(self, state: State, rows: np.ndarray) -> None:
        for row in rows:
            self.ends[row].append(
                {"medals": state.medals[row].tolist(), **zones(state, row, self.rules)}
            )

    def _choice(self, row: int, legal: list[str]) -> str:
        if (
            self.table.phase[row] == PHASES.index("assign")
            and self.source.random() < self.bias[row]
        ):
            return legal[row % len(legal)]
        return self.source.choice(legal)

    def play(self) -> None:
        while not self.table.over.all():
            mask = self.table.legal_mask()
            actions = np.full(self.table.size, -1)
            moves: dict[int, str] = {}
            for row, plain in enumerate(self.plain):
                assert_agree(self.table, row, mask[row], plain)
                if not self.table.over[row]:
                    moves[row] = self._choice(row, legal_names(mask[row]))
                    actions[row] = action_number(moves[row])
            self.decisions += len(moves)
            self.requisitions += int((self.table.phase == REQUISITION).sum())
            self.table.step(actions)
            for row, move in moves.items():
                self.plain[row].apply(move)
        self._compare_ends()

    def _compare_ends(self) -> None:
        outcome = self.table.outcome()
        for row, plain in enumerate(self.plain):
            assert plain.position is None
            assert plain.result is not None
            assert outcome.score[row].tolist() == plain.result["scores"]
            assert outcome.cards[row].tolist() == plain.result["cards"]
            assert np.flatnonzero(outcome.win_share[row]).tolist() == plain.result["winners"]
            assert len(self.ends[row]) == len(plain.year_ends)
            for engine, year in zip(self.ends[row], plain.year_ends, strict=True):
                for key in ("medals", "plots", "cellars", "north"):
                    assert engine[key] == year[key]


@pytest.mark.parametrize("players", [3, 4])
def test_printed_game(players: int) -> None:
    duel = Duel(Rules(players=players), games=60, seed=players)
    duel.play()
    assert duel.decisions > 6000
    assert duel.requisitions > 0


@pytest.mark.parametrize("seed", range(12))
def test_random_rules(seed: int) -> None:
    source = random.Random(seed)
    decisions = 0
    for number in range(8):
        duel = Duel(random_rules(source), games=5, seed=1000 * seed + number)
        duel.play()
        decisions += duel.decisions
    assert decisions > 500
