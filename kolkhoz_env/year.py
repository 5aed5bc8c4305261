"""The rules: a game from setup through its years to the final score, in the printed order.

Every function takes a :class:`~kolkhoz_env.state.State` and the rows (games) it applies to and
changes these games in place; rows of one call may be in different years. A decision function
takes the action of each row and leaves the games at the next decision or at their end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolkhoz_env.cards import (
    BIT,
    CROP,
    CROP_ACTION,
    CROP_BITS,
    NO_CROP,
    NUM_CARDS,
    NUM_CROPS,
    RANK,
    SABOTEUR,
    single_card,
    union,
    zone_with,
)
from kolkhoz_env.deal import Dealer, first_planners, hashed_deal, reward_piles
from kolkhoz_env.requisition import bank, identify_failed_fields, inspect, send_chosen
from kolkhoz_env.rules import (
    ASSIGN,
    OVER,
    PLAY,
    REQUISITION,
    SWAP_GIVE,
    SWAP_TAKE,
    TRUMP,
    Rules,
)
from kolkhoz_env.state import COUNTER, EMPTY, Bool, Int8, Int64, State, UInt64
from kolkhoz_env.swapping import begin_swaps, swap_give, swap_take
from kolkhoz_env.tricks import CROP_SET, STRENGTH


@dataclass(frozen=True)
class Course:
    """How games run: their rules, where deals come from, and who is told of a year's end.

    ``year_ended(state, rows)`` is called after requisition and after the unclaimed rewards went
    North, before anything of the year is cleared.
    """

    rules: Rules
    dealer: Dealer = hashed_deal
    year_ended: Callable[[State, Int64], None] | None = None


# Setup ---------------------------------------------------------------------------------------


def set_up(
    state: State,
    rows: Int64,
    course: Course,
    key: UInt64,
    piles: Int8 | None = None,
    first_planner: Int8 | None = None,
) -> None:
    """Begin new games in ``rows``: reward piles, first Planner, then Year 1.

    ``key`` is ``uint64[n]``; ``piles`` ``int8[n, 4, 5]`` and ``first_planner`` ``int8[n]`` are
    drawn from it unless given.
    """
    rules = course.rules
    state.key[rows] = key
    state.piles[rows] = reward_piles(key, rules) if piles is None else piles
    drawn = first_planners(key, rules) if first_planner is None else first_planner
    state.planner[rows] = drawn
    state.year[rows] = 1
    state.decision[rows] = 0
    for zone in (state.hands, state.dealt, state.plots, state.north, state.seen):
        zone[rows] = 0
    for banked in (state.in_cellar, state.cellar_codes, state.face_codes, state.places):
        banked[rows] = 0
    for counter in (state.last_seen, state.revealed, state.totals):
        counter[rows] = 0
    state.cellars[rows] = EMPTY
    state.faces[rows] = EMPTY
    begin_year(state, rows, course)


# Planning ------------------------------------------------------------------------------------


def begin_year(state: State, rows: Int64, course: Course) -> None:
    """Clear the table, deal, reveal the four rewards; in the Famine reveal trump as well."""
    for cleared in (state.medals, state.hours, state.fields, state.swaps, state.voids):
        cleared[rows] = 0
    for cleared in (state.claimed, state.failed, state.inspected, state.cursor):
        cleared[rows] = 0
    state.known[rows] = EMPTY
    state.tied[rows] = 0
    state.to_send[rows] = 0
    state.trick_number[rows] = 0
    state.trump[rows] = NO_CROP
    state.leader[rows] = (state.planner[rows] + 1) % state.players
    _clear_trick(state, rows)

    famine = state.year[rows] == course.rules.famine_year
    for group, is_famine in ((rows[~famine], False), (rows[famine], True)):
        if group.size:
            _deal(state, group, course, is_famine)


def _deal(state: State, rows: Int64, course: Course, famine: bool) -> None:
    hands, turned_up = course.dealer(state, rows, course.rules)
    year = state.year[rows]
    state.hands[rows] = hands
    state.dealt[rows, :, year - 1] = hands
    rewards = state.piles[rows, :, year - 1]
    state.revealed[rows, :, year - 1] = RANK[rewards]
    state.rewards[rows] = zone_with(rewards)
    if famine:
        state.north[rows] |= BIT[turned_up]
        state.trump[rows] = CROP[turned_up]  # the Saboteur's crop is NO_CROP: no trump
    public = state.rewards[rows] | state.north[rows]
    public |= union(state.plots.take(rows, axis=0))
    public |= zone_with(state.faces.take(rows, axis=0))
    state.seen[rows, year - 1] = public
    seen = np.unpackbits((hands | public[:, None]).view(np.uint8), bitorder="little")
    seen = seen.reshape(rows.size, state.players, 64)[:, :, :NUM_CARDS]
    last_seen = state.last_seen.take(rows, axis=0)
    state.last_seen[rows] = np.maximum(last_seen, seen * year.view(np.uint8)[:, None, None])
    if famine:
        begin_swaps(state, rows, course.rules)
    else:
        state.phase[rows] = TRUMP
        state.seat[rows] = state.planner[rows]


def choose_trump(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """The Planner names the trump crop of the year."""
    crop = actions - CROP_ACTION
    state.trump[rows] = crop
    state.totals[rows, state.seat[rows], COUNTER["trump_wheat"] + crop] += 1
    begin_swaps(state, rows, course.rules)


# Trick-taking --------------------------------------------------------------------------------


def _clear_trick(state: State, rows: Int64) -> None:
    state.trick[rows] = EMPTY
    state.led[rows] = NO_CROP
    for cleared in (state.trick_size, state.crops, state.best, state.winner, state.assigned):
        cleared[rows] = 0
    state.taken[rows] = EMPTY


def play_card(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """A seat plays a hand card; the last card of the trick names the Brigadier."""
    players = state.players
    seat = state.seat[rows]
    size = state.trick_size[rows]
    bit = BIT[actions]
    at_seat = rows * players + seat
    state.hands.ravel()[at_seat] ^= bit
    shown = at_seat[state.known.ravel()[at_seat] == actions]
    state.known.ravel()[shown] = EMPTY
    state.trick.ravel()[rows * players + size] = actions
    year = state.year[rows]
    state.seen.ravel()[rows * 5 + (year - 1)] |= bit
    last_seen = state.last_seen.ravel()
    stamp = rows * (players * NUM_CARDS) + actions
    for _ in range(players):
        last_seen[stamp] = year
        stamp += NUM_CARDS
    state.crops[rows] |= CROP_SET[actions]

    led, crop = state.led[rows], CROP[actions]
    (strays,) = ((led != NO_CROP) & (crop != led) & (crop != NO_CROP)).nonzero()
    state.voids.ravel()[at_seat[strays]] |= (1 << led[strays]).astype(np.uint8)
    led = np.where(size == 0, crop, led)
    state.led[rows] = led

    case = state.trump[rows] * np.int8(5) + led
    strength = STRENGTH.ravel().take(case * np.int64(NUM_CARDS) + actions)
    (beats,) = (strength > state.best[rows]).nonzero()
    state.best[rows[beats]] = strength[beats]
    state.winner[rows[beats]] = seat[beats]

    size = size + 1
    state.trick_size[rows] = size
    full = size == players
    following = seat + 1
    following *= following < players
    state.seat[rows] = following
    done = rows[full]
    if done.size:
        brigadier = state.winner[done]
        state.seat[done] = brigadier
        state.medals.ravel()[done * players + brigadier] += 1
        state.phase[done] = ASSIGN


# Assigning Workers and completing fields -----------------------------------------------------


def assign_card(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """The Brigadier sends the next card of the trick to a field, which may complete."""
    players = state.players
    place = state.assigned[rows]
    card = state.trick.ravel()[rows * players + place]
    crops = actions - CROP_ACTION
    state.fields.ravel()[(rows * NUM_CROPS + crops) * NUM_CARDS + card] = 1
    _work(state, rows, crops, card == SABOTEUR, RANK[card], course)
    place = place + 1
    state.assigned[rows] = place
    finished = rows[place == players]
    if finished.size:
        _finish_trick(state, finished, course)


def assign_rest(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """The Brigadier sends all cards not yet assigned to one field, as in a trick of one crop.

    The same as so many calls of :func:`assign_card`, in one step.
    """
    left = np.arange(state.players) >= state.assigned[rows, None]
    cards = state.trick.take(rows, axis=0)
    state.decision[rows] += left.sum(axis=1, dtype=np.int32)
    crops = actions - CROP_ACTION
    game, place = left.nonzero()
    state.fields[rows[game], crops[game], cards[game, place]] = 1
    ranks = (RANK[cards] * left).sum(axis=1, dtype=np.int16)
    _work(state, rows, crops, ((cards == SABOTEUR) & left).any(axis=1), ranks, course)
    _finish_trick(state, rows, course)


def _work(
    state: State, rows: Int64, crops: Int64, sabotage: Bool, ranks: NDArray[Any], course: Course
) -> None:
    """Count the ranks of Workers as hours of a field; pay its reward if due."""
    at_field = rows * NUM_CROPS + crops
    hours = state.hours.ravel()[at_field] + ranks
    state.hours.ravel()[at_field] = hours
    (met,) = (hours >= course.rules.field_quota).nonzero()
    if met.size:
        _claim_rewards(state, rows[met], crops[met])
    sabotaged = rows[sabotage]
    if sabotaged.size:
        state.totals[sabotaged, state.seat[sabotaged], COUNTER["saboteurs"]] += 1


def _claim_rewards(state: State, rows: Int64, crops: Int64) -> None:
    """Pay the rewards of fields at their quota, once a year, to the Brigadier's Plot."""
    bit = (1 << crops).astype(np.uint8)
    first = (state.claimed[rows] & bit) == 0
    rows, crops, bit = rows[first], crops[first], bit[first]
    reward = state.rewards[rows] & CROP_BITS[crops]
    seats = state.seat[rows]
    state.claimed[rows] |= bit
    state.rewards[rows] ^= reward
    state.plots[rows, seats] |= reward
    state.totals[rows, seats, COUNTER["fields_completed"]] += 1
    state.totals[rows, seats, COUNTER["reward_ranks"]] += RANK[single_card(reward)]


def _finish_trick(state: State, rows: Int64, course: Course) -> None:
    rules = course.rules
    brigadier = state.seat[rows]
    state.leader[rows] = brigadier
    number = state.trick_number[rows] + 1
    state.trick_number[rows] = number
    state.phase[rows] = PLAY
    last = number == rules.tricks - (state.year[rows] == rules.famine_year)
    _clear_trick(state, rows)
    ended = rows[last]
    if ended.size:
        bank(state, ended)
        identify_failed_fields(state, ended, rules)
        _requisition(state, ended, course)


# The end of the year -------------------------------------------------------------------------


def _requisition(state: State, rows: Int64, course: Course) -> None:
    """Inspect the remaining seats in order; stop where an owner has a choice."""
    chooses = inspect(state, rows)
    owners = rows[chooses]
    state.phase[owners] = REQUISITION
    done = rows[~chooses]
    if done.size:
        _clean_up(state, done, course)


def requisition_card(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """The owner sends one of the cards tied at the cutoff North."""
    finished = send_chosen(state, rows, actions)
    _requisition(state, rows[finished], course)


def _clean_up(state: State, rows: Int64, course: Course) -> None:
    """Unclaimed rewards go North, the Planner passes left; after the last year the game ends."""
    state.north[rows] |= state.rewards[rows]
    state.rewards[rows] = 0
    if course.year_ended is not None:
        course.year_ended(state, rows)
    last = state.year[rows] == course.rules.years
    _finish_game(state, rows[last])
    rows = rows[~last]
    if rows.size:
        state.year[rows] += 1
        state.planner[rows] = (state.planner[rows] + 1) % state.players
        begin_year(state, rows, course)


def _finish_game(state: State, rows: Int64) -> None:
    state.phase[rows] = OVER
    state.seat[rows] = -1
    kept = RANK[state.cellars[rows]].sum(axis=2, dtype=np.int16)
    state.totals[rows, :, COUNTER["banked_kept"]] = kept


#: Decision function by phase code.
DECIDE = {
    TRUMP: choose_trump,
    SWAP_TAKE: swap_take,
    SWAP_GIVE: swap_give,
    PLAY: play_card,
    ASSIGN: assign_card,
    REQUISITION: requisition_card,
}


def advance(state: State, rows: Int64, actions: Int64, course: Course) -> None:
    """Carry out one legal decision in each of ``rows``, games in any mixture of phases."""
    state.decision[rows] += 1
    phases = state.phase[rows]
    for phase, decide in DECIDE.items():
        (chosen,) = (phases == phase).nonzero()
        if chosen.size:
            decide(state, rows[chosen], actions[chosen], course)
