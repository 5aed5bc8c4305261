"""What a config names is held against game, agents and bots before a run begins."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kolkhoz_agents.registry import shipped_bots
from kolkhoz_train.cli.main import main

SB3 = {
    "algorithm": {"name": "sb3_maskable_ppo"},
    "network": {"trunk": "separate"},
    "reward": {"margin": 0},
}


def tables(*agents: str) -> dict:
    return {"opponents": {"tables": [{"agent": agent} for agent in agents]}}


def clock(key: str, text: str) -> str:
    return f"{key}: {text!r} has a budget in time, with which a run would take many times as long"


WRONG = [
    (tables("self", "foo"), "opponents.tables.1.agent: unknown agent 'foo'; allowed: random, "),
    (tables("slef"), "opponents.tables.0.agent: unknown agent 'slef'; allowed: "),
    (tables("random:x=1"), "opponents.tables.0.agent: agent 'random:x=1': unknown option 'x'"),
    (tables("runs/none"), "opponents.tables.0.agent: agent 'runs/none': there is no bot or run"),
    (tables("foreman_three"), "opponents.tables.0.agent: foreman_three: a bot for 3 players cann"),
    (tables("search"), clock("opponents.tables.0.agent", "search")),
    (tables("search:ms=20"), clock("opponents.tables.0.agent", "search:ms=20")),
    (tables("mix:play=(search:ms=9),rest=random"), "opponents.tables.0.agent: 'mix:play=(search"),
    (tables("search:worlds=2,rollout=(mix:rest=search)"),
     "opponents.tables.0.agent: 'search:worlds=2,rollout=(mix"),
    (tables("search:worlds=2,rollout=search"),
     "opponents.tables.0.agent: rollout=search: a search would think at every move of every play"),
    (tables("search:worlds=2,rollout=foo"), "opponents.tables.0.agent: rollout: unknown agent"),
    ({"network": {"inputs": ["hand", "hand"]}}, "network.inputs: 'hand' is given twice"),
    ({"network": {"hidden": [0]}}, "network.hidden.0: 0 should be at least 1\n"),
    ({"reward": {"win_share": 0, "margin": 0}}, "reward: win_share and margin are both 0"),
    ({"opponents": {"population": {"agents": ["foo"]}}}, "opponents.population.agents.0: unknown"),
    ({"opponents": {"population": {"agents": ["search"]}}}, clock("opponents.population.agents.0",
                                                                  "search")),
    ({"opponents": {"tables": [{"agent": "random", "seats": 4}]}},
     "opponents.tables.0.seats: 4 leaves the learner no seat; allowed: 1 to 3"),
    ({"learn": ["trump"], "partner": "foo"}, "partner: unknown agent 'foo'; allowed: random"),
    ({"learn": ["trump"], "partner": "search"}, clock("partner", "search")),
    ({"learn": ["bid"], "partner": "random"}, "learn.0: 'bid' is no phase of kolkhoz; allowed: "),
    ({"learn": ["play:x=1"], "partner": "random"}, "learn.0: 'x=1' should be BLOCK=NUMBER"),
    ({"algorithm": {"imitation": {"agent": "foo"}}}, "algorithm.imitation.agent: unknown agent"),
    ({"algorithm": {"imitation": {"agent": "search:ms=20"}}}, clock("algorithm.imitation.agent",
                                                                    "search:ms=20")),
    ({"algorithm": {"anchor": {"bot": "foo"}}}, "algorithm.anchor.bot: foo: there is no such"),
    ({"algorithm": {"anchor": {"bot": "foreman"}}}, "algorithm.anchor.bot: foreman has another ne"),
    ({"network": {"start_from": "foo"}},
     f"network.start_from: foo: there is no such folder; allowed: a bot or run folder, or a "
     f"shipped bot's name ({', '.join(shipped_bots())})"),
    ({"network": {"start_from": "."}}, "network.start_from: .: the folder has neither bot.json"),
    ({"network": {"start_from": "foreman", "hidden": [8], "activation": "relu"}},
     "network.start_from: foreman has a network that can't grow into this: it has "),
    ({"network": {"inputs": ["hand", "foo"]}}, "network.inputs: no observation block 'foo'; known"),
    ({"evaluation": {"opponents": ["random", "foo"]}}, "evaluation.opponents.1: unknown agent"),
    ({"game": {"name": "foo"}}, "game.name: unknown game 'foo'; allowed: kolkhoz, package.module"),
    ({"game": {"rules": {"foo": 1}}}, "game.rules.foo: no such rule; known are players, quota"),
    ({"game": {"rules": {"players": 7}}}, "game.rules.players: 7 is not a whole number from 2 to"),
    ({"game": {"rules": {"tricks": 1}}}, "game.rules.tricks: a Famine year needs at least 2 tric"),
    (SB3, "opponents.tables.0.agent: 'self' is wrong with sb3_maskable_ppo; allowed: AGENTs like"),
    (SB3 | tables("foo"), "opponents.tables.0.agent: unknown agent 'foo'"),
    (SB3 | tables("search"), clock("opponents.tables.0.agent", "search")),
    (SB3 | {"algorithm": {"name": "sb3_maskable_ppo", "minibatch": 3, "environments": 1}},
     "algorithm.minibatch: 3 leaves one decision of the 16 in a batch"),
    (SB3 | tables("random", "random", "random", "random"),
     "opponents.tables: '4 entries' is wrong with sb3_maskable_ppo; allowed: one a seat"),
    (SB3 | {"opponents": {"tables": [{"agent": "random", "share": 2}]}},
     "opponents.tables.0.share: 2.0 is wrong with sb3_maskable_ppo; allowed: 1.0 (it is not used)"),
    (SB3 | tables("random") | {"checkpoint": {"every_minutes": 1}},
     "checkpoint.every_minutes: 1.0 is wrong with sb3_maskable_ppo; allowed: 2.0 (it is not used)"),
    (SB3 | tables("random") | {"reward": {"margin": 0, "win_share": 2}},
     "reward.win_share: 2.0 is wrong with sb3_maskable_ppo; allowed: 1"),
    (SB3 | {"network": {}}, "network.trunk: 'shared' is wrong with sb3_maskable_ppo; allowed: sep"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what"), [("foo:bar", "there is no module 'foo'"), ("os:sep", "is no factory: str")]
)
def test_code_that_is_allowed_is_checked(
    name: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(yaml.safe_dump({"budget": {"decisions": 10}, "game": {"name": name}}))
    assert main(["train", "x.yaml", "--code"]) == 2
    assert capsys.readouterr().err.startswith(f"kolkhoz: x.yaml: game.name: game '{name}': {what}")


@pytest.mark.parametrize(("data", "line"), WRONG, ids=[line[:40] for _, line in WRONG])
def test_what_a_config_names_is_checked_before_there_is_a_folder(
    data: dict, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(yaml.safe_dump({"budget": {"decisions": 10}, "threads": 1, **data}))
    assert main(["train", "x.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"kolkhoz: x.yaml: {line}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


def test_a_table_agent_may_be_self_or_population(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    hints = {"slef": "; did you mean 'self'?\n", "foo": "; self and population too\n"}
    for text, hint in hints.items():
        assert main(["train", "quickstart", "--set", f"opponents.tables=[{{agent: {text}}}]"]) == 2
        message = capsys.readouterr().err
        assert message.startswith("kolkhoz: --set opponents.tables=[{agent: ")
        assert f": opponents.tables.0.agent: unknown agent '{text}'" in message
        assert message.endswith(hint)


def test_a_folder_that_cannot_be_a_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full, file = tmp_path / "full", tmp_path / "file"
    full.mkdir()
    (full / "precious.txt").write_text("x")
    file.write_text("x")
    for folder, reason in (
        ("/proc/x", "can't begin a run there: No such file or directory"),
        (full, "the folder holds other files; name a new or an empty one"),
        (file, "can't begin a run there: it is a file"),
        (file / "x", "can't begin a run there: Not a directory"),
    ):
        assert main(["train", "quickstart", "--run-dir", str(folder)]) == 2
        captured = capsys.readouterr()
        assert captured.err == f"kolkhoz: --run-dir {folder}: {reason}\n"
        assert captured.out == ""
    assert [path.name for path in full.iterdir()] == ["precious.txt"]


@pytest.mark.slow
def test_a_shipped_bot_may_be_started_from_and_anchored_to_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from kolkhoz_agents.registry import BOTS

    monkeypatch.chdir(tmp_path)
    shape = json.loads((BOTS / "foreman" / "bot.json").read_text())["network"]
    shape.pop("kind")
    config = {
        "threads": 1,
        "network": {**shape, "start_from": "foreman"},
        "algorithm": {"games": 4, "minibatch": 64, "anchor": {"bot": "foreman"}},
        "budget": {"decisions": 10},
        "evaluation": {"final_deals": 2},
    }
    Path("x.yaml").write_text(yaml.safe_dump(config))
    assert main(["train", "x.yaml"]) == 0
    assert "training x.yaml in runs/x" in capsys.readouterr().out
    assert Path("runs/x/bot/bot.json").is_file()
