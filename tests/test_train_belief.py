"""Learning a belief: what it is shown, that it learns, runs that stop and go on, wrong configs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from rich.console import Console
from safetensors.numpy import load_file

from kolkhoz_agents.belief import load_belief
from kolkhoz_agents.network import Canon, NetworkShape
from kolkhoz_agents.registry import make_agent
from kolkhoz_env.game import KolkhozGame
from kolkhoz_train.belief import BeliefTrainer
from kolkhoz_train.checkpoint import list_checkpoints
from kolkhoz_train.cli.main import main
from kolkhoz_train.config import ConfigError, parse_config
from kolkhoz_train.examples import Examiner, joined, seated
from kolkhoz_train.ppo import DivergedError
from kolkhoz_train.run_folder import RunFolder
from kolkhoz_train.stopping import StopRequest
from kolkhoz_train.train import new_run, resume_run

SMALL = {
    "seed": 4,
    "threads": 1,
    "network": {"hidden": [32], "inputs": ["hand", "trick", "trump", "year", "phase"]},
    "algorithm": {
        "name": "belief",
        "players": [{"agent": "heuristic", "share": 3}, {"agent": "random", "share": 1}],
        "games": 16,
        "worlds": 5,
        "minibatch": 128,
    },
    "budget": {"decisions": 4000},
    "evaluation": {"every_minutes": 0.02, "deals": 2, "final_deals": 3},
    "checkpoint": {"every_minutes": 0.0001},
}


def quiet() -> Console:
    return Console(file=open(os.devnull, "w"))


def train_small(folder: Path, **changes: object) -> RunFolder:
    return new_run(parse_config({**SMALL, **changes}, "small"), folder, "small.yaml", quiet())


def weights(folder: Path) -> bytes:
    return (folder / "belief" / "weights.safetensors").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("belief") / "run"
    train_small(folder)
    return folder


# What it is shown -----------------------------------------------------------------------------


def test_examples_hold_the_true_world_and_even_ones_with_as_many_cards_everywhere() -> None:
    game = KolkhozGame()
    canon = Canon(game, NetworkShape())
    examiner = Examiner(game, canon, [make_agent("heuristic", game), make_agent("random", game)])
    seating = seated([1, 1], 12, 4, 7)
    play = examiner.play(3, np.arange(12), seating, 4, 0.3, np.random.default_rng(1))
    examples = joined(list(play))
    assert len(examples) > 200
    assert examples.hidden.shape == (len(examples), 5, 7 * 53)
    zones = examples.hidden.reshape(len(examples), 5, 7, 53)
    # As many cards in each hand, each Cellar and the piles, and as a rule not the same ones.
    sizes = zones.sum(axis=3)
    assert (sizes == sizes[:, :1]).all()
    assert (zones[:, 1] != zones[:, 0]).any(axis=(1, 2)).mean() > 0.9
    # No card is hidden twice, nor one in the seat's own hand.
    assert zones.sum(axis=2).max() == 1
    block = next(block for block in game.observation.blocks if block.name == "hand")
    own = np.argsort(canon.observation_index, axis=1)[examples.case]
    hand = np.take_along_axis(examples.counts, own, axis=1)[:, block.offset :][:, :53]
    assert not (zones.sum(axis=2) & hand[:, None]).any()
    assert set(examples.stage) == {1, 2, 3, 4, 5}


def test_seats_are_drawn_by_their_shares() -> None:
    drawn = seated([6, 1, 1], 4000, 4, 5)
    assert drawn.shape == (4000, 4)
    assert np.bincount(drawn.ravel()) / drawn.size == pytest.approx([0.75, 0.125, 0.125], abs=0.02)
    assert (seated([6, 1, 1], 4000, 4, 5) == drawn).all()


def test_it_learns_what_the_heuristic_shows_of_its_cards(tmp_path: Path) -> None:
    """Before it has learned it gains nothing; a few thousand decisions tell it something."""
    changes = {
        "network": {"hidden": [64]},
        "algorithm": {**SMALL["algorithm"], "games": 128, "players": [{"agent": "heuristic"}]},
        "budget": {"decisions": 30_000},
        "evaluation": {"every_minutes": 60, "final_deals": 12},
    }
    config = parse_config({**SMALL, **changes}, "x")
    trainer = BeliefTrainer(config, RunFolder.create(tmp_path / "new", config, "x"))
    assert trainer.gains(4, StopRequest())["gain"] == pytest.approx(0, abs=1e-6)
    run = train_small(tmp_path / "run", **changes)
    result = run.record["results"][-1]
    assert result["games"] == 12
    assert result["gain"] > 0.15
    phases = {key for key in result if key.startswith("gain/")}
    assert {"gain/play", "gain/swap_take", "gain/stage_3"} <= phases


# Runs -----------------------------------------------------------------------------------------


def test_a_run_folder_has_all_that_is_promised(whole: Path) -> None:
    record = json.loads((whole / "run.json").read_text())
    assert record["finished"] is True
    assert record["learned_decisions"] >= 4000
    # A quarter of all decisions is kept.
    assert record["decisions"] == pytest.approx(4 * record["learned_decisions"], rel=0.05)
    assert {"versions", "commit", "config", "time_shares", "results"} <= set(record)
    assert record["results"][-1]["learned"] == record["learned_decisions"]
    assert len(list_checkpoints(whole)) == 2
    assert list((whole / "tensorboard").iterdir())
    assert not list(whole.rglob("*.part"))
    belief = load_belief(whole / "belief")
    assert belief.training["results"] == record["results"][-1:]
    assert belief.shape.hidden == (32,)


def test_two_runs_of_a_config_and_seed_give_the_same_belief(whole: Path, tmp_path: Path) -> None:
    train_small(tmp_path / "again")
    assert weights(tmp_path / "again") == weights(whole)
    train_small(tmp_path / "other", seed=5)
    assert weights(tmp_path / "other") != weights(whole)


def test_a_stopped_run_goes_on_to_the_same_bits(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = BeliefTrainer._batch

    def stops(trainer: BeliefTrainer) -> dict[str, float]:
        if trainer.progress.batch == 2:
            raise KeyboardInterrupt
        return batch(trainer)

    folder = tmp_path / "run"
    monkeypatch.setattr(BeliefTrainer, "_batch", stops)
    with pytest.raises(KeyboardInterrupt):
        train_small(folder)
    assert json.loads((folder / "run.json").read_text())["finished"] is False
    monkeypatch.setattr(BeliefTrainer, "_batch", batch)
    resume_run(folder, quiet())
    assert weights(folder) == weights(whole)
    last, expected = (list_checkpoints(path)[0] / "tensors.safetensors" for path in (folder, whole))
    assert load_file(last).keys() == load_file(expected).keys()
    assert last.read_bytes() == expected.read_bytes()


def test_the_command_trains_says_where_the_belief_is_and_search_uses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "small.yaml"
    config.write_text(yaml.safe_dump({**SMALL, "budget": {"decisions": 1000}}))
    folder = tmp_path / "run"
    assert main(["train", str(config), "--run-dir", str(folder)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"done: the belief is in {folder}/belief" in out
    assert "times as likely as an even draw (gain" in out
    assert main(["train", "--resume", str(folder)]) == 0
    assert "this run went to its end already" in " ".join(capsys.readouterr().out.split())
    search = f"search:worlds=1,belief={folder}"
    assert main(["evaluate", search, "random", "--one-way", "--deals", "2"]) == 0


def test_a_share_that_keeps_nothing_is_told(tmp_path: Path) -> None:
    algorithm = {**SMALL["algorithm"], "games": 1, "kept": 1e-6}
    with pytest.raises(ConfigError, match=r"algorithm\.kept: 1e-06 of 1 games' decisions"):
        train_small(tmp_path / "run", algorithm=algorithm)


def test_a_run_that_diverges_saves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = BeliefTrainer._weigh

    def breaks(trainer: BeliefTrainer, *args: object, fast: bool) -> torch.Tensor:
        logs = learn(trainer, *args, fast=fast)
        return logs * float("nan") if fast and trainer.progress.batch == 2 else logs

    monkeypatch.setattr(BeliefTrainer, "_weigh", breaks)
    with pytest.raises(DivergedError, match="diverged in batch 3: weights are no finite"):
        train_small(tmp_path / "run")
    belief = load_belief(tmp_path / "run" / "belief")
    assert all(np.isfinite(array).all() for array in belief.weights.values())


# Wrong configs --------------------------------------------------------------------------------

PLAYERS = SMALL["algorithm"]["players"]
WRONG = [
    ({"players": []}, {}, "algorithm.players"),
    ({"players": [{"agent": "foo"}]}, {}, "algorithm.players.0.agent: unknown agent 'foo'"),
    ({"players": [{"agent": "search"}]}, {}, "algorithm.players.0.agent: 'search' has a budget in"),
    ({"players": [{"agent": "random", "share": 0}]}, {}, "algorithm.players.0.share"),
    ({"players": PLAYERS, "kept": 0}, {}, "algorithm.kept"),
    ({"players": PLAYERS, "games": 0}, {}, "algorithm.games"),
    ({"players": PLAYERS, "clip": 1}, {}, "algorithm.clip"),
    ({"players": PLAYERS, "games": 8192, "worlds": 31, "kept": 1}, {},
     "algorithm.worlds: games x kept x (1 + worlds) is 262,144, which would fill the memory; "),
    ({"players": PLAYERS}, {"reward": {"margin": 0}}, "reward: is wrong with belief"),
    ({"players": PLAYERS}, {"network": {"heads": "phase"}}, "network.heads: is wrong with belief"),
    ({"players": PLAYERS}, {"network": {"start_from": "foreman"}}, "network.start_from"),
    ({"players": PLAYERS}, {"learn": ["trump"], "partner": "random"},
     "learn: is wrong with belief, which has no use for it; leave it out"),
    ({"players": PLAYERS}, {"evaluation": {"opponents": ["foo"]}}, "evaluation.opponents"),
    ({"players": PLAYERS}, {"game": {"name": "toy_game:make_game"}},
     "algorithm.name: toy does not tell what is hidden; allowed: ppo"),
]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "changes", "message"), WRONG)
def test_a_wrong_config_is_told_and_leaves_no_folder(
    algorithm: dict, changes: dict, message: str, tmp_path: Path
) -> None:
    values = {"algorithm": {"name": "belief", **algorithm}, "budget": {"decisions": 10}, **changes}
    with pytest.raises(ConfigError) as error:
        new_run(parse_config(values, "c.yaml"), tmp_path / "run", "c.yaml", quiet())
    assert message in str(error.value)
    assert "c.yaml" in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
