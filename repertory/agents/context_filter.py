"""Which context it is: evidence that no step decides alone, a CUSUM for "not this one", a belief that contexts last.

Everything here is a function of log probabilities of (transition, quantity): `log_p` under a context, `log_new` under
one of which nothing is known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel

OUTLIERS = 0.01
"""The share of steps that even the right context fails to explain: what one step says is bounded by it."""
STRANGE = 0.2
"""The share of steps that the wrong context fails to explain, at least."""
SURPRISE = math.log(STRANGE / OUTLIERS)
"""The most that one step can add to a CUSUM."""
RELIEF = math.log((1 - STRANGE) / (1 - OUTLIERS))
"""What a step that the context explains takes away from it: a negative number."""


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
            usual = (1.0 - OUTLIERS) + OUTLIERS * odds
            strange = (1.0 - STRANGE) + STRANGE * odds
            total += log_p[row, k] + math.log(usual)
            sums[k] = max(0.0, sums[k] + math.log(strange / usual))
            highest = max(highest, sums[k])
    return total, highest


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
