"""The scripted players of Kolkhoz: legal, repeatable, and good at what they are meant to be."""

from __future__ import annotations

import numpy as np
import pytest

from kolkhoz_agents.kolkhoz.estimates import (
    Weights,
    estimate,
    fail_chance,
    further_losses,
    hand_cards,
    losses,
)
from kolkhoz_agents.kolkhoz.fields import score_fields
from kolkhoz_agents.kolkhoz.tricks import STRENGTH, STRONGER
from kolkhoz_agents.protocol import Agent, Decisions
from kolkhoz_agents.referee import Referee, make_decisions
from kolkhoz_agents.registry import make_agent
from kolkhoz_env.cards import BIT, PASS, RANK, U64, card_number, cards_in, zone_of
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.rules import ASSIGN, PLAY, SWAP_GIVE, SWAP_TAKE, TRUMP, Rules
from kolkhoz_env.state import COUNTER
from kolkhoz_env.vector import VectorKolkhoz

SCRIPTED = ("greedy", "heuristic")


def asked(game: KolkhozGame, table: VectorKolkhoz, agent: Agent, rows: np.ndarray) -> Decisions:
    return make_decisions(game, table, rows, table.legal_mask()[rows], 1, agent.needs)


@pytest.mark.parametrize("name", SCRIPTED)
@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(players=3),
        Rules(players=2, crops=3, ranks=9, tricks=3, low_rewards=2, years=3, famine_year=3),
        Rules(saboteur=False, hero_of_labor=False, swaps=False),
    ],
)
def test_whole_games_are_legal_and_each_decision_stands_alone(name: str, rules: Rules) -> None:
    game = KolkhozGame(rules)
    agent = make_agent(name, game)
    table = game.table(3, np.arange(12))
    while not table.over.all():
        rows = np.flatnonzero(~table.over)
        actions = np.zeros(table.size, dtype=np.int64)
        actions[rows] = agent.act(asked(game, table, agent, rows))
        one = rows[table.decision[rows[0]] % len(rows)]
        alone = agent.act(asked(game, table, agent, np.array([one])))
        assert alone.tolist() == [actions[one]]
        table.step(actions)  # raises for an illegal one
    assert table.size == 12


def figures(name: str, against: str, deals: int) -> dict[str, float]:
    """Mean win share of one seat against three, and its Kolkhoz statistics."""
    game = KolkhozGame()
    agents = [make_agent(name, game), make_agent(against, game)]
    seatings = np.where(np.eye(4, dtype=bool), 0, 1).astype(np.int8)
    played = Referee(game, agents, seatings, seed=17).play(np.arange(deals))
    own = played.values[:, np.arange(4), np.arange(4)].mean(axis=(0, 1))
    return {"win_share": float(own[0])} | {
        counter: float(own[4 + column]) for counter, column in COUNTER.items()
    }


def test_greedy_beats_random_and_the_heuristic_by_far() -> None:
    assert figures("greedy", "random", 120)["win_share"] > 0.32
    found = figures("heuristic", "random", 150)
    assert found["win_share"] > 0.58
    assert found["banked_ranks"] / 5 > 8  # a random hand card has rank 9, a random bank less
    assert found["swap_gain"] > 6
    assert found["inspections"] < 3.2


# Fields and losses ----------------------------------------------------------------------------


def test_a_field_fails_the_likelier_the_more_it_lacks() -> None:
    need = np.array([[0.0, 10, 25, 40], [41, 40, 30, -3]], dtype=np.float32)
    left = np.array([120.0, 39], dtype=np.float32)
    trump = np.array([2, 4], dtype=np.int8)
    chance = fail_chance(need, left, trump, Weights())
    assert chance[0, 0] == 0
    assert 0 < chance[0, 1] < chance[0, 3] < 1
    assert chance[1].tolist()[:2] == [1, 1]
    assert chance[1, 3] == 0


def test_losses_count_the_highest_cards_of_failed_crops() -> None:
    fail = np.array([[1.0, 0, 0, 0]], dtype=np.float32)
    stakes = np.array([[[12.0, 0, 0, 9], [20, 5, 0, 0]]], dtype=np.float32)
    counts = np.array([[[1.0, 0, 0, 1], [2, 1, 0, 0]]], dtype=np.float32)
    assert losses(fail, stakes, counts).tolist() == [[12, 10]]
    further = further_losses(fail, stakes, counts)
    assert further[0, 0, 0] == 12  # Wheat alone decides
    assert further[0, 0, 3] == 9  # a second failed field takes the other card too
    assert further[0, 1, 2] == 10  # Potato: no card there, but one card more of the Wheat


# Tricks ---------------------------------------------------------------------------------------


def test_cards_that_beat_a_card() -> None:
    wheat, beet, none = 0, 3, 4
    stronger = STRONGER[wheat, beet, card_number("B11")]
    assert int(stronger) == zone_of(["B12", "B13", "X0", *[f"W{r}" for r in range(1, 14)]])
    assert STRONGER[none, beet, card_number("W13")] != 0
    assert STRENGTH[wheat, beet, card_number("S13")] == 0
    hands = np.array([zone_of(["W1", "P7", "X0"]), 0], dtype=U64)
    assert hand_cards(hands, 4).tolist() == [[0, card_number("P7"), 52, -1], [-1, -1, -1, -1]]


def position_at(phase: int, seed: int = 4, games: int = 300) -> VectorKolkhoz:
    """Games of the heuristic that stand at a decision of a phase in a later year."""
    game = KolkhozGame()
    agent = make_agent("heuristic", game)
    table = game.table(seed, np.arange(games))
    for _ in range(160):
        rows = np.flatnonzero((table.phase == phase) & (table.state.year >= 3))
        if len(rows) > games / 4:
            return table.take(rows)
        table.step(agent.act(asked(game, table, agent, np.arange(table.size))))
    raise AssertionError(f"phase {phase} never came")


@pytest.mark.parametrize(
    ("plot", "medals", "played"), [(["B13", "B12", "P13"], 0, "W5"), (["B13", "P13"], 1, "W13")]
)
def test_it_ducks_a_first_medal_with_much_to_lose_and_takes_a_second(
    plot: list[str], medals: int, played: str
) -> None:
    table = VectorKolkhoz(1, seed=1, rules=Rules(first_planner=3), restart=False)
    state = table.state
    state.phase[:], state.seat[:], state.year[:], state.leader[:] = PLAY, 3, 3, 0
    state.hands[:] = 0
    state.hands[0, 3] = zone_of(["W13", "W5", "P6"])
    state.plots[0, 3] = zone_of(plot)
    state.trick[0] = [card_number(card) for card in ("W9", "W6", "W7")] + [-1]
    state.trick_size[:], state.trick_number[:], state.trump[:], state.led[:] = 3, 1, 1, 0
    state.best[:], state.winner[:] = STRENGTH[1, 0, card_number("W9")], 0
    state.medals[0] = [1, 0, 0, medals]
    table.forget_legal()
    agent = make_agent("heuristic", KolkhozGame())
    action = agent.act(asked(KolkhozGame(), table, agent, np.array([0])))
    assert action.tolist() == [card_number(played)]


def test_it_names_its_longest_crop_trump_and_swaps_up() -> None:
    game = KolkhozGame()
    agent = make_agent("heuristic", game)
    table = game.table(8, np.arange(300))
    crop = agent.act(asked(game, table, agent, np.arange(300))) - 53
    hands = table.state.hands[np.arange(300), table.seat]
    count = np.stack([np.bitwise_count(hands >> U64(13 * c) & U64(8191)) for c in range(4)], axis=1)
    assert (count[np.arange(300), crop] == count.max(axis=1)).mean() > 0.85

    table = position_at(SWAP_TAKE)
    taken = agent.act(asked(game, table, agent, np.arange(table.size)))
    swaps = np.flatnonzero(taken != PASS)
    assert len(swaps) > 0.4 * table.size
    table = table.take(swaps)
    table.step(taken[swaps])
    assert (table.phase == SWAP_GIVE).all()
    given = agent.act(asked(game, table, agent, np.arange(table.size)))
    gain = RANK[given] - RANK[taken[swaps]]
    assert gain.mean() > 2
    assert (gain >= 0).mean() > 0.75  # the others make a hand that wins every trick


# Assigning ------------------------------------------------------------------------------------


def assigning(own_plot: list[str], rival_plot: list[str], trick: list[str]) -> VectorKolkhoz:
    """A last trick of Year 3 that seat 0 has won: both fields of it lack 38 hours."""
    table = VectorKolkhoz(1, seed=1, rules=Rules(first_planner=3), restart=False)
    state = table.state
    state.phase[:], state.seat[:], state.year[:] = ASSIGN, 0, 3
    state.hands[:] = 0
    for seat, card in enumerate(("P5", "P6", "S5", "S6")):
        state.hands[0, seat] = BIT[card_number(card)]
    state.plots[0] = [zone_of(own_plot), zone_of(rival_plot), 0, 0]
    state.trick[0] = [card_number(card) for card in trick]
    state.trick_size[:], state.trick_number[:], state.trump[:] = 4, 3, 1
    state.crops[:] = sum(
        1 << crop for crop in {card_number(card) // 13 for card in trick if card != "X0"}
    )
    if "X0" in trick:
        state.crops[:] = 15
    state.medals[0] = [1, 1, 1, 1]
    state.hours[:] = 2
    state.rewards[:] = 0
    state.claimed[:] = 15
    table.forget_legal()
    return table


def best_field(table: VectorKolkhoz) -> str:
    weights = Weights()
    scores = score_fields(estimate(table.knowledge(), weights), 40, weights)
    legal = table.legal_mask()[0, 53:57]
    return "WSPB"[int(np.where(legal, scores[0], -np.inf).argmax())]


def test_it_works_its_own_field_and_starves_its_rivals() -> None:
    trick = ["W13", "W12", "B11", "B10"]
    assert best_field(assigning(["B13"], [], trick)) == "B"
    assert best_field(assigning(["W13"], [], trick)) == "W"
    assert best_field(assigning(["W2"], ["W11", "W10"], ["W13", "W12", "B9", "B8"])) == "B"


def test_the_saboteur_goes_where_the_others_hold_most() -> None:
    table = assigning(["W13"], ["B13", "B12"], ["X0", "W12", "B11", "B10"])
    table.state.hours[:] = 45
    assert best_field(table) == "B"


def test_an_open_reward_within_reach_is_claimed() -> None:
    table = assigning([], [], ["W13", "W12", "B9", "B8"])
    table.state.claimed[:] = 0
    table.state.piles[0, :, 2] = [12, 25, 38, 39]
    table.state.rewards[:] = zone_of(["W13", "S13", "P13", "B1"])
    assert best_field(table) == "W"


def test_hand_written_positions_are_those_of_the_engine() -> None:
    table = assigning(["B13"], ["W13"], ["W12", "W11", "B11", "B10"])
    assert cards_in(table.state.hands[0, 0]) == [card_number("P5")]
    assert [table.phase[0], TRUMP] == [ASSIGN, 0]
    table.step(np.array([53]))
    assert table.state.hours[0, 0] == 14
