"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kolkhoz_env.errors import KolkhozError


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write a file or folder that takes the place of ``path`` when the block ends.

    If the block fails, what it has written is removed and ``path`` stays as it was. A link is
    followed; folders on the way are made.

    Raises:
        KolkhozError: names the path and says why it can't be written (a full disk).
    """
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        os.replace(aside, target)
    except OSError as error:
        raise KolkhozError(f"{path}: can't be written: {error.strerror or error}") from error
    finally:
        if aside.is_dir():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            # A folder on the way may be a file: then there is nothing to remove.
            with suppress(OSError):
                aside.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all; KolkhozError if it can't be written."""
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8")
