"""Replay of a game record through the plain implementation."""

from typing import Any

from .deals import RecordedDeals
from .game import PlainGame
from .plain_rules import PlainRules


def replay_record(record: dict[str, Any]) -> PlainGame:
    """Play a recorded game again and compare every fact in it; AssertionError on any difference."""
    rules = PlainRules(**record["rules"])
    game = PlainGame(rules, RecordedDeals(record))
    assert len(record["years"]) == rules.years
    for number, year in enumerate(record["years"], start=1):
        assert (game.year, year["year"], game.planner) == (number, number, year["planner"])
        assert year["famine_card"] == game.famine_card
        assert all(hand == sorted(hand) for hand in year["hands"])
        for move in year["moves"]:
            position = game.position
            assert position is not None
            assert game.year == number
            assert (position.seat, position.phase) == (move["seat"], move["phase"])
            assert position.legal == move["legal"]
            assert position.card == move.get("card")
            game.apply(move["move"])
        assert game.year_ends[-1] == year["end"]
        assert len(game.year_ends) == number
        assert game.trumps[-1] == year["trump"]
    assert game.position is None
    assert game.result == record["result"]
    return game
