"""Execute notebooks from top to bottom and write their outputs back.

    python tools/run_notebooks.py                     # all of notebooks/
    python tools/run_notebooks.py notebooks/03*.ipynb

A notebook runs in an empty folder of its own, so that what it writes leaves nothing behind.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300


def execute(path: Path, folder: Path) -> Any:
    """The notebook with fresh outputs; its cells run in `folder`. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute()
    return tidy(notebook)


def tidy(notebook: Any) -> Any:
    """The notebook without what differs from machine to machine."""
    version = notebook.metadata.get("language_info", {}).get("version", "")
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "version": version.rpartition(".")[0] or version},
        }
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def write(notebook: Any, path: Path) -> None:
    """Write a notebook whole or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.write_text(nbformat.writes(notebook), encoding="utf-8")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def main() -> int:
    """Execute what the arguments name."""
    parser = argparse.ArgumentParser(description="Execute notebooks and keep their outputs.")
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all)")
    for path in parser.parse_args().files or sorted(ROOT.glob("notebooks/*.ipynb")):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                write(execute(path, Path(folder)), path)
            except CellExecutionError as error:
                print(f"{path.name} stopped; it is left as it was\n{error}", file=sys.stderr)
                return 1
        print(f"{path.name}: {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
