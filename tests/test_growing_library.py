"""Laws of the memory simulation: a growing library against a fixed one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from repertory.errors import UsageError
from repertory.paper.memory_simulation import GrowingLibrary, MemoryUse, memory_table, simulate

SMALL = GrowingLibrary(tasks=40, capacity=4, blocks_to_converge=3, acceptance=0.5, blocks=200, runs=6, seed=3)

RELIABLE = 200
"""From this block on, enough tasks of the default 1,000 have come back for 50 runs to tell their standard error."""


def grow_naively(settings: GrowingLibrary, run: int) -> tuple[list[int], list[int]]:
    """One run, block by block: the library at each block's end, and the most policies held within the block."""
    rng = np.random.default_rng(settings.seed).spawn(settings.runs)[run]
    luck = rng.random(settings.tasks)
    library: set[int] = set()
    refused: set[int] = set()
    visits: dict[int, int] = {}  # of the tasks that have a temporary policy
    library_curve, total_curve = [], []
    for task in rng.integers(settings.tasks, size=settings.blocks).tolist():
        held = len(library) + len(visits)
        if len(library) < settings.fixed and task not in library | refused:
            visits[task] = visits.get(task, 0) + 1
            held = len(library) + len(visits)
            if visits[task] == settings.blocks_to_converge:
                del visits[task]
                (library if luck[task] < settings.acceptance else refused).add(task)
        library_curve.append(len(library))
        total_curve.append(held)
    return library_curve, total_curve


@pytest.mark.parametrize("capacity", [1.0, 2.0, 3.4, 100.0])
@pytest.mark.parametrize("blocks_to_converge", [1, 2, 4])
@pytest.mark.parametrize("acceptance", [0.0, 0.3, 1.0])
def test_every_run_equals_its_naive_twin(capacity: float, blocks_to_converge: int, acceptance: float) -> None:
    settings = SMALL.replace(capacity=capacity, blocks_to_converge=blocks_to_converge, acceptance=acceptance)
    use = simulate(settings)
    for run in range(settings.runs):
        library, total = grow_naively(settings, run)
        assert use.library[run].tolist() == library
        assert use.total[run].tolist() == total


@pytest.mark.parametrize(("tasks", "capacity", "required"), [(1000, 5, 200), (1000, 2, 500), (27, 3.4, 8), (27, 30, 1)])
def test_tasks_over_capacity_are_required_rounded_up(tasks: int, capacity: float, required: int) -> None:
    assert GrowingLibrary(tasks=tasks, capacity=capacity).fixed == required


def test_a_capacity_of_tasks_over_n_asks_for_n_policies() -> None:
    for required in range(1, 1001):
        assert GrowingLibrary(tasks=1000, capacity=1000 / required).fixed == required


def test_a_fixed_library_is_the_same_however_it_would_have_grown() -> None:
    table = memory_table(SMALL, capacities=(4,), blocks_to_converge=(1, 4), acceptances=(0, 0.5, 1))
    assert (table["fixed"] == 10).all()
    assert simulate(SMALL.replace(blocks=1)).fixed == simulate(SMALL.replace(blocks=500)).fixed == 10


@pytest.fixture(scope="module")
def slow_to_converge() -> dict[float, MemoryUse]:
    """The paper's largest setting, C = 5 and T_c = 4, in 4,000 blocks, by acceptance probability."""
    return {
        acceptance: simulate(GrowingLibrary(capacity=5, blocks_to_converge=4, acceptance=acceptance, blocks=4000))
        for acceptance in (0.0, 0.25, 0.5, 1.0)
    }


def test_growing_takes_three_to_five_times_the_memory(slow_to_converge: dict[float, MemoryUse]) -> None:
    ratios = [use.peak_ratio for use in slow_to_converge.values()]
    assert ratios == pytest.approx([3.6, 3.8, 4.0, 4.5], abs=0.1)
    assert ratios == sorted(ratios)  # more acceptance, more memory


def test_675_blocks_are_too_short_for_threefold(slow_to_converge: dict[float, MemoryUse]) -> None:
    for use in slow_to_converge.values():
        assert use.total_mean[:675].max() / use.fixed == pytest.approx(2.45, abs=0.05)
        assert 900 < np.argmax(use.total_mean >= 3 * use.fixed) < 1000
        assert use.total_mean[:2500].max() == use.total_mean.max()


@pytest.mark.parametrize("acceptance", [0.25, 0.5, 1.0])
def test_with_one_block_to_converge_growing_never_takes_more_than_fixed(acceptance: float) -> None:
    for capacity in (2, 5):
        use = simulate(GrowingLibrary(capacity=capacity, blocks_to_converge=1, acceptance=acceptance))
        refused_now = use.total - use.library
        assert set(np.unique(refused_now)) <= {0, 1}  # at most one temporary policy, gone by the end of its block
        assert use.total.max() <= use.fixed
        assert use.peak_ratio <= 1


def test_with_one_block_to_converge_and_all_accepted_the_library_is_the_number_of_tasks_met() -> None:
    use = simulate(GrowingLibrary(capacity=1, blocks_to_converge=1, acceptance=1, blocks=2000))
    blocks = np.arange(1, 2001)
    expected = 1000 * (1 - 0.999**blocks)
    np.testing.assert_array_equal(use.total, use.library)
    assert (np.abs(use.library_mean - expected) < 4 * stats.sem(use.library, axis=0))[RELIABLE:].all()


def test_when_nothing_is_accepted_only_temporary_policies_are_held(slow_to_converge: dict[float, MemoryUse]) -> None:
    use = slow_to_converge[0.0]
    assert not use.library.any()
    blocks = np.arange(1, 4001)
    met_before = stats.binom(blocks - 1, 1 / 1000)
    # In the block, its task is held if met up to three times before; each other task if met one to three times.
    expected = met_before.cdf(3) + 999 * (met_before.cdf(3) - met_before.cdf(0))
    assert (np.abs(use.total_mean - expected) < 4 * stats.sem(use.total, axis=0))[RELIABLE:].all()


def test_a_library_grows_by_whole_policies_up_to_what_is_required_and_freezes() -> None:
    for acceptance in (0.25, 0.5, 1.0):
        for blocks_to_converge in (1, 2, 4):
            use = simulate(SMALL.replace(acceptance=acceptance, blocks_to_converge=blocks_to_converge, blocks=600))
            assert set(np.unique(np.diff(use.library, axis=1, prepend=0))) <= {0, 1}
            assert use.library.max() == use.fixed
            assert (use.total >= use.library).all()
            is_full = use.library[:, :-1] == use.fixed
            assert not np.diff(use.total, axis=1)[is_full].any()


def test_runs_are_independent_and_do_not_depend_on_how_many_there_are() -> None:
    use = simulate(GrowingLibrary(runs=50, blocks=1500))
    assert len(np.unique(use.total, axis=0)) == 50
    few = simulate(GrowingLibrary(runs=5, blocks=1500))
    np.testing.assert_array_equal(few.total, use.total[:5])
    # What is left of a run's steps without the trend that all runs share says nothing about another run's.
    steps = np.diff(use.total, axis=1)
    correlations = np.corrcoef(steps - steps.mean(axis=0))[np.triu_indices(50, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(1500)


def test_a_longer_lifetime_begins_like_a_shorter_one_and_the_seed_decides() -> None:
    short, long = simulate(SMALL), simulate(SMALL.replace(blocks=300))
    np.testing.assert_array_equal(long.total[:, :200], short.total)
    np.testing.assert_array_equal(long.library[:, :200], short.library)
    np.testing.assert_array_equal(simulate(SMALL).total, short.total)
    assert (simulate(SMALL.replace(seed=4)).total != short.total).any()


def test_means_are_those_of_the_runs() -> None:
    use = simulate(SMALL)
    assert use.library.shape == use.total.shape == (6, 200)
    np.testing.assert_allclose(use.total_mean, sum(use.total) / 6)
    assert use.peak_ratio == use.total_mean.max() / 10


def test_the_table_has_a_row_per_combination() -> None:
    table = memory_table(SMALL, capacities=(4, 8), blocks_to_converge=(1, 3), acceptances=(0.5, 1))
    assert list(table.columns) == [
        *("capacity", "blocks_to_converge", "acceptance"),
        *("fixed", "final_library", "peak_total", "ratio_to_fixed"),
    ]
    assert len(table) == 8
    row = table.set_index(["capacity", "blocks_to_converge", "acceptance"]).loc[(4.0, 3, 0.5)]
    use = simulate(SMALL)
    assert row.tolist() == [10, use.library_mean[-1], use.total_mean.max(), use.peak_ratio]
    assert memory_table(SMALL.replace(blocks=5)).shape == (18, 7)  # the paper's grid


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tasks": 0}, "tasks"),
        ({"capacity": 0.5}, "capacity"),
        ({"capacity": math.nan}, "capacity"),
        ({"blocks_to_converge": 0}, "blocks_to_converge"),
        ({"acceptance": 1.1}, "acceptance"),
        ({"acceptance": -0.1}, "acceptance"),
        ({"blocks": 0}, "blocks"),
        ({"runs": 0}, "runs"),
        ({"runs": 2.5}, "runs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_setting_out_of_range_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=f"GrowingLibrary.{named} is .*valid"):
        GrowingLibrary(**changes)
