"""What the policies of a library take in memory while it grows, in bytes as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.core.tally import BYTES, events_of
from repertory.report.chart import STEPS, Axis, Chart, Series, single
from repertory.report.domains import together
from repertory.report.section import Section
from repertory.report.sections.curve_styles import styles
from repertory.report.sections.development import STEPS_AXIS
from repertory.report.table import Column, Table, column, name_column
from repertory.sweeps.results import Results, Run

MEGABYTE = 1e6


def section(results: Results) -> Section | None:
    """Of folders in which some library grew or shrank; the others are there to compare with."""
    conditions = {
        name: weighed
        for name, runs in together(results).by_condition.items()
        if (weighed := [run for run in runs if BYTES in run.blocks])
    }
    if not any(run.blocks[BYTES].nunique() > 1 for runs in conditions.values() for run in runs):
        return None
    columns = [
        name_column("condition"),
        column("runs"),
        column("policies kept", "kept"),
        *(_megabytes(when) for when in WHEN),
    ]
    intro = "What all policies take together at the end of each block: weights or tables, optimizers, replay memories."
    return Section(
        "growth",
        "Libraries that grow",
        intro,
        tables=[Table("growth", columns, [_row(name, runs) for name, runs in conditions.items()])],
        charts=[_chart(conditions)],
    )


WHEN = {"first block": lambda held: held[0], "most": lambda held: held.max(), "last block": lambda held: held[-1]}


def _megabytes(when: str) -> Column:
    return Column(f"{when} (MB)", lambda row: f"{row[when] / MEGABYTE:.4g}")


def _row(name: str, runs: list[Run]) -> dict[str, Any]:
    held = [run.blocks[BYTES].dropna().to_numpy(float) for run in runs]
    return {
        "condition": name,
        "runs": len(runs),
        "kept": ", ".join(str(kept) for run in runs if (kept := _kept(run))),
        **{when: float(np.mean([of(each) for each in held])) for when, of in WHEN.items()},
    }


def _kept(run: Run) -> int:
    """New policies that came to stay; 0 for agents that do not tell."""
    return sum(event["event"] == "kept" for _block, event in events_of(run.blocks))


def _chart(conditions: dict[str, list[Run]]) -> Chart:
    looks = styles([runs[0] for runs in conditions.values()])
    marks = []
    for (name, runs), style in zip(conditions.items(), looks, strict=True):
        blocks = runs[0].blocks
        steps = blocks["steps"].cumsum().to_numpy(float) / 1e6
        marks.append(Series(name, steps, blocks[BYTES].to_numpy(float) / MEGABYTE, kind=STEPS, **style))
    caption = "The first run of each condition."
    return single("growth", marks, STEPS_AXIS, Axis("MB", low=0), title="Memory of the policies", caption=caption)
