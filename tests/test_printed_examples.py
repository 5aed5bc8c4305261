"""Each example and each special sentence of the printed rules, laid by hand.

Most use small games (two or three seats, one trick a year) in which a situation takes few moves.
The last seat is the first Planner, so that seat 0 leads Year 1. Every position is compared with
the plain implementation as well.
"""

from typing import Any

import pytest
from kolkhoz_tools import ByHand, small, three

from kolkhoz_env.rules import Rules

# The guided Year 2 -----------------------------------------------------------------------------


def guided_game() -> ByHand:
    """Year 1 of the guided example: seat 2 ("you") banks the Wheat 10."""
    game = ByHand(
        [
            [
                "S13 P13 P12 P9 W8",
                "W5 W6 W7 S8 S7",
                "W9 W11 W12 P7 W10",
                "B13 B12 B11 S6 P8",
            ],
            [
                "W11 B8 B12 B7 S8",
                "S13 B9 S12 P5 S6",
                "B13 W7 W12 P7 P11",
                "P13 B6 P12 S9 S10",
            ],
        ],
        Rules(years=2, first_planner=2),
        {"W": "W1 W13 W2 W3 W4", "P": "P1 P2 P3 P4 P6"},
    )
    game.move("B  B13 P13 W5 W9  B P W W  B12 P12 W6 W11  B P W W")
    game.move("B11 P9 W7 W12  B P W W  S6 S13 S8 P7  S S S S")
    assert game.zone("cellars") == [["W8"], ["S7"], ["W10"], []]
    return game


def test_guided_year_two() -> None:
    game = guided_game()
    assert game.turn == (3, "trump")
    game.move("W pass pass")

    assert game.turn == (2, "swap_take")
    assert game.legal == ["W10", "pass"]
    game.move("W10 B13")
    assert game.zone("cellars")[2] == ["B13"]
    assert game.zone("hands")[2] == ["P11", "P7", "W10", "W12", "W7"]
    game.move("pass W11 S13 W7 P13 P S W S")

    game.move("B8 B9")
    assert game.hours("W") == 7
    assert game.legal == ["P11", "P7", "W10", "W12"], "no Beet in hand: every card is legal"
    game.move("W10 B6")
    assert game.turn == (2, "assign")
    assert game.medals == [1, 0, 1, 0]
    assert game.legal == ["W", "B"]
    game.move("W W W")
    assert game.zone("plots")[2] == []
    game.move("W")
    assert game.hours("W") == 40
    assert game.zone("plots")[2] == ["W13"], "the crossing Brigadier claims the Wheat King"

    game.move("W12 P12 B12 S12 P P B B  P7 S9 B7 P5 S S B P")
    end = game.ends[1]
    assert end["hours"] == {"W": 40, "S": 42, "P": 40, "B": 31}
    assert end["failed"] == ["B"]
    assert end["plots"][2] == ["P2", "S2", "W13"]
    assert end["cellars"][2] == ["P11"], "the Beet King went North, the Potato Jack is banked"
    assert "B13" in end["north"]


def test_guided_trick_may_be_split() -> None:
    game = guided_game()
    game.move("W pass pass W10 B13 pass W11 S13 W7 P13 P S W S B8 B9 W10 B6")
    game.move("B B W B")
    assert (game.hours("W"), game.hours("B")) == (17, 23)


# Trump, trick-taking and the Saboteur ------------------------------------------------------------


def test_the_planner_names_any_crop_and_the_seat_to_the_left_leads() -> None:
    game = ByHand([["W6 W7", "S6 S7", "P6 P7"]], three(first_planner=1))
    assert game.turn == (1, "trump")
    assert game.legal == ["W", "S", "P", "B"]
    game.move("P")
    assert game.turn == (2, "play"), "no swap in Year 1"


def test_following_suit() -> None:
    game = ByHand([["W6 S6", "W7 S7", "P6 P7"]], three())
    game.move("S W6")
    assert game.legal == ["W7"], "must follow the led crop"
    game.move("W7")
    assert game.legal == ["P6", "P7"], "unable to follow: any card"


def test_highest_of_the_led_crop_wins_without_trump() -> None:
    game = ByHand([["W6 S6", "W7 S7", "P13 P7"]], three())
    game.move("B W6 W7 P13")
    assert game.turn == (1, "assign")


def test_highest_trump_wins() -> None:
    game = ByHand([["W13 S6", "P6 S7", "P7 B7"]], three())
    game.move("P W13 P6 P7")
    assert game.turn == (2, "assign")


@pytest.mark.parametrize(("last", "brigadier"), [("B6", 0), ("W7", 2)])
def test_saboteur_led(last: str, brigadier: int) -> None:
    game = ByHand([["X0 W6", "S6 P6", "W7 B6"]], three())
    game.move("W X0")
    assert game.legal == ["P6", "S6"], "no ordinary lead crop: any card"
    game.move("S6")
    assert game.legal == ["B6", "W7"]
    game.move(last)
    assert game.turn == (brigadier, "assign"), "it beats nontrumps, every trump beats it"
    assert game.legal == ["W", "S", "P", "B"]


def test_after_a_led_saboteur_nobody_must_follow_the_second_card() -> None:
    game = ByHand([["X0 W6", "S6 P6", "S7 B6"]], three())
    game.move("W X0 S6")
    assert game.legal == ["B6", "S7"]


def test_saboteur_beats_nontrumps() -> None:
    game = ByHand([["W10 S6", "X0 S13", "W13 B6"]], three())
    game.move("P W10 X0 W13")
    assert game.turn == (1, "assign")


def test_every_trump_beats_the_saboteur() -> None:
    game = ByHand([["W10 S6", "X0 S13", "P6 B6"]], three())
    game.move("P W10 X0 P6")
    assert game.turn == (2, "assign")


def test_even_the_ace_of_trump_beats_the_saboteur() -> None:
    piles = {crop: f"{crop}3" for crop in "WSPB"}
    for ace_first in (True, False):
        hands = ["P1 B6", "X0 S13"] if ace_first else ["X0 S13", "P1 B6"]
        game = ByHand([["W10 S6", *hands]], three(low_rewards=0), piles)
        game.move("P W10 " + ("P1 X0" if ace_first else "X0 P1"))
        assert game.turn == (1 if ace_first else 2, "assign")


def test_the_only_card_that_follows_is_the_saboteur() -> None:
    game = ByHand([["W10 S6", "X0 S13", "W13 B6"]], three())
    game.move("P W10")
    assert game.legal == ["X0"]


def test_the_saboteur_may_follow_beside_the_led_crop() -> None:
    game = ByHand([["W10 S6", "X0 W6", "W13 B6"]], three())
    game.move("P W10")
    assert game.legal == ["W6", "X0"]


# Assigning and completing fields -----------------------------------------------------------------


def test_a_card_goes_to_any_crop_that_appeared() -> None:
    game = ByHand([["W6 S6", "P6 S7", "P7 B7"]], three())
    game.move("P W6 P6 P7")
    assert game.legal == ["W", "P"]
    game.move("P W W")
    assert (game.hours("W"), game.hours("P")) == (13, 6)


def test_the_saboteur_makes_all_fields_legal_and_contributes_nothing() -> None:
    game = ByHand([["W6 S6", "X0 S7", "W7 B7"]], three())
    game.move("P W6 X0 W7")
    assert game.legal == ["W", "S", "P", "B"]
    game.move("S B W")
    (end,) = game.ends
    assert end["hours"] == {"W": 7, "S": 6, "P": 0, "B": 0}


def test_the_crossing_brigadier_claims_what_others_began() -> None:
    rules = small(tricks=2, quota=20)
    game = ByHand([["W9 W7 S6", "W6 W8 S7"]], rules)
    game.move("P W9 W6 W W W7 W8")
    assert game.turn == (1, "assign")
    game.move("W")
    assert game.zone("plots") == [[], ["W1"]]
    assert game.zone("rewards") == ["S1", "P1", "B1"]


def test_a_complete_field_stays_open_pays_once_and_fails_with_the_saboteur() -> None:
    game = ByHand([["W10 W11 S6", "W6 X0 P6"]], small(tricks=2))
    game.move("S W10 W6 W")
    assert game.zone("plots") == [["W1"], []], "claimed at once, before the trick is assigned"
    assert game.legal == ["W"], "the field stays legal"
    game.move("W W11 X0 W")
    assert game.zone("plots") == [["W1"], []], "a field pays once a year"
    game.move("W")
    (end,) = game.ends
    assert end["hours"]["W"] == 27
    assert end["failed"] == ["W", "S", "P", "B"], "the Saboteur fails even a complete field"
    assert "W1" in end["north"], "a claimed reward of a failed crop is eligible"


# Swapping ----------------------------------------------------------------------------------------

FIRST_YEAR = ["W7 S10", "W8 W6"]


def swap_game(**options: Any) -> ByHand:
    """After Year 1 seat 1 holds W4 in its Plot and W6 in its Cellar, seat 0 has banked S10."""
    rules = small(**({"years": 3, "hero_of_labor": False} | options))
    years = [FIRST_YEAR, ["P6 P7", "B6 B7"], ["W4 P8", "B8 B9"]]
    game = ByHand(years, rules, {"W": "W4 W1 W2 W3 W5"})
    game.move("P W7 W8 W W S")
    return game


def test_swap_with_plot_and_cellar() -> None:
    game = swap_game()
    assert game.turn == (1, "swap_take"), "from the Planner's left"
    assert game.legal == ["W4", "W6", "pass"]
    game.move("W4")
    assert game.turn == (1, "swap_give")
    assert game.legal == ["B6", "B7"], "the hand before the exchange"
    game.move("B7")
    assert game.zone("plots")[1] == ["B7"]
    assert game.turn == (0, "swap_take"), "one swap each"
    game.move("S10 P7")
    assert game.zone("cellars") == [["P7"], ["W6"]]
    assert game.legal == ["B6", "W4"], "the card taken may be played"
    game.move("W4 S10 S S")
    assert game.ends[1]["hours"] == {"W": 0, "S": 14, "P": 0, "B": 0}
    assert "W4" in game.zone("hands")[0], "swapped out of a Plot it is a Worker from then on"


def test_swap_is_optional() -> None:
    game = swap_game()
    game.move("pass pass")
    assert game.turn == (1, "play")


def test_a_seat_without_holdings_is_skipped() -> None:
    game = swap_game(hero_of_labor=True)
    assert game.zone("cellars") == [[], ["W6"]]
    game.move("pass")
    assert game.turn == (1, "play")
