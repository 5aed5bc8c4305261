"""States to observation rows, for whole batches: the work behind the observation table.

The columns fall into three runs, each built in the widest numbers that hold it and copied once:
bit planes of 53 cards (packed into one bit string, unpacked in one call), codes of eight octets
(one ``uint64`` each), and groups of four octets (one ``uint32`` each). Looking up such a number
in a small table and storing it is several times cheaper than storing its columns one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, CROP, RANK, U64
from kolkhoz_env.knowledge import hides_taken
from kolkhoz_env.rules import OVER, SWAP_GIVE, TRUMP, Rules
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
_FLAGS = _lanes((np.arange(16)[:, None] >> np.arange(4)) & 1)
_LED = _lanes(np.eye(5, 4))
_TRICK_NUMBER = _lanes(np.arange(4) == np.minimum(np.arange(5), 3)[:, None])
_TO_SEND = _lanes(np.eye(5, 4, -1))
_EACH = np.uint32(0x01010101)
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


class _Seats:
    """Look-up tables of relative seats for one number of players."""

    def __init__(self, players: int) -> None:
        seat = np.arange(players)
        #: ``[P, P]`` by observing seat: absolute seats from it clockwise.
        self.rotation = (seat[:, None] + seat) % players
        #: ``[P * P]`` by (leader, observing seat): place in the trick of each relative seat.
        leaders = seat[:, None, None]
        self.order = ((seat[None, :, None] + seat - leaders) % players).reshape(-1, players)
        padded = np.zeros((players, players + 1, 4), dtype=np.uint8)
        for own in seat:
            for other in seat:
                padded[own, other, (other - own) % players] = 1
        #: by seat * (P + 1) + other (other -1 allowed): the relative seat as a flag.
        self.flag = _lanes(padded).ravel()
        bits = (np.arange(16)[None, :, None] >> self.rotation[:, None, :]) & 1
        #: by seat * 16 + bits: bits of absolute seats as relative flags.
        self.bits = _lanes(_pad(bits)).ravel()
        sizes = np.arange(players + 1)[None, :, None]
        #: by (leader * P + seat) * (P + 1) + k: seats among the first k of the trick.
        self.among = _lanes(_pad(self.order[:, None, :] < sizes)).ravel()


def _pad(values: NDArray[np.generic]) -> UInt8:
    """Pad the last axis to four octets with zeros."""
    padded = np.zeros((*values.shape[:-1], 4), dtype=np.uint8)
    padded[..., : values.shape[-1]] = values
    return padded


_SEATS = {players: _Seats(players) for players in (2, 3, 4)}


def encode(state: State, seats: Int8, rules: Rules, size: int, out: UInt8 | None = None) -> UInt8:
    """Observations ``uint8[n, size]`` of all games of ``state`` for ``seats`` (``int8[n]``)."""
    n, players = state.size, state.players
    if out is None:
        out = np.empty((n, size), dtype=np.uint8)
    tables = _SEATS[players]
    first = np.arange(0, n * players, players)
    at_seat = tables.rotation.take(seats, axis=0)
    at_seat += first[:, None]
    faces = state.faces.reshape(-1, 5).take(at_seat, axis=0)
    faces[:, 0] = state.cellars.reshape(-1, 5).take(at_seat[:, 0], axis=0)
    end = 53 * (players + 8)

    def parts() -> Iterator[UInt8]:
        planes = _planes(state, at_seat, faces[:, 0], U64(rules.deck))
        yield np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little", count=end)
        yield _last_seen(state, first + seats)
        yield _CODE.take(faces).reshape(n, -1).view(np.uint8)
        yield state.places.reshape(-1, 5 * PLACE_FACTS).take(at_seat, axis=0).reshape(n, -1)
        yield _codes(state, seats, at_seat, first, tables)
        yield _groups(state, seats, at_seat, rules, tables)

    # One part at a time: megabytes freed together go back to the system, and getting them anew at
    # every step takes longer than filling them.
    start = 0
    for part in parts():
        out[:, start : start + part.shape[1]] = part
        start += part.shape[1]
        del part
    return out


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
    words = np.zeros((-(-53 * len(planes) // 64), state.size), dtype=U64)
    for number, plane in enumerate(planes):
        word, shift = divmod(53 * number, 64)
        words[word] |= plane << U64(shift)
        if shift > 64 - 53:
            words[word + 1] |= plane >> U64(64 - shift)
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
    ones |= twos << U64(1)
    ones |= fours << U64(2)
    return ones.view(np.uint8)[:, :53]


def _codes(state: State, seats: Int8, at_seat: Int64, first: Int64, tables: _Seats) -> UInt8:
    """The blocks of eight octets from ``trick`` to ``taken``, ``uint8[n, ...]``."""
    n, players = state.size, state.players
    codes = np.empty((n, 3 * players + 2), dtype=U64)
    order = tables.order.take(state.leader * np.int8(players) + seats, axis=0)
    order += first[:, None]
    codes[:, :players] = _CODE.take(state.trick.ravel().take(order))
    codes[:, players : 2 * players] = _CODE.take(state.known.ravel().take(at_seat))
    codes[:, 2 * players : 3 * players] = _SWAP.take(state.swaps.ravel().take(at_seat))
    card = state.trick.ravel().take(first + np.minimum(state.assigned, players - 1))
    codes[:, -2] = _CODE.take(np.where(state.trick_size == players, card, EMPTY))
    codes[:, -1] = 0
    picking = np.flatnonzero(state.phase == SWAP_GIVE)
    codes[picking, -1] = _CODE[state.taken[picking]]
    watching = picking[state.seat[picking] != seats[picking]]
    if watching.size:
        hidden = hides_taken(state.take(watching), seats[watching])
        codes[watching[hidden], -1] = 0
    return codes.view(np.uint8)


def _groups(state: State, seats: Int8, at_seat: Int64, rules: Rules, tables: _Seats) -> UInt8:
    """All blocks from ``hours`` on, ``uint8[n, ...]``."""
    n, players = state.size, state.players
    groups = np.empty((30 - 4 + players, n), dtype=np.uint32)
    hours = state.hours
    groups[0] = _lanes(np.minimum(hours, 255))
    groups[1] = _lanes(np.clip(np.int16(min(rules.field_quota, 255)) - hours, 0, 255))
    groups[2] = _FLAGS.take(state.claimed)
    groups[3] = _lanes(state.fields >> U64(52))
    groups[4] = _FLAGS.take(state.failed)
    groups[5] = _LED.take(state.led)
    groups[6] = _FLAGS.take(state.crops)
    groups[7:12] = state.revealed.reshape(n, -1).view(np.uint32).T
    groups[12 : 12 + players] = _FLAGS.take(state.voids.ravel().take(at_seat.T))

    seats = seats.astype(np.int64)
    in_order = (state.leader * np.int64(players) + seats) * (players + 1)
    by_seat = seats * (players + 1)
    at = 12 + players
    left = rules.tricks + 1 - (state.year == rules.famine_year) - state.trick_number
    in_trick = tables.among.take(in_order + state.trick_size)
    groups[at] = left.astype(np.uint32) * _EACH - in_trick
    # With one card left after the last trick, it has been banked.
    groups[at][left == 1] = 0
    groups[at + 1] = _lanes(_pad(state.medals.ravel().take(at_seat)))
    groups[at + 2] = tables.among.take(in_order + state.assigned)
    groups[at + 3] = tables.bits.take(seats * 16 + state.inspected)
    winner = np.where(state.trick_size > 0, state.winner, players)
    groups[at + 4] = tables.flag.take(by_seat + winner)
    groups[at + 5] = tables.flag.take(by_seat + state.planner)
    groups[at + 6] = tables.flag.take(by_seat + state.leader)
    groups[at + 7] = tables.flag.take(by_seat + np.where(state.seat < 0, players, state.seat))
    undecided = (state.phase == TRUMP) | (state.phase == OVER)
    # int8 would overflow: the index goes up to 251.
    trump = np.where(undecided, 5, state.trump).astype(np.int64)
    time = (trump * 6 + state.year) * 7 + state.phase
    groups[at + 8 : at + 12] = _TIME_LANES.take(time, axis=0).T
    groups[at + 12] = _TRICK_NUMBER.take(state.trick_number)
    groups[at + 13] = _TO_SEND.take(state.to_send)
    octets = np.ascontiguousarray(groups.T).view(np.uint8)
    return octets if players == 4 else octets[:, _real_columns(players)]


@lru_cache(maxsize=4)
def _real_columns(players: int) -> Int64:
    """Columns of the groups without the padding of seats that do not exist."""
    lanes = np.arange((30 - 4 + players) * 4).reshape(-1, 4)
    first = 12 + players
    by_seat = lanes[first : first + 8, :players].ravel()
    return np.concatenate([lanes[:first].ravel(), by_seat, lanes[first + 8 :].ravel()])
