"""docs/front-ends.md and the bundle's README: every snippet runs, every field is told."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from export_tools import fresh_bot, needs, open_page
from test_serve import wait_for

from kolkhoz_agents.bots import save_bot
from kolkhoz_env.view import read_view
from kolkhoz_env.view_reader import KEYS
from kolkhoz_train.cli.main import main
from kolkhoz_train.export.bundle import RUNTIMES

pytestmark = pytest.mark.xdist_group("front-ends-doc")

DOC = Path(__file__).parents[1] / "docs" / "front-ends.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\A(?://|#|<!--) (\S+\.\w+)(?: -->)?\n")


def blocks(path: Path) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return FENCE.findall(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bot in `runs/quickstart`, where the page's first commands have run."""
    folder = tmp_path_factory.mktemp("doc")
    save_bot(folder / "runs" / "quickstart" / "bot", fresh_bot(4))
    (commands,) = [text for language, text in blocks(DOC)[:1] if language == "sh"]
    here = Path.cwd()
    os.chdir(folder)
    try:
        for line in commands.splitlines():
            assert main(line.split()[1:]) == 0
    finally:
        os.chdir(here)
    for language, text in blocks(DOC):
        name = NAMED.match(text)
        if name:
            content = text[name.end() :] if language == "json" else text
            (folder / "bundle" / name.group(1)).write_text(content)
    return folder


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def node() -> str:
    return needs("node", "https://nodejs.org, or apt-get install nodejs")


def test_every_snippet_is_run_here() -> None:
    names = [m.group(1) for _, text in blocks(DOC) if (m := NAMED.match(text))]
    assert names == ["position.json", "page.html", "first.mjs", "first.py", "ask.py", "next.mjs"]
    others = [text for language, text in blocks(DOC) if not NAMED.match(text)]
    assert len(others) == 2
    assert all(line.startswith("kolkhoz ") for text in others for line in text.splitlines())


def test_the_position_is_possible_and_the_moves_agree(place: Path) -> None:
    position = (place / "bundle" / "position.json").read_text()
    assert read_view(position).size == 1
    in_node = run(place / "bundle", node(), "first.mjs").splitlines()
    in_python = run(place / "bundle", sys.executable, "first.py").splitlines()
    assert in_node[:2] == in_python[:2]
    assert in_node[0].removeprefix("best: ") in json.loads(position)["legal"]
    assert len(in_node) == len(in_python) == 2 + len(json.loads(position)["legal"])


def test_the_page_shows_the_move(place: Path) -> None:
    best = run(place / "bundle", node(), "first.mjs").splitlines()[0].removeprefix("best: ")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Nothing is said of requests."""

    handler = functools.partial(Quiet, directory=str(place / "bundle"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open_page(place / "bundle" / "demo.html") as page:
            page.goto(f"http://127.0.0.1:{server.server_port}/page.html")
            page.wait_for_function("document.getElementById('move').textContent != 'thinking'")
            assert page.inner_text("#move") == f"The bot plays {best}"
        server.shutdown()


def test_the_game_goes_on_move_by_move(place: Path) -> None:
    lines = run(place / "bundle", node(), "next.mjs").splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "seat 2, trump", "seat 3, play", "seat 0, play", "seat 1, play", "seat 2, play",
        lines[5].partition(":")[0],
    ]  # fmt: skip
    assert "assign" in lines[5]


def test_the_server_answers_the_snippet(place: Path) -> None:
    (command,) = [text for _, text in blocks(DOC) if text.startswith("kolkhoz serve")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command.replace("8000", str(port)).split()[1:]
    with subprocess.Popen([sys.executable, "-m", "kolkhoz_train", *words], cwd=place) as server:
        try:
            wait_for(port)
            ask = (place / "bundle" / "ask.py").read_text().replace("8000", str(port))
            answer = run(place / "bundle", sys.executable, "-c", ask)
        finally:
            server.send_signal(signal.SIGINT)
    again = run(place / "bundle", sys.executable, "first.py")
    assert answer.splitlines()[0] == again.splitlines()[0]


def test_the_readme_of_the_bundle_runs(place: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(place / "bundle", tmp_path / "bundle"))
    texts = dict(blocks(folder / "README.md"))
    (folder / "readme.mjs").write_text(texts["js"])
    (folder / "readme.py").write_text(texts["python"])
    in_node = run(folder, node(), "readme.mjs").splitlines()
    in_python = run(folder, sys.executable, "readme.py").splitlines()
    assert in_node[:2] == in_python[:2]


@pytest.mark.parametrize("path", [DOC, RUNTIMES / "README.md"], ids=["docs", "readme"])
def test_every_field_is_told(path: Path) -> None:
    rows = re.findall(r"^\| (`.*?) \|", path.read_text(encoding="utf-8"), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(KEYS) <= told


def test_types_name_every_field() -> None:
    text = (RUNTIMES / "kolkhoz_bot.d.mts").read_text()
    view = re.search(r"interface View \{(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    assert view is not None
    assert re.findall(r"^  (\w+):", view.group(1), re.MULTILINE) == list(KEYS)
