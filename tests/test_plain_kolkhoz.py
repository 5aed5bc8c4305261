"""The plain implementation is held against every game recorded by the independent reference."""

import gzip
import json
from pathlib import Path

import pytest
from plain_kolkhoz import PlainGame, PlainRules, ShuffledDeals, replay_record

RECORDS = Path(__file__).parent / "data" / "records"
GAMES = {"four_players": 180, "three_players": 120, "rare": 52}


@pytest.mark.parametrize("name", GAMES)
def test_reference_games(name: str) -> None:
    with gzip.open(RECORDS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        games = [json.loads(line) for line in file]
    assert len(games) == GAMES[name]
    for game in games:
        replay_record(game)


def test_a_wrong_fact_is_noticed() -> None:
    with gzip.open(RECORDS / "rare.jsonl.gz", "rt", encoding="utf-8") as file:
        game = json.loads(file.readline())
    game["years"][2]["end"]["hours"]["W"] += 1
    with pytest.raises(AssertionError):
        replay_record(game)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_cards_stay_together(players: int) -> None:
    rules = PlainRules(players=players)
    game = PlainGame(rules, ShuffledDeals(rules, seed=players))
    while game.position is not None:
        zones = game.zones()
        flat = [card for pile in zones["piles"].values() for card in pile]
        flat += [card for field in zones["fields"].values() for card in field]
        for zone in ("hands", "plots", "cellars"):
            flat += [card for seat in zones[zone] for card in seat]
        for zone in ("rewards", "deck", "trick", "north"):
            flat += zones[zone]
        assert sorted(flat) == sorted(rules.all_cards())
        game.apply(game.position.legal[0])
    assert len(game.year_ends) == 5
