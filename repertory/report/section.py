"""What a report has to say on one subject; page, RESULTS.md and console show it each in their way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repertory.report.chart import Chart
from repertory.report.table import Table

SHOWN_NOTES = 3
"""On what a section lacks."""
LONGEST_NAME = 120
"""Bytes of a name in a file's; file systems take 255 in all."""


@dataclass(frozen=True)
class Picture:
    source: str
    """A data URI."""
    caption: str


@dataclass(frozen=True)
class Detail:
    """Text that is folded away."""

    title: str
    text: str


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    intro: str = ""
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    file_tables: Sequence[Table] = ()
    """Too long to be read, and in files only."""
    first_choice: int | None = None
    """Where charts are shown one at a time: which comes first."""
    pictures: Sequence[Picture] = ()
    details: Sequence[Detail] = ()
    command: str = ""
    """That the reader may want to run."""


def file_name(kind: str, name: str, taken: Sequence[str] = ()) -> str:
    """Of a chart or a table; names that are alike once they are safe do not share one."""
    chosen = f"{kind}-{safe(name)}"
    while chosen in taken:
        chosen += "_"
    return chosen


def safe(name: str) -> str:
    """A name as part of a file's: runs may be called anything, and nothing is written elsewhere for it."""
    kept = "".join(character if character.isalnum() or character in "-+._" else "_" for character in name)
    return kept.strip(".").encode(errors="ignore")[:LONGEST_NAME].decode(errors="ignore") or "unnamed"
