"""What the pages say: links lead somewhere, commands parse, the README's commands and code run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kolkhoz_train.cli.main import main, make_parser

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("configs/*.md")])
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, *languages: str) -> list[str]:
    """Texts of a page's code blocks in the given languages."""
    found = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [text for language, text in found if language in languages]


def commands(page: Path) -> Iterator[list[str]]:
    """Arguments of each `kolkhoz` command in a page's shell blocks."""
    for text in blocks(page, "sh", "bash", "console", "shell"):
        for line in text.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s(?:\||&&|;|>)\s", line.removeprefix("$ ")):
                words = shlex.split(part, comments=True)
                if words and words[0].rpartition("/")[2] == "kolkhoz":
                    yield words[1:]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as they are made from the text."""
    headings = re.findall(r"^#+\s+(.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


@BY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = page.parent / name if name else page
        assert place.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(place), f"{page.name}: {target}"


@BY_PAGE
def test_commands_parse(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = make_parser()
    for arguments in commands(page):
        try:
            parser.parse_args(arguments)
        except SystemExit as leaving:
            if leaving.code:
                pytest.fail(f"kolkhoz {shlex.join(arguments)}: {capsys.readouterr().err}")


def test_the_readme_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for arguments in commands(ROOT / "README.md"):
        if arguments[0] in ("evaluate", "records", "agents"):
            assert main(arguments) == 0, f"kolkhoz {' '.join(arguments)}"
            ran.append(arguments[0])
    assert {"evaluate", "records", "agents"} <= set(ran)
    assert "Year 5 (Famine)" in capsys.readouterr().out


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "README.md", "python"))))
def test_the_readme_code_runs(number: int, tmp_path: Path) -> None:
    code = blocks(ROOT / "README.md", "python")[number]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_pages_name_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        inline = re.findall(r"`(make [a-z]+)`", page.read_text())
        for text in [*blocks(page, "sh", "bash"), *inline]:
            for target in re.findall(r"^make ([a-z]+)", text, re.MULTILINE):
                assert target in targets, f"{page.name}: make {target}"
