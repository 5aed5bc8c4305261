"""Checking a bundle: checksums, then every example through every runtime that is here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kolkhoz_agents.words import counted
from kolkhoz_env.errors import KolkhozError, MissingExtraError
from kolkhoz_env.view import read_views
from kolkhoz_train.export.bundle import RUNTIMES
from kolkhoz_train.export.errors import BundleError, refuse
from kolkhoz_train.export.manifest import VECTORS
from kolkhoz_train.export.reading import (
    Bundle,
    changed_files,
    open_model,
    read_bundle,
    read_examples,
    run_model,
    unlisted_files,
)
from kolkhoz_train.export.vectors import log_softmax, pick_sampled

#: Largest difference in a log-probability or value that is rounding and nothing else.
TOLERANCE = 1e-3
#: Examples that this lab replays as one batch.
CHUNK = 256


@dataclass
class Replay:
    """What one runtime made of the examples."""

    runtime: str
    examples: int = 0
    wrong: list[str] = field(default_factory=list)
    difference: float = 0.0
    milliseconds: float | None = None
    missing: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether every observation and move is the same and numbers differ by rounding alone."""
        return not self.wrong and self.difference <= TOLERANCE and self.examples > 0

    def line(self) -> str:
        """The result in one line."""
        if self.missing:
            return f"{self.runtime:<12} not checked: {self.missing}"
        if self.wrong:
            return f"{self.runtime:<12} DISAGREES: {self.wrong[0]} (and {len(self.wrong) - 1} more)"
        if not self.agrees:
            return f"{self.runtime:<12} DISAGREES: numbers differ by up to {self.difference:.2g}"
        time = "" if self.milliseconds is None else f", {self.milliseconds:.2f} ms a move"
        return (
            f"{self.runtime:<12} agrees on {counted(self.examples, 'example')}, "
            f"largest difference {self.difference:.1e}{time}"
        )


@dataclass
class Verdict:
    """The result of all checks."""

    folder: Path
    changed: list[str] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is changed and everything that could be run agrees."""
        return not self.changed and all(replay.agrees or replay.missing for replay in self.replays)


def verify_bundle(folder: Path) -> Verdict:
    """Check a bundle: every file, and if all are whole, every example in every runtime.

    What is wrong stands in the verdict; a folder that is not there raises `BundleError`.
    """
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "no such folder"
        refuse(str(folder), f"{found}; a bundle is a folder with manifest.json")
    verdict = Verdict(folder)
    with _noting(verdict):
        verdict.changed += changed_files(folder)
    with _noting(verdict):
        bundle = read_bundle(folder)
        verdict.changed += unlisted_files(bundle)
        examples = list(read_examples(folder))
        if not examples:
            refuse(str(folder / VECTORS), "holds no example")
    if not verdict.changed:
        for runtime, replay in RUNS.items():
            verdict.replays.append(_guarded(runtime, replay, bundle, examples))
    return verdict


@contextmanager
def _noting(verdict: Verdict) -> Iterator[None]:
    """Note what is wrong with the bundle, each thing once."""
    try:
        yield
    except BundleError as error:
        text = str(error).removeprefix(f"{verdict.folder}/").removeprefix(f"{verdict.folder}: ")
        verdict.changed.append(text)
    verdict.changed[:] = dict.fromkeys(verdict.changed)


def _guarded(
    runtime: str, replay: Callable[[Bundle, list[dict[str, Any]]], Replay], bundle: Bundle,
    examples: list[dict[str, Any]],
) -> Replay:  # fmt: skip
    try:
        return replay(bundle, examples)
    except MissingExtraError as error:
        return Replay(runtime, missing=str(error))
    except KolkhozError as error:
        return Replay(runtime, len(examples), [str(error)])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Replay(runtime, len(examples), [f"{VECTORS} is damaged ({error!r:.100})"])


# The runtimes --------------------------------------------------------------------------------


def _replay_lab(bundle: Bundle, examples: list[dict[str, Any]]) -> Replay:
    """This lab: its reader of views, its encoder and its network."""
    result = Replay("lab", len(examples))
    for start in range(0, len(examples), CHUNK):
        _replay_chunk(bundle, start, examples[start : start + CHUNK], result)
    return result


def _replay_chunk(
    bundle: Bundle, start: int, examples: list[dict[str, Any]], result: Replay
) -> None:
    """Examples from number `start` + 1 on, as one batch."""
    knowledge = read_views([example["view"] for example in examples])
    observation, mask = knowledge.observe(), knowledge.legal_mask()
    logits, value = bundle.network.plain(observation, knowledge.state.phase)
    log_probs = log_softmax(logits, mask)
    for row, example in enumerate(examples):
        number = start + row + 1
        if observation[row].tolist() != example["observation"]:
            result.wrong.append(f"example {number}: the observation differs")
        if mask[row].astype(int).tolist() != example["mask"]:
            result.wrong.append(f"example {number}: the mask differs")
        _compare(result, number, example, bundle, log_probs[row], float(value[row]))


def _replay_onnx(bundle: Bundle, examples: list[dict[str, Any]]) -> Replay:
    """The ONNX model in onnxruntime, all examples as one batch."""
    result = Replay("onnxruntime", len(examples))
    try:
        session = open_model(bundle.folder)
    except ModuleNotFoundError as error:
        raise MissingExtraError("the check of model.onnx", "export", str(error.name)) from None
    observation = np.array([example["observation"] for example in examples], np.float32)
    mask = np.array([example["mask"] for example in examples], bool)
    log_probs, value = run_model(session, observation, mask)
    for number, example in enumerate(examples, 1):
        row = number - 1
        _compare(result, number, example, bundle, log_probs[row], float(value[row]))
    return result


def _compare(
    result: Replay, number: int, example: dict[str, Any], bundle: Bundle, log_probs: Any,
    value: float,
) -> None:  # fmt: skip
    names = bundle.manifest["actions"]
    legal = np.flatnonzero(example["mask"])
    if {names[action] for action in legal} != set(example["log_probs"]):
        result.wrong.append(f"example {number}: other legal moves")
        return
    move = names[int(np.argmax(log_probs))]
    if move != example["move"]:
        result.wrong.append(f"example {number}: {move} instead of {example['move']}")
    sampled = example["sampled"]
    logs = log_probs[legal].astype(np.float64)
    again = names[legal[pick_sampled(logs, sampled["temperature"], sampled["seed"])]]
    if again != sampled["move"]:
        result.wrong.append(f"example {number}: another sample")
    apart = [abs(float(log_probs[a]) - example["log_probs"][names[a]]) for a in legal]
    # A NaN compares as no difference at all; count it as an infinite one.
    largest = np.max([*apart, abs(value - example["value"]), result.difference])
    result.difference = float(np.nan_to_num(largest, nan=np.inf))


def _replay_python(bundle: Bundle, examples: list[dict[str, Any]]) -> Replay:
    """The Python runtime: this lab's file, which the bundle's is a copy of."""
    return _replay_outside("Python", [sys.executable, str(RUNTIMES / "check.py")], bundle, examples)


def _replay_node(bundle: Bundle, examples: list[dict[str, Any]]) -> Replay:
    """The JavaScript runtime in Node: this lab's file, which the bundle's is a copy of."""
    node = shutil.which("node")
    if node is None:
        return Replay("Node", missing="node is not installed here")
    return _replay_outside("Node", [node, str(RUNTIMES / "check.mjs")], bundle, examples)


def _replay_outside(
    runtime: str, command: list[str], bundle: Bundle, examples: list[dict[str, Any]]
) -> Replay:
    """A process of its own, which prints its result as JSON."""
    whole = [*command, str(bundle.folder)]
    try:
        done = subprocess.run(whole, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return Replay(runtime, len(examples), ["no answer in 600 seconds"])
    try:
        answer = json.loads(done.stdout)
        if answer["difference"] is None:  # JSON has no NaN
            answer["difference"] = float("inf")
        return Replay(runtime, **answer)
    except (KeyError, TypeError, ValueError):
        lines = [line for line in done.stderr.splitlines() if "Error" in line] or ["no answer"]
        return Replay(runtime, len(examples), [lines[-1].strip()])


RUNS = {
    "lab": _replay_lab,
    "onnxruntime": _replay_onnx,
    "Python": _replay_python,
    "Node": _replay_node,
}
