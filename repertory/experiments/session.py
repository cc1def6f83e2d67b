"""One run in front of a person: progress while it lives, tables and a figure when it is over."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.experiments.folder import RunFolder
from repertory.experiments.run import Plan, live_plan
from repertory.report.console import ProgressMonitor, print_summary
from repertory.report.figures import lifetime_figure


def run_in_console(plan: Plan, out: Path | None, console: Console) -> None:
    if out is not None:
        folder = RunFolder(out)
        folder.claim(plan.settings())
        if folder.is_done:
            console.print(f"{out} holds this run, finished; nothing to do", highlight=False, soft_wrap=True)
            return
    progress = ProgressMonitor(console, plan.blocks, plan.block_steps)
    try:
        record = live_plan(plan, out, [progress])
    finally:
        progress.close()
    print_summary(console, record)
    if out is not None:
        lifetime_figure(record.blocks, record.settings, folder.figure_file)
        console.print(f"kept in {out} (figure: {folder.figure_file})", highlight=False, soft_wrap=True)
