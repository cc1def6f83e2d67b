"""Memory of one policy that remembers 400,000 experiences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from repertory.benchmarks.measure import build
from repertory.benchmarks.result import Measured, Side
from repertory.learners.compiled_policy import memory_of

MEGA = 1e6


def megabytes_of(domain: str, settings: Any) -> Callable[[int], Measured]:
    """Counted, not timed, so one repeat says it all."""

    def measure(_repeats: int) -> Measured:
        size = memory_of(build(domain, settings)) / MEGA
        return Measured(size, Side("repertory", "MB", (size,), is_cost=True))

    return measure
