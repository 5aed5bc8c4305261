"""Each option of the rules does what it says, and impossible values are refused by name."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from kolkhoz_tools import ByHand, chosen_by_hash

from kolkhoz_env.cards import cards_in, names_in
from kolkhoz_env.errors import RulesError
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.vector import VectorKolkhoz


def phases_of(rules: Rules, games: int = 20) -> list[list[tuple[int, str]]]:
    """Year and phase of every decision of some games."""
    table = VectorKolkhoz(games, rules=rules, seed=1, restart=False)
    seen: list[list[tuple[int, str]]] = [[] for _ in range(games)]
    while not table.over.all():
        for row in np.flatnonzero(~table.over):
            seen[row].append((int(table.state.year[row]), PHASES[table.phase[row]]))
        table.step(chosen_by_hash(table))
    return seen


def test_the_default_is_the_printed_game() -> None:
    rules = Rules()
    assert (rules.players, rules.years, rules.famine_year) == (4, 5, 5)
    assert [rules.tricks_in(year) for year in range(1, 6)] == [4, 4, 4, 4, 3]
    assert [rules.hand_size(year) for year in range(1, 6)] == [5, 5, 5, 5, 4]
    assert len(cards_in(rules.deck)) == 53
    assert rules.pile_size == 5


@pytest.mark.parametrize(("players", "quota"), [(2, 24), (3, 32), (4, 40)])
def test_players(players: int, quota: int) -> None:
    rules = Rules(players=players)
    assert rules.field_quota == quota
    for seen in phases_of(rules, games=3):
        assert sum(phase == "play" for _, phase in seen) == 19 * players


@pytest.mark.parametrize(("quota", "complete"), [(13, True), (14, False)])
def test_quota(quota: int, complete: bool) -> None:
    rules = Rules(players=2, tricks=1, years=1, famine_year=0, quota=quota)
    game = ByHand([["W6 S6", "W7 S7"]], rules)
    game.move("P W6 W7 W W")
    assert ("W" not in game.ends[0]["failed"]) is complete
    assert rules.field_quota == quota


def test_first_planner() -> None:
    assert set(VectorKolkhoz(100, seed=1).state.planner) == {0, 1, 2, 3}
    for seat in range(3):
        table = VectorKolkhoz(100, seed=1, rules=Rules(players=3, first_planner=seat))
        assert set(table.state.planner) == {seat}
        assert set(table.seat) == {seat}


@pytest.mark.parametrize("years", [1, 2, 3, 4, 5])
def test_years(years: int) -> None:
    for seen in phases_of(Rules(years=years), games=3):
        assert {year for year, _ in seen} == set(range(1, years + 1))


@pytest.mark.parametrize("famine_year", [0, 1, 2, 3, 4, 5])
def test_famine_year(famine_year: int) -> None:
    for seen in phases_of(Rules(players=3, famine_year=famine_year), games=3):
        for year in range(1, 6):
            phases = [phase for number, phase in seen if number == year]
            famine = year == famine_year
            assert phases.count("trump") == (0 if famine else 1)
            assert phases.count("play") == (9 if famine else 12)


@pytest.mark.parametrize("swaps", [True, False])
def test_swaps(swaps: bool) -> None:
    for seen in phases_of(Rules(swaps=swaps)):
        years = {year for year, phase in seen if phase.startswith("swap")}
        assert 1 not in years
        assert bool(years) is swaps


@pytest.mark.parametrize("players", [2, 3, 4])
def test_without_the_saboteur(players: int) -> None:
    rules = Rules(players=players, saboteur=False)
    table = VectorKolkhoz(200, rules=rules, seed=1, restart=False)
    while not table.over.all():
        assert not table.legal_mask()[:, 52].any()
        table.step(chosen_by_hash(table))
    assert 52 not in cards_in(rules.deck)
    assert ((table.state.trump == 4) == (players == 4)).all()


def test_a_famine_without_a_worker_to_reveal_has_no_trump() -> None:
    """Four players without the Saboteur: all 16 Workers of Year 5 are dealt."""
    rules = Rules(saboteur=False)
    assert [rules.workers_in(year) for year in range(1, 6)] == [32, 28, 24, 20, 16]
    assert [rules.reveals_in(year) for year in range(1, 6)] == [False] * 5
    assert Rules().reveals_in(5)


def test_forced_decisions_are_made_automatically() -> None:
    table = VectorKolkhoz(20, rules=Rules(auto_forced=True), seed=1, restart=False)
    asked = 0
    while not table.over.all():
        choices = table.legal_mask().sum(axis=1)
        assert ((choices > 1) | table.over).all()
        asked += int((choices > 1).sum())
        table.step(chosen_by_hash(table))
    assert asked < 0.8 * table.decision.sum(), "decisions count forced ones too"


@pytest.mark.parametrize("crops", [1, 2, 3])
def test_crops(crops: int) -> None:
    rules = Rules(players=2, crops=crops, years=1, famine_year=0, tricks=2)
    table = VectorKolkhoz(20, rules=rules, seed=1, restart=False)
    assert table.legal_mask()[:, 53:57].sum(axis=1).tolist() == [crops] * 20
    while not table.over.all():
        assert not table.legal_mask()[:, 53 + crops : 57].any(), "not even for the Saboteur's trick"
        table.step(chosen_by_hash(table))


def test_ranks_tricks_and_low_rewards() -> None:
    rules = Rules(players=2, ranks=6, tricks=2, low_rewards=2, years=3, famine_year=0, quota=9)
    assert len(cards_in(rules.deck)) == 25
    state = VectorKolkhoz(200, rules=rules, seed=1).state
    assert set(np.bitwise_count(state.hands).ravel()) == {3}
    piles = np.sort(state.piles[:, :, :3] % 13, axis=2)
    assert (piles[:, :, :2] == [0, 1]).all()
    assert set(piles[:, :, 2].ravel()) == {2, 3, 4, 5}
    assert (state.piles[:, :, 3:] == -1).all()
    dealt = names_in(np.bitwise_or.reduce(state.hands, axis=None))
    assert {int(card[1:]) for card in dealt} == {0, 3, 4, 5, 6}


def test_rules_are_values() -> None:
    rules = Rules(players=3, quota=30, first_planner=1, saboteur=False)
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert hash(Rules.from_dict({})) == hash(Rules())
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.players = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("players", 1), ("players", 5), ("players", 4.0), ("players", True), ("players", "4"),
        ("players", None), ("quota", 0), ("quota", -3), ("quota", 1e9), ("quota", float("nan")),
        ("hero_of_labor", 1), ("hero_of_labor", None), ("first_planner", 4), ("first_planner", -1),
        ("years", 0), ("years", 6), ("famine_year", 6), ("famine_year", -1), ("swaps", "yes"),
        ("saboteur", 0), ("auto_forced", "no"), ("crops", 0), ("crops", 5), ("ranks", 1),
        ("ranks", 14), ("tricks", 0), ("tricks", 5), ("low_rewards", -1), ("low_rewards", 3),
        ("low_rewards", 13), ("hero", True),
    ],
)  # fmt: skip
def test_impossible_rules_name_the_key(key: str, value: Any) -> None:
    with pytest.raises(RulesError, match=rf"^rules\.{key}: ") as error:
        Rules.from_dict({key: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("values", [[], "players", None, 4, {1: 2}])
def test_rules_that_are_no_table(values: Any) -> None:
    with pytest.raises(RulesError, match=r"^rules"):
        Rules.from_dict(values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"crops": 1}, "Workers Deck of year 1 has 9 cards, 20 are needed"),
        ({"ranks": 9}, "Workers Deck of year 1 has 17 cards, 20 are needed"),
        ({"tricks": 1}, "a Famine year needs at least 2 tricks"),
        ({"low_rewards": 2}, "too few for 5 years"),
    ],
)
def test_decks_that_do_not_suffice(values: dict[str, int], words: str) -> None:
    with pytest.raises(RulesError, match=words):
        Rules(**values)
