"""What holds in every position of every game, whatever the rules."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kolkhoz_tools import chosen_by_hash, flat, random_rules, zones

from kolkhoz_env.cards import CROPS, names_in
from kolkhoz_env.deal import hashed_deal, workers_deck
from kolkhoz_env.derived import derive
from kolkhoz_env.rules import ASSIGN, Rules
from kolkhoz_env.state import State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course

seeds = st.integers(min_value=0, max_value=2**32)


def same(one: State, other: State) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(State)
    )


def copy(state: State) -> State:
    return state.take(np.arange(state.size))


def assert_sound(table: VectorKolkhoz) -> None:
    """Cards, masks, Medals, hours and scores of every game of a table fit together.

    So do the arrays that follow from others.
    """
    state, rules = table.state, table.rules
    mask, outcome = table.legal_mask(), table.outcome()
    assert np.array_equal(mask.any(axis=1), ~table.over)
    tricks = state.trick_number + (state.phase == ASSIGN)
    assert np.array_equal(state.medals.sum(axis=1), tricks)
    derived = copy(state)
    derive(derived)
    assert same(derived, state)
    for row in range(table.size):
        found = zones(state, row, rules)
        assert sorted(flat(found)) == names_in(rules.deck), "every card is in exactly one place"
        for crop in CROPS[: rules.crops]:
            worked = sum(int(card[1:]) for card in found["fields"][crop])
            assert state.hours[row, CROPS.index(crop)] == worked
        for seat in range(rules.players):
            held = found["plots"][seat] + found["cellars"][seat]
            assert outcome.score[row, seat] == sum(int(card[1:]) for card in held)
            assert outcome.cards[row, seat] == len(held)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, auto_forced=st.booleans())
def test_every_position_is_sound(seed: int, auto_forced: bool) -> None:
    values = random_rules(random.Random(seed)).to_dict()
    rules = Rules(**(values | {"auto_forced": auto_forced}))
    table = VectorKolkhoz(2, rules=rules, seed=seed, restart=False)
    assert_sound(table)
    while not table.over.all():
        step = table.step(chosen_by_hash(table))
        assert_sound(table)
        assert np.allclose(step.rewards.sum(axis=1), 0, atol=1e-6)
        assert np.allclose(step.outcome.win_share.sum(axis=1), 1)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_forced_decisions_change_no_result(seed: int) -> None:
    values = random_rules(random.Random(seed)).to_dict()
    tables = []
    for auto_forced in (False, True):
        rules = Rules(**(values | {"auto_forced": auto_forced}))
        table = VectorKolkhoz(5, rules=rules, seed=seed, restart=False)
        while not table.over.all():
            if auto_forced:
                assert (table.legal_mask().sum(axis=1) != 1).all()
            table.step(chosen_by_hash(table))
        tables.append(table)
    assert same(tables[0].state, tables[1].state)


def test_forced_decisions_and_restarts() -> None:
    """Rules under which games often begin with forced decisions, or have none else."""
    rules = Rules(
        players=2, crops=1, ranks=5, tricks=1, low_rewards=0, years=1, famine_year=0,
        saboteur=False, auto_forced=True,
    )  # fmt: skip
    table = VectorKolkhoz(3, rules=rules, seed=1)
    for _ in range(60):
        mask = table.legal_mask()
        assert (mask.sum(axis=1) > 1).all()
        table.step(chosen_by_hash(table))


@pytest.mark.parametrize("players", [3, 4])
def test_the_same_games_in_batches_of_1_7_and_4096(players: int) -> None:
    many = VectorKolkhoz(4096, players=players, seed=11, restart=False)
    seven = VectorKolkhoz(7, players=players, seed=11, restart=False)
    single = VectorKolkhoz(1, players=players, seed=11, restart=False, games=[5])
    while not many.over.all():
        assert same(many.state.take(np.arange(7)), seven.state)
        assert same(seven.state.take(np.array([5])), single.state)
        for table in (many, seven, single):
            table.step(chosen_by_hash(table))
    assert seven.over.all()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_observations_into_arrays_of_any_form(players: int) -> None:
    table = VectorKolkhoz(6, players=players, seed=2)
    for _ in range(40):
        table.step(chosen_by_hash(table))
    expected = table.observe()
    wide = np.zeros((6, expected.shape[1] + 9), dtype=np.uint8)
    for out in (
        np.empty_like(expected),
        np.empty_like(expected, order="F"),
        wide[:, 4:-5],
        np.empty((6, 2 * expected.shape[1]), dtype=np.uint8)[:, ::2],
        np.empty(expected.shape, dtype=np.float32),
    ):
        assert table.observe(out=out) is out
        assert np.array_equal(out, expected)
    assert not wide[:, :4].any()
    assert not wide[:, -5:].any()
    none = np.zeros(0, dtype=np.int64)
    assert table.observe(none).shape == (0, expected.shape[1])
    known = table.knowledge(none)
    assert known.observe().shape == (0, expected.shape[1])
    assert known.legal_mask().shape == (0, 58)


def test_observations_of_some_rows_are_those_of_all_and_stay_as_they_were() -> None:
    table = VectorKolkhoz(64, seed=2)
    before: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(40):
        everything = table.observe()
        # Most of the rows and few of them are encoded in two ways; the next step changes neither.
        for rows in (np.arange(50)[::-1], np.array([7, 3, 7]), np.arange(64)):
            before.append((table.observe(rows), everything[rows].copy()))
        table.step(chosen_by_hash(table))
    for shown, expected in before:
        assert np.array_equal(shown, expected)


def test_threads_observe_side_by_side() -> None:
    tables = [VectorKolkhoz(256, seed=seed) for seed in range(4)]
    rows = np.arange(200)
    expected = [table.observe()[rows] for table in tables]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for shown, right in zip(
                pool.map(lambda table: table.observe(rows), tables), expected, strict=True
            ):
                assert np.array_equal(shown, right)


def test_other_seeds_and_games_are_other_deals() -> None:
    hands = VectorKolkhoz(1000, seed=1).state.hands
    assert len(np.unique(hands, axis=0)) == 1000
    assert not np.array_equal(hands, VectorKolkhoz(1000, seed=2).state.hands)
    assert not np.array_equal(hands, VectorKolkhoz(1000, seed=1 << 64).state.hands)
    assert np.array_equal(
        hands[300:], VectorKolkhoz(700, seed=1, games=range(300, 1000)).state.hands
    )


def test_restarted_games_are_the_next_numbers() -> None:
    table = VectorKolkhoz(3, seed=4)
    starts = {}
    for _ in range(500):
        step = table.step(chosen_by_hash(table))
        for row in step.finished:
            starts[int(table.game_ids[row])] = table.state.dealt[row, :, 0].copy()
    assert {3, 4, 5} <= set(starts)
    for game, dealt in starts.items():
        fresh = VectorKolkhoz(1, seed=4, games=[game])
        assert np.array_equal(fresh.state.dealt[0, :, 0], dealt)


@pytest.mark.parametrize(
    ("players", "sizes"), [(4, [33, 29, 25, 21, 17]), (3, [33, 30, 27, 24, 21])]
)
def test_workers_decks(players: int, sizes: list[int]) -> None:
    seen: dict[int, set[int]] = {}

    def dealer(state: State, rows: np.ndarray, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
        sizes_now = np.bitwise_count(workers_deck(state, rows, rules))
        seen.setdefault(int(state.year[rows[0]]), set()).update(sizes_now.tolist())
        return hashed_deal(state, rows, rules)

    course = Course(Rules(players=players), dealer=dealer)
    table = VectorKolkhoz(40, seed=players, restart=False, course=course)
    while not table.over.all():
        table.step(chosen_by_hash(table))
    assert seen == {year: {size} for year, size in enumerate(sizes, start=1)}


def test_decks_are_dealt_evenly() -> None:
    """Every Worker comes to every seat about equally often, and every rank is a hidden reward."""
    state = VectorKolkhoz(8000, players=4, seed=6).state
    bits = (state.hands[:, :, None] >> np.arange(53, dtype=np.uint64)) & np.uint64(1)
    share = bits.mean(axis=0)
    dealt = [card for card in range(53) if card % 13 >= 4 or card == 52]
    ordinary = share[:, [card for card in dealt if card != 52]]
    assert np.abs(ordinary - 32 / 36 * 5 / 33).max() < 0.02
    assert np.abs(share[:, 52] - 5 / 33).max() < 0.02
    hidden = state.piles[:, 0][state.piles[:, 0] >= 4]
    counts = np.bincount(hidden, minlength=13)[4:]
    assert counts.min() > 8000 / 9 * 0.85
    planners = np.bincount(state.planner, minlength=4)
    assert planners.min() > 1850
    first = np.bincount(state.piles[:, 2, 0] - 26, minlength=13)
    assert np.abs(np.append(first[:4], first[4:].sum()) - 1600).max() < 150


# Illegal actions ---------------------------------------------------------------------------------


def test_an_illegal_action_names_everything_and_changes_nothing() -> None:
    table = VectorKolkhoz(5, seed=2, games=[10, 11, 12, 13, 14])
    source = np.random.default_rng(0)
    for _ in range(300):
        before, mask = copy(table.state), table.legal_mask()
        row = int(source.integers(5))
        actions = chosen_by_hash(table)
        legal = actions.copy()
        actions[row] = source.choice([*np.flatnonzero(~mask[row]), -1, 58, 10**12])
        with pytest.raises(ValueError, match="is not legal; legal: ") as error:
            table.step(actions)
        text = str(error.value)
        assert f"game {table.game_ids[row]}, seat {table.seat[row]}, phase " in text
        assert f"action {actions[row]} " in text
        assert same(before, table.state)
        table.step(legal)


@pytest.mark.parametrize(
    "actions",
    [53, [53], [53, 53, 53], [[53, 53]], [53.0, 53.0], ["W", "W"], [None, None], [True, True]],
)
def test_actions_of_the_wrong_form(actions: object) -> None:
    table = VectorKolkhoz(2, seed=2)
    before = copy(table.state)
    with pytest.raises(ValueError, match="whole numbers of shape"):
        table.step(actions)  # type: ignore[arg-type]
    assert same(before, table.state)


def test_games_that_are_over_ignore_their_action() -> None:
    rules = Rules(players=2, tricks=1, years=1, famine_year=0)
    table = VectorKolkhoz(2, rules=rules, seed=2, restart=False)
    while not table.over.all():
        table.step(chosen_by_hash(table))
    before = copy(table.state)
    step = table.step(np.array([999, -5]))
    assert not step.done.any()
    assert same(before, table.state)


@pytest.mark.parametrize("kind", ["win_share", "score", "rank"])
def test_rewards_come_once_and_sum_to_zero(kind: str) -> None:
    table = VectorKolkhoz(50, seed=3, restart=False, reward=kind)
    total = np.zeros((50, 4))
    while not table.over.all():
        step = table.step(chosen_by_hash(table))
        assert not step.rewards[~step.done].any()
        total += step.rewards
    assert np.allclose(total.sum(axis=1), 0, atol=1e-5)
    best = table.outcome().win_share.argmax(axis=1)
    assert (total[np.arange(50), best] > 0).all()
