"""What episodes earn, as evidence of a context: for tasks that begin alike, and differ in rewards that come later.

For each context and policy, the returns of its last episodes have a mean and a variance; one more return is Student-t
about them. A policy learns, and its returns drift: so an episode is remembered only when a few more have come, for a
step in the returns is to be seen against what was before it. In a context of which nothing is known, a return is
Student-t about the mean of all, and may be far from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_kernels import log_student_t
from repertory.selectors.protocol import Arrays, State

FEWEST = 10
"""Returns that are remembered before a context has an opinion about a policy's."""
MEMORY = 50.0
"""Mean and variance are those of about so many last episodes."""
LATER = 8
"""An episode is remembered when so many more have been played in its context: longer than a change takes to see."""
WIDER = 3.0
"""Standard deviations of all returns that one may be off in a context of which nothing is known; or as far as 0."""
SMALLEST = 0.01
"""The least standard deviation that is believed, as a share of that."""


class Moments(NamedTuple):
    """Of (context, policy), and of all returns in the last place of both."""

    episodes: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


class Returns(Arrays):
    """Of up to so many contexts and policies."""

    def __init__(self, contexts: int, policies: int) -> None:
        shape = (contexts + 1, policies + 1)
        self.moments = Moments(np.zeros(shape), np.zeros(shape), np.zeros(shape))
        self._pending = np.zeros((LATER, 2))
        """(policy, return) of the last episodes of this context, the oldest first."""
        self._waiting = np.zeros(1, np.int64)

    def score(self, context: int, policy: int, total: float) -> tuple[float, float]:
        """Log density of a return in a context, and in one of which nothing is known."""
        episodes, mean, variance = (table[-1, -1] for table in self.moments)
        widest = mean**2 + WIDER**2 * variance
        if episodes < FEWEST or widest == 0.0:
            return 0.0, 0.0
        unknown = float(log_student_t((total - mean) ** 2, widest))
        episodes, mean, variance = (table[context, policy] for table in self.moments)
        if episodes < FEWEST:
            return unknown, unknown
        squared_scale = max(variance, SMALLEST**2 * widest) * (1.0 + 1.0 / min(episodes, MEMORY))
        return float(log_student_t((total - mean) ** 2, squared_scale)), unknown

    def add(self, context: int, policy: int, total: float) -> None:
        """An episode of the context that goes on."""
        if self._waiting[0] == LATER:
            oldest, its_return = self._pending[0]
            for place in ((context, int(oldest)), (-1, -1)):
                self._learn(place, its_return)
            self._pending[:-1] = self._pending[1:].copy()
            self._waiting[0] -= 1
        self._pending[self._waiting[0]] = policy, total
        self._waiting[0] += 1

    def moved(self) -> None:
        """The context is another: which one the last episodes were of is not known."""
        self._waiting[0] = 0

    def _learn(self, place: tuple[int, int], total: float) -> None:
        episodes, mean, variance = self.moments
        episodes[place] += 1.0
        share = 1.0 / min(episodes[place], MEMORY)
        error = total - mean[place]
        mean[place] += share * error
        variance[place] = (1.0 - share) * (variance[place] + share * error**2)

    def arrays(self) -> State:
        return {"pending": self._pending, "waiting": self._waiting, **self.moments._asdict()}
