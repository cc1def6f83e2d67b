"""What a search for the number of policies has tried, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

ERRORS = 2.0
"""Standard errors on either side of a loss."""

IN_CONFLICT = 0.4
"""Two tasks are in conflict if one policy for both loses so much on the worse of them: all is lost there where it
learns one and fails the other, nothing where it learns both."""

Places = tuple[int, ...]
"""Tasks by their place among those that are looked at."""


class Tried(NamedTuple):
    """What the tasks lose with so many policies, each for a group of them."""

    policies: int
    loss: float
    """Mean over tasks, as a share of what learning gains there."""
    error: float
    """Standard error."""
    expected: float
    """By the end of the planned life, if policies were still getting better."""
    worst: float
    """The largest loss on a task."""
    steps: int
    """The most that one of the policies was trained."""

    @property
    def low(self) -> float:
        return min(self.loss, self.expected) - ERRORS * self.error

    @property
    def high(self) -> float:
        return self.loss + ERRORS * self.error


class Loss(NamedTuple):
    """What a policy loses on a group of tasks."""

    now: float
    error: float
    """Standard error over looks."""
    expected: float

    @property
    def high(self) -> float:
        return self.now + ERRORS * self.error


class Conflict(NamedTuple):
    """Two tasks of different groups, learned by one policy, with as many updates of each as one alone."""

    tasks: tuple[int, int]
    loss: float
    """On the worse of the two."""
    steps: int

    @property
    def is_one(self) -> bool:
        return self.loss > IN_CONFLICT
