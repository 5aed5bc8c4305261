"""The VecEnv of Stable-Baselines3 over the batch engine."""

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from kolkhoz_agents.games import make_game
from kolkhoz_agents.registry import make_agent
from kolkhoz_env import IllegalActionError, KolkhozError
from kolkhoz_env.single import KolkhozEnv
from kolkhoz_env.vec_env import KolkhozVecEnv


def legal_actions(table, generator):
    mask = get_action_masks(table)
    return np.where(mask, generator.random(mask.shape), -1).argmax(axis=1)


def test_every_game_is_that_of_the_single_environment() -> None:
    """Same seats, observations, masks, rewards and ends, game by game."""
    size = 5
    table = KolkhozVecEnv(size, players=3, seed=9)
    singles = []
    for row in range(size):
        single = KolkhozEnv(players=3)
        single.reset(seed=9)
        for _ in range(row):
            single.reset()
        singles.append(single)
    observations = table.reset()
    ended = np.zeros(size, dtype=bool)
    generator = np.random.default_rng(1)
    assert [info["seat"] for info in table.reset_infos] == [0, 1, 2, 0, 1]
    while not ended.all():
        masks = get_action_masks(table)
        for row in np.flatnonzero(~ended):
            assert np.array_equal(observations[row], singles[row]._observe())
            assert np.array_equal(masks[row], singles[row].action_masks())
        actions = legal_actions(table, generator)
        observations, rewards, dones, infos = table.step(actions)
        for row in np.flatnonzero(~ended):
            observation, reward, terminated, _, info = singles[row].step(int(actions[row]))
            assert reward == rewards[row]
            assert terminated == dones[row]
            if terminated:
                seat = info["seat"]
                assert np.array_equal(infos[row]["terminal_observation"], observation)
                assert infos[row]["TimeLimit.truncated"] is False
                assert infos[row]["win_share"] == pytest.approx(info["win_share"][seat])
                assert infos[row]["score"] == info["score"][seat]
                assert infos[row]["episode"]["r"] == pytest.approx(reward)
        ended |= dones


def test_games_go_on_and_the_seat_goes_round() -> None:
    table = KolkhozVecEnv(6, seed=2)
    table.reset()
    generator = np.random.default_rng(1)
    seats, shares, lengths = [[] for _ in range(6)], [], []
    while min(map(len, seats)) < 5:
        observations, _, dones, infos = table.step(legal_actions(table, generator))
        assert observations.dtype == np.float32
        for row in np.flatnonzero(dones):
            seats[row].append(infos[row]["seat"])
            shares.append(infos[row]["win_share"])
            lengths.append(infos[row]["episode"]["l"])
    assert seats[0][:4] == [0, 2, 0, 2], "game k is played from seat k % 4, and 6 rows a round"
    assert 0.05 < np.mean(shares) < 0.5
    assert 25 < np.mean(lengths) < 70


def test_a_fixed_seat_and_agents_of_the_lab() -> None:
    agent = make_agent("heuristic", make_game("kolkhoz", {"players": 3}))
    table = VecMonitor(KolkhozVecEnv(4, players=3, seat=1, opponents=agent))
    table.reset()
    generator = np.random.default_rng(1)
    rewards = []
    while len(rewards) < 8:
        _, _, dones, infos = table.step(legal_actions(table, generator))
        rewards += [infos[row]["episode"]["r"] for row in np.flatnonzero(dones)]
        assert all(infos[row]["seat"] == 1 for row in np.flatnonzero(dones))
    assert np.mean(rewards) < 0.34


def test_maskable_ppo_learns_here() -> None:
    table = KolkhozVecEnv(8, players=3, rules={"players": 3, "years": 2}, seed=1)
    assert is_masking_supported(table)
    learner = MaskablePPO("MlpPolicy", table, n_steps=16, batch_size=64, n_epochs=1, seed=4)
    before = learner.policy.state_dict()["action_net.weight"].clone()
    learner.learn(256)
    assert not np.array_equal(before, learner.policy.state_dict()["action_net.weight"])


def test_what_vec_envs_answer() -> None:
    table = KolkhozVecEnv(3)
    table.reset()
    assert table.has_attr("action_masks")
    assert not table.has_attr("nothing")
    assert table.get_attr("reward", [0, 2]) == ["win_share"] * 2
    assert len(table.env_method("action_masks", indices=1)) == 1
    assert table.env_is_wrapped(VecMonitor) == [False] * 3
    with pytest.raises(KolkhozError, match="all environments share it"):
        table.set_attr("reward", "rank", indices=0)
    table.close()


def test_a_seed_of_sb3_names_the_decks() -> None:
    tables = [KolkhozVecEnv(2), KolkhozVecEnv(2)]
    rows = []
    for table in tables:
        table.seed(77)
        rows.append(table.reset())
    assert np.array_equal(*rows)
    assert not np.array_equal(rows[0], KolkhozVecEnv(2, seed=1).reset())


def test_illegal_actions_are_refused_and_change_nothing() -> None:
    table = KolkhozVecEnv(3)
    before = table.reset()
    masks = get_action_masks(table)
    wrong = masks.argmax(axis=1)
    wrong[1] = masks[1].argmin()
    with pytest.raises(IllegalActionError, match=r"game 1, .* is not legal; legal:"):
        table.step(wrong)
    assert np.array_equal(before, table._observe())
    with pytest.raises(IllegalActionError, match="shape"):
        table.step(np.zeros(2, dtype=int))
