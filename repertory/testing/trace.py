"""What checks of learners and domains compare: episodes step by step, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class ConformanceError(AssertionError):
    """Something does not follow the protocol."""


def expect(condition: bool, checked: str, found: str) -> None:
    if not condition:
        raise ConformanceError(f"{checked}: {found}")


class Moment(NamedTuple):
    """One step, as the learner saw it."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool


Trace = list[list[Moment]]
"""Episodes of steps."""


def count(trace: Trace) -> int:
    return sum(len(episode) for episode in trace)


def expect_same(expected: Trace, got: Trace, checked: str, found: str, advice: str) -> None:
    first = difference(expected, got)
    expect(first is None, checked, f"{found} ({first}); {advice}")


def expect_same_state(expected: Mapping[str, Any], got: Mapping[str, Any], checked: str, who: str) -> None:
    names = sorted(name for name in {*expected, *got} if bits(expected.get(name)) != bits(got.get(name)))
    shown = ", ".join(names[:4])
    expect(not names, checked, f"{who} ended in another state ({shown}); valid: the same to the bit")


def difference(expected: Trace, got: Trace) -> str | None:
    """The first difference in words."""
    for episode, (one, other) in enumerate(zip(expected, got, strict=False)):
        for step, (ours, theirs) in enumerate(zip(one, other, strict=False)):
            for name, value, other_value in zip(Moment._fields, ours, theirs, strict=True):
                if bits(value) != bits(other_value):
                    return f"episode {episode}, step {step}: {name} {value} against {other_value}"
        if len(one) != len(other):
            return f"episode {episode}: {len(one)} steps against {len(other)}"
    return None if len(expected) == len(got) else f"{len(expected)} episodes against {len(got)}"


def bits(value: Any) -> Any:
    """Something that is equal only for what is equal to the bit, and of one shape and kind."""
    if isinstance(value, Mapping):
        return {key: bits(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(bits(part) for part in value)
    array = np.asarray(value)
    return (array.dtype.str, array.shape, array.tobytes()) if not array.dtype.hasobject else value
