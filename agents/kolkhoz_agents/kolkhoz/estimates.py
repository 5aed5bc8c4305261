"""What a scripted player estimates from its knowledge: how fields will end and what is at stake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, NO_CROP, RANK, SABOTEUR_BIT
from kolkhoz_env.knowledge import Knowledge
from kolkhoz_env.rules import ASSIGN
from kolkhoz_env.state import EMPTY, HIDDEN, PLACE_HIGHEST, State

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
    """Estimates for n decisions of one seat each, P seats, four crops.

    Attributes:
        state: the redacted games.
        seats: int8[n], the seat to act.
        hand: uint64[n].
        unseen: uint64[n], cards whose place the seat does not know.
        stakes: float32[n, P, 4], expected ranks in Plot and Cellar by crop.
        counts: float32[n, P, 4], expected number of cards there.
        left: float32[n], hours that the tricks not yet assigned bring, about.
        fail: float32[n, 4], chance that each field fails.
        loss: float32[n, P], what each seat would lose if it were inspected.
        inspected: bool[n, P], seats with a Medal.
    """

    state: State
    seats: NDArray[np.int8]
    hand: NDArray[np.uint64]
    unseen: NDArray[np.uint64]
    stakes: F32
    counts: F32
    left: F32
    fail: F32
    loss: F32
    inspected: NDArray[np.bool_]

    @property
    def games(self) -> NDArray[np.int64]:
        """0 .. n-1, for indexing."""
        return np.arange(self.state.size)


def _sums() -> F32:
    """float32[64, 8]: what a card adds to the ranks and the counts of each crop."""
    sums = np.zeros((64, 8), dtype=np.float32)
    for card in range(52):
        sums[card, card // 13] = RANK[card]
        sums[card, 4 + card // 13] = 1
    return sums


_SUMS = _sums()


def by_crop(zones: NDArray[np.uint64]) -> tuple[F32, F32]:
    """Summed ranks and number of cards by crop of zones uint64[...], float32[..., 4] each."""
    octets = np.ascontiguousarray(zones).view(np.uint8)
    bits = np.unpackbits(octets, bitorder="little").reshape(-1, 64)
    sums = (bits.astype(np.float32) @ _SUMS).reshape(*zones.shape, 8)
    return sums[..., :4], sums[..., 4:]


def estimate(
    known: Knowledge, quota: int, tricks: int, famine_year: int, weights: Weights
) -> Position:
    """The estimates for each decision of `known`."""
    state, seats = known.state, known.seats
    games = np.arange(state.size)
    unseen = known.unseen()
    stakes, counts = holdings_by_crop(state)
    total = tricks - (state.year == famine_year)
    players = state.players
    waiting = players * (total - state.trick_number) - state.assigned
    left = (waiting * MEAN_RANK).astype(np.float32)
    assigning = np.flatnonzero(state.phase == ASSIGN)
    if assigning.size:
        left[assigning] += trick_hours(state, assigning) - MEAN_RANK * (
            players - state.assigned[assigning]
        )
    fail = failing(state, left, quota, unseen, weights)
    return Position(
        state=state,
        seats=seats,
        hand=state.hands[games, seats],
        unseen=unseen,
        stakes=stakes,
        counts=counts,
        left=left,
        fail=fail,
        loss=losses(fail, stakes, counts),
        inspected=state.medals > 0,
    )


def holdings_by_crop(state: State) -> tuple[F32, F32]:
    """Expected ranks and cards of each Plot and Cellar by crop, float32[n, P, 4] each."""
    held = state.plots | np.bitwise_or.reduce(BIT[state.cellars], axis=2)
    stakes, counts = by_crop(held)
    hidden = state.cellars == HIDDEN
    if hidden.any():
        highest = state.places[..., PLACE_HIGHEST : PLACE_HIGHEST + NO_CROP]
        possible = (highest > 4) & hidden[..., None]
        chance = possible / np.maximum(possible.sum(axis=-1, keepdims=True), 1)
        counts = counts + chance.sum(axis=2, dtype=np.float32)
        ranks = np.minimum(highest, 13) / 2 + 2.5
        stakes = stakes + (chance * ranks).sum(axis=2, dtype=np.float32)
    return stakes, counts


def trick_hours(state: State, rows: NDArray[np.int64]) -> F32:
    """Hours of the cards of the trick that are still to be assigned, float32[n]."""
    waiting = np.arange(state.players) >= state.assigned[rows, None]
    ranks = RANK[state.trick[rows]] * (waiting & (state.trick[rows] != EMPTY))
    return ranks.sum(axis=1).astype(np.float32)


def fail_chance(need: F32, left: F32, pull: F32 | float, weights: Weights) -> F32:
    """Chance that a field fails that lacks `need` hours with `left` hours still to come."""
    share = need / np.maximum(left, 1) - pull
    drift = np.clip(weights.fail_slope * (share - weights.fail_middle), -30, 30)
    chance = 1 / (1 + np.exp(-drift))
    return np.where(need <= 0, 0, np.where(need > left, 1, chance)).astype(np.float32)


def failing(
    state: State, left: F32, quota: int, unseen: NDArray[np.uint64], weights: Weights
) -> F32:
    """Chance that each field fails, float32[n, 4]."""
    need = (quota - state.hours).astype(np.float32)
    pull = weights.trump_pull * (np.arange(NO_CROP) == state.trump[:, None])
    chance = fail_chance(need, left[:, None], pull, weights)
    at_large = (unseen & SABOTEUR_BIT != 0) & (left > 0)
    chance = 1 - (1 - chance) * (1 - weights.saboteur * at_large[:, None])
    return np.where((state.fields & SABOTEUR_BIT) != 0, np.float32(1), chance).astype(np.float32)


def losses(fail: F32, stakes: F32, counts: F32) -> F32:
    """Ranks that each seat can expect to lose if inspected, float32[n, P]."""
    failed = fail.sum(axis=1)[:, None]
    pool = np.einsum("nc,npc->np", fail, counts)
    taken = np.minimum(1, failed / np.maximum(pool, 0.01))
    return np.einsum("nc,npc->np", fail, stakes) * taken
