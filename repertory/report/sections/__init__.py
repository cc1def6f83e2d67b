"""The sections of a report, one subject each: `section(results)` gives what there is to say, or None.

A new one is a file here and its name in `SECTIONS`; page, files and dashboard show it from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from repertory.report.domains import apart
from repertory.report.section import Section, safe
from repertory.sweeps.results import Results

SECTIONS = (
    *("scores", "development", "final", "assignment", "family", "contexts", "tasks", "task_curves"),
    *("held_out", "learning", "health"),
    *("capacity", "significance", "pairs", "frontier", "libraries", "growth", "time", "memory", "claims"),
    *("pictures", "progress", "problems", "settings"),
)
"""In the order of the page."""
SLOW = ("libraries", "memory", "claims", "pictures")
"""Those that open checkpoints or play: not for a page that is made again every few seconds."""


def all_sections(results: Results, with_slow: bool = True) -> list[Section]:
    """The sections that have something to say on some runs."""
    kinds = [import_module(f"{__name__}.{name}") for name in SECTIONS if with_slow or name not in SLOW]
    return [section for kind in kinds if (section := kind.section(results)) is not None]


@dataclass(frozen=True)
class Chapter:
    """What a page says of one domain."""

    domain: str
    """Empty where the folder has no other."""
    name: str
    results: Results
    sections: Sequence[Section]


def chapters(results: Results, with_slow: bool = True) -> list[Chapter]:
    """A chapter for each domain of a folder; where there are several, all names in it begin with the domain's."""
    parts = apart(results)
    if len(parts) < 2:
        return [Chapter("", "", results, all_sections(results, with_slow))]
    made: list[Chapter] = []
    for part in parts:
        own = replace(part.results, problems=())
        name = safe(part.domain)
        while name in [chapter.name for chapter in made]:
            name += "_"
        sections = [_within(section, name) for section in all_sections(own, with_slow)]
        made.append(Chapter(part.domain, name, own, sections))
    left_out = import_module(f"{__name__}.problems").section(results)
    return [*made, Chapter("", "", replace(results, runs=()), [left_out])] if left_out is not None else made


def _within(section: Section, chapter: str) -> Section:
    return replace(
        section,
        name=f"{chapter}-{section.name}",
        tables=[replace(table, name=f"{chapter}-{table.name}") for table in section.tables],
        file_tables=[replace(table, name=f"{chapter}-{table.name}") for table in section.file_tables],
        charts=[replace(chart, name=f"{chapter}-{chart.name}") for chart in section.charts],
    )
