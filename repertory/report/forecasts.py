"""Recommendations beside the answers of full-length runs: were they right, and what did they cost?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from repertory.analysis.controls import capacity_of, runs_by_policies, scores_by_policies
from repertory.analysis.pilot import candidates
from repertory.errors import UsageError
from repertory.paper.forecasts import RECOMMEND, Forecast, forecasts
from repertory.report.section import Section
from repertory.report.table import Column, Table, column, name_column
from repertory.runs.reading import build, read_json
from repertory.sweeps.results import Results

FOLDER = RECOMMEND
PILOT, CLUSTERS = "/pilot", "/clusters"
METHODS = {"": "recommendation", PILOT: "pilot", CLUSTERS: "clusters"}
"""Ways to come to a number, as they are written after a recommendation's name, and what they are called: by `capacity
recommend`, and by two others to compare it with."""
SETTLED = 0.95
"""Share of resamples in which a number is the least within the tolerance, for full-length runs to have settled it."""


@dataclass(frozen=True)
class Made:
    """A recommendation as it is saved."""

    name: str
    seed: int
    policies: int | None
    low: int
    high: int
    tolerance: float
    groups: list[list[int]]
    diverged_after: int | None
    fall: float | None
    watched: int
    steps: int
    core_seconds: float
    said: str
    made_by: str
    method: str = ""
    """See `METHODS`."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, file: Path) -> Made:
        return build(cls, read_json(file), file)

    def __str__(self) -> str:
        """The number and its interval, or what is said instead."""
        if self.diverged_after is not None:
            return f"diverges after {self.diverged_after:,} steps on one task"
        if self.policies is None:
            return f"no answer ({self.low} to {self.high})"
        return f"{self.policies}" if self.low == self.high else f"{self.policies} ({self.low} to {self.high})"


def forecast_section(root: Path, sweeps: Sequence[Results]) -> Section | None:
    """Of the recommendations in a folder of sweeps; None if there are none."""
    made = [Made.read(file) for file in sorted((root / FOLDER).glob("*.json"))]
    answers = {row.name: full_answer(row, made[0].tolerance, sweeps) for row in forecasts()} if made else {}
    rows = [
        _row(row, found, others, answers[row.name])
        for row in forecasts()
        for found in made
        if found.name == row.name and not found.method
        for others in [{each.method: each for each in made if (each.name, each.seed) == (found.name, found.seed)}]
    ]
    if not rows:
        return None
    columns = [
        name_column("recommendation", "name"),
        column("seed"),
        name_column("says", "says"),
        name_column("full-length answer", "answer"),
        name_column("right", "right"),
        name_column("groups", "groups"),
        Column("steps", lambda row: f"{row['steps'] / 1e6:.1f} M"),
        Column("of all sizes", lambda row: f"{row['share']:.1%}"),
        column("core-minutes", "core minutes"),
        name_column("pilot says", "pilot"),
        Column("of the pilot", lambda row: "" if row["of pilot"] is None else f"{row['of pilot']:.0%}"),
        name_column("clusters", "clusters"),
    ]
    intro = (
        "`repertory reproduce recommend`: what `capacity recommend` said, beside the least number of policies within "
        "5% in the full-length runs above, where they settle it. A learner whose values diverge within the planned "
        "life has no such number. *of all sizes* is the cost as a share of one full run at every size that is "
        "compared. *pilot* is how recommendations used to be made, by two short runs of every size, and *of the pilot* "
        "the cost as a share of its steps. *clusters* is the number of groups that random play leaves. The second "
        "table counts, over all that was made in each of the three ways, how often it was right where full-length runs "
        "settle the answer, and how often it told of a learner that diverges instead of giving a number."
    )
    tables = [Table(FOLDER, columns, rows), _calibration(made, answers, _unsound(made, sweeps))]
    return Section(FOLDER, "How many policies, foretold", intro, tables=tables)


def _unsound(made: Sequence[Made], sweeps: Sequence[Results]) -> set[str]:
    """What was asked about learners whose values diverge, in full-length runs or in what was trained to tell."""
    return {
        row.name
        for row in forecasts()
        if any(each.name == row.name and each.diverged_after is not None for each in made)
        or any(
            run.divergence is not None
            for results in sweeps
            if results.path.resolve().name == row.answer
            for run in itertools.chain(*runs_by_policies(results, row.learner).values())
        )
    }


def _calibration(made: Sequence[Made], answers: Mapping[str, tuple[str, bool]], unsound: set[str]) -> Table:
    """How often each way to a number was right, where full-length runs settle what is."""
    rows = []
    for method, name in METHODS.items():
        own = [each for each in made if each.method == method and each.name in answers]
        settled = [
            (each, int(answers[each.name][0])) for each in own if answers[each.name][1] and each.name not in unsound
        ]
        told = [each.policies is None and each.diverged_after is not None for each in own if each.name in unsound]
        rows.append(
            {
                "way": name,
                "settled": len(settled),
                "exact": sum(each.policies == answer for each, answer in settled),
                "within one": sum(_is_right(each, answer) for each, answer in settled),
                "covered": sum(each.low <= answer <= each.high for each, answer in settled),
                "unsound": len(told),
                "told": sum(told),
            }
        )
    columns = [
        name_column("way to a number", "way"),
        column("answers settled", "settled"),
        column("exactly right", "exact"),
        column("within one"),
        column("interval covers it", "covered"),
        column("made for learners that diverge", "unsound"),
        column("told so", "told"),
    ]
    return Table(f"{FOLDER}-calibration", columns, rows)


def _is_right(made: Made, answer: int) -> bool:
    return made.policies is not None and abs(made.policies - answer) <= 1


def _row(row: Forecast, made: Made, by_method: Mapping[str, Made], full: tuple[str, bool]) -> dict[str, Any]:
    answer, is_settled = full
    sizes = len(candidates(row.n_tasks))
    right = ""
    if is_settled and made.diverged_after is None:
        right = "yes" if _is_right(made, int(answer)) else "no"
    pilot, clusters = by_method.get(PILOT), by_method.get(CLUSTERS)
    return {
        "name": row.name,
        "seed": made.seed,
        "says": str(made),
        "answer": answer if is_settled else f"{answer}, not settled" if answer else "no runs yet",
        "right": right,
        "groups": "" if row.true_groups is None else "true" if sorted(made.groups) == row.true_groups else "not true",
        "steps": made.steps,
        "share": made.steps / (row.life * sizes),
        "core minutes": made.core_seconds / 60,
        "pilot": "" if pilot is None else str(pilot),
        "of pilot": None if pilot is None else made.steps / pilot.steps,
        "clusters": "" if clusters is None else str(clusters),
    }


def full_answer(row: Forecast, tolerance: float, sweeps: Sequence[Results]) -> tuple[str, bool]:
    """The least number of policies within the tolerance, by full-length runs; and whether they settle it."""
    if row.known is not None:
        return str(row.known), True
    found = next((results for results in sweeps if results.path.resolve().name == row.answer), None)
    if found is None or len(scores_by_policies(found, row.learner)) < 2:
        return "", False
    try:
        estimate = capacity_of(found, row.learner, row.above_random)
    except UsageError:  # no runs with a policy for each task, which the others are measured against
        return "", False
    policies = estimate.curve.policies(tolerance)
    if not len(estimate.samples):
        return str(policies), False
    alike = estimate.capacities(tolerance) == estimate.curve.n_tasks / policies
    return str(policies), bool(alike.mean() >= SETTLED)
