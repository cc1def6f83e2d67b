"""Does a learner stand as many updates as it will get? The control tells: one policy alone on one task, trained on.

What it loses there is lost by updates alone, for no other task can interfere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.probe import Budget, Probe

CONTROL_SHARE = 0.5
"""Of the budget, beyond which the control is not watched any longer: what is left is for numbers that are not clear."""
LASTING = 1.5
"""A fall is one if it is still there after so many times as many updates; what comes back was a dip."""


def ages_within(control: Probe, steps: int, least: int, base: NDArray[np.float64], tolerance: float) -> bool:
    """Whether it has lost in so many steps what it had learned, and does not recover, or its values are unsound.

    Before `least` steps it cannot have lost anything yet. `base` is what random play scores on each task.
    """
    life = control.spec.blocks * control.spec.block_steps
    for within in (min(steps, life), min(int(LASTING * steps), life)):
        control.train(_has_diverged, within)
        # Where the budget ended first, nobody has seen whether it recovers.
        is_seen = _has_diverged(control) or control.steps >= within
        if not (is_seen and _has_aged(control, within, least, base, tolerance)):
            return False
    return True


def diverges_within(control: Probe, steps: int, budget: Budget) -> bool:
    """Whether its values pass what is possible in so many steps, as far as the budget goes. A dip does not end it."""
    control.train(lambda probe: _has_diverged(probe) or budget.used >= CONTROL_SHARE, steps)
    return control.diverged_within(steps) is not None


def _has_aged(control: Probe, within: float, least: int, base: NDArray[np.float64], tolerance: float) -> bool:
    if control.diverged_within(within) is not None:
        return True
    return min(control.steps, within) >= least and control.fall(base, within) > tolerance


def _has_diverged(control: Probe) -> bool:
    return control.diverged_after is not None
