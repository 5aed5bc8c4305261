"""An agent of several: each phase is played by another, to study parts of the game apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolkhoz_agents.errors import AgentError
from kolkhoz_agents.protocol import Agent, Decisions, Game, Option
from kolkhoz_agents.registry import make_agent

REST = "rest"


class MixAgent:
    """Hands each decision to the agent that plays its phase."""

    help: ClassVar[str] = "each phase played by another agent"

    def __init__(self, game: Game, **parts: str) -> None:
        """`parts` names an agent for each phase or group of phases, `rest` one for the others.

        Raises AgentError if a phase is left without an agent, or an agent without a phase.
        """
        given = {key: text for key, text in parts.items() if text}
        self.name = "mix:" + ",".join(f"{key}={_quoted(text)}" for key, text in given.items())
        who = phase_texts(game, given)
        texts = list(dict.fromkeys(who))
        self.agents: list[Agent] = [make_agent(text, game) for text in texts]
        self.part_of_phase = np.array([texts.index(text) for text in who])
        self.needs = frozenset().union(*(agent.needs for agent in self.agents))
        batches = [agent.batch for agent in self.agents if hasattr(agent, "batch")]
        if batches:
            self.batch = min(batches)

    @classmethod
    def options_for(cls, game: Game) -> tuple[Option, ...]:
        """One option for each group of phases of `game`, and `rest`."""
        options = [
            Option(key, str, "", f"the agent for {' and '.join(phases)}")
            for key, phases in phase_keys(game).items()
        ]
        return (*options, Option(REST, str, "", "the agent for all phases not named"))

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """int64[B]: each decision answered by the agent of its phase."""
        part = self.part_of_phase[decisions.phase]
        actions = np.zeros(len(decisions), dtype=np.int64)
        for number, agent in enumerate(self.agents):
            rows = np.flatnonzero(part == number)
            if len(rows) == len(decisions):
                return np.asarray(agent.act(decisions))
            if len(rows):
                actions[rows] = agent.act(decisions.take(rows))
        return actions


def phase_keys(game: Game) -> dict[str, tuple[str, ...]]:
    """What may be named, and the phases that it covers: single phases and the game's groups."""
    groups: dict[str, tuple[str, ...]] = dict(getattr(game, "phase_groups", {}))
    return {**{phase: (phase,) for phase in game.phases}, **groups}


def phase_texts(game: Game, parts: dict[str, str]) -> list[str]:
    """The agent's text for each phase; a single phase's own option goes before its group's."""
    covers = phase_keys(game)
    result = []
    for phase in game.phases:
        groups = [key for key in parts if phase in covers.get(key, ())]
        key = phase if phase in parts else next(iter(groups), REST)
        if key not in parts:
            raise AgentError(
                f"agent 'mix': nobody plays the phase {phase!r}; name an agent for it or rest=AGENT"
            )
        result.append(parts[key])
    return result


def _quoted(text: str) -> str:
    return f"({text})" if "," in text or "=" in text else text
