"""A fingerprint of a user's own function or class: its source code and the plain values bound to it."""

from __future__ import annotations

import functools
import hashlib
import inspect
from typing import Any

PLAIN = (str, int, float, bool, type(None))


def code_fingerprint(component: object) -> str | None:
    """Of a function's or a class's source and of the plain values bound to it.

    None if other values are bound to it, or if its source cannot be read.
    """
    parts = _parts(component)
    return None if parts is None else hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _parts(component: object) -> list[str] | None:
    if isinstance(component, functools.partial):
        inner = _parts(component.func)
        bound = [*component.args, *component.keywords.items()]
        return None if inner is None or not all(_is_plain(value) for value in bound) else [*inner, repr(bound)]
    if inspect.isfunction(component):
        bound = [*(component.__defaults__ or ()), *(component.__kwdefaults__ or {}).items(), *_captured(component)]
        bound += _constants(component)
        if not all(_is_plain(value) for value in bound):
            return None
        return _source(component, repr(bound))
    if inspect.isclass(component):
        return _source(component, "")
    if hasattr(component, "__dict__") and all(_is_plain(value) for value in vars(component).values()):
        return _source(type(component), repr(sorted(vars(component).items())))
    return None


def _captured(function: Any) -> list[Any]:
    """The values of the variables that a function takes from around it; classes by their own source."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not bound yet
            values.append(object())
    return values


def _constants(function: Any) -> list[Any]:
    """The plain values that a function reads from its module, by name."""
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    return [(name, function.__globals__[name]) for name in names if _is_plain(function.__globals__[name])]


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_plain(entry) for entry in value)
    if isinstance(value, dict):
        return all(_is_plain(entry) for entry in value.values())
    return isinstance(value, PLAIN)


def _source(component: Any, bound: str) -> list[str] | None:
    try:
        return [inspect.getsource(component), bound]
    except (OSError, TypeError):  # typed at a prompt, or made by a program
        return None
