"""States to observation rows, for whole batches: the work behind the observation table.

The columns fall into three runs, each built in the widest numbers that hold it and copied once:
bit planes of 53 cards (packed into one bit string, unpacked in one call), codes of eight octets
(one ``uint64`` each), and groups of four octets (one ``uint32`` each, called *lanes*). Arithmetic
on such numbers, which numpy does many at a time, is several times cheaper than looking them up,
and far cheaper than storing their columns one by one: a flag is a shifted 1, four bits become four
flags by one product, and what is written by absolute seat becomes seat-relative by a rotation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, CROP, RANK, U64
from kolkhoz_env.knowledge import hides_taken
from kolkhoz_env.rules import OVER, TRUMP, Rules
from kolkhoz_env.state import EMPTY, HIDDEN, PLACE_FACTS, Int8, Int64, State, UInt8, UInt64

UInt32 = NDArray[np.uint32]


def _lanes(octets: NDArray[np.generic]) -> UInt32:
    """Rows of four octets as ``uint32``: ``[..., 4]`` to ``[...]``."""
    return np.ascontiguousarray(octets, dtype=np.uint8).view(np.uint32)[..., 0]


def card_codes() -> UInt64:
    """Codes of all cards, ``uint64[55]`` of eight octets each; -1 no card, -2 a hidden one."""
    codes = np.zeros((55, 8), dtype=np.uint8)
    codes[np.arange(52), CROP[:52]] = 1
    codes[52, 4] = 1
    codes[:, 5] = RANK
    codes[:53, 6] = 1
    codes[HIDDEN, 6:] = 1
    return codes.view(np.uint64)[:, 0]


_CODE = card_codes()
_SWAP = np.eye(8, dtype=np.uint8).view(np.uint64)[:, 0]
_EACH = np.uint32(0x01010101)
#: Times four bits, masked with ``_EACH``: the bits as the low bits of four octets.
_SPREAD = np.uint32(0x00204081)
#: Flags of the first k of four octets.
_FIRST = np.array([0x01010101 >> (8 * (4 - k)) if k else 0 for k in range(5)], dtype=np.uint32)
#: Trump, year and phase together, 16 octets as two ``uint64``: index (trump, year, phase), trump
#: 5 not chosen yet.
_TIME = np.zeros((6, 6, 7, 16), dtype=np.uint8)
for _trump in range(6):
    for _year in range(1, 6):
        for _phase in range(7):
            _row = _TIME[_trump, _year, _phase]
            _row[:5], _row[5:10], _row[10:] = (
                np.arange(5) == _trump,
                np.arange(1, 6) == _year,
                np.arange(6) == _phase,
            )
_TIME_LANES = _TIME.reshape(-1, 16).view(np.uint32)


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
        turned &= self.kept
        return turned


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


def encode(state: State, seats: Int8, rules: Rules, size: int, out: UInt8 | None = None) -> UInt8:
    """Observations ``uint8[n, size]`` of all games of ``state`` for ``seats`` (``int8[n]``)."""
    n, players = state.size, state.players
    if out is None:
        out = np.empty((n, size), dtype=np.uint8)
    first = np.arange(0, n * players, players)
    at_seat = _ROTATION[players].take(seats, axis=0)
    at_seat += first[:, None]
    faces = state.faces.reshape(-1, 5).take(at_seat, axis=0)
    faces[:, 0] = state.cellars.reshape(-1, 5).take(at_seat[:, 0], axis=0)
    turn = _Turn(seats, players)
    lag = seats - state.leader
    lag += (lag < 0) * np.int8(players)
    from_leader = _Turn(lag, players)
    end = 53 * (players + 8)

    def parts() -> Iterator[UInt8]:
        planes = _planes(state, at_seat, faces[:, 0], U64(rules.deck))
        yield np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little", count=end)
        yield _last_seen(state, at_seat[:, 0])
        yield _rows(_CODE.take(faces))
        yield _rows(state.places.reshape(-1, 5 * PLACE_FACTS).take(at_seat, axis=0))
        yield from _codes(state, seats, turn, from_leader)
        yield _groups(state, turn, from_leader, rules)

    # One part at a time: megabytes freed together go back to the system, and getting them anew at
    # every step takes longer than filling them.
    start = 0
    for part in parts():
        out[:, start : start + part.shape[1]] = part
        start += part.shape[1]
        del part
    return out


#: ``[P, P]`` by number of players and observing seat: absolute seats from it clockwise.
_ROTATION = {p: (np.arange(p)[:, None] + np.arange(p)) % p for p in (2, 3, 4)}


def _planes(state: State, at_seat: Int64, cellar: Int8, deck: U64) -> UInt64:
    """All card planes of a row as one string of bits, 53 a plane, ``uint64[n, words]``."""
    # One plane a row while it is computed: steps over strided columns cost three times as much.
    at_seat = np.ascontiguousarray(at_seat.T)
    hand = state.hands.ravel().take(at_seat[0])
    in_cellar = np.bitwise_or.reduce(BIT.take(np.ascontiguousarray(cellar.T)), axis=0)
    public = state.seen.ravel().take(np.arange(-1, state.size * 5 - 1, 5) + state.year)
    unseen = deck & ~(public | hand | in_cellar)
    plots = state.plots.ravel().take(at_seat)
    fields = np.ascontiguousarray(state.fields.T)
    planes = [hand, in_cellar, *plots, state.north, unseen, *fields]
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


def _last_seen(state: State, own: Int64) -> UInt8:
    """Year in which each card was last seen, ``uint8[n, 53]``; ``own`` is game * P + seat."""
    seen = state.dealt.reshape(-1, 5).take(own, axis=0)
    seen |= state.seen
    one, two, three, four, five = np.ascontiguousarray(seen.T)
    # By year "seen then or later"; the number of those that hold a card is the last year, here
    # as binary digits.
    four |= five
    three |= four
    two |= three
    one |= two
    digits = np.empty((3, state.size), dtype=U64)
    digits[0] = (one & ~two) | (three & ~four) | five
    digits[1] = two & ~four
    digits[2] = four
    bits = np.unpackbits(digits.view(np.uint8), axis=None, bitorder="little")
    ones, twos, fours = bits.view(np.uint64).reshape(3, state.size, 8)
    twos <<= U64(1)
    fours <<= U64(2)
    ones |= twos
    ones |= fours
    return ones.view(np.uint8)[:, :53]


def _codes(state: State, seats: Int8, turn: _Turn, from_leader: _Turn) -> Iterator[UInt8]:
    """The blocks of eight octets from ``trick`` to ``taken``."""
    n, players = state.size, state.players
    trick = _by_seat(state.trick)
    cards = np.empty((n, 2, players), dtype=np.int8)
    cards[:, 0] = _octets(from_leader(trick), players)
    cards[:, 1] = _octets(turn(_by_seat(state.known)), players)
    yield _rows(_CODE.take(cards))
    swaps = _octets(turn(_by_seat(state.swaps)), players)
    yield _rows(_SWAP.take(swaps))
    codes = np.empty((n, 2), dtype=U64)
    next_card = trick >> (state.assigned.astype(np.uint32) << np.uint32(3))
    card = np.where(state.trick_size == players, next_card.astype(np.int8), np.int8(EMPTY))
    codes[:, 0] = _CODE.take(card)
    codes[:, 1] = _CODE.take(state.taken)
    watching = np.flatnonzero((state.taken != EMPTY) & (state.seat != seats))
    if watching.size:
        hidden = hides_taken(state.take(watching), seats[watching])
        codes[watching[hidden], 1] = 0
    yield codes.view(np.uint8)


def _groups(state: State, turn: _Turn, from_leader: _Turn, rules: Rules) -> UInt8:
    """All blocks from ``hours`` on, ``uint8[n, ...]``."""
    n, players = state.size, state.players
    groups = np.empty((n, 30 - 4 + players), dtype=np.uint32)
    hours = state.hours
    quota = np.int16(min(rules.field_quota, 255))
    groups[:, 0] = _lanes(np.minimum(hours, 255))
    groups[:, 1] = _lanes(np.clip(quota - hours, 0, 255))
    groups[:, 2] = _flags(state.claimed)
    groups[:, 3] = _lanes(state.fields >> U64(52))
    groups[:, 4] = _flags(state.failed)
    groups[:, 5] = _flag(state.led)
    groups[:, 6] = _flags(state.crops)
    groups[:, 7:12] = state.revealed.reshape(n, -1).view(np.uint32)
    groups[:, 12 : 12 + players] = _flags(_octets(turn(_by_seat(state.voids)), players))

    at = 12 + players
    left = np.int8(rules.tricks + 1) - state.trick_number - (state.year == rules.famine_year)
    # With one card left after the last trick, it has been banked.
    left[left == 1] = 0
    in_trick = from_leader(_FIRST.take(state.trick_size))
    groups[:, at] = (left.astype(np.uint32) * _EACH & turn.kept) - in_trick
    groups[:, at + 1] = turn(_by_seat(state.medals))
    groups[:, at + 2] = from_leader(_FIRST.take(state.assigned))
    groups[:, at + 3] = turn(_flags(state.inspected))
    winner = np.where(state.trick_size > 0, state.winner, np.int8(-1))
    for place, seat in enumerate((winner, state.planner, state.leader, state.seat)):
        groups[:, at + 4 + place] = turn(_flag(seat))
    undecided = (state.phase == TRUMP) | (state.phase == OVER)
    # int8 would overflow: the index goes up to 251.
    time = np.where(undecided, np.int8(5), state.trump).astype(np.int16)
    time *= 42
    time += state.year * np.int8(7) + state.phase
    groups[:, at + 8 : at + 12] = _TIME_LANES.take(time, axis=0)
    groups[:, at + 12] = _flag(np.minimum(state.trick_number, 3))
    groups[:, at + 13] = _flag(state.to_send - np.int8(1))
    octets = groups.view(np.uint8)
    return octets if players == 4 else octets[:, _real_columns(players)]


@lru_cache(maxsize=4)
def _real_columns(players: int) -> Int64:
    """Columns of the groups without the padding of seats that do not exist."""
    lanes = np.arange((30 - 4 + players) * 4).reshape(-1, 4)
    first = 12 + players
    by_seat = lanes[first : first + 8, :players].ravel()
    return np.concatenate([lanes[:first].ravel(), by_seat, lanes[first + 8 :].ravel()])
