"""The printed rules from banking to the final score, laid by hand.

Small games, as in `test_printed_examples`; every position is compared with the plain
implementation as well.
"""

from typing import Any

import pytest
from kolkhoz_tools import ByHand, small, three

# Banking, inspection and requisition -------------------------------------------------------------


def test_the_last_card_is_banked_face_down() -> None:
    game = ByHand([["W6 S6", "W7 S7", "P6 P7"]], three(hero_of_labor=False))
    game.move("B W6 W7 P6 W W W")
    assert game.ends[0]["cellars"] == [["S6"], [], ["P7"]], "the Medal holder's went North"


@pytest.mark.parametrize(
    ("hero_of_labor", "cellars"),
    [(True, [["W11"], [], []]), (False, [[], ["S8"], ["P8"]])],
)
@pytest.mark.parametrize("famine", [False, True])
def test_hero_of_labor(hero_of_labor: bool, cellars: list[list[str]], famine: bool) -> None:
    options: dict[str, Any] = {"famine_year": 1, "tricks": 3} if famine else {"tricks": 2}
    game = ByHand(
        [["W13 W12 W11", "S6 S7 S8", "P6 P7 P8"]],
        three(hero_of_labor=hero_of_labor, **options),
        famine_card="W6" if famine else None,
    )
    game.move(("" if famine else "W ") + "W13 S6 P6 W W W W12 S7 P7 W W W")
    assert game.ends[0]["medals"] == [2, 0, 0]
    assert game.ends[0]["cellars"] == cellars


def test_only_medal_holders_are_inspected() -> None:
    game = ByHand([["W6 S6 S7", "W7 S8 B7", "P6 B6 S9"]], three(tricks=2))
    game.move("P W6 W7 P6 W W W  B6 S6 B7 B B B")
    assert game.ends[0]["medals"] == [0, 1, 1]
    assert game.ends[0]["cellars"] == [["S7"], [], []]


def banked_three(first: str, second: str, third: str) -> ByHand:
    """Seat 0 banks three cards in three years; in the last, Wheat and Sunflower alone fail."""
    rules = small(years=3, swaps=False, hero_of_labor=False)
    game = ByHand(
        [
            [f"{first} P6", "P7 P13"],
            [f"{second} P6", "P7 P12"],
            [f"{third} P11", "B6 B8"],
        ],
        rules,
    )
    game.move("B P6 P7 P P  B P7 P6 P P  S P11 B6 P B")
    return game


@pytest.mark.parametrize(
    ("banked", "kept"),
    [
        (("W10", "S9", "W6"), ["W6"]),
        (("W10", "W9", "S6"), ["S6"]),
        (("B12", "S9", "W6"), ["B12"]),
    ],
    ids=["the-two-highest", "both-of-one-crop", "another-crop-is-safe"],
)
def test_two_failed_fields_take_two_cards(banked: tuple[str, str, str], kept: list[str]) -> None:
    game = banked_three(*banked)
    assert game.ends[2]["failed"] == ["W", "S"]
    assert game.ends[2]["cellars"][0] == kept
    assert game.ends[2]["plots"][0] == ["B3", "P3"], "rewards of complete fields are safe"


@pytest.mark.parametrize("choice", ["W8", "S8"])
def test_the_owner_chooses_at_the_cutoff(choice: str) -> None:
    game = banked_three("W8", "S8", "W9")
    assert game.turn == (0, "requisition")
    assert game.legal == ["S8", "W8"]
    assert "W9" in game.zone("north"), "what is above the cutoff leaves no choice"
    game.move(choice)
    assert choice in game.ends[2]["north"]
    assert len(game.ends[2]["cellars"][0]) == 1


def test_no_choice_where_all_tied_cards_go() -> None:
    game = banked_three("W8", "S8", "P9")
    assert game.ends[2]["cellars"][0] == ["P9"]


def test_two_of_three_tied_cards() -> None:
    years = [[f"{card} B6", f"B7 B{13 - index}"] for index, card in enumerate(["W8", "S8", "P8"])]
    rules = small(years=4, swaps=False, hero_of_labor=False)
    game = ByHand([*years, ["W9 B10", "B7 P6"]], rules)
    game.move("B B6 B7 B B  B B7 B6 B B  B B6 B7 B B  B B7 B10 B B")
    assert game.turn == (0, "requisition")
    assert game.legal == ["P8", "S8", "W8"]
    game.move("P8")
    assert game.turn == (0, "requisition")
    assert game.legal == ["S8", "W8"]
    game.move("W8")
    assert game.ends[3]["cellars"][0] == ["S8"]


def test_the_saboteur_in_a_cellar_matches_every_failed_crop() -> None:
    game = ByHand([["P11 X0", "B6 B7"]], small(hero_of_labor=False))
    game.move("P P11 B6 P B")
    assert game.ends[0]["failed"] == ["W", "S"]
    assert game.ends[0]["cellars"] == [[], ["B7"]]
    assert "X0" in game.ends[0]["north"]


def test_the_saboteur_in_a_cellar_is_safe_when_nothing_fails() -> None:
    rules = small(players=4, hero_of_labor=False)
    game = ByHand([["W10 X0", "S10 S6", "P10 P6", "B10 B6"]], rules)
    game.move("W W10 S10 P10 B10 W S P B")
    assert game.ends[0]["failed"] == []
    assert game.ends[0]["cellars"][0] == ["X0"]
    assert game.ends[0]["plots"][0] == ["B1", "P1", "S1", "W1"]


def test_unclaimed_rewards_go_north() -> None:
    game = ByHand([["W6 S6", "W7 P7"]], small(hero_of_labor=False))
    game.move("B W6 W7 W W")
    assert game.ends[0]["plots"] == [[], ["W1"]]
    assert game.ends[0]["north"] == ["B1", "P1", "P7", "S1"]


# The Famine --------------------------------------------------------------------------------------


def test_famine_reveals_trump() -> None:
    rules = three(tricks=2, famine_year=1)
    game = ByHand([["S7 P6", "W8 P7", "S6 B6"]], rules, famine_card="W6")
    assert game.turn == (0, "play"), "no trump is chosen"
    assert game.zone("north") == ["W6"], "the revealed Worker goes North at once"
    game.move("S7 W8 S6")
    assert game.turn == (1, "assign")
    game.move("S S S")
    assert len(game.ends) == 1, "one trick less"


def test_famine_with_the_saboteur_has_no_trump() -> None:
    rules = three(tricks=2, famine_year=1)
    game = ByHand([["S7 P6", "W13 P7", "S6 B6"]], rules, famine_card="X0")
    assert game.zone("north") == ["X0"]
    game.move("S7 W13 S6")
    assert game.turn == (0, "assign"), "the highest card of the led crop wins"
    assert game.legal == ["W", "S"]


def test_famine_has_swaps_after_trump_is_revealed() -> None:
    rules = small(tricks=2, years=2, famine_year=2, hero_of_labor=False, quota=400)
    game = ByHand([["W6 W7 S6", "W8 S8 P8"], ["B6 B7", "B8 B9"]], rules, famine_card="P6")
    game.move("B W6 W8 W W S8 S6 S S")
    assert game.ends[0]["cellars"] == [["W7"], []]
    assert game.turn == (0, "swap_take")
    assert game.zone("north").count("P6") == 1
    game.move("pass")
    assert game.turn == (1, "play"), "the Planner's left leads the Famine too"


# Final scoring -----------------------------------------------------------------------------------


def test_highest_score_wins() -> None:
    game = ByHand([["W7 S11", "W8 W6"]], small(hero_of_labor=False), {"W": "W4 W1 W2 W3 W5"})
    game.move("P W7 W8 W W")
    assert game.result == {"scores": [11, 10], "cards": [1, 2], "winners": [0]}


def test_more_cards_break_a_tie() -> None:
    game = ByHand([["W7 S10", "W8 W6"]], small(hero_of_labor=False), {"W": "W4 W1 W2 W3 W5"})
    game.move("P W7 W8 W W")
    assert game.result == {"scores": [10, 10], "cards": [1, 2], "winners": [1]}


def test_shared_victory() -> None:
    game = ByHand([["W6 S12", "W7 P12", "W8 B13"]], three(hero_of_labor=False))
    game.move("W W6 W7 W8 W W W")
    assert game.result == {"scores": [12, 12, 0], "cards": [1, 1, 0], "winners": [0, 1]}
    assert game.table.outcome().win_share[0].tolist() == [0.5, 0.5, 0.0]


def test_the_saboteur_scores_zero_and_counts_as_a_card() -> None:
    rules = three(hero_of_labor=False)
    game = ByHand([["W6 X0", "W7 P12", "W8 B13"]], rules)
    game.move("W W6 W7 W8 W W W")
    assert game.result == {"scores": [0, 12, 0], "cards": [1, 1, 0], "winners": [1]}
