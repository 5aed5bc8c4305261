"""The other seats of an environment in which one seat learns.

An opponent is whatever plays by the agents' protocol: an object with `act(decisions)` and,
optionally, `needs`, the set of what it has to be given (`"observation"`, `"knowledge"`,
`"table"`). `act` gets a :class:`Decisions` and returns one legal action for each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import NUM_ACTIONS
from kolkhoz_env.deal import GOLDEN, mix
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.state import Bool, Int8, Int64, UInt8, UInt64
from kolkhoz_env.vector import VectorKolkhoz

NEEDS = frozenset({"observation", "knowledge", "table"})


@dataclass(frozen=True, eq=False)
class Decisions:
    """B decisions: what the seats to act may know, and nothing else.

    Attributes:
        game: the rules and tables of the game.
        mask: ``bool[B, 58]``, legal actions.
        seat: ``int8[B]``.
        phase: ``int8[B]``.
        keys: ``uint64[B]``, the randomness of each decision, the same in any batch.
        observation: ``uint8[B, observation_size]`` for agents that need it.
        knowledge: B rows for agents that need it.
        table: B games in full, only for an agent that asks for it.
    """

    game: KolkhozGame
    mask: Bool
    seat: Int8
    phase: Int8
    keys: UInt64
    observation: UInt8 | None = None
    knowledge: Knowledge | None = None
    table: VectorKolkhoz | None = None

    @property
    def size(self) -> int:
        """Number of decisions."""
        return len(self.seat)

    def __len__(self) -> int:
        return len(self.seat)

    def take(self, rows: NDArray[np.integer]) -> Decisions:
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


class Opponent(Protocol):
    """Whoever decides for a seat that does not learn."""

    def act(self, decisions: Any) -> NDArray[np.integer]:
        """``int[B]``: one legal action a decision."""
        ...


#: An opponent, or what makes one of the game: `RandomAgent`, or `lambda game: ...`.
OpponentLike = Opponent | Callable[[KolkhozGame], Opponent]


class RandomOpponent:
    """A uniformly random legal action."""

    name = "random"
    needs: frozenset[str] = frozenset()

    def __init__(self, game: KolkhozGame | None = None) -> None:
        """It plays without knowing the rules; ``game`` lets it be a factory."""

    def act(self, decisions: Decisions) -> Int64:
        """``int64[B]``: legal actions drawn from the keys."""
        number = mix(decisions.keys[:, None] + np.arange(NUM_ACTIONS, dtype=np.uint64) * GOLDEN)
        drawn = (number >> np.uint64(1)).astype(np.int64)
        return np.where(decisions.mask, drawn, -1).argmax(axis=1)


class Opponents:
    """The agents of the seats to the left of the learner's, and the decisions they make.

    Args:
        game: what is played.
        opponents: ``None`` for random ones, one for all seats, or one for each seat to the left
            of the learner's, in order.
        seed: of what they draw.

    Raises:
        KolkhozError: too many or too few, or one of them can't act.
    """

    def __init__(
        self,
        game: KolkhozGame,
        opponents: OpponentLike | Sequence[OpponentLike] | None,
        seed: int = 0,
    ) -> None:
        others = game.num_seats - 1
        given = RandomOpponent() if opponents is None else opponents
        several = list(given) if isinstance(given, (list, tuple)) else [given] * others
        if len(several) != others:
            raise KolkhozError(f"opponents: {len(several)} given; {others} are needed, or one")
        made: dict[int, Opponent] = {}
        for one in several:
            if id(one) not in made:
                made[id(one)] = _made(one, game)
        self.game = game
        self.agents = list(made.values())
        #: ``int8[players]`` by relative seat: which agent, -1 for the learner.
        order = list(made)
        self.by_seat = np.array([-1, *(order.index(id(one)) for one in several)], dtype=np.int8)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Name what the opponents draw from now on.

        A one-way hash lies between: the decks come from the same seed, and the keys of decisions,
        which the opponents see, must tell nothing of them.
        """
        digest = hashlib.blake2b(f"kolkhoz opponents\n{seed}".encode(), digest_size=8).digest()
        self._seed = np.frombuffer(digest, dtype="<u8").astype(np.uint64)

    def act(self, table: VectorKolkhoz, rows: Int64, learner: Int8, into: Int64) -> None:
        """Write into ``into`` (``int64[N]``) an action for each of ``rows``, none the learner's.

        ``learner`` is ``int8[N]``, the learner's seat in each game.
        """
        players = self.game.num_seats
        who = self.by_seat[(table.seat[rows] - learner[rows]) % players]
        mask = table.legal_mask()
        for index, agent in enumerate(self.agents):
            mine = rows[who == index]
            if mine.size:
                into[mine] = agent.act(self._decisions(table, mine, mask, _needs(agent)))

    def _decisions(
        self, table: VectorKolkhoz, rows: Int64, mask: Bool, needs: frozenset[str]
    ) -> Decisions:
        seat = table.seat[rows]
        keys = mix(self._seed ^ table.game_ids[rows].astype(np.uint64))
        number = table.decision[rows].astype(np.int64) * 8 + seat
        keys = mix(keys + number.astype(np.uint64) * GOLDEN)
        return Decisions(
            game=self.game,
            mask=mask[rows],
            seat=seat.copy(),
            phase=table.phase[rows].copy(),
            keys=keys,
            observation=table.observe(rows) if "observation" in needs else None,
            knowledge=table.knowledge(rows) if "knowledge" in needs else None,
            table=table.take(rows) if "table" in needs else None,
        )


def _needs(agent: Opponent) -> frozenset[str]:
    return frozenset(getattr(agent, "needs", ("observation",)))


def _made(one: Any, game: KolkhozGame) -> Opponent:
    if isinstance(one, str):
        raise KolkhozError(
            f"opponents: {one!r} is a name; agents are made of names by "
            "kolkhoz_agents.registry.make_agent(name, game)"
        )
    is_factory = callable(one) and (isinstance(one, type) or not hasattr(one, "act"))
    agent = one(game) if is_factory else one
    if not callable(getattr(agent, "act", None)):
        raise KolkhozError(f"opponents: {agent!r} has no method act(decisions)")
    unknown = _needs(agent) - NEEDS
    if unknown:
        raise KolkhozError(f"opponents: {agent!r} needs {', '.join(sorted(unknown))}, unknown here")
    return agent
