"""Reading back what was written: every JSON file of a run or a sweep comes in through here.

A file may have been cut short, edited by hand, made by another version or by somebody with bad intentions. What is
wrong with it is said in one line that names the file and the field, and none of it is used.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from repertory import errors
from repertory.errors import UsageError

Made = TypeVar("Made")
LARGEST_FILE = 64 * 2**20
"""Bytes; a JSON file of ours has some thousands."""


class Unreadable(UsageError):
    """A file that cannot be used; the message names it, and the field that is wrong."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path} cannot be read ({reason}); {self.next_step}")
        self.reason = reason

    next_step = "next: put back a copy of it, or delete its folder and run that again"


class OtherFormat(Unreadable):
    """A file that is whole, but that only another version of repertory can use."""

    next_step = "next: use a newer version"


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file. A missing file is a FileNotFoundError; whatever else is wrong with it is `Unreadable`."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unreadable(path, f"larger than {LARGEST_FILE // 2**20} MB")
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise Unreadable(path, getattr(error, "strerror", None) or str(error)) from None
    return parse_json(content, path)


def read_if_any(kind: type[Made], path: Path) -> Made | None:
    """What a file says, as a dataclass; None if there is no such file, or none that can be used."""
    try:
        return build(kind, read_json(path), path)
    except (OSError, Unreadable):
        return None


def parse_json(content: bytes, source: Path | str) -> dict[str, Any]:
    """The object in some bytes that came from `source`."""
    try:
        parsed = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise Unreadable(source, "nested too deeply") from None
    except ValueError as error:
        raise Unreadable(source, str(error)) from None
    if not isinstance(parsed, dict):
        raise Unreadable(source, f"a {type(parsed).__name__} where an object is needed")
    return parsed


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is not a number")


def check_format(content: dict[str, Any], newest: int, source: Path | str) -> int:
    """The format number of some content; 1 if it has none. A newer format is refused."""
    number = content.get("format", 1)
    if type(number) is not int or number < 1:
        raise Unreadable(source, f"its format is {shown(number)}; valid: a whole number from 1 to {newest}")
    if number > newest:
        maker = content.get("made_by")
        version = maker.get("version") if isinstance(maker, dict) else None
        by = f"repertory {version}" if isinstance(version, str) else "a newer version"
        raise OtherFormat(source, f"{by} wrote it in format {number}, and this version reads formats up to {newest}")
    return number


def build(kind: type[Made], content: dict[str, Any], source: Path | str) -> Made:
    """A dataclass from an object of JSON: each field of its kind, none missing that has no default.

    Fields that the dataclass does not have are ignored: a newer version may have added them.
    """
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in content:
            values[field.name] = checked(content[field.name], hints[field.name], field.name, source)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise Unreadable(source, f"'{field.name}' is missing")
    try:
        return kind(**values)
    except (UsageError, ValueError) as error:
        raise Unreadable(source, str(error)) from None


def checked(value: Any, hint: Any, name: str, source: Path | str) -> Any:
    """A value, if it has the type of a hint; a whole number will do for a real one."""
    if not _matches(value, hint):
        raise Unreadable(source, f"'{name}' is {shown(value)}; valid: {_kind_text(hint)}")
    return value


def _matches(value: Any, hint: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_matches(value, part) for part in arguments)
    if hint is Any:
        return True
    if origin in (list, tuple):
        return isinstance(value, list) and all(_matches(entry, arguments[0]) for entry in value)
    if origin is dict:
        return isinstance(value, dict) and all(_matches(entry, arguments[1]) for entry in value.values())
    if hint is types.NoneType:
        return value is None
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300
    if hint is int:
        return type(value) is int and abs(value) < 2**63
    return type(value) is hint


def _kind_text(hint: Any) -> str:
    words: dict[Any, str] = {
        int: "a whole number",
        float: "a finite number",
        str: "a text",
        bool: "true or false",
        types.NoneType: "null",
    }
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_kind_text(part) for part in typing.get_args(hint))
    kind = typing.get_origin(hint) or hint
    return words.get(kind) or {list: "a list", tuple: "a list", dict: "an object"}.get(kind, str(kind))


def shown(value: Any) -> str:
    """A value of a file in an error message; of objects and lists, their length."""
    if isinstance(value, (dict, list)):
        return f"a {'list' if isinstance(value, list) else 'object'} of {len(value)}"
    return errors.shown(value)


LARGEST_TOML = 2**16
"""Bytes of a settings file."""
DEEPEST_KEY = 100
"""Parts of a dotted key; tomllib takes all memory for some ten thousands."""


def read_toml(path: Path, called: str) -> dict[str, Any]:
    """The content of a TOML file that the user named, for an option or an experiment."""
    try:
        content = path.read_bytes()
        if len(content) > LARGEST_TOML:
            raise UsageError(f"{called} {path} is larger than {LARGEST_TOML // 1024} kB; split it")
        text = content.decode()
        if any(line.partition("=")[0].count(".") > DEEPEST_KEY for line in text.splitlines()):
            raise UsageError(f"{called} {path} has a key of more than {DEEPEST_KEY} parts")
        return tomllib.loads(text)
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read {called} {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{called} {path} is not valid TOML: {' '.join(str(error).split())}") from None
