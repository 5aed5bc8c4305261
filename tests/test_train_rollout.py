"""One trajectory a seat, GAE over a seat's own decisions, the mixture of tables, PPO's parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_game import ToyGame

from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_train.acting import ActingNetwork, sample
from kolkhoz_train.average import Average
from kolkhoz_train.config_algorithms import PpoPart
from kolkhoz_train.config_model import OpponentsPart, RewardPart
from kolkhoz_train.config_parts import ConfigError
from kolkhoz_train.kept import advantages
from kolkhoz_train.opponents import Opponents
from kolkhoz_train.ppo import Ppo, Schedule, mean_entropy, schedule
from kolkhoz_train.reward import MarginReward
from kolkhoz_train.rollout import Played, Rollout, Seating

CPU = torch.device("cpu")
SHAPE = NetworkShape((16,))
ALL = Learned(ToyGame(), None)


def network(seed: int = 1) -> PolicyValueNetwork:
    made = PolicyValueNetwork(SHAPE, ToyGame())
    made.initialise(seed)
    return made


def play(seating: Seating, games: int = 30, seed: int = 2, gae_lambda: float = 0.9) -> Played:
    game = ToyGame()
    reward = MarginReward(RewardPart(margin=0.1, margin_scale=4), 3)
    rollout = Rollout(game, Canon(game, SHAPE), reward, CPU)
    generator = torch.Generator().manual_seed(seed)
    return rollout.play(
        3, np.arange(games), seating, generator, discount=1.0, gae_lambda=gae_lambda
    )


def self_play(games: int = 30) -> Seating:
    player = np.zeros((games, 3), np.int64)
    return Seating(player, [ActingNetwork(network(), "float32")], ALL)


def slow_gae(value: np.ndarray, final: float, discount: float, lam: float) -> np.ndarray:
    following = np.append(value[1:] * discount, final)
    delta = following - value
    return np.array(
        [sum((discount * lam) ** (k - t) * delta[k] for k in range(t, len(value)))
         for t in range(len(value))]
    )  # fmt: skip


@pytest.mark.parametrize(("discount", "lam"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (1.0, 0.0)])
def test_gae_is_that_of_each_trajectory_alone(discount: float, lam: float) -> None:
    generator = np.random.default_rng(4)
    key = np.repeat(np.arange(9), generator.integers(1, 8, 9))
    value = generator.normal(size=len(key)).astype(np.float32)
    final = generator.normal(size=9).astype(np.float32)
    got = advantages(value, key, final[key], discount, lam)
    expected = [slow_gae(value[key == k], final[k], discount, lam) for k in range(9)]
    np.testing.assert_allclose(got, np.concatenate(expected), rtol=1e-4, atol=1e-5)


def test_every_seat_is_paid_its_own_result_at_its_own_decisions() -> None:
    played = play(self_play(), gae_lambda=1.0)
    reward = MarginReward(RewardPart(margin=0.1, margin_scale=4), 3)(played.outcome)
    # With lambda 1 every target is the return itself.
    trajectory = played.batch.trajectory.numpy()
    expected = reward.reshape(-1)[trajectory]
    np.testing.assert_allclose(played.batch.target.numpy(), expected, atol=1e-5)
    assert set(trajectory) == set(range(reward.size))
    assert played.decisions == len(played.batch)


def test_kept_log_probs_and_values_are_the_networks() -> None:
    batch = play(self_play()).batch
    acting = ActingNetwork(network(), "float32")
    log_probs, value = acting.evaluate(batch.observation, batch.mask, batch.phase)
    own = log_probs.gather(1, batch.action[:, None])[:, 0]
    np.testing.assert_allclose(own, batch.log_prob, atol=1e-5)
    np.testing.assert_allclose(value, batch.value, atol=1e-5)
    assert batch.mask.gather(1, batch.action[:, None]).all()


def test_forced_decisions_are_skipped() -> None:
    assert (play(self_play()).batch.mask.sum(1) > 1).all()


def test_a_game_is_the_same_whoever_else_is_in_the_batch() -> None:
    random = Seating(np.ones((30, 3), np.int64), [ActingNetwork(network(), "float32"),
                     RandomAgent(ToyGame())], ALL, kept=1)  # fmt: skip
    few = Seating(random.player[:7], random.players, ALL, kept=1)
    assert (play(few, 7).outcome.score == play(random).outcome.score[:7]).all()


def test_only_the_learners_seats_and_phases_are_learned() -> None:
    player = np.zeros((30, 3), np.int64)
    player[:, 1:] = 1
    players = [ActingNetwork(network(), "float32"), RandomAgent(ToyGame())]
    played = play(Seating(player, players, ALL))
    assert played.learner.sum() == 30
    assert len(played.batch) < played.decisions / 2
    bidding = play(Seating(player, players, Learned(ToyGame(), ["trump"]), partner=1))
    assert (bidding.batch.phase == 0).all()
    assert 0 < len(bidding.batch) < len(played.batch)
    first = play(Seating(player, players, Learned(ToyGame(), ["play:trick_left=1"]), partner=1))
    assert (first.batch.phase == 1).all()
    assert 0 < len(first.batch) < len(played.batch)
    with pytest.raises(ConfigError, match="held no decision of the learner's"):
        play(Seating(player, players, Learned(ToyGame(), ["play:trick_left=9"]), partner=1))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bid", "learn: 'bid' is no phase of toy; allowed: trump, play"),
        ("play:hnd=1", "learn: 'hnd=1' should be BLOCK=NUMBER, with an observation block of toy"),
        ("play:hand", "learn: 'hand' should be BLOCK=NUMBER"),
    ],
)
def test_a_wrong_name_of_decisions_is_refused(name: str, line: str) -> None:
    with pytest.raises(AgentError, match=line):
        Learned(ToyGame(), [name])


def test_imitation_keeps_what_the_agent_did() -> None:
    players = [ActingNetwork(network(), "float32"), RandomAgent(ToyGame())]
    batch = play(Seating(np.ones((30, 3), np.int64), players, ALL, kept=1)).batch
    assert batch.mask.gather(1, batch.action[:, None]).all()
    bids = Learned(ToyGame(), ["trump"])
    some = play(Seating(np.ones((30, 3), np.int64), players, bids, partner=1, kept=1)).batch
    assert (some.phase == 0).all()
    assert len(some) == (batch.phase == 0).sum()
    learner = Ppo(PpoPart(minibatch=64), network(), ToyGame().phases)
    generator = torch.Generator().manual_seed(0)
    losses = [learner.imitate(batch, 1e-2, generator)["policy_loss"] for _ in range(8)]
    assert losses[-1] < losses[0]


def test_sampling_follows_the_policy_and_never_an_illegal_move() -> None:
    logits = torch.tensor([0.0, 1.0, -1e9, 2.0, -1e9]).repeat(40_000, 1)
    drawn = sample(torch.log_softmax(logits, 1), torch.Generator().manual_seed(1))
    share = torch.bincount(drawn, minlength=5) / len(drawn)
    np.testing.assert_allclose(share, torch.softmax(logits[0], 0), atol=0.01)
    assert share[2] == 0
    assert share[4] == 0


def test_near_temperature_zero_a_network_plays_its_best_move() -> None:
    batch = play(self_play()).batch
    greedy = ActingNetwork(network(), "float32", temperature=1e-3)
    policy = ActingNetwork(network(), "float32")
    log_probs, _ = policy.evaluate(batch.observation, batch.mask, batch.phase)
    sharp, _ = greedy.evaluate(batch.observation, batch.mask, batch.phase)
    action = sample(sharp, torch.Generator().manual_seed(1))
    top = log_probs.topk(2).values
    clear = top[:, 0] - top[:, 1] > 0.02
    assert (action == log_probs.argmax(1))[clear].all()


def opponents(tmp_path: Path, **part: object) -> Opponents:
    config = OpponentsPart.model_validate(part)
    return Opponents(config, ToyGame(), SHAPE, CPU, "float32", tmp_path)


def seat(made: Opponents, progress: float = 0.0, size: int = 1000) -> Seating:
    acting = ActingNetwork(network(), "float32")
    generator = np.random.default_rng(3)
    return made.seating(acting, ALL, None, size, progress, generator)


def test_the_mixture_has_the_shares_and_seats_of_the_config(tmp_path: Path) -> None:
    tables = [
        {"agent": "self", "share": 3},
        {"agent": "random", "share": 1, "final_share": 3},
        {"agent": "random", "share": 1, "seats": 1},
    ]
    made = opponents(tmp_path, tables=tables)
    for progress, expected in ((0.0, (600, 200, 200)), (1.0, (429, 143, 428))):
        others = (seat(made, progress).player > 0).sum(1)
        assert tuple(np.bincount(others, minlength=3)) == pytest.approx(expected, abs=1)
    taken = seat(made).player > 0
    assert np.ptp(taken.sum(0)) < 80


def test_population_tables_are_self_play_until_a_snapshot_joins(tmp_path: Path) -> None:
    made = opponents(
        tmp_path,
        tables=[{"agent": "population"}],
        population={"every": 100, "keep": 4, "drawn": 2},
    )
    assert not seat(made).player.any()
    assert made.maybe_join(99, network().weights) is None
    for decisions in (100, 200, 300):
        assert made.maybe_join(decisions, network(decisions).weights)
    assert len(made.pool.names) == 3
    seating = seat(made)
    assert len(seating.players) == 3
    assert set(np.unique(seating.player)) == {0, 1, 2}
    made.maybe_join(400, network().weights)
    assert [int(name[-3:]) for name in made.pool.names] == [200, 400]
    assert made.pool.every == 200
    assert made.maybe_join(500, network().weights) is None
    assert play(seat(made, size=30)).decisions


def test_the_pool_is_left_alone_where_no_table_draws_from_it(tmp_path: Path) -> None:
    made = opponents(tmp_path, tables=[{"agent": "self"}])
    assert made.maybe_join(10**9, network().weights) is None
    assert not list(tmp_path.iterdir())


def test_schedules_go_from_start_to_end() -> None:
    for kind in ("linear", "cosine"):
        part = PpoPart(schedule=kind, learning_rate=1e-2, final_learning_rate=1e-4)
        rates = [schedule(part, x).learning_rate for x in (0, 0.25, 0.5, 0.75, 1, 2)]
        assert rates[0] == pytest.approx(1e-2)
        assert rates[-2:] == pytest.approx([1e-4, 1e-4])
        assert sorted(rates, reverse=True) == rates
    constant = schedule(PpoPart(schedule="constant"), 0.9)
    assert constant.learning_rate == PpoPart().learning_rate
    assert constant.entropy == pytest.approx(0.03 - 0.9 * 0.025)


def test_entropy_counts_legal_moves_alone() -> None:
    logits = torch.tensor([[0.0, 0.0, -1e9, -1e9], [0.0, 0.0, 0.0, 0.0]])
    expected = (np.log(2) + np.log(4)) / 2
    assert float(mean_entropy(logits, torch.log_softmax(logits, 1))) == pytest.approx(expected)


def test_the_average_follows_the_weights_and_with_zero_is_the_weights() -> None:
    first, later = network(1), network(2)
    exact, slow = Average(first, 0.0), Average(first, 0.9)
    for batch in range(1, 101):
        exact.update(later, batch)
        slow.update(later, batch)
    wanted = later.weights()
    assert all((exact.weights()[name] == wanted[name]).all() for name in wanted)
    np.testing.assert_allclose(slow.weights()["trunk.0.weight"], wanted["trunk.0.weight"], 0, 1e-3)
    before = slow.weights()["trunk.0.weight"]
    slow.update(first, 101)
    moved = before + 0.1 * (first.weights()["trunk.0.weight"] - before)
    np.testing.assert_allclose(slow.weights()["trunk.0.weight"], moved, rtol=1e-4, atol=1e-6)


@dataclass
class Result:
    win_share: np.ndarray
    margin: np.ndarray


def test_returns_are_win_share_less_par_and_a_bounded_margin() -> None:
    outcome = Result(np.array([[1.0, 0.0, 0.0]]), np.array([[30, -30, -1000]]))
    part = RewardPart(win_share=1, margin=0.3, margin_scale=30)
    got = MarginReward(part, 3)(outcome)
    tanh = np.tanh(1)
    expected = [[2 / 3 + 0.3 * tanh, -1 / 3 - 0.3 * tanh, -1 / 3 - 0.3]]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_step_of_ppo_favours_what_had_an_advantage() -> None:
    batch = play(self_play(200)).batch
    learner = Ppo(PpoPart(minibatch=4096, epochs=1), network(), ToyGame().phases)
    good = batch.action == batch.mask.float().argmax(1)
    batch.advantage = good.float()

    def mass() -> float:
        with torch.no_grad():
            logits, _ = learner._evaluate(
                learner.network, batch.observation, batch.mask, batch.phase
            )
        return float(torch.softmax(logits, 1).gather(1, batch.action[:, None])[good].mean())

    before = mass()
    for _ in range(10):
        measured = learner.learn(batch, Schedule(1e-2, 0.0), torch.Generator().manual_seed(0))
    assert mass() > before
    assert {"policy_loss", "value_loss", "entropy", "kl", "explained_variance"} <= set(measured)
