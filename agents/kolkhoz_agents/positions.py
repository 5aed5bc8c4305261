"""A position in words, so that whoever wrote a faulty agent can look at it and come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kolkhoz_agents.decisions import choose_uniform, decision_keys
from kolkhoz_agents.protocol import Game, Table


def describe(game: Game, table: Table, row: int, seed: int, moves: Sequence[int]) -> dict[str, Any]:
    """Where game `row` of a table stands: JSON-able.

    `moves` are the actions asked for so far (forced ones left out). A game that keeps records adds
    `record`: the whole game, played on at random from this position.
    """
    deal = int(table.game_ids[row])
    mask = table.legal_mask()[row]
    position: dict[str, Any] = {
        "game": game.name,
        "rules": game.rules_dict(),
        "seed": seed,
        "deal": deal,
        "decision": int(table.decision[row]),
        "phase": game.phases[int(table.phase[row])],
        "legal": [game.action_name(int(action)) for action in np.flatnonzero(mask)],
        "moves_without_forced": [game.action_name(int(move)) for move in moves],
    }
    knowledge = table.knowledge(np.array([row]))
    if hasattr(knowledge, "view"):
        position["view"] = knowledge.view(0)
    if hasattr(game, "recorder"):
        position["record"] = _record(game, seed, deal, moves)
    return position


def _record(game: Game, seed: int, deal: int, moves: Sequence[int]) -> dict[str, Any]:
    """The record of a game that begins with `moves` and goes on at random."""
    table = cast(Any, game).recorder(game.table(seed, np.array([deal]), auto_forced=True))
    for move in moves:
        table.step(np.array([move]))
    while not table.over[0]:
        keys = decision_keys(seed, table.game_ids, table.decision, np.asarray(table.seat))
        table.step(choose_uniform(table.legal_mask(), keys))
    record: dict[str, Any] = table.record(0)
    return record
