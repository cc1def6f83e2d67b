"""A user's own code by name: `my_tasks.py:domain`, or `my_package.tasks:domain` of a module that can be imported.

Records name such code, too, and a record may be a stranger's. To read one must not run what it names: only code that
this user has named before, on a command line or in Python, is run for a record. Which that is stands in a file of the
user's own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from repertory.errors import UsageError, shown, unknown
from repertory.kernels.own_files import NotOwn, make_own_folder, read_own, write_own

FORM = "FILE.py:NAME"
_allowed: set[str] = set()
"""What was named in this process."""


def is_own_code(text: object) -> bool:
    """Whether a name is of this form; whether there is such code is seen when it is loaded."""
    if not isinstance(text, str) or "\0" in text or "\n" in text:
        return False
    source, _colon, attribute = text.rpartition(":")
    if not attribute.isidentifier():
        return False
    return source.endswith(".py") or (bool(source) and all(part.isidentifier() for part in source.split(".")))


def canonical(text: str, folder: Path | None = None) -> str:
    """The same name for the same code: a file by its path from the working folder, or its whole path outside of it.

    A path that leads to nothing from here is tried from `folder`.
    """
    source, _colon, attribute = text.rpartition(":")
    if not source.endswith(".py"):
        return text
    path = Path(os.path.expanduser(source))
    if folder is not None and not path.exists() and (folder / path).exists():
        path = folder / path
    whole, here = os.path.abspath(path), os.getcwd()
    inside = (
        os.path.commonpath([whole, here]) == here
        if os.path.splitdrive(whole)[0] == os.path.splitdrive(here)[0]
        else False
    )
    return f"{os.path.relpath(whole, here) if inside else whole}:{attribute}"


def load(text: str) -> Any:
    """The object of a name. This runs the code, so the user must have named it; see `allow`."""
    source, _colon, attribute = text.rpartition(":")
    module = _from_file(os.path.realpath(source)) if source.endswith(".py") else _imported(source)
    if not hasattr(module, attribute):
        valid = [name for name, value in vars(module).items() if not name.startswith("_") and callable(value)]
        raise unknown(f"name in {source}", attribute, valid)
    return getattr(module, attribute)


def source_text(text: str) -> str | None:
    """The whole source behind a name, if it can be read."""
    source = text.rpartition(":")[0]
    try:
        file = source if source.endswith(".py") else sys.modules[source].__file__
        return Path(str(file)).read_text()
    except (OSError, KeyError, UnicodeDecodeError):
        return None


@cache
def _from_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise UsageError(f"{shown(path)} is not a file; next: give the path of your own code as {FORM}")
    name = f"own_{Path(path).stem}"
    while name in sys.modules:
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and the reading of source look for it there
    if os.path.dirname(path) not in sys.path:
        sys.path.append(os.path.dirname(path))  # it may import its neighbours, as a script does
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's code may raise
        del sys.modules[name]
        raise _broken(path, error) from error
    return module


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # whatever the import of another's module may raise
        raise UsageError(
            f"the module {name} cannot be imported ({type(error).__name__}: {' '.join(str(error).split())}); next: "
            f"install it, or give a file as {FORM}"
        ) from error


def _broken(path: str, error: Exception) -> UsageError:
    said = " ".join(str(error).split())
    if isinstance(error, UsageError):
        return UsageError(f"{path}: {said}")
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        line = frame.lineno if frame.filename == path else line
    return UsageError(f"{path} cannot be run: {type(error).__name__} in line {line}: {said}")


# -------------------------------------------------------------------------------------- what the user has named


def allow(text: str) -> None:
    """Note that the user has named this code: records that name it may be opened from now on."""
    place = _place(text)
    if is_allowed(text):
        return
    _allowed.add(place)
    file = _list_file()
    if file is not None:
        with contextlib.suppress(OSError, NotOwn):  # then it must be named again in the next process
            make_own_folder(file.parent)
            write_own(file, "\n".join(sorted({*_listed(), place})).encode())


def is_allowed(text: str) -> bool:
    """Whether the user has ever named this code."""
    return _place(text) in _allowed or _place(text) in _listed()


def _place(text: str) -> str:
    source = text.rpartition(":")[0]
    return os.path.realpath(source) if source.endswith(".py") else source


def _listed() -> set[str]:
    file = _list_file()
    content = None if file is None else read_own(file)
    return set() if content is None else set(content.decode(errors="replace").splitlines())


def _list_file() -> Path | None:
    try:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError:  # a user without a home
        return None
    return base / "repertory" / "own-code"
