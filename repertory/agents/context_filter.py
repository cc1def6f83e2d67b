"""Which context it is: evidence that no step decides alone, a CUSUM for "not this one", a belief that contexts last.

Everything here is a function of log probabilities of (transition, quantity): `log_p` under a context, `log_new` under
one of which nothing is known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel

OUTLIERS = 0.01
"""The share of steps that even the right context fails to explain: what one step says is bounded by it."""
STRANGE = 0.2
"""The share of steps that the wrong context fails to explain, at least."""
SURPRISE = math.log(STRANGE / OUTLIERS)
"""The most that one step can add to a CUSUM."""
RELIEF = math.log((1 - STRANGE) / (1 - OUTLIERS))
"""What a step that the context explains takes away from it: a negative number."""
FORGOTTEN = 0.8
"""What is left of a CUSUM at the next episode: what is strange once in a while is not another context."""
ACCEPTED = 1 / 3
"""Of the threshold: what the CUSUM of an episode must stay below for a context to be moved to, or to learn from it."""


@kernel
def judge(sums: NDArray[np.float64], log_p: NDArray[np.float64], log_new: NDArray[np.float64]) -> tuple[float, float]:
    """The evidence of an opening for a context, and the highest that any quantity's CUSUM rises in it.

    With p' = (1 - OUTLIERS) p + OUTLIERS p_new, evidence is the sum of log p'. Each quantity has Page's test of "a
    fifth of the steps is not of this context" against "one in a hundred is not": S <- max(0, S + log likelihood ratio),
    begun at `sums`, which are carried on.
    """
    total, highest = 0.0, 0.0
    for row in range(log_p.shape[0]):
        for k in range(log_p.shape[1]):
            odds = math.exp(min(log_new[row, k] - log_p[row, k], 500.0))
            total += log_p[row, k] + math.log((1.0 - OUTLIERS) + OUTLIERS * odds)
            sums[k] = added(sums[k], odds)
            highest = max(highest, sums[k])
    return total, highest


@inlined
def added(cusum: float, odds: float) -> float:
    """A CUSUM after one more step, by the odds that it is not of this context."""
    if cusum == 0.0 and odds <= 1.0:
        return 0.0  # as most do: no logarithm is needed
    return max(0.0, cusum + math.log(((1.0 - STRANGE) + STRANGE * odds) / ((1.0 - OUTLIERS) + OUTLIERS * odds)))


def passed(belief: NDArray[np.float64], hazard: float, episodes: int) -> NDArray[np.float64]:
    """A belief over contexts some episodes later, each of which may have begun another context, any alike."""
    stayed = (1 - hazard) ** episodes
    result: NDArray[np.float64] = stayed * belief + (1 - stayed) * belief.sum() / len(belief)
    return result


def updated(belief: NDArray[np.float64], log_evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bayes' rule."""
    with np.errstate(divide="ignore"):
        log_posterior = np.log(belief) + log_evidence
    likely = np.exp(log_posterior - log_posterior.max())
    posterior: NDArray[np.float64] = likely / likely.sum()
    return posterior
