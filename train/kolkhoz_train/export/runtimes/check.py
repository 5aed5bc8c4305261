"""Replays vectors.jsonl in this Python: `python check.py [FOLDER]`, in a bundle's folder.

Prints one JSON line; the exit status is 0 if every observation and every move is the same, and
log-probabilities and values are within 0.001.
"""

# ruff: noqa: B905 (zip has no `strict` in the older Pythons that this runs on)
from __future__ import annotations

import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from kolkhoz_bot import Bot, load_folder

TOLERANCE = 1e-3
"""How far log-probabilities and values may lie apart."""


def check(bot: Bot, examples: list[dict[str, Any]]) -> dict[str, Any]:
    """How a bot's answers differ from the examples, and the median time of one."""
    wrong, difference = [], 0.0
    answers, times = [], []
    for example in examples:
        started = time.perf_counter()
        answers.append(bot.evaluate(example["view"]))
        times.append(time.perf_counter() - started)
    for number, (example, answer) in enumerate(zip(examples, answers), 1):
        if list(bot.observe(example["view"])) != example["observation"]:
            wrong.append(f"example {number}: the observation differs")
        if answer["move"] != example["move"]:
            wrong.append(f"example {number}: {answer['move']} instead of {example['move']}")
        options = dict(example["sampled"])
        if options.pop("move") != bot.move(example["view"], **options):
            wrong.append(f"example {number}: another sample")
        for move in answer["moves"]:
            apart = abs(move["log_probability"] - example["log_probs"][move["move"]])
            difference = _larger(difference, apart)
        difference = _larger(difference, abs(answer["value"] - example["value"]))
    milliseconds = 1000 * statistics.median(times) if times else 0.0
    return {"examples": len(examples), "wrong": wrong, "difference": difference,
            "milliseconds": milliseconds}  # fmt: skip


def _larger(difference: float, apart: float) -> float:
    """The larger of both; a NaN, which compares as no difference at all, counts as infinite."""
    return math.inf if math.isnan(apart) else max(difference, apart)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    lines = (folder / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
    result = check(load_folder(folder), [json.loads(line) for line in lines])
    if math.isinf(result["difference"]):
        result["difference"] = None
    print(json.dumps(result))
    same = result["difference"] is not None and result["difference"] <= TOLERANCE
    sys.exit(0 if lines and same and not result["wrong"] else 1)
