"""The network in numpy and in torch, the symmetry around it, and the bot's folder."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_game import Symmetry, ToyGame

from kolkhoz_agents.bots import Bot, BotError, BotFile, load_bot, make_bot, save_bot
from kolkhoz_agents.decisions import decision_keys
from kolkhoz_agents.folders import halved
from kolkhoz_agents.games import make_game
from kolkhoz_agents.network import Canon, NetworkError, NetworkShape, NumpyNetwork
from kolkhoz_agents.protocol import Decisions, Game
from kolkhoz_agents.random_agent import RandomAgent
from kolkhoz_agents.torch_network import PlainOrderNetwork, PolicyValueNetwork

SHAPES = [
    NetworkShape((16, 8)),
    NetworkShape((16,), activation="silu", trunk="separate"),
    NetworkShape((16,), heads="phase"),
]


def network_for(game: Game, shape: NetworkShape, seed: int = 3) -> PolicyValueNetwork:
    network = PolicyValueNetwork(shape, game)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return network


def positions(game: Game, steps: int = 12, games: int = 40) -> Decisions:
    """Decisions of random games, all with the observation and in several phases and cases."""
    parts = []
    for length in range(0, steps, 3):
        table = game.table(5, np.arange(games))
        agent = RandomAgent(game)
        for _ in range(length):
            table.step(agent.act(decisions_at(game, table, np.arange(games))))
        parts.append(decisions_at(game, table, np.flatnonzero(~table.over)))
    names = ("mask", "seat", "phase", "keys", "observation")
    columns = {name: np.concatenate([getattr(p, name) for p in parts]) for name in names}
    return Decisions(game=game, **columns)


def decisions_at(game: Game, table, rows) -> Decisions:
    seat = np.asarray(table.seat)[rows]
    keys = decision_keys(1, table.game_ids[rows], table.decision[rows], seat)
    return Decisions(
        game, table.legal_mask()[rows], seat, table.phase[rows], keys, table.observe(rows)
    )


def bot_file(game: Game, shape: NetworkShape = SHAPES[0]) -> BotFile:
    observation = {"version": game.observation.version, "size": game.observation.size}
    weights = network_for(game, shape).weights()
    return BotFile(game.name, game.rules_dict(), observation, shape, weights)


@pytest.fixture(params=["toy", "kolkhoz"])
def game(request: pytest.FixtureRequest) -> Game:
    return ToyGame() if request.param == "toy" else make_game("kolkhoz")


@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_and_torch_agree(game: Game, shape: NetworkShape) -> None:
    core = network_for(game, shape)
    rows = positions(game)
    mine, value = NumpyNetwork(shape, core.weights(), game).plain(rows.observation, rows.phase)
    scaled = rows.observation.astype(np.float32) * game.observation.scale
    phase = torch.from_numpy(rows.phase.astype(np.int64))
    with torch.no_grad():
        logits, values = PlainOrderNetwork(core, game)(torch.from_numpy(scaled), phase)
    np.testing.assert_allclose(mine, logits.numpy(), rtol=1e-3, atol=2e-4)
    np.testing.assert_allclose(value, values.numpy(), rtol=1e-3, atol=2e-4)


def test_counts_with_the_scale_folded_in_are_the_same(game: Game) -> None:
    core, rows = network_for(game, SHAPES[0]), positions(game)
    canon = Canon(game, core.shape)
    counts = canon.to_canonical(rows.observation, canon.case(rows.observation))
    with torch.no_grad():
        folded, _ = core.forward_counts(torch.from_numpy(counts))
        plain, _ = core(torch.from_numpy(counts.astype(np.float32) * canon.scale))
    np.testing.assert_allclose(folded.numpy(), plain.numpy(), rtol=1e-3, atol=2e-4)


def test_canonical_order_goes_there_and_back(game: Game) -> None:
    rows, canon = positions(game), Canon(game, NetworkShape())
    case = canon.case(rows.observation)
    assert len(np.unique(case)) > 1
    expected = np.take_along_axis(rows.observation, game.symmetry.observation_index[case], 1)
    assert (canon.to_canonical(rows.observation, case) == expected).all()
    legal = canon.mask_to_canonical(rows.mask, case)
    logits = np.random.default_rng(0).random(legal.shape).astype(np.float32)
    best = np.where(legal, logits, -1).argmax(1)
    plain = np.where(rows.mask, canon.logits_to_plain(logits, case), -1).argmax(1)
    assert (canon.action_to_plain(best, case) == plain).all()


def test_trump_is_always_the_first_suit_for_the_network() -> None:
    game = ToyGame()
    rows, canon = positions(game), Canon(game, NetworkShape())
    trump = game.observation.blocks[4].offset
    named = rows.observation[:, trump : trump + 3].any(1)
    assert named.any()
    assert not named.all()
    case = canon.case(rows.observation)
    seen = canon.to_canonical(rows.observation, case)[:, trump : trump + 3]
    assert (seen[named] == [1, 0, 0]).all()


def keys_of(game: Game, observation: np.ndarray) -> np.ndarray:
    """Keys of the parts, int64[n, C]."""
    symmetry = game.symmetry
    return (observation[:, symmetry.key_columns].astype(np.int64) * symmetry.key_weights).sum(2)


def test_canonical_order_is_by_falling_key_and_plain_among_equals(game: Game) -> None:
    rows, canon = positions(game), Canon(game, NetworkShape())
    orders = np.array(list(permutations(range(len(game.symmetry.key_columns)))))
    keys = keys_of(game, rows.observation)
    case = canon.case(rows.observation)
    assert (orders[case] == np.argsort(-keys, axis=1, kind="stable")).all()
    assert set(canon.case(rows.observation[:1])) == {case[0]}
    assert len(canon.case(rows.observation[:0])) == 0


def test_renamed_positions_are_one_to_the_network(game: Game) -> None:
    rows, symmetry = positions(game), game.symmetry
    keys = keys_of(game, rows.observation)
    rows = rows.take(np.flatnonzero((np.diff(np.sort(keys, axis=1), axis=1) > 0).all(1)))
    assert len(rows) > 50
    network = NumpyNetwork(SHAPES[0], network_for(game, SHAPES[0]).weights(), game)
    canon = network.canon
    case = canon.case(rows.observation)
    logits, values = network.plain(rows.observation)
    for renamed, actions in zip(symmetry.observation_index, symmetry.action_index, strict=True):
        other = rows.observation[:, renamed]
        other_case = canon.case(other)
        seen = canon.to_canonical(other, other_case)
        assert (seen == canon.to_canonical(rows.observation, case)).all()
        legal = canon.mask_to_canonical(rows.mask[:, actions], other_case)
        assert (legal == canon.mask_to_canonical(rows.mask, case)).all()
        other_logits, other_values = network.plain(other)
        assert (other_logits == logits[:, actions]).all()
        assert (other_values == values).all()


def test_actions_go_to_the_network_and_back(game: Game) -> None:
    rows, canon = positions(game), Canon(game, NetworkShape())
    case = canon.case(rows.observation)
    action = rows.mask.argmax(1)
    canonical = canon.action_to_canonical(action, case)
    assert (canon.action_to_plain(canonical, case) == action).all()
    assert canon.mask_to_canonical(rows.mask, case)[np.arange(len(case)), canonical].all()


def test_few_and_many_rows_are_put_in_the_same_order(game: Game) -> None:
    rows, canon = positions(game), Canon(game, NetworkShape((8,), inputs=("hand", "trump")))
    many = np.tile(rows.observation, (16, 1))
    case = canon.case(many)
    expected = np.take_along_axis(many, canon.observation_index[case], 1)
    assert np.bincount(case).max() > 128
    assert (canon.to_canonical(many, case) == expected).all()
    assert (canon.to_canonical(many[:1], case[:1]) == expected[:1]).all()
    assert canon.to_canonical(many[:0], case[:0]).shape == (0, len(canon.scale))


def test_a_game_in_which_nothing_can_be_renamed_is_seen_as_it_is() -> None:
    game = ToyGame()
    size, actions = game.observation.size, game.num_actions
    none = np.zeros((0, 0), np.int64)
    one = np.arange(size)[None], np.arange(actions)[None]
    game.symmetry = Symmetry(none, none[0:0].ravel(), *one)
    rows, canon = positions(game), Canon(game, NetworkShape())
    case = canon.case(rows.observation)
    assert not case.any()
    assert (canon.to_canonical(rows.observation, case) == rows.observation).all()
    core = network_for(game, SHAPES[0])
    scaled = torch.from_numpy(rows.observation * game.observation.scale)
    with torch.no_grad():
        wrapped, bare = PlainOrderNetwork(core, game)(scaled)[0], core(scaled)[0]
    assert (wrapped == bare).all()


def test_a_symmetry_with_too_few_cases_is_refused() -> None:
    game = ToyGame()
    whole = game.symmetry
    game.symmetry = replace(whole, observation_index=whole.observation_index[:5])
    with pytest.raises(NetworkError, match="symmetry: 3 parts and 5 cases do not fit"):
        Canon(game, NetworkShape())


def test_inputs_restrict_what_is_seen() -> None:
    game = ToyGame()
    shape = NetworkShape((8,), inputs=("hand", "trump"))
    assert len(shape.columns(game)) == 15
    rows = positions(game)
    network = NumpyNetwork(shape, network_for(game, shape).weights(), game)
    changed = rows.observation.copy()
    gone = game.observation.blocks[3]
    changed[:, gone.offset : gone.offset + gone.length] ^= 1
    assert (network.plain(rows.observation)[0] == network.plain(changed)[0]).all()
    with pytest.raises(NetworkError, match=r"no observation block 'hnd'; known: hand, "):
        NetworkShape((8,), inputs=("hnd",)).columns(game)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"activation": "tanh"}, "network.activation: 'tanh' is not one of relu, silu"),
        ({"hidden": ()}, "network.hidden"),
        ({"hidden": (0,)}, "network.hidden"),
    ],
)
def test_a_wrong_shape_is_refused(values: dict, line: str) -> None:
    with pytest.raises(NetworkError, match=line):
        NetworkShape(**values)


def test_a_bot_folder_round_trips(game: Game, tmp_path: Path) -> None:
    bot = bot_file(game)
    save_bot(tmp_path / "bot", bot)
    read = load_bot(tmp_path)
    assert read.shape == bot.shape
    assert all((read.weights[name] == bot.weights[name]).all() for name in bot.weights)
    assert sorted(p.name for p in (tmp_path / "bot").iterdir()) == [
        "bot.json", "weights.safetensors"
    ]  # fmt: skip


def test_a_bot_can_be_stored_in_half_the_space(game: Game, tmp_path: Path) -> None:
    bot = bot_file(game)
    save_bot(tmp_path / "whole", bot)
    save_bot(tmp_path / "half", replace(bot, half=True))
    sizes = [(tmp_path / name / "weights.safetensors").stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    read = load_bot(tmp_path / "half")
    assert read.half
    assert not load_bot(tmp_path / "whole").half
    for name, array in halved(bot.weights).items():
        assert read.weights[name].dtype == np.float32
        assert (read.weights[name] == array).all()
        np.testing.assert_allclose(array, bot.weights[name], rtol=1e-3, atol=1e-7)
    rows = positions(game)
    moves = [Bot(game, one).act(rows) for one in (bot, read)]
    assert (moves[0] == moves[1]).mean() > 0.98


def test_a_bot_plays_legal_moves_whatever_the_batch(game: Game, tmp_path: Path) -> None:
    save_bot(tmp_path, bot_file(game))
    rows = positions(game)
    for temperature in (0.0, 1e-300, 1e-6, 1.0, 1e6):
        bot = make_bot(game, tmp_path, temperature=temperature)
        actions = bot.act(rows)
        assert rows.mask[np.arange(len(rows)), actions].all()
        order = np.random.default_rng(1).permutation(len(rows))
        assert (bot.act(rows.take(order)) == actions[order]).all()
        assert (bot.act(rows.take(order[:1])) == actions[order[:1]]).all()


def test_log_probs_are_a_policy_over_legal_moves(game: Game) -> None:
    rows = positions(game)
    probabilities = np.exp(Bot(game, bot_file(game)).log_probs(rows))
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    assert not probabilities[~rows.mask].any()


def test_a_bot_that_learned_a_phase_leaves_the_others_to_its_partner() -> None:
    game = ToyGame()
    learned = {"phases": ["trump"], "partner": "random"}
    partner = RandomAgent(game)
    bot = Bot(game, replace(bot_file(game), learned=learned), partner=partner)
    alone = Bot(game, bot_file(game))
    rows = positions(game)
    own = rows.phase == 0
    actions = bot.act(rows)
    assert (actions[own] == alone.act(rows)[own]).all()
    assert (actions[~own] == partner.act(rows)[~own]).all()
    with pytest.raises(BotError, match="needs its partner"):
        Bot(game, replace(bot_file(game), learned=learned))


def spoil(folder: Path, key: str, value: object) -> None:
    data = json.loads((folder / "bot.json").read_text())
    data[key] = value
    (folder / "bot.json").write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("format", "kolkhoz-bot/9", r"bot\.json: format: 'kolkhoz-bot/9' should be 'kolkhoz-bot/1"),
        ("extra", 1, r"bot\.json: extra: unknown key; known: format, game"),
        ("rules", None, r"bot\.json: rules: None should be an object"),
        ("rules", {"players": "four"}, r"bot\.json: rules\.players: 'four' should be a whole num"),
        ("observation", {"version": 1.5}, r"bot\.json: observation\.version: 1\.5 should be a who"),
        ("training", 3, r"bot\.json: training: 3 should be an object"),
        ("strength", {}, r"bot\.json: strength: {} should be a list"),
        ("learned", [], r"bot\.json: learned: \[\] should be an object or null"),
        ("learned", {"phases": "trump"}, r"bot\.json: learned\.phases: 'trump' should be a list"),
        ("learned", {"phases": ["trump"]}, r"bot\.json: learned\.partner: None should be an AGENT"),
        ("network", {"hidden": 9}, r"bot\.json: network\.hidden: 9 should be a list of whole num"),
        ("network", {"hidden": [True]}, r"bot\.json: network\.hidden: \[True\] should be a list"),
        ("network", {"hidden": [9], "inputs": []}, r"bot\.json: network\.inputs: \[\] should be"),
        ("network", {"hidden": [9], "kind": "cnn"}, r"bot\.json: network\.kind: 'cnn' is not one"),
        ("network", {"hiden": [9]}, r"bot\.json: network\.hiden: unknown key; known: "),
        ("network", {"hidden": [9]}, r"weights: "),
        ("game", "chess", r"a bot for 'chess' cannot play 'toy'"),
        ("observation", {"version": 7, "size": 56}, r"reads observation version 7"),
    ],
)
def test_a_wrong_bot_is_refused_in_one_line(
    tmp_path: Path, key: str, value: object, line: str
) -> None:
    game = ToyGame()
    save_bot(tmp_path, bot_file(game))
    spoil(tmp_path, key, value)
    with pytest.raises(BotError, match=line) as caught:
        make_bot(game, tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    game = ToyGame()
    save_bot(tmp_path, bot_file(game))
    weights = tmp_path / "weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BotError, match=r"weights\.safetensors: damaged or cut short"):
        load_bot(tmp_path)
    weights.unlink()
    with pytest.raises(BotError, match=r"weights\.safetensors: No such file"):
        load_bot(tmp_path)
    (tmp_path / "bot.json").write_text("{")
    with pytest.raises(BotError, match=r"bot\.json: not JSON"):
        load_bot(tmp_path)


def test_a_bot_for_other_seats_is_refused() -> None:
    bot = bot_file(make_game("kolkhoz"))
    with pytest.raises(BotError, match="a bot for 4 players cannot play with 3"):
        Bot(make_game("kolkhoz", {"players": 3}), bot)
