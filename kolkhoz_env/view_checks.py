"""Whether the position that a view describes is possible; each rule names the field it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kolkhoz_env.cards import (
    CROP_ACTION,
    CROPS,
    NO_CROP,
    PASS,
    RANK,
    SABOTEUR,
    action_name,
    card_name,
)
from kolkhoz_env.rules import ASSIGN, OVER, PLAY, REQUISITION, SWAP_GIVE, SWAP_TAKE, TRUMP
from kolkhoz_env.state import (
    EMPTY,
    HIDDEN,
    PLACE_PUBLIC,
    PLACE_SINCE,
    SWAP_CELLAR,
    SWAP_NONE,
    SWAP_PASS,
    SWAP_PLOT,
)
from kolkhoz_env.view_fields import card_text, refuse

if TYPE_CHECKING:
    from kolkhoz_env.view_reader import Game

_RANKS = RANK.tolist()
_CROP_BITS = [0x1FFF << 13 * crop for crop in range(4)]
_SABOTEUR_BIT = 1 << SABOTEUR
_RANK_BITS = [_SABOTEUR_BIT] + [
    sum(1 << 13 * crop + rank - 1 for crop in range(4)) for rank in range(1, 14)
]


def check_position(game: Game) -> None:
    """Raise :class:`~kolkhoz_env.errors.ViewError` unless the position is possible."""
    _check_turn(game)
    _check_trump(game)
    _check_hands(game)
    _check_fields(game)
    _check_trick(game)
    _check_rewards(game)
    _check_swaps(game)
    _check_cellars(game)
    _check_year_end(game)
    _check_cards(game)
    if game.legal != (right := legal_moves(game) if game.turn == game.knower else 0):
        missing, extra = right & ~game.legal, game.legal & ~right
        refuse("legal", f"{_move(missing)} is missing" if missing else f"{_move(extra)} is not")


def _move(bits: int) -> str:
    return action_name((bits & -bits).bit_length() - 1)


def _check_turn(game: Game) -> None:
    """The seat to act is the one that the phase says; the leader too before the first trick."""
    rules, phase, first = game.rules, game.phase, (game.planner + 1) % game.rules.players
    if phase == OVER and game.year != rules.years:
        refuse("year", f"{game.year}, but the game is over after year {rules.years}")
    if phase == TRUMP and game.year == rules.famine_year:
        refuse("turn.phase", "nobody chooses trump in the Famine year")
    if phase in (SWAP_TAKE, SWAP_GIVE) and (game.year == 1 or not rules.swaps):
        refuse("turn.phase", "there is no swap under these rules in this year")
    if phase in (REQUISITION, OVER) and game.number != game.tricks:
        refuse("trick_number", f"{game.number}, but all {game.tricks} tricks have been played")
    if phase in (TRUMP, SWAP_TAKE, SWAP_GIVE) and game.number != 1:
        refuse("trick_number", f"{game.number}, but no trick has been played")
    if game.done == 0 and game.leader != first:
        refuse("leader", f"{game.leader}, but seat {first} leads the first trick of this year")
    expected = {
        TRUMP: game.planner,
        PLAY: (game.leader + len(game.trick)) % rules.players,
        ASSIGN: game.winner,
    }.get(phase, game.turn)
    if game.turn != expected:
        refuse("turn.seat", f"{game.turn}, but it is seat {expected}'s turn")


def _check_trump(game: Game) -> None:
    if game.phase == TRUMP and game.trump != NO_CROP:
        refuse("trump", "must be null before it is chosen")
    if game.phase == TRUMP or game.trump != NO_CROP:
        return
    rules = game.rules
    if game.year != rules.famine_year:
        refuse("trump", "is missing; it has been chosen")
    if rules.saboteur and not game.north & _SABOTEUR_BIT:
        refuse("trump", "a Famine year has trump unless the Saboteur lies in the North")
    dealt = rules.players * rules.hand_size(game.year)
    if not rules.saboteur and rules.workers_in(game.year) > dealt:
        refuse("trump", "a Famine year has trump if a Worker is left to reveal")


def _check_hands(game: Game) -> None:
    rules = game.rules
    full = game.tricks + 1
    for seat in game.seats:
        in_trick = (seat - game.leader) % rules.players < len(game.trick)
        size = full - game.done - in_trick if game.done < game.tricks else 0
        if game.hand_sizes[seat] != size:
            refuse(f"hand_sizes[{seat}]", f"{game.hand_sizes[seat]}, but it must be {size}")
        void = sum(_CROP_BITS[c] for c in range(4) if game.voids[seat] >> c & 1)
        void |= _SABOTEUR_BIT if void else 0
        known = 0 if game.known[seat] == EMPTY else 1 << game.known[seat]
        if known and not size:
            refuse(f"known_in_hand[{seat}]", f"{card_text(known)} in an empty hand")
        if known & void:
            refuse(f"known_in_hand[{seat}]", f"{card_text(known)} against the voids shown")
        if seat == game.knower:
            if game.hand & void:
                refuse("hand", f"{card_text(game.hand & void)} against the voids shown")
            if game.hand.bit_count() != size:
                refuse("hand", f"{game.hand.bit_count()} cards, but it must hold {size}")
            if known & ~game.hand:
                refuse(f"known_in_hand[{seat}]", f"{card_text(known)} is not in the hand")


def _check_fields(game: Game) -> None:
    cards = 0
    for c, crop in enumerate(game.crops):
        hours = sum(_RANKS[card] for card in range(53) if game.fields[c] >> card & 1)
        if game.hours[c] != hours:
            refuse(f"fields.{crop}.hours", f"{game.hours[c]}, but its cards make {hours}")
        claimed = hours >= game.rules.field_quota
        if bool(game.claimed >> c & 1) != claimed:
            quota = f"the quota of {game.rules.field_quota} is {'' if claimed else 'not '}reached"
            refuse(f"fields.{crop}.claimed", f"must be {str(claimed).lower()}: {quota}")
        cards += game.fields[c].bit_count()
    expected = game.done * game.rules.players + game.assigned
    if cards != expected:
        refuse("fields", f"{cards} cards, but {expected} have been assigned this year")


def _check_trick(game: Game) -> None:
    size, players = len(game.trick), game.rules.players
    if game.phase == ASSIGN and size < players:
        refuse("trick", f"{size} cards, but a trick is assigned when all {players} are down")
    if game.phase == PLAY and size == players:
        refuse("trick", "complete, but nobody assigns it")
    if game.phase not in (PLAY, ASSIGN) and size:
        refuse("trick", "must be empty in this phase")
    if game.phase == ASSIGN and game.assigned == players:
        refuse("trick", "every card is assigned already")
    if game.phase == PLAY and game.assigned:
        refuse("trick[0].assigned", "must be false: the trick is not complete")
    card = game.trick[game.assigned] if game.phase == ASSIGN else EMPTY
    if game.assign_card != card:
        refuse("assign_card", f"must be {'null' if card == EMPTY else card_name(card)}")
    in_fields = 0
    for cards in game.fields:
        in_fields |= cards
    for index, card in enumerate(game.trick):
        if index < game.assigned and not in_fields >> card & 1:
            refuse(f"trick[{index}].assigned", f"{card_name(card)} is in no field")
        seat = (game.leader + index) % players
        strays = game.led != NO_CROP and card // 13 not in (game.led, NO_CROP)
        if strays and not game.voids[seat] >> game.led & 1:
            refuse(f"voids[{seat}]", f"{CROPS[game.led]} is missing: the seat did not follow")
    medals = game.done + (game.phase == ASSIGN)
    if sum(game.medals) != medals:
        refuse("medals", f"{sum(game.medals)} in all, but {medals} tricks have been won")
    if game.phase == ASSIGN and not game.medals[game.winner]:
        refuse(f"medals[{game.winner}]", "the Brigadier has won the trick's Medal")


def _check_rewards(game: Game) -> None:
    low = game.rules.low_rewards
    for c, crop in enumerate(game.crops):
        gone = game.phase == OVER or game.claimed >> c & 1
        reward = EMPTY if gone else game.piles[c][-1]
        if game.rewards[crop] != reward:
            text = "null" if gone else f"{card_name(reward)}, the last of rewards_revealed"
            refuse(f"fields.{crop}.reward", f"must be {text}")
        if sum(_RANKS[card] > low for card in game.piles[c]) > 1:
            refuse(f"rewards_revealed.{crop}", f"a pile holds one card above rank {low}")


def _check_swaps(game: Game) -> None:
    swapping = game.phase in (SWAP_TAKE, SWAP_GIVE)
    turn = (game.turn - game.planner - 1) % game.rules.players if swapping else -1
    for seat, swap in enumerate(game.swaps):
        field = f"swaps[{seat}]"
        order = (seat - game.planner - 1) % game.rules.players
        holds = game.plots[seat] or any(card != EMPTY for card in game.cellars[seat])
        if swap != SWAP_NONE and (game.year == 1 or not game.rules.swaps or game.phase == TRUMP):
            refuse(field, "must be null: no swap has begun")
        if swapping and order > turn and swap != SWAP_NONE:
            refuse(field, "must be null: this seat's swap comes later")
        if swapping and order < turn and swap == SWAP_NONE and holds:
            refuse(field, "is missing: this seat has had its swap")
        if order == turn and not holds:
            refuse("turn.seat", "a seat with neither Plot nor Cellar card has no swap")
        if order == turn and (swap == SWAP_NONE) != (game.phase == SWAP_TAKE):
            refuse(field, "is set when the card is picked, from swap_give on")
        if order == turn and swap == SWAP_PASS:
            refuse(field, "a seat that passes gives no card")
    _check_taken(game)


def _check_taken(game: Game) -> None:
    if game.phase != SWAP_GIVE:
        if game.taken != EMPTY:
            refuse("taken", "must be null in this phase")
        return
    swap = game.swaps[game.turn]
    if swap == SWAP_PLOT:
        if game.taken == EMPTY or not game.plots[game.turn] >> game.taken & 1:
            refuse("taken", "must be a card of the Plot that the swap is with")
        return
    card = game.cellars[game.turn][swap - SWAP_CELLAR]
    if game.taken != (EMPTY if card == HIDDEN else card) or card == EMPTY:
        refuse("taken", "must be the card of the Cellar place that the swap is with, if known")


def _check_cellars(game: Game) -> None:
    banked = game.phase in (REQUISITION, OVER)
    for seat, cards in enumerate(game.cellars):
        if cards[game.year - 1] != EMPTY and not banked:
            refuse(f"cellars[{seat}]", f"nothing has been banked in year {game.year} yet")
        swap = game.swaps[seat]
        if game.phase == SWAP_GIVE and seat == game.turn:
            swap = SWAP_NONE  # under way: nothing has changed places yet
        for place, card in enumerate(cards):
            facts = game.places[seat][place]
            fresh = place + 1 < game.year and facts[PLACE_SINCE] == game.year
            named = swap == SWAP_CELLAR + place
            if card != EMPTY and fresh != named:
                what = "it has" if fresh else "it has not"
                refuse(f"swaps[{seat}]", f"{what} changed Cellar place {place + 1} by the cellars")
            if card == EMPTY and named and not banked:
                refuse(f"swaps[{seat}].banked", f"Cellar place {place + 1} is empty")


def _check_year_end(game: Game) -> None:
    """Failed fields and inspections follow from fields and Medals."""
    ended = game.phase in (REQUISITION, OVER)
    failed = inspected = 0
    if ended:
        for c, cards in enumerate(game.fields):
            lost = game.hours[c] < game.rules.field_quota or cards & _SABOTEUR_BIT
            failed |= bool(lost) << c
        hero = [game.rules.hero_of_labor and medals == game.tricks for medals in game.medals]
        for seat, medals in enumerate(game.medals):
            inspected |= bool(not hero[seat] if any(hero) else medals) << seat
    if game.failed != failed:
        refuse("failed", f"must be {[CROPS[c] for c in range(4) if failed >> c & 1]}")
    if game.inspected != inspected:
        refuse("inspected", f"must be {[seat for seat in game.seats if inspected >> seat & 1]}")
    if (game.to_send > 0) != (game.phase == REQUISITION):
        refuse("to_send", f"{game.to_send} does not fit the phase")
    if game.phase == REQUISITION:
        if not inspected >> game.turn & 1:
            refuse("turn.seat", "this seat is not inspected")
        if game.turn == game.knower and tied_cards(game).bit_count() <= game.to_send:
            refuse("to_send", f"{game.to_send} leaves no choice among the cards tied")


def _check_cards(game: Game) -> None:
    """No card lies in two places, hidden cards have room, and what was seen was seen."""
    public = game.north | game.unclaimed
    _place(game.north & game.unclaimed, "north")
    zones = [(f"plots[{seat}]", zone) for seat, zone in enumerate(game.plots)]
    zones += [(f"fields.{crop}.cards", game.fields[c]) for c, crop in enumerate(game.crops)]
    zones += [(f"trick[{i}].card", 1 << card) for i, card in enumerate(game.trick)][game.assigned :]
    own = game.hand
    hidden = 0
    for seat in game.seats:
        if game.known[seat] != EMPTY:
            zones.append((f"known_in_hand[{seat}]", 1 << game.known[seat]))
        if seat != game.knower:
            hidden += game.hand_sizes[seat] - (game.known[seat] != EMPTY)
        for place, card in enumerate(game.cellars[seat]):
            if card == HIDDEN:
                hidden += 1
            elif card != EMPTY and game.places[seat][place][PLACE_PUBLIC]:
                zones.append((f"cellars[{seat}]", 1 << card))
            elif card != EMPTY:
                _place(own >> card & 1 and 1 << card, f"cellars[{seat}]")
                own |= 1 << card
    for field, zone in zones:
        _place(public & zone, field)
        public |= zone
    known = 0 if game.known[game.knower] == EMPTY else 1 << game.known[game.knower]
    _place(own & ~known & public, "hand")
    _check_room(game, public | own, hidden)
    now = game.seen[game.year - 1]
    if missing := public & ~now:
        refuse(f"last_seen.{card_text(missing)}", f"must be {game.year}: its place is public")
    if extra := now & ~(public | own):
        refuse(f"last_seen.{card_text(extra)}", "seen this year, but its place is not known")


def _place(twice: int, field: str) -> None:
    if twice:
        refuse(field, f"{card_text(twice)} lies in another place too")


def _check_room(game: Game, located: int, hidden: int) -> None:
    """Cards still in the reward piles lie nowhere else; every hidden place can have a card."""
    rules = game.rules
    for c, crop in enumerate(game.crops):
        revealed = sum(1 << card for card in game.piles[c])
        ahead = ((1 << rules.low_rewards) - 1) << 13 * c & ~revealed
        if ahead & located:
            refuse(f"rewards_revealed.{crop}", f"{card_text(ahead & located)} is still in the pile")
    unseen = (game.deck & ~located).bit_count()
    needed = hidden + len(game.crops) * (rules.pile_size - game.year)
    if unseen < needed:
        refuse("view", f"{unseen} cards are unseen, but {needed} hidden places hold one each")


def tied_cards(game: Game) -> int:
    """The cards of the knower among which it chooses at requisition."""
    pool = game.plots[game.knower]
    for card in game.cellars[game.knower]:
        pool |= 0 if card == EMPTY else 1 << card
    pool &= _SABOTEUR_BIT | sum(_CROP_BITS[c] for c in range(4) if game.failed >> c & 1)
    return next((pool & bits for bits in reversed(_RANK_BITS) if pool & bits), 0)


def legal_moves(game: Game) -> int:
    """Bits of the legal moves of the knower, whose turn it is."""
    crops = (1 << game.rules.crops) - 1
    if game.phase == TRUMP:
        return crops << CROP_ACTION
    if game.phase == SWAP_TAKE:
        cards = game.plots[game.knower]
        for card in game.cellars[game.knower]:
            cards |= 0 if card == EMPTY else 1 << card
        return cards | 1 << PASS
    if game.phase == ASSIGN:
        bits = 0
        for card in game.trick:
            bits |= crops if card == SABOTEUR else 1 << card // 13
        return bits << CROP_ACTION
    if game.phase == REQUISITION:
        return tied_cards(game)
    follow = _SABOTEUR_BIT | _CROP_BITS[game.led] if game.led != NO_CROP else 0
    return game.hand & follow or game.hand
