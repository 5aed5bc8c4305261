"""`kolkhoz bench`: the figures that others read, and that the timed play is real play."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kolkhoz_env import VectorKolkhoz
from kolkhoz_train import benchmark
from kolkhoz_train.cli.main import main

BRIEF = ["--runs", "1", "--seconds", "0.01", "--train-seconds", "0.1"]
SMALL = ["--set", "algorithm.games=8", "--set", "network.hidden=[16]", "--set", "threads=1"]


def test_the_figures_have_their_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures.json"
    batches = ["--batch", "1", "64"]
    assert main(["bench", *BRIEF, *SMALL, *batches, "--agents", "random", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert [(row["players"], row["batch"]) for row in figures["engine"]] == [(4, 1), (4, 64)]
    for row in figures["engine"]:
        assert min(row["step"], row["step_mask"], row["step_mask_observe"]) > 0
    assert min(figures["aec"]["raw_env"], figures["aec"]["env"]) > 0
    assert figures["agents"]["random"] > 0
    assert figures["train"]["decisions_per_s"] > 0
    assert 0 < figures["state_bytes"] < 2048
    assert "decisions a second" in capsys.readouterr().out


def test_one_part_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *BRIEF, "--parts", "engine", "--batch", "2", "--players", "3"]) == 0
    text = capsys.readouterr().out
    assert "engine, 3 players" in text
    assert "training" not in text


def test_random_actions_are_legal_and_even() -> None:
    generator = np.random.default_rng(3)
    mask = np.zeros((3000, 58), dtype=bool)
    mask[:, [4, 20, 57]] = True
    counts = np.bincount(benchmark.random_actions(mask, generator), minlength=58)
    assert counts.sum() == counts[[4, 20, 57]].sum()
    assert (np.abs(counts[[4, 20, 57]] - 1000) < 150).all()


def test_the_moves_that_are_timed_are_whole_games() -> None:
    games = VectorKolkhoz(3, players=4, seed=1)
    actions = benchmark._chosen(games, 0.0)
    assert len(actions) == benchmark.GAME_LENGTH
    again = VectorKolkhoz(3, players=4, seed=1)
    ended = sum(len(again.step(chosen).finished) for chosen in actions)
    assert ended >= 1
