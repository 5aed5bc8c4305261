"""Files that somebody made are loaded without running anything that they name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from kolkhoz_agents.bots import load_bot, save_bot
from kolkhoz_agents.errors import AgentError, EvaluationError
from kolkhoz_agents.games import make_game, names_only
from kolkhoz_agents.registry import BOTS, make_agent
from kolkhoz_env.game import KolkhozGame
from kolkhoz_train.cli.main import main

KOLKHOZ = KolkhozGame()


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in with a module that leaves a mark when it is imported."""
    (tmp_path / "trapped.py").write_text(
        "from pathlib import Path\n"
        "Path('mark').touch()\n"
        "from kolkhoz_agents.random_agent import RandomAgent as make\n"
        "from kolkhoz_env.game import make_game\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "trapped", raising=False)
    return tmp_path / "mark"


def test_code_that_a_person_names_is_run(trap: Path) -> None:
    assert make_agent("trapped:make", KOLKHOZ).name
    assert trap.exists()


@pytest.mark.parametrize(
    "text", ["trapped:make", "mix:rest=(trapped:make)", "search:rollout=trapped:make"]
)
def test_a_bots_partner_is_no_code(text: str, trap: Path) -> None:
    bot = load_bot(BOTS / "foreman")
    fields = {**vars(bot), "learned": {"phases": ["trump"], "partner": text}}
    save_bot(trap.parent / "shared", type(bot)(**fields))
    with pytest.raises(AgentError, match="a bot's folder may not name code, which would be run"):
        make_agent("./shared", KOLKHOZ)
    assert main(["evaluate", "./shared", "random", "--deals", "1", "--workers", "1"]) == 2
    assert not trap.exists()


def test_a_saved_games_opponents_are_no_code(
    trap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = {
        "format": "kolkhoz-game/1",
        "rules": {"players": 4},
        "seed": 1,
        "seat": 0,
        "opponents": ["random", "trapped:make", "random"],
        "moves": [],
    }
    Path("saved.json").write_text(json.dumps(saved))
    assert main(["play", "--resume", "saved.json"]) == 2
    assert capsys.readouterr().err == (
        "kolkhoz: saved.json: opponents: agent 'trapped:make': a saved game names code, which is "
        "run, only with --code\n"
    )
    assert not trap.exists()


PARTS = (
    ({"opponents": {"tables": [{"agent": "trapped:make"}]}}, "opponents.tables.0.agent"),
    ({"opponents": {"tables": [{"agent": "mix:rest=(trapped:make)"}]}}, "opponents.tables.0.agent"),
    ({"evaluation": {"opponents": ["trapped:make"]}}, "evaluation.opponents.0"),
    ({"learn": ["trump"], "partner": "trapped:make"}, "partner"),
    ({"algorithm": {"imitation": {"agent": "trapped:make", "decisions": 9}}},
     "algorithm.imitation.agent"),
    ({"algorithm": {"name": "belief", "players": [{"agent": "trapped:make"}]}},
     "algorithm.players.0.agent"),
    ({"algorithm": {"name": "sb3_maskable_ppo"}, "network": {"trunk": "separate"},
      "reward": {"margin": 0},
      "opponents": {"tables": [{"agent": "trapped:make"}]}}, "opponents.tables.0.agent"),
    ({"game": {"name": "trapped:make_game"}}, "game.name"),
)  # fmt: skip


@pytest.mark.parametrize(("part", "key"), PARTS, ids=[key for _, key in PARTS])
def test_a_config_names_no_code(
    part: dict, key: str, trap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.yaml").write_text(yaml.safe_dump({"budget": {"decisions": 10}, **part}))
    assert main(["train", "x.yaml"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"kolkhoz: x.yaml: {key}: ")
    assert message.endswith(
        "a config names code, which is run, only with --code (or register it by an entry point)\n"
    )
    assert not trap.exists()
    assert not Path("runs").exists()


def test_a_run_that_is_resumed_names_no_code(
    trap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"game": {"name": "trapped:make_game"}, "budget": {"decisions": 10}}
    Path("run").mkdir()
    Path("run/config.yaml").write_text(yaml.safe_dump(config))
    Path("run/run.json").write_text("{}")
    assert main(["train", "--resume", "run"]) == 2
    assert "only with --code" in capsys.readouterr().err
    assert not trap.exists()


def test_a_game_that_a_bot_names_is_never_made(trap: Path) -> None:
    with names_only("no"), pytest.raises(EvaluationError, match="game 'trapped:make_game': no"):
        make_game("trapped:make_game")
    assert not trap.exists()
    assert make_game("trapped:make_game").name == "kolkhoz"
    assert trap.exists()
