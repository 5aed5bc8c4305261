"""The end of a year: banking, failed fields, and the cards that the State collects."""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import (
    BIT,
    CODE,
    CROP_BITS,
    RANK,
    RANK_BITS,
    SABOTEUR,
    SABOTEUR_BIT,
    U64,
    single_card,
)
from kolkhoz_env.derived import show
from kolkhoz_env.rules import Rules
from kolkhoz_env.state import (
    COUNTER,
    EMPTY,
    HIDDEN,
    PLACE_FACTS,
    PLACE_HIGHEST,
    PLACE_PUBLIC,
    PLACE_SABOTEUR,
    PLACE_SINCE,
    Bool,
    Int16,
    Int64,
    State,
    UInt8,
    UInt64,
)
from kolkhoz_env.tricks import STILL_TO_COME

#: ``uint64[16]``: cards eligible when these fields failed; the Saboteur matches every one.
ELIGIBLE = np.array(
    [sum(int(CROP_BITS[c]) for c in range(4) if v >> c & 1) | (bool(v) << 52) for v in range(16)],
    dtype=U64,
)
#: ``uint8[16, 15, 8]`` by failed fields and the highest rank of their crops that a Cellar can keep,
#: plus 1 (13 says nothing, -1 that nothing eligible is left): what no public fact can exceed.
_LIMITS = np.full((16, 15, PLACE_FACTS), 255, dtype=np.uint8)
for _crop in range(4):
    _failed = np.arange(16) >> _crop & 1 == 1
    _LIMITS[_failed, :, PLACE_HIGHEST + _crop] = np.maximum(np.arange(-1, 14), 0)
_LIMITS[:, 0, PLACE_SABOTEUR] = 0
#: ``uint8[16, 8]``: public facts of a Cellar place filled by a seat with these voids shown. The
#: Saboteur follows every crop, so whoever did not follow does not hold it.
PLACE_FILLED = np.array(
    [[0, 0, 0, *(0 if v >> c & 1 else 13 for c in range(4)), v == 0] for v in range(16)],
    dtype=np.uint8,
)
#: ``int8[8192]``: highest rank among thirteen bits by rank, 0 if there is none.
_TOP_RANK = np.frexp(np.arange(8192.0))[1].astype(np.int8)
#: ``int8[8192]``: the lowest such rank, 14 if there is none.
_LOW_RANK = np.frexp(np.arange(8192) & -np.arange(8192))[1].astype(np.int8)
_LOW_RANK[0] = 14
#: ``uint64[4]``: cards whose rank has the binary digit 1, 2, 4 or 8.
_DIGITS = np.array(
    [sum(int(cards) for rank, cards in enumerate(RANK_BITS) if rank & d) for d in (1, 2, 4, 8)],
    dtype=U64,
)
_DIGIT_VALUES = np.array([1, 2, 4, 8], dtype=np.int16)


def holdings(state: State, rows: Int64) -> UInt64:
    """Plot and Cellar of each seat together, ``uint64[n, P]``."""
    return state.plots.take(rows, axis=0) | state.in_cellar.take(rows, axis=0)


def bank(state: State, rows: Int64) -> None:
    """The last card of each hand goes face-down to the Cellar place of the year."""
    hands = state.hands.take(rows, axis=0)
    place = state.year[rows] - 1
    cards = single_card(hands)
    state.in_cellar[rows] |= hands
    state.cellars[rows, :, place] = cards
    state.cellar_codes[rows, :, place] = CODE[cards]
    facts = PLACE_FILLED.take(state.voids.take(rows, axis=0), axis=0)
    facts[:, :, PLACE_SINCE] = state.year[rows, None]
    known = state.known.take(rows, axis=0)
    facts[:, :, PLACE_PUBLIC] = known != EMPTY
    faces = np.where(known != EMPTY, known, np.int8(HIDDEN))
    state.faces[rows, :, place] = faces
    state.face_codes[rows, :, place] = CODE[faces]
    state.places[rows, :, place] = facts
    state.totals[rows, :, COUNTER["banked_ranks"]] += RANK[cards]
    state.hands[rows] = 0
    state.known[rows] = EMPTY


def identify_failed_fields(state: State, rows: Int64, rules: Rules) -> None:
    """Find the failed fields and whom they expose: Medal holders, or all others than a Hero."""
    short = state.hours.take(rows, axis=0) < rules.field_quota
    sabotaged = state.fields[rows, :, SABOTEUR] == 1
    failed = (short | sabotaged)[:, : rules.crops]
    state.failed[rows] = failed @ (1 << np.arange(rules.crops, dtype=np.uint8))
    medals = state.medals.take(rows, axis=0)
    hero = (medals == state.trick_number[rows, None]) & rules.hero_of_labor
    inspected = np.where(hero.any(axis=1, keepdims=True), ~hero, medals > 0)
    state.inspected[rows] = inspected @ (1 << np.arange(rules.players, dtype=np.uint8))
    totals = state.totals.take(rows, axis=0)
    totals[:, :, COUNTER["fields_failed"]] += np.bitwise_count(state.failed[rows])[:, None]
    totals[:, :, COUNTER["medals"]] += medals
    totals[:, :, COUNTER["heroes"]] += hero
    totals[:, :, COUNTER["inspections"]] += inspected
    state.totals[rows] = totals


def cutoff(pool: UInt64, quota: Int64 | UInt8) -> tuple[UInt64, UInt64, Int64, Int64]:
    """Split pools ``uint64[m]`` at their highest ``quota`` (``[m]``, 1 or more) cards.

    Returns the cards that go for certain, the cards tied at the cutoff where a choice is left
    (else none), how many of these must go, and the lowest rank that goes for certain: 14 if no
    card does, 0 if fewer than ``quota`` go because the pool holds no more. That last figure is
    what everybody at the table sees, so it tells nothing of the cards that stay.
    """
    left, need = pool.copy(), quota.astype(np.uint8)
    sure_cards, tied_cards = np.zeros_like(pool), np.zeros_like(pool)
    to_choose = np.zeros_like(need)
    # Rank by rank from the top: each rank that goes takes at least one card off the quota.
    for _ in range(int(need.max(initial=0))):
        cards = left & RANK_BITS.take(_TOP_RANK.take(_ranks_in(left)))
        count = np.bitwise_count(cards)
        goes = count <= need
        sure = cards * goes
        sure_cards |= sure
        tied = cards ^ sure
        tied_cards |= tied
        choice = need * (tied != 0)
        to_choose += choice
        need -= choice + count * goes
        # Where the quota is met, nothing is left to go.
        left = (left ^ cards) * (need != 0)
    lowest = _LOW_RANK.take(_ranks_in(sure_cards))
    lowest *= (sure_cards & SABOTEUR_BIT) == 0
    # A quota that is still not met met the end of the pool.
    lowest *= need == 0
    return sure_cards, tied_cards, to_choose.astype(np.int64), lowest.astype(np.int64)


def _ranks_in(zones: UInt64) -> Int64:
    """Ranks of the ordinary cards of zones as bits, 0 for the Ace, ``int64[m]``."""
    folded = zones | zones >> U64(26)
    folded |= folded >> U64(13)
    return (folded & U64(0x1FFF)).view(np.int64)


def inspect(state: State, rows: Int64) -> Bool:
    """Take from the inspected seats of ``rows``, in order from ``cursor``, what is certain.

    Stops at the first seat that has a choice: it is put to act with ``tied`` and ``to_send``.
    Returns ``bool[n]``: whether such a seat was found.
    """
    players = state.players
    planner, failed = state.planner[rows], state.failed[rows]
    waiting = state.inspected[rows] & STILL_TO_COME[players][planner, state.cursor[rows]]
    waiting *= failed != 0
    # From here on pairs of a game and an inspected seat.
    game, seat = ((waiting[:, None] >> np.arange(players, dtype=np.uint8)) & np.uint8(1)).nonzero()
    at = rows[game] * players + seat
    held = state.plots.ravel()[at] | state.in_cellar.ravel()[at]
    pool = held & ELIGIBLE[failed[game]]
    sure, tied, to_choose, lowest = cutoff(pool, np.bitwise_count(failed)[game])

    first = np.full(rows.size, players)
    (choosing,) = to_choose.nonzero()
    if choosing.size:
        turn = (seat - planner[game] - 1) % players
        np.minimum.at(first, game[choosing], turn[choosing])
        owners = choosing[turn[choosing] == first[game[choosing]]]
        games = rows[game[owners]]
        state.seat[games] = seat[owners]
        state.cursor[games] = turn[owners]
        state.tied[games] = tied[owners]
        state.to_send[games] = to_choose[owners]
        reached = turn <= first[game]
        at, sure, lowest = at[reached], sure[reached], lowest[reached]
    _send_north(state, at, sure)
    # What the table can conclude: the Cellar keeps no card of a failed crop that ranks as high
    # as one that went; and where fewer went than fields failed, nothing eligible at all.
    _conclude(state, at, lowest - 1)
    return first < players


def send_chosen(state: State, rows: Int64, cards: Int64) -> Bool:
    """Send one chosen card of each acting owner North; ``bool[n]``: whether its choice is over."""
    at = rows * state.players + state.seat[rows]
    _send_north(state, at, BIT[cards])
    # The tie told that equal ranks may be left, but nothing higher.
    _conclude(state, at, RANK[cards].astype(np.int64))
    state.tied[rows] &= ~BIT[cards]
    state.to_send[rows] -= 1
    finished = state.to_send[rows] == 0
    over = rows[finished]
    state.tied[over] = 0
    state.cursor[over] += 1
    return finished


def _send_north(state: State, at: Int64, send: UInt64) -> None:
    """Move cards ``uint64[m]`` of the seats ``at`` (game * P + seat) from their holdings North."""
    (losing,) = send.nonzero()
    at, send = at[losing], send[losing]
    state.plots.ravel()[at] &= ~send
    state.in_cellar.ravel()[at] &= ~send
    held = BIT[state.cellars.reshape(-1, 5).take(at, axis=0)]
    losing, place = ((held & send[:, None]) != 0).nonzero()
    gone = at[losing] * 5 + place
    state.cellars.ravel()[gone] = EMPTY
    state.cellar_codes.ravel()[gone] = 0
    state.faces.ravel()[gone] = EMPTY
    state.face_codes.ravel()[gone] = 0
    state.places.view(np.uint64).ravel()[gone] = 0

    games = at // state.players
    np.bitwise_or.at(state.north, games, send)
    # What lay in a Plot was seen in this year before.
    show(state, games[losing], single_card(held[losing, place]).astype(np.int64))
    totals = state.totals.reshape(-1, state.totals.shape[2])
    totals[at, COUNTER["cards_north"]] += np.bitwise_count(send)
    totals[at, COUNTER["ranks_north"]] += ranks_of(send)


def _conclude(state: State, at: Int64, highest: Int64) -> None:
    """Note that a seat's Cellar keeps no card of a failed crop above ``highest`` (``[m]``).

    Seats as in :func:`_send_north`. 13 says nothing, -1 that nothing eligible is left, the
    Saboteur included.
    """
    limits = _LIMITS[state.failed[at // state.players], highest + 1]
    places = state.places.reshape(-1, 5, PLACE_FACTS)
    places[at] = np.minimum(places.take(at, axis=0), limits[:, None])


def ranks_of(zones: UInt64) -> Int16:
    """Summed printed ranks of zones ``uint64[...]``, ``int16``; the Saboteur counts 0."""
    counts = np.bitwise_count(np.asarray(zones)[..., None] & _DIGITS)
    return counts.astype(np.int16) @ _DIGIT_VALUES
