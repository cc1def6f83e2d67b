"""Memory of libraries that grow with the tasks they meet, beside that of a fixed library: the paper's simulation."""

from __future__ import annotations

import numpy as np

from repertory.paper.memory_simulation import (
    ACCEPTANCES,
    BLOCKS_TO_CONVERGE,
    CAPACITIES,
    GrowingLibrary,
    MemoryUse,
    memory_table,
    simulate,
)
from repertory.report.chart import COLOURS, DASH, GREY, Axis, Chart, Mark, Panel, Series
from repertory.report.section import Section
from repertory.report.table import from_frame
from repertory.sweeps.results import Results

RUNS = 10
"""Of the simulation on the page; its curves hardly change with more."""
POINTS = 100
"""Of a curve."""


def section(results: Results) -> Section | None:
    """Of the paper's experiments alone."""
    if results.experiment is None:
        return None
    settings = GrowingLibrary(runs=RUNS)
    intro = "Policies held by libraries that grow with the tasks they meet (simulation), and by a fixed one (dashed)."
    tables = [from_frame("memory", memory_table(settings))]
    return Section("memory", "Memory of growing libraries", intro, charts=[memory_chart(settings)], file_tables=tables)


def memory_chart(settings: GrowingLibrary) -> Chart:
    """The paper's memory figure (Appendix B): a row of panels per capacity, a column per `blocks_to_converge`, a
    colour per acceptance probability."""
    grid = []
    for capacity in CAPACITIES:
        row = []
        for blocks in BLOCKS_TO_CONVERGE:
            kind = settings.replace(capacity=capacity, blocks_to_converge=blocks)
            uses = [simulate(kind.replace(acceptance=acceptance)) for acceptance in ACCEPTANCES]
            row.append(_panel(uses, is_left=blocks == BLOCKS_TO_CONVERGE[0], is_bottom=capacity == CAPACITIES[-1]))
        grid.append(row)
    return Chart("memory", grid, legend="below", size=(11.6, 6.2))


def _panel(uses: list[MemoryUse], is_left: bool, is_bottom: bool) -> Panel:
    settings = uses[0].settings
    shown = np.unique(np.linspace(0, settings.blocks - 1, POINTS).astype(int))
    marks: list[Mark] = []
    for use, colour in zip(uses, COLOURS, strict=False):
        accepted, x = f"{100 * use.settings.acceptance:g}% accepted", shown + 1
        # Broad and pale: seen also where the total runs along it.
        marks.append(Series(f"{accepted}: library", x, use.library_mean[shown], colour, width=5, opacity=0.3))
        marks.append(Series(f"{accepted}: with temporary policies", x, use.total_mean[shown], colour, width=1.6))
    fixed = [uses[0].fixed] * 2
    marks.append(Series("fixed library", [0, settings.blocks], fixed, GREY, dash=DASH, width=1.3))
    title = f"C = {settings.capacity:g}, T_c = {settings.blocks_to_converge}"
    x_axis = Axis("blocks" if is_bottom else "", low=0, high=settings.blocks)
    return Panel(marks, x_axis, Axis("policies held" if is_left else "", low=0), title)
