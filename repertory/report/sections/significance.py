"""Which differences between conditions are significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from repertory.analysis.controls import run_key
from repertory.analysis.significance import significance_matrix
from repertory.report.chart import Axis, Chart, Heatmap, single
from repertory.report.domains import Part, by_domain
from repertory.report.section import Section, file_name
from repertory.report.sections.development import by_learner
from repertory.report.table import from_frame, records
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    charts: list[Chart] = []
    tables = []
    for part in by_domain(results):
        for learner, pairs in pairwise_tests(part).items():
            name = file_name("significance", learner, [chart.name for chart in charts])
            charts.append(_chart(name, learner, records(pairs)))
            tables.append(from_frame(name, pairs))
        for learner, pairs in pairwise_tests(part, "final").items():
            name = file_name("significance-final", learner, [table.name for table in tables])
            tables.append(from_frame(name, pairs))
    if not charts:
        return None
    intro = (
        "Pairwise F-tests of lifetime scores, Holm-corrected; dark blue is 0.1 or more, light is small. 'released' is "
        "the test as the paper's code computes it, 'paired' a t-test of runs that met the same tasks. Final scores "
        "have tables of their own beside the page."
    )
    return Section("significance", "Significance", intro, charts=charts, file_tables=tables)


def pairwise_tests(part: Part, which: str = "lifetime") -> dict[str, pd.DataFrame]:
    """Of the lifetime or final scores of the conditions of each learner that have two runs or more."""
    found = {}
    for learner, conditions in by_learner(part).items():
        scores = {name: part.results.scores(name, which) for name, runs in conditions.items() if len(runs) > 1}
        if len(scores) > 1:
            keys = {name: [run_key(run) for run in part.results.by_condition[name]] for name in scores}
            found[learner] = significance_matrix(scores, keys=keys)
    return found


def _chart(name: str, learner: str, pairs: Sequence[dict[str, Any]]) -> Chart:
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
