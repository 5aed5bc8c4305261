"""What several tests of the engine need: zones as text, random rules, games laid by hand."""

import gzip
import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plain_kolkhoz import PlainGame, PlainRules

from kolkhoz_env.cards import (
    CROPS,
    NUM_CARDS,
    action_name,
    action_number,
    card_name,
    card_number,
    names_in,
    zone_of,
)
from kolkhoz_env.errors import RulesError
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.state import State, empty_state
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course, set_up

RECORDS = Path(__file__).parent / "data" / "records"
REFERENCE = {"four_players": 180, "three_players": 120, "rare": 52}


def reference_lines(name: str) -> list[str]:
    """The lines of one file of recorded games, without their line ends."""
    with gzip.open(RECORDS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def flagged(flags: NDArray[np.uint8]) -> list[str]:
    """The cards of a zone given as flags by card, in the order of records."""
    return sorted(card_name(int(card)) for card in np.flatnonzero(flags))


def reference_games(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in reference_lines(name)]


def plain_rules(rules: Rules) -> PlainRules:
    values = rules.to_dict()
    del values["auto_forced"]
    return PlainRules(**values)


def legal_names(mask: np.ndarray) -> list[str]:
    """Legal moves as text in the order of records: cards as text, crops as printed, pass."""
    actions = [int(action) for action in np.flatnonzero(mask)]
    cards = sorted(action_name(action) for action in actions if action < NUM_CARDS)
    return cards + [action_name(action) for action in actions if action >= NUM_CARDS]


def zones(state: State, row: int, rules: Rules) -> dict[str, Any]:
    """The zones of one game of the engine in the form of `PlainGame.zones`."""
    crops = CROPS[: rules.crops]
    year = int(state.year[row])
    table = state.trick[row, state.assigned[row] : state.trick_size[row]]
    found: dict[str, Any] = {
        "piles": {
            crop: [card_name(int(card)) for card in state.piles[row, c, year:] if card >= 0]
            for c, crop in enumerate(crops)
        },
        "rewards": [
            name for crop in crops for name in names_in(state.rewards[row]) if name[0] == crop
        ],
        "hands": [names_in(hand) for hand in state.hands[row]],
        "plots": [names_in(plot) for plot in state.plots[row]],
        "cellars": [
            sorted(card_name(int(card)) for card in cellar if card >= 0)
            for cellar in state.cellars[row]
        ],
        "fields": {crop: flagged(state.fields[row, c]) for c, crop in enumerate(crops)},
        "trick": sorted(card_name(int(card)) for card in table),
        "north": names_in(state.north[row]),
    }
    elsewhere = set(flat(found))
    found["deck"] = [name for name in names_in(rules.deck) if name not in elsewhere]
    return found


def flat(found: dict[str, Any]) -> list[str]:
    """All cards of all zones."""
    cards: list[str] = []
    for value in found.values():
        for entry in value.values() if isinstance(value, dict) else value:
            cards += [entry] if isinstance(entry, str) else entry
    return cards


def random_rules(source: random.Random) -> Rules:
    """Possible rules with every option drawn; half of them are the printed size."""
    while True:
        players = source.randint(2, 4)
        values: dict[str, Any] = {
            "players": players,
            "quota": source.choice([None, None, source.randint(1, 70)]),
            "hero_of_labor": source.random() < 0.7,
            "first_planner": source.choice([None, source.randrange(players)]),
            "years": source.choice([5, source.randint(1, 5)]),
            "famine_year": source.choice([5, source.randint(0, 5)]),
            "swaps": source.random() < 0.8,
            "saboteur": source.random() < 0.8,
        }
        if source.random() < 0.5:
            values |= {
                "crops": source.randint(1, 4),
                "ranks": source.randint(2, 13),
                "tricks": source.randint(1, 4),
                "low_rewards": source.randint(0, 4),
            }
        try:
            return Rules(**values)
        except RulesError:
            continue


def chosen_by_hash(table: VectorKolkhoz, salt: int = 0) -> np.ndarray:
    """One legal action a game that depends on nothing but game, decision number and salt."""
    mask = table.legal_mask()
    number = table.game_ids * 7919 + table.decision * 104729 + salt * 15485863
    number = (number ^ (number >> 7)) * 2654435761 % 4294967291
    wanted = number % np.maximum(mask.sum(axis=1), 1)
    place = np.cumsum(mask, axis=1) - 1
    return (mask & (place == wanted[:, None])).argmax(axis=1)


class EngineDeals:
    """A deal provider for the plain game that reads the cards off the engine."""

    def __init__(self, state: State, row: int, rules: Rules) -> None:
        self.state, self.row, self.rules = state, row, rules
        self.planner = int(state.planner[row])
        self.piles = {
            crop: [card_name(int(card)) for card in state.piles[row, c] if card >= 0]
            for c, crop in enumerate(CROPS[: rules.crops])
        }

    def first_planner(self) -> int:
        return self.planner

    def reward_piles(self) -> dict[str, list[str]]:
        return {crop: list(pile) for crop, pile in self.piles.items()}

    def hands(self, year: int, deck: list[str]) -> list[list[str]]:
        return [names_in(hand) for hand in self.state.dealt[self.row, :, year - 1]]

    def famine_card(self, year: int, deck: list[str]) -> str:
        (card,) = set(deck) & set(names_in(self.state.north[self.row]))
        return card


def random_actions(games: VectorKolkhoz, generator: np.random.Generator) -> np.ndarray:
    """A random legal action of each game, 0 for those that are over."""
    mask = games.legal_mask()
    return np.where(mask, generator.random(mask.shape), -1).argmax(axis=1)


def played(games: VectorKolkhoz, steps: int, seed: int = 0) -> VectorKolkhoz:
    """The games after some steps of random play."""
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        games.step(random_actions(games, generator))
    return games


def same_rows(known: State, worlds: State, count: int) -> list[str]:
    """Names of the arrays in which redacted worlds differ from what was known."""
    return [
        f.name
        for f in fields(State)
        if not np.array_equal(
            np.repeat(getattr(known, f.name), count, axis=0), getattr(worlds, f.name)
        )
    ]


def assert_agree(table: VectorKolkhoz, row: int, mask: np.ndarray, plain: PlainGame) -> None:
    """Everything that both implementations say of a game is the same."""
    state, rules = table.state, table.rules
    if plain.position is None:
        assert table.over[row]
        assert not mask.any()
        return
    position = plain.position
    assert (int(state.seat[row]), PHASES[state.phase[row]]) == (position.seat, position.phase)
    assert legal_names(mask) == position.legal
    if position.card is not None:
        assert card_name(int(state.trick[row, state.assigned[row]])) == position.card
    assert (int(state.year[row]), int(state.planner[row])) == (plain.year, plain.planner)
    assert "WSPB-"[state.trump[row]] == (plain.trump or "-")
    assert state.medals[row].tolist() == plain.medals
    crops = rules.crops
    assert state.hours[row, :crops].tolist() == [plain.hours(crop) for crop in plain.crops]
    assert zones(state, row, rules) == plain.zones()
    for seat, cellar in enumerate(plain.cellars):
        places = {place.banked: place.card for place in cellar}
        engine = {
            y + 1: card_name(int(c)) for y, c in enumerate(state.cellars[row, seat]) if c >= 0
        }
        assert engine == places


def small(**options: Any) -> Rules:
    """One year of one trick, without Famine, that two seats play for fields of six hours."""
    values: dict[str, Any] = {"players": 2, "tricks": 1, "years": 1, "famine_year": 0, "quota": 6}
    return Rules(**(values | options))


def three(**options: Any) -> Rules:
    """The same with three seats and fields that can't be completed."""
    return small(**({"players": 3, "quota": 400} | options))


class ByHand:
    """One game with hands, reward piles and moves laid by hand, on both implementations.

    Args:
        hands: for each year the hands by seat, each as text (``"W5 S6"``).
        rules: the rules of the game; its first Planner defaults to the last seat, so that seat 0
            leads Year 1.
        piles: reward piles as text for some crops; the others run from the Ace up and end with
            the lowest hidden rank.
        famine_card: the Worker revealed in the Famine year.
    """

    def __init__(
        self,
        hands: list[list[str]],
        rules: Rules,
        piles: dict[str, str] | None = None,
        famine_card: str | None = None,
    ) -> None:
        self.rules = rules
        self.ends: list[dict[str, Any]] = []
        self._hands = [[hand.split() for hand in year] for year in hands]
        self._famine_card = famine_card
        self._piles = self._all_piles(piles or {})
        self.course = Course(rules, dealer=self._deal, year_ended=self._year_ended)
        self.table = self._set_up()
        self.plain = PlainGame(plain_rules(rules), self)
        self._compare()

    def _all_piles(self, given: dict[str, str]) -> dict[str, list[str]]:
        ranks = range(1, self.rules.pile_size + 1)
        return {
            crop: given[crop].split() if crop in given else [f"{crop}{rank}" for rank in ranks]
            for crop in CROPS[: self.rules.crops]
        }

    def _set_up(self) -> VectorKolkhoz:
        piles = np.full((1, 4, 5), -1, dtype=np.int8)
        for c, pile in enumerate(self._piles.values()):
            piles[0, c, : len(pile)] = [card_number(card) for card in pile]
        state = empty_state(1, self.rules)
        first = np.array([self.first_planner()], dtype=np.int8)
        set_up(state, np.arange(1), self.course, np.zeros(1, dtype=np.uint64), piles, first)
        return VectorKolkhoz.from_state(state, self.rules, course=self.course)

    # Deals, for the engine and for the plain game

    def _deal(self, state: State, rows: np.ndarray, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
        hands = [zone_of(hand) for hand in self._hands[state.year[0] - 1]]
        turned_up = card_number(self._famine_card) if self._famine_card else -1
        return np.array([hands], dtype=np.uint64), np.array([turned_up], dtype=np.int8)

    def first_planner(self) -> int:
        first = self.rules.first_planner
        return self.rules.players - 1 if first is None else first

    def reward_piles(self) -> dict[str, list[str]]:
        return {crop: list(pile) for crop, pile in self._piles.items()}

    def hands(self, year: int, deck: list[str]) -> list[list[str]]:
        return [list(hand) for hand in self._hands[year - 1]]

    def famine_card(self, year: int, deck: list[str]) -> str:
        assert self._famine_card is not None
        return self._famine_card

    # Playing

    def _year_ended(self, state: State, rows: np.ndarray) -> None:
        crops = CROPS[: self.rules.crops]
        self.ends.append(
            {
                "hours": {crop: int(state.hours[0, c]) for c, crop in enumerate(crops)},
                "failed": [crop for c, crop in enumerate(crops) if state.failed[0] >> c & 1],
                "medals": state.medals[0].tolist(),
                **{key: zones(state, 0, self.rules)[key] for key in ("plots", "cellars", "north")},
            }
        )

    def _compare(self) -> None:
        assert_agree(self.table, 0, self.table.legal_mask()[0], self.plain)
        assert self.ends == self.plain.year_ends

    def move(self, moves: str) -> None:
        """Make moves in order, each by the seat whose turn it is: ``move("W W5 S6 W W")``."""
        for move in moves.split():
            assert move in self.legal, f"{move} is not among {self.legal}"
            self.table.step([action_number(move)])
            self.plain.apply(move)
            self._compare()

    @property
    def turn(self) -> tuple[int, str]:
        """Seat and phase of the decision."""
        return int(self.table.seat[0]), PHASES[self.table.phase[0]]

    @property
    def legal(self) -> list[str]:
        return legal_names(self.table.legal_mask()[0])

    def zone(self, name: str) -> Any:
        return zones(self.table.state, 0, self.rules)[name]

    def hours(self, crop: str) -> int:
        return int(self.table.state.hours[0, CROPS.index(crop)])

    @property
    def medals(self) -> list[int]:
        return self.table.state.medals[0].tolist()

    @property
    def result(self) -> dict[str, list[int]]:
        """Scores, numbers of cards and winners, as the engine has them."""
        assert self.table.over[0]
        outcome = self.table.outcome()
        winners = np.flatnonzero(outcome.win_share[0] > 0).tolist()
        result = {
            "scores": outcome.score[0].astype(int).tolist(),
            "cards": outcome.cards[0].astype(int).tolist(),
            "winners": winners,
        }
        assert result == self.plain.result
        return result
