"""The tables of RESULTS.md, as Markdown: scores, capacity, time and claims, ours beside the published ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from repertory.report.claim_certainty import CLEAR, WITHIN_SPREAD
from repertory.report.claims import MARKS, UNDECIDED, Judgement
from repertory.report.page_data import conditions_table, plain
from repertory.report.tables import markdown, markdown_text
from repertory.report.time_table import duration, time_table
from repertory.runs.timing import FROM_SPEED
from repertory.sweeps.results import Results

FAR = 2.0
"""Published standard deviations from which on a difference is marked."""
WHICH = ("lifetime", "final")
NONE = ""
RULE_OF_CERTAINTY = (
    "With fewer runs than the paper's, a verdict on mean scores is *clear* if they lie beyond the claim's bounds by "
    "more than two standard errors at the published standard deviation, else *within the published spread*: more runs "
    "may turn it. Where nothing is added, the paper prints no spread to judge by. Bounds and their reasons are in "
    "`repertory/paper/claims.toml`.\n"
)

Row = Mapping[str, Any]


# ---------------------------------------------------------------------------------------------------- overview


def overview(sweeps: Iterable[Results]) -> Iterator[str]:
    """A row per sweep: how much was lived, how close it came, what it took."""
    rows = []
    for results in sweeps:
        assert results.sweep is not None
        conditions = _records(conditions_table(results))
        times = _records(time_table(results))
        rows.append(
            [
                f"`{results.sweep.experiment}`, {results.sweep.profile}",
                _runs(conditions, results),
                *(_close(conditions, which) for which in WHICH),
                f"{sum(row['steps'] for row in conditions) / 1e6:,.0f}",
                *_time_cells(times),
            ]
        )
    guessed = any(cell.startswith("~") for row in rows for cell in row)
    yield (
        "Runs are ours of each condition, beside the paper's. *Within 2 SD* counts the conditions whose mean lies "
        "within two published standard deviations of the published mean."
        + (" ~: worked out from speed, not measured." if guessed else "")
        + "\n"
    )
    yield markdown(
        [
            "sweep",
            "runs (paper)",
            "lifetime within 2 SD",
            "final within 2 SD",
            "million steps",
            "core-hours",
            "wall-clock per run, mean (most)",
            "paper, per run",
        ],
        rows,
    )


def _runs(conditions: Sequence[Row], results: Results) -> str:
    counts = sorted({row["runs"] for row in conditions})
    paper = f" ({results.experiment.runs})" if results.experiment is not None else ""
    return "-".join(str(count) for count in sorted({counts[0], counts[-1]})) + paper


def _close(conditions: Sequence[Row], which: str) -> str:
    compared = [row[f"{which} difference"] for row in conditions if row[f"{which} difference"] is not None]
    return f"{sum(abs(gap) <= FAR for gap in compared)} of {len(compared)}" if compared else NONE


def _time_cells(times: Sequence[Row]) -> list[str]:
    if not times:
        return [NONE] * 3
    total = times[-1]
    mark = "~" if total["source"] == FROM_SPEED else ""
    per_run = f"{mark}{duration(total['mean run seconds'])} ({duration(total['longest run seconds'])})"
    return [f"{mark}{total['core hours']:.1f}", per_run, _paper_days(total)]


# ------------------------------------------------------------------------------------------------------ scores


def scores(results: Results, data: Row) -> Iterator[str]:
    """A row per condition: ours, published, and their difference in published standard deviations."""
    conditions = data["conditions"]
    digits = 1 if max(abs(row["lifetime"]) for row in conditions) >= 5 else 3
    shown = {which: any(row[f"{which} published"] is not None for row in conditions) for which in WHICH}
    titles = ["condition", "runs (paper)"]
    for which in WHICH:
        titles += [which, "published", "in SD"] if shown[which] else [which]
    rows = []
    for row in conditions:
        cells = [markdown_text(row["condition"]), _runs([row], results)]
        for which in WHICH:
            cells.append(_spread(row[which], row[f"{which} sd"], digits))
            if shown[which]:
                published, deviation = row[f"{which} published"], row[f"{which} published sd"]
                cells += [_spread(published, deviation, digits), _gap(row[f"{which} difference"])]
        rows.append(cells)
    yield "### Scores\n"
    yield (
        f"Score: {data['score']}; mean ± standard deviation over runs. *lifetime* is over all blocks, *final* over the "
        f"{_final(results)}." + _closeness(conditions) + "\n"
    )
    yield markdown(titles, rows)


def _final(results: Results) -> str:
    return "last 10 blocks" if results.experiment is None else results.experiment.final


def _closeness(conditions: Sequence[Row]) -> str:
    told = [f"{close} {which} scores" for which in WHICH if (close := _close(conditions, which))]
    if not told:
        return ""
    return (
        f" *in SD* is the difference in published standard deviations, bold beyond {FAR:g}: {' and '.join(told)} lie "
        "within."
    )


def _spread(mean: float | None, deviation: float | None, digits: int) -> str:
    if mean is None:
        return NONE
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def _gap(difference: float | None) -> str:
    if difference is None:
        return NONE
    text = f"{difference:+.1f}".replace("-0.0", "+0.0")
    return f"**{text}**" if abs(difference) > FAR else text


# ------------------------------------------------------------------------------------------- capacity and time


def capacity(data: Row) -> Iterator[str]:
    """A row per learner, from the unadaptive conditions."""
    if not data["capacity"]:
        return
    rows = []
    for curve in data["capacity"]:
        interval = curve["itc interval"]
        rows.append(
            [
                markdown_text(str(curve["learner"])),
                _number(curve["tolerance"]),
                _number(curve["policies"]),
                _number(curve["published policies"]),
                _number(curve["capacity"]),
                _number(curve["published capacity"]),
                _number(curve["itc"]),
                NONE if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}",
                _number(curve["published itc"]),
            ]
        )
    titles = ["learner", "tolerance", "policies needed", "published", "tasks per policy", "published"]
    titles += ["integrated", "95% interval", "published"]
    yield "### Task capacity\n"
    yield (
        "Tasks per policy within a tolerance, from the unadaptive lifetime scores, and the mean over all tolerances "
        "(*integrated*).\n"
    )
    yield markdown(*_without_empty(titles, rows))


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"


def _without_empty(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    kept = [index for index in range(len(titles)) if any(row[index] for row in rows)]
    return [titles[index] for index in kept], [[row[index] for index in kept] for row in rows]


def time(data: Row) -> Iterator[str]:
    """A row per learner, and one for all."""
    if not data["time"]:
        return
    rows = [
        [
            markdown_text(str(row["learner"])),
            str(row["runs"]),
            f"{row['steps'] / 1e6:,.1f}",
            f"{row['core hours']:.2f}",
            f"{row['wall-clock hours']:.2f}",
            duration(row["mean run seconds"]),
            duration(row["longest run seconds"]),
            f"{row['steps per core second']:,.0f}",
            _paper_days(row),
            NONE if row["times faster"] is None else f"{row['times faster']:,.0f}",
            row["source"],
        ]
        for row in data["time"]
    ]
    titles = ["learner", "runs", "million steps", "core-hours", "wall-clock hours", "per run, mean", "per run, most"]
    titles += ["steps/s per core", "paper, per run", "times faster", "how known"]
    yield "### Time\n"
    yield "A run has one core. Wall-clock hours are those of all runs, one after another.\n"
    yield markdown(*_without_empty(titles, rows))


def _paper_days(row: Row) -> str:
    return f"{row['published days per run']} days" if row["published days per run"] else NONE


# ------------------------------------------------------------------------------------------------------ claims


def claims(judgements: Sequence[Judgement], root: Path) -> Iterator[str]:
    """Those of one profile: what is decided as a table, what is not as a list of what it lacks."""
    yield ", ".join(_counts(judgements)) + ".\n"
    decided = [judgement for judgement in judgements if judgement.verdict.state != UNDECIDED]
    if decided:
        yield markdown(
            ["verdict", "claim", "figures"], [_claim_row(judgement) for judgement in decided], text_columns=3
        )
    undecided = [judgement for judgement in judgements if judgement.verdict.state == UNDECIDED]
    if undecided:
        lines = [f"- {markdown_text(j.claim.claim)} *{_lacks(j, root)}*\n" for j in undecided]
        yield f"<details><summary>{len(undecided)} {UNDECIDED}</summary>\n"
        yield "`repertory claims` prints the commands that would decide them.\n"
        yield "".join(lines)
        yield "</details>\n"


def _counts(judgements: Sequence[Judgement]) -> Iterator[str]:
    """How many claims there are in each state, and how certain the verdicts are."""
    for state in MARKS:
        own = [judgement.verdict.certainty for judgement in judgements if judgement.verdict.state == state]
        told = [f"{own.count(kind)} {kind}" for kind in (CLEAR, WITHIN_SPREAD) if kind in own]
        if own:
            yield f"{len(own)} {state}" + (f" ({', '.join(told)})" if told else "")


def _claim_row(judgement: Judgement) -> list[str]:
    verdict = judgement.verdict
    certainty = f", *{verdict.certainty}*" if verdict.certainty else ""
    said = f"{MARKS[verdict.state][0]} {verdict.state}{certainty}"
    return [said, markdown_text(judgement.claim.claim), markdown_text(verdict.figures)]


def _lacks(judgement: Judgement, root: Path) -> str:
    """What would decide a claim; without the place that the records happen to be in."""
    return markdown_text(judgement.verdict.figures.replace(f"{root}{os.sep}", ""))


def _records(table: Any) -> list[dict[str, Any]]:
    return [plain(row) for row in table.to_dict("records")]
