"""For `make site`: pages that lie outside docs/ join the site, and links to them lead there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "LICENSE": "LICENSE.txt",
    "configs/README.md": "configs.md",
}
"""Files of the checkout, and what they are called on the site."""


def on_files(files: Files, config: Any) -> Files:
    """Add the files from outside, and the notebooks as pages with their outputs."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        target = f"notebooks/{path.stem}.html"
        files.append(File.generated(config, target, content=as_page(path)))
    return files


def as_page(path: Path) -> str:
    """A notebook with its outputs as a page of its own."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter(template_name="lab").from_filename(str(path))
    return re.sub(r'(href="[^":]+)\.ipynb"', r'\1.html"', body)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links as they are right in the checkout into links as they are right on the site."""
    folder = "configs" if page.file.src_uri == "configs.md" else ""
    outside = page.file.src_uri in OUTSIDE.values()

    def turn(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if re.match(r"\w+:", target):
            return link[0]
        base = ROOT / folder if outside else ROOT / "docs"
        place = (base / target).resolve()
        return f"]({site_place(place, target)}{anchor})"

    return re.sub(r"\]\(([^)\s#]+)(#[^)\s]*)?\)", turn, markdown)


def site_place(place: Path, target: str) -> str:
    """Where a file of the checkout lies on the site, seen from its top; else as it was."""
    try:
        name = place.relative_to(ROOT).as_posix()
    except ValueError:
        return target
    if name in OUTSIDE:
        return OUTSIDE[name]
    if name.endswith(".ipynb"):
        return name.removesuffix(".ipynb") + ".html"
    return name.removeprefix("docs/")
