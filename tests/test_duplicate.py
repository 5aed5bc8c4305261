"""Duplicate play: the luck that copies of a deal have in common, and what is left without it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from test_train_run import SMALL, quiet, weights

from kolkhoz_agents.games import make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_train.acting import ActingNetwork
from kolkhoz_train.checkpoint import list_checkpoints
from kolkhoz_train.config import ConfigError, parse_config
from kolkhoz_train.config_model import RewardPart
from kolkhoz_train.duplicate import moments, shared_luck
from kolkhoz_train.reward import MarginReward
from kolkhoz_train.rollout import Played, Rollout, Seating
from kolkhoz_train.run_folder import RunFolder
from kolkhoz_train.train import new_run, resume_run
from kolkhoz_train.trainer import Report, Trainer

SHAPE = NetworkShape((16,))


def test_a_moment_is_a_scene_and_how_often_it_was_before() -> None:
    trajectory = np.array([0, 0, 0, 0, 2, 2, 2])
    scene = np.array([1, 0, 1, 1, 0, 1, 0])
    # Two scenes: number = times before * 2 + scene.
    assert moments(trajectory, scene).tolist() == [1, 0, 3, 5, 0, 1, 2]


def some_luck(copies: int, shared: float, seed: int = 1) -> tuple[np.ndarray, ...]:
    """Advantages of 3,000 deals at 2 moments: luck of the deal, and noise of each copy."""
    draw = np.random.default_rng(seed)
    luck = shared * draw.normal(size=(3000, 1, 2)) * np.ones((3000, copies, 2))
    noise = draw.normal(size=luck.shape)
    seat = np.broadcast_to(np.arange(3000)[:, None, None], luck.shape)
    moment = np.broadcast_to(np.arange(2), luck.shape)
    total = (luck + noise).astype(np.float32)
    return total.ravel(), luck.ravel(), seat.ravel(), moment.ravel()


def test_the_luck_of_a_deal_is_taken_away_as_far_as_the_copies_tell_it() -> None:
    for copies, shared in ((8, 2.0), (4, 1.0), (2, 1.0)):
        advantage, luck, seat, moment = some_luck(copies, shared)
        kind = np.zeros_like(seat)
        left = advantage - shared_luck(advantage, seat, seat, moment, kind)
        # What the best linear guess of the luck from the other copies leaves, plus the noise.
        others = copies - 1
        best = 1 + shared**2 / (1 + others * shared**2)
        assert abs(left.var() - best) < 0.04 * best
        assert np.corrcoef(left, luck)[0, 1] < 0.7 * np.corrcoef(advantage, luck)[0, 1]


def test_where_copies_have_nothing_in_common_hardly_anything_is_taken() -> None:
    advantage, _, seat, moment = some_luck(8, 0.0)
    baseline = shared_luck(advantage, seat, seat, moment, np.zeros_like(seat))
    assert baseline.var() < 0.001
    # Nor does a table of one kind speak for those of another.
    lucky, luck, _, _ = some_luck(8, 2.0, seed=2)
    both = np.concatenate([advantage, lucky])
    kind = np.repeat([0, 3], len(advantage))
    seats = np.concatenate([seat, seat + 3000])
    baseline = shared_luck(both, seats, seats, np.tile(moment, 2), kind)
    assert baseline[kind == 0].var() < 0.001
    assert np.corrcoef(baseline[kind == 3], luck)[0, 1] > 0.95


def test_a_decision_without_a_copy_keeps_its_advantage() -> None:
    advantage = np.array([1.0, -2.0, 0.5], np.float32)
    own, same = np.arange(3), np.zeros(3, int)
    alone = shared_luck(advantage, own, own, same, same)
    assert alone.tolist() == [0, 0, 0]


def play(copies: int, deals: int = 60) -> Played:
    """One learner among three heuristics."""
    game = make_game("kolkhoz", {})
    network = PolicyValueNetwork(SHAPE, game)
    network.initialise(1)
    rollout = Rollout(game, Canon(game, SHAPE), MarginReward(RewardPart(), 4), torch.device("cpu"))
    player = np.ones((deals, 4), np.int64)
    player[:, 1] = 0
    players = [ActingNetwork(network, "float32"), make_agent("heuristic", game)]
    seating = Seating(player.repeat(copies, axis=0), players, Learned(game, None))
    ids = np.arange(deals).repeat(copies)
    generator = torch.Generator().manual_seed(1)
    return rollout.play(9, ids, seating, generator, discount=1, gae_lambda=0.7, copies=copies)


def test_copies_make_advantages_quieter_and_leave_the_targets() -> None:
    batch = play(6).batch
    plain = batch.target - batch.value
    taken = plain - batch.advantage
    assert batch.advantage.var() < 0.9 * plain.var()
    # What is taken is a baseline: it goes with the advantage, and does not exceed it.
    assert np.corrcoef(taken, plain)[0, 1] > 0.4


def test_one_copy_is_a_batch_as_ever() -> None:
    batch = play(1).batch
    torch.testing.assert_close(batch.advantage, batch.target - batch.value)


def test_a_run_seats_the_copies_of_a_deal_alike(tmp_path: Path) -> None:
    algorithm = {"games": 64, "minibatch": 256, "copies": 4}
    config = parse_config({**SMALL, "algorithm": algorithm, "budget": {"decisions": 1}}, "small")
    seen: list[Report] = []
    run = RunFolder.create(tmp_path / "run", config, "small.yaml")
    Trainer(config, run).train([seen.append], say=lambda _: None)
    learner = seen[0].played.learner.reshape(16, 4, 3)
    assert (learner == learner[:, :1]).all()
    assert not (learner == learner[:1]).all()
    assert seen[0].progress.games == 64
    # Two random seats among learners: what copies share is little, but not nothing.
    assert 0 < seen[0].losses["shared_luck"] < 0.5


def test_a_resumed_run_of_copies_reaches_the_same_bits(tmp_path: Path) -> None:
    algorithm = {"games": 64, "minibatch": 256, "copies": 4}
    config = parse_config({**SMALL, "algorithm": algorithm}, "small")
    for name in ("whole", "again"):
        new_run(config, tmp_path / name, "small.yaml", quiet())
    folder = tmp_path / "again"
    # As if it had been killed after the checkpoint before its last.
    shutil.rmtree(list_checkpoints(folder)[0])
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"finished": False}))
    shutil.rmtree(folder / "bot")
    resume_run(folder, quiet())
    assert weights(folder) == weights(tmp_path / "whole")


@pytest.mark.parametrize("copies", [3, 0, 128])
def test_copies_must_divide_the_games(copies: int) -> None:
    algorithm = {"games": 64, "copies": copies}
    with pytest.raises(ConfigError, match=r"small: algorithm\.?(copies)?: ") as caught:
        parse_config({**SMALL, "algorithm": algorithm}, "small")
    assert "\n" not in str(caught.value)
    assert str(copies) in str(caught.value)


def test_a_deal_has_no_say_in_how_much_is_taken_from_it() -> None:
    # Two copies of two deals at one moment: alone, each deal would be explained by itself.
    advantage = np.array([3.0, 3.0, 0.0, 0.0], np.float32)
    deal, same = np.array([0, 0, 1, 1]), np.zeros(4, int)
    assert shared_luck(advantage, deal, deal, same, same).tolist() == [0, 0, 0, 0]
    # One deal's scale is what the other's copies say of each other: half of a mean that a third,
    # imagined copy draws to 0, times 2.
    advantage = np.array([3.0, 1.0, 2.0, 2.0], np.float32)
    expected = np.array([0.5 * 2, 1.5 * 2, 1.0 * 1.2, 1.0 * 1.2], np.float32)
    taken = shared_luck(advantage, deal, deal, same, same)
    np.testing.assert_allclose(taken, expected, rtol=1e-5)
