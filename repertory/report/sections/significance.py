"""Which differences between conditions are significant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from repertory.analysis.controls import run_key
from repertory.analysis.significance import significance_matrix
from repertory.report.chart import Axis, Chart, Heatmap, single
from repertory.report.domains import by_learner
from repertory.report.section import Section, file_name
from repertory.report.table import Row, from_frame
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    charts: list[Chart] = []
    tables = []
    for part, learner, conditions in by_learner(results):
        tested = [name for name, runs in conditions.items() if len(runs) > 1]
        if len(tested) > 1:
            name = file_name("significance", learner, [chart.name for chart in charts])
            tables.append(from_frame(name, pairwise_tests(part.results, tested, "lifetime")))
            charts.append(_chart(name, learner, tables[-1].rows))
            name = file_name("significance-final", learner, [table.name for table in tables])
            tables.append(from_frame(name, pairwise_tests(part.results, tested, "final")))
    if not charts:
        return None
    intro = (
        "Pairwise F-tests of lifetime scores, Holm-corrected; dark blue is 0.1 or more, light is small. 'released' is "
        "the test as the paper's code computes it, 'paired' a t-test of runs that met the same tasks. Final scores "
        "have tables of their own beside the page."
    )
    return Section("significance", "Significance", intro, charts=charts, file_tables=tables)


def pairwise_tests(results: Results, conditions: Sequence[str], which: str) -> pd.DataFrame:
    """Of lifetime or final scores."""
    keys = {name: [run_key(run) for run in results.by_condition[name]] for name in conditions}
    return significance_matrix({name: results.scores(name, which) for name in conditions}, keys=keys)


def _chart(name: str, learner: str, pairs: Sequence[Row]) -> Chart:
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["condition_1"], pair["condition_2"])))
    values = np.full((len(names), len(names)), np.nan)
    hover = [["" for _ in names] for _ in names]
    for pair in pairs:
        for one, other, sign in (("condition_1", "condition_2", 1), ("condition_2", "condition_1", -1)):
            i, j = names.index(pair[one]), names.index(pair[other])
            values[i, j] = pair["p_holm"]
            hover[i][j] = (
                f"{pair[one]} less {pair[other]}: {sign * pair['difference']:.4g}\np {pair['p']:.3g}, "
                f"Holm {pair['p_holm']:.3g}, released {pair['p_released']:.3g}, paired {pair['p_paired']:.3g}"
            )
    heatmap = Heatmap(values, "p, Holm-corrected", is_reversed=True, low=0, high=0.1, hover=hover)
    title = f"{learner.upper()}: pairwise F-tests of lifetime scores"
    return single(name, [heatmap], Axis(labels=names, slant=60), Axis(labels=names), title=title, size=(7.5, 6.5))
