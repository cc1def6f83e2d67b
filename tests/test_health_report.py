"""A run whose values diverged is marked wherever its scores are told."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from repertory.cli.sweep_display import print_scores
from repertory.report.chart import Axis, Chart, Panel, Series
from repertory.report.claims import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED, judge
from repertory.report.sections import health, scores
from repertory.report.sections.health import value_shares
from repertory.report.sections.multiples import OTHERS
from repertory.report.to_matplotlib import to_matplotlib
from repertory.runs.folder import RunFolder
from repertory.sweeps.results import Results, read_results
from tests.records import write_sweep

CONDITIONS = tuple(f"UnadaptiveDQN{policies}P" for policies in (1, 2, 4, 9, 14, 27))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """The values of UnadaptiveDQN1P's run 1 double in every block; those of all others stay."""
    write_sweep(tmp_path, conditions=CONDITIONS)
    for found in read_results(tmp_path).runs:
        grows = (found.condition, found.number) == ("UnadaptiveDQN1P", 1)
        blocks = found.blocks.assign(health_q_bound=100.0, health_weight_norm=9.0)
        blocks["health_q_largest"] = 0.5 * 2.0 ** np.minimum(found.blocks["block"], 99) if grows else 40.0
        blocks.loc[::2, blocks.columns.str.startswith("health_")] = np.nan
        folder = RunFolder(found.path)
        with folder.locked():
            folder.write_blocks(blocks)
            folder.finish()
    return read_results(tmp_path)


def test_the_table_says_which_runs_diverged_and_when(results: Results) -> None:
    found = health.section(results)
    assert found is not None
    one, *_others, every = found.tables[0].rows
    assert (one["diverged"], one["runs"], one["first block"]) == (1, 2, 9)  # 0.5 * 2 ** 9 > 200, and odd ones count
    assert (every["diverged"], every["first block"]) == (0, None)
    assert every["largest share"] == pytest.approx(0.4)
    (chart,) = found.charts
    assert sum(mark.name != OTHERS for panel in chart.panels for mark in panel.marks[1:]) == len(CONDITIONS)
    assert value_shares(results.by_condition["UnadaptiveDQN27P"][0]).dropna().unique().tolist() == [0.4]


def test_scores_verdicts_and_console_are_marked(results: Results) -> None:
    table = scores.section(results)
    assert table is not None
    shown = {row["condition"]: table.tables[0].columns[1].show(row) for row in table.tables[0].rows}
    assert shown["UnadaptiveDQN1P"].endswith(scores.DIVERGED)
    assert not shown["UnadaptiveDQN27P"].endswith(scores.DIVERGED)
    assert "values diverged" in table.intro
    about = [j for j in judge([results]) if any(r.condition == "UnadaptiveDQN1P" for r in j.claim.references)]
    told = [j.verdict.figures for j in about if j.verdict.state in (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE)]
    assert told
    assert all("runs whose values diverged: UnadaptiveDQN1P (1)" in figures for figures in told)
    console = Console(file=io.StringIO(), width=200)
    print_scores(console, results)
    assert (
        "UnadaptiveDQN1P run 1 diverged in block 9 (values up to 256; no return can pass 100)"
        in console.file.getvalue()
    )


def test_records_without_health_have_no_such_section(tmp_path: Path) -> None:
    write_sweep(tmp_path, conditions=CONDITIONS[:1], runs=1)
    assert health.section(read_results(tmp_path)) is None


@pytest.mark.parametrize("powers", [0.5, 2, 5, 14])
def test_a_logarithmic_axis_has_ticks_over_any_range(powers: float) -> None:
    line = Series("values", [0, 1], [0.9, 0.9 * 10**powers], "black")
    figure = to_matplotlib(Chart("values", [[Panel([line], y=Axis(is_logarithmic=True))]]))
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 2
