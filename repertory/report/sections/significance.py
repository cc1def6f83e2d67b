"""Which differences between conditions are significant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import fdtri

from repertory.analysis.controls import run_key
from repertory.analysis.significance import significance_matrix
from repertory.report.chart import Axis, Chart, Heatmap, single
from repertory.report.domains import by_learner
from repertory.report.section import Section, file_name
from repertory.report.table import Row, from_frame
from repertory.sweeps.results import Results
from repertory.wording import counted

LEVEL = 0.05
LARGE = 2.0
"""Standard deviations: runs that cannot show a difference this large cannot decide."""
WRITTEN = 12
"""Conditions up to which each p is written in its cell."""


def section(results: Results) -> Section | None:
    charts: list[Chart] = []
    tables = []
    notes: list[str] = []
    for part, learner, conditions in by_learner(results):
        tested = [name for name, runs in conditions.items() if len(runs) > 1]
        if len(tested) > 1:
            name = file_name("significance", learner, [chart.name for chart in charts])
            tables.append(from_frame(name, pairwise_tests(part.results, tested, "lifetime")))
            rows = [_with_numbers(pair) for pair in tables[-1].rows]
            notes.append(f"{learner.upper()}: {verdict(rows)}")
            if any(pair["p_holm"] < LEVEL for pair in rows):
                charts.append(_chart(name, learner, rows))
            name = file_name("significance-final", learner, [table.name for table in tables])
            tables.append(from_frame(name, pairwise_tests(part.results, tested, "final")))
    if not tables:
        return None
    intro = (
        "Pairwise F-tests of lifetime scores, Holm-corrected for the number of pairs. All p-values, those of the "
        "paper's code ('released') and of runs that met the same tasks ('paired') included, and those of final scores "
        "are in the tables beside the page."
    )
    return Section("significance", "Significance", intro, notes, charts=charts, file_tables=tables)


def _with_numbers(pair: Row) -> Row:
    """Tables have None where runs that are all alike allow no test; to compare, it is NaN."""
    return {key: math.nan if value is None else value for key, value in pair.items()}


def verdict(pairs: Sequence[Row]) -> str:
    """How many differences are significant; where hardly any could be, that the runs cannot decide."""
    told = [pair for pair in pairs if not math.isnan(pair["p_holm"])]
    found = sum(pair["p_holm"] < LEVEL for pair in told)
    sentence = f"{found} of {counted(len(told), 'difference')} {'is' if found == 1 else 'are'} significant at {LEVEL}."
    if not told:
        return sentence
    needed = sorted(smallest_effect(pair["n1"], pair["n2"], LEVEL / len(told)) for pair in told)
    middle = needed[len(needed) // 2]
    if middle <= LARGE:
        return sentence
    runs = sorted({pair[side] for pair in told for side in ("n1", "n2")})
    counts = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else str(runs[0])
    enough = next(n for n in itertools.count(2) if smallest_effect(n, n, LEVEL / len(told)) <= LARGE)
    return (
        f"{sentence} The runs cannot decide the rest: with {counts} a condition and {counted(len(told), 'pair')}, "
        f"the usual pair would have to differ by {middle:.2g} standard deviations; {enough} runs a condition would "
        f"show {LARGE:g}."
    )


def smallest_effect(n1: int, n2: int, level: float) -> float:
    """In standard deviations: the difference between two means from which on an F-test gives a p below the level."""
    return float(math.sqrt(fdtri(1, n1 + n2 - 2, 1 - level) * (1 / n1 + 1 / n2)))


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
    numbers = [str(place + 1) for place in range(len(names))]
    text = [[_told(p) for p in row] for row in values] if len(names) <= WRITTEN else None
    heatmap = Heatmap(values, "p", is_reversed=True, low=0, high=0.1, text=text, hover=hover)
    title = f"{learner.upper()}: p of lifetime scores, Holm-corrected"
    rows = [f"{number} {condition}" for number, condition in zip(numbers, names, strict=True)]
    return single(name, [heatmap], Axis(labels=numbers), Axis(labels=rows, brief=rows), title=title, size=(7.5, 6.5))


def _told(p: float) -> str:
    return "" if math.isnan(p) else "<.01" if p < 0.01 else f"{p:.2f}"
