"""Watching agents: what is kept agrees with the engine's own counters and with the referee."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kolkhoz_agents.kolkhoz import study_field_plots, study_plots
from kolkhoz_agents.kolkhoz.study import FROM_PLOT, NO_SWAP, Study, crop_of, rank_of, watch
from kolkhoz_agents.referee import METRICS, Referee
from kolkhoz_agents.registry import make_agent
from kolkhoz_env.game import make_game
from kolkhoz_env.rules import Rules

DEALS, SEED = 40, 5
SEATINGS = [[0, 1, 1, 1], [1, 0, 1, 1]]
GAME = make_game()


@pytest.fixture(scope="module")
def study() -> Study:
    agents = [make_agent(name, GAME) for name in ("heuristic", "random")]
    return watch(agents, deals=DEALS, seed=SEED, seatings=SEATINGS)


def test_the_referee_sees_the_same_games(study: Study) -> None:
    agents = [make_agent(name, GAME) for name in ("heuristic", "random")]
    played = Referee(GAME, agents, np.array(SEATINGS, dtype=np.int8), SEED).play(np.arange(DEALS))
    shares = played.values[..., METRICS.index("win_share")].reshape(-1, 4)
    scores = played.values[..., METRICS.index("score")].reshape(-1, 4)
    np.testing.assert_array_equal(study.years.win_share, shares)
    np.testing.assert_array_equal(study.years.score[:, -1], scores)
    assert study.games == DEALS * len(SEATINGS)


def test_rows_agree_with_the_counters(study: Study) -> None:
    years = study.years
    assert (years.count("medals").sum(axis=2) == [4, 4, 4, 4, 3]).all()
    assert study.assignments.completes.sum() == years.count("fields_completed").sum()
    assert len(study.assignments) == study.games * 4 * 19
    assert rank_of(study.banked.card).sum() == years.count("banked_ranks").sum()
    made = study.swaps.zone != NO_SWAP
    assert made.sum() == years.count("swaps").sum()
    gain = rank_of(study.swaps.given[made]) - rank_of(study.swaps.taken[made])
    assert gain.sum() == years.count("swap_gain").sum()
    assert len(study.trumps) == study.games * 4
    assert (np.bincount(study.trumps.crop) == years.counts.sum(axis=(0, 1, 2))[-4:]).all()
    assert len(study.saboteurs) == years.count("saboteurs").sum()


def test_what_was_looked_at_makes_sense(study: Study) -> None:
    trumps, swaps, banked = study.trumps, study.swaps, study.banked
    held = trumps.cards.sum(axis=1)
    assert set(held.tolist()) <= {4, 5}  # the fifth may be the Saboteur
    assert (trumps.reward > 0).all()
    assert not trumps.own[trumps.year == 1].any()
    assert (swaps.year > 1).all()
    assert set(swaps.trump[swaps.year < 5].tolist()) <= {0, 1, 2, 3}
    assert (swaps.taken[swaps.zone == FROM_PLOT] >= 0).all()
    assert len(banked) == study.games * 5 * 4
    assert (banked.card >= 0).all()
    assert 0 < banked.stayed.mean() < 1
    # A card stays unless requisition takes it, and only cards of failed crops are taken.
    fell = ~banked.stayed & (crop_of(banked.card) < 4)
    failed = study.years.failed[banked.game, banked.year - 1, crop_of(banked.card) % 4]
    assert failed[fell].all()


def test_years_hold_together(study: Study) -> None:
    years = study.years
    assert (years.claimed == (years.hours >= 40)).all()
    assert (years.failed == ((years.hours < 40) | years.sabotaged)).all()
    assert (years.sabotaged.sum(axis=2) <= 1).all()
    gained = years.count("reward_ranks") + years.count("banked_ranks") + years.count("swap_gain")
    change = np.diff(years.score, axis=1, prepend=0)
    assert (change == gained - years.count("ranks_north")).all()
    banked = years.saboteur_banked.sum()
    assert banked == (study.banked.card == 52).sum()


def test_three_players_and_shorter_games() -> None:
    rules = Rules(players=3, years=2, famine_year=0)
    study = watch([make_agent("random", make_game(rules.to_dict()))], deals=10, rules=rules)
    assert study.years.score.shape == (10, 2, 3)
    assert set(study.assignments.quota.tolist()) == {32}


@pytest.mark.parametrize("name", ["trump_choices", "swapping", "banking"])
def test_pictures_of_choices(name: str, study: Study, tmp_path: Path) -> None:
    figure = getattr(study_plots, name)({"one": study, "other": study})
    figure.savefig(tmp_path / "picture.png")


YEAR_PICTURES = ["field_years", "assignment", "year_balance", "requisition", "scores", "saboteur"]


@pytest.mark.parametrize("name", YEAR_PICTURES)
def test_pictures_of_years(name: str, study: Study, tmp_path: Path) -> None:
    figure = getattr(study_field_plots, name)({"one": study, "other": study})
    figure.savefig(tmp_path / "picture.png")


def test_headline_and_map(study: Study) -> None:
    assert study_plots.trump_map(study, "both").axes
    found = study_field_plots.headline(study)
    assert found["games"] == study.games
    assert 0 < found["rank banked"] < 13
    uses = study_field_plots.saboteur_uses(study)
    assert sum(uses.values()) == len(study.saboteurs) + study.years.saboteur_banked.sum()


def test_a_share_lies_in_its_interval() -> None:
    for hits, of in ((0, 7), (3, 7), (7, 7), (250, 1000)):
        share, low, high = study_plots.wilson(hits, of)
        assert 0 <= low <= share == hits / of <= high <= 1
