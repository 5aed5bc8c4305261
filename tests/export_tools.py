"""Bots with random weights, their bundles, and a browser, for the tests of what front ends get."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kolkhoz_agents.bots import BotFile
from kolkhoz_agents.network import NetworkShape, expected_weights
from kolkhoz_env.game import make_game
from kolkhoz_train.export.weights import as_stored

NO_BROWSER = (
    "no Chromium is installed, which this test drives: apt-get install chromium "
    "(.ci/run does so by tools/browser.sh)"
)


def fresh_bot(players: int, seed: int = 0, rounded: bool = False, **shape: Any) -> BotFile:
    """A bot with random weights that are large enough for clear moves.

    `rounded` weights are exact in 16 bits.
    """
    game = make_game({"players": players})
    network = NetworkShape(**({"hidden": (48, 32)} | shape))
    source = np.random.default_rng(seed)
    weights = {
        name: (source.normal(size=size) * (1.4 / np.sqrt(size[-1]) if len(size) > 1 else 0.1))
        .astype(np.float32)
        for name, size in expected_weights(network, game).items()
    }  # fmt: skip
    table = game.observation
    return BotFile(
        game="kolkhoz",
        rules=game.rules_dict(),
        observation={"version": table.version, "size": table.size},
        shape=network,
        weights=as_stored(weights, "float16") if rounded else weights,
        training={"by": "chance"},
    )


def needs(program: str, how: str) -> str:
    """The path of a program; the test fails, and says how to get it, where it is missing."""
    found = shutil.which(program)
    assert found, f"{program} is not installed, which this test runs: {how}"
    return found


@contextmanager
def open_page(path: Path) -> Iterator[Any]:
    """A page from the disk in a headless Chromium; what it logs and asks for is in `.problems`."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, NO_BROWSER
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("request", lambda request: page.problems.append(request.url)
                if not request.url.startswith(("file:", "data:")) else None)  # fmt: skip
        page.goto(path.resolve().as_uri())
        yield page
        browser.close()
