"""How curves of conditions are told apart, in every chart alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repertory.analysis.controls import UNADAPTIVE
from repertory.report.chart import COLOURS, DASH, DASHDOT, DOT, SOLID
from repertory.sweeps.results import Run

DASHES = (SOLID, DASH, DOT, DASHDOT)


def is_adaptive(run: Run) -> bool:
    return run.settings["selector"]["name"] not in UNADAPTIVE


def styles(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Of a run of each condition: colour by number of policies and dashes for adaptive, where that tells them apart."""
    sizes = sorted({run.settings["policies"] for run in runs})
    by_size = len(sizes) > 1 and len(runs) <= 2 * len(sizes)
    return [
        {
            "colour": COLOURS[(sizes.index(run.settings["policies"]) if by_size else index) % len(COLOURS)],
            "dash": (DASH if is_adaptive(run) else SOLID) if by_size else DASHES[index // 8 % len(DASHES)],
        }
        for index, run in enumerate(runs)
    ]
