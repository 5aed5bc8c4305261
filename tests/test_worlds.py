"""Worlds: they agree with the knowledge, and each that does is drawn as often as any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from kolkhoz_tools import played, random_actions, same_rows, zones

from kolkhoz_env import placing
from kolkhoz_env.cards import BIT, CROP, RANK, SABOTEUR, U64, cards_in
from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.knowledge import Knowledge, redact
from kolkhoz_env.placing import matching, random_bit
from kolkhoz_env.rules import OVER, REQUISITION, SWAP_GIVE, Rules
from kolkhoz_env.slots import find_slots
from kolkhoz_env.state import HIDDEN, State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.worlds import sample_worlds

attempt = placing._attempt

SMALL = Rules(
    players=2, crops=2, ranks=8, tricks=2, low_rewards=2, years=3, famine_year=0, quota=12
)
THREE = Rules(players=3, crops=2, ranks=9, tricks=2, low_rewards=1, years=2, famine_year=0)


@pytest.mark.parametrize("players", [3, 4])
def test_worlds_redacted_again_are_what_was_known_and_hold_every_card_once(players: int) -> None:
    games = VectorKolkhoz(24, players=players, seed=5, restart=False)
    generator = np.random.default_rng(1)
    step, count = 0, 3
    while not games.over.all():
        if step % 5 == 0:
            rows = np.flatnonzero(~games.over)
            known = games.knowledge(rows)
            worlds = known.worlds(count, seed=step)
            state = worlds.state
            again = redact(state, np.arange(worlds.size), np.repeat(known.seats, count))
            assert same_rows(known.state, again, count) == []
            assert (worlds.legal_mask() == np.repeat(known.legal_mask(), count, axis=0)).all()
            for row in range(0, worlds.size, 11):
                found = cards_of(zones(state, row, games.rules))
                assert sorted(found) == sorted(set(found))
                assert len(found) == 53
        games.step(random_actions(games, generator))
        step += 1


def cards_of(found: Any) -> list[str]:
    if isinstance(found, str):
        return [found]
    values = found.values() if isinstance(found, dict) else found
    return [card for value in values for card in cards_of(value)]


def test_worlds_play_on_to_the_end_each_with_its_own_decks() -> None:
    games = played(VectorKolkhoz(4, seed=2, restart=False), 40)
    worlds = games.knowledge().worlds(8, seed=3)
    assert len(np.unique(worlds.state.key)) == 32
    assert np.array_equal(worlds.game_ids, np.arange(32))
    generator = np.random.default_rng(0)
    while not worlds.over.all():
        worlds.step(random_actions(worlds, generator))
    assert np.allclose(worlds.outcome().win_share.sum(axis=1), 1)


@pytest.mark.parametrize("rules", [Rules(), Rules(players=3), SMALL])
def test_the_truth_is_always_among_the_worlds(rules: Rules) -> None:
    games = VectorKolkhoz(150, rules=rules, seed=8, restart=False)
    generator = np.random.default_rng(4)
    while not games.over.all():
        rows = np.flatnonzero(~games.over & (generator.random(games.size) < 0.3))
        for year in np.unique(games.state.year[rows]):
            part = rows[games.state.year[rows] == year]
            assert_truth_fits(games, part, int(year))
        games.step(random_actions(games, generator))


def assert_truth_fits(games: VectorKolkhoz, rows: np.ndarray, year: int) -> None:
    known = games.knowledge(rows)
    slots = find_slots(known, year)
    truth = games.state.take(rows)
    game = np.arange(len(rows))
    column = 0
    others = [(known.seats + s) % games.rules.players for s in range(1, games.rules.players)]
    for seat in others:
        hidden = truth.hands[game, seat] & ~BIT[truth.known[game, seat]]
        mask = slots.masks[:, column]
        assert ((hidden & ~mask == 0) | (hidden == 0)).all()
        used = slots.open[:, column : column + slots.hand].sum(axis=1)
        assert (used == np.bitwise_count(hidden)).all()
        column += slots.hand
    for seat in others:
        for place in range(year):
            hidden = known.state.cellars[game, seat, place] == HIDDEN
            card = BIT[truth.cellars[game, seat, place]]
            assert ((card & slots.masks[:, column] != 0) == hidden).all()
            column += 1
    for crop in range(games.rules.crops):
        ahead = truth.piles[:, crop, year : games.rules.pile_size]
        high = np.bitwise_or.reduce(
            np.where(RANK[ahead] > games.rules.low_rewards, BIT[ahead], U64(0)), axis=1
        )
        assert (high & ~slots.masks[:, column] == 0).all()
        assert ((slots.masks[:, column] != 0) == (high != 0)).all()
        column += 1


# Evenness --------------------------------------------------------------------------------------


def excess(observed: dict[Any, int], expected: dict[Any, float]) -> float:
    """Chi-square of counts against what is expected, as a normal deviate (Wilson and Hilferty)."""
    assert set(observed) <= set(expected), "a world that cannot be"
    square = sum((observed.get(key, 0) - mean) ** 2 / mean for key, mean in expected.items())
    free = len(expected) - 1
    return float(((square / free) ** (1 / 3) - (1 - 2 / (9 * free))) / (2 / (9 * free)) ** 0.5)


def enumerate_worlds(known: Knowledge) -> list[tuple[Any, ...]]:
    """All ways to place the unseen cards of one small game, written from the rules of knowledge."""
    state, rules, seat = known.state, known.rules, int(known.seats[0])
    year = int(state.year[0])
    last_seen = {
        card: max(
            [
                y
                for y in range(1, 6)
                if int(state.seen[0, y - 1] | state.dealt[0, seat, y - 1]) >> card & 1
            ],
            default=0,
        )
        for card in range(53)
    }
    low = [c for c in range(52) if RANK[c] <= rules.low_rewards]
    cards = [c for c in cards_in(known.unseen()[0]) if not (c in low and last_seen[c] == 0)]
    places: list[tuple[tuple[Any, ...], int, set[int]]] = []
    for other in range(rules.players):
        if other == seat:
            continue
        size = int(known.hand_sizes()[0, other]) - int(state.known[0, other] >= 0)
        voids = int(state.voids[0, other])
        fits = {c for c in cards if (not voids if c == SABOTEUR else not voids >> CROP[c] & 1)}
        places.append((("hand", other), size, fits))
        for place in range(5):
            if state.cellars[0, other, place] == HIDDEN:
                since, _, *facts = (
                    int(v) for v in state.places[0, other, place][[0, 1, 3, 4, 5, 6, 7]]
                )
                fits = {
                    c for c in cards
                    if (facts[4] if c == SABOTEUR else RANK[c] <= facts[CROP[c]])
                    and last_seen[c] < since
                }  # fmt: skip
                places.append((("cellar", other, place), 1, fits))
    for crop in range(rules.crops):
        shown = [int(card) for card in state.piles[0, crop, :year]]
        if all(RANK[card] <= rules.low_rewards for card in shown):
            fits = {c for c in cards if CROP[c] == crop and last_seen[c] == 0}
            places.append((("pile", crop), 1, fits))
    return list(_placings(places, frozenset(cards)))


def _placings(places: list[Any], left: frozenset[int]) -> Iterator[tuple[Any, ...]]:
    if not places:
        yield ()
        return
    _, size, fits = places[0]
    for chosen in combinations(sorted(fits & left), size):
        for rest in _placings(places[1:], left - set(chosen)):
            yield (chosen, *rest)


def placings_of(known: Knowledge, worlds: State) -> Counter[tuple[Any, ...]]:
    """How often each placing of the unseen cards was drawn, in the order of `enumerate_worlds`."""
    state, rules, seat = known.state, known.rules, int(known.seats[0])
    year = int(state.year[0])
    columns: list[list[tuple[int, ...]]] = []
    for other in range(rules.players):
        if other == seat:
            continue
        hidden = worlds.hands[:, other] & ~BIT[state.known[0, other]]
        columns.append([tuple(cards_in(hand)) for hand in hidden])
        columns += [
            [(int(card),) for card in worlds.cellars[:, other, place]]
            for place in range(5)
            if state.cellars[0, other, place] == HIDDEN
        ]
    for crop in range(rules.crops):
        if all(RANK[card] <= rules.low_rewards for card in state.piles[0, crop, :year]):
            ahead = worlds.piles[:, crop, year:]
            columns.append([(max(int(card) for card in pile),) for pile in ahead])
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize(
    ("rules", "steps", "game", "draws"),
    [
        (SMALL, 2, 0, 20000),
        (SMALL, 5, 3, 20000),
        (SMALL, 14, 1, 20000),
        (SMALL, 16, 2, 20000),
        (SMALL, 18, 5, 20000),
        (SMALL, 20, 7, 20000),
        (THREE, 26, 4, 60000),
        (Rules(), 152, 3, 20000),
        (Rules(players=3), 130, 8, 20000),
    ],
)  # fmt: skip
def test_every_possible_world_is_as_likely_as_any_other(
    rules: Rules, steps: int, game: int, draws: int
) -> None:
    games = played(VectorKolkhoz(12, rules=rules, seed=6, restart=False), steps, seed=11)
    known = games.knowledge(np.array([game]))
    assert games.state.phase[game] != OVER
    possible = enumerate_worlds(known)
    assert 1 < len(possible) < draws / 5, len(possible)
    drawn = placings_of(known, sample_worlds(known, draws, 12).state)
    even = dict.fromkeys(possible, draws / len(possible))
    assert excess(drawn, even) < 4


@pytest.mark.parametrize(("rules", "steps", "game"), [(SMALL, 18, 5), (Rules(), 152, 3)])
def test_worlds_are_as_even_where_every_draw_is_refused(
    rules: Rules, steps: int, game: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "ATTEMPTS", 1)
    monkeypatch.setattr(placing, "_attempt", refused)
    games = played(VectorKolkhoz(12, rules=rules, seed=6, restart=False), steps, seed=11)
    known = games.knowledge(np.array([game]))
    possible = enumerate_worlds(known)
    drawn = placings_of(known, sample_worlds(known, 20000, 12).state)
    assert excess(drawn, dict.fromkeys(possible, 20000 / len(possible))) < 4


def refused(*arguments: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    filled, left, accepted = attempt(*arguments)
    return filled, left, np.zeros_like(accepted)


def test_nearly_all_draws_are_accepted_in_real_games() -> None:
    """Else worlds would be slow, and come from exchanges, which are even only in the long run."""
    games = VectorKolkhoz(60, seed=4, restart=False)
    generator = np.random.default_rng(3)
    accepted = []
    for step in range(170):
        rows = np.flatnonzero(~games.over)
        if step % 15 == 0:
            slots = find_slots(games.knowledge(rows), 5)
            game = np.repeat(np.arange(rows.size), 20)
            keys = np.arange(game.size, dtype=U64)
            allowed = np.prod(slots.bounds, axis=1, dtype=np.float64)
            first = np.zeros(1, dtype=np.int64)
            accepted.append(attempt(slots.packed, allowed, slots.cards, game, keys, first)[2])
        games.step(random_actions(games, generator))
    assert np.concatenate(accepted).mean() > 0.85


def test_piles_come_in_every_order() -> None:
    games = VectorKolkhoz(1, rules=SMALL, seed=1, restart=False)
    worlds = games.knowledge().worlds(6000, seed=2)
    high = worlds.state.piles[:, 0, 1:3] % 13 >= SMALL.low_rewards
    place = Counter(high.argmax(axis=1)[high.any(axis=1)].tolist())
    if place:
        assert excess(place, dict.fromkeys((0, 1), 3000.0)) < 4


def test_worlds_in_year_one_are_the_deals_that_agree_with_what_was_seen() -> None:
    """An independent check: of many deals, keep those that look the same to the seat."""
    rules = Rules(
        players=2,
        crops=2,
        ranks=5,
        tricks=1,
        low_rewards=1,
        years=1,
        first_planner=1,
        famine_year=0,
    )
    many = VectorKolkhoz(100000, rules=rules, seed=3, restart=False)
    # A game whose first rewards are the Aces, so that its hidden rewards are still to come.
    aces = np.flatnonzero((many.state.piles[:, :2, 0] % 13 == 0).all(axis=1))
    one = many.take(aces[:1])
    generator = np.random.default_rng(5)
    seat = np.array([1], dtype=np.int8)
    kept = np.arange(many.size)
    for _ in range(2):
        kept = kept[looks_alike(many, kept, one, 1)]
        action = int(random_actions(one, generator)[0])
        kept = kept[many.legal_mask()[kept, action]]
        many = many.take(kept)
        kept = np.arange(many.size)
        many.step(np.full(many.size, action))
        one.step(np.array([action]))
    kept = kept[looks_alike(many, kept, one, 1)]
    known = one.knowledge(np.array([0]), seat)
    expected = placings_of(known, many.state.take(kept))
    drawn = placings_of(known, sample_worlds(known, 40000, 7).state)
    assert len(kept) > 150
    assert set(drawn) == set(enumerate_worlds(known)) >= set(expected)
    for part in range(3):  # the other hand, then the hidden reward of each crop
        seen, even = marginal(expected, part), marginal(drawn, part)
        assert excess(seen, {key: len(kept) * n / 40000 for key, n in even.items()}) < 4


def marginal(placings: Counter[tuple[Any, ...]], part: int) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for placed, number in placings.items():
        counts[placed[part]] += number
    return counts


def looks_alike(many: VectorKolkhoz, rows: np.ndarray, one: VectorKolkhoz, seat: int) -> np.ndarray:
    seats = np.full(len(rows), seat, dtype=np.int8)
    known = redact(many.state, rows, seats)
    wanted = redact(one.state, np.array([0]), np.array([seat], dtype=np.int8))
    alike = np.ones(len(rows), dtype=bool)
    for f in fields(State):
        same = getattr(known, f.name) == getattr(wanted, f.name)
        alike &= same.reshape(len(rows), -1).all(axis=1)
    return alike


# Details ---------------------------------------------------------------------------------------


def test_a_game_has_the_same_worlds_in_any_batch() -> None:
    games = played(VectorKolkhoz(6, seed=9, restart=False), 70)
    seeds = np.arange(100, 106, dtype=np.uint64)
    together = games.knowledge().worlds(5, seeds).state
    for row in (0, 3):
        alone = games.knowledge(np.array([row])).worlds(5, seeds[row : row + 1]).state
        part = together.take(np.arange(row * 5, row * 5 + 5))
        assert same_rows(part, alone, 1) == []


def test_a_hidden_card_picked_for_a_swap_is_the_one_in_its_place() -> None:
    games = VectorKolkhoz(40, seed=1, restart=False)
    generator = np.random.default_rng(3)
    checked = 0
    while not games.over.all():
        rows = np.flatnonzero(games.phase == SWAP_GIVE)
        if len(rows):
            onlookers = ((games.seat[rows] + 1) % 4).astype(np.int8)
            known = games.knowledge(rows, onlookers)
            state = known.worlds(2, 1).state
            acting = np.repeat(games.seat[rows], 2)
            cellar = state.cellars[np.arange(state.size), acting]
            plot = state.plots[np.arange(state.size), acting]
            assert (
                (cellar == state.taken[:, None]).any(axis=1) | (plot & BIT[state.taken] != 0)
            ).all()
            checked += len(rows)
        games.step(random_actions(games, generator))
    assert checked > 50


def test_contradictions_and_strangers_at_requisition_are_refused() -> None:
    games = played(VectorKolkhoz(1, seed=9, restart=False), 30)
    known = games.knowledge()
    known.state.voids[:] = 15
    with pytest.raises(KolkhozError, match="worlds"):
        known.worlds(2, 1)
    known.state.phase[:] = REQUISITION
    known.state.seat[:] = (known.seats + 1) % 4
    with pytest.raises(KolkhozError, match="requisition"):
        known.worlds(2, 1)
    with pytest.raises(KolkhozError, match="seeds"):
        games.knowledge().worlds(2, np.zeros(3, dtype=np.uint64))


def test_a_random_card_of_a_zone_is_drawn_evenly() -> None:
    zone = np.full(30000, (1 << 52) | (1 << 31) | (1 << 7) | 1, dtype=U64)
    draws = np.random.default_rng(2).integers(0, 2**64, zone.size, dtype=U64)
    counts = Counter(int(bit).bit_length() - 1 for bit in random_bit(zone, draws))
    assert excess(counts, dict.fromkeys((0, 7, 31, 52), 7500.0)) < 4
    assert (random_bit(np.zeros(3, dtype=U64), draws[:3]) == 0).all()


def test_a_way_to_fill_is_found_where_only_one_is_left() -> None:
    masks = np.array([0b001, 0b011, 0b111], dtype=U64)
    assert matching(masks, 0b111).tolist() == [1, 2, 4]
    with pytest.raises(KolkhozError, match="no world"):
        matching(np.array([1, 1], dtype=U64), 0b111)
