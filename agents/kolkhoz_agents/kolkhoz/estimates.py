"""What a scripted player estimates from its knowledge: how fields will end and what is at stake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, NO_CROP, RANK, SABOTEUR, U64
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import ASSIGN
from kolkhoz_env.state import HIDDEN, PLACE_HIGHEST, State

F32 = NDArray[np.float32]
#: Mean rank of a Worker, the guess for a card whose face is hidden.
MEAN_RANK = 9.0


@dataclass(frozen=True)
class Weights:
    """The numbers behind the heuristic's judgement; ranks are the unit of all values.

    Fields: `fail_slope`, `fail_middle` place the logistic curve of "this share of the hours still
    to come is needed" against failing; `trump_pull` is how much the trump field is ahead,
    `saboteur` the risk of an unseen Saboteur. Assigning: `others` weighs another seat's loss
    against one's own, `reward` is what a claimed card is worth beyond its rank. Tricks: `medal`
    scales the loss that the first Medal brings, `control` is the worth of assigning, `rewards`
    of the rewards within reach, `again` the extra for a seat that has its Medal already, `hero`
    the share of the table's stakes for a seat on its way to win all, `trumped` how often somebody
    who can win does, `keep` the worth of the card to bank, `spare` of the one behind it, `shed`
    of losing a strong card. Banking and swaps: `exposed` is the risk that an own card lies in a
    failed field and is taken, `threshold` the least gain of a swap. Trump: `length`, `strength`
    of the crop in hand, `stake` of cards already held, `prize` of the crop's reward.
    """

    fail_slope: float = 9.0
    fail_middle: float = 0.33
    trump_pull: float = 0.08
    saboteur: float = 0.15
    others: float = 0.35
    reward: float = 1.5
    medal: float = 1.0
    control: float = 0.5
    rewards: float = 0.2
    again: float = 1.0
    hero: float = 0.3
    trumped: float = 0.7
    keep: float = 0.8
    spare: float = 0.2
    shed: float = 0.1
    exposed: float = 0.3
    threshold: float = 1.0
    length: float = 3.0
    strength: float = 0.2
    stake: float = 0.05
    prize: float = 0.1


@dataclass(frozen=True)
class Position:
    """What the heuristic weighs in n decisions of one seat each: P seats, four crops.

    Attributes:
        year, trump, trick_size, trick_number, assigned, led, best: as in the state, int[n].
        seats: int8[n], the seat to act.
        medals: int8[n, P]; trick: int8[n, P]; hours: int16[n, 4]; rewards: int8[n, 4], the rank
            of each field's reward of the year, 0 once it is paid.
        hand: uint64[n]; unseen: uint64[n], cards whose place the seat does not know.
        sabotaged: bool[n, 4], fields with the Saboteur.
        stakes: float32[n, P, 4], expected ranks in Plot and Cellar by crop.
        counts: float32[n, P, 4], expected number of cards there.
        left: float32[n], hours that the cards not yet assigned bring, about.
        fail: float32[n, 4], chance that each field fails.
        loss: float32[n, P], what each seat would lose if it were inspected.
    """

    year: NDArray[np.int64]
    trump: NDArray[np.int8]
    trick_size: NDArray[np.int8]
    trick_number: NDArray[np.int8]
    assigned: NDArray[np.int8]
    led: NDArray[np.int8]
    best: NDArray[np.uint8]
    seats: NDArray[np.int8]
    medals: NDArray[np.int8]
    trick: NDArray[np.int8]
    hours: NDArray[np.int16]
    rewards: NDArray[np.int8]
    hand: NDArray[np.uint64]
    unseen: NDArray[np.uint64]
    sabotaged: NDArray[np.bool_]
    stakes: F32
    counts: F32
    left: F32
    fail: F32
    loss: F32

    @property
    def size(self) -> int:
        """Number of decisions."""
        return len(self.seats)

    @property
    def players(self) -> int:
        """Number of seats."""
        return self.medals.shape[1]

    @property
    def games(self) -> NDArray[np.int64]:
        """0 .. n-1, for indexing."""
        return np.arange(self.size)

    def take(self, rows: NDArray[np.int64]) -> Position:
        """Some of the decisions."""
        return Position(**{name: values[rows] for name, values in vars(self).items()})


def _sums() -> F32:
    """float32[64, 8]: what a card adds to the ranks and the counts of each crop."""
    sums = np.zeros((64, 8), dtype=np.float32)
    for card in range(52):
        sums[card, card // 13] = RANK[card]
        sums[card, 4 + card // 13] = 1
    return sums


_SUMS = _sums()
_CROPS = np.arange(NO_CROP)
#: float32[16, 4]: even chances of the crops in a set of crops.
_EVEN = np.array(
    [[(v >> c & 1) / max(v.bit_count(), 1) for c in range(4)] for v in range(16)], dtype=np.float32
)


def by_crop(zones: NDArray[np.uint64]) -> tuple[F32, F32]:
    """Summed ranks and number of cards by crop of zones uint64[...], float32[..., 4] each."""
    octets = np.ascontiguousarray(zones).view(np.uint8)
    bits = np.unpackbits(octets, bitorder="little").reshape(-1, 64)
    sums = (bits.astype(np.float32) @ _SUMS).reshape(*zones.shape, 8)
    return sums[..., :4], sums[..., 4:]


def estimate(known: Knowledge, weights: Weights) -> Position:
    """The estimates for each decision of `known`."""
    state, seats, rules = known.state, known.seats, known.rules
    games = np.arange(state.size)
    unseen = known.unseen()
    year = state.year.astype(np.int64)
    stakes, counts = holdings_by_crop(state)
    tricks = rules.tricks - (year == rules.famine_year)
    waiting = state.players * (tricks - state.trick_number) - state.assigned
    left = (waiting * MEAN_RANK).astype(np.float32)
    assigning = np.flatnonzero(state.phase == ASSIGN)
    if assigning.size:
        to_assign = state.players - state.assigned[assigning]
        hours = trick_hours(state.trick[assigning], state.assigned[assigning])
        left[assigning] += hours - MEAN_RANK * to_assign
    sabotaged = (state.fields >> U64(SABOTEUR)) != 0
    at_large = (unseen >> U64(SABOTEUR)) != 0
    need = (rules.field_quota - state.hours).astype(np.float32)
    fail = failing(need, left, state.trump, sabotaged, at_large, weights)
    paid = (state.claimed[:, None] >> _CROPS.astype(np.uint8)) & 1
    rewards = np.maximum(RANK[state.piles[games, :, year - 1]], 0) * (1 - paid)
    return Position(
        year=year,
        trump=state.trump,
        trick_size=state.trick_size,
        trick_number=state.trick_number,
        assigned=state.assigned,
        led=state.led,
        best=state.best,
        seats=seats,
        medals=state.medals,
        trick=state.trick,
        hours=state.hours,
        rewards=rewards.astype(np.int8),
        hand=state.hands[games, seats],
        unseen=unseen,
        sabotaged=sabotaged,
        stakes=stakes,
        counts=counts,
        left=left,
        fail=fail,
        loss=losses(fail, stakes, counts),
    )


def holdings_by_crop(state: State) -> tuple[F32, F32]:
    """Expected ranks and cards of each Plot and Cellar by crop, float32[n, P, 4] each."""
    held = state.plots.copy()
    for place in range(state.cellars.shape[2]):
        held |= BIT[state.cellars[:, :, place]]
    stakes, counts = by_crop(held)
    for place in range(state.cellars.shape[2]):
        hidden = state.cellars[:, :, place] == HIDDEN
        if hidden.any():
            highest = state.places[:, :, place, PLACE_HIGHEST : PLACE_HIGHEST + NO_CROP]
            possible = (highest > 4) & hidden[..., None]
            bits = np.packbits(possible.reshape(-1, 4), axis=1, bitorder="little")[:, 0]
            chance = _EVEN[bits].reshape(possible.shape)
            counts += chance
            stakes += chance * (highest * np.float32(0.5) + np.float32(2.5))
    return stakes, counts


def trick_hours(trick: NDArray[np.int8], assigned: NDArray[np.int8]) -> F32:
    """Hours of the cards of tricks int8[n, P] that are still to be assigned, float32[n]."""
    waiting = np.arange(trick.shape[1]) >= assigned[:, None]
    return (RANK[trick] * waiting).sum(axis=1).astype(np.float32)


def fail_chance(need: F32, left: F32, trump: NDArray[np.int8], weights: Weights) -> F32:
    """Chance that fields fail that lack `need` hours [n, 4] with `left` [n] still to come."""
    ahead = weights.trump_pull * (trump[:, None] == _CROPS)
    share = need / np.maximum(left, 1)[:, None] - ahead.astype(np.float32)
    drift = np.clip(weights.fail_slope * (share - weights.fail_middle), -30, 30)
    chance = 1 / (1 + np.exp(-drift))
    return np.where(need <= 0, 0, np.where(need > left[:, None], 1, chance)).astype(np.float32)


def failing(
    need: F32,
    left: F32,
    trump: NDArray[np.int8],
    sabotaged: NDArray[np.bool_],
    at_large: NDArray[np.bool_],
    weights: Weights,
) -> F32:
    """Chance that each field fails, float32[n, 4]; `at_large`: the Saboteur may still come."""
    chance = fail_chance(need, left, trump, weights)
    risk = np.where(at_large & (left > 0), np.float32(weights.saboteur), np.float32(0))
    return np.where(sabotaged, np.float32(1), 1 - (1 - chance) * (1 - risk)[:, None])


def losses(fail: F32, stakes: F32, counts: F32) -> F32:
    """Ranks that each seat can expect to lose if inspected, float32[n, P]."""
    failed = fail.sum(axis=1)[:, None]
    pool = (counts @ fail[:, :, None])[:, :, 0]
    taken = np.minimum(1, failed / np.maximum(pool, np.float32(0.01)))
    return (stakes @ fail[:, :, None])[:, :, 0] * taken
