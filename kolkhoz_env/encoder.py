"""States to observation rows, for whole batches: the work behind the observation table.

What changes little from one decision to the next lies in the state as it stands here and is copied.
The rest is built in the widest numbers that hold it and copied once: bit planes of 53 cards (packed
into one bit string, unpacked in one call), codes of eight octets (one ``uint64`` each), and groups
of four octets (one ``uint32`` each, called *lanes*). Arithmetic
on such numbers, which numpy does many at a time, is several times cheaper than looking them up,
and far cheaper than storing their columns one by one: a flag is a shifted 1, four bits become four
flags by one product, and what is written by absolute seat becomes seat-relative by a rotation.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import CODE, SABOTEUR, U64
from kolkhoz_env.knowledge import hides_taken
from kolkhoz_env.rules import ASSIGN, OVER, REQUISITION, SWAP_GIVE, TRUMP, Rules
from kolkhoz_env.state import PLACE_FACTS, Int8, Int64, State, UInt8, UInt64

UInt32 = NDArray[np.uint32]

#: What each thread keeps for :func:`scratch`: this many bytes at most.
_OWN, _MOST_SCRATCH = threading.local(), 1 << 24
_SWAP = np.eye(8, dtype=np.uint8).view(np.uint64)[:, 0]
_EACH = np.uint32(0x01010101)
#: Times four bits, masked with ``_EACH``: the bits as the low bits of four octets.
_SPREAD = np.uint32(0x00204081)
#: Trump, year, phase and tricks finished in 20 octets, as five lanes by one index.
_TIME = np.zeros((5, 6, 7, 5, 20), dtype=np.uint8)
for _phase in range(7):
    # Before the choice and after the end there is no trump to tell of.
    if _phase not in (TRUMP, OVER):
        _TIME[:, :, _phase, :, :5] = np.eye(5, dtype=np.uint8)[:, None, None]
    if _phase != OVER:
        _TIME[:, :, _phase, :, 10 + _phase] = 1
for _number in range(5):
    _TIME[:, _number + 1, :, :, 5 + _number] = 1
    _TIME[:, :, :, _number, 16 + min(_number, 3)] = 1
_TIME_LANES = _TIME.reshape(-1, 20).view(np.uint32)
#: ``[P, P]`` by number of players and observing seat: absolute seats from it clockwise.
_ROTATION = {p: (np.arange(p)[:, None] + np.arange(p)) % p for p in (2, 3, 4)}


@lru_cache(maxsize=4)
def _trick_lanes(players: int) -> UInt32:
    """Eight lanes from ``hand_sizes`` to ``to_act``, ``uint32[864, 8]``, all that the trick tells.

    By hand size of those who have still to play (0 .. 5), cards played and assigned (0 .. 8), and
    the relative seats of leader and winner.
    """
    left, told, leader, winner, seat = np.ogrid[:6, :9, :4, :4, :4]
    order = (seat - leader) % players
    sizes = np.maximum(left - (order < told), 0)
    # With one card left after the last trick, it has been banked.
    sizes[1] = 0
    lanes = np.zeros((6, 9, 4, 4, 8, 4), dtype=np.uint8)
    lanes[..., 0, :] = sizes
    lanes[..., 2, :] = order < told - players
    lanes[..., 4, :] = (seat == winner) & (told > 0)
    lanes[..., 6, :] = seat == leader
    lanes[..., players:] = 0
    return lanes.reshape(-1, 32).view(np.uint32)


def _lanes(octets: NDArray[np.generic]) -> UInt32:
    """Rows of four octets as ``uint32``: ``[..., 4]`` to ``[...]``."""
    return np.ascontiguousarray(octets, dtype=np.uint8).view(np.uint32)[..., 0]


def _flag(octet: NDArray[np.integer]) -> UInt32:
    """Lanes with one octet set; none for octets below 0 or above 3."""
    return np.uint32(1) << (octet.astype(np.uint32) << np.uint32(3))


def _flags(bits: UInt8) -> UInt32:
    """Lanes whose octets are the four lowest bits of ``uint8[...]``."""
    return (bits.astype(np.uint32) * _SPREAD) & _EACH


class _Turn:
    """Turns lanes of absolute seats into lanes of seats from ``start[n]`` (``0 .. P-1``) on."""

    def __init__(self, start: Int8, players: int) -> None:
        # A shift by all of the bits leaves none, in numpy on any machine.
        self.right = start.astype(np.uint32) << np.uint32(3)
        self.left = np.uint32(8 * players) - self.right
        self.kept = np.uint32((1 << 8 * players) - 1)

    def __call__(self, lanes: UInt32) -> UInt32:
        turned = lanes << self.left
        turned |= lanes >> self.right
        if self.kept != 0xFFFFFFFF:
            turned &= self.kept
        return turned


def _relative(seat: Int8, start: Int8, players: int) -> Int8:
    """Places of ``seat`` clockwise from ``start``, ``int8[n]``."""
    ahead = seat - start
    if players == 4:
        ahead &= np.int8(3)
    else:
        ahead += (ahead < 0) * np.int8(players)
    return ahead


def _by_seat(octets: NDArray[np.generic]) -> UInt32:
    """One octet a seat ``[n, P]`` as lanes ``[n]``."""
    if octets.shape[1] < 4:
        padded = np.zeros((len(octets), 4), dtype=np.uint8)
        padded[:, : octets.shape[1]] = octets
        octets = padded
    return np.ascontiguousarray(octets).view(np.uint32)[:, 0]


def _octets(lanes: UInt32, players: int) -> UInt8:
    """Lanes ``[n]`` of seats as ``uint8[n, P]``."""
    return lanes.view(np.uint8).reshape(-1, 4)[:, :players]


def _rows(values: NDArray[np.generic]) -> UInt8:
    """``[n, ...]`` as ``uint8[n, ...]``, one row each."""
    return values.reshape(len(values), -1).view(np.uint8)


def _copy(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy rows of as many octets; as one value each, which takes numpy half the time."""
    row = f"V{source.shape[1] * source.itemsize}"
    target.view(row)[:] = source.view(row)


def scratch(rows: int, size: int) -> UInt8:
    """Memory for ``uint8[rows, size]`` of this thread, until it is asked for again.

    Megabytes that are got anew at every step take as long as all that is written into them.
    """
    if rows * size > _MOST_SCRATCH:
        return np.empty((rows, size), dtype=np.uint8)
    memory: UInt8 | None = getattr(_OWN, "memory", None)
    if memory is None or memory.size < rows * size:
        memory = _OWN.memory = np.empty(rows * size, dtype=np.uint8)
    return memory[: rows * size].reshape(rows, size)


def encode(state: State, seats: Int8, rules: Rules, size: int, out: UInt8 | None = None) -> UInt8:
    """Observations ``uint8[n, size]`` of all games of ``state`` for ``seats`` (``int8[n]``)."""
    if out is None:
        out = np.empty((state.size, size), dtype=np.uint8)
    if not state.size:
        return out
    if out.dtype != np.uint8 or out.strides[1] != 1:
        out[...] = encode(state, seats, rules, size)
        return out
    # One part at a time: megabytes freed together go back to the system, and getting them anew at
    # every step takes longer than filling them.
    start = 0
    for part in _parts(state, seats, rules):
        stop = start + part.shape[1]
        _copy(out[:, start:stop], part)
        start = stop
        del part
    return out


def _parts(state: State, seats: Int8, rules: Rules) -> Iterator[UInt8]:
    """Runs of columns in the order of the table, ``uint8[n, ...]`` each."""
    n, players = state.size, state.players
    at_seat = _ROTATION[players].take(seats, axis=0)
    at_seat += np.arange(0, n * players, players)[:, None]
    own = np.ascontiguousarray(at_seat[:, 0])
    planes = _planes(state, at_seat, own, U64(rules.deck))
    bits = np.unpackbits(planes.view(np.uint8), bitorder="little").reshape(n, -1)
    yield bits[:, : 53 * (players + 4)]
    del bits, planes
    yield _rows(state.fields)
    yield state.last_seen.reshape(-1, 53).take(own, axis=0)
    faces = state.face_codes.reshape(-1, 5).take(at_seat, axis=0)
    _copy(faces[:, 0], state.cellar_codes.reshape(-1, 5).take(own, axis=0))
    yield _rows(faces)
    del faces
    yield _rows(state.places.reshape(-1, 5 * PLACE_FACTS).take(at_seat, axis=0))

    turn = _Turn(seats, players)
    leader = _relative(state.leader, seats, players)
    lanes = np.zeros((n, 30 + 7 * players), dtype=np.uint32)
    codes = 3 * players + 2
    _codes(lanes[:, : 2 * codes].view(U64), state, seats, turn, leader)
    _groups(lanes[:, 2 * codes :], state, seats, turn, leader, rules)
    octets = lanes.view(np.uint8)
    yield octets if players == 4 else octets.take(_real_columns(players), axis=1)


def _planes(state: State, at_seat: Int64, own: Int64, deck: U64) -> UInt64:
    """The card planes up to ``unseen`` as one string of bits, 53 a plane, ``uint64[n, words]``."""
    # One plane a row while it is computed: steps over strided columns cost three times as much.
    hand, in_cellar = state.hands.ravel().take(own), state.in_cellar.ravel().take(own)
    public = state.seen.ravel().take(np.arange(-1, state.size * 5 - 1, 5) + state.year)
    unseen = deck & ~(public | hand | in_cellar)
    plots = state.plots.ravel().take(np.ascontiguousarray(at_seat.T))
    planes = [hand, in_cellar, *plots, state.north, unseen]
    words = np.empty((-(-53 * len(planes) // 64), state.size), dtype=U64)
    shifted = np.empty(state.size, dtype=U64)
    for number, plane in enumerate(planes):
        word, shift = divmod(53 * number, 64)
        if shift:
            words[word] |= np.left_shift(plane, U64(shift), out=shifted)
        else:
            words[word] = plane
        if shift > 64 - 53:
            np.right_shift(plane, U64(64 - shift), out=words[word + 1])
    return np.ascontiguousarray(words.T)


def _codes(codes: UInt64, state: State, seats: Int8, turn: _Turn, leader: Int8) -> None:
    """Fill in the codes from ``trick`` to ``taken``, zeros ``uint64[n, 3 P + 2]``."""
    players = state.players
    trick = _by_seat(state.trick)
    # Played by the leader, ``leader`` places clockwise of the observer.
    from_leader = _Turn(np.int8(players) - leader, players)
    cards = _octets(from_leader(trick), players).view(np.int8)
    _copy(codes[:, :players], CODE.take(cards))
    swaps = _octets(turn(_by_seat(state.swaps)), players)
    _copy(codes[:, 2 * players : 3 * players], _SWAP.take(swaps))
    known = _by_seat(state.known)
    (there,) = (known != turn.kept).nonzero()
    if there.size:
        cards = _octets(turn(known), players).view(np.int8).take(there, axis=0)
        row = f"V{8 * players}"
        codes[:, players : 2 * players].view(row)[there] = CODE.take(cards).view(row)
    (there,) = (state.phase == ASSIGN).nonzero()
    next_card = state.trick.ravel().take(there * players + state.assigned[there])
    codes[there, 3 * players] = CODE.take(next_card)
    (there,) = (state.phase == SWAP_GIVE).nonzero()
    if there.size:
        codes[there, -1] = CODE.take(state.taken[there])
        watching = there[state.seat[there] != seats[there]]
        if watching.size:
            hidden = hides_taken(state.take(watching), seats[watching])
            codes[watching[hidden], -1] = 0


def _groups(
    groups: UInt32, state: State, seats: Int8, turn: _Turn, leader: Int8, rules: Rules
) -> None:
    """Fill in all blocks from ``hours`` on, zeros ``uint32[n, 26 + P]``."""
    n, players = state.size, state.players
    hours = state.hours
    # A field has no more hours than a year has cards: an octet holds them.
    groups[:, 0] = _lanes(hours)
    groups[:, 1] = _lanes(np.maximum(np.int16(min(rules.field_quota, 255)) - hours, 0))
    groups[:, 2] = _flags(state.claimed)
    groups[:, 3] = _lanes(state.fields[:, :, SABOTEUR])
    groups[:, 5] = _flag(state.led)
    groups[:, 6] = _flags(state.crops)
    _copy(groups[:, 7:12], state.revealed.reshape(n, -1))
    voids = _octets(turn(_by_seat(state.voids)), players)
    _copy(groups[:, 12 : 12 + players], _flags(voids))

    at = 12 + players
    left = np.int8(rules.tricks + 1) - state.trick_number - (state.year == rules.famine_year)
    told = left * np.int16(9) + (state.trick_size + state.assigned)
    told = (told * np.int16(4) + leader) * np.int16(4) + _relative(state.winner, seats, players)
    _copy(groups[:, at : at + 8], _trick_lanes(players).take(told, axis=0))
    groups[:, at + 1] = turn(_by_seat(state.medals))
    groups[:, at + 5] = turn(_flag(state.planner))
    groups[:, at + 7] = turn(_flag(state.seat))
    time = (state.trump * np.int8(6) + state.year) * np.int16(7) + state.phase
    time = time * np.int16(5) + state.trick_number
    _copy(groups[:, at + 8 : at + 13], _TIME_LANES.take(time, axis=0))
    # From here on what is seen at requisition and after the end alone.
    (there,) = (state.phase >= REQUISITION).nonzero()
    if there.size:
        groups[there, 4] = _flags(state.failed[there])
        groups[there, at + 3] = _Turn(seats[there], players)(_flags(state.inspected[there]))
        groups[there, at + 13] = _flag(state.to_send[there] - np.int8(1))


@lru_cache(maxsize=4)
def _real_columns(players: int) -> Int64:
    """Columns of codes and groups without the padding of seats that do not exist."""
    lanes = np.arange((30 + 7 * players) * 4).reshape(-1, 4)
    first = 2 * (3 * players + 2) + 12 + players
    by_seat = lanes[first : first + 8, :players].ravel()
    return np.concatenate([lanes[:first].ravel(), by_seat, lanes[first + 8 :].ravel()])
