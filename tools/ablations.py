"""Short training runs that differ in one setting each, with several seeds.

    python tools/ablations.py        # trains what is missing of docs/results/ablations.yaml

Every run that is done is added to docs/results/ablations.json at once; one that is interrupted
begins anew. `python tools/results.py write` makes the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "docs/results/ablations.yaml"
RESULTS = ROOT / "docs/results/ablations.json"


def main() -> int:
    """Train what is missing; the first failure ends it."""
    plan = yaml.safe_load(PLAN.read_text(encoding="utf-8"))
    done = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {"runs": []}
    have = {(run["change"], run["seed"]) for run in done["runs"]}
    # Seed by seed, so that an unfinished table compares like with like.
    wanted = [(change, seed) for seed in plan["seeds"] for change in plan["changes"]]
    missing = [pair for pair in wanted if pair not in have]
    for number, (change, seed) in enumerate(missing, 1):
        print(f"{number} of {len(missing)}: {change}, seed {seed}", flush=True)
        settings = [*plan["common"], *plan["changes"][change], f"seed={seed}"]
        result = train(plan["base"], settings)
        if result is None:
            return 1
        done["runs"].append({"change": change, "seed": seed, **result})
        aside = RESULTS.with_suffix(f".{os.getpid()}.part")
        aside.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
        os.replace(aside, RESULTS)
    return 0


def train(base: str, settings: list[str]) -> dict[str, Any] | None:
    """One run: its final win shares by opponent and its time; None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "kolkhoz_train", "train", base, "--run-dir", str(run)]
        for setting in settings:
            command += ["--set", setting]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            return None
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    final = {entry["against"]: entry["win_share"] for entry in record["results"]}
    return {
        "learned": record["learned_decisions"],
        "seconds": record["seconds"],
        "win_share": final,
    }


if __name__ == "__main__":
    sys.exit(main())
