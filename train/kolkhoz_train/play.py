"""A person at the table, in the terminal or through a pipe."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from kolkhoz_agents.decisions import agent_seed
from kolkhoz_agents.protocol import Agent, Decisions
from kolkhoz_agents.referee import make_decisions
from kolkhoz_agents.registry import make_agent
from kolkhoz_agents.words import counted
from kolkhoz_env.cards import CROP_NAMES, PASS, action_name, action_number
from kolkhoz_env.drawing import table_lines, table_view
from kolkhoz_env.drawing.text import card_text, crop_text, fields_table, trick_line
from kolkhoz_env.errors import IllegalActionError, KolkhozError
from kolkhoz_env.game import KolkhozGame
from kolkhoz_env.records import Recorder, write_records
from kolkhoz_env.rules import PHASES, Rules
from kolkhoz_env.vector import VectorKolkhoz
from kolkhoz_train.play_save import SavedGame, save_game
from kolkhoz_train.play_story import Story

ROW = np.zeros(1, dtype=np.int64)

KEYS = "a number or a card; ? rule, h hint, t table, s save, q leave"

#: The rule at hand, by phase.
RULES = {
    "trump": "You are the Planner. You name one crop trump for this year: any card of it beats "
    "every card of the other crops. You see your own hand and the four rewards.",
    "swap_take": "Once a year, from Year 2 on, you may exchange one card of your hand with one "
    "of your own Plot or Cellar. First choose the card that comes to your hand, or pass. What you "
    "give lies face-up in the Plot or face-down in the same Cellar place.",
    "swap_give": "Choose the card of your hand that takes the place of the one you picked. What "
    "you picked joins your hand and can be played.",
    "play": "Follow the led crop if you can; the Saboteur follows every crop. If you can't, play "
    "anything. The highest trump wins, else the highest card of the led crop. The Saboteur is "
    "trump of rank 0: it beats every other crop, and every ordinary trump beats it. The winner "
    "gets a Medal, assigns the trick's Workers and leads next. The card you keep to the end of "
    "the year is banked in your Cellar and scores its rank.",
    "assign": "You won the trick. Send each of its cards to a field whose crop appeared in the "
    "trick (any field if the Saboteur did). A card adds its rank in hours; who brings a field to "
    "the quota takes its reward at once, once a year. A field with the Saboteur fails in any case.",
    "requisition": "Fields failed and you are inspected. Your highest cards of the failed crops, "
    "one for each failed field, go North. Of equal ranks you choose which.",
}


class Left(Exception):
    """The person leaves the table, or its input has ended; the text says which."""


class Session:
    """One game of a person against agents.

    Args:
        saved: the rules, seats and moves to begin with.
        hint: text of the agent that is asked for hints.
        console: where to write.
        read: gives the next line of input, or None at its end.
        keep: file that keeps the game after each of the person's moves, and its record at the end.
        source: what is named where a move of the saved game is wrong.
    """

    def __init__(
        self,
        saved: SavedGame,
        hint: str,
        console: Console,
        read: Callable[[str], str | None],
        keep: Path | None = None,
        source: str = "saved game",
    ) -> None:
        self.saved = saved
        self.console = console
        self.read = read
        self.keep = keep
        self.source = source
        self.you = saved.seat
        self.game = KolkhozGame(Rules.from_dict(saved.rules))
        players = self.game.num_seats
        self.agents: dict[int, Agent] = {
            (self.you + 1 + place) % players: make_agent(text, self.game)  # type: ignore[arg-type]
            for place, text in enumerate(saved.opponents)
        }
        self.hint = hint
        self.hint_agent: Agent | None = None
        self.story = Story(self.game.rules, self.you)
        self.table = VectorKolkhoz(1, seed=saved.seed, course=self.story.course(), restart=False)
        self.recorder = Recorder(self.table)
        self.story.year_begins(self.table.state)
        self._shown: tuple[int, ...] = ()

    # The course of a game ---------------------------------------------------------------------

    def run(self) -> None:
        """Play to the end. Raises Left where the person or its input ends the game before."""
        self._repeat()
        while not self.table.over[0]:
            seat = int(self.table.seat[0])
            if seat == self.you:
                action = self._ask()
                self._take(action)
                if self.keep is not None and not self.table.over[0]:
                    self._kept()
            else:
                self._take(int(self.agents[seat].act(self._decisions(self.agents[seat], seat))[0]))
        self._finish()

    def _kept(self) -> bool:
        """Save the game; if that fails (a full disk) say so, and the game goes on all the same."""
        assert self.keep is not None
        try:
            save_game(self.keep, self.saved)
        except KolkhozError as error:
            self.console.print(f"Not saved: {error}", highlight=False, markup=False, soft_wrap=True)
            return False
        return True

    def _repeat(self) -> None:
        """Play the moves of a saved game again."""
        moves, self.saved.moves = self.saved.moves, []
        for number, move in enumerate(moves, 1):
            try:
                self._take(action_number(move))
            except (ValueError, IllegalActionError) as error:
                raise KolkhozError(f"{self.source}, move {number}: {error}") from None
        if moves:
            self.story.tell()
            self.console.print(f"Taken up again after {counted(len(moves), 'move')}.", style="bold")

    def _take(self, action: int) -> None:
        if self.table.over[0]:
            raise IllegalActionError("the game is over already")
        before = table_view(self.table, 0, self.you)
        if not 0 <= action < 58 or not self.table.legal_mask()[0, action]:
            raise IllegalActionError(self.table.describe_illegal(0, action))
        self.story.before(self.table, action)
        self.recorder.step(np.array([action]))
        self.saved.moves.append(action_name(action))
        self.story.after(before, self.table)

    def _decisions(self, agent: Agent, seat: int) -> Decisions:
        seed = agent_seed(self.saved.seed, f"seat {seat}")
        mask = self.table.legal_mask()
        return make_decisions(self.game, self.table, ROW, mask, seed, agent.needs)  # type: ignore[arg-type]

    def _finish(self) -> None:
        self._tell()
        # The Cellars are opened to be counted.
        self.console.print(table_lines(table_view(self.table, 0, "open"), self.you))
        if self.keep is not None:
            write_records(self.keep, [self.recorder.record(0)])
            self.console.print(
                f"The record is in {self.keep}; see it with: kolkhoz records show {self.keep}",
                soft_wrap=True,
            )

    # Talking with the person ------------------------------------------------------------------

    def _tell(self) -> None:
        lines = self.story.tell()
        for line in lines:
            self.console.print(line, highlight=False)
        if lines:
            self.console.print()

    def _show(self) -> None:
        """The whole table where a year, a phase or a trick begins, else what has changed."""
        view = table_view(self.table, 0, self.you)
        state, phase = self.table.state, PHASES[self.table.phase[0]]
        moment = (int(state.year[0]), int(state.trick_number[0]), int(phase == "assign"))
        if phase in ("swap_give", "requisition") or moment == self._shown:
            if phase == "assign":
                self.console.print(fields_table(view))
                self.console.print(trick_line(view, self.you))
            return
        self._shown = moment
        self.console.print(table_lines(view, self.you))

    def _ask(self) -> int:
        """The person's move."""
        self._tell()
        self._show()
        legal = [int(action) for action in np.flatnonzero(self.table.legal_mask()[0])]
        self._list(legal)
        while True:
            line = self.read("> ")
            if line is None:
                raise Left("The input has ended.")
            word = line.strip()
            if not word:
                continue
            action = self._understand(word, legal)
            if action is not None:
                return action

    def _understand(self, word: str, legal: list[int]) -> int | None:
        """The move that a word means; None if it was a wish, or nothing."""
        wishes = {
            "?": self._explain, "h": self._give_hint, "t": self._show_table, "s": self._save,
        }  # fmt: skip
        if word.lower() in ("q", "quit", "exit"):
            raise Left("You leave the table.")
        # To save is s, Sunflower is S: a capital that names a move here is that move.
        if word.lower() in wishes and not (word.isupper() and word in map(action_name, legal)):
            wishes[word.lower()]()
            return None
        if word.isdecimal() and 1 <= int(word) <= len(legal):
            return legal[int(word) - 1]
        named = {action_name(action).upper(): action for action in legal}
        named |= {CROP_NAMES[name].upper(): action for name, action in named.items()
                  if name in CROP_NAMES}  # fmt: skip
        if PASS in legal:
            named["P"] = PASS
        if word.upper() in named:
            return named[word.upper()]
        self.console.print(
            f"{word!r} is no move here: give a number from 1 to {len(legal)} ({KEYS})",
            highlight=False, markup=False,
        )  # fmt: skip
        return None

    def _list(self, legal: list[int]) -> None:
        state, phase = self.table.state, PHASES[self.table.phase[0]]
        question = {
            "trump": "Choose trump",
            "swap_take": "Take a card for the swap, or pass",
            "swap_give": "Give a card of your hand for it",
            "play": "Play a card",
            "assign": "Send it to a field",
            "requisition": "Choose a card that goes North",
        }[phase]
        text = Text(question, style="bold")
        if phase == "assign":
            card = table_view(self.table, 0, self.you)["assign_card"]
            text = Text("Send ", style="bold").append_text(card_text(card)).append(" to a field")
        if phase == "play" and state.trick_size[0] and state.led[0] < 4:
            text.append(" (").append_text(crop_text("WSPB"[state.led[0]])).append(" is led)")
        self.console.print(text.append(":"))
        line = Text("  ")
        for number, action in enumerate(legal, 1):
            line.append(f"{number} ", style="bold").append_text(self._move_text(action, phase))
            line.append("   ")
        self.console.print(line)

    def _move_text(self, action: int, phase: str) -> Text:
        name = action_name(action)
        if name in CROP_NAMES:
            return crop_text(name)
        if action == PASS:
            return Text("pass")
        text = card_text(name)
        if phase == "swap_take":
            in_plot = int(self.table.state.plots[0, self.you]) >> action & 1
            text = text + Text(" (Plot)" if in_plot else " (Cellar)", style="dim")
        return text

    # Wishes -----------------------------------------------------------------------------------

    def _explain(self) -> None:
        self.console.print(RULES[PHASES[self.table.phase[0]]], style="italic", highlight=False)

    def _show_table(self) -> None:
        self.console.print(table_lines(table_view(self.table, 0, self.you), self.you))

    def _give_hint(self) -> None:
        """What the hint's agent would do, with its probabilities where it has any."""
        if self.hint_agent is None:
            self.hint_agent = make_agent(self.hint, self.game)  # type: ignore[arg-type]
        agent, phase = self.hint_agent, PHASES[self.table.phase[0]]
        decisions = self._decisions(agent, self.you)
        text = Text(f"{agent.name} would choose: ")
        if hasattr(agent, "log_probs"):
            chances = np.exp(agent.log_probs(decisions)[0])
            ranked = [int(action) for action in np.argsort(-chances) if chances[action] > 0.0005]
            for number, action in enumerate(ranked):
                text.append(", " if number else "").append_text(self._move_text(action, phase))
                text.append(f" {chances[action]:.1%}", style="bold")
        else:
            text.append_text(self._move_text(int(agent.act(decisions)[0]), phase))
        self.console.print(text)

    def _save(self) -> None:
        if self.keep is None:
            names = (f"kolkhoz-game{f'-{n}' if n > 1 else ''}.json" for n in itertools.count(1))
            self.keep = next(path for path in map(Path, names) if not path.exists())
        if self._kept():
            self.console.print(
                f"Saved; take the game up again with: kolkhoz play --resume {self.keep}",
                soft_wrap=True,
            )


def line_reader(console: Console) -> Callable[[str], str | None]:
    """Reads lines from the terminal, or from a pipe, whose lines are shown as they are read."""
    interactive = sys.stdin.isatty()

    def read(prompt: str) -> str | None:
        if interactive:
            try:
                return input(prompt)
            except EOFError:
                return None
        line = sys.stdin.readline()
        if not line:
            return None
        console.print(f"{prompt}{line.rstrip()}", highlight=False, markup=False)
        return line

    return read
