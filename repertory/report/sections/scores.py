"""Lifetime and final scores of each condition, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from repertory.paper.experiments import experiment_names
from repertory.report.chart import COLOURS, POINTS, Axis, Chart, Mark, Panel, Series
from repertory.report.domains import Part, by_domain
from repertory.report.escaping import Marked
from repertory.report.section import Section
from repertory.report.sections.curve_styles import is_adaptive
from repertory.report.table import STRONG, Column, Row, Table, name_column
from repertory.runs.provenance import code_labels
from repertory.runs.summary import read_summary
from repertory.sweeps.results import Results, Run

WHICH = ("lifetime", "final")
FAR = 2.0
"""Published standard deviations from which on a difference is marked."""
MIXED, DIVERGED = "\u2020", "\u2021"
BAR, MEAN = "#a4a9b2", "#6b717c"


def section(results: Results) -> Section | None:
    rows = score_rows(results)
    if not rows:
        return None
    several = len({row["domain"] for row in rows}) > 1
    score = "each domain's own" if several else shared_score(results)
    intro = Marked(
        f"Score: {score}; mean ± standard deviation over runs. *lifetime* is over all blocks, *final* over the "
        f"{results.final}.{_greedy_explained(rows)}{_closeness(rows)}{_marks_explained(rows)}"
    )
    tables, charts = [score_table(results, rows)], published_charts(results, rows)
    return Section("conditions", "Scores", intro, tables=tables, charts=charts)


def shared_score(results: Results) -> str:
    """How blocks are scored, if all runs are scored alike."""
    kinds = {run.score_kind for run in results.runs}
    return kinds.pop() if len(kinds) == 1 else "score"


def score_rows(results: Results) -> list[dict[str, Any]]:
    """A row per condition: ours, published, and their difference in published standard deviations."""
    return [row for part in by_domain(results) for row in part_rows(part)]


def part_rows(part: Part) -> list[dict[str, Any]]:
    """Those of one domain."""
    rows, results = [], part.results
    for name, runs in results.by_condition.items():
        paper = results.published(name)
        row: dict[str, Any] = {
            "condition": name,
            "domain": part.domain,
            "learner": part.named(runs[0].settings["learner"]["name"]),
            "policies": runs[0].settings["policies"],
            "adaptive": is_adaptive(runs[0]),
            "runs": len(runs),
            "code": code_labels(maker for run in runs for maker in run.made_by),
            "steps": int(sum(run.blocks["steps"].sum() for run in runs)),
            "diverged": sum(run.divergence is not None for run in runs),
            "greedy": _greedy_score(runs),
        }
        for which in WHICH:
            scores = results.scores(name, which)
            published = getattr(paper, which, None)
            row[which] = float(scores.mean())
            row[f"{which} sd"] = float(scores.std(ddof=1)) if len(scores) > 1 else None
            row[f"{which} published"] = None if published is None else published.mean
            row[f"{which} published sd"] = None if published is None else published.deviation
            row[f"{which} difference"] = None
            if published is not None and published.deviation:
                row[f"{which} difference"] = (row[which] - published.mean) / published.deviation
        rows.append(row)
    return rows


def _greedy_score(runs: Sequence[Run]) -> float | None:
    """Of the best policy on each task, when the run was over; the mean over tasks and runs that were evaluated."""
    summaries = [read_summary(run.path) for run in runs]
    known = [np.mean(found.greedy_scores) for found in summaries if found is not None and found.greedy_scores]
    return float(np.mean(known)) if known else None


# ------------------------------------------------------------------------------------------------------------ table


def score_table(results: Results, rows: Sequence[Row], is_narrow: bool = False) -> Table:
    """A narrow one, for a terminal, has neither differences nor the paper's number of runs."""
    digits = 1 if max(abs(row["lifetime"]) for row in rows) >= 5 else 3
    papers = Column("runs (paper)", lambda row: runs_text([row], results) + _mark(row))
    columns = [
        name_column("condition"),
        Column("runs", lambda row: f"{row['runs']}{_mark(row)}") if is_narrow else papers,
    ]
    for which in WHICH:
        columns += _columns(which, digits)[: 2 if is_narrow else 3]
    if any(row["greedy"] is not None for row in rows):
        columns.append(Column("greedy", lambda row: _spread(row["greedy"], None, digits + 1)))
    return Table("conditions", columns, rows)


def _columns(which: str, digits: int) -> list[Column]:
    return [
        Column(which, lambda row: _spread(row[which], row[f"{which} sd"], digits)),
        Column("published", lambda row: _spread(row[f"{which} published"], row[f"{which} published sd"], digits)),
        Column(
            "in SD",
            lambda row: _gap(row[f"{which} difference"]),
            tone=lambda row: STRONG if abs(row[f"{which} difference"] or 0) > FAR else "",
        ),
    ]


def runs_text(rows: Sequence[Row], results: Results) -> str:
    counts = sorted({row["runs"] for row in rows})
    is_papers = results.experiment is not None and results.experiment.name in experiment_names(("published",))
    paper = f" ({results.experiment.runs})" if results.experiment is not None and is_papers else ""
    return "-".join(str(count) for count in sorted({counts[0], counts[-1]})) + paper


def _mark(row: Row) -> str:
    """Of a condition whose runs were made by different code, and may differ for it; of one whose values diverged."""
    return (MIXED if len(row["code"]) > 1 else "") + (DIVERGED if row["diverged"] else "")


def _marks_explained(rows: Sequence[Row]) -> str:
    mixed = list(dict.fromkeys(label for row in rows if len(row["code"]) > 1 for label in row["code"]))
    text = f" {MIXED}: runs made by different code ({'; '.join(mixed)})." if mixed else ""
    diverged = any(row["diverged"] for row in rows)
    return text + (f" {DIVERGED}: values diverged in some of the runs (see their health)." if diverged else "")


def _greedy_explained(rows: Sequence[Row]) -> str:
    if all(row["greedy"] is None for row in rows):
        return ""
    return (
        " *greedy* is of the policies as they are in the end, without exploring or learning: of the best one for each "
        "task, in the mean over tasks."
    )


def closeness(rows: Sequence[Row], which: str) -> str:
    compared = [row[f"{which} difference"] for row in rows if row[f"{which} difference"] is not None]
    return f"{sum(abs(gap) <= FAR for gap in compared)} of {len(compared)}" if compared else ""


def _closeness(rows: Sequence[Row]) -> str:
    told = [f"{close} {which} scores" for which in WHICH if (close := closeness(rows, which))]
    if not told:
        return ""
    return (
        f" *in SD* is the difference in published standard deviations, bold beyond {FAR:g}: {' and '.join(told)} lie "
        "within."
    )


def _spread(mean: float | None, deviation: float | None, digits: int) -> str:
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def _gap(difference: float | None) -> str:
    return "" if difference is None else f"{difference:+.1f}".replace("-0.0", "+0.0")


# ------------------------------------------------------------------------------------------------------------ chart


def published_charts(results: Results, rows: Sequence[Row]) -> list[Chart]:
    """Our lifetime and final scores beside the published ones: a column for each learner. None if none is published."""
    shown = [which for which in WHICH if any(row[f"{which} published"] is not None for row in rows)]
    compared = [row for row in rows if any(row[f"{which} published"] is not None for which in shown)]
    learners = list(dict.fromkeys(row["learner"] for row in compared))
    if "lifetime" not in shown:
        return []
    score = shared_score(results)
    grid = [
        [
            _panel([row for row in rows if row["learner"] == learner], which, score if learner == learners[0] else "")
            for learner in learners
        ]
        for which in shown
    ]
    grid[0] = [
        Panel(panel.marks, panel.x, panel.y, learner.upper()) for panel, learner in zip(grid[0], learners, strict=True)
    ]
    caption = (
        "Our scores (points, with the standard deviation where there are more runs than one) beside the published "
        "means and standard deviations (bars)."
    )
    size = (1.2 + 4.4 * len(learners), 0.9 + 2.9 * len(shown))
    return [Chart("published", grid, caption=caption, legend="below", size=size)]


def _panel(rows: Sequence[Row], which: str, score: str) -> Panel:
    """By number of policies, unadaptive left of adaptive; by condition where that does not tell them apart."""
    sizes = sorted({row["policies"] for row in rows})
    by_size = len({(row["policies"], row["adaptive"]) for row in rows}) == len(rows)
    places = []
    for index, row in enumerate(rows):
        is_alone = sum(other["policies"] == row["policies"] for other in rows) == 1
        shift = 0 if is_alone else 0.17 if row["adaptive"] else -0.17
        places.append(sizes.index(row["policies"]) + shift if by_size else float(index))
    marks: list[Mark] = [*_published_marks(rows, which, places), *_own_marks(rows, which, places)]
    is_positive = all(min(row[which], row[f"{which} published"] or 0) >= 0 for row in rows)
    labels = [str(size) for size in sizes] if by_size else [row["condition"] for row in rows]
    x = Axis("policies" if by_size else "", labels, slant=0 if by_size else 45)
    # Deviations reach below what scores can.
    return Panel(marks, x, Axis(f"{which} {score}" if score else "", low=0 if is_positive else None))


def _published_marks(rows: Sequence[Row], which: str, places: Sequence[float]) -> list[Mark]:
    known = [(place, row) for place, row in zip(places, rows, strict=True) if row[f"{which} published"] is not None]
    means = np.array([row[f"{which} published"] for _place, row in known], float)
    deviations = np.array([row[f"{which} published sd"] or 0.0 for _place, row in known], float)
    marks: list[Mark] = []
    for factor, width, name in ((2, 3, "published ± 2 SD"), (1, 9, "published ± SD")):
        x = [value for place, _row in known for value in (place, place, np.nan)]
        ends = np.stack([means - factor * deviations, means + factor * deviations, np.full(len(known), np.nan)], axis=1)
        marks.append(Series(name, x, ends.ravel(), BAR, width=width, hover=[""] * len(x)))
    hover = [
        f"{row['condition']}, published: {_spread(row[f'{which} published'], row[f'{which} published sd'], 3)}"
        for _place, row in known
    ]
    x = [place for place, _row in known]
    return [*marks, Series("published mean", x, means, MEAN, POINTS, marker="dash", size=10, hover=hover)]


def _own_marks(rows: Sequence[Row], which: str, places: Sequence[float]) -> list[Mark]:
    marks: list[Mark] = []
    for adaptive, name, marker in ((False, "ours, unadaptive", "circle"), (True, "ours, adaptive", "diamond")):
        own = [(place, row) for place, row in zip(places, rows, strict=True) if row["adaptive"] == adaptive]
        if own:
            hover = [f"{row['condition']}: {_spread(row[which], row[f'{which} sd'], 3)}" for _place, row in own]
            x, y = [place for place, _row in own], [row[which] for _place, row in own]
            error = [row[f"{which} sd"] or 0.0 for _place, row in own]
            marks.append(Series(name, x, y, COLOURS[adaptive], POINTS, marker=marker, error=error, hover=hover))
    return marks
