"""Score against memory: what the table says follows from the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from repertory.core.tally import BYTES
from repertory.report.sections import frontier
from repertory.runs.folder import RunFolder
from repertory.runs.summary import RunSummary, write_summary
from repertory.sweeps.results import read_results
from tests.records import CONDITIONS, write_sweep


@pytest.fixture
def weighed(tmp_path: Path) -> Path:
    """A sweep whose runs say their memory: that of the conditions is 10, 20, ... million bytes."""
    out = write_sweep(tmp_path / "sweep")
    for place, name in enumerate(CONDITIONS):
        for run in read_results(out).by_condition[name]:
            write_summary(RunFolder(run.path), RunSummary(memory=10_000_000 * (place + 1)))
    return out


def test_rows_are_conditions_by_the_memory_they_take(weighed: Path) -> None:
    results = read_results(weighed)
    rows = frontier.frontier_rows(results)
    assert [row["condition"] for row in rows] == list(CONDITIONS)
    for row in rows:
        scores = results.scores(row["condition"])
        assert row["lifetime"] == pytest.approx(scores.mean())
        assert row["low"] < scores.min() <= scores.max() < row["high"]  # of two runs, t-intervals are wide
        assert row["core minutes"] is not None


def test_a_point_for_each_condition(weighed: Path) -> None:
    section = frontier.section(read_results(weighed))
    assert section is not None
    (chart,) = section.charts
    marks = chart.panels[0].marks
    assert sorted(x for mark in marks for x in mark.x) == [10.0, 20.0, 30.0, 40.0]  # type: ignore[union-attr]
    assert all(len(mark.labels) == len(mark.x) for mark in marks)  # type: ignore[union-attr, arg-type]
    assert all(set(mark.error) == {0.0} for mark in marks)  # type: ignore[union-attr, arg-type]  # of two runs, none is drawn


def test_the_memory_of_a_library_that_grows_is_its_most(weighed: Path) -> None:
    run = next(run for run in read_results(weighed).runs)
    run.blocks[BYTES] = range(len(run.blocks))
    assert frontier.memory_of_run(run) == len(run.blocks) - 1


def test_without_memory_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert frontier.section(read_results(write_sweep(tmp_path / "sweep"))) is None


def test_names_of_all_kinds_are_kept_apart(weighed: Path) -> None:
    """An adaptive and an unadaptive condition at one place: one label has both names."""
    rows = frontier.frontier_rows(read_results(weighed))
    twin = {**rows[0], "condition": "Twin", "adaptive": not rows[0]["adaptive"]}
    other = {**rows[0], "condition": "Other", "lifetime": rows[0]["lifetime"] + 100}  # as many policies: names it is
    (part,) = frontier.by_domain(read_results(weighed))
    chart = frontier._chart(part, [rows[0], twin, other])
    labels = [label for mark in chart.panels[0].marks for label in mark.labels]  # type: ignore[union-attr]
    assert set(labels) == {"", f"{rows[0]['condition']}, Twin", "Other"}
