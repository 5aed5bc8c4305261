"""How much of a bot's advantages is luck that the copies of a deal share (duplicate play).

A bot draws its moves at tables of its own kind, or alone among three of an agent, every deal at
several tables. Printed is, for each round of the game, the share of the variance of the advantages
that the other copies explain.

    python tools/shared_luck.py foreman --against heuristic --deals 1000
    python tools/shared_luck.py foreman --deals 500
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from kolkhoz_agents.bots import load_bot
from kolkhoz_agents.games import make_game
from kolkhoz_agents.learned import Learned
from kolkhoz_agents.network import Canon
from kolkhoz_agents.registry import bot_path, make_agent
from kolkhoz_train.acting import ActingNetwork, make_network
from kolkhoz_train.config_model import RewardPart
from kolkhoz_train.kept import Kept
from kolkhoz_train.reward import MarginReward
from kolkhoz_train.rollout import Rollout, Seating


def main() -> int:
    """Play, and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bot")
    parser.add_argument("--against", help="agent in the other seats (default: the bot itself)")
    parser.add_argument("--deals", type=int, default=500)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--gae-lambda", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()

    file = load_bot(bot_path(asked.bot))
    game = make_game(file.game, file.rules)
    cpu = torch.device("cpu")
    acting = ActingNetwork(make_network(file.shape, game, file.weights, cpu), "bfloat16")
    players = [acting]
    player = np.zeros((asked.deals, game.num_seats), np.int64)
    if asked.against is not None:
        players.append(make_agent(asked.against, game))
        player[:] = 1
        player[np.arange(asked.deals), np.arange(asked.deals) % game.num_seats] = 0
    reward = MarginReward(RewardPart(), game.num_seats)
    rollout = Rollout(game, Canon(game, file.shape), reward, cpu)
    batch = rollout.play(
        asked.seed,
        np.arange(asked.deals).repeat(asked.copies),
        Seating(player.repeat(asked.copies, axis=0), players, Learned(game, None)),
        torch.Generator().manual_seed(asked.seed),
        discount=1.0,
        gae_lambda=asked.gae_lambda,
        copies=asked.copies,
    ).batch
    kept: Kept = rollout.kept
    plain = (batch.target - batch.value).numpy()
    left, stage = batch.advantage.numpy(), kept.stage.numpy()
    for number in np.unique(stage):
        rows = stage == number
        share = 1 - left[rows].var() / plain[rows].var()
        print(f"round {number}: {share:.0%} of a variance of {plain[rows].var():.4f}")
    print(f"in all: {1 - left.var() / plain.var():.0%} of {plain.var():.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
