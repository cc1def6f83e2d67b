"""The warning of a Numba that has changed inside, where kernels build on it."""

from __future__ import annotations

import warnings

import numba
from numba.core.errors import NumbaWarning


def warn_of_changes(error: Exception, kept: bool) -> None:
    """Say what does not work any more, and what it costs: time alone."""
    cost = "take several times as long to compile" + ("" if kept else ", and do so in every process")
    warnings.warn(
        f"Numba {numba.__version__} has changed inside ({error!r}): kernels {cost}; results are the same; "
        "next: a newer repertory, or a Numba of its constraints.txt",
        NumbaWarning,
        stacklevel=3,
    )
