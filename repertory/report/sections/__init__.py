"""The sections of a report, one subject each: `section(results)` gives what there is to say, or None.

A new one is a file here and its name in `SECTIONS`; page, files and dashboard show it from then on.
"""

from __future__ import annotations

from importlib import import_module

from repertory.report.section import Section
from repertory.sweeps.results import Results

SECTIONS = (
    *("scores", "development", "final", "assignment", "family", "tasks", "learning", "health", "capacity"),
    *("significance", "frontier", "libraries", "growth", "time", "memory", "claims", "pictures"),
    *("progress", "problems", "settings"),
)
"""In the order of the page."""
SLOW = ("libraries", "memory", "claims", "pictures")
"""Those that open checkpoints or play: not for a page that is made again every few seconds."""


def all_sections(results: Results, with_slow: bool = True) -> list[Section]:
    """The sections that have something to say on some runs."""
    kinds = [import_module(f"{__name__}.{name}") for name in SECTIONS if with_slow or name not in SLOW]
    return [section for kind in kinds if (section := kind.section(results)) is not None]
