"""The arrays of a batch of games: names, shapes, dtypes and meanings in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import NUM_CARDS
from kolkhoz_env.rules import MAX_YEARS, OVER, Rules

Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]

#: Values of :attr:`State.swaps`: no decision yet, declined (or nothing to swap), Cellar place
#: ``p`` is ``SWAP_CELLAR + p``, Plot.
SWAP_NONE, SWAP_PASS, SWAP_CELLAR, SWAP_PLOT = 0, 1, 2, 7
#: A Cellar place that is empty; one whose card is not in this (redacted) state.
EMPTY, HIDDEN = -1, -2

#: Columns of :attr:`State.places`, all 0 where the place is empty: the year since which its card
#: has lain there; whether the face is publicly known; whether it came by a swap; the highest rank
#: of each crop that the public can't rule out (0: none); whether it may be the Saboteur.
PLACE_SINCE, PLACE_PUBLIC, PLACE_SWAPPED, PLACE_HIGHEST, PLACE_SABOTEUR = 0, 1, 2, 3, 7
PLACE_FACTS = 8

#: Per-seat counters over a whole game, the columns of :attr:`State.totals`.
COUNTERS = (
    "fields_completed",  # as Brigadier; each pays its reward
    "reward_ranks",  # summed rank of the rewards claimed
    "fields_failed",  # fields of the year that failed (the same for every seat)
    "medals",
    "inspections",
    "heroes",
    "cards_north",  # own cards lost to the North
    "ranks_north",
    "banked_ranks",
    "banked_kept",  # ranks in the Cellar at the end of the game
    "swaps",
    "swap_gain",  # rank given minus rank taken
    "saboteurs",  # Saboteur assigned as Brigadier
    "trump_wheat",
    "trump_sunflower",
    "trump_potato",
    "trump_beet",
)
COUNTER = {name: column for column, name in enumerate(COUNTERS)}


@dataclass
class State:
    """``N`` games of ``P`` seats; every array has the game as its leading axis.

    ``T`` is the number of crops (4), ``Y`` the number of years (5). Seats are absolute. Crop 4
    (``NO_CROP``) stands for none. Arrays marked *secret* hold what no seat may know; those marked
    *own* are known to the seat they belong to alone. What an observation shows as it stands here is
    kept in that form, also where it follows from other arrays (see `derived`).
    """

    key: UInt64  # [N] secret: what all shuffles of the game are hashed from
    year: Int8  # [N] 1 .. 5
    planner: Int8  # [N]
    phase: Int8  # [N] code in rules.PHASES
    seat: Int8  # [N] seat to act, -1 when the game is over
    decision: Int32  # [N] decisions made so far
    trump: Int8  # [N] crop, NO_CROP before the choice and in a year without
    hands: UInt64  # [N, P] own
    dealt: UInt64  # [N, P, Y] own: the hand as dealt in each year
    plots: UInt64  # [N, P]
    cellars: Int8  # [N, P, Y] own: card banked in each year's place, EMPTY or HIDDEN
    cellar_codes: UInt64  # [N, P, Y] own: cellars as cards.CODE
    in_cellar: UInt64  # [N, P] own: the cards of each Cellar together
    faces: Int8  # [N, P, Y] cellars as the public sees them: EMPTY, HIDDEN or a known card
    face_codes: UInt64  # [N, P, Y] faces as cards.CODE
    places: UInt8  # [N, P, Y, 8] what is publicly known of each Cellar place, see PLACE_*
    known: Int8  # [N, P] the card publicly known to be in a hand (never more than one), or EMPTY
    voids: UInt8  # [N, P] bit c: the seat has shown this year that it holds no crop c
    north: UInt64  # [N]
    piles: Int8  # [N, T, Y] secret beyond the year: reward piles in the order revealed, -1 beyond
    revealed: UInt8  # [N, T, Y] ranks of the rewards revealed so far, 0 beyond
    rewards: UInt64  # [N] revealed rewards of the year, not yet claimed
    claimed: UInt8  # [N] bit c: field c has paid its reward this year
    fields: UInt8  # [N, T, 53] by card: 1 if assigned to the field this year
    hours: Int16  # [N, T]
    trick: Int8  # [N, P] cards in the order played, EMPTY beyond
    trick_size: Int8  # [N]
    trick_number: Int8  # [N] tricks finished this year
    leader: Int8  # [N] seat that leads or led the trick
    led: Int8  # [N] led crop; NO_CROP with no card down or the Saboteur led
    crops: UInt8  # [N] bit c: crop c appeared in the trick (all for the Saboteur)
    best: UInt8  # [N] strength of the best card of the trick so far
    winner: Int8  # [N] seat that played it
    assigned: Int8  # [N] cards of the trick already assigned
    medals: Int8  # [N, P] won this year
    swaps: Int8  # [N, P] what each seat did in this year's swap
    taken: Int8  # [N] own: card picked in swap_take, EMPTY outside swap_give
    failed: UInt8  # [N] bit c: field c failed (set at requisition)
    inspected: UInt8  # [N] bit s: seat s is inspected
    cursor: Int8  # [N] seats dealt with in swap or requisition order
    to_send: Int8  # [N] cards the acting owner still has to choose for the North
    tied: UInt64  # [N] own: the cards it may choose from
    seen: UInt64  # [N, Y] cards whose place was public at any time of each year
    last_seen: UInt8  # [N, P, 53] own: last year in which a card was in seen or dealt, 0 for never
    totals: Int16  # [N, P, len(COUNTERS)] secret: statistics for reports, never shown to a seat

    @property
    def size(self) -> int:
        """Number of games."""
        return int(self.year.shape[0])

    @property
    def players(self) -> int:
        """Number of seats."""
        return int(self.hands.shape[1])

    def take(self, rows: NDArray[np.integer]) -> State:
        """Independent copy of some games; rows may repeat."""
        return State(**{f.name: getattr(self, f.name).take(rows, axis=0) for f in fields(self)})

    def put(self, rows: NDArray[np.integer], other: State) -> None:
        """Overwrite games ``rows`` with the games of ``other``, in order."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)

    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return int(sum(getattr(self, f.name).nbytes for f in fields(self)))


def empty_state(size: int, rules: Rules) -> State:
    """``size`` games before anything has happened: all cards nowhere, Year 0."""
    n, p, t, y = size, rules.players, 4, MAX_YEARS

    def i8(*shape: int, fill: int = 0) -> Int8:
        return np.full(shape, fill, dtype=np.int8)

    def u8(*shape: int) -> UInt8:
        return np.zeros(shape, dtype=np.uint8)

    def u64(*shape: int) -> UInt64:
        return np.zeros(shape, dtype=np.uint64)

    return State(
        key=u64(n), year=i8(n), planner=i8(n), phase=i8(n, fill=OVER), seat=i8(n, fill=-1),
        decision=np.zeros(n, dtype=np.int32), trump=i8(n, fill=4), hands=u64(n, p),
        dealt=u64(n, p, y), plots=u64(n, p), cellars=i8(n, p, y, fill=EMPTY),
        cellar_codes=u64(n, p, y), in_cellar=u64(n, p), faces=i8(n, p, y, fill=EMPTY),
        face_codes=u64(n, p, y), places=u8(n, p, y, PLACE_FACTS), known=i8(n, p, fill=EMPTY),
        voids=u8(n, p), north=u64(n), piles=i8(n, t, y, fill=EMPTY), revealed=u8(n, t, y),
        rewards=u64(n), claimed=u8(n), fields=u8(n, t, NUM_CARDS),
        hours=np.zeros((n, t), dtype=np.int16), trick=i8(n, p, fill=EMPTY), trick_size=i8(n),
        trick_number=i8(n), leader=i8(n), led=i8(n, fill=4), crops=u8(n), best=u8(n),
        winner=i8(n), assigned=i8(n), medals=i8(n, p), swaps=i8(n, p), taken=i8(n, fill=EMPTY),
        failed=u8(n), inspected=u8(n), cursor=i8(n), to_send=i8(n), tied=u64(n), seen=u64(n, y),
        last_seen=u8(n, p, NUM_CARDS), totals=np.zeros((n, p, len(COUNTERS)), dtype=np.int16),
    )  # fmt: skip
