"""The memory simulation: table, figure and CSV file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.paths import check_new_folder
from repertory.report.capacity_view import print_frame, save
from repertory.report.sections.memory import memory_chart


def show_memory(blocks: int | None, runs: int, out: Path, console: Console) -> None:
    check_new_folder(out)
    settings = GrowingLibrary(runs=runs) if blocks is None else GrowingLibrary(runs=runs, blocks=blocks)
    table = memory_table(settings)
    print_frame(console, table)
    console.print(
        f"policies held at the peak over those of a fixed library; {settings.tasks} tasks, {settings.blocks} blocks, "
        f"mean of {settings.runs} runs",
        soft_wrap=True,
    )
    save(console, out, "memory", table, memory_chart(settings))
