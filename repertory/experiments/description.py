"""What tells one component of a run from another, for the record of the run and for the decision to go on with it.

Settings describe themselves. A user's own function or class is described by its name and a fingerprint of its source
code, the values it was given along the way included; where that cannot be had, a run can be kept but not gone on with.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from typing import Any

from repertory import catalogue
from repertory.settings import Settings

CODE = "code"
PLAIN = (str, int, float, bool, type(None))


def described(component: object) -> dict[str, Any]:
    """Plain values: the name, and settings or the fingerprint of the code."""
    name = catalogue.name_of(component)
    if isinstance(component, Settings):
        return {"name": name, **component.as_dict()}
    as_dict = getattr(component, "as_dict", None)
    if as_dict is not None and not isinstance(component, type):
        return {"name": name, **json.loads(json.dumps(as_dict()))}
    fingerprint = code_fingerprint(component)
    return {"name": name} if fingerprint is None else {"name": name, CODE: fingerprint}


def is_described(component: object) -> bool:
    """Whether `described` tells this component from all others."""
    description = described(component)
    describes_itself = hasattr(component, "as_dict") and getattr(component, "is_described", True)
    return isinstance(component, Settings) or describes_itself or CODE in description


def code_fingerprint(component: object) -> str | None:
    """Of a function's or a class's source and of the plain values bound to it; None if there is more to it."""
    parts = _parts(component)
    return None if parts is None else hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _parts(component: object) -> list[str] | None:
    if isinstance(component, functools.partial):
        inner = _parts(component.func)
        bound = [*component.args, *component.keywords.items()]
        return None if inner is None or not all(_is_plain(value) for value in bound) else [*inner, repr(bound)]
    if inspect.isfunction(component):
        bound = [*(component.__defaults__ or ()), *(component.__kwdefaults__ or {}).items(), *_captured(component)]
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
