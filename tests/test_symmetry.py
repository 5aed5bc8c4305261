"""How Kolkhoz sorts its crops: what the keys mean, and that they stay exact."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.observation import observation_table
from kolkhoz_env.rules import PHASES, Rules

SMALL = {"crops": 3, "players": 2, "ranks": 9, "years": 2, "low_rewards": 2, "famine_year": 0}
RULES = [Rules(), Rules(players=3), Rules(players=2, quota=400), Rules(**SMALL)]


def observations(rules: Rules, games: int = 60) -> np.ndarray:
    """All observations of the seats to act in games of random moves, uint8[n, size]."""
    table = KolkhozGame(rules).table(3, np.arange(games))
    generator = np.random.default_rng(2)
    seen = []
    while not table.over.all():
        running = np.flatnonzero(~table.over)
        seen.append(table.observe(running))
        mask = table.legal_mask()
        table.step((generator.random(mask.shape) * mask).argmax(1))
    return np.concatenate(seen)


@pytest.mark.parametrize("rules", RULES)
def test_crops_are_sorted_by_trump_then_led_then_hand_then_field_then_cellar(rules: Rules) -> None:
    rows = observations(rules)
    table = observation_table(rules)
    blocks = table.named(rows.astype(np.int64))
    ranks = np.arange(1, 14)
    hand = blocks["hand"][:, :52].reshape(-1, 4, 13)
    cellar = blocks["cellar"][:, :52].reshape(-1, 4, 13)
    trump = blocks["trump"][:, :4]
    levels = [trump, blocks["led"], hand.sum(2), hand @ ranks, blocks["short"], cellar @ ranks]
    plain = np.broadcast_to(np.arange(4), trump.shape)
    order = np.lexsort([plain, *(-level for level in reversed(levels))])
    # Crops that are not in the deck stay behind those that are.
    here = order[order < rules.crops].reshape(len(rows), rules.crops)
    orders = np.array(list(permutations(range(rules.crops))))
    case = Canon(KolkhozGame(rules), NetworkShape()).case(rows)
    assert (orders[case] == here).all()
    assert len(np.unique(case)) == len(orders)


@pytest.mark.parametrize("rules", RULES)
def test_keys_are_exact_in_float32_and_seldom_equal(rules: Rules) -> None:
    rows = observations(rules)
    symmetry = KolkhozGame(rules).symmetry
    keys = (rows[:, symmetry.key_columns].astype(np.int64) * symmetry.key_weights).sum(2)
    assert keys.max() < 2**24
    # The most of each level at once: trump, led, five highest cards, an empty field, five cards.
    table = observation_table(rules)
    most = np.zeros(table.size, np.int64)
    for name in ("trump", "led"):
        most[table[name].offset] = 1
    for name in ("hand", "cellar"):
        most[table[name].offset + np.arange(8, 13)] = 1
    most[table["short"].offset] = 255
    assert (most[symmetry.key_columns[0]] * symmetry.key_weights).sum() < 2**24
    equal = (np.diff(np.sort(keys, axis=1), axis=1) == 0).any(1)
    assert equal.mean() < 0.25


def test_led_is_shown_only_while_its_trick_lies() -> None:
    rules = Rules()
    rows = observations(rules)
    blocks = observation_table(rules).named(rows)
    led = blocks["led"].any(1)
    phase = blocks["phase"].argmax(1)
    lies = blocks["trick"][:, :, 6].any(1)
    assert not led[~lies].any()
    assert set(phase[led].tolist()) == {PHASES.index("play"), PHASES.index("assign")}


@pytest.mark.parametrize("rules", RULES)
def test_each_case_moves_what_belongs_to_a_crop_together(rules: Rules) -> None:
    symmetry, table = KolkhozGame(rules).symmetry, observation_table(rules)
    for order, index, actions in zip(
        permutations(range(rules.crops)),
        symmetry.observation_index,
        symmetry.action_index,
        strict=True,
    ):
        crops = [*order, *range(len(order), 4)]
        assert sorted(index.tolist()) == list(range(table.size))
        assert (table.scale[index] == table.scale).all()
        blocks = table.named(index)
        assert blocks["led"].tolist() == [table["led"].offset + crop for crop in crops]
        assert blocks["trump"].tolist() == [table["trump"].offset + c for c in [*crops, 4]]
        cards = [13 * crop + rank for crop in crops for rank in range(13)] + [52]
        assert blocks["hand"].tolist() == cards
        assert actions.tolist() == [*cards, *(53 + crop for crop in crops), 57]
        fields = blocks["fields"] - table["fields"].offset
        assert fields.tolist() == [[53 * crop + card for card in cards] for crop in crops]
