"""`repertory export`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.sweeps.export import export
from repertory.wording import counted


def export_in_console(source: Path, target: Path, console: Console) -> None:
    exported = export(source, target)
    for reason in exported.left_out:
        console.print(f"left out: {reason}", soft_wrap=True)
    runs = counted(exported.runs, "run")
    console.print(
        f"{target} holds the records of {runs}, {exported.bytes / 1000:,.0f} kB in all; policies were not copied",
        soft_wrap=True,
    )
