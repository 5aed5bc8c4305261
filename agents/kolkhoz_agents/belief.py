"""Beliefs: which of the worlds that agree with what a seat knows are likely.

`Knowledge.worlds` draws evenly from all of them. But players show by their moves what they hold:
who throws a King on a lost trick has no low card of that crop. A belief is a network that was
trained on many games to tell the true world from even draws. From what the seat sees it gives a
weight to each hidden card in each place where it may lie; the log-weight of a world is the sum over
its cards. Trained to pick the true world out of it and even draws (InfoNCE: van den Oord, Li and
Vinyals, *Representation learning with contrastive predictive coding*, 2018) the weights tend to
the true likelihoods over the even ones, which is what importance sampling asks for.

A belief folder holds ``belief.json`` and ``weights.safetensors``: ``trunk.I.*`` as in a bot, and
``belief.weight [H, width]``, ``belief.bias [H]``, over the H columns of a table's `hidden`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .decisions import uniform
from .errors import AgentError
from .folders import (
    WEIGHTS,
    FolderError,
    check_game,
    check_keys,
    read_description,
    read_weights,
    write_folder,
)
from .network import (
    Canon,
    NetworkError,
    NetworkShape,
    Weights,
    as_layers,
    check_arrays,
    run_trunk,
    trunk_weights,
)
from .protocol import Decisions, Game, Table
from .sampling import Sample, distinct, resampled

FORMAT = "kolkhoz-belief/1"
DESCRIPTION = "belief.json"
KEYS = ("format", "game", "rules", "observation", "network", "training")
BELIEFS = Path(__file__).parent / "beliefs"
OVERSAMPLE = 8
"""Even worlds that are weighed for each one that is wanted."""
_AT_ONCE = 4096
"""Worlds whose hidden cards are spread out at a time."""


class BeliefError(FolderError):
    """A belief folder is missing, damaged, or made for another game."""


@dataclass(frozen=True)
class BeliefFile:
    """A belief folder in memory; as in a `BotFile`, but for what the network gives."""

    game: str
    rules: Mapping[str, Any]
    observation: Mapping[str, int]
    shape: NetworkShape
    weights: Weights
    training: Mapping[str, Any] = field(default_factory=dict)
    half: bool = False

    def description(self) -> dict[str, Any]:
        """The content of ``belief.json``."""
        return {
            "format": FORMAT,
            "game": self.game,
            "rules": dict(self.rules),
            "observation": dict(self.observation),
            "network": self.shape.to_dict(),
            "training": dict(self.training),
        }


def save_belief(path: str | os.PathLike[str], belief: BeliefFile) -> None:
    """Write a belief folder; each file is written aside and renamed into place."""
    write_folder(Path(path), DESCRIPTION, belief.description(), belief.weights, half=belief.half)


def load_belief(path: str | os.PathLike[str]) -> BeliefFile:
    """Read a belief folder. Raises `BeliefError` with one line that names the file and key."""
    where = Path(path) / DESCRIPTION
    data = read_description(where, "a belief", BeliefError)
    if data.get("format") != FORMAT:
        raise BeliefError(f"{where}: format: {data.get('format')!r} should be {FORMAT!r}")
    for key in data:
        if key not in KEYS:
            raise BeliefError(f"{where}: {key}: unknown key; known: {', '.join(KEYS)}")
    wanted: list[tuple[str, Any, type, str]] = [("game", data.get("game"), str, "a text")]
    for key in ("rules", "observation", "network", "training"):
        wanted.append((key, data.get(key), dict, "an object"))
    check_keys(data, where, wanted, BeliefError)
    try:
        shape = NetworkShape.from_dict(data["network"])
    except (NetworkError, TypeError) as error:
        raise BeliefError(f"{where}: {error}") from error
    for key in ("trunk", "heads"):
        if getattr(shape, key) != "shared":
            raise BeliefError(f"{where}: network.{key}: should be 'shared' in a belief")
    weights, half = read_weights(Path(path) / WEIGHTS, "a belief", BeliefError)
    return BeliefFile(
        game=data["game"],
        rules=data["rules"],
        observation=data["observation"],
        shape=shape,
        weights=weights,
        training=data["training"],
        half=half,
    )


def shipped_beliefs() -> list[str]:
    """Names of the beliefs that come with the lab; each is about the bot of that name."""
    return sorted(path.parent.name for path in BELIEFS.glob(f"*/{DESCRIPTION}"))


def belief_path(text: str) -> Path:
    """The folder that a shipped belief's name, or the path of a belief or run folder, means.

    Raises AgentError, which names the shipped ones.
    """
    if text in shipped_beliefs():
        return BELIEFS / text
    path = Path(os.path.expanduser(text))
    for folder in (path, path / "belief"):
        if (folder / DESCRIPTION).is_file():
            return folder
    raise AgentError(
        f"belief={text}: there is no such belief; allowed: auto, none, a belief or run folder, or "
        f"a shipped belief's name ({', '.join(shipped_beliefs())})"
    )


def tells_hidden(game: Game) -> bool:
    """Whether a game has what beliefs need: `hidden` of its tables, and its symmetry."""
    return hasattr(game, "hidden_index") and hasattr(game.table(0, np.arange(1)), "hidden")


def belief_weights(shape: NetworkShape, game: Any) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a belief's weights for `game`, which has a `hidden_index`."""
    columns = np.asarray(game.hidden_index).shape[1]
    layers = trunk_weights("trunk", shape, game)
    return layers | {"belief.weight": (columns, shape.hidden[-1]), "belief.bias": (columns,)}


class Belief:
    """Weighs worlds of one game by a belief's network."""

    def __init__(self, file: BeliefFile, game: Game, name: str) -> None:
        """Raises `BeliefError` if the belief is not for the game."""
        check_game(
            file, game, name, kind="a belief", description=DESCRIPTION, error=BeliefError
        )  # fmt: skip
        if not tells_hidden(game):
            raise BeliefError(f"{name}: the game {game.name!r} does not tell what is hidden")
        try:
            check_arrays(file.weights, belief_weights(file.shape, game))
        except NetworkError as error:
            raise BeliefError(f"{name}: {error}") from error
        self.shape = file.shape
        self.canon = Canon(game, file.shape)
        # In float64, so that what a decision is drawn does not hang on the batch it is in: sums of
        # a matrix product differ in their last digits with its size.
        self._layers = {k: w.astype(np.float64) for k, w in as_layers(file.weights).items()}
        #: Column of the network of each plain one, int64[K, H].
        self._plain = np.argsort(np.asarray(game.hidden_index), axis=1)  # type: ignore[attr-defined]

    def card_weights(self, observation: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Log-weights float64[n, H] of the columns of `hidden`, for observations uint8[n, O]."""
        case = self.canon.case(observation)
        inputs = self.canon.to_canonical(observation, case) * np.float64(self.canon.scale)
        hidden = run_trunk(self._layers, "trunk", self.shape, inputs)
        weights = hidden @ self._layers["belief.weight"] + self._layers["belief.bias"]
        return np.take_along_axis(weights, self._plain[case], axis=1)

    def log_weights(
        self, observation: NDArray[np.uint8], worlds: Table, count: int
    ) -> NDArray[np.float64]:
        """Log-weights float64[n, count] of `count` worlds for each of n observations, row by row.

        They are relative to the other worlds of the same observation.
        """
        weights = self.card_weights(observation)
        logs = np.empty(worlds.size)
        for first in range(0, worlds.size, _AT_ONCE):
            rows = np.arange(first, min(first + _AT_ONCE, worlds.size))
            hidden: NDArray[np.uint8] = worlds.hidden(rows)  # type: ignore[attr-defined]
            owner = rows // count
            for row in range(int(owner[0]), int(owner[-1]) + 1):
                own = slice(*np.searchsorted(owner, (row, row + 1)))
                logs[rows[own]] = hidden[own] @ weights[row]
        return logs.reshape(len(weights), count)

    def sample(
        self, decisions: Decisions, counts: NDArray[np.int64], seeds: NDArray[np.uint64]
    ) -> Sample:
        """Worlds by how likely they are, int64[n] `counts` for each decision.

        They are drawn from `OVERSAMPLE` times as many even ones, and the same in any batch. One
        far likelier than others comes more than once.
        """
        assert decisions.knowledge is not None, "a belief needs the knowledge"
        assert decisions.observation is not None, "a belief needs the observation"
        drawn = int(counts.max()) * OVERSAMPLE
        table = decisions.knowledge.worlds(drawn, seeds)
        logs = self.log_weights(decisions.observation, table, drawn)
        logs[np.arange(drawn) >= OVERSAMPLE * counts[:, None]] = -np.inf
        return distinct(table, resampled(logs, counts, uniform(seeds, 1)[:, 0]), counts)


def load_named(text: str, game: Game) -> Belief:
    """The belief that `text` names or is the path of, for `game`."""
    return Belief(load_belief(belief_path(text)), game, f"belief {text}")
