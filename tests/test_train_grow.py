"""A network that grew computes what the small one did, and learns with what is new."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_game import ToyGame

from kolkhoz_agents.network import NetworkShape
from kolkhoz_agents.torch_network import PolicyValueNetwork
from kolkhoz_train.grow import grow, growth_problem

GAME = ToyGame()
BLOCKS = tuple(block.name for block in GAME.observation.blocks)


def made(shape: NetworkShape, weights: dict | None = None) -> PolicyValueNetwork:
    network = PolicyValueNetwork(shape, GAME)
    if weights is None:
        network.initialise(3)
    else:
        network.load(weights, GAME)
    return network


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NetworkShape((8,)), NetworkShape((8,))),
        (NetworkShape((8,)), NetworkShape((13,))),
        (NetworkShape((8, 5), "relu"), NetworkShape((9, 7, 6, 5), "relu")),
        (NetworkShape((8,), inputs=BLOCKS[1:]), NetworkShape((8,))),
        (NetworkShape((8,), "relu", inputs=BLOCKS[:1]),
         NetworkShape((8, 9), "relu", inputs=BLOCKS[:2])),
        (NetworkShape((8,), "silu", "separate"), NetworkShape((12,), "silu", "separate")),
        (NetworkShape((8,), heads="phase"), NetworkShape((9,), heads="phase")),
    ],
)  # fmt: skip
def test_a_grown_network_computes_the_same(old: NetworkShape, new: NetworkShape) -> None:
    assert growth_problem(old, new) is None
    small = made(old)
    weights = grow(small.weights(), old, new, GAME, np.random.default_rng(5))
    large = made(new, weights)
    rows = torch.randint(0, 4, (50, GAME.observation.size), dtype=torch.uint8)
    phase = torch.randint(0, len(GAME.phases), (50,))
    results = []
    for shape, network in ((old, small), (new, large)):
        seen = rows[:, torch.from_numpy(shape.columns(GAME))]
        results.append(network.forward_counts(seen, phase))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)

    logits, value = results[1]
    (logits.square().sum() + value.sum()).backward()
    new_units = old.hidden[-1]
    if new.hidden[-1] > new_units:  # what is new has a gradient, so that it will come to matter
        assert large.policy.weight.grad[:, new_units:].abs().max() > 0


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (NetworkShape((8,)), NetworkShape((7,)), "its layers [8] do not fit into [7]"),
        (NetworkShape((8, 4)), NetworkShape((8,)), "it has 2 layers, not 1"),
        (NetworkShape((8,), "relu"), NetworkShape((9, 7), "relu"),
         "its layers [8, 8] do not fit into [9, 7]"),
        (NetworkShape((8,), "silu"), NetworkShape((8, 8), "silu"), "only relu networks can get"),
        (NetworkShape((8,), "relu"), NetworkShape((8,), "silu"), "activation is relu, not silu"),
        (NetworkShape((8,)), NetworkShape((8,), inputs=BLOCKS), "it sees all blocks as well"),
        (NetworkShape((8,), inputs=BLOCKS[:2]), NetworkShape((8,), inputs=BLOCKS[1:]),
         f"it sees {BLOCKS[0]} as well"),
    ],
)  # fmt: skip
def test_what_cannot_grow_is_told(old: NetworkShape, new: NetworkShape, line: str) -> None:
    assert (growth_problem(old, new) or "").startswith(line)
