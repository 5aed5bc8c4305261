"""What a seat can't know never reaches it: changed behind its back, it changes nothing.

Two games are made that differ only in what a seat can't know: hidden cards laid anew among the
places that can hold them, another key of the shuffles, other statistics. Everything that the seat
is given must be the same, in the position itself and as long as the same things happen in public.
"""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kolkhoz_tools import chosen_by_hash, random_rules

from kolkhoz_env import Rules, VectorKolkhoz
from kolkhoz_env.aec import raw_env
from kolkhoz_env.cards import BIT, CROP_BITS, SABOTEUR_BIT, cards_in
from kolkhoz_env.derived import derive
from kolkhoz_env.one_game import OneGame
from kolkhoz_env.rules import PHASES, SWAP_GIVE, SWAP_TAKE
from kolkhoz_env.state import EMPTY, HIDDEN, SWAP_CELLAR, SWAP_PLOT, State
from kolkhoz_env.view import make_views


def given_to(table: VectorKolkhoz, seat: int) -> tuple[State, np.ndarray, np.ndarray, list]:
    """All that a seat is given of each game: redacted state, mask, observation, view."""
    knowledge = table.knowledge(None, np.full(table.size, seat, dtype=np.int8))
    observed = table.observe(None, np.full(table.size, seat, dtype=np.int8))
    np.testing.assert_array_equal(observed, knowledge.observe())
    return knowledge.state, knowledge.legal_mask(), observed, make_views(knowledge)


def assert_same_for(seat: int, one: VectorKolkhoz, other: VectorKolkhoz) -> None:
    left, right = given_to(one, seat), given_to(other, seat)
    for field in dataclasses.fields(State):
        what = f"{field.name}, seat {seat}"
        np.testing.assert_array_equal(
            getattr(left[0], field.name), getattr(right[0], field.name), what
        )
    np.testing.assert_array_equal(left[1], right[1])
    np.testing.assert_array_equal(left[2], right[2])
    assert left[3] == right[3]


def void_cards(state: State, row: int, seat: int) -> int:
    """Cards that a seat has shown this year not to hold."""
    voids = int(state.voids[row, seat])
    shown = sum(int(CROP_BITS[crop]) for crop in range(4) if voids >> crop & 1)
    return shown | int(SABOTEUR_BIT) if shown else 0


class Behind:
    """One game, and what may be changed behind a seat's back."""

    def __init__(self, table: VectorKolkhoz, row: int, seat: int, source: random.Random) -> None:
        self.state, self.row, self.seat, self.source = table.state, row, seat, source
        self.rules = table.rules
        knowledge = table.knowledge(np.array([row]), np.array([seat], dtype=np.int8))
        self.loose = cards_in(int(knowledge.unseen()[0]))
        self.redacted = knowledge.state

    def shuffle(self) -> None:
        """Lay all hidden cards anew, as far as voids and the make-up of the piles allow."""
        self._shuffle_piles()
        places = self._places()
        # Exchanges keep every place full and every promise kept.
        for _ in range(40 if len(places) > 1 else 0):
            one, other = self.source.sample(places, 2)
            if self._may(one, other[-1]) and self._may(other, one[-1]):
                one[-1], other[-1] = other[-1], one[-1]
        self._lay(places)
        self.state.key[self.row] = self.source.getrandbits(64)
        self.state.totals[self.row] = self.source.getrandbits(10)
        others = [s for s in range(self.rules.players) if s != self.seat]
        self.state.dealt[self.row, others] = self.source.getrandbits(52)
        derive(self.state)

    def _shuffle_piles(self) -> None:
        """Any order of a pile's coming cards; its high one may be any loose card of the crop."""
        year = int(self.state.year[self.row])
        for pile in self.state.piles[self.row]:
            ahead = [int(card) for card in pile[year : self.rules.pile_size]]
            self.source.shuffle(ahead)
            pile[year : self.rules.pile_size] = ahead

    def _places(self) -> list[list]:
        """Every hidden place as [kind, seat, place, card]."""
        row, state, places = self.row, self.state, []
        for card in self.loose:
            bit = int(BIT[card])
            found: list = ["deck", 0, 0, card]
            for seat in range(self.rules.players):
                if int(state.hands[row, seat]) & bit:
                    found = ["hand", seat, 0, card]
                for place, lying in enumerate(state.cellars[row, seat]):
                    if lying == card:
                        found = ["cellar", seat, place, card]
            for crop, pile in enumerate(state.piles[row]):
                for place in range(int(state.year[row]), 5):
                    if pile[place] == card:
                        found = ["pile", crop, place, card]
            places.append(found)
        return places

    def _may(self, place: list, card: int) -> bool:
        kind, where, which, holds = place
        if kind == "pile":
            low = self.rules.low_rewards
            return card // 13 == where and card % 13 >= low and holds % 13 >= low
        if kind == "hand":
            return not int(BIT[card]) & void_cards(self.state, self.row, where)
        if kind == "cellar":
            facts = self.state.places[self.row, where, which]
            return bool(facts[7]) if card == 52 else card % 13 < facts[3 + card // 13]
        return True

    def _lay(self, places: list[list]) -> None:
        row, state, year = self.row, self.state, int(self.state.year[self.row])
        acting = int(state.seat[row])
        for seat in range(self.rules.players):
            if seat != self.seat:
                state.hands[row, seat] = BIT[self.redacted.known[0, seat]]
        picked = int(state.swaps[row, acting]) - SWAP_CELLAR
        for kind, where, place, card in places:
            if kind == "hand":
                state.hands[row, where] |= BIT[card]
            elif kind == "cellar":
                state.cellars[row, where, place] = card
                if state.phase[row] == SWAP_GIVE and (where, place) == (acting, picked):
                    state.taken[row] = card
            elif kind == "pile":
                assert place >= year
                state.piles[row, where, place] = card


def table_at(rules: Rules, seed: int, decisions: int, games: int) -> VectorKolkhoz:
    table = VectorKolkhoz(games, seed=seed, rules=rules, restart=False)
    for _ in range(decisions):
        table.step(chosen_by_hash(table, seed))
    return table


def changed_behind(table: VectorKolkhoz, seat: int, source: random.Random) -> VectorKolkhoz:
    other = table.take(np.arange(table.size))
    for row in range(table.size):
        Behind(other, row, seat, source).shuffle()
    return other


@given(st.integers(0, 10**6), st.sampled_from([3, 4, None]), st.integers(0, 250))
@settings(max_examples=15, deadline=None)
def test_hidden_cards_change_nothing(seed: int, players: int | None, decisions: int) -> None:
    source = random.Random(seed)
    rules = random_rules(source) if players is None else Rules(players=players)
    table = table_at(rules, seed, decisions, 2)
    for seat in range(rules.players):
        assert_same_for(seat, table, changed_behind(table, seat, source))


@pytest.mark.parametrize("players", [3, 4])
@pytest.mark.parametrize("phase", PHASES)
def test_hidden_cards_change_nothing_in_any_phase(phase: str, players: int) -> None:
    code, source, found = PHASES.index(phase), random.Random(players), 0
    rare = phase == "requisition"
    table = VectorKolkhoz(200 if rare else 40, seed=players, players=players, restart=False)
    while found < 12 and not table.over.all():
        table.step(chosen_by_hash(table, 1))
        rows = np.flatnonzero(table.phase == code)[:2]
        if not rows.size or (not rare and source.random() < 0.5):
            continue
        found += rows.size
        part = table.take(rows)
        for seat in range(players):
            other = changed_behind(part, seat, source)
            assert_same_for(seat, part, other)
    assert found >= 2


def test_the_change_is_a_change() -> None:
    table = table_at(Rules(), 1, 130, 8)
    other = changed_behind(table, 2, random.Random(1))
    for name in ("hands", "cellars", "piles", "key", "totals", "dealt"):
        assert (getattr(table.state, name) != getattr(other.state, name)).any(), name
    for state in (table.state, other.state):
        np.testing.assert_array_equal(
            np.bitwise_count(state.hands).sum(axis=1), np.bitwise_count(table.state.hands).sum(1)
        )
    redacted = table.knowledge(None, np.full(8, 2, dtype=np.int8)).state
    assert (redacted.hands[:, [0, 1, 3]] == 0).all()
    assert (redacted.dealt[:, [0, 1, 3]] == 0).all()
    assert (redacted.key == 0).all()
    assert (redacted.totals == 0).all()
    hidden = redacted.places[..., 1] == 0
    hidden[:, 2] = False
    assert np.isin(redacted.cellars[hidden], [EMPTY, HIDDEN]).all()
    ahead = np.arange(5) >= redacted.year[:, None, None]
    assert (redacted.piles[np.broadcast_to(ahead, redacted.piles.shape)] == EMPTY).all()


@given(st.integers(0, 10**6), st.sampled_from([3, 4]), st.integers(0, 200))
@example(1732, 4, 166)  # the same cards go north from other Cellars
@settings(max_examples=25, deadline=None)
def test_nothing_comes_out_while_the_same_happens_in_public(
    seed: int, players: int, decisions: int
) -> None:
    """Both games go on with moves that look alike; face-down cards of a swap may differ."""
    source = random.Random(seed)
    one = table_at(Rules(players=players), seed, decisions, 4)
    seat = source.randrange(players)
    other = changed_behind(one, seat, source)
    for _ in range(24):
        moves = [like_moves(one, other, row, seat, source) for row in range(one.size)]
        rows = np.flatnonzero([move is not None for move in moves])
        if not rows.size:
            break
        actions = np.array([moves[row] for row in rows])
        one, other = one.take(rows), other.take(rows)
        one.step(actions[:, 0])
        other.step(actions[:, 1])
        rows = np.flatnonzero(
            [public_part(one, r, seat) == public_part(other, r, seat) for r in range(one.size)]
        )
        if not rows.size:
            break
        one, other = one.take(rows), other.take(rows)
        assert_same_for(seat, one, other)


def like_moves(
    one: VectorKolkhoz, other: VectorKolkhoz, row: int, seat: int, source: random.Random
) -> tuple[int, int] | None:
    """A move for each of two games that looks the same from ``seat``; None if there is none."""
    acting, phase = int(one.seat[row]), int(one.phase[row])
    legal, twin = np.flatnonzero(one.legal_mask()[row]), np.flatnonzero(other.legal_mask()[row])
    both = [(action, action) for action in np.intersect1d(legal, twin).tolist()]
    if acting != seat and phase == SWAP_TAKE:
        cellars = one.state.cellars[row, acting], other.state.cellars[row, acting]
        in_cellars = {int(card) for cellar in cellars for card in cellar}
        both = [pair for pair in both if pair[0] not in in_cellars]
        both += [(int(a), int(b)) for a, b in zip(*cellars, strict=True) if a >= 0]
    if acting != seat and phase == SWAP_GIVE and one.state.swaps[row, acting] != SWAP_PLOT:
        # Any hand card may go face-down: nobody else sees which.
        return source.choice(legal.tolist()), source.choice(twin.tolist())
    return source.choice(both) if both else None


def public_part(table: VectorKolkhoz, row: int, seat: int) -> tuple[bytes, ...]:
    """Whose turn it is, what lies face-up, where cards are banked, what was dealt to ``seat``."""
    names = ("year", "phase", "seat", "trump", "north", "plots", "fields", "trick", "rewards",
             "swaps", "to_send")  # fmt: skip
    lying = tuple(getattr(table.state, name)[row].tobytes() for name in names)
    # Cards go to the North face-up: everybody sees from whose Cellar, and from which place.
    filled = table.state.cellars[row] != EMPTY
    return (*lying, filled.tobytes(), table.state.hands[row, seat].tobytes())


@pytest.mark.parametrize("players", [3, 4])
def test_an_environment_hands_out_nothing_hidden(players: int) -> None:
    """Observations, last() and every public attribute, with the cards changed behind each seat."""
    environment = raw_env(players=players, render_mode="ansi")
    environment.reset(seed=players)
    source = random.Random(players)
    (game,) = [value for value in vars(environment).values() if isinstance(value, OneGame)]
    for step in range(120):
        if step % 8 == 0:
            for seat, agent in enumerate(environment.agents):
                environment.render_seat = seat
                before = handed_out(environment, agent)
                kept = game.table.state.take(np.arange(1))
                Behind(game.table, 0, seat, source).shuffle()
                after = handed_out(environment, agent)
                game.table.state.put(np.arange(1), kept)
                assert before == after
        mask = environment.observe(environment.agent_selection)["action_mask"]
        environment.step(source.choice(np.flatnonzero(mask).tolist()))


def handed_out(environment: raw_env, agent: str) -> list[str]:
    """What an agent is handed as text: its observation, info, picture, and public attributes."""
    handed: list[object] = [environment.observe(agent), environment.infos[agent]]
    if agent == environment.agent_selection:
        handed.append(environment.last())
    handed.append(environment.render())
    public = {name: value for name, value in vars(environment).items() if name[0] != "_"}
    del public["infos"]  # each agent is handed its own
    assert not [value for value in public.values() if isinstance(value, OneGame | VectorKolkhoz)]
    handed.append(sorted(public.items()))
    with np.printoptions(threshold=10**6):
        return [repr(value) for value in handed]
