"""Tournaments: the matrix, ratings, cycles and the picture."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from kolkhoz_agents.display import tournament_tables
from kolkhoz_agents.errors import EvaluationError
from kolkhoz_agents.evaluation import Settings, evaluate
from kolkhoz_agents.plots import plot_matrix
from kolkhoz_agents.ratings import cycles, ratings
from kolkhoz_agents.tournament import Tournament, tournament
from kolkhoz_train.cli.main import main

TOY = "toy_game:make_game"
DUEL = "tiny_games:make_duel"
DUELLISTS = [f"tiny_games:Always:action={action}" for action in range(3)]


def played(agents: list[str], **options: object) -> Tournament:
    settings = Settings(**{"game": TOY, "deals": 60, "workers": 0, **options})
    return tournament(agents, settings)[0]


def test_rock_paper_scissors_is_a_cycle() -> None:
    result = played(DUELLISTS, game=DUEL)
    rock, paper, scissors = result.agents
    assert result.cycles == ((rock, scissors, paper),)
    np.testing.assert_array_equal(result.beats, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(result.shares(), [[np.nan, 0, 1], [1, np.nan, 0], [0, 1, np.nan]])
    assert f"{rock} beats {scissors} beats {paper} beats {rock}" in str(
        [str(part) for part in tournament_tables(result)]
    )


def test_two_agents_of_a_tournament_meet_as_in_an_evaluation() -> None:
    whole = played(["random", "mix:rest=random", "faulty_agents:Curious"], deals=30)
    pair, _ = evaluate("random", "mix:rest=random", Settings(game=TOY, deals=30, workers=0))
    one, other = whole.pairs[0][1], whole.pairs[1][0]
    assert one is not None
    assert other is not None
    assert [one.win_share, other.win_share] == [line.win_share for line in pair.tables]
    assert one.per_seat == pair.tables[0].per_seat
    assert not whole.beats.any()
    assert whole.cycles == ()
    assert [line.agent for line in whole.mixed] == list(whole.agents)
    np.testing.assert_allclose(sum(line.win_share.mean for line in whole.mixed), 1)


def test_ratings_follow_strength_and_not_the_order_of_the_list() -> None:
    generator = np.random.default_rng(0)
    strength = np.array([0.0, 2.0, 1.0])
    seatings = np.array([[0, 1, 2], [2, 1, 0], [0, 1, 1], [2, 0, 0]], np.int8)
    draws = strength[seatings] + generator.gumbel(size=(500, 4, 3))
    ranks = (draws[..., None, :] > draws[..., None]).sum(axis=-1) + 1.0
    found = ratings(["weak", "strong", "middle"], seatings, ranks.astype(np.float32), seed=1)
    assert [rating.agent for rating in found] == ["strong", "middle", "weak"]
    assert found[0].mu - found[2].mu > 5
    assert np.mean([rating.mu for rating in found]) == pytest.approx(25, abs=1.5)
    again = ratings(["weak", "strong", "middle"], seatings, ranks.astype(np.float32), seed=1)
    assert found == again


def test_ratings_of_two_that_differ_do_not_hang_on_the_last_games() -> None:
    generator = np.random.default_rng(3)
    strength = np.array([0.0, 0.4])
    seatings = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 1]], np.int8)
    draws = strength[seatings] + generator.gumbel(size=(800, 3, 4))
    ranks = ((draws[..., None, :] > draws[..., None]).sum(axis=-1) + 1.0).astype(np.float32)
    leads = []
    for seed in range(8):
        mu = {one.agent: one.mu for one in ratings(["a", "b"], seatings, ranks, seed=seed)}
        leads.append(mu["b"] - mu["a"])
    assert min(leads) > 0
    assert np.std(leads) < 0.3


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ([(0, 1), (1, 2)], []),
        ([(0, 1), (1, 2), (2, 0)], [[0, 1, 2]]),
        ([(0, 1), (1, 2), (2, 3), (3, 1)], [[1, 2, 3]]),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (2, 0), (3, 4)], [[0, 1, 2], [0, 1, 2, 3]]),
    ],
)
def test_cycles_are_found(edges: list[tuple[int, int]], found: list[list[int]]) -> None:
    beats = np.zeros((5, 5), dtype=bool)
    beats[tuple(np.array(edges).T)] = True
    assert cycles(beats) == found


def test_the_number_of_workers_changes_nothing() -> None:
    results = []
    for workers in (0, 2):
        found = played(["random", "mix:rest=random"], deals=700, workers=workers).as_dict()
        for line in [*found["tables"], *found["mixed"]]:
            del line["seconds_per_decision"]
        results.append(found)
    assert results[0] == results[1]


def test_many_agents_are_numbered_and_who_sees_all_cards_is_marked(tmp_path: Path) -> None:
    agents = ["random", "mix:rest=random", "faulty_agents:Slow", "faulty_agents:Curious"]
    agents += ["faulty_agents:Peek"]
    result = played(agents, deals=4)
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(tournament_tables(result)[0])
    text = console.export_text()
    assert "5 faulty_agents:Peek (sees all cards)" in text
    assert "│ 1 random" in text
    plot_matrix(result, tmp_path / "matrix.svg")
    assert "<svg" in (tmp_path / "matrix.svg").read_text()


def test_wrong_fields_are_refused() -> None:
    with pytest.raises(EvaluationError, match="at least two agents"):
        played(["random"])
    with pytest.raises(EvaluationError, match="agent 'random' is given twice"):
        played(["random", "random"])


def test_the_command_writes_matrix_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "result.json", tmp_path / "matrix.png"
    command = ["tournament", "random", "greedy", "--deals", "6", "--seed", "1", "--workers", "1"]
    assert main([*command, "--json", str(found), "--plot", str(picture)]) == 0
    result = json.loads(found.read_text())
    assert result["agents"] == ["random", "greedy"]
    assert result["matrix"][0][0] is None
    mean, low, high = result["matrix"][1][0]
    assert low <= mean <= high
    assert {rating["agent"] for rating in result["ratings"]} == {"random", "greedy"}
    assert len(result["tables"]) == 2
    with Image.open(picture) as image:
        assert image.width > 300
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 20
    assert "Win share of one (row)" in capsys.readouterr().out
    assert main([*command, "--plot", "matrix.doc"]) == 2
    assert "--plot matrix.doc: should end with one of: .png, .svg" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["matrix.png", "result.json"]


def test_an_interrupted_tournament_shows_what_there_is() -> None:
    result = played(["faulty_agents:Cheat", "random"], deals=30)
    assert result.stopped == "fault"
    assert result.deals == 0
    assert result.ratings == ()
    assert len(tournament_tables(result)) == 1
