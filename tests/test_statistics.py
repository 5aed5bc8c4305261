"""Intervals against outcomes whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kolkhoz_agents.statistics import (
    PILOT_DEALS,
    Bootstrap,
    Estimate,
    deals_for_width,
    interval,
    play_until_width,
    t_quantile,
)

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def luck_of_the_deal(generator: np.random.Generator, deals: int, runs: int) -> np.ndarray:
    """Shares [deals, runs]: four games a deal that share their luck, truth 0.25."""
    luck = generator.beta(0.5, 1.5, (deals, runs))
    return generator.binomial(4, luck) / 4


def lone_wins(generator: np.random.Generator, deals: int, runs: int) -> np.ndarray:
    """A weak agent's shares, truth 0.05."""
    return generator.binomial(4, 0.05, (deals, runs)) / 4


def scores(generator: np.random.Generator, deals: int, runs: int) -> np.ndarray:
    """Lopsided scores, truth 20."""
    return generator.gamma(2.0, 10.0, (deals, runs))


def coverage(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([one.low <= truth <= one.high for one in estimates]))


@pytest.mark.parametrize(
    ("draw", "truth", "deals"),
    [
        (luck_of_the_deal, 0.25, 30),
        (luck_of_the_deal, 0.25, 150),
        (luck_of_the_deal, 0.25, 2100),
        (lone_wins, 0.05, 150),
        (scores, 20.0, 60),
        (scores, 20.0, 1500),
    ],
)
def test_the_interval_covers_the_truth_95_times_in_100(
    draw: Draw, truth: float, deals: int
) -> None:
    runs = 1500
    parts = draw(np.random.default_rng(deals), deals, runs)
    found = coverage(Bootstrap(deals, seed=1).estimates(parts, np.ones_like(parts)), truth)
    assert 0.93 <= found <= 0.97


@pytest.mark.parametrize("deals", [2, 3, 5, 7])
def test_very_few_deals_are_covered_too(deals: int) -> None:
    generator = np.random.default_rng(deals)
    covered = []
    for seed in range(600):
        scores = generator.normal(10, 3, (deals, 1))
        estimate = Bootstrap(deals, seed, 500).estimates(scores, np.ones((deals, 1)))[0]
        covered.append(estimate.low <= 10 <= estimate.high)
    assert 0.93 <= np.mean(covered) <= 0.98


def test_deals_are_the_unit_and_not_games() -> None:
    # Eight games that all end alike say no more than one.
    wins = np.random.default_rng(0).random((100, 800)) < 0.25
    parts = np.repeat(wins, 8, axis=0).astype(float)
    by_deal = Bootstrap(100).estimates(8.0 * wins, np.full(wins.shape, 8.0))
    by_game = Bootstrap(800).estimates(parts, np.ones_like(parts))
    assert 0.93 <= coverage(by_deal, 0.25) <= 0.97
    assert coverage(by_game, 0.25) < 0.6


def test_a_ratio_of_sums_covers_its_truth() -> None:
    # What a seat does when it has the chance: 0, 1 or more chances a deal.
    generator = np.random.default_rng(5)
    chances = generator.poisson(1.2, (200, 1000)).astype(float)
    done = generator.binomial(chances.astype(int), 0.3).astype(float)
    assert 0.93 <= coverage(Bootstrap(200).estimates(done, chances), 0.3) <= 0.97


def test_differences_are_compared_with_the_same_draws() -> None:
    generator = np.random.default_rng(2)
    luck = generator.normal(0, 5, (120, 1000))
    first, second = (
        luck + generator.normal(1, 1, luck.shape),
        luck + generator.normal(0, 1, luck.shape),
    )
    ones, bootstrap = np.ones_like(luck), Bootstrap(120)
    low, high = interval(
        bootstrap.replicates(first, ones) - bootstrap.replicates(second, ones), 120
    )
    assert 0.93 <= np.mean((low <= 1) & (high >= 1)) <= 0.97
    assert np.mean(high - low) < 0.6


def test_nothing_passes_for_certain() -> None:
    never, always = Bootstrap(100).shares(np.tile([0.0, 1.0], (100, 1)), np.ones((100, 2)))
    assert (never.mean, never.low) == (0.0, 0.0)
    assert never.high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert (always.mean, always.high) == (1.0, 1.0)
    assert always.low == pytest.approx(0.025 ** (1 / 100))
    # Three deals of 75% each: 1 - 0.025 ** (1 / 3) = 0.708 of all deals may still be others.
    agreed = Bootstrap(3).shares(np.full((3, 1), 3.0), np.full((3, 1), 4.0))[0]
    assert agreed.mean == 0.75
    assert agreed.low == pytest.approx(0.75 * 0.025 ** (1 / 3))
    assert agreed.high == pytest.approx(agreed.low + 1 - 0.025 ** (1 / 3))
    one = Bootstrap(1).shares(np.array([[0.5]]), np.array([[1.0]]))[0]
    assert (one.mean, one.low, one.high) == (0.5, 0.0, 1.0)
    score = Bootstrap(1).estimates(np.array([[7.0]]), np.array([[1.0]]))[0]
    assert score.as_list() == [7.0, None, None]
    missing = Bootstrap(3).estimates(np.zeros((3, 1)), np.zeros((3, 1)))[0]
    assert missing.as_list() == [None, None, None]


def test_the_same_seed_gives_the_same_interval() -> None:
    parts = np.random.default_rng(0).random((300, 2))
    first, again, other = (
        Bootstrap(300, seed).estimates(parts, np.ones_like(parts)) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first[0].width == pytest.approx(other[0].width, rel=0.2)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)],
)
def test_students_t(freedom: int, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, rel=0.002)


@pytest.mark.parametrize(("draw", "truth"), [(luck_of_the_deal, 0.25), (lone_wins, 0.05)])
def test_stopping_at_a_width_keeps_the_coverage(draw: Draw, truth: float) -> None:
    width = {0.25: 0.055, 0.05: 0.02}[truth]
    covered, played = [], []
    for run in range(150):
        shares = draw(np.random.default_rng([7, run]), 4000, 1)
        deals = play_until_width(lambda count, shares=shares: shares[:count], width, 4000)
        estimate = Bootstrap(deals).shares(shares[:deals], np.ones((deals, 1)))[0]
        assert estimate.width <= width
        covered.append(estimate.low <= truth <= estimate.high)
        played.append(deals)
    assert PILOT_DEALS < np.mean(played) < 1200
    # Two standard errors of 150 runs are 0.036.
    assert np.mean(covered) >= 0.914


def test_the_number_of_deals_follows_from_the_spread() -> None:
    shares = np.random.default_rng(0).integers(0, 2, (2000, 1)).astype(float)
    assert deals_for_width(shares, 0.04) == pytest.approx((2 * 1.96 * 0.5 / 0.04) ** 2, rel=0.02)
    assert deals_for_width(shares, 0.02) == pytest.approx(
        4 * deals_for_width(shares, 0.04), rel=0.01
    )
    assert deals_for_width(shares[:, [0, 0]], 0.04) == deals_for_width(shares, 0.04)
    assert deals_for_width(np.zeros((50, 1)), 0.5) == PILOT_DEALS
    assert play_until_width(lambda count: shares[:count], 0.001, 700) == 700


def test_an_estimate_as_json() -> None:
    assert Estimate(0.5, 0.25, 0.75).as_list() == [0.5, 0.25, 0.75]
    assert Estimate(0.5, math.nan, math.nan).as_list() == [0.5, None, None]
