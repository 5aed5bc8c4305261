"""Bundles for front ends: they play as the bot does here, in every runtime."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from export_tools import fresh_bot, needs, open_page
from kolkhoz_tools import reference_games

from kolkhoz_agents.bots import BotFile, save_bot
from kolkhoz_agents.network import NumpyNetwork
from kolkhoz_agents.registry import shipped_bots
from kolkhoz_env import Rules, VectorKolkhoz
from kolkhoz_env.cards import action_number
from kolkhoz_env.game import make_game
from kolkhoz_env.view import make_view
from kolkhoz_train.cli.main import main
from kolkhoz_train.export.bundle import RUNTIMES, export_bot, find_bot, storage_costs
from kolkhoz_train.export.errors import BundleError
from kolkhoz_train.export.reading import open_model, read_bundle, read_examples
from kolkhoz_train.export.vectors import played
from kolkhoz_train.export.verify import verify_bundle

# One worker makes the bundles once for all of these tests.
pytestmark = pytest.mark.xdist_group("export")

MEGABYTES_2 = 2_000_000
#: Examples by number of players: 10,000 decisions together.
EXAMPLES = {4: 6000, 3: 4000}
BOTS = {
    4: fresh_bot(4),
    3: fresh_bot(
        3, rounded=True, activation="silu", trunk="separate", heads="phase",
        inputs=("hand", "plots", "fields", "trick", "trump", "phase", "cellar_cards", "voids"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Bundles with many examples: 32-bit weights with four players, 16-bit ones with three."""
    folder = tmp_path_factory.mktemp("bundles")
    for players, bot in BOTS.items():
        storage = "float32" if players == 4 else "float16"
        export_bot(bot, folder / str(players), storage=storage, count=EXAMPLES[players])
    return {players: folder / str(players) for players in BOTS}


@pytest.mark.parametrize("players", [3, 4])
def test_10_000_decisions_are_the_same_everywhere(players: int, bundles: dict[int, Path]) -> None:
    needs("node", "https://nodejs.org, or apt-get install nodejs")
    verdict = verify_bundle(bundles[players])
    assert verdict.passed, verdict
    runtimes = [replay.runtime for replay in verdict.replays]
    assert runtimes == ["lab", "onnxruntime", "Python", "Node"]
    for replay in verdict.replays:
        assert replay.missing is None
        assert replay.examples == EXAMPLES[players]
        assert replay.difference < 2e-5, replay.line()


@pytest.mark.parametrize("players", [3, 4])
def test_the_examples_are_what_the_bot_does_here(players: int, bundles: dict[int, Path]) -> None:
    """The examples against the bot itself, not what is stored of it, and all phases in them."""
    game = make_game({"players": players})
    network = NumpyNetwork(BOTS[players].shape, BOTS[players].weights, game)
    examples = list(read_examples(bundles[players]))
    observation = np.array([example["observation"] for example in examples], np.uint8)
    mask = np.array([example["mask"] for example in examples], bool)
    phase = np.array([game.phases.index(e["view"]["turn"]["phase"]) for e in examples])
    assert set(phase.tolist()) == set(range(6))
    assert {example["view"]["year"] for example in examples} == {1, 2, 3, 4, 5}
    logits, value = network.plain(observation, phase)
    moves = np.where(mask, logits, -np.inf).argmax(axis=1)
    assert moves.tolist() == [action_number(example["move"]) for example in examples]
    assert np.abs(value - [example["value"] for example in examples]).max() < 1e-6


@pytest.mark.parametrize("players", [3, 4])
def test_10_000_decisions_are_the_same_in_a_browser(players: int, bundles: dict[int, Path]) -> None:
    """The page as it opens from the disk: no server, no network."""
    lines = (bundles[players] / "vectors.jsonl").read_text().splitlines()
    checked, difference = 0, 0.0
    with open_page(bundles[players] / "demo.html") as page:
        page.wait_for_function("globalThis.kolkhoz?.bot")
        for start in range(0, len(lines), 1000):
            part = lines[start : start + 1000]
            answers = page.evaluate(
                """(text) => text.split("\\n").map((line) => {
                    const example = JSON.parse(line);
                    const { move, moves, value } = kolkhoz.bot.evaluate(example.view);
                    const apart = moves.map((entry) =>
                        Math.abs(entry.logProbability - example.log_probs[entry.move]));
                    return [move, Math.max(...apart, Math.abs(value - example.value))];
                })""",
                "\n".join(part),
            )
            assert [move for move, _ in answers] == [json.loads(line)["move"] for line in part]
            checked += len(answers)
            difference = max(difference, *(apart for _, apart in answers))
        assert page.problems == []
    assert checked == EXAMPLES[players]
    assert difference < 2e-5


def test_the_page_steps_through_a_game_and_takes_pasted_ones(bundles: dict[int, Path]) -> None:
    record = reference_games("four_players")[0]
    view = make_view(VectorKolkhoz(1, seed=5).knowledge())
    with open_page(bundles[4] / "demo.html") as page:
        page.wait_for_function("globalThis.kolkhoz?.bot")
        shown = page.inner_text("#decision")
        page.click("#next")
        assert page.inner_text("#place").split()[1] == "26"
        page.click("#back")
        assert page.inner_text("#decision") == shown
        assert page.locator("#table .card").count() > 10
        page.click("summary")

        page.fill("#text", json.dumps(record))
        page.click("#show")
        moves = sum(len(year["moves"]) for year in record["years"])
        assert page.inner_text("#place") == f"decision 1 of {moves}"
        assert page.locator("#moves .move").count() == 4

        page.fill("#text", json.dumps(view))
        page.click("#show")
        assert page.inner_text("#place") == "decision 1 of 1"
        for text in ("{", "[]", '{"format": "kolkhoz-view/1"}', '{"format": "<b>"}'):
            page.fill("#text", text)
            page.click("#show")
            assert page.inner_text("#problem")
            assert page.inner_text("#place") == "decision 1 of 1"
        assert page.problems == []


def test_views_of_records_are_the_same_in_javascript(tmp_path: Path) -> None:
    """Reference games, games of small rules and one cut short, at every move."""
    records = [*reference_games("four_players")[:3], *reference_games("three_players")[:3]]
    records += reference_games("rare")[:6]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ nextView, viewsOfRecord }} from "{(RUNTIMES / "kolkhoz_record.mjs").as_uri()}";
        for (const line of readFileSync("{path}", "utf8").trim().split("\\n")) {{
            const record = JSON.parse(line);
            console.log(JSON.stringify(viewsOfRecord(record)));
            const ended = [nextView(record)];
            record.years.length = 3;
            ended.push(nextView(record));  // a year has ended, and the next is not dealt
            record.years[2].moves.length = 7;
            console.log(JSON.stringify([...viewsOfRecord(record), nextView(record)]));
            console.log(JSON.stringify([...ended, nextView({{ ...record, years: [] }})]));
        }}"""
    node = needs("node", "https://nodejs.org, or apt-get install nodejs")
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for record, views, cut, ended in zip(
        records, answers[::3], answers[1::3], answers[2::3], strict=True
    ):
        assert ended == [None, None, None]
        ours = views_of(record)
        assert len(views) == len(ours)
        for one, other in zip(views, ours, strict=True):
            assert one == other
        assert cut == ours[: len(cut)]
        assert len(cut) == sum(len(year["moves"]) for year in record["years"][:2]) + 8


def views_of(record: dict) -> list[dict]:
    """The views of a record's decisions by the engine."""
    from kolkhoz_tools import ByHand

    rules = Rules.from_dict(record["rules"] | {"first_planner": record["first_planner"]})
    famine = [year["famine_card"] for year in record["years"] if year["famine_card"]]
    game = ByHand(
        [[" ".join(hand) for hand in year["hands"]] for year in record["years"]],
        rules,
        {crop: " ".join(pile) for crop, pile in record["reward_piles"].items()},
        famine[0] if famine else None,
    )
    views = []
    for year in record["years"]:
        for move in year["moves"]:
            view = make_view(game.table.knowledge())
            view["rules"] |= {"first_planner": record["rules"].get("first_planner")}
            views.append(view)
            game.table.step([action_number(move["move"])])
    return views


# The files -----------------------------------------------------------------------------------


def test_the_manifest_says_what_the_table_says(bundles: dict[int, Path]) -> None:
    for players, folder in bundles.items():
        manifest = json.loads((folder / "manifest.json").read_text())
        game = make_game({"players": players})
        table = game.observation
        assert manifest["observation"]["size"] == table.size
        scale: list[float] = []
        for entry, block in zip(manifest["observation"]["blocks"], table.blocks, strict=True):
            assert (entry["name"], entry["offset"], entry["length"], entry["meaning"]) == (
                block.name, block.offset, block.length, block.meaning
            )  # fmt: skip
            last = entry["scale"] if isinstance(entry["scale"], list) else [entry["scale"]]
            scale += last * (block.length // len(last))
        np.testing.assert_array_equal(np.array(scale, np.float32), table.scale)
        assert manifest["actions"] == [game.action_name(a) for a in range(58)]
        assert set(manifest["files"]) | {"manifest.json", "SHA256SUMS"} == {
            path.name for path in folder.iterdir()
        }
        done = subprocess.run(
            ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0


def test_shipped_bots_and_usual_sizes_fit(tmp_path: Path) -> None:
    bots = [find_bot(name) for name in shipped_bots()] or [fresh_bot(4, hidden=(256, 256))]
    for number, bot in enumerate(bots):
        if bot.learned is not None:
            continue
        done = export_bot(bot, tmp_path / str(number), count=24)
        assert done.sizes["model.onnx"] < MEGABYTES_2
        assert done.sizes["weights.bin"] < MEGABYTES_2
        assert verify_bundle(done.folder).passed


def test_the_model_takes_any_batch_and_no_legal_move(bundles: dict[int, Path]) -> None:
    session = open_model(bundles[4])
    size = make_game({"players": 4}).observation.size
    for batch in (1, 5):
        observation = np.zeros((batch, size), np.float32)
        given = {"observation": observation, "mask": np.zeros((batch, 58), bool)}
        log_probs, value = session.run(["log_probs", "value"], given)
        assert log_probs.shape == (batch, 58)
        assert value.shape == (batch,)
        assert np.isneginf(log_probs).all()
        assert np.isfinite(value).all()


def test_sixteen_bits_are_taken_only_if_no_move_changes(tmp_path: Path) -> None:
    rounded = export_bot(fresh_bot(4, rounded=True), tmp_path / "a", count=4)
    assert rounded.storage["storage"] == "float16"
    assert rounded.storage["moves_changed"] == 0
    assert rounded.storage["log_prob"] == 0
    bot = fresh_bot(4)
    close = dict(bot.weights)
    close["policy.weight"] = (close["policy.weight"][:1] + 0 * close["policy.weight"]).copy()
    close["policy.bias"] = 0 * close["policy.bias"]
    close["policy.weight"][:, 0] += np.linspace(0, 1e-5, 58, dtype=np.float32)
    tight = BotFile(bot.game, bot.rules, bot.observation, bot.shape, close)
    done = export_bot(tight, tmp_path / "b", count=4)
    assert done.storage["storage"] == "float32"
    forced = export_bot(tight, tmp_path / "b", count=4, storage="float16")
    assert forced.storage["moves_changed"] > 0
    huge = {name: array * np.float32(1e6) for name, array in bot.weights.items()}
    game = make_game({"players": 4})
    steps = list(played(game, NumpyNetwork(bot.shape, bot.weights, game), 1, 1))
    large = BotFile(bot.game, bot.rules, bot.observation, bot.shape, huge)
    costs = storage_costs(large, game, steps)
    assert costs["float16"]["moves_changed"] > 0


def test_a_bundle_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    bot = fresh_bot(4)
    folder = tmp_path / "bundle"
    first = export_bot(bot, folder, count=8, seed=1)
    again = export_bot(bot, folder, count=4, seed=1)
    assert again.sizes["vectors.jsonl"] < first.sizes["vectors.jsonl"]
    same = export_bot(bot, tmp_path / "other", count=4, seed=1)
    for path in folder.iterdir():
        assert path.read_bytes() == (same.folder / path.name).read_bytes(), path.name
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BundleError, match="no bundle"):
        export_bot(bot, tmp_path / "mine", count=4)
    assert {path.name for path in tmp_path.iterdir()} == {"bundle", "other", "mine"}


def test_bots_that_no_bundle_can_hold_are_refused(tmp_path: Path) -> None:
    bot = fresh_bot(4)
    learned = {"phases": ["play"], "partner": "heuristic"}
    partial = BotFile(bot.game, bot.rules, bot.observation, bot.shape, bot.weights, learned=learned)
    with pytest.raises(BundleError, match="heuristic"):
        export_bot(partial, tmp_path / "a")
    other = BotFile("toy", bot.rules, bot.observation, bot.shape, bot.weights)
    with pytest.raises(BundleError, match="toy"):
        export_bot(other, tmp_path / "b")
    huge = {name: np.full_like(array, 1e38) for name, array in bot.weights.items()}
    damaged = BotFile(bot.game, bot.rules, bot.observation, bot.shape, huge)
    with (
        np.errstate(all="ignore"),
        pytest.raises(BundleError, match="its network gives no finite numbers"),
    ):
        export_bot(damaged, tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_bot(tmp_path / "run" / "bot", fresh_bot(3))
    bundle = tmp_path / "out" / "bundle"
    assert main(["export", str(tmp_path / "run"), str(bundle), "--vectors", "12"]) == 0
    assert "model.onnx" in capsys.readouterr().out
    assert read_bundle(bundle).manifest["provenance"]["training"] == {"by": "chance"}
    assert main(["verify-export", str(bundle)]) == 0
    assert "onnxruntime  agrees on 12 examples" in capsys.readouterr().out
    (bundle / "weights.bin").write_bytes((bundle / "weights.bin").read_bytes()[:-1])
    assert main(["verify-export", str(bundle)]) == 1
    assert "weights.bin: changed or cut" in capsys.readouterr().err
    assert main(["verify-export", str(tmp_path)]) == 1
    assert "manifest.json" in capsys.readouterr().err
    assert main(["verify-export", str(tmp_path / "none")]) == 2
