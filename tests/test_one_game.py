"""The scalar game and encoder against the arrays that they are a faster form of."""

from dataclasses import fields

import numpy as np
import pytest

from kolkhoz_env import IllegalActionError, Rules, VectorKolkhoz, observation_table
from kolkhoz_env.one_game import OneGame

RULES = {
    "four players": Rules(),
    "three players": Rules(players=3),
    "options": Rules(players=3, hero_of_labor=False, years=3, famine_year=3, swaps=False),
    "low quota": Rules(quota=9),
    "forced moves made": Rules(auto_forced=True),
    "small": Rules(players=2, crops=3, ranks=9, tricks=2, years=3, low_rewards=2),
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
def test_one_game_leaves_the_arrays_of_the_batch_engine(rules: Rules) -> None:
    generator = np.random.default_rng(1)
    for seed in range(5):
        batch = VectorKolkhoz(1, seed=seed, rules=rules, restart=False)
        one = OneGame(rules, seed)
        while True:
            for field in fields(batch.state):
                expected = getattr(batch.state, field.name)
                actual = getattr(one.table.state, field.name)
                assert np.array_equal(expected, actual), field.name
            for seat in range(rules.players):
                expected = batch.observe(seats=[seat])[0]
                assert np.array_equal(expected, one.observe(seat))
            assert one.legal_actions() == int(batch.legal_actions()[0])
            assert np.array_equal(one.table.legal_mask(), batch.legal_mask())
            if one.seat < 0:
                break
            action = generator.choice(np.flatnonzero(batch.legal_mask()[0]))
            expected = batch.step(np.array([action]))
            actual = one.step(int(action))
            if actual is None:
                assert not expected.done[0]
            else:
                assert np.array_equal(expected.rewards, actual.rewards)
                assert np.array_equal(expected.done, actual.done)


def test_names_of_all_blocks_are_encoded() -> None:
    one = OneGame(Rules(), 0)
    assert one.observe(0).shape == (observation_table(Rules()).size,)


@pytest.mark.parametrize("action", [-1, 0, 57, 58, 10**6])
def test_an_illegal_action_changes_nothing(action: int) -> None:
    one = OneGame(Rules(), 0)
    before = one.table.take([0]).state
    with pytest.raises(IllegalActionError, match=r"seat \d, phase trump: action .* legal: W, S"):
        one.step(action)
    for field in fields(before):
        assert np.array_equal(getattr(before, field.name), getattr(one.table.state, field.name))
