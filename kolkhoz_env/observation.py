"""The observation: one table of named blocks, from which encoder, docs and exports are made.

An observation is a row of ``uint8``; times :attr:`ObservationTable.scale` it is a row of floats in
about [0, 1]. Seats are relative: 0 is the observing seat, 1 the seat to its left. Crops stand in
the printed order; :class:`Symmetry` says how to sort them.

A card in a *code* of eight numbers is: four crop flags, Saboteur flag, rank / 13, "a card is
here", "its face is unknown".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import CROP_ACTION, NUM_ACTIONS, NUM_CROPS, NUM_RANKS
from kolkhoz_env.encoder import encode, scratch
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import Int8, Int64, State, UInt8

#: Rises whenever the layout or the meaning of a block changes.
OBSERVATION_VERSION = 1

#: Lengths of the axes that do not depend on the number of seats.
_AXES = {"card": 53, "crop": 4, "code": 8, "place": 5, "fact": 8, "year": 5, "phase": 6}
_AXES |= {"trump": 5, "trick": 4, "swap": 8, "send": 4}

_EACH_CROP = np.arange(NUM_CROPS)[:, None]
_CARDS = NUM_RANKS * _EACH_CROP + np.arange(NUM_RANKS)
#: Entries that belong to each crop along the axes that have any, ``int64[4, t]`` by axis.
AXIS_PARTS = {"card": _CARDS, "crop": _EACH_CROP, "code": _EACH_CROP, "fact": 3 + _EACH_CROP}
AXIS_PARTS |= {"trump": _EACH_CROP}
#: Actions that belong to each crop, ``int64[4, t]``.
ACTION_PARTS = np.concatenate([_CARDS, CROP_ACTION + _EACH_CROP], axis=1)


@dataclass(frozen=True)
class Block:
    """A named run of columns.

    Attributes:
        name: unique name.
        axes: names of its axes, outermost first (row-major).
        shape: their lengths.
        offset: first column.
        meaning: one sentence.
        scale: what a stored number is multiplied by to give the float.
    """

    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    offset: int
    meaning: str
    scale: float

    @property
    def length(self) -> int:
        """Number of columns."""
        return int(np.prod(self.shape))

    @property
    def columns(self) -> slice:
        """The columns as a slice."""
        return slice(self.offset, self.offset + self.length)


@dataclass(frozen=True)
class Symmetry:
    """Crops are alike but for their names: tables that put the C crops of the deck in order.

    The key of crop ``c`` is the sum of the observation's bytes in ``key_columns[c]`` times
    ``key_weights``, below 2**24. Canonical order has the crops by falling key, equal ones in the
    printed order. Case ``k`` is the k-th of ``itertools.permutations(range(C))``, whose entry
    ``i`` is the crop that comes to place ``i``; ``canonical[j] = plain[index[case, j]]``.

    Attributes:
        key_columns: ``int64[C, m]``.
        key_weights: ``int64[m]``.
        observation_index: ``int64[C!, size]``.
        action_index: ``int64[C!, 58]``.
    """

    key_columns: NDArray[np.int64]
    key_weights: NDArray[np.int64]
    observation_index: NDArray[np.int64]
    action_index: NDArray[np.int64]


def _blocks(rules: Rules) -> list[tuple[str, tuple[str, ...], str, float]]:
    quota = rules.field_quota
    return [
        ("hand", ("card",), "own hand", 1),
        ("cellar", ("card",), "own Cellar", 1),
        ("plots", ("seat", "card"), "Plots", 1),
        ("north", ("card",), "cards in the North", 1),
        ("unseen", ("card",), "cards whose place the seat does not know", 1),
        ("fields", ("crop", "card"), "cards assigned to each field this year", 1),
        ("last_seen", ("card",), "last year in which the seat saw the card face-up or in its own "
         "deal; 0 never", 1 / 5),
        ("cellar_cards", ("seat", "place", "code"), "card in each Cellar place by the year it was "
         "banked; the face where the seat knows it", 1),
        ("cellar_places", ("seat", "place", "fact"), "public facts of each Cellar place: year / 5 "
         "since which the card lies there, face public, came by a swap, highest rank / 13 of each "
         "crop not ruled out, Saboteur not ruled out", 1),
        ("trick", ("seat", "code"), "card that each seat has played to the trick", 1),
        ("known_in_hand", ("seat", "code"), "card publicly known to be in a hand", 1),
        ("swaps", ("seat", "swap"), "this year's swap: none yet, declined, Cellar place 1 .. 5, "
         "Plot", 1),
        ("assign_card", ("code",), "card to assign", 1),
        ("taken", ("code",), "card picked for the swap under way, if the seat may know it", 1),
        ("hours", ("crop",), "hours of each field over the quota", 1 / quota),
        ("short", ("crop",), "hours that each field still lacks, over the quota", 1 / quota),
        ("claimed", ("crop",), "the field has paid its reward this year", 1),
        ("sabotaged", ("crop",), "the Saboteur works the field", 1),
        ("failed", ("crop",), "the field has failed (at requisition)", 1),
        ("led", ("crop",), "led crop", 1),
        ("trick_crops", ("crop",), "crops that appeared in the trick", 1),
        ("revealed", ("crop", "year"), "rank / 13 of the reward revealed in each year", 1 / 13),
        ("voids", ("seat", "crop"), "crops that the seat has shown not to hold this year", 1),
        ("hand_sizes", ("seat",), "cards in hand", 1 / 5),
        ("medals", ("seat",), "Medals won this year", 1 / 4),
        ("assigned", ("seat",), "the seat's card of the trick has been assigned", 1),
        ("inspected", ("seat",), "the seat is inspected (at requisition)", 1),
        ("winning", ("seat",), "seat that wins the trick as it lies", 1),
        ("planner", ("seat",), "the Planner", 1),
        ("leader", ("seat",), "seat that leads or led the trick", 1),
        ("to_act", ("seat",), "seat to act", 1),
        ("trump", ("trump",), "trump Wheat, Sunflower, Potato, Beet, or none this year", 1),
        ("year", ("year",), "year", 1),
        ("phase", ("phase",), "phase of the decision", 1),
        ("trick_number", ("trick",), "tricks finished this year: 0 .. 3 or more", 1),
        ("to_send", ("send",), "cards the owner has still to choose for the North: 1 .. 4", 1),
    ]  # fmt: skip


#: Scales of the columns of a code and of a place's facts.
_CODE_SCALE = np.array([1, 1, 1, 1, 1, 1 / 13, 1, 1], dtype=np.float32)
_FACT_SCALE = np.array([1 / 5, 1, 1, 1 / 13, 1 / 13, 1 / 13, 1 / 13, 1], dtype=np.float32)


class ObservationTable:
    """The layout for given rules and the encoder made from it.

    Attributes:
        version: :data:`OBSERVATION_VERSION`.
        blocks: the :class:`Block` rows in the order of their columns.
        size: number of columns.
        scale: ``float32[size]``.
        symmetry: the :class:`Symmetry` of the crops.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.version = OBSERVATION_VERSION
        axes = _AXES | {"seat": rules.players}
        blocks, offset = [], 0
        for name, names, meaning, scale in _blocks(rules):
            shape = tuple(axes[axis] for axis in names)
            blocks.append(Block(name, names, shape, offset, meaning, scale))
            offset += blocks[-1].length
        self.blocks = tuple(blocks)
        self.size = offset
        self._by_name = {block.name: block for block in blocks}
        self.scale = np.concatenate([_block_scale(block) for block in blocks])
        self.symmetry = _symmetry(self)

    def __getitem__(self, name: str) -> Block:
        """The block of a name; ``KeyError`` for an unknown one."""
        return self._by_name[name]

    def named(self, observation: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
        """Views into observations ``[..., size]`` by block name, shaped ``[..., *block.shape]``."""
        lead = observation.shape[:-1]
        return {b.name: observation[..., b.columns].reshape(*lead, *b.shape) for b in self.blocks}

    def encode(
        self,
        state: State,
        rows: Int64 | None = None,
        seats: Int8 | None = None,
        out: UInt8 | None = None,
    ) -> UInt8:
        """Observations ``uint8[n, size]`` of ``rows`` (default all) for ``seats`` (default to act).

        It reads nothing that the seat may not know: a redacted state gives the same rows.
        """
        if rows is not None:
            rows = np.asarray(rows)
            if seats is None and 2 * rows.size > state.size:
                # All games are encoded sooner than the state of most of them is copied.
                everything = scratch(state.size, self.size)
                encode(state, np.maximum(state.seat, 0), self.rules, self.size, everything)
                return np.take(everything, rows, axis=0, out=out)
            state = state.take(rows)
        seats = np.maximum(state.seat, 0) if seats is None else np.asarray(seats, dtype=np.int8)
        return encode(state, seats, self.rules, self.size, out)


def _block_scale(block: Block) -> NDArray[np.float32]:
    if block.axes[-1] == "code":
        return np.tile(_CODE_SCALE, block.length // 8)
    if block.axes[-1] == "fact":
        return np.tile(_FACT_SCALE, block.length // 8)
    return np.full(block.length, block.scale, dtype=np.float32)


def _symmetry(table: ObservationTable) -> Symmetry:
    columns, weights = _keys(table)
    observation, actions = [], []
    for order in permutations(range(table.rules.crops)):
        axes = {name: _put(_AXES[name], parts, order) for name, parts in AXIS_PARTS.items()}
        index = np.arange(table.size)
        for block in table.blocks:
            entries = index[block.columns].reshape(block.shape)
            for axis, name in enumerate(block.axes):
                if name in axes:
                    entries = entries.take(axes[name], axis=axis)
            index[block.columns] = entries.ravel()
        observation.append(index)
        actions.append(_put(NUM_ACTIONS, ACTION_PARTS, order))
    return Symmetry(columns, weights, np.stack(observation), np.stack(actions))


def _keys(table: ObservationTable) -> tuple[Int64, Int64]:
    """By what the crops are sorted, the most important first: columns and weights of their keys.

    Trump and the led crop decide tricks. Then the hand: a crop of more cards, of higher ones among
    equally many, which ``32 + rank`` a card brings about in hands of up to five. Most ties are left
    between crops that the hand lacks; what their fields lack and the own Cellar's ranks settle them
    but for few. (A crop is in ``led`` only while its trick lies, so the leader's order does not
    depend on what was led before.)
    """
    flag, ranks = np.ones(1, dtype=np.int64), np.arange(1, NUM_RANKS + 1)
    # Weights within the level, and what their sum can come to at most.
    levels = [
        ("trump", flag, 1),
        ("led", flag, 1),
        ("hand", 32 + ranks, 5 * 32 + 13 + 12 + 11 + 10 + 9),
        ("short", flag, min(table.rules.field_quota, 255)),
        ("cellar", ranks, 13 + 12 + 11 + 10 + 9),
    ]
    columns: list[Int64] = []
    weights: list[Int64] = []
    unit = 1
    crops = _EACH_CROP[: table.rules.crops]
    for name, within, most in reversed(levels):
        count = len(within)
        columns.insert(0, table[name].offset + crops * count + np.arange(count))
        weights.insert(0, unit * within)
        unit *= most + 1
    return np.concatenate(columns, axis=1), np.concatenate(weights)


def _put(length: int, parts: Int64, order: tuple[int, ...]) -> Int64:
    """Plain entry of each canonical one, ``int64[length]``: crop ``order[i]`` at place ``i``.

    Entries of no crop, and of crops that are not in the deck, stay where they are.
    """
    index = np.arange(length)
    index[parts[: len(order)]] = parts[list(order)]
    return index


@lru_cache(maxsize=32)
def observation_table(rules: Rules) -> ObservationTable:
    """The observation table of given rules (one object for equal rules)."""
    return ObservationTable(rules)
