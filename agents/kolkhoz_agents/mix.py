"""An agent of several: each phase is played by another, to study parts of the game apart."""

from __future__ import annotations

from collections.abc import Sequence
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
        who = phase_texts(game.phases, given)
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
            Option(key, str, "", f"the agent for {' and '.join(_covered(game.phases, key))}")
            for key in phase_keys(game.phases)
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


def phase_keys(phases: Sequence[str]) -> list[str]:
    """What may be named: a group (`swap` for `swap_take` and `swap_give`), then single phases."""
    heads = [phase.partition("_")[0] for phase in phases]
    groups = [head for head in dict.fromkeys(heads) if heads.count(head) > 1 and head not in phases]
    return [
        *dict.fromkeys(h if h in groups else p for h, p in zip(heads, phases, strict=True)),
        *(p for h, p in zip(heads, phases, strict=True) if h in groups),
    ]


def _covered(phases: Sequence[str], key: str) -> list[str]:
    return [phase for phase in phases if phase == key or phase.startswith(key + "_")]


def phase_texts(phases: Sequence[str], parts: dict[str, str]) -> list[str]:
    """The agent's text for each phase; a single phase's own option goes before its group's."""
    result = []
    for phase in phases:
        keys = [key for key in parts if phase in _covered(phases, key)]
        key = max(keys, key=len, default=REST)
        if key not in parts:
            raise AgentError(
                f"agent 'mix': nobody plays the phase {phase!r}; name an agent for it or rest=AGENT"
            )
        result.append(parts[key])
    return result


def _quoted(text: str) -> str:
    return f"({text})" if "," in text or "=" in text else text
