"""What a scripted player estimates from its knowledge: how fields will end and what is at stake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import BIT, CROP, NO_CROP, ONE, RANK, SABOTEUR, U64, single_card
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
    `saboteur` the risk of an unseen Saboteur; `kept` is how surely the best hand card gets banked.
    Assigning: `others` weighs another seat's loss against one's own, `unsure` the risk that a seat
    without a Medal gets one, `reward` is what a claimed card is worth beyond its rank, `hero_hope`
    the chance to win a further trick of a seat that has won all. Tricks: `medal` scales the loss
    that the first Medal brings, `control` is the worth of assigning, `rewards` of the rewards
    within reach, `again` and `guard` (per rank at stake) the extra for a seat that has its Medal
    already; `hero` the share of the others' stakes that a Hero gains, `hero_power` and `hero_plain`
    how likely a card (not of trump) wins when it is meant to; `rival` how surely another seat
    becomes Hero that has won all but the last trick, `deny` what its stake is worth then; `trumped`
    how often somebody who can win does, `keep` the worth of the card to bank, `spare` of the one
    behind it; `danger`, `danger_power`, `off_trump` say how likely a card kept wins against one's
    will. Banking and swaps: `exposed` is the risk that a card in a failed field is taken,
    `threshold` the least gain of a swap, `swapped` the worth of a better hand, `banked` of its best
    card. Trump: `hand` is the worth of the hand, `length` and `strength` those of the crop in hand,
    `stake` of cards already held, `prize` of the crop's reward.
    """

    fail_slope: float = 5.92
    fail_middle: float = 0.25
    trump_pull: float = 0.05
    saboteur: float = 0.15
    kept: float = 0.65
    others: float = 0.35
    unsure: float = 0.11
    reward: float = 1.21
    medal: float = 0.92
    control: float = 0.58
    rewards: float = 0.26
    again: float = 1.21
    guard: float = 0.16
    hero: float = 1.2
    hero_power: float = 1.0
    hero_plain: float = 0.8
    hero_hope: float = 0.4
    rival: float = 0.8
    deny: float = 0.35
    trumped: float = 0.38
    keep: float = 0.33
    spare: float = 0.09
    danger: float = 0.68
    danger_power: float = 1.37
    off_trump: float = 0.23
    exposed: float = 0.41
    threshold: float = 0.3
    swapped: float = 0.9
    banked: float = 0.5
    hand: float = 1.0
    length: float = 3.0
    strength: float = 0.21
    stake: float = 0.03
    prize: float = 0.08


@dataclass(frozen=True)
class Position:
    """What the heuristic weighs in n decisions of one seat each: P seats, four crops.

    Attributes:
        year, trump, trick_size, trick_number, assigned, led, best, taken: as in the state, int[n].
        remaining: int64[n], tricks not finished yet, this one included.
        seats: int8[n], the seat to act.
        medals: int8[n, P]; trick: int8[n, P]; hours: int16[n, 4]; rewards: int8[n, 4], the rank
            of each field's reward of the year, 0 once it is paid.
        hand: uint64[n]; unseen: uint64[n], cards whose place the seat does not know.
        cards: int8[n, 5], the hand card by card, -1 beyond; bank: float32[n, 5], what each is
            worth in the Cellar.
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
    remaining: NDArray[np.int64]
    assigned: NDArray[np.int8]
    led: NDArray[np.int8]
    best: NDArray[np.uint8]
    seats: NDArray[np.int8]
    medals: NDArray[np.int8]
    trick: NDArray[np.int8]
    hours: NDArray[np.int16]
    rewards: NDArray[np.int8]
    taken: NDArray[np.int8]
    hand: NDArray[np.uint64]
    unseen: NDArray[np.uint64]
    cards: NDArray[np.int8]
    bank: F32
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
    sabotaged = state.fields[:, :, SABOTEUR] == 1
    at_large = (unseen >> U64(SABOTEUR)) != 0
    need = (rules.field_quota - state.hours).astype(np.float32)
    fail = failing(need, left, state.trump, sabotaged, at_large, weights)
    paid = (state.claimed[:, None] >> _CROPS.astype(np.uint8)) & 1
    rewards = np.maximum(RANK[state.piles[games, :, year - 1]], 0) * (1 - paid)
    hand = state.hands[games, seats]
    cards = hand_cards(hand, rules.tricks + 1)
    bank = banking(cards, fail, weights)
    _add_banked(stakes, counts, seats, cards, bank, weights)
    return Position(
        year=year,
        trump=state.trump,
        trick_size=state.trick_size,
        trick_number=state.trick_number,
        remaining=tricks - state.trick_number,
        assigned=state.assigned,
        led=state.led,
        best=state.best,
        seats=seats,
        medals=state.medals,
        trick=state.trick,
        hours=state.hours,
        rewards=rewards.astype(np.int8),
        taken=state.taken,
        hand=hand,
        unseen=unseen,
        cards=cards,
        bank=bank,
        sabotaged=sabotaged,
        stakes=stakes,
        counts=counts,
        left=left,
        fail=fail,
        loss=losses(fail, stakes, counts),
    )


def hand_cards(hand: NDArray[np.uint64], most: int) -> NDArray[np.int8]:
    """The cards of hands uint64[n] as int8[n, most], -1 beyond."""
    cards = np.full((hand.size, most), -1, dtype=np.int8)
    rest = hand.copy()
    for place in range(most):
        low = rest & (~rest + ONE)
        cards[:, place] = np.where(low != 0, single_card(low), -1)
        rest ^= low
    return cards


def banking(cards: NDArray[np.int8], fail: F32, weights: Weights) -> F32:
    """What each hand card is worth in the Cellar, float32[n, k]; 0 for no card."""
    crop = np.minimum(CROP[cards], NO_CROP - 1).astype(np.int64)
    risk = np.take_along_axis(fail, crop, axis=1)
    return (RANK[cards] * (1 - weights.exposed * risk)).astype(np.float32)


def _add_banked(
    stakes: F32,
    counts: F32,
    seats: NDArray[np.int8],
    cards: NDArray[np.int8],
    bank: F32,
    weights: Weights,
) -> None:
    """Count the best hand card as held already, as surely as it will be banked."""
    games = np.arange(len(seats))
    best = cards[games, bank.argmax(axis=1)]
    sure = np.where((cards >= 0).sum(axis=1) == 1, 1, weights.kept).astype(np.float32)
    crop = np.minimum(CROP[best], NO_CROP - 1).astype(np.int64)
    stakes[games, seats, crop] += sure * RANK[best]
    counts[games, seats, crop] += sure * (RANK[best] > 0)


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


def further_losses(fail: F32, stakes: F32, counts: F32) -> F32:
    """What each seat loses more, if inspected, when a field fails than when not: [n, P, 4]."""
    failed = fail.sum(axis=1)[:, None, None]
    share = fail[:, None, :]
    at_stake = (stakes @ fail[:, :, None]) - share * stakes
    pool = (counts @ fail[:, :, None]) - share * counts
    least = np.float32(0.01)
    others = failed - share
    kept = at_stake * np.minimum(1, others / np.maximum(pool, least))
    taken = np.minimum(1, (others + 1) / np.maximum(pool + counts, least))
    return (at_stake + stakes) * taken - kept
