"""Folders and files that the user named: checked before any work, and written whole or not at all.

Whatever cannot be used (too long, a loop of links, a file in the way, no permission) is a `UsageError`, one line.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from repertory.errors import UsageError

SHOWN_LENGTH = 400
"""Characters of a path that a message shows."""
SCRATCH = ".repertory-"
"""How the names of folders begin whose files are to be moved to another."""


def existing_folder(path: Path, next_step: str = "next: repertory reproduce NAME --out {path}") -> Path:
    """The folder itself, if it is one that can be read; else `next_step` says what to do."""
    try:
        with os.scandir(path):
            return path
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{shown_path(path)} is not a folder; {next_step.format(path=shown_path(path))}") from None
    except (OSError, ValueError) as error:  # a path with a NUL character gives a ValueError
        raise UsageError(f"{shown_path(path)} cannot be read: {_reason(error)}; choose another folder") from None


def check_new_folder(path: Path, called: str = "--out") -> Path:
    """Fail if `path` is neither a folder that can be written to nor one that can be made; nothing is made.

    Returns the part of the path that exists.
    """
    try:
        return _existing_part(path)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error, called) from None


def check_new_file(path: Path, called: str = "--out") -> None:
    """Fail if `path` is neither an ordinary file that can be replaced nor one that can be made; nothing is made."""
    try:
        _check_name(_existing_part(path.parent), path.name)
        _check_replaceable(path)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error, called) from None


@contextlib.contextmanager
def staged(target: Path, last: str = "", called: str = "--out") -> Iterator[Path]:
    """A folder to write into. What it holds at the end is moved into `target`, the file named `last` after all others.

    If anything fails before, `target` is as it was, and not made if it was not there.
    """
    existing = check_new_folder(target, called)
    try:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=existing) as scratch:
            yield Path(scratch)
            files = sorted(file.relative_to(scratch) for file in Path(scratch).rglob("*") if file.is_file())
            files.sort(key=lambda file: str(file) == last)
            for file in files:
                _check_replaceable(target / file)
            for file in files:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                os.replace(Path(scratch) / file, target / file)
    except OSError as error:
        raise cannot_write(target, error, called) from None


def write_whole(path: Path, content: bytes, called: str = "--out") -> None:
    """Make or replace a file; a reader sees the old one or the new one."""
    with staged(path.parent, called=called) as scratch:
        (scratch / path.name).write_bytes(content)


def cannot_write(path: Path, error: Exception, called: str = "--out") -> UsageError:
    return UsageError(f"cannot write to {shown_path(path)}: {_reason(error)}; choose another {called}")


def shown_path(path: Path) -> str:
    """A path as messages show it: of one that is too long for any file, the beginning."""
    text = str(path)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}... ({len(text)} characters)"


def _existing_part(path: Path) -> Path:
    """A folder that can be written to: the path itself, or the part of it that exists."""
    held, missing = path.absolute(), []
    while not _is_there(held):
        missing.append(held.name)
        held = held.parent
    for name in missing:
        _check_name(held, name)
    if not held.is_dir():
        raise NotADirectoryError(None, "Not a directory")
    if not os.access(held, os.W_OK | os.X_OK):
        raise PermissionError(None, "Permission denied")
    return held


def _check_name(folder: Path, name: str) -> None:
    """Fail if a name is too long for the file system, whose limit a folder that is there tells."""
    with contextlib.suppress(FileNotFoundError):
        os.lstat(folder / name)


def _is_there(path: Path) -> bool:
    """Unlike `Path.exists`, fails for a loop of links, a link to nowhere, a name that is too long."""
    try:
        os.stat(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise FileExistsError(None, "a link to nowhere is in the way") from None
        return False
    return True


def _check_replaceable(path: Path) -> None:
    if _is_there(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise FileExistsError(None, f"{shown_path(path)} is not an ordinary file")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
