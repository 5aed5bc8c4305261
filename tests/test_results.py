"""Published figures: made by commands that parse, shown as they were measured."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from kolkhoz_train.cli.main import main, make_parser

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import results  # noqa: E402


def test_every_measurement_is_a_command() -> None:
    for name, command in results.commands().items():
        assert re.fullmatch(r"\w+", name)
        parsed = make_parser().parse_args([*shlex.split(command), "--json", f"{name}.json"])
        assert callable(parsed.run)


def test_every_file_is_what_its_command_measures() -> None:
    known = results.commands()
    for path in sorted(results.RESULTS.glob("*.json")):
        if path.stem in results.SCRIPTED:
            continue
        assert path.stem in known, f"{path.name}: no command in commands.yaml makes it"
        asked = make_parser().parse_args(shlex.split(known[path.stem]))
        found = json.loads(path.read_text())
        for key in ("deals", "seed", "players"):
            if getattr(asked, key, None) is not None:
                assert found[key] == getattr(asked, key), f"{path.name}: {key}"
        assert not found.get("stopped"), path.name
        assert not found.get("faults"), path.name


def test_ablations_are_runs_of_their_plan() -> None:
    plan = yaml.safe_load((results.RESULTS / "ablations.yaml").read_text())
    runs = json.loads((results.RESULTS / "ablations.json").read_text())["runs"]
    found = [(run["change"], run["seed"]) for run in runs]
    assert found
    assert len(set(found)) == len(found)
    assert set(found) <= {(change, seed) for change in plan["changes"] for seed in plan["seeds"]}
    for run in runs:
        assert set(run["win_share"]) == {"random", "heuristic"}
        assert all(low <= mean <= high for mean, low, high in run["win_share"].values())


@pytest.mark.parametrize("page", results.PAGES, ids=lambda page: page.name)
def test_tables_are_current(page: Path) -> None:
    text = page.read_text()
    assert results.filled(text) == text, "run: python tools/results.py write"
    for kind, names in re.findall(r"<!-- results: (\S+) ([^>]*?) ?-->", text):
        assert kind in results.KINDS
        for pattern in names.split():
            known = [*results.commands(), *results.SCRIPTED]
            assert any(results.fnmatch(name, pattern) for name in known), pattern


def test_tables_from_measured_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    measures = {
        "duel": "evaluate greedy random --deals 3",
        "ladder": "tournament greedy random --deals 2 --mixed 0",
        "speed": "bench --parts engine aec agents --agents random --batch 64 --runs 1 "
        "--seconds 0.01",
    }
    (tmp_path / "commands.yaml").write_text(json.dumps(measures))
    for name, command in measures.items():
        assert main([*shlex.split(command), "--json", str(tmp_path / f"{name}.json")]) == 0
    kinds = {
        "duel": ["head-to-head", "short", "statistics", "commands", "cross"],
        "ladder": ["matrix", "cross", "ratings", "commands"],
        "speed": ["engine", "engine-time", "rates", "time-shares", "machine", "commands"],
    }
    page = "".join(
        f"<!-- results: {kind} {name} -->\nold\n<!-- /results -->\n"
        for name, made in kinds.items()
        for kind in made
    )
    page += "<!-- results: ceiling duel duel -->\nold\n<!-- /results -->\n"
    text = results.filled(page)
    assert "| 100% |" in text
    assert "old" not in text
    assert results.filled(text) == text
    assert "| `greedy` | 3 × `random` |" in text
    assert "kolkhoz evaluate greedy random --deals 3 --json docs/results/duel.json" in text
    assert "| 64 |" in text
    assert "PettingZoo `raw_env`" in text
    for rows in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in rows.splitlines()}) == 1


def test_names_of_modules_are_right() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    folders = [ROOT / "kolkhoz_env", ROOT / "agents/kolkhoz_agents", ROOT / "train/kolkhoz_train"]
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", text):
        assert any((folder / name).exists() or (folder.parent / name).exists()
                   for folder in folders), name  # fmt: skip
