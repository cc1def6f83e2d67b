"""Conditions compared run by run: only runs that met the same tasks, and by how much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from repertory.errors import UsageError
from repertory.paper.experiments import read_experiment
from repertory.report.sections import pairs
from repertory.sweeps.results import Results, Run, read_results
from repertory.sweeps.sweep import Sweep
from tests.records import write_sweep

ONE, TWO, MANY = "OneDQN", "SplittingDQN2P", "SplittingDQN4P"
SWEEP = Sweep("selectors-cartpole27", "released")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Three runs each. One policy has 5, 7 and 9 less than two; four have as much as one, and 1 more on odd tasks."""
    read = read_results(write_sweep(tmp_path / "sweep", SWEEP, (ONE, TWO, MANY), runs=3))
    base = {run.number: run.blocks["mean_return"] for run in read.by_condition[TWO]}
    runs = []
    for run in read.runs:
        less = 0.0 if run.condition == TWO else 5.0 + 2 * run.number
        more = run.blocks["task"] % 2 if run.condition == MANY else 0.0
        runs.append(replace(run, blocks=run.blocks.assign(mean_return=base[run.number] - less + more)))
    return replace(read, runs=tuple(runs))


def row_of(results: Results, reference: str, condition: str) -> dict[str, object]:
    rows = {(row["reference"], row["condition"]): row for row in pairs.pair_rows(results)}
    return rows[reference, condition]


def test_the_difference_is_that_of_pairs_and_its_interval_students(results: Results) -> None:
    row = row_of(results, TWO, ONE)
    assert row["pairs"] == 3
    assert row["difference"] == pytest.approx(-7.0)
    width = stats.t.ppf(0.975, 2) * 2.0 / np.sqrt(3)  # differences of -5, -7 and -9
    assert row["low"] == pytest.approx(-7 - width, abs=0.15 * width)
    assert row["high"] == pytest.approx(-7 + width, abs=0.15 * width)
    own, other = (results.scores(name).mean() for name in (ONE, TWO))
    assert row["share"] == pytest.approx(own / other)


def test_tasks_are_counted_on_which_a_condition_has_more(results: Results) -> None:
    row = row_of(results, MANY, ONE)
    odd = {task for run in results.runs for task in run.blocks["task"] if task % 2}
    everything = {task for run in results.runs for task in run.blocks["task"]}
    assert (row["tasks_more"], row["tasks"]) == (0, len(everything))
    assert len(odd) > 0
    turned = replace(results, runs=tuple(_renamed(run, {ONE: MANY, MANY: ONE}) for run in results.runs))
    assert row_of(turned, MANY, ONE)["tasks_more"] == len(odd)


def _renamed(run: Run, names: dict[str, str]) -> Run:
    return replace(run, condition=names.get(run.condition, run.condition))


def test_only_runs_that_met_the_same_tasks_are_pairs(results: Results) -> None:
    def moved(run: Run) -> Run:
        return replace(run, blocks=run.blocks.assign(task=(run.blocks["task"] + 1) % 27))

    runs = tuple(moved(run) if run.condition == ONE and run.number else run for run in results.runs)
    row = row_of(replace(results, runs=runs), TWO, ONE)
    assert row["pairs"] == 1
    assert row["low"] is None  # of one pair, nothing is known of its spread
    runs = tuple(moved(run) if run.condition == ONE else run for run in results.runs)
    assert list(pairs.pair_rows(replace(results, runs=runs))) == []


def test_a_folder_that_compares_nothing_has_no_such_section(tmp_path: Path) -> None:
    assert pairs.section(read_results(write_sweep(tmp_path / "sweep"))) is None


def test_scores_below_zero_have_no_share(results: Results) -> None:
    runs = tuple(
        replace(run, blocks=run.blocks.assign(mean_return=-1.0)) if run.condition == ONE else run
        for run in results.runs
    )
    section = pairs.section(replace(results, runs=runs))
    assert section is not None
    assert row_of(replace(results, runs=runs), TWO, ONE)["share"] is None


def test_a_file_that_compares_what_it_does_not_have_is_refused() -> None:
    own = {"domain": "cartpole27", "conditions": {"Two": {"learner": "dqn", "policies": 2}}}
    assert read_experiment("own", {**own, "against": {"Two": ["T*"]}}).against == {"Two": ("T*",)}
    for against in ({"One": ["Two"]}, {"Two": ["One*"]}, ["Two"], {"Two": "One"}):
        with pytest.raises(UsageError, match="against"):
            read_experiment("own", {**own, "against": against})
