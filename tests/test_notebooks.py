"""The notebooks run from top to bottom and are kept with their outputs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from run_notebooks import execute  # noqa: E402

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
PRIVATE = re.compile(r"/(?:home|root|tmp|Users|work)/")


def code_cells(path: Path) -> list[Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> str:
    """All text that a cell shows."""
    shown = [output.get("text", "") for output in cell.outputs]
    shown += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(shown)


def test_there_are_five() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]


@EACH
def test_kept_with_the_outputs_of_one_run(path: Path) -> None:
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)
    for cell in cells:
        assert not PRIVATE.search(cell.source + texts(cell)), cell.source
        assert not any(output.output_type == "error" for output in cell.outputs), cell.source
        assert not any(output.get("name") == "stderr" for output in cell.outputs), texts(cell)


@EACH
def test_links_lead_somewhere(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#\s]+)", cell.source):
                assert (path.parent / target).exists(), target


@pytest.mark.slow
@EACH
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = execute(path, tmp_path)
    for cell in notebook.cells:
        assert not any(output.get("name") == "stderr" for output in cell.get("outputs", []))
