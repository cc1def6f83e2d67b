"""Settings: frozen dataclasses whose fields carry their meaning and their valid range.

    @dataclass(frozen=True, kw_only=True)
    class Walk(Settings):
        speed: float = setting(1.0, "Metres a second.", above=0)

A value out of range fails at construction, naming the field, what was given and what is valid.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from repertory.errors import UsageError, shown, unknown

SettingsType = TypeVar("SettingsType", bound="Settings")
LARGEST_INTEGER = 2**63 - 1


def setting(
    default: Any,
    meaning: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] | None = None,
    before: Any = dataclasses.MISSING,
) -> Any:
    """A field with its meaning and its valid range.

    `before` is the value that runs had before this setting existed, if that is not its default; or a function that
    tells it from the values that were recorded.
    """
    limits = {"at_least": at_least, "above": above, "at_most": at_most, "below": below, "choices": choices}
    earlier = default if before is dataclasses.MISSING else before
    return dataclasses.field(default=default, metadata={"meaning": meaning, "before": earlier, **limits})


def other_default(settings_class: type[Settings], name: str, default: Any) -> Any:
    """A field of a parent class with another default; its meaning and valid range stay."""
    metadata = settings_class.__dataclass_fields__[name].metadata
    return dataclasses.field(default=default, metadata={**metadata, "before": default})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings: validation, and construction from names and text."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = _coerce(getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)
            _check(f"{type(self).__name__}.{field.name}", value, hints[field.name], field.metadata)
        self.validate()

    def validate(self) -> None:
        """Override this to check fields that depend on each other."""

    @classmethod
    def field_names(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; unknown names fail with the nearest valid one."""
        for name in changes:
            if name not in self.field_names():
                raise unknown(f"setting of {type(self).__name__}", name, self.field_names())
        return dataclasses.replace(self, **changes)

    def replace_from_text(self, changes: Mapping[str, Any]) -> Self:
        """Like `replace`, for values from a command line or a TOML file."""
        hints = typing.get_type_hints(type(self))
        return self.replace(**{name: _parse(name, value, hints.get(name)) for name, value in changes.items()})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record of a run."""
        return {name: _plain(getattr(self, name)) for name in self.field_names()}

    @classmethod
    def completed(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Plain values from the record of an older run, with those added that it did not record."""
        missing = {}
        for field in dataclasses.fields(cls):
            if field.name not in recorded:
                before = field.metadata.get("before", field.default)
                missing[field.name] = _plain(before(recorded) if callable(before) else before)
        return {**recorded, **missing}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def valid_text(settings_class: type[Settings], name: str) -> str:
    """The valid values of a field, in words."""
    field = settings_class.__dataclass_fields__[name]
    return _range_text(_kinds(typing.get_type_hints(settings_class)[name]), field.metadata)


def _coerce(value: Any, hint: Any) -> Any:
    """Take 1 for 1.0, a list for a tuple and a NumPy scalar for its Python value; leave the rest to `_check`."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    kinds = _kinds(hint)
    if float in kinds and int not in kinds and type(value) is int and _is_reasonable(value):
        return float(value)
    if int in kinds and float not in kinds and type(value) is float and value.is_integer() and abs(value) <= 2**53:
        return int(value)  # 4e5 is a good way to write a memory size
    if tuple in kinds and isinstance(value, list):
        return tuple(value)
    return value


def _check(name: str, value: Any, hint: Any, limits: Mapping[str, Any]) -> None:
    kinds = _kinds(hint)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    matches = type(value) in kinds or (value is None and types.NoneType in kinds)
    if isinstance(value, tuple) and tuple in kinds:
        matches = all(type(element) in _kinds(typing.get_args(hint)[0]) for element in value)
    numbers = value if isinstance(value, tuple) else (value,) if is_number else ()
    if not matches or not all(_is_reasonable(number) for number in numbers):
        raise UsageError(f"{name} is {_shown(value)}; valid: {_range_text(kinds, limits)}")
    within = True
    if limits.get("choices") is not None and isinstance(value, str):
        within = value in limits["choices"]
    for number in numbers:
        if limits.get("at_least") is not None:
            within &= number >= limits["at_least"]
        if limits.get("above") is not None:
            within &= number > limits["above"]
        if limits.get("at_most") is not None:
            within &= number <= limits["at_most"]
        if limits.get("below") is not None:
            within &= number < limits["below"]
    if not within:
        raise UsageError(f"{name} is {_shown(value)}; valid: {_range_text(kinds, limits)}")


def _is_reasonable(number: float) -> bool:
    """Finite, and small enough for a 64-bit integer."""
    return abs(number) <= LARGEST_INTEGER if isinstance(number, int) else math.isfinite(number)


def _shown(value: Any) -> str:
    return "a huge number" if isinstance(value, int) and abs(value) > LARGEST_INTEGER else shown(value)


def _range_text(kinds: set[type], limits: Mapping[str, Any]) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", tuple: "a list of numbers"}
    bounds = [
        f"{word} {limits[limit]:g}"
        for limit, word in (("above", "above"), ("at_least", "at least"), ("at_most", "at most"), ("below", "below"))
        if limits.get(limit) is not None
    ]
    plain = [word for kind, word in words.items() if kind in kinds and not (kind is str and limits.get("choices"))]
    texts = [" ".join([" or ".join(plain), " and ".join(bounds)]).strip()] if plain else []
    texts += [repr(choice) for choice in limits.get("choices") or ()]
    text = " or ".join(texts)
    return f"{text}, or none" if types.NoneType in kinds else text


def _kinds(hint: Any) -> set[type]:
    """The plain types a hint admits: `float | None` gives {float, NoneType}, `tuple[int, int]` gives {tuple}."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return set().union(*(_kinds(part) for part in typing.get_args(hint)))
    return {typing.get_origin(hint) or hint}


def _parse(name: str, value: Any, hint: Any) -> Any:
    """Turn a command line's text into the type its field has; what does not parse is left for `_check`."""
    if not isinstance(value, str) or hint is None:
        return value
    kinds = _kinds(hint)
    text = value.strip()
    if types.NoneType in kinds and text.lower() == "none":
        return None
    if bool in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if tuple in kinds:
        parts = [part for part in text.strip("()[] ").split(",") if part.strip()]
        return tuple(_number(part) for part in parts)
    if int in kinds or float in kinds:
        return _number(text)
    return value


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text.strip().replace("_", ""))
        except (ValueError, OverflowError):
            continue
    return text.strip()
