"""Memory of a policy library that grows: how many policies traditional policy reuse holds over a lifetime.

The simulation behind the paper's "Reduced memory cost" and its memory figure (Appendix B). Tasks come in random order.
A task met for the first time gets a temporary policy of its own, which has converged once the task has had
`blocks_to_converge` blocks; it is then accepted into the library or refused for good, and is temporary no longer. Once
the library has the policies that the task capacity asks for, everything stays as it is, temporary policies included.
Lifetime Policy Reuse holds that many policies from the first block to the last.

    use = simulate(GrowingLibrary(capacity=5, blocks_to_converge=4, acceptance=0.5))
    use.fixed, use.peak_ratio  # 200 policies suffice; growing takes four times as many

The paper does not print the length of its lifetimes nor its acceptance probabilities. In 4,000 blocks, the default
here, every library of the figure with T_c above 1 has had its peak. One with C = 5 and T_c = 4 passes threefold at
about 950 blocks and peaks before 2,500, at 3.6-fold (nothing accepted) to 4.5-fold (all); 675 blocks give 2.5-fold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.settings import Settings, setting

CAPACITIES = (2.0, 5.0)
BLOCKS_TO_CONVERGE = (1, 2, 4)
ACCEPTANCES = (0.25, 0.5, 1.0)


@dataclass(frozen=True, kw_only=True)
class GrowingLibrary(Settings):
    """A library that takes in policies until it has as many as the task capacity asks for."""

    tasks: int = setting(1000, "Number of tasks; each block draws one of them.", at_least=1)
    capacity: float = setting(5.0, "C, the number of tasks that one policy can hold.", at_least=1)
    blocks_to_converge: int = setting(4, "T_c, the blocks that a task's temporary policy learns for.", at_least=1)
    acceptance: float = setting(0.5, "Probability that the library takes a converged policy.", at_least=0, at_most=1)
    blocks: int = setting(4000, "Length of the lifetime.", at_least=1)
    runs: int = setting(50, "Number of independent lifetimes.", at_least=1)
    seed: int = setting(0, "Root of all randomness.", at_least=0)

    @property
    def fixed(self) -> int:
        """How many policies the tasks require: the size of a fixed library, and where a growing one stops."""
        # A capacity of tasks / n asks for n policies, also where that division was rounded down.
        return math.ceil(self.tasks / self.capacity * (1 - 1e-12))


@dataclass(frozen=True, eq=False)
class MemoryUse:
    """Policies held by each run (row) in each block (column)."""

    settings: GrowingLibrary
    library: NDArray[np.int64]
    """Policies in the library at the end of the block."""
    total: NDArray[np.int64]
    """The most policies held at any time of the block, with the temporary ones: while its task is learned."""

    @property
    def fixed(self) -> int:
        """What a fixed library holds throughout."""
        return self.settings.fixed

    @property
    def library_mean(self) -> NDArray[np.float64]:
        return self.library.mean(axis=0)

    @property
    def total_mean(self) -> NDArray[np.float64]:
        return self.total.mean(axis=0)

    @property
    def peak_ratio(self) -> float:
        """The peak of `total_mean` over what a fixed library holds."""
        return float(self.total_mean.max()) / self.fixed


def simulate(settings: GrowingLibrary) -> MemoryUse:
    """Live `settings.runs` lifetimes. Their draws depend on the seed, the run and the number of tasks alone, so that
    libraries of other capacity, convergence or acceptance meet the same tasks, and a longer lifetime begins like a
    shorter one."""
    luck, visit = _draw(settings.seed, settings.runs, settings.tasks, settings.blocks)
    converged = visit == settings.blocks_to_converge
    accepted = converged & (luck < settings.acceptance)
    library = np.cumsum(accepted, axis=1)
    temporary = np.cumsum(visit == 1, axis=1) - np.cumsum(converged, axis=1)
    # While a block is played, the policy that converges at its end is still temporary.
    total = (library - accepted) + (temporary + converged)

    full = library >= settings.fixed
    last_change = np.where(full.any(axis=1), full.argmax(axis=1), settings.blocks - 1)
    block = np.minimum(np.arange(settings.blocks), last_change[:, np.newaxis])
    return MemoryUse(
        settings=settings,
        library=np.take_along_axis(library, block, axis=1),
        total=np.take_along_axis(total, block, axis=1),
    )


def memory_table(
    settings: GrowingLibrary | None = None,
    *,
    capacities: Sequence[float] = CAPACITIES,
    blocks_to_converge: Sequence[int] = BLOCKS_TO_CONVERGE,
    acceptances: Sequence[float] = ACCEPTANCES,
) -> pd.DataFrame:
    """A row per combination: the library's mean size at the end, the peak of the mean total, and that peak over what
    a fixed library holds. All else is as in `settings`."""
    varied = {"capacity": capacities, "blocks_to_converge": blocks_to_converge, "acceptance": acceptances}
    base, rows = settings or GrowingLibrary(), []
    for values in itertools.product(*varied.values()):
        changes: dict[str, Any] = dict(zip(varied, values, strict=True))
        use = simulate(base.replace(**changes))
        rows.append(
            {
                **changes,
                "fixed": use.fixed,
                "final_library": float(use.library_mean[-1]),
                "peak_total": float(use.total_mean.max()),
                "ratio_to_fixed": use.peak_ratio,
            }
        )
    return pd.DataFrame(rows)


@lru_cache(maxsize=2)  # simulations of a grid meet the same tasks
def _draw(seed: int, runs: int, tasks: int, blocks: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(runs, blocks): the luck of the block's task, in [0, 1), whose policy is accepted if it is below the probability;
    and how often the run has met the task so far.

    One generator per run. Luck comes first: it must not depend on how long the lifetime is.
    """
    luck, met = np.empty((runs, tasks)), np.empty((runs, blocks), np.int64)
    for run, rng in enumerate(np.random.default_rng(seed).spawn(runs)):
        luck[run] = rng.random(tasks)
        met[run] = rng.integers(tasks, size=blocks)
    return np.take_along_axis(luck, met, axis=1), _visit_numbers(met)


def _visit_numbers(tasks: NDArray[np.int64]) -> NDArray[np.int64]:
    """(runs, blocks): how often the run has met the block's task so far, this block included."""
    order = np.argsort(tasks, axis=1, kind="stable")  # brings a task's blocks together and keeps their order
    in_order = np.take_along_axis(tasks, order, axis=1)
    place = np.broadcast_to(np.arange(tasks.shape[1]), tasks.shape)
    is_first = np.diff(in_order, axis=1, prepend=-1) != 0
    first_place = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    visit = np.empty_like(tasks)
    np.put_along_axis(visit, order, place - first_place + 1, axis=1)
    return visit
