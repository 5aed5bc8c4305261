"""What happens at the table, told in order as a player sees and hears it.

:class:`Story` watches a table of one game. Around every decision it notes what was public about
it, and at the end of a year it explains the requisition card by card. It tells nothing that the
listening seat may not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.text import Text

from kolkhoz_env.cards import CROPS, SABOTEUR, action_name, card_name, cards_in
from kolkhoz_env.drawing.text import card_text, cards_text, crop_text
from kolkhoz_env.drawing.views import in_order
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.state import State
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_env.year import Course

Part = str | Text


@dataclass
class Story:
    """Collects lines about one game for one seat.

    Attributes:
        rules: the rules of the game.
        you: the seat that listens.
        lines: what was told since :meth:`tell` was last called.
    """

    rules: Rules
    you: int
    lines: list[Text] = field(default_factory=list)
    _held: list[dict[str, str]] = field(default_factory=list)

    def course(self) -> Course:
        """The course of a table that tells this story of the ends of its years."""
        return Course(self.rules, year_ended=lambda state, rows: self._year_ended(state))

    def tell(self) -> list[Text]:
        """The lines so far; the next call begins after them."""
        lines, self.lines = self.lines, []
        return lines

    def say(self, *parts: Part) -> None:
        """Add a line."""
        text = Text()
        for part in parts:
            text.append_text(part if isinstance(part, Text) else Text(part))
        if text.plain:
            text = Text(text.plain[0].upper()) + text[1:]
        self.lines.append(text)

    def name(self, seat: int, owner: bool = False) -> str:
        """`you`, `seat 2`; with ``owner`` `your`, `seat 2's`."""
        if seat == self.you:
            return "your" if owner else "you"
        return f"seat {seat}'s" if owner else f"seat {seat}"

    def verb(self, seat: int, verb: str) -> str:
        """`you play`, `seat 2 plays`."""
        if seat == self.you:
            return f"you {verb}"
        return f"seat {seat} {verb}{'es' if verb.endswith('s') else 's'}"

    # Decisions --------------------------------------------------------------------------------

    def before(self, table: VectorKolkhoz, action: int) -> None:
        """Call it with every decision that is about to be made."""
        phase, state = PHASES[table.phase[0]], table.state
        if phase == "assign":
            self._held = holdings(state, self.rules.players)
        getattr(self, f"_{phase}")(state, int(table.seat[0]), action_name(action))

    def _trump(self, state: State, seat: int, move: str) -> None:
        self.say(self.verb(seat, "choose"), " ", crop_text(move), " as trump.")

    def _swap_take(self, state: State, seat: int, move: str) -> None:
        if move == "pass":
            self.say(self.verb(seat, "decline"), " to swap.")

    def _swap_give(self, state: State, seat: int, move: str) -> None:
        taken = card_name(int(state.taken[0]))
        if int(state.plots[0, seat]) >> int(state.taken[0]) & 1:
            self.say(self.verb(seat, "swap"), " with the Plot: takes " if seat != self.you else
                     " with your Plot: take ", card_text(taken), ", lays down ",
                     card_text(move), ".")  # fmt: skip
            return
        place = int(np.flatnonzero(state.cellars[0, seat] == state.taken[0])[0])
        if seat == self.you:
            self.say("you swap with your Cellar: take ", card_text(taken), ", put down ",
                     card_text(move), ".")  # fmt: skip
            return
        face = int(state.faces[0, seat, place])
        known = Text(" (") + card_text(card_name(face)) + Text(")") if face >= 0 else Text("")
        self.say(f"seat {seat} swaps the Cellar card of Year {place + 1}", known, ", face-down.")

    def _play(self, state: State, seat: int, move: str) -> None:
        leads = int(state.trick_size[0]) == 0
        self.say(self.verb(seat, "lead" if leads else "play"), " ", card_text(move), ".")

    def _assign(self, state: State, seat: int, move: str) -> None:
        card = int(state.trick[0, state.assigned[0]])
        crop = CROPS.index(move)
        hours = int(state.hours[0, crop]) + (card % 13 + 1 if card < 52 else 0)
        quota = self.rules.field_quota
        self.say(self.verb(seat, "send"), " ", card_text(card_name(card)), " to ",
                 crop_text(move), f": {hours} of {quota} hours.")  # fmt: skip
        claimed = int(state.claimed[0]) >> crop & 1
        if hours >= quota and not claimed:
            reward = cards_in(int(state.rewards[0]) & (0x1FFF << 13 * crop))[0]
            self._held[seat][card_name(reward)] = "Plot"
            self.say(crop_text(move), " is complete: ", self.verb(seat, "take"), " the reward ",
                     card_text(card_name(reward)), ".")  # fmt: skip
        if card == 52:
            self.say("The Saboteur is in ", crop_text(move), ": that field will fail.")

    def _requisition(self, state: State, seat: int, move: str) -> None:
        self.say(self.verb(seat, "choose"), " ", card_text(move), " among equal ranks to go North.")

    def after(self, before: dict[str, Any], table: VectorKolkhoz) -> None:
        """Call it with the view before and the table after every decision."""
        state = table.state
        if before["turn"]["phase"] == "play" and PHASES[table.phase[0]] == "assign":
            winner = int(state.winner[0])
            place = (winner - int(state.leader[0])) % self.rules.players
            card = card_name(int(state.trick[0, place]))
            self.say(self.verb(winner, "win"), " the trick with ", card_text(card),
                     ": a Medal, and the trick's work to assign.")  # fmt: skip
        if not table.over[0] and before["year"] != int(state.year[0]):
            self.year_begins(state)

    def year_begins(self, state: State) -> None:
        """Planner, rewards, and trump in the Famine."""
        year, planner = int(state.year[0]), int(state.planner[0])
        rewards = [card_name(card) for card in cards_in(int(state.rewards[0]))]
        self.say("")
        whose = "you are" if planner == self.you else f"seat {planner} is"
        famine = " (Famine)" if year == self.rules.famine_year else ""
        self.say(f"Year {year}{famine}: {whose} the Planner; rewards ", cards_text(rewards), ".")
        if famine:
            trump = int(state.trump[0])
            if trump < 4:
                self.say("The Famine turns up a Worker of ", crop_text(CROPS[trump]),
                         ": trump.")  # fmt: skip
            else:
                self.say("The Famine turns up the Saboteur: no trump this year.")

    # The end of a year ------------------------------------------------------------------------

    def _year_ended(self, state: State) -> None:
        failed = [c for c in CROPS[: self.rules.crops] if state.failed[0] >> CROPS.index(c) & 1]
        self.say("")
        self.say(f"Year {int(state.year[0])} ends. Every seat banks its last card; ",
                 *self._banked(state))  # fmt: skip
        for crop in CROPS[: self.rules.crops]:
            self._field(state, crop, crop in failed)
        if not failed:
            self.say("No field failed, so nothing is requisitioned.")
            return
        count = f"{len(failed)} field{'s' if len(failed) > 1 else ''} failed"
        self.say(f"{count}, so every inspected seat sends North its {len(failed)} highest of: ",
                 Text(", ").join(crop_text(crop) for crop in failed),
                 ", and the Saboteur.")  # fmt: skip
        heroes = np.flatnonzero(state.medals[0] == state.trick_number[0])
        hero = int(heroes[0]) if self.rules.hero_of_labor and heroes.size else None
        order = [(int(state.planner[0]) + 1 + step) % self.rules.players
                 for step in range(self.rules.players)]  # fmt: skip
        for seat in order:
            if hero == seat:
                self.say(self.verb(seat, "win"), " every trick: Hero of Labor, exempt.")
            elif not state.inspected[0] >> seat & 1:
                self.say(self.name(seat), ": no Medal, not inspected.")
            else:
                self._inspection(state, seat, len(failed), hero is not None)

    def _banked(self, state: State) -> list[Part]:
        place = int(state.year[0]) - 1
        card = int(state.cellars[0, self.you, place])
        own = [name for name, zone in self._held[self.you].items() if zone == "hand"]
        if card < 0 and not own:
            return ["yours has gone."]
        return ["you bank ", card_text(own[0] if own else card_name(card)), "."]

    def _field(self, state: State, crop: str, failed: bool) -> None:
        number = CROPS.index(crop)
        hours, quota = int(state.hours[0, number]), self.rules.field_quota
        sabotaged = state.fields[0, number, SABOTEUR]
        why = "complete"
        if failed:
            why = "failed, sabotaged" if sabotaged else "failed"
        self.say("  ", crop_text(crop), f": {hours} of {quota} hours, {why}.")

    def _inspection(self, state: State, seat: int, count: int, hero: bool) -> None:
        medals = int(state.medals[0, seat])
        why = f"{medals} Medal{'s' if medals != 1 else ''}"
        if hero:
            why = "there is a Hero"
        kept = set(names_of(state, seat))
        lost = in_order([card for card in self._held[seat] if card not in kept])
        head = f"{self.name(seat)}, inspected ({why}): "
        if not lost:
            has = "you have" if seat == self.you else "it has"
            self.say(head, f"{has} nothing of these crops.")
            return
        goes = "1 card goes" if len(lost) == 1 else f"{len(lost)} cards go"
        self.say(head, f"{goes} North, all there is:" if len(lost) < count else f"{goes} North:")
        for card in sorted(lost, key=lambda name: -int(name[1:])):
            zone = {"hand": "just banked"}.get(self._held[seat][card], self._held[seat][card])
            self.say("    ", card_text(card), f" ({zone})")


def holdings(state: State, players: int) -> list[dict[str, str]]:
    """Card names by seat with where they lie: Plot, Cellar or hand."""
    held = []
    for seat in range(players):
        one = {card_name(card): "Plot" for card in cards_in(int(state.plots[0, seat]))}
        one |= {card_name(int(c)): "Cellar" for c in state.cellars[0, seat] if c >= 0}
        one |= {card_name(card): "hand" for card in cards_in(int(state.hands[0, seat]))}
        held.append(one)
    return held


def names_of(state: State, seat: int) -> list[str]:
    """Names of the cards in a seat's Plot and Cellar."""
    cards = cards_in(int(state.plots[0, seat]))
    cards += [int(card) for card in state.cellars[0, seat] if card >= 0]
    return [card_name(card) for card in cards]
