"""What the lab asks of a game and of an agent, as structural types.

The lab (agents, referee, training) knows a game through these protocols alone, so that a new game
becomes a tenant by offering objects of these shapes; it need not import anything from here. Nor
need an agent: whatever has `name`, `needs` and `act` plays.

Shapes: B games side by side (a batch), P seats, A actions, O observation columns, K symmetry cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.floating[Any]]

OBSERVATION = "observation"
KNOWLEDGE = "knowledge"
TABLE = "table"
NEEDS = frozenset({OBSERVATION, KNOWLEDGE, TABLE})
"""What an agent may ask for in `needs`. `table` is the full state, hidden cards and all."""


class Block(Protocol):
    """One named run of observation columns."""

    @property
    def name(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def meaning(self) -> str: ...
    @property
    def scale(self) -> float: ...


class ObservationTable(Protocol):
    """The layout of an observation: uint8 columns; a column's float is its byte times its scale."""

    @property
    def size(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def scale(self) -> NDArray[np.float32]: ...
    @property
    def blocks(self) -> Sequence[Block]: ...


class Symmetry(Protocol):
    """Renamings under which the game is the same, so that a network need learn only one of K cases.

    C parts of the game (suits, say) are alike but for their names. Each has a key, a sum of
    observation bytes: `key_columns` int[C, m] says of which, `key_weights` int[m] how often each
    counts. Sums are whole numbers below 2**24, which float32 holds exactly. Canonical order has the
    parts by falling key, equal ones in plain order; a key must go with its part when parts are
    renamed. A game in which nothing can be renamed has C = 0.

    The K = C! cases are the orders of the parts, numbered as `itertools.permutations(range(C))`
    lists them: case 0 is plain order. `observation_index` int[K, O] and `action_index` int[K, A]:
    `canonical[j] = plain[index[case, j]]`.
    """

    @property
    def key_columns(self) -> IntArray: ...
    @property
    def key_weights(self) -> IntArray: ...
    @property
    def observation_index(self) -> IntArray: ...
    @property
    def action_index(self) -> IntArray: ...


class Outcome(Protocol):
    """How games ended, one row a game: arrays [n, P], valid where the game is over.

    `win_share` float: 1 split among those who share the victory, 0 for the others. `rank`: 1 is
    best; equal seats have equal ranks. `score`: the game's points. `margin`: score
    minus the best other seat's score.
    """

    @property
    def win_share(self) -> FloatArray: ...
    @property
    def rank(self) -> FloatArray: ...
    @property
    def score(self) -> FloatArray: ...
    @property
    def margin(self) -> FloatArray: ...


class StepResult(Protocol):
    """What one step brought: `rewards` float32[B, P] and `done` bool[B].

    A reward is the win share minus 1 / P in the step that ends the game, else 0. At a table that
    restarts finished games, `outcome` has one row for each game that ended in this step, in the
    order of `finished` int[n] (row numbers of the batch).
    """

    @property
    def rewards(self) -> NDArray[np.float32]: ...
    @property
    def done(self) -> BoolArray: ...
    @property
    def finished(self) -> IntArray: ...
    @property
    def outcome(self) -> Outcome: ...


class Knowledge(Protocol):
    """What the seats to act may know, n rows; what they may not know is not in the object."""

    @property
    def size(self) -> int: ...
    def take(self, rows: IntArray) -> Knowledge:
        """Some of the rows, in the order given (rows may repeat)."""
        ...

    def legal_mask(self) -> BoolArray:
        """bool[n, A]."""
        ...

    def observe(self) -> NDArray[np.uint8]:
        """uint8[n, O]."""
        ...

    def view(self, row: int) -> dict[str, Any]:
        """One row in words, JSON-able."""
        ...

    def worlds(self, count: int, seed: Any) -> Table:
        """`count` full states a row that agree with what is known: n * count games, row by row."""
        ...


class Table(Protocol):
    """B games at once. A game's course depends on its seed, its id and the actions alone.

    Optional, for search: `stage` int[B], which rises where a look ahead may end, and `estimate() ->
    float[B, P]`, the share of the victory that each seat can expect as the game stands. (Training
    on copies of a deal compares decisions of the same stage, where there are any.)

    Optional, for a critic in training and for beliefs: `hidden(rows) -> uint8[n, H]`, what the seat
    to act in each of `rows` may not know, in bytes of 0 and 1.
    """

    @property
    def size(self) -> int: ...
    @property
    def seat(self) -> IntArray:
        """int8[B]: the seat to act, -1 where the game is over."""
        ...

    @property
    def phase(self) -> IntArray:
        """int8[B]: index into `Game.phases` (anything where the game is over)."""
        ...

    @property
    def over(self) -> BoolArray: ...
    @property
    def decision(self) -> IntArray:
        """int32[B]: decisions made so far in the game, forced ones included."""
        ...

    @property
    def game_ids(self) -> NDArray[np.int64]: ...
    def legal_mask(self) -> BoolArray:
        """bool[B, A]; a running game has at least one legal action, an over one has none."""
        ...

    def observe(self, rows: IntArray | None = None) -> NDArray[np.uint8]:
        """uint8[n, O] for the seat to act in each of `rows` (all if None)."""
        ...

    def step(self, actions: IntArray) -> StepResult:
        """Plays actions int[B]; over games ignore theirs. Raises the game's error if illegal."""
        ...

    def knowledge(self, rows: IntArray) -> Knowledge:
        """The seat to act's knowledge in each of `rows`."""
        ...

    def outcome(self) -> Outcome:
        """Arrays [B, P]."""
        ...

    def statistics(self) -> NDArray[np.float32]:
        """float32[B, P, len(game.statistics)]."""
        ...

    def take(self, rows: IntArray) -> Table:
        """An independent copy of some games (rows may repeat)."""
        ...


class Recorder(Protocol):
    """A table that also keeps what was played, made by `Game.recorder`."""

    def record(self, row: int) -> dict[str, Any]:
        """The game of one row so far, JSON-able."""
        ...


class Game(Protocol):
    """The rules of a game as the lab sees them.

    Optional: `phase_groups`, a mapping of names to phases that are studied together;
    `recorder(table) -> Recorder`, a keeper of records around a fresh table; `hidden_index`
    int[K, H], the symmetry of what a table's `hidden` gives.
    """

    @property
    def name(self) -> str: ...
    @property
    def num_seats(self) -> int: ...
    @property
    def num_actions(self) -> int: ...
    @property
    def phases(self) -> tuple[str, ...]: ...
    @property
    def observation(self) -> ObservationTable: ...
    @property
    def symmetry(self) -> Symmetry: ...
    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the per-seat statistics that explain a result."""
        ...

    def rules_dict(self) -> dict[str, Any]:
        """JSON-able; the game's factory makes an equal game of it."""
        ...

    def action_name(self, action: int) -> str: ...
    def table(
        self, seed: int, games: IntArray, *, restart: bool = False, auto_forced: bool = False
    ) -> Table:
        """Games by id: game k of a seed is the same in any batch.

        With `restart` a finished game has restarted when `step` returns. With `auto_forced`
        decisions with one legal action are made without asking; results are the same.
        """
        ...


@dataclass(frozen=True, eq=False)
class Decisions:
    """B decisions: what the seats to act may know, and nothing else.

    `mask` bool[B, A]: the legal actions. `seat` int8[B], `phase` int8[B]. `keys` uint64[B]: the
    randomness of each decision, the same in any batch (see `decisions.uniform`). `observation`
    uint8[B, O], `knowledge` (B rows) and `table` (B games in full) are given only to an agent whose
    `needs` names them, else None.
    """

    game: Game
    mask: BoolArray
    seat: IntArray
    phase: IntArray
    keys: NDArray[np.uint64]
    observation: NDArray[np.uint8] | None = None
    knowledge: Knowledge | None = None
    table: Table | None = None

    @property
    def size(self) -> int:
        return len(self.seat)

    def __len__(self) -> int:
        return len(self.seat)

    def take(self, rows: IntArray) -> Decisions:
        """Some of the decisions, in the order given."""
        rows = np.asarray(rows)
        return replace(
            self,
            mask=self.mask[rows],
            seat=self.seat[rows],
            phase=self.phase[rows],
            keys=self.keys[rows],
            observation=None if self.observation is None else self.observation[rows],
            knowledge=None if self.knowledge is None else self.knowledge.take(rows),
            table=None if self.table is None else self.table.take(rows),
        )


@runtime_checkable
class Agent(Protocol):
    """Whoever decides. `act` must depend on each decision alone, never on its neighbours.

    Optional attributes: `batch` (int: how many decisions at once suit a slow agent, default
    thousands); `log_probs(decisions) -> float32[B, A]` (log of the probability of each action, -inf
    where illegal); `values(decisions) -> float32[B]` (the win share less par that the seat to act
    can expect; in a bot's is what else its training paid, such as a margin term); `draws_nothing`
    (True if it always answers the same).
    """

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> frozenset[str]: ...
    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B]: one legal action a decision."""
        ...


@dataclass(frozen=True)
class Option:
    """One option of an agent, as its text may set it: `kind` is int, float, bool or str."""

    name: str
    kind: type
    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    required: bool = False


AgentFactory = Callable[..., Agent]
"""Called as `factory(game, **options)`. It may carry `help: str`, `options: tuple[Option, ...]`
(or `options_for(game)`) and `games: tuple[str, ...]`, the names of the games it knows."""

GameFactory = Callable[[Mapping[str, Any]], Game]
