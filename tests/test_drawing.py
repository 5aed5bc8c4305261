"""The drawn table: what it shows, and what it must not."""

import numpy as np
import pytest

from kolkhoz_env import VectorKolkhoz, env
from kolkhoz_env.drawing import open_view, paint, table_text, table_view
from kolkhoz_env.drawing.text import GLYPHS


def position(steps: int, players: int = 4, seed: int = 3) -> VectorKolkhoz:
    table = VectorKolkhoz(1, players=players, seed=seed, restart=False)
    generator = np.random.default_rng(1)
    for _ in range(steps):
        if not table.over[0]:
            table.step([int(generator.choice(np.flatnonzero(table.legal_mask()[0])))])
    return table


def cards_shown(text: str) -> set[str]:
    words = text.replace("*", " ").replace(",", " ").replace(";", " ").replace(":", " ").split()
    return {word[1:] for word in words if word[0] in GLYPHS.values() and word[1:2] in GLYPHS}


def test_the_table_says_what_a_person_needs() -> None:
    assert table_text(table_view(position(138))) == TABLE


TABLE = """\
Year 4 of 5 · Planner seat 2 · trick 4 of 4 · seat 0 plays · trump ● Potato

Field        towards 40 hours          Reward  Workers
‡ Wheat      ██░░░░░░░░░░░░░░░░░░   5  ‡W4     ‡W5
✹ Sunflower  ██████████████████░░  36  ✹S3     ‡W12 ‡W9 ‡W7 ✹S8
● Potato     ████████░░░░░░░░░░░░  16  ●P2     ♥B10 ♥B6 ☠X0  sabotaged: will fail
♥ Beet       ███████████████░░░░░  30  ♥B4     ‡W10 ‡W1 ●P11 ♥B8

   Seat              Medals  Hand      Plot  Cellar (by year banked)
>  Seat 0                    ✹S6 ♥B11  ♥B3   3:♥B7
   Seat 1            ★       ▒▒ ▒▒     -     -
   Seat 2 (Planner)  ★★      ▒▒        -     1:▒▒* 2:▒▒* 3:▒▒
   Seat 3                    ▒▒        -     -

Trick: seat 2 ✹S9, seat 3 ✹S12

North (19): ‡W11 ‡W3 ‡W2 ✹S11 ✹S7 ✹S5 ✹S2 ✹S1 ●P13 ●P10 ●P8 ●P7 ●P6 ●P5 ●P4 ●P3 ♥B13 ♥B9 ♥B1
"""


@pytest.mark.parametrize("players", [3, 4])
@pytest.mark.parametrize("steps", [0, 7, 41, 60, 90, 110, 135, 150])
def test_only_what_a_seat_may_know_is_drawn(players: int, steps: int) -> None:
    table = position(steps, players)
    for seat in range(players):
        view = table_view(table, 0, seat)
        places = [place["card"] for cellar in view["cellars"] for place in cellar]
        known = {
            *view["hand"], *view["north"], *(card for card in places if card),
            *(card for cards in view["plots"] + view["known_in_hand"] for card in cards),
            *(play["card"] for play in view["trick"]),
            *(card for field in view["fields"].values() for card in field["cards"]),
            *(field["reward"] for field in view["fields"].values() if field["reward"]),
        }  # fmt: skip
        assert cards_shown(table_text(view)) == known
        assert len(table_text(view).splitlines()) < 26
        assert max(map(len, table_text(view).splitlines())) <= 100


def test_the_open_view_shows_every_card_dealt() -> None:
    table = position(60)
    view = open_view(table)
    assert sum(map(len, view["hands"])) == int(np.bitwise_count(table.state.hands).sum())
    assert "▒" not in table_text(view)
    assert all(place["card"] for cellar in view["cellars"] for place in cellar)


def test_the_end_names_winners_and_points() -> None:
    table = position(300)
    outcome = table.outcome()
    text = table_text(table_view(table))
    assert "the game is over" in text
    winner = int(outcome.win_share[0].argmax())
    assert f"Seat {winner} wins; points: seat 0 {int(outcome.score[0, 0])}" in text


def test_colours_only_where_wanted() -> None:
    view = table_view(position(60))
    assert "\x1b[" not in table_text(view)
    assert "\x1b[" in table_text(view, colour=True)


@pytest.mark.parametrize("seat", [0, "open"])
@pytest.mark.parametrize("steps", [0, 90, 300])
def test_pictures(seat, steps: int) -> None:
    table = position(steps)
    pixels = np.asarray(paint(table_view(table, 0, seat)))
    assert pixels.shape == (760, 1200, 3)
    assert pixels.dtype == np.uint8
    assert len(paint(table_view(table, 0, seat)).getcolors(maxcolors=1 << 20)) > 50
    assert paint(table_view(table, 0, seat), scale=0.5).size == (600, 380)


def test_a_picture_hides_what_the_seat_may_not_know() -> None:
    """Exchanging two cards of hidden hands leaves the picture as it is."""
    table = position(4)
    state = table.state
    looks = int(state.seat[0])
    first, second = (seat for seat in range(4) if seat not in (looks, 3 - looks))
    before = paint(table_view(table, 0, looks))
    hands = state.hands
    hands[0, [first, second]] = hands[0, [second, first]]
    assert paint(table_view(table, 0, looks)).tobytes() == before.tobytes()
    assert paint(table_view(table, 0, "open")).tobytes() != before.tobytes()


def test_environments_draw_for_the_seat_that_they_are_asked_for() -> None:
    texts = {}
    for seat in (None, 0, 1, "open"):
        table = env(render_mode="ansi", render_seat=seat)
        table.reset(seed=1)
        texts[seat] = table.render()
        table.step(54)
    assert len(set(texts.values())) == 4 - (texts[None] in (texts[0], texts[1]))
