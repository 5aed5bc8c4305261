"""The end of a year: banking, failed fields, and the cards that the State collects."""

from __future__ import annotations

import numpy as np

from kolkhoz_env.cards import (
    BIT,
    CODE,
    CROP_BITS,
    NUM_CARDS,
    RANK,
    RANK_BITS,
    SABOTEUR,
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
    UInt64,
)

#: ``uint64[16]``: cards eligible when these fields failed; the Saboteur matches every one.
ELIGIBLE = np.array(
    [sum(int(CROP_BITS[c]) for c in range(4) if v >> c & 1) | (bool(v) << 52) for v in range(16)],
    dtype=U64,
)
#: ``bool[16, 4]``: failed fields as flags by crop.
_FAILED_CROPS = (np.arange(16)[:, None] >> np.arange(4)) & 1 == 1
#: ``uint8[16, 8]``: public facts of a Cellar place filled by a seat with these voids shown. The
#: Saboteur follows every crop, so whoever did not follow does not hold it.
PLACE_FILLED = np.array(
    [[0, 0, 0, *(0 if v >> c & 1 else 13 for c in range(4)), v == 0] for v in range(16)],
    dtype=np.uint8,
)
#: ``int8[8192]``: highest rank among thirteen bits by rank, 0 if there is none.
_TOP_RANK = np.frexp(np.arange(8192.0))[1].astype(np.int8)
#: ``int16[7, 256]`` by place of an octet in a zone and its value: summed rank of its cards.
_RANKS_OF_OCTET = np.zeros((7, 256), dtype=np.int16)
for _card in range(NUM_CARDS):
    _holds = np.arange(256) >> _card % 8 & 1
    _RANKS_OF_OCTET[_card // 8] += (_holds * RANK[_card]).astype(np.int16)


def holdings(state: State, rows: Int64) -> UInt64:
    """Plot and Cellar of each seat together, ``uint64[n, P]``."""
    return state.plots.take(rows, axis=0) | state.in_cellar.take(rows, axis=0)


def bank(state: State, rows: Int64) -> None:
    """The last card of each hand goes face-down to the Cellar place of the year."""
    hands = state.hands[rows]
    place = state.year[rows] - 1
    cards = single_card(hands)
    state.in_cellar[rows] |= hands
    state.cellars[rows, :, place] = cards
    state.cellar_codes[rows, :, place] = CODE[cards]
    facts = PLACE_FILLED[state.voids[rows]]
    facts[:, :, PLACE_SINCE] = state.year[rows, None]
    known = state.known[rows]
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
    short = state.hours[rows] < rules.field_quota
    sabotaged = state.fields[rows, :, SABOTEUR] == 1
    failed = (short | sabotaged)[:, : rules.crops]
    state.failed[rows] = failed @ (1 << np.arange(rules.crops, dtype=np.uint8))
    medals = state.medals[rows]
    hero = (medals == state.trick_number[rows, None]) & rules.hero_of_labor
    inspected = np.where(hero.any(axis=1, keepdims=True), ~hero, medals > 0)
    state.inspected[rows] = inspected @ (1 << np.arange(rules.players, dtype=np.uint8))
    state.totals[rows, :, COUNTER["fields_failed"]] += failed.sum(axis=1, dtype=np.int16)[:, None]
    state.totals[rows, :, COUNTER["medals"]] += medals
    state.totals[rows, :, COUNTER["heroes"]] += hero
    state.totals[rows, :, COUNTER["inspections"]] += inspected


def cutoff(pool: UInt64, quota: Int64) -> tuple[UInt64, UInt64, Int64, Int64]:
    """Split pools ``uint64[m]`` at their highest ``quota`` (``[m]``, 1 or more) cards.

    Returns the cards that go for certain, the cards tied at the cutoff where a choice is left
    (else none), how many of these must go, and the lowest rank that goes for certain: 14 if no
    card does, 0 if fewer than ``quota`` go because the pool holds no more. That last figure is
    what everybody at the table sees, so it tells nothing of the cards that stay.
    """
    left, need = pool.copy(), quota.astype(np.uint8)
    sure_cards, tied_cards = np.zeros_like(pool), np.zeros_like(pool)
    to_choose = np.zeros_like(need)
    lowest = np.full(pool.shape, 14, dtype=np.int8)
    # Rank by rank from the top: each rank that goes takes at least one card off the quota.
    for _ in range(int(need.max(initial=0))):
        ranks = (left | left >> U64(13) | left >> U64(26) | left >> U64(39)) & U64(0x1FFF)
        rank = _TOP_RANK.take(ranks.astype(np.int64))
        cards = left & RANK_BITS.take(rank)
        count = np.bitwise_count(cards)
        goes = (count <= need) & (count > 0)
        sure_cards |= cards * goes
        lowest = np.where(goes, rank, lowest)
        choice = np.where(goes | (count == 0), np.uint8(0), need)
        tied_cards |= cards * (choice > 0)
        to_choose += choice
        need -= choice + count * goes
        left ^= cards
    # A quota that is still not met met the end of the pool.
    return sure_cards, tied_cards, to_choose.astype(np.int64), np.where(need > 0, 0, lowest)


def inspect(state: State, rows: Int64) -> Bool:
    """Take from the inspected seats of ``rows``, in order from ``cursor``, what is certain.

    Stops at the first seat that has a choice: it is put to act with ``tied`` and ``to_send``.
    Returns ``bool[n]``: whether such a seat was found.
    """
    players = state.players
    seats = np.arange(players)
    order = (seats - state.planner[rows, None] - 1) % players
    quota = np.bitwise_count(state.failed[rows]).astype(np.int64)
    inspected = (state.inspected[rows, None] >> seats.astype(np.uint8)) & 1 == 1
    inspected &= (order >= state.cursor[rows, None]) & (quota > 0)[:, None]
    # From here on pairs of a game and an inspected seat.
    game, seat = np.nonzero(inspected)
    at = rows[game] * players + seat
    held = state.plots.ravel()[at] | state.in_cellar.ravel()[at]
    pool = held & ELIGIBLE[state.failed[rows[game]]]
    sure, tied, to_choose, lowest = cutoff(pool, quota[game])

    first = np.full(rows.size, players)
    choosing = np.flatnonzero(to_choose)
    if choosing.size:
        turn = order[game, seat]
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
    losing = np.flatnonzero(send)
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
    failed = _FAILED_CROPS[state.failed[at // state.players]]
    limit = np.where(failed, np.maximum(highest, 0)[:, None], 13).astype(np.uint8)
    all_places = state.places.reshape(-1, 5, PLACE_FACTS)
    places = all_places[at]
    crops = slice(PLACE_HIGHEST, PLACE_HIGHEST + 4)
    places[..., crops] = np.minimum(places[..., crops], limit[:, None, :])
    places[..., PLACE_SABOTEUR] &= (highest >= 0)[:, None]
    all_places[at] = places


def ranks_of(zones: UInt64) -> Int16:
    """Summed printed ranks of zones ``uint64[...]``, ``int16``; the Saboteur counts 0."""
    octets = np.ascontiguousarray(zones)[..., None].view(np.uint8)[..., :7]
    return _RANKS_OF_OCTET[np.arange(7), octets].sum(axis=-1, dtype=np.int16)
