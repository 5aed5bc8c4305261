"""Bundles and views that are damaged or mean harm: one clear line, nothing executed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from export_tools import fresh_bot, needs

from kolkhoz_env.rules import Rules
from kolkhoz_train.export.bundle import RUNTIMES, export_bot
from kolkhoz_train.export.errors import BundleError
from kolkhoz_train.export.reading import open_model, read_bundle, read_examples
from kolkhoz_train.export.verify import verify_bundle

pytestmark = pytest.mark.xdist_group("export-hostile")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "bundle"
    export_bot(fresh_bot(4, hidden=(16,)), folder, count=30, storage="float32")
    return folder


@pytest.fixture
def bundle(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "bundle"))


@pytest.fixture(scope="module")
def runtime() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kolkhoz_bot", RUNTIMES / "kolkhoz_bot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def list_anew(bundle: Path) -> None:
    """Make the checksums right again, as somebody who means harm would."""
    manifest = bundle / "manifest.json"
    content = json.loads(manifest.read_text())
    content["files"] = {
        path.name: {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in bundle.iterdir()
    }
    manifest.write_text(json.dumps(content))
    names = sorted(path.name for path in bundle.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256((bundle / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (bundle / "SHA256SUMS").write_text("".join(sums))


def test_every_file_that_is_changed_cut_or_missing_is_named(whole: Path, tmp_path: Path) -> None:
    assert verify_bundle(whole).passed
    for path in sorted(whole.iterdir()):
        content = path.read_bytes()
        flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        for number, damaged in enumerate((flipped, content[: len(content) // 2], b"", None)):
            copy = Path(shutil.copytree(whole, tmp_path / f"{path.name}.{number}"))
            if damaged is None:
                (copy / path.name).unlink()
            else:
                (copy / path.name).write_bytes(damaged)
            verdict = verify_bundle(copy)
            assert not verdict.passed
            assert any(path.name in problem for problem in verdict.changed), (path.name, verdict)
            assert all("\n" not in problem for problem in verdict.changed)
            shutil.rmtree(copy)


def test_a_runtime_with_right_checksums_is_still_not_run(bundle: Path, tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    for name, code in (
        ("kolkhoz_bot.py", f"open({str(trace)!r}, 'w').write('x')\n"),
        ("check.py", f"open({str(trace)!r}, 'w').write('x')\n"),
        ("check.mjs", f"import fs from 'node:fs'; fs.writeFileSync({str(trace)!r}, 'x');\n"),
    ):
        (bundle / name).write_text(code)
    list_anew(bundle)
    verdict = verify_bundle(bundle)
    assert not verdict.passed
    assert {problem.partition(":")[0] for problem in verdict.changed} == {
        "kolkhoz_bot.py", "check.py", "check.mjs"
    }  # fmt: skip
    assert not trace.exists()


def edit(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "format": lambda m: m.update(format="kolkhoz-bundle/9"),
    "missing": lambda m: m.pop("symmetry"),
    "rules": lambda m: m["rules"].update(players=3),
    "rules unknown": lambda m: m["rules"].update(jokers=2),
    "rules text": lambda m: m.update(rules="printed"),
    "quota": lambda m: m.update(quota=10**9),
    "block length": lambda m: m["observation"]["blocks"][3].update(length=10**9),
    "block name": lambda m: m["observation"]["blocks"][3].update(name="__proto__"),
    "block shape": lambda m: m["observation"]["blocks"][0].update(shape=[2**31, 2**31]),
    "size": lambda m: m["observation"].update(size=2**40),
    "hidden": lambda m: m["network"].update(hidden=[2**40]),
    "hidden text": lambda m: m["network"].update(hidden="wide"),
    "kind": lambda m: m["network"].update(kind="pickle"),
    "tensor shape": lambda m: m["weights"]["tensors"][0].update(shape=[2**20, 2**20]),
    "tensor negative": lambda m: m["weights"]["tensors"][0].update(shape=[-1, 5]),
    "tensor twice": lambda m: m["weights"]["tensors"].append(m["weights"]["tensors"][0]),
    "storage": lambda m: m["weights"].update(storage="object"),
    "climbing path": lambda m: m["weights"].update(file="../../etc/passwd"),
    "climbing model": lambda m: m["onnx"].update(file="/etc/passwd"),
    "symmetry": lambda m: m["symmetry"]["axes"]["card"].reverse(),
    "symmetry twice": lambda m: m["symmetry"]["axes"].update(card=[[0], [1], [2], [2]]),
    "symmetry text": lambda m: m["symmetry"].update(axes="crops"),
    "symmetry axis": lambda m: m["symmetry"]["axes"].update(__proto__=[[0], [1], [2], [3]]),
    "symmetry ragged": lambda m: m["symmetry"]["axes"].update(card=[[0, 1], [2], [3], [4]]),
    "symmetry crops": lambda m: m["symmetry"]["axes"]["crop"].pop(),
    "symmetry action": lambda m: m["symmetry"]["actions"][1].__setitem__(2, 2**40),
    "key column": lambda m: m["symmetry"]["key_columns"][1].__setitem__(2, 2**40),
    "key column below": lambda m: m["symmetry"]["key_columns"][0].__setitem__(0, -1),
    "key columns": lambda m: m["symmetry"].update(key_columns=[]),
    "key weight": lambda m: m["symmetry"]["key_weights"].__setitem__(0, 1e300),
    "key weights": lambda m: m["symmetry"].update(key_weights=[2**40] * 29),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_gives_one_line(name: str, bundle: Path) -> None:
    edit(bundle / "manifest.json", HOSTILE[name])
    list_anew(bundle)
    with pytest.raises(BundleError) as caught:
        read_bundle(bundle)
    assert "manifest.json" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert not verify_bundle(bundle).passed


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "[" * 200_000, '{"format": "kolkhoz-bundle/1"}', "\x00", "1" * 5000],
    ids=range(8),
)
def test_a_manifest_that_is_none_gives_one_line(
    text: str, bundle: Path, runtime: ModuleType
) -> None:
    (bundle / "manifest.json").write_text(text)
    with pytest.raises(BundleError, match=r"manifest\.json"):
        read_bundle(bundle)
    with pytest.raises(runtime.KolkhozBotError, match=r"manifest\.json"):
        runtime.load_folder(bundle)


def test_hostile_weights_give_one_line(bundle: Path, runtime: ModuleType) -> None:
    path = bundle / "weights.bin"
    good = path.read_bytes()
    for value in (np.nan, np.inf):
        path.write_bytes(np.array([value], "<f4").tobytes() + good[4:])
        with pytest.raises(BundleError, match=r"weights\.bin: trunk\.0\.weight"):
            read_bundle(bundle)
        with pytest.raises(runtime.KolkhozBotError, match=r"weights\.bin: trunk\.0\.weight"):
            runtime.load_folder(bundle)
    for data in (good[:-4], good + b"\x00" * 4, b""):
        path.write_bytes(data)
        with pytest.raises(BundleError, match=r"weights\.bin"):
            read_bundle(bundle)
        with pytest.raises(runtime.KolkhozBotError, match=r"weights\.bin"):
            runtime.load_folder(bundle)
    with open(path, "wb") as file:
        file.truncate(1 << 30)  # a claim of a gigabyte, which takes no room on the disk
    with pytest.raises(BundleError, match="at most"):
        read_bundle(bundle)
    with pytest.raises(runtime.KolkhozBotError, match="too large"):
        runtime.load_folder(bundle)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(BundleError, match="regular file"):
        read_bundle(bundle)


def test_a_hostile_model_gives_one_line(bundle: Path) -> None:
    import onnx

    path = bundle / "model.onnx"
    good = path.read_bytes()

    def outside(model: Any) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../../../etc/passwd")

    def custom(model: Any) -> None:
        model.graph.node[0].domain = "com.microsoft"

    def loop(model: Any) -> None:
        model.graph.node[0].op_type = "Loop"

    def opset(model: Any) -> None:
        model.opset_import[0].version = 99

    for change in (outside, custom, loop, opset):
        model = onnx.load_model_from_string(good)
        change(model)
        path.write_bytes(model.SerializeToString())
        with pytest.raises(BundleError, match=r"model\.onnx") as caught:
            open_model(bundle)
        assert "\n" not in str(caught.value)
    for data in (b"", b"\xff" * 100, good[: len(good) // 2]):
        path.write_bytes(data)
        list_anew(bundle)
        assert not verify_bundle(bundle).passed


def test_damaged_examples_give_one_line(bundle: Path) -> None:
    path = bundle / "vectors.jsonl"
    lines = path.read_text().splitlines()
    for damaged in ("{", "[]", "{}", "[" * 100_000):
        path.write_text("\n".join([lines[0], damaged]))
        with pytest.raises(BundleError, match="line 2"):
            list(read_examples(bundle))
    example = json.loads(lines[0])
    for key, value in (("observation", [1]), ("mask", []), ("log_probs", {}), ("view", {}),
                       ("move", "W99"), ("sampled", None), ("value", "high")):  # fmt: skip
        path.write_text(json.dumps(example | {key: value}) + "\n")
        list_anew(bundle)
        verdict = verify_bundle(bundle)
        assert not verdict.passed, key
        assert all("\n" not in replay.line() for replay in verdict.replays)


# Views in the runtimes -----------------------------------------------------------------------

WRONG: list[tuple[str, Any, str]] = [
    ("format", "kolkhoz-view/2", "format"),
    ("rules", None, "rules"),
    ("rules", {"players": 3}, "rules.players"),
    ("rules", {"players": 4, "quota": 30}, "rules.quota"),
    ("rules", {"players": 4, "hero_of_labor": False}, "rules.hero_of_labor"),
    ("seat", 4, "seat"),
    ("turn", {"seat": 0, "phase": "dance"}, "turn.phase"),
    ("year", 6, "year"),
    ("trump", "Z", "trump"),
    ("hand", ["W14"], "hand"),
    ("hand", None, "hand"),
    ("plots", [[], [], []], "plots"),
    ("plots", [["W1"], [5], [], []], "plots[1]"),
    ("cellars", [[], [], [{}], []], "cellars[2][0].highest"),
    ("fields", {"W": {}}, "fields.W.hours"),
    ("trick", [{"seat": 9}], "trick[0].seat"),
    ("swaps", [None, "pass", {"zone": "moon"}, None], "swaps[2].zone"),
    ("last_seen", {"W1": 9}, "last_seen.W1"),
    ("last_seen", {"__proto__": 1}, "last_seen"),
    ("to_send", -1, "to_send"),
    ("legal", [], "legal"),
    ("legal", ["fly"], "legal"),
]


def test_a_wrong_view_is_refused_by_the_field_in_python(whole: Path, runtime: ModuleType) -> None:
    bot = runtime.load_folder(whole)
    view = next(read_examples(whole))["view"]
    for key, value, field in WRONG:
        with pytest.raises(runtime.KolkhozBotError) as caught:
            bot.move(view | {key: value})
        assert str(caught.value).startswith(f"{field}: "), (key, value)
    nan = float("nan")
    for options in ({"temperature": -1}, {"temperature": nan}, {"seed": -1}, {"seed": 2**32}):
        with pytest.raises(runtime.KolkhozBotError):
            bot.move(view, **options)


def test_a_wrong_view_is_refused_by_the_field_in_javascript(whole: Path, tmp_path: Path) -> None:
    view = next(read_examples(whole))["view"]
    views = [json.dumps(view)[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
             for key, value, _ in WRONG]  # fmt: skip
    (tmp_path / "views.json").write_text(f"[{','.join(views)}]")
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ load }} from "{(RUNTIMES / "kolkhoz_bot.mjs").as_uri()}";
        const manifest = JSON.parse(readFileSync("{whole}/manifest.json", "utf8"));
        const weights = readFileSync("{whole}/weights.bin");
        const bot = load(manifest, weights);
        const tell = (run) => {{
            try {{ run(); return "accepted"; }} catch (error) {{
                return error.name === "KolkhozBotError" ? error.message : String(error);
            }}
        }};
        const views = JSON.parse(readFileSync("{tmp_path}/views.json", "utf8"));
        const damaged = [
            () => load({{}}, weights),
            () => load(manifest, weights.subarray(4)),
            () => load(manifest, "text"),
            () => load(manifest, new Uint8Array(weights.length).fill(255)),
        ];
        const answers = views.map((view) => tell(() => bot.move(view)));
        console.log(JSON.stringify([answers, damaged.map(tell)]));
        """
    node = needs("node", "https://nodejs.org, or apt-get install nodejs")
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    answers, damaged = json.loads(done.stdout)
    for (key, value, field), answer in zip(WRONG, answers, strict=True):
        assert answer.startswith(f"{field}: "), (key, value, answer)
    assert [text.partition(":")[0] for text in damaged] == ["manifest.json"] + ["weights.bin"] * 3


RULES = [
    ({}, {}, None),
    ({}, {"players": 4, "quota": 40}, None),
    ({"quota": 40}, {}, None),
    ({"quota": 30}, {}, "rules.quota: 40, but the bot plays with 30"),
    ({"quota": 30}, {"quota": 30}, None),
    ({"players": 3}, {}, "rules.players: 4, but the bot plays with 3"),
    ({"players": 3}, {"players": 3, "quota": 32}, None),
    ({"hero_of_labor": False}, {}, "rules.hero_of_labor: "),
    ({"swaps": False}, {"swaps": False}, None),
]
"""What a bot plays, what a view says, how it is refused; what is left out is the printed rule."""


def test_a_rule_that_is_left_out_is_the_printed_one(whole: Path, runtime: ModuleType) -> None:
    bots = [Rules.from_dict(own).to_dict() for own, _, _ in RULES]
    node = needs("node", "https://nodejs.org, or apt-get install nodejs")
    asked = [[bot, given] for bot, (_, given, _) in zip(bots, RULES, strict=True)]
    code = (RUNTIMES / "kolkhoz_bot.mjs").read_text() + f"""
        const told = {json.dumps(asked)}.map(
          ([own, given]) => {{
            try {{ checkRules(given, own); return null; }} catch (error) {{ return error.message; }}
          }});
        console.log(JSON.stringify(told));
        """
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout)
    for bot, (own, given, line), answer in zip(bots, RULES, answers, strict=True):
        try:
            runtime._check_rules(given, bot)
            told = None
        except runtime.KolkhozBotError as error:
            told = str(error)
        for text in (told, answer):
            assert text == line or (line is not None and str(text).startswith(line)), (own, given)


def test_another_export_leaves_what_is_not_its_own(bundle: Path, tmp_path: Path) -> None:
    (bundle / "page.html").write_text("mine")
    (bundle / "data").mkdir()
    (bundle / "data" / "x").write_text("mine too")
    link = tmp_path / "link"
    link.symlink_to(bundle)
    export_bot(fresh_bot(4, hidden=(16,)), link, count=4)
    assert link.is_symlink()
    assert (bundle / "page.html").read_text() == "mine"
    assert (bundle / "data" / "x").read_text() == "mine too"
    assert verify_bundle(bundle).passed
    assert not list(bundle.parent.glob(".*"))
    # A web page's manifest.json makes no bundle of its folder.
    page = tmp_path / "public"
    page.mkdir()
    (page / "manifest.json").write_text('{"name": "An app", "start_url": "/"}')
    with pytest.raises(BundleError, match="exists and is no bundle"):
        export_bot(fresh_bot(4, hidden=(16,)), page, count=4)
    assert [path.name for path in page.iterdir()] == ["manifest.json"]


def test_hostile_manifests_are_refused_in_the_runtimes(bundle: Path, runtime: ModuleType) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    weights = (bundle / "weights.bin").read_bytes()
    refused: list[str] = []
    harmless = {"rules", "rules unknown", "quota", "climbing path", "climbing model"}
    harmless |= {"symmetry"}  # an order of crops, though not that of the network
    for name, change in HOSTILE.items():
        if name in harmless:  # other numbers and names, which the runtime takes as they are
            continue
        damaged = json.loads(json.dumps(manifest))
        change(damaged)
        with pytest.raises(runtime.KolkhozBotError) as caught:
            runtime.load(damaged, weights)
        assert "\n" not in str(caught.value), name
        refused.append(json.dumps(damaged))
    (bundle / "damaged.json").write_text(f"[{','.join(refused)}]")
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ load }} from "{(RUNTIMES / "kolkhoz_bot.mjs").as_uri()}";
        const weights = readFileSync("{bundle}/weights.bin");
        for (const manifest of JSON.parse(readFileSync("{bundle}/damaged.json", "utf8"))) {{
            try {{ load(manifest, weights); console.log("accepted"); }} catch (error) {{
                console.log(`${{error.name}} ${{error.message}}`);
            }}
        }}
        """
    node = needs("node", "https://nodejs.org, or apt-get install nodejs")
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(refused)
    lines = tuple(f"KolkhozBotError {name}: " for name in ("manifest.json", "weights.bin"))
    assert [answer for answer in answers if not answer.startswith(lines)] == []
