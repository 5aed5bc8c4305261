"""Pictures of behaviour: what they count, and what a game that lacks a statistic gets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_game import ToyGame

from kolkhoz_agents.games import make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_agents.protocol import Game
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_train.acting import ActingNetwork
from kolkhoz_train.behaviour import means, pictures, trump_lengths
from kolkhoz_train.config_model import RewardPart
from kolkhoz_train.reward import MarginReward
from kolkhoz_train.rollout import Played, Rollout, Seating


def played(game: Game, shape: NetworkShape, games: int = 24) -> Played:
    network = PolicyValueNetwork(shape, game)
    network.initialise(1)
    reward = MarginReward(RewardPart(), game.num_seats)
    rollout = Rollout(game, Canon(game, shape), reward, torch.device("cpu"))
    player = np.zeros((games, game.num_seats), np.int64)
    seating = Seating(player, [ActingNetwork(network, "float32")], Learned(game, None))
    generator = torch.Generator().manual_seed(1)
    return rollout.play(1, np.arange(games), seating, generator, discount=1, gae_lambda=1)


@pytest.mark.parametrize("name", ["kolkhoz", "toy"])
def test_every_statistic_has_a_mean(name: str) -> None:
    game = ToyGame() if name == "toy" else make_game(name)
    values = means(game, played(game, NetworkShape((8,))))
    assert {f"behaviour/{statistic}" for statistic in game.statistics} <= set(values)
    assert values["play/win_share"] == pytest.approx(1 / game.num_seats)


def test_kolkhoz_has_a_picture_of_each_group_of_phases() -> None:
    game, shape = make_game("kolkhoz"), NetworkShape((8,))
    assert set(pictures(game, shape, played(game, shape))) == {"bidding", "banking", "assignment"}


def test_trump_is_counted_against_the_hand_it_was_named_from() -> None:
    game, shape = make_game("kolkhoz"), NetworkShape((8,))
    lengths, named = trump_lengths(game, shape, played(game, shape))
    assert lengths.shape == named.shape == (24 * 4, 4)
    assert (named.sum(1) == 1).all()
    # Five cards a hand, of which one may be the Saboteur.
    assert set(lengths.sum(1).tolist()) <= {4, 5}


def test_what_a_game_or_network_lacks_has_no_picture() -> None:
    toy = ToyGame()
    assert set(pictures(toy, NetworkShape((8,)), played(toy, NetworkShape((8,))))) == {"bidding"}
    blind = NetworkShape((8,), inputs=("phase", "trump"))
    assert trump_lengths(toy, blind, played(toy, blind)) is None
