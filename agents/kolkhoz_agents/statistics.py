"""Means over deals with intervals that can be trusted.

A deal is the unit: its games (all seat rotations of all tables) share one deck, so they are not
independent of each other, but deals are. Every figure here is a ratio of two sums over deals, and
its interval comes from drawing whole deals anew with replacement (the bootstrap), all figures of
a result with the same draws. Percentiles are widened for few deals as Student's t is, which
takes their place where deals are very few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.protocol import FloatArray

LEVEL = 0.95
REPLICATES = 2000
MOST_BLOCKS = 1024
PILOT_DEALS = 200
"""The fewest deals that say enough about the spread of the others."""
FEW_DEALS = 8
"""With fewer, no draw of deals leaves what they span: Student's t takes the percentiles' place."""
_SAME = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; `low` and `high` are NaN where one deal is all there is."""

    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter((self.mean, self.low, self.high))

    def as_list(self) -> list[float | None]:
        """[mean, low, high] for JSON, None where unknown."""
        return [None if math.isnan(value) else float(value) for value in self]


class Bootstrap:
    """Draws of deals that serve all figures of one result.

    `deals` is their number. More than 1,024 deals are drawn in blocks of neighbours (deals are
    independent of each other, so blocks are too), which keeps the cost the same for any number.
    """

    def __init__(self, deals: int, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.deals = deals
        self.blocks = min(deals, MOST_BLOCKS)
        self.starts = np.arange(self.blocks) * deals // max(self.blocks, 1)
        self.weights = _multinomial(self.blocks, replicates, seed)

    def replicates(self, numerator: FloatArray, denominator: FloatArray) -> NDArray[np.float64]:
        """float64[R, K] ratios of drawn sums, from parts [D, K] of K figures."""
        top = self.weights @ np.add.reduceat(_columns(numerator), self.starts, axis=0)
        bottom = self.weights @ np.add.reduceat(_columns(denominator), self.starts, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(top / bottom, dtype=np.float64)

    def estimates(self, numerator: FloatArray, denominator: FloatArray) -> list[Estimate]:
        """One estimate for each of K figures from parts [D, K]."""
        numerator, denominator = _columns(numerator), _columns(denominator)
        if self.deals < 2:
            with np.errstate(invalid="ignore", divide="ignore"):
                means = numerator.sum(axis=0) / denominator.sum(axis=0)
            return [Estimate(float(mean), math.nan, math.nan) for mean in means]
        bounds = interval(self.replicates(numerator, denominator), self.deals)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = numerator.sum(axis=0) / denominator.sum(axis=0)
        return [Estimate(*map(float, row)) for row in zip(means, *bounds, strict=True)]

    def shares(self, numerator: FloatArray, denominator: FloatArray) -> list[Estimate]:
        """The same for figures between 0 and 1, with honest bounds where all deals agree.

        Where every deal says the same no draw says anything else. Others may then still be as
        many as go unseen one time in forty (Clopper and Pearson), and these may say 0, or 1.
        """
        others = 1.0 - ((1.0 - LEVEL) / 2) ** (1.0 / max(self.deals, 1))
        result = []
        for mean, low, high in self.estimates(numerator, denominator):
            if math.isnan(low) and mean not in (0.0, 1.0):
                low, high = 0.0, 1.0
            elif math.isnan(low) or high - low < _SAME:
                low = mean * (1.0 - others)
                high = low + others
            result.append(Estimate(mean, max(low, 0.0), min(high, 1.0)))
        return result


def _columns(values: FloatArray) -> NDArray[np.float64]:
    columns: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    return columns[:, None] if columns.ndim == 1 else columns


def _multinomial(blocks: int, replicates: int, seed: int) -> NDArray[np.float64]:
    """float64[R, G]: how often each block is drawn, G draws a replicate."""
    generator = np.random.default_rng([seed, blocks])
    drawn = generator.integers(0, max(blocks, 1), size=(replicates, blocks))
    drawn += np.arange(replicates)[:, None] * blocks
    counts = np.bincount(drawn.ravel(), minlength=replicates * blocks)
    return counts.reshape(replicates, blocks).astype(np.float64)


def interval(replicates: FloatArray, deals: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high float64[K] of replicates [R, K]: percentiles, widened for few deals.

    With fewer than `FEW_DEALS`: the mean and Student's t times the standard error, which is the
    spread of the replicates.
    """
    finite = np.where(np.isfinite(replicates), replicates, np.nan)
    low, high = np.full((2, finite.shape[1]), np.nan)
    known = ~np.isnan(finite).all(axis=0)
    if not known.any():
        return low, high
    some = finite[:, known]
    if deals < FEW_DEALS:
        mean, error = np.nanmean(some, axis=0), np.nanstd(some, axis=0)
        reach = t_quantile(0.5 + LEVEL / 2, deals - 1) * math.sqrt(deals / (deals - 1)) * error
        low[known], high[known] = mean - reach, mean + reach
    else:
        tail = tail_probability(deals)
        low[known], high[known] = np.nanquantile(some, [tail, 1 - tail], axis=0)
    return low, high


def tail_probability(deals: int, level: float = LEVEL) -> float:
    """The percentile at which a bootstrap of `deals` deals is as wide as Student's t asks."""
    wide = t_quantile(0.5 + level / 2, deals - 1) * math.sqrt(deals / (deals - 1))
    return NormalDist().cdf(-wide)


def t_quantile(probability: float, freedom: int) -> float:
    """Student's t quantile, to three digits from 3 degrees of freedom on (Cornish and Fisher).

    One and two degrees have closed forms.
    """
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        spread = 2 * probability - 1
        return spread * math.sqrt(2 / (1 - spread**2))
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def spread(shares: FloatArray) -> NDArray[np.float64]:
    """float64[K]: standard deviation over deals of shares [D, K], never quite zero.

    Two deals are imagined beside those seen, one of 0 and one of 1, so that a few deals that
    happen to agree don't pass for certainty.
    """
    shares = _columns(shares)
    seen = np.concatenate([shares, np.zeros_like(shares[:1]), np.ones_like(shares[:1])])
    return np.asarray(seen.std(axis=0, ddof=1), dtype=np.float64)


def deals_for_width(shares: FloatArray, width: float) -> int:
    """How many deals make every interval `width` wide, from the spread of shares [D, K] so far.

    The means play no part, so that stopping at this number does not favour lucky means: the
    interval over the deals keeps its coverage (Stein's two stages; see docs/evaluation.md).
    """
    deals = len(shares)
    quantile = t_quantile(0.5 + LEVEL / 2, max(deals - 1, 1))
    needed = (2 * quantile * spread(shares).max() / width) ** 2
    return max(math.ceil(needed), PILOT_DEALS)


def play_until_width(play_to: Callable[[int], FloatArray], width: float, most: int) -> int:
    """Plays as many deals as make every interval at most `width` wide; returns their number.

    `play_to(n)` plays the deals up to n and returns the shares [n, K] of all of them. A first part
    of 200 deals sets the number; a later look only ever adds deals for want of narrowness. No more
    than `most` deals are played.
    """
    deals = min(PILOT_DEALS, most)
    while True:
        shares = play_to(deals)
        needed = deals_for_width(shares, width)
        found = Bootstrap(deals).shares(shares, np.ones_like(shares))
        widest = max(estimate.width for estimate in found)
        if widest > width:
            needed = max(needed, math.ceil(1.05 * deals))
        if needed <= deals or deals >= most:
            return deals
        deals = min(needed, most)
