"""The agent and the game that the pages show are run as their readers would run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_docs import ROOT, blocks

from kolkhoz_agents.evaluation import Settings, evaluate
from kolkhoz_agents.games import make_game
from kolkhoz_train.cli.main import main

AGENT_PAGE, GAME_PAGE = ROOT / "docs/adding-an-agent.md", ROOT / "docs/adding-a-game.md"


class Master:
    """Plays stones perfectly from the observation."""

    def __init__(self, game: Any) -> None:
        self.name, self.needs = "master", frozenset({"observation"})

    def act(self, decisions: Any) -> np.ndarray:
        left = decisions.observation[:, 0].astype(int)
        return np.where(left % 4 > 0, left % 4, 1) - 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_agents.py").write_text(blocks(AGENT_PAGE, "python")[0])
    (tmp_path / "my_game.py").write_text(blocks(GAME_PAGE, "python")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def shell_commands(page: Path) -> list[list[str]]:
    lines = "".join(blocks(page, "sh")).splitlines()
    return [line.split()[1:] for line in lines if line.startswith("kolkhoz ")]


def test_the_example_agent_is_short_and_stronger_than_chance(folder: Path) -> None:
    assert len(blocks(AGENT_PAGE, "python")[0].strip().splitlines()) <= 25
    result, _ = evaluate("my_agents:LongCrop", "random", Settings(deals=60, workers=0))
    assert result.tables[0].win_share.low > result.par


def test_the_commands_of_both_pages_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for page in (AGENT_PAGE, GAME_PAGE):
        for command in shell_commands(page):
            small = re.sub(r"--deals \d+", "--deals 4", " ".join(command)).split()
            assert main(small) == 0, command
    assert (folder / "out.jsonl").exists()
    assert "take=TEXT" in capsys.readouterr().out


def test_modules_of_the_current_folder_are_found(folder: Path) -> None:
    command = [str(Path(sys.executable).with_name("kolkhoz")), "evaluate", "my_agents:LongCrop"]
    command += ["random", "--deals", "2", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout)["tables"][0]["agent"] == "my_agents:LongCrop"


def test_the_options_of_the_page_are_understood(folder: Path) -> None:
    from kolkhoz_agents.errors import AgentError
    from kolkhoz_agents.registry import make_agent

    code = blocks(AGENT_PAGE, "python")[0] + "\n\n"
    code += blocks(AGENT_PAGE, "python")[2].replace("class LongCrop:", "class Noisy(LongCrop):")
    code = code.replace(
        "def __init__(self, game, noise=0.0): ...",
        "def __init__(self, game, noise=0.0):\n"
        "        super().__init__(game)\n        self.noise = noise",
    )
    (folder / "my_noisy_agents.py").write_text(code)
    agent: Any = make_agent("my_noisy_agents:Noisy:noise=0.1", make_game("kolkhoz"))
    assert agent.noise == 0.1
    with pytest.raises(AgentError, match="unknown option 'loud'; allowed: noise"):
        make_agent("my_noisy_agents:Noisy:loud=1", make_game("kolkhoz"))


def test_the_example_game_is_a_full_tenant(folder: Path) -> None:
    settings = Settings(game="my_game:make_game", deals=200, workers=0)
    result, _ = evaluate("test_adding_docs:Master", "random", settings)
    assert result.tables[0].win_share.low > 0.9
    assert result.tables[0].games == 400
    game = make_game("my_game:make_game", {"stones": 5})
    asked, forced = (game.table(3, np.arange(50), auto_forced=auto) for auto in (False, True))
    for table in (asked, forced):
        while not table.over.all():
            table.step(np.zeros(50, int))
    np.testing.assert_array_equal(asked.outcome().win_share, forced.outcome().win_share)
    again = game.table(3, np.arange(8), restart=True)
    for _ in range(5):
        step = again.step(np.zeros(8, int))
    assert step.done.all()
    assert again.game_ids.tolist() == list(range(8, 16))
    assert (again.decision == 0).all()


def test_the_python_of_the_evaluation_page_runs(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs/evaluation.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    assert done.stdout.startswith("greedy 0.")
