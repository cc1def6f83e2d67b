"""Final scores against lifetime scores."""

from __future__ import annotations

from repertory.report.chart import COLOURS, DOT, GREY, POINTS, Axis, Mark, Series, single
from repertory.report.section import Section
from repertory.report.sections.scores import WHICH, score_rows, shared_score
from repertory.sweeps.results import Results

MARKERS = ("circle", "square", "diamond", "up", "down", "cross", "x", "star")


def section(results: Results) -> Section | None:
    rows = score_rows(results)
    title = "Final against lifetime"
    if len(rows) < 2:
        return None
    if len({row["domain"] for row in rows}) > 1:
        note = "Scores of different domains do not compare: give the folder of one domain's runs."
        return Section("final", title, notes=[note])
    score = shared_score(results)
    both = [row[which] for row in rows for which in WHICH]
    ends = [min(both), max(both)]
    marks: list[Mark] = [Series("equal", ends, ends, GREY, dash=DOT, width=1)]
    for index, learner in enumerate(dict.fromkeys(row["learner"] for row in rows)):
        own = [row for row in rows if row["learner"] == learner]
        x, y = [row["lifetime"] for row in own], [row["final"] for row in own]
        hover = [f"{row['condition']}: lifetime {row['lifetime']:.4g}, final {row['final']:.4g}" for row in own]
        colour, marker = COLOURS[index % 8], MARKERS[index % 8]
        marks.append(Series(learner.upper(), x, y, colour, POINTS, marker=marker, size=8, hover=hover))
    axes = Axis(f"lifetime {score}"), Axis(f"final {score}")
    chart = single("final-against-lifetime", marks, *axes, legend="inside", size=(6, 5))
    intro = "Above the line, a library ends better than its lifetime average; below it, worse."
    return Section("final", title, intro, charts=[chart])
