"""How likely worlds make the cards of the trick under a policy, and worlds that explain them."""

from __future__ import annotations

import numpy as np
from kolkhoz_tools import played, same_rows

from kolkhoz_env.cards import CROP, RANK, SABOTEUR, cards_in
from kolkhoz_env.knowledge import Knowledge, redact
from kolkhoz_env.likelihood import likely_worlds, trick_likelihood
from kolkhoz_env.rules import PLAY
from kolkhoz_env.vector import VectorKolkhoz


def uniform(table: VectorKolkhoz) -> np.ndarray:
    mask = table.legal_mask()
    return np.where(mask, -np.log(mask.sum(axis=1, keepdims=True)), -np.inf)


def nearly_lowest(table: VectorKolkhoz) -> np.ndarray:
    """The policy that plays its lowest legal rank, and errs once in a million."""
    rank = np.where(table.legal_mask()[:, :53], RANK[:53], 99)
    best = rank == rank.min(axis=1, keepdims=True)
    log = np.full((table.size, 58), -np.inf)
    log[:, :53] = np.where(best, -np.log(best.sum(axis=1, keepdims=True)), np.log(1e-6))
    return log


def tricks_under_way() -> Knowledge:
    games = played(VectorKolkhoz(150, seed=21, restart=False), 60, seed=2)
    under_way = (games.phase == PLAY) & (games.state.trick_size >= 2)
    assert under_way.sum() > 5
    return games.knowledge(np.flatnonzero(under_way))


def test_likelihood_of_a_trick_under_random_play_counts_the_choices() -> None:
    known = tricks_under_way()
    worlds = known.worlds(3, 1)
    seats = np.repeat(known.seats, 3)
    found = trick_likelihood(worlds, seats, uniform)
    state = worlds.state
    for row in range(worlds.size):
        expected = 0.0
        for place in range(int(state.trick_size[row])):
            seat = (state.leader[row] + place) % 4
            card = int(state.trick[row, place])
            hand = [*cards_in(state.hands[row, seat]), card]
            led = CROP[state.trick[row, 0]]
            follows = [c for c in hand if CROP[c] in (led, CROP[SABOTEUR])]
            free = place == 0 or led == CROP[SABOTEUR] or not follows
            expected -= np.log(len(hand if free else follows))
        assert np.isclose(found[row], expected)


def test_likely_worlds_are_those_that_explain_the_trick() -> None:
    known = tricks_under_way()
    even, likely = known.worlds(20, 4), likely_worlds(known, 20, 4, nearly_lowest, oversample=30)
    seats = np.repeat(known.seats, 20)
    odd = [trick_likelihood(w, seats, nearly_lowest) < np.log(1e-5) for w in (even, likely)]
    explained = odd[1].reshape(-1, 20).mean(axis=1)
    assert odd[0].mean() > 0.3
    assert np.median(explained) == 0
    again = likely_worlds(known, 20, 4, nearly_lowest, oversample=30)
    assert same_rows(likely.state, again.state, 1) == []
    redacted = redact(likely.state, np.arange(likely.size), seats)
    assert same_rows(known.state, redacted, 20) == []
