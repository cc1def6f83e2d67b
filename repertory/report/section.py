"""What a report says on one subject; page, RESULTS.md and console each show it in their way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repertory.report.chart import Chart
from repertory.report.table import Table

SHOWN_NOTES = 3
"""How many notes on missing runs a section shows."""
LONGEST_NAME = 120
"""Bytes of a name in a file's; file systems take 255 in all."""


@dataclass(frozen=True)
class Picture:
    source: str
    """A data URI."""
    caption: str
    is_on_white: bool = False
    """Whether it is a drawing on white, whose colours a dark page may turn round."""


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
    """Too long for the page; written to files only."""
    first_choice: int | None = None
    """Where charts are shown one at a time: which comes first."""
    pictures: Sequence[Picture] = ()
    details: Sequence[Detail] = ()
    command: str = ""
    """A command that the reader may want to run."""


def file_name(kind: str, name: str, taken: Sequence[str] = ()) -> str:
    """The file name of a chart or a table, different from those in `taken`."""
    chosen = f"{kind}-{safe(name)}"
    while chosen in taken:
        chosen += "_"
    return chosen


def safe(name: str) -> str:
    """A name made safe for a file's name: a run may be called anything, slashes and dots included."""
    replaced = "".join(character if character.isalnum() or character in "-+._" else "_" for character in name)
    return replaced.strip(".").encode(errors="ignore")[:LONGEST_NAME].decode(errors="ignore") or "unnamed"
