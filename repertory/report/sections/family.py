"""The family of a library that splits: which policy is a copy of which, how long each lived, and why it ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from repertory.agents.protocol import Event
from repertory.core import tally
from repertory.report.chart import COLOURS, DOT, GREY, POINTS, Axis, Chart, Series, single
from repertory.report.section import Section, file_name
from repertory.report.table import Table, column, name_column
from repertory.sweeps.results import Results, Run

MOVES = "moves"
BIRTHS = ("copy", "new", "special")
OF_SPLITTING = (MOVES, *BIRTHS, "stays", "ends")


def events_of(blocks: pd.DataFrame) -> list[tuple[int, Event]]:
    """Those of policies: agents tell of other things, too."""
    return [(block, event) for block, event in tally.events_of(blocks) if event["event"] in OF_SPLITTING]


def section(results: Results) -> Section | None:
    """A tree for the first run of each condition whose library splits."""
    telling = [[run for run in runs if _splits(run)] for runs in results.by_condition.values()]
    shown = [runs[0] for runs in telling if runs]
    if not shown:
        return None
    charts: list[Chart] = []
    for run in shown:
        charts.append(_chart(run, file_name("family", run.condition, [chart.name for chart in charts])))
    rows = [_row(run, block, event) for run in shown for block, event in events_of(run.blocks) if not _is_move(event)]
    columns = [name_column("condition"), column("run"), column("block"), name_column("what happened", "text")]
    intro = (
        "A line for each policy while it is in use, and a dotted one from the policy beside which it was tried. It "
        "stays (star) if some tasks need it and others need the other one; see docs/splitting.md."
    )
    return Section(
        "family", "Which policy came from which", intro, tables=[Table("family", columns, rows)], charts=charts
    )


def _splits(run: Run) -> bool:
    return any(event["event"] in OF_SPLITTING for _block, event in events_of(run.blocks))


def _is_move(event: Event) -> bool:
    return event["event"] == MOVES


def _row(run: Run, block: int, event: Event) -> dict[str, Any]:
    return {"condition": run.condition, "run": run.number, "block": block, "text": told(event)}


def told(event: Event) -> str:
    """An event in words; one that is not told so is quoted."""
    match event:
        case {"event": "copy", "policy": policy, "of": parent, "task": task}:
            return f"policy {policy}, a copy of {parent}, practises task {task}"
        case {"event": "new", "policy": policy, "of": parent, "task": task}:
            return f"policy {policy}, a new one, practises task {task} of policy {parent}"
        case {"event": "special", "policy": policy, "of": master, "task": task}:
            return f"policy {policy}, a new one, plays task {task} of policy {master} and no other"
        case {"event": "stays", "policy": policy, "beside": other, "needed": needed, "other_needed": others}:
            return f"policy {policy} stays beside {other}: {needed} tasks need it, {others} need the other"
        case {"event": "ends", "policy": policy, "heir": heir, "why": why}:
            return f"policy {policy} gives way to {heir}: {why}"
    return ", ".join(f"{name} {value}" for name, value in event.items())


def lives(run: Run) -> list[tuple[int, int, int]]:
    """(policy, first block, last block) of each stretch for which a place in the library was in use."""
    begun, found = {0: 0}, []
    for block, event in events_of(run.blocks):
        if event["event"] in BIRTHS:
            begun[int(event["policy"])] = block
        elif event["event"] == "ends":
            policy = int(event["policy"])
            found.append((policy, begun.pop(policy, 0), block))
    return [*found, *((policy, block, len(run.blocks) - 1) for policy, block in begun.items())]


def _colour(policy: int) -> str:
    return COLOURS[policy % len(COLOURS)]


def _chart(run: Run, name: str) -> Chart:
    millions = np.concatenate([[0.0], run.blocks["steps"].cumsum().to_numpy(float) / 1e6])
    marks = [
        Series(
            f"policy {policy}", millions[[first, last + 1]], [policy, policy], _colour(policy), width=5, in_legend=False
        )
        for policy, first, last in sorted(lives(run))
    ]
    for block, event in events_of(run.blocks):
        if event["event"] in BIRTHS:
            ends = [int(event["of"]), int(event["policy"])]
            marks.append(Series("copy", millions[[block, block]], ends, GREY, dash=DOT, width=1, in_legend=False))
        elif event["event"] == "stays":
            at, policy = millions[[block + 1]], int(event["policy"])
            marks.append(
                Series(
                    "stays",
                    at,
                    [policy],
                    _colour(policy),
                    POINTS,
                    marker="star",
                    size=11,
                    hover=[told(event)],
                    in_legend=False,
                )
            )
    moves = sum(_is_move(event) for _block, event in events_of(run.blocks))
    return single(
        name,
        marks,
        Axis("steps (millions)", low=0),
        Axis("policy", ticks={place: str(place) for place in range(1 + max(policy for policy, *_ in lives(run)))}),
        title=f"{run.condition}, run {run.number}: copies, and which of them stayed (star)",
        caption=f"Tasks changed their policy {moves} times.",
        label=f"{run.condition}, run {run.number}",
        size=(8, 3.2),
    )
