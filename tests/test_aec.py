"""The PettingZoo environment, by the official tests and by stronger ones where those are blind."""

import contextlib
import copy
import io
import pickle
import warnings
from unittest import mock

import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

from kolkhoz_env import IllegalActionError, KolkhozError, Rules, VectorKolkhoz, env, raw_env
from kolkhoz_env.observation import observation_table

SMALL = {"players": 2, "crops": 3, "ranks": 8, "tricks": 2, "years": 2, "low_rewards": 1}
GAMES = {
    "four players": {},
    "three players": {"players": 3},
    "small": {"rules": SMALL},
    "forced moves made": {"rules": {"auto_forced": True, "players": 3}},
}


@pytest.fixture(params=GAMES.values(), ids=GAMES.keys())
def options(request: pytest.FixtureRequest) -> dict:
    return request.param


def play(table, seed=None, generator=None):
    """Play a game with random legal moves; yields (agent, what `last` gives, action)."""
    generator = generator or np.random.default_rng(0)
    table.reset(seed=seed)
    for agent in table.agent_iter():
        last = table.last()
        observation, _, terminated, truncated, _ = last
        action = None
        if not (terminated or truncated):
            action = generator.choice(np.flatnonzero(observation["action_mask"]))
        yield agent, last, action
        table.step(action)


# The official tests --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [env, raw_env])
def test_pettingzoo_api(make, options) -> None:
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("always")
        api_test(make(**options), num_cycles=600)
    # It warns of dict observations unless it knows the environment by name, and of nothing else.
    assert {str(warning.message)[:30] for warning in warned} <= {
        "Observation is not NumPy array",
        "Observation is not a NumPy arr",
        "Observation space for each age",
    }


def test_pettingzoo_seeds(options) -> None:
    seed_test(lambda: env(**options), num_cycles=400)


def test_pettingzoo_performance_benchmark() -> None:
    # Its clock: five seconds go by at once.
    clock = "pettingzoo.test.performance_benchmark.time.time"
    with (
        mock.patch(clock, side_effect=range(0, 100, 6)),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        performance_benchmark(env())
    assert "turns per second" in out.getvalue()


@pytest.mark.parametrize("render_seat", [None, 1, "open"])
def test_pettingzoo_rendering(render_seat) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        render_test(lambda render_mode: env(render_mode=render_mode, render_seat=render_seat))


def test_registered_id() -> None:
    table = pettingzoo.make("aec", "kolkhoz/kolkhoz-v0", players=3)
    table.reset(seed=1)
    assert len(table.agents) == 3
    assert str(table) == "kolkhoz_v0"
    assert table.metadata["is_parallelizable"] is False


# Stronger ones -------------------------------------------------------------------------------


def test_masks_observations_and_infos_agree_with_the_engine(options) -> None:
    table = raw_env(**options)
    rules = table.rules
    generator = np.random.default_rng(3)
    for number in range(3):
        batch = VectorKolkhoz(1, seed=5, rules=rules, games=[number], restart=False)
        table.reset(seed=5 if number == 0 else None)
        while not table.terminations[table.agent_selection]:
            seat = int(batch.seat[0])
            assert table.agent_selection == f"player_{seat}"
            for other, agent in enumerate(table.possible_agents):
                seen = table.observe(agent)
                mask = batch.legal_mask()[0] if other == seat else np.zeros(58, dtype=bool)
                assert seen["action_mask"].dtype == np.int8
                assert np.array_equal(seen["action_mask"], mask)
                assert table.infos[agent]["action_mask"].dtype == np.int8
                assert np.array_equal(table.infos[agent]["action_mask"], mask)
                row = batch.observe(seats=[other])[0]
                expected = row * observation_table(rules).scale
                assert np.array_equal(seen["observation"], expected)
                assert seen["observation"].dtype == np.float32
                assert table.observation_space(agent).contains(seen)
            action = generator.choice(np.flatnonzero(batch.legal_mask()[0]))
            table.step(np.int32(action))
            step = batch.step(np.array([action]))
        assert step.done[0]
        for other, agent in enumerate(table.possible_agents):
            assert table.rewards[agent] == pytest.approx(float(step.rewards[0, other]))
            assert not table.observe(agent)["action_mask"].any()
            assert table.observation_space(agent).contains(table.observe(agent))


@pytest.mark.parametrize("reward", ["win_share", "score", "rank"])
@pytest.mark.parametrize("players", [3, 4])
def test_last_rewards_of_every_seat(reward, players) -> None:
    table = env(players=players, reward=reward)
    lowest = highest = 0.0
    for seed in range(4):
        received = dict.fromkeys(table.possible_agents, 0.0)
        ended = []
        for agent, (_, gained, terminated, truncated, _), action in play(table, seed):
            assert type(terminated) is bool
            assert type(truncated) is bool
            assert type(gained) is float
            assert terminated == (action is None)
            received[agent] += gained
            ended += [agent] if terminated else []
        assert sorted(ended) == table.possible_agents
        assert table.agents == []
        batch = VectorKolkhoz(1, players=players, seed=seed, restart=False, reward=reward)
        generator = np.random.default_rng(0)
        while not batch.over[0]:
            action = generator.choice(np.flatnonzero(batch.legal_mask()[0]))
            step = batch.step(np.array([action]))
        assert list(received.values()) == pytest.approx(step.rewards[0].tolist())
        assert sum(received.values()) == pytest.approx(0, abs=1e-5)
        lowest, highest = min(lowest, *received.values()), max(highest, *received.values())
    assert lowest < 0 < highest


def test_rewards_hold_in_any_order_of_the_dead() -> None:
    orders = []
    for first in range(4):
        table = raw_env()
        for _, _, action in play(table, seed=2):
            if action is None:
                break
        table.agent_selection = f"player_{first}"
        assert table.last()[1] == table.rewards[f"player_{first}"] != 0
        gained = {table.agent_selection: table.last()[1]}
        table.step(None)
        while table.agents:
            gained[table.agent_selection] = table.last()[1]
            table.step(None)
        orders.append(gained)
    assert all(order == orders[0] for order in orders)


def test_seeds_and_the_games_of_a_seed() -> None:
    first, second = raw_env(), raw_env()
    for number in range(2):
        seed = 11 if number == 0 else None
        for one, other in zip(play(first, seed), play(second, seed), strict=True):
            assert data_equivalence(one[1], other[1])
            assert one[0] == other[0]
    first.reset(seed=11)
    second.reset(seed=12)
    agent = first.agent_selection
    assert not np.array_equal(first.observe(agent)["observation"],
                              second.observe(agent)["observation"])  # fmt: skip
    fresh = [raw_env(), raw_env()]
    for table in fresh:
        table.reset()
    hands = [table.observe("player_0")["observation"] for table in fresh]
    assert not np.array_equal(*hands), "without a seed every environment draws its own"


def test_spaces_are_the_same_objects_and_options_of_reset_are_tolerated() -> None:
    table = env()
    spaces = [(table.observation_space(a), table.action_space(a)) for a in table.possible_agents]
    table.reset(seed=1, options={"unknown": 1})
    for agent, (observation, action) in zip(table.possible_agents, spaces, strict=True):
        assert table.observation_space(agent) is observation
        assert table.action_space(agent) is action


@pytest.mark.parametrize("action", [0, 52, 57, 58, -1, np.int32(57), np.uint8(200)])
def test_an_illegal_action_names_what_was_legal(action) -> None:
    table = env(players=3)
    table.reset(seed=1)
    agent = table.agent_selection
    before = table.observe(agent)
    with pytest.raises(
        IllegalActionError, match=rf"seat {agent[-1]}, phase trump: .* not legal; legal: W, S, P, B"
    ):
        table.step(action)
    assert table.agent_selection == agent
    assert data_equivalence(before, table.observe(agent))


def test_a_penalty_for_illegal_actions_is_a_wrapper_away() -> None:
    table = TerminateIllegalWrapper(raw_env(), illegal_reward=-1)
    table.reset(seed=1)
    wrong = table.agent_selection
    table.last()
    table.step(57)
    received = {}
    for agent in table.agent_iter():
        _, received[agent], terminated, _, _ = table.last()
        assert terminated
        table.step(None)
    assert received.pop(wrong) == -1
    assert set(received.values()) == {0}


@pytest.mark.parametrize("action", [None, 54.0, "S", [54]])
def test_what_is_no_number_is_refused(action) -> None:
    table = env()
    table.reset(seed=1)
    with pytest.raises(IllegalActionError, match="is not a whole number from 0 to 57"):
        table.step(action)


@pytest.mark.parametrize("kind", [int, np.int8, np.int32, np.int64, np.uint8, np.array])
def test_kinds_of_whole_numbers(kind) -> None:
    table = env()
    table.reset(seed=1)
    table.step(kind(54))
    assert table.last()[0]["action_mask"].sum() > 0


def test_the_dead_take_only_none() -> None:
    table = raw_env()
    for _, _, action in play(table, seed=4):
        if action is None:
            break
    with pytest.raises(ValueError, match="the only valid action is None"):
        table.step(54)
    for _ in range(4):
        table.step(None)
    with pytest.raises(KolkhozError, match="reset"):
        table.step(None)


def test_masks_handed_out_are_copies() -> None:
    table = raw_env()
    table.reset(seed=1)
    agent = table.agent_selection
    table.observe(agent)["action_mask"][:] = 1
    table.infos[agent]["action_mask"][:] = 0
    assert table.observe(agent)["action_mask"].sum() == 4


def test_state_for_a_centralised_critic(options) -> None:
    table = env(**options)
    for number, _ in enumerate(play(table, seed=6)):
        state = table.state()
        assert table.state_space.contains(state)
        players, size = table.rules.players, observation_table(table.rules).size
        cards = state[size:].reshape(2 * players + 1, 53)
        if number == 0:
            hands = cards[:players]
            assert hands.sum() == players * table.rules.hand_size(1)
            assert hands.sum(axis=0).max() == 1
            assert cards[-1].sum() == table.rules.crops * (table.rules.pile_size - 1)
    assert not cards[:players].any()


def test_copies_and_pickles_go_on_alike() -> None:
    table = raw_env()
    table.reset(seed=9)
    for _ in range(30):
        table.step(np.flatnonzero(table.last()[0]["action_mask"])[0])
    others = [copy.deepcopy(table), pickle.loads(pickle.dumps(table))]  # noqa: S301
    for _ in range(60):
        action = np.flatnonzero(table.last()[0]["action_mask"])[-1]
        table.step(action)
        for other in others:
            other.step(action)
            assert data_equivalence(other.last(), table.last())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"players": 5}, "rules.players: 5"),
        ({"rules": {"quotas": 1}}, "rules.quotas: no such rule"),
        ({"reward": "points"}, "reward: 'points' is none of win_share, score, rank"),
        ({"render_mode": "svg"}, "render_mode: 'svg' is none of ansi, human, rgb_array"),
        ({"render_seat": 4}, "render_seat: 4 is neither a seat from 0 to 3 nor 'open'"),
    ],
)
def test_wrong_arguments(wrong, message) -> None:
    with pytest.raises(KolkhozError, match=message):
        env(**wrong)


def test_before_reset() -> None:
    table = raw_env()
    for call in (lambda: table.observe("player_0"), table.state, lambda: table.step(0)):
        with pytest.raises(KolkhozError, match="reset"):
            call()
    assert isinstance(table.rules, Rules)


def test_no_public_attribute_reaches_the_engine() -> None:
    table = raw_env()
    table.reset(seed=1)
    names = [name for name in vars(table) if not name.startswith("_")]
    for name in names:
        assert not isinstance(getattr(table, name), VectorKolkhoz)
    assert {"agents", "rewards", "infos"} <= set(names)
