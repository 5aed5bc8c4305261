"""The observation: one table of named blocks, from which encoder, docs and exports are made.

An observation is a row of ``uint8``; times :attr:`ObservationTable.scale` it is a row of floats in
about [0, 1]. Seats are relative: 0 is the observing seat, 1 the seat to its left. Crops stand in
the printed order; :class:`Symmetry` says how to bring the trump crop to the front.

A card in a *code* of eight numbers is: four crop flags, Saboteur flag, rank / 13, "a card is
here", "its face is unknown".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, CROP, NUM_ACTIONS, NUM_CROPS, RANK, U64
from kolkhoz_env.knowledge import hand_sizes, hides_taken, last_seen_planes
from kolkhoz_env.requisition import ranks_of
from kolkhoz_env.rules import OVER, SWAP_GIVE, TRUMP, Rules
from kolkhoz_env.state import (
    EMPTY,
    HIDDEN,
    PLACE_PUBLIC,
    Int8,
    Int64,
    State,
    UInt8,
    UInt64,
)

#: Rises whenever the layout or the meaning of a block changes.
OBSERVATION_VERSION = 1

#: Lengths of the axes that do not depend on the number of seats.
_AXES = {"card": 53, "crop": 4, "code": 8, "place": 5, "fact": 8, "year": 5, "phase": 6}
_AXES |= {"trump": 5, "trick": 4, "swap": 7, "one": 1}


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
    """Crops are alike but for trump: tables that exchange the trump crop with the first one.

    ``canonical[j] = plain[index[case, j]]``. Case ``1 + i`` holds where observation column
    ``case_columns[i]`` is set, case 0 where none is. Each exchange is its own inverse.
    """

    case_columns: NDArray[np.int64]
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
        ("swaps", ("seat", "swap"), "this year's swap: declined, Cellar place 1 .. 5, Plot", 1),
        ("hand_sizes", ("seat",), "cards in hand", 1 / 5),
        ("medals", ("seat",), "Medals won this year", 1 / 4),
        ("plot_ranks", ("seat",), "summed ranks of the Plot", 1 / 50),
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
        ("to_send", ("one",), "cards the owner has still to choose for the North", 1 / 4),
    ]  # fmt: skip


#: Scales of the columns of a code and of a place's facts.
_CODE_SCALE = np.array([1, 1, 1, 1, 1, 1 / 13, 1, 1], dtype=np.float32)
_FACT_SCALE = np.array([1 / 5, 1, 1, 1 / 13, 1 / 13, 1 / 13, 1 / 13, 1], dtype=np.float32)


def _card_codes() -> UInt64:
    """Codes of all cards, ``uint64[55]`` of eight octets each; -1 no card, -2 a hidden one."""
    codes = np.zeros((55, 8), dtype=np.uint8)
    codes[np.arange(52), CROP[:52]] = 1
    codes[52, 4] = 1
    codes[:, 5] = RANK
    codes[:53, 6] = 1
    codes[HIDDEN, 6:] = 1
    return codes.view(np.uint64)[:, 0]


_CODE = _card_codes()
_CROP_FLAGS = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(np.uint8)
_LED_FLAGS = np.eye(5, 4, dtype=np.uint8)
_SWAP_FLAGS = np.eye(8, 8, dtype=np.uint8)[:, 1:]
_YEAR_FLAGS = np.eye(6, 6, dtype=np.uint8)[:, 1:]
_PHASE_FLAGS = np.eye(7, 6, dtype=np.uint8)
_TRICK_FLAGS = np.eye(5, 4, dtype=np.uint8)
_TRICK_FLAGS[4, 3] = 1
_TRUMP_FLAGS = np.eye(5, 5, dtype=np.uint8)


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
        self._columns = {block.name: block.columns for block in blocks}

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
            state = state.take(np.asarray(rows))
        seats = np.maximum(state.seat, 0) if seats is None else np.asarray(seats, dtype=np.int8)
        n, players = state.size, state.players
        if out is None:
            out = np.empty((n, self.size), dtype=np.uint8)
        relative = _ROTATION[players][seats]
        at_seat = relative + np.arange(0, n * players, players)[:, None]
        faces = self._faces(state, at_seat)
        planes, trick = _planes(state, seats, at_seat, faces, U64(self.rules.deck))
        bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")
        bits = bits.reshape(n, -1, 64)
        last = bits.shape[1] - 3
        end = last * 53
        out[:, :end].reshape(n, last, 53)[:] = bits[:, :last, :53]
        seen = bits[:, last, :53] | (bits[:, last + 1, :53] << 1)
        out[:, end : end + 53] = seen | (bits[:, last + 2, :53] << 2)

        codes = _codes(state, seats, at_seat, faces, trick)
        start = end + 53
        out[:, start : start + codes.shape[1] * 8] = codes.view(np.uint8)
        small = self._small(state, relative, at_seat)
        out[:, start + codes.shape[1] * 8 :] = small
        return out

    def _faces(self, state: State, at_seat: Int64) -> Int8:
        """Cellar cards by relative seat as far as the seat knows them, ``int8[n, P, 5]``."""
        cellars = state.cellars.reshape(-1, 5).take(at_seat, axis=0)
        public = state.places[..., PLACE_PUBLIC].reshape(-1, 5).take(at_seat, axis=0)
        others = cellars[:, 1:]
        cellars[:, 1:] = np.where((public[:, 1:] == 0) & (others != EMPTY), HIDDEN, others)
        return cellars

    def _small(self, state: State, relative: Int64, at_seat: Int64) -> UInt8:
        """All blocks from ``hours`` on, ``uint8[n, ...]``."""
        n, players = state.size, state.players
        start = self["hours"].offset
        small = np.zeros((n, self.size - start), dtype=np.uint8)

        def put(name: str, values: NDArray[np.generic]) -> None:
            columns = self._columns[name]
            small[:, columns.start - start : columns.stop - start] = values

        quota = self.rules.field_quota
        hours = state.hours
        put("hours", np.minimum(hours, 255))
        put("short", np.clip(quota - hours, 0, 255))
        put("claimed", _CROP_FLAGS[state.claimed])
        put("sabotaged", state.fields >> U64(52))
        put("failed", _CROP_FLAGS[state.failed])
        put("led", _LED_FLAGS[state.led])
        put("trick_crops", _CROP_FLAGS[state.crops])
        shown = np.arange(5) < state.year[:, None]
        ranks = RANK[state.piles] * shown[:, None, :]
        put("revealed", ranks.reshape(n, -1))
        put("voids", _CROP_FLAGS[state.voids.ravel()[at_seat]].reshape(n, -1))
        put("swaps", _SWAP_FLAGS[state.swaps.ravel()[at_seat]].reshape(n, -1))
        put("hand_sizes", hand_sizes(state, self.rules).ravel()[at_seat])
        put("medals", state.medals.ravel()[at_seat])
        put("plot_ranks", np.minimum(ranks_of(state.plots), 255).ravel()[at_seat])
        order = (relative - state.leader[:, None]) % players
        put("assigned", order < state.assigned[:, None])
        put("inspected", (state.inspected[:, None] >> relative) & 1)
        put("winning", (relative == state.winner[:, None]) & (state.trick_size > 0)[:, None])
        put("planner", relative == state.planner[:, None])
        put("leader", relative == state.leader[:, None])
        put("to_act", relative == state.seat[:, None])
        chosen = (state.phase != TRUMP) & (state.phase != OVER)
        put("trump", _TRUMP_FLAGS[state.trump] * chosen[:, None])
        put("year", _YEAR_FLAGS[state.year])
        put("phase", _PHASE_FLAGS[state.phase])
        put("trick_number", _TRICK_FLAGS[state.trick_number])
        put("to_send", state.to_send[:, None])
        return small


#: ``int64[P, P]`` by observing seat: absolute seats from it clockwise.
_ROTATION = {
    players: (np.arange(players)[:, None] + np.arange(players)) % players for players in (2, 3, 4)
}


def _planes(
    state: State, seats: Int8, at_seat: Int64, faces: Int8, deck: U64
) -> tuple[UInt64, Int8]:
    """The bit planes in the order of the table, then three of ``last_seen``; trick by seat."""
    n, players = state.size, state.players
    planes = np.empty((n, players + 8 + 3), dtype=U64)
    face_bits = BIT[faces.reshape(n, -1)]
    own_hand = state.hands.ravel()[at_seat[:, 0]]
    own_cellar = np.bitwise_or.reduce(face_bits[:, :5], axis=1)
    plots = state.plots.ravel()[at_seat]
    order = (at_seat - np.arange(0, n * players, players)[:, None] - state.leader[:, None]) % players
    trick = np.take_along_axis(state.trick, order, axis=1)
    planes[:, 0] = own_hand
    planes[:, 1] = own_cellar
    planes[:, 2 : 2 + players] = plots
    planes[:, 2 + players] = state.north
    located = own_hand | own_cellar | state.north | state.rewards
    located |= np.bitwise_or.reduce(plots, axis=1) | np.bitwise_or.reduce(state.fields, axis=1)
    located |= np.bitwise_or.reduce(face_bits[:, 5:], axis=1)
    located |= np.bitwise_or.reduce(BIT[trick], axis=1) | np.bitwise_or.reduce(
        BIT[state.known], axis=1
    )
    planes[:, 3 + players] = deck & ~located
    planes[:, 4 + players : 8 + players] = state.fields
    # last_seen counts the planes "seen in year y or later" that hold the card, 0 to 5, here as
    # binary digits.
    seen = last_seen_planes(state, seats)
    one, two, three, four, five = (seen[:, year] for year in range(5))
    planes[:, 8 + players] = (one & ~two) | (three & ~four) | five
    planes[:, 9 + players] = two & ~four
    planes[:, 10 + players] = four
    return planes, trick


def _codes(state: State, seats: Int8, at_seat: Int64, faces: Int8, trick: Int8) -> UInt64:
    """All code and fact blocks in the order of the table, eight octets a number."""
    n, players = state.size, state.players
    places = 5 * players
    codes = np.empty((n, 2 * places + 2 * players + 2), dtype=U64)
    codes[:, :places] = _CODE[faces.reshape(n, -1)]
    facts = state.places.view(np.uint64).reshape(-1, 5).take(at_seat, axis=0)
    codes[:, places : 2 * places] = facts.reshape(n, -1)
    start = 2 * places
    codes[:, start : start + players] = _CODE[trick]
    codes[:, start + players : start + 2 * players] = _CODE[state.known.ravel()[at_seat]]
    assigning = (state.trick_size == players)
    games = np.arange(n)
    card = state.trick[games, np.minimum(state.assigned, players - 1)]
    codes[:, -2] = _CODE[np.where(assigning, card, EMPTY)]
    codes[:, -1] = _CODE[EMPTY]
    picking = np.flatnonzero(state.phase == SWAP_GIVE)
    if picking.size:
        part = state.take(picking)
        taken = np.where(hides_taken(part, seats[picking]), EMPTY, part.taken)
        codes[picking, -1] = _CODE[taken]
    return codes


def _block_scale(block: Block) -> NDArray[np.float32]:
    if block.axes[-1] == "code":
        return np.tile(_CODE_SCALE, block.length // 8)
    if block.axes[-1] == "fact":
        return np.tile(_FACT_SCALE, block.length // 8)
    return np.full(block.length, block.scale, dtype=np.float32)


def _symmetry(table: ObservationTable) -> Symmetry:
    trump = table["trump"].offset
    observation = np.tile(np.arange(table.size), (5, 1))
    actions = np.tile(np.arange(NUM_ACTIONS), (5, 1))
    for crop in range(NUM_CROPS):
        exchange = _axis_exchanges(crop)
        for block in table.blocks:
            index = np.arange(block.length).reshape(block.shape)
            for axis, name in enumerate(block.axes):
                if name in exchange:
                    index = index.take(exchange[name], axis=axis)
            observation[crop + 1, block.columns] = block.offset + index.ravel()
        actions[crop + 1, :53] = exchange["card"]
        actions[crop + 1, 53:57] = 53 + exchange["crop"]
    return Symmetry(np.arange(trump, trump + 4), observation, actions)


def _axis_exchanges(crop: int) -> dict[str, Int64]:
    """How exchanging ``crop`` with the first crop reorders each kind of axis."""
    crops = np.arange(4)
    crops[0], crops[crop] = crop, 0
    cards = np.append((crops[:, None] * 13 + np.arange(13)).ravel(), 52)
    return {
        "card": cards,
        "crop": crops,
        "code": np.append(crops, [4, 5, 6, 7]),
        "fact": np.concatenate([[0, 1, 2], 3 + crops, [7]]),
        "trump": np.append(crops, 4),
    }


@lru_cache(maxsize=32)
def observation_table(rules: Rules) -> ObservationTable:
    """The observation table of given rules (one object for equal rules)."""
    return ObservationTable(rules)
