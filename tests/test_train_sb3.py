"""MaskablePPO through the native VecEnv: canonical order, the same bot folder, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from kolkhoz_agents.bots import make_bot
from kolkhoz_agents.games import make_game
from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_env.vec_env import KolkhozVecEnv
from kolkhoz_train.config import ConfigError, parse_config
from kolkhoz_train.measure import measure
from kolkhoz_train.sb3 import CanonicalVecEnv
from kolkhoz_train.train import new_run, resume_run

SMALL = {
    "threads": 1,
    "network": {"hidden": [16, 8], "trunk": "separate"},
    "algorithm": {
        "name": "sb3_maskable_ppo",
        "environments": 16,
        "steps": 16,
        "minibatch": 128,
        "epochs": 1,
    },
    "opponents": {"tables": [{"agent": "random"}]},
    "reward": {"margin": 0},
    "budget": {"decisions": 600},
    "evaluation": {"final_deals": 5},
}


def quiet() -> Console:
    return Console(file=open(os.devnull, "w"))


def test_the_learner_sees_trump_first_and_its_actions_are_turned_back() -> None:
    game = make_game("kolkhoz")
    plain = KolkhozVecEnv(8, opponents=RandomAgent(game), seed=3)
    turned = CanonicalVecEnv(KolkhozVecEnv(8, opponents=RandomAgent(game), seed=3), game)
    seen, canonical = plain.reset(), turned.reset()
    trump = next(block for block in game.observation.blocks if block.name == "trump")
    index = game.symmetry.observation_index
    generator = np.random.default_rng(1)
    cases = set()
    for _ in range(60):
        case = turned.case
        cases |= set(case.tolist())
        np.testing.assert_array_equal(canonical, np.take_along_axis(seen, index[case], 1))
        named = canonical[:, trump.offset : trump.offset + 4].any(1)
        assert canonical[named, trump.offset].all()
        mask = turned.action_masks()
        np.testing.assert_array_equal(mask.sum(1), plain.action_masks().sum(1))
        action = np.where(mask, generator.random(mask.shape), -1).argmax(1)
        plain_action = turned.canon.action_to_plain(action, case)
        canonical, reward, done, _ = turned.step(action)
        seen, plain_reward, plain_done, _ = plain.step(plain_action)
        np.testing.assert_array_equal(reward, plain_reward)
        np.testing.assert_array_equal(done, plain_done)
    assert len(cases) >= 4


@pytest.mark.slow
def test_a_run_writes_a_bot_that_plays_as_sb3s_policy_does(tmp_path: Path) -> None:
    from sb3_contrib import MaskablePPO

    run = new_run(parse_config(SMALL, "small"), tmp_path / "run", "small", quiet())
    record = json.loads((run.path / "run.json").read_text())
    assert record["finished"] is True
    assert record["learned_decisions"] >= 600
    assert record["results"][0]["games"] == 20
    assert list(run.logs.iterdir())
    game = make_game("kolkhoz")
    bot = make_bot(game, run.path)
    assert measure(game, bot, RandomAgent(game), "random", 2, 1).games == 8

    policy = MaskablePPO.load(run.path / "maskable_ppo.zip", device="cpu").policy
    network = NumpyNetwork(bot.file.shape, bot.file.weights, game)
    inputs = np.random.default_rng(2).random((20, game.observation.size), dtype=np.float32)
    logits, value = network.forward(inputs)
    with torch.no_grad():
        latent = policy.mlp_extractor.forward_actor(torch.from_numpy(inputs))
        theirs = policy.action_net(latent)
        values = policy.predict_values(torch.from_numpy(inputs))[:, 0]
    np.testing.assert_allclose(logits, theirs.numpy(), atol=1e-4)
    np.testing.assert_allclose(value, values.numpy(), atol=1e-4)
    (run.path / "run.json").write_text(json.dumps({**record, "finished": False}))
    with pytest.raises(ConfigError, match="a run of sb3_maskable_ppo cannot be resumed"):
        resume_run(run.path, quiet())


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"network": {}}, "network.trunk: 'shared' is wrong with sb3_maskable_ppo; allowed: sep"),
        ({"reward": {}}, "reward.margin: 0.3 is wrong with sb3_maskable_ppo; allowed: 0"),
        ({"opponents": {}}, "opponents.tables.0.agent: 'self' is wrong with sb3_maskable_ppo"),
        ({"game": {"name": "toy_game:make_game"}}, "game.name: 'toy' is wrong"),
    ],
)
def test_what_the_path_has_not_is_refused(tmp_path: Path, changes: dict, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        new_run(parse_config({**SMALL, **changes}, "x"), tmp_path / "run", "x", quiet())
