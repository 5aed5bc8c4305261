"""What is built is what is used: sdist and wheel, installed and run outside the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from kolkhoz_train.cli.main import COMMANDS, EXTRAS

# One worker builds once for all of these tests.
pytestmark = pytest.mark.xdist_group("packaging")

ROOT = Path(__file__).parents[1]
LEFT_BEHIND = (
    ".git", ".venv", "runs", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
)


def call(command: list[object], folder: Path, expect: int = 0) -> str:
    """Output of a command that runs in `folder`, away from the checkout's own packages."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240, check=False,
    )
    assert done.returncode == expect, done.stdout
    return done.stdout


def base_distributions() -> set[str]:
    """The distributions that the base install brings, the lab's own left out."""
    waiting, found = [("kolkhoz-lab", False)], set()
    while waiting:
        name, _ = waiting.pop()
        for text in metadata.distribution(name).requires or []:
            requirement, _, marker = text.partition(";")
            needed = re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")
            if needed in found or "extra" in marker or "win32" in marker or "python_v" in marker:
                continue
            found.add(needed)
            waiting.append((needed, True))
    return found


def link_packages(distributions: set[str], folder: Path) -> None:
    """Make `folder` hold the packages of these distributions and no others."""
    folder.mkdir()
    for name in distributions:
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout without what builds, tests and runs leave behind."""
    copy = tmp_path_factory.mktemp("source") / "lab"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    return copy


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from that sdist."""
    out = tmp_path_factory.mktemp("dist")
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source], out)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel and its base dependencies alone."""
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    python = place / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index"]
    call([*pip, "--no-deps", next(built.glob("*.whl"))], place)
    link_packages(base_distributions(), place / "base")
    (packages,) = (place / "venv").glob("lib/python3*/site-packages")
    (packages / "base.pth").write_text(f"{place / 'base'}\n")
    return python.parent


def test_the_wheel_holds_packages_and_data(source: Path, built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    folders = {"kolkhoz_env": "", "kolkhoz_agents": "agents", "kolkhoz_train": "train"}
    wanted = {
        path.relative_to(source / folder).as_posix()
        for package, folder in folders.items()
        for path in (source / folder / package).rglob("*") if path.is_file()
    }  # fmt: skip
    configs = {f"kolkhoz_train/configs/{path.name}" for path in source.glob("configs/*")}
    assert "kolkhoz_train/configs/quickstart.yaml" in configs
    assert {f"{package}/py.typed" for package in folders} <= wanted
    assert names == wanted | configs


def test_the_sdist_holds_what_the_tests_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "constraints.txt",
        "setup.py", "configs/quickstart.yaml", "tests/conftest.py",
    } <= names


def test_the_base_install_knows_every_command(installed: Path, tmp_path: Path) -> None:
    text = call([installed / "kolkhoz", "--help"], tmp_path)
    for command in COMMANDS:
        assert re.search(rf"^\s+{command.replace('_', '-')}\b", text, re.MULTILINE), command


def test_the_base_install_plays_and_verifies(installed: Path, tmp_path: Path) -> None:
    kolkhoz = installed / "kolkhoz"
    assert "heuristic" in call([kolkhoz, "agents"], tmp_path)
    seats = ["--agents", "random", "greedy", "random", "heuristic"]
    call([kolkhoz, "records", "play", *seats, "--games", "2", "--seed", "3", "g.jsonl"], tmp_path)
    call([kolkhoz, "records", "verify", "g.jsonl"], tmp_path)


def test_a_missing_extra_gives_one_clear_line(installed: Path, tmp_path: Path) -> None:
    imports = "import kolkhoz_env, kolkhoz_agents, kolkhoz_train"
    call([installed / "python", "-c", imports], tmp_path)
    line = call([installed / "kolkhoz", "train", "quickstart"], tmp_path, expect=2)
    assert line.startswith("kolkhoz: ")
    assert "pip install 'kolkhoz-lab[train]'" in line
    assert line.count("\n") == 1


def test_shipped_configs_are_found_from_anywhere(installed: Path, tmp_path: Path) -> None:
    code = "from kolkhoz_train.shipped import find_config; print(find_config('quickstart'))"
    path = Path(call([installed / "python", "-c", code], tmp_path).strip())
    assert path.read_text() == (ROOT / "configs/quickstart.yaml").read_text()


def test_every_requirement_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    required = {
        re.match(r"[\w.-]+", text).group().lower().replace("_", "-")
        for text in metadata.distribution("kolkhoz-lab").requires or []
    }
    assert required - pins == {"kolkhoz-lab"}
    assert not [line for line in lines if "://" in line or "@" in line]


def test_every_extra_package_belongs_to_its_extra() -> None:
    texts = metadata.distribution("kolkhoz-lab").requires or []
    for module, extra in EXTRAS.items():
        name = module.replace("_", "-")
        assert any(
            re.match(rf"{name}\b", text.replace("_", "-")) and f'extra == "{extra}"' in text
            for text in texts
        ), f"{module} is not in the extra {extra}"
