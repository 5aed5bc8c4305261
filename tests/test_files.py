"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kolkhoz_env.errors import KolkhozError
from kolkhoz_env.files import whole, write_text


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.txt"
    with whole(path) as aside:
        aside.write_text("a")
        assert not path.exists()
    assert path.read_text() == "a"
    assert [other.name for other in path.parent.iterdir()] == ["x.txt"]


def test_a_folder_too_and_the_old_one_stays_if_it_fails(tmp_path: Path) -> None:
    def draw(then: Exception) -> None:
        with whole(tmp_path / "pictures") as aside:
            aside.mkdir()
            (aside / "0.png").touch()
            raise then

    with pytest.raises(ZeroDivisionError):
        draw(ZeroDivisionError())
    assert list(tmp_path.iterdir()) == []
    with whole(tmp_path / "pictures") as aside:
        aside.mkdir()
        (aside / "0.png").touch()
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["0.png"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_what_cannot_be_written_is_named_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def write_half() -> None:
        with whole(path) as aside:
            aside.write_text("half")
            full()

    with pytest.raises(KolkhozError) as caught:
        write_half()
    assert str(caught.value) == f"{path}: can't be written: No space left on device"
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(KolkhozError, match="can't be written: No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [other.name for other in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(KolkhozError, match="can't be written: File exists"):
        write_text(path / "y.json", "new")
