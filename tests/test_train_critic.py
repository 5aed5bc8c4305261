"""The critic that sees all cards: what it is shown, what it learns, that no bot holds it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors.numpy import load_file

from kolkhoz_agents.games import make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_env import Rules, VectorKolkhoz
from kolkhoz_env.cards import cards_in
from kolkhoz_env.rules import OVER
from kolkhoz_train.acting import ActingNetwork
from kolkhoz_train.checkpoint import list_checkpoints
from kolkhoz_train.cli.main import main
from kolkhoz_train.config import parse_config
from kolkhoz_train.config_algorithms import CriticPart, PpoPart
from kolkhoz_train.config_model import RewardPart
from kolkhoz_train.critic import Critic
from kolkhoz_train.reward import MarginReward
from kolkhoz_train.rollout import Played, Rollout, Seating
from kolkhoz_train.train import new_run, resume_run

CPU = torch.device("cpu")
SHAPE = NetworkShape((16,), inputs=("hand", "trick", "trump", "year", "phase"))
PPO = PpoPart(games=64, minibatch=512, learning_rate=3e-3)
SMALL = {
    "seed": 3,
    "threads": 1,
    "network": {"hidden": [16], "inputs": ["hand", "trick", "trump", "year", "phase"]},
    "algorithm": {"games": 16, "minibatch": 512, "critic": {"hidden": [8], "warm_up": 3000}},
    "budget": {"decisions": 9000},
    "evaluation": {"deals": 2, "final_deals": 2},
    "checkpoint": {"every_minutes": 0.0001},
}


def play_on(table: VectorKolkhoz, steps: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        mask = table.legal_mask()
        table.step((mask * generator.random(mask.shape)).argmax(1))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_hidden_cards_are_those_of_the_other_seats_and_of_the_piles(players: int) -> None:
    table = VectorKolkhoz(40, seed=8, rules=Rules(players=players), restart=False)
    for steps in (0, 7, 30, 40, 40):
        play_on(table, steps, seed=steps)
        rows = np.flatnonzero(table.phase != OVER)
        hidden = table.hidden(rows).reshape(len(rows), 2 * players - 1, 53)
        for row, zones in zip(rows, hidden, strict=True):
            state, seat = table.state, int(table.seat[row])
            for step in range(1, players):
                other = (seat + step) % players
                hand = np.flatnonzero(zones[step - 1]).tolist()
                assert hand == cards_in(int(state.hands[row, other]))
                cellar = state.cellars[row, other]
                banked = np.flatnonzero(zones[players + step - 2]).tolist()
                assert banked == sorted(cellar[cellar >= 0].tolist())
            ahead = state.piles[row, :, state.year[row] :]
            assert np.flatnonzero(zones[-1]).tolist() == sorted(ahead[ahead >= 0].tolist())


def test_what_the_critic_sees_is_in_the_networks_order() -> None:
    game = make_game("kolkhoz", {})
    table = game.table(4, np.arange(60))
    play_on(table, 25, seed=1)
    rows, canon = np.arange(60), Canon(game, SHAPE)
    case = canon.case(table.observe(rows))
    assert len(set(case)) > 1
    critic = make_critic(game)
    seen = critic.hidden(table, rows, case).reshape(60, 7, 53)
    plain = table.hidden(rows).reshape(60, 7, 53)
    for zone in range(7):
        # A mask over cards goes into the network's order in the same way.
        as_mask = np.zeros((60, game.num_actions), np.bool_)
        as_mask[:, :53] = plain[:, zone]
        expected = canon.mask_to_canonical(as_mask, case)[:, :53]
        np.testing.assert_array_equal(seen[:, zone], expected)


def make_critic(game: object, warm_up: int = 0) -> Critic:
    columns = SHAPE.columns(game)
    return Critic(CriticPart(hidden=(64,), warm_up=warm_up), PPO, game, columns, CPU, seed=2)


def play(critic: Critic | None, first: int = 0, gae_lambda: float = 1.0) -> Played:
    game = make_game("kolkhoz", {})
    network = PolicyValueNetwork(SHAPE, game)
    network.initialise(1)
    rollout = Rollout(game, Canon(game, SHAPE), MarginReward(RewardPart(), 4), CPU, critic)
    player = np.zeros((64, 4), np.int64)
    # One seat is played by a copy: of its decisions nothing is kept.
    player[:, 2] = 1
    acting = [ActingNetwork(network, "float32"), ActingNetwork(network, "float32")]
    seating = Seating(player, acting, Learned(game, None))
    games = np.arange(first, first + 64)
    generator = torch.Generator().manual_seed(first)
    return rollout.play(9, games, seating, generator, discount=1.0, gae_lambda=gae_lambda)


def test_advantages_are_over_its_values_once_it_is_warm() -> None:
    game = make_game("kolkhoz", {})
    critic = make_critic(game, warm_up=1)
    cold, plain = play(critic).batch, play(None).batch
    assert torch.equal(cold.advantage, plain.advantage)
    assert cold.hidden.shape == (len(plain), 371)
    assert plain.hidden.shape == (len(plain), 0)
    critic.learn(cold, 1e-3, torch.Generator().manual_seed(1))
    warm = play(critic).batch
    value = critic.values(warm.observation, warm.hidden)
    assert torch.equal(warm.value, value)
    torch.testing.assert_close(warm.target - warm.advantage, value)
    # With lambda 1 the target is the return, whoever says the values.
    torch.testing.assert_close(warm.target, plain.target, atol=1e-5, rtol=0)
    assert not torch.allclose(warm.advantage, plain.advantage, atol=1e-3)


def test_it_learns_more_from_hidden_cards_than_without_them() -> None:
    game = make_game("kolkhoz", {})
    seeing, blind = make_critic(game), make_critic(game)
    batches = [play(seeing, first).batch for first in range(0, 640, 64)]
    # A return that hangs on hidden cards alone: whether the left neighbour holds the Saboteur.
    for batch in batches:
        batch.target = batch.hidden[:, 52].float()
    for critic in (seeing, blind):
        generator = torch.Generator().manual_seed(1)
        for batch in 3 * batches[:-1]:
            shown = batch.hidden if critic is seeing else torch.zeros_like(batch.hidden)
            given = type(batch)(**{**vars(batch), "hidden": shown})
            critic.learn(given, 3e-3, generator)
    test = batches[-1]
    unseen = torch.zeros_like(test.hidden)
    error = (seeing.values(test.observation, test.hidden) - test.target).square().mean()
    error_blind = (blind.values(test.observation, unseen) - test.target).square().mean()
    assert error < 0.3 * error_blind


def test_a_resumed_run_with_a_critic_reaches_the_same_bits(tmp_path: Path) -> None:
    config = parse_config(SMALL, "small")
    quiet = Console(file=StringIO())
    new_run(config, tmp_path / "whole", "small.yaml", quiet)
    new_run(config, tmp_path / "again", "small.yaml", quiet)
    folder = tmp_path / "again"
    newest, before = list_checkpoints(folder)
    for file in newest.iterdir():
        file.unlink()
    newest.rmdir()
    assert "critic_learned" in json.loads((before / "state.json").read_text())
    # As if it had been killed after the checkpoint before its last.
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"finished": False}))
    (folder / "bot" / "weights.safetensors").unlink()
    resume_run(folder, quiet)
    weights = load_file(tmp_path / "whole" / "bot" / "weights.safetensors")
    assert not [name for name in weights if "critic" in name]
    resumed = load_file(folder / "bot" / "weights.safetensors")
    for name, array in weights.items():
        np.testing.assert_array_equal(resumed[name], array)
    last = list_checkpoints(folder)[0] / "tensors.safetensors"
    whole = list_checkpoints(tmp_path / "whole")[0] / "tensors.safetensors"
    assert last.read_bytes() == whole.read_bytes()


def test_a_game_that_tells_nothing_hidden_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = "game: {name: 'toy_game:make_game'}\nalgorithm: {critic: {}}\nbudget: {decisions: 9}"
    Path("x.yaml").write_text(parts)
    assert main(["train", "x.yaml", "--code"]) == 2
    assert "algorithm.critic: toy does not tell what is hidden; allowed: null" in (
        capsys.readouterr().err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]

