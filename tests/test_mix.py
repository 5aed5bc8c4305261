"""A mix of agents: each phase by its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toy_game import make_game as make_toy

from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.evaluation import evaluate_agents
from kolkhoz_agents.games import make_game
from kolkhoz_agents.mix import MixAgent, phase_keys, phase_texts
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.referee import Referee, make_decisions
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.seating import pair_plan


def test_a_mix_of_one_agent_is_that_agent() -> None:
    game = make_game("kolkhoz")
    seatings = pair_plan(4, [(0, 1)]).seatings
    texts = ["greedy", "mix:rest=greedy", "mix:trump=greedy,swap=greedy,play=greedy,rest=greedy"]
    played = [
        Referee(game, [make_agent(text, game), RandomAgent(game)], seatings, 3).play(np.arange(4))
        for text in texts
    ]
    for other in played[1:]:
        np.testing.assert_array_equal(other.values, played[0].values)


def test_each_phase_is_played_by_its_agent() -> None:
    game = make_game("kolkhoz")
    text = "mix:trump=greedy,swap=greedy,assign=(greedy),rest=random"
    mix, greedy, chance = (make_agent(name, game) for name in (text, "greedy", "random"))
    needs = greedy.needs | mix.needs
    table = game.table(1, np.arange(40))
    seen = set()
    while not table.over.all():
        rows = np.flatnonzero(~table.over)
        decisions = make_decisions(game, table, rows, table.legal_mask()[rows], 5, needs)
        chosen = mix.act(decisions)
        for phase in np.unique(decisions.phase).tolist():
            here = np.flatnonzero(decisions.phase == phase)
            name = game.phases[phase]
            seen.add(name)
            agent = greedy if name in ("trump", "swap_take", "swap_give", "assign") else chance
            np.testing.assert_array_equal(chosen[here], agent.act(decisions.take(here)))
        actions = np.zeros(table.size, np.int64)
        actions[rows] = chosen
        table.step(actions)
    assert {"trump", "swap_take", "swap_give", "play", "assign"} <= seen


def test_groups_and_single_phases() -> None:
    game = make_game("kolkhoz")
    keys = phase_keys(game)
    assert keys["swap"] == ("swap_take", "swap_give")
    parts = {"swap": "a", "swap_give": "b", "rest": "c"}
    assert phase_texts(game, parts) == ["c", "a", "b", "c", "c", "c"]
    assert list(phase_keys(make_toy())) == ["trump", "play"]


def test_a_mix_knows_what_its_parts_need_and_is_named_after_them() -> None:
    game = make_game("kolkhoz")
    mix: Any = make_agent("mix:play=(mix:trump=random,rest=greedy),rest=random", game)
    assert mix.name == "mix:play=(mix:trump=random,rest=greedy),rest=random"
    assert mix.needs == make_agent("greedy", game).needs
    assert make_agent(mix.name, game).name == mix.name
    slow = MixAgent(game, play="faulty_agents:Slow", rest="random")
    assert slow.batch == 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mix", "nobody plays the phase 'trump'; name an agent for it or rest=AGENT"),
        ("mix:trump=random", "nobody plays the phase 'swap_take'"),
        ("mix:bid=random", "unknown option 'bid'; allowed: trump, swap_take, swap_give, play"),
        ("mix:rest=(random", "parentheses"),
        ("mix:rest=nobody", "unknown agent 'nobody'"),
    ],
)
def test_a_wrong_mix_is_refused(text: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        make_agent(text, make_game("kolkhoz"))


def test_a_mix_plays_any_game() -> None:
    game = make_toy()
    mix = make_agent("mix:trump=random,play=(mix:rest=random)", game)
    result = evaluate_agents(game, mix, RandomAgent(game), deals=5)
    assert result.deals == 5
