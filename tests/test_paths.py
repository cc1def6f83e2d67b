"""Folders and files that the user named: refused in one line before any work, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repertory.errors import UsageError
from repertory.paths import check_new_file, check_new_folder, existing_folder, staged, write_whole

NAME_LIMIT = 255


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "held").mkdir()
    for name, target in (("loop", "loop"), ("dangling", "nowhere"), ("link", "held")):
        (tmp_path / name).symlink_to(tmp_path / target)
    return tmp_path


IMPOSSIBLE = {
    "loop": "Too many levels of symbolic links",
    "loop/below": "Too many levels of symbolic links",
    "dangling": "a link to nowhere is in the way",
    "file/below": "Not a directory",
    "x" * (NAME_LIMIT + 1): "File name too long",
    f"new/deep/{'x' * (NAME_LIMIT + 1)}": "File name too long",
    "new/" * 1500: "File name too long",
    "a\0b": "embedded null byte",
}


@pytest.mark.parametrize("name", IMPOSSIBLE, ids=lambda name: repr(name[:12]))
def test_what_cannot_be_made_is_refused_and_nothing_is_made(name: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    for refuse in (check_new_folder, check_new_file, lambda path: staged(path).__enter__()):
        with pytest.raises(UsageError) as refusal:
            refuse(folder / name)
        assert str(refusal.value).endswith(f"{IMPOSSIBLE[name]}; choose another --out")
        assert len(str(refusal.value)) < 500
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "new", "new/deep", "link", "link/new", "held/../new", "x" * NAME_LIMIT])
def test_what_can_be_made_is_not_made_by_looking(name: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    check_new_folder(folder / name)
    assert sorted(folder.rglob("*")) == before
    with staged(folder / name) as scratch:
        (scratch / "in").mkdir()
        (scratch / "in" / "it").write_text("new")
    assert (folder / name / "in" / "it").read_text() == "new"
    assert not [file for file in folder.rglob("*") if file.name.startswith(".repertory-")]


def test_a_folder_to_read(folder: Path) -> None:
    assert existing_folder(folder / "link") == folder / "link"
    for name in ("file", "none", "dangling", "file/below"):
        with pytest.raises(UsageError, match=f"{name} is not a folder; look in .*{name}"):
            existing_folder(folder / name, "look in {path}")
    for name in ("loop", "a\0b", "x" * (NAME_LIMIT + 1), "{braces}" * 40):
        with pytest.raises(UsageError, match=r"cannot be read: .*; choose another folder"):
            existing_folder(folder / name)


def test_an_ordinary_file_alone_is_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "held"):
        with pytest.raises(UsageError, match=f"{name} is not an ordinary file"):
            check_new_file(folder / name)
        with pytest.raises(UsageError, match=f"{name} is not an ordinary file"):
            write_whole(folder / name, b"new")
    write_whole(folder / "file", b"new")
    assert (folder / "file").read_bytes() == b"new"


def test_a_target_is_as_it_was_if_anything_fails(folder: Path) -> None:
    """Also if a single one of its files cannot be put in its place."""
    (folder / "held" / "one").write_text("old")
    (folder / "held" / "two").mkdir()

    def write(fault: Exception | None) -> None:
        with staged(folder / "held") as scratch:
            for name in ("one", "two"):
                (scratch / name).write_text("new")
            if fault is not None:
                raise fault

    with pytest.raises(ZeroDivisionError):
        write(ZeroDivisionError())
    with pytest.raises(UsageError, match="No space left"):
        write(OSError(28, "No space left"))
    with pytest.raises(UsageError, match="two is not an ordinary file"):
        write(None)
    assert (folder / "held" / "one").read_text() == "old"
    assert sorted(file.name for file in (folder / "held").iterdir()) == ["one", "two"]


def test_the_last_file_comes_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds the page finds all that it shows."""
    moved = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: (moved.append(target.name), replace(source, target)))
    with staged(folder / "new", last="b") as scratch:
        for name in ("c", "b", "a"):
            (scratch / name).write_text(name)
    assert moved == ["a", "c", "b"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(folder: Path) -> None:
    (folder / "held").chmod(0o500)
    with pytest.raises(UsageError, match="Permission denied; choose another --out"):
        check_new_folder(folder / "held" / "new")
