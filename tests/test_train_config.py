"""Configs: what is refused and how it is said, overrides, and the model's explanation."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kolkhoz_train.cli.main import main
from kolkhoz_train.config import ConfigError, TrainingConfig, dump_config, parse_config, read_config
from kolkhoz_train.explain import explain
from kolkhoz_train.shipped import config_folder

CONFIGS = sorted(config_folder().glob("*.yaml"))


def problem(data: dict) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config({"budget": {"decisions": 10}, **data}, "x.yaml")
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"sed": 1}, "x.yaml: sed: unknown key; allowed: seed, threads, device, game"),
        ({"seed": -1}, "x.yaml: seed: -1 should be at least 0"),
        ({"network": {"hiden": [1]}}, "network.hiden: unknown key; allowed: hidden, activation"),
        ({"network": {"activation": "tanh"}}, "network.activation: 'tanh' should be 'silu' or"),
        ({"network": {"hidden": [64, "x"]}}, "network.hidden.1: 'x' should be a whole number"),
        ({"algorithm": {"epoch": 1}}, "algorithm.epoch: unknown key; allowed: name, games,"),
        ({"algorithm": {"name": "dqn"}}, "'ppo', 'sb3_maskable_ppo'"),
        (
            {"algorithm": {"name": "sb3_maskable_ppo", "games": 3}},
            "algorithm.games: unknown key; allowed: name, environments",
        ),
        ({"algorithm": {"clip": 0}}, "algorithm.clip: 0 should be above 0"),
        ({"opponents": {"tables": []}}, "opponents.tables: [] should have at least 1 entry"),
        ({"opponents": {"tables": [{"agnt": "x"}]}}, "opponents.tables.0.agnt: unknown key"),
        ({"opponents": {"tables": [{"agent": "self", "share": 0}]}}, "at least one share"),
        ({"opponents": {"tables": [{"share": 1}]}}, "opponents.tables.0.agent: missing"),
        ({"learn": ["trump"]}, "learn and partner go together"),
        ({"budget": {}}, "budget: give decisions, minutes, or both"),
        ({"budget": {"minutes": float("nan")}}, "budget.minutes: nan should be a finite number"),
        ({"checkpoint": {"keep": 1}}, "checkpoint.keep: 1 should be at least 2"),
        ({"budget": None}, "x.yaml: budget: null should be a mapping with keys of these: dec"),
        ({"algorithm": None}, "algorithm: null should be a mapping with keys of these: name"),
        ({"network": None}, "network: null should be a mapping with keys of these: hidden"),
        ({"network": {"hidden": [0]}}, "network.hidden.0: 0 should be at least 1"),
        ({"network": {"hidden": 64}}, "network.hidden: 64 should be a list"),
        ({"network": {"hidden": [True]}}, "network.hidden.0: true should be a whole number"),
        ({"network": {"inputs": []}}, "network.inputs: [] should have at least 1 entry"),
        ({"network": {"start_from": 5}}, "network.start_from: 5 should be a text"),
        ({"seed": True}, "seed: true should be a whole number"),
        ({"seed": "1"}, "seed: '1' should be a whole number"),
        ({"seed": 2**63}, "seed: 9223372036854775808 should be at most 9223372036854775807"),
        ({"seed": 1.5}, "seed: 1.5 should be a whole number"),
        ({"threads": False}, "threads: false should be a whole number"),
        ({"algorithm": {"games": True}}, "algorithm.games: true should be a whole number"),
        ({"algorithm": {"clip": True}}, "algorithm.clip: true should be a number"),
        ({"algorithm": {"clip": "0.2"}}, "algorithm.clip: '0.2' should be a number"),
        ({"algorithm": {"average": 1}}, "algorithm.average: 1 should be below 1"),
        ({"algorithm": {"discount": 2}}, "algorithm.discount: 2 should be at most 1"),
        ({"reward": {"margin": None}}, "reward.margin: null should be a number"),
        ({"budget": {"minutes": float("inf")}}, "budget.minutes: inf should be a finite number"),
        ({"budget": {"decisions": float("inf")}}, "budget.decisions: inf should be a whole number"),
        (
            {"algorithm": {"name": "sb3_maskable_ppo", "keep_zip": 1}},
            "algorithm.keep_zip: 1 should be true or false",
        ),
        ({"evaluation": {"final_deals": 1}}, "evaluation.final_deals: 1 should be at least 2"),
        ({"evaluation": {"deals": 1}}, "evaluation.deals: 1 should be at least 2"),
        ({"evaluation": {"opponents": "random"}}, "opponents: 'random' should be a list"),
        ({1: 2}, "x.yaml: 1: a key should be a text"),
        ({"game": {"rules": {1: 2}}}, "x.yaml: game.rules: a key should be a text"),
        (
            {"opponents": {"tables": [{"agent": "self", "final_share": 0}]}},
            "opponents: tables: at least one share must be above 0, at the end as well",
        ),
    ],
)
def test_a_wrong_config_is_one_line_with_key_value_and_what_is_right(data: dict, line: str) -> None:
    assert line in problem(data)


def test_a_budget_is_needed() -> None:
    with pytest.raises(ConfigError, match="budget: missing"):
        parse_config({}, "x.yaml")


@pytest.mark.parametrize("count", ["2000000", "2e6", "2.0e6", "2E+6", "2_000_000", "2_000e3"])
def test_counts_may_be_written_as_people_do(tmp_path: Path, count: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"budget: {{decisions: {count}}}\nalgorithm: {{learning_rate: 1e-4}}\n")
    config = read_config(path)
    assert config.budget.decisions == 2_000_000
    assert config.algorithm.learning_rate == 1e-4
    assert read_config(path, [f"budget.decisions={count}"]) == config


def test_the_algorithm_is_ppo_unless_named() -> None:
    config = parse_config({"algorithm": {"clip": 0.1}, "budget": {"minutes": 1}}, "x")
    assert config.algorithm.name == "ppo"


def test_overrides_reach_into_mappings_and_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("budget: {minutes: 1}\nopponents: {tables: [{agent: self}, {agent: random}]}\n")
    settings = ["network.hidden=[8, 8]", "opponents.tables.1.share=0.5", "budget.decisions=1e3"]
    config = read_config(path, settings)
    assert config.network.hidden == (8, 8)
    assert config.opponents.tables[1].share == 0.5
    assert config.budget.decisions == 1000


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("network.hidden", "--set network.hidden: should be key.path=value"),
        ("network.hidden=[", "--set network.hidden=[: the value is not YAML"),
        ("opponents.tables.7.share=1", "7 should be an entry from 0 to 0"),
        ("budget.minutes.x=1", "minutes holds 1, which has no parts"),
        ("network.heads=both", "--set network.heads=both: network.heads: 'both' should be 'shared"),
        ("network.hiden=[1]", "--set network.hiden=[1]: network.hiden: unknown key; allowed: hid"),
        ("seed.first=1", "--set seed.first=1: seed: {'first': 1} should be a whole number"),
        ("budget.minutes=null", "--set budget.minutes=null: budget: give decisions, minutes, or"),
        (
            "opponents.population.agents.0=random",
            "--set opponents.population.agents.0=random: the file gives no list "
            "opponents.population.agents; set all of it: opponents.population.agents=[...]",
        ),
        ("opponents.0.agent=random", "opponents.0: unknown key; allowed: tables, population"),
        ("network.hidden.first=8", "the file gives no list network.hidden; set all of it: network"),
    ],
)
def test_a_wrong_override_is_one_line(tmp_path: Path, setting: str, line: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("budget: {minutes: 1}\nopponents: {tables: [{agent: self}]}\n")
    with pytest.raises(ConfigError) as caught:
        read_config(path, [setting])
    assert line in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["- a\n", "{", "", "!!python/object:os.system {}\n", "seed: 1\nseed: 2\n", "? [a]\n: 1\n",
     "[" * 9999, "\0"],
)
def test_a_file_that_is_no_config_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"a\.yaml: (should hold|not YAML)") as caught:
        read_config(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_valid_and_round_trip(path: Path) -> None:
    config = read_config(path)
    assert parse_config(yaml.safe_load(dump_config(config)), "x") == config
    assert f"`{path.name}`" in (config_folder() / "README.md").read_text()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_explanation_of_a_config_is_that_config(path: Path) -> None:
    config = read_config(path)
    assert parse_config(yaml.safe_load(explain(config)), "x") == config


def test_the_explanation_has_every_key_with_a_meaning() -> None:
    lines = explain(None).splitlines()
    for name in TrainingConfig.model_fields:
        line = next(line for line in lines if line.startswith(f"{name}:"))
        assert line.partition("#")[2].strip(), line


def test_the_explanation_shows_the_keys_of_parts_that_are_left_out() -> None:
    lines = [line.strip() for line in explain(None).splitlines()]
    for words in ("# bot: ...  # a shipped bot's name, or a bot or run folder", "# agent: ...  #"):
        assert any(line.startswith(words) for line in lines), words


def test_the_command_says_what_is_wrong_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("budget: {minutes: 1}\nnetwork: {hiden: [1]}\n")
    for arguments, line in (
        (["train", str(path)], f"kolkhoz: {path}: network.hiden: unknown key"),
        (["train", str(tmp_path / "b.yaml")], f"kolkhoz: {tmp_path / 'b.yaml'}: no such file;"),
        (["train"], "kolkhoz: give a CONFIG.yaml"),
        (["train", "--resume", str(tmp_path)], f"kolkhoz: --resume {tmp_path}: no run is there"),
        (["train", "a", "--resume", "b"], "kolkhoz: --resume goes on with the run's own config"),
    ):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(line)
        assert captured.err.count("\n") == 1
