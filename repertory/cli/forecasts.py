"""`repertory reproduce recommend`: make the recommendations that are compared with full-length answers."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from repertory.analysis.recommend import recommend_policies
from repertory.cli.progress import AdviceProgress
from repertory.errors import unknown
from repertory.paper.forecasts import Forecast, forecasts
from repertory.paths import check_new_folder, write_whole
from repertory.report.forecasts import FOLDER, Made
from repertory.runs.provenance import this_code

PROBES = "probes"
"""Where what was trained is saved; it need not be kept."""


def forecasts_in_console(console: Console, patterns: Sequence[str], seed: int, out: Path | None) -> None:
    """Make those whose names match, but for the ones that are there; the same command goes on where it was stopped."""
    folder = Path("results") / FOLDER if out is None else out
    check_new_folder(folder)
    for row in _selected(patterns):
        file = folder / f"{row.name}-{seed}.json"
        if not file.exists():
            console.print(f"{row.name}:", soft_wrap=True)
            folder.mkdir(parents=True, exist_ok=True)
            made = _make(console, row, seed, folder / PROBES / f"{row.name}-{seed}")
            write_whole(file, (json.dumps(made.to_json(), indent=1) + "\n").encode())
        console.print(f"{row.name}: {Made.from_json(json.loads(file.read_text()))}; in {file}", soft_wrap=True)


def _selected(patterns: Sequence[str]) -> list[Forecast]:
    names = [row.name for row in forecasts()]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise unknown("recommendation", pattern, names)
    return [row for row in forecasts() if not patterns or any(fnmatch.fnmatchcase(row.name, p) for p in patterns)]


def _make(console: Console, row: Forecast, seed: int, probes: Path) -> Made:
    with AdviceProgress(console) as progress:
        advice = recommend_policies(
            row.domain,
            row.learner,
            blocks=row.blocks,
            block_steps=row.block_steps,
            profile=row.profile,
            seed=seed,
            out=probes,
            progress=progress,
        )
    console.print(str(advice), soft_wrap=True)
    health = advice.health
    return Made(
        name=row.name,
        seed=seed,
        policies=advice.policies,
        low=advice.low,
        high=advice.high,
        tolerance=advice.tolerance,
        groups=[list(group) for group in advice.groups],
        diverged_after=None if health is None else health.diverged_after,
        fall=None if health is None else health.fall,
        watched=0 if health is None else health.watched,
        steps=advice.spent.steps,
        core_seconds=advice.spent.core_seconds,
        said=str(advice),
        made_by=this_code().label,
    )
