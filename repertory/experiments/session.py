"""One run in front of a person: progress while it lives, tables and a figure when it is over."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.experiments.folder import RunFolder
from repertory.experiments.run import Plan, live_plan
from repertory.record import Record
from repertory.report.console import ProgressMonitor, print_summary
from repertory.report.figures import lifetime_figure


def run_in_console(plan: Plan, out: Path | None, console: Console) -> None:
    if out is not None and RunFolder(out).holds_finished(plan.settings()):
        console.print(f"{out} holds this run, finished; nothing to do", soft_wrap=True)
        return
    progress = ProgressMonitor(console, plan.blocks, plan.block_steps)
    try:
        record = live_plan(plan, out, [progress], _draw, notice=lambda text: console.print(text, soft_wrap=True))
    except KeyboardInterrupt:
        progress.close()
        if out is not None:
            console.print(f"kept in {out}; the same command goes on from its last checkpoint", soft_wrap=True)
        raise
    finally:
        progress.close()
    print_summary(console, record)
    if out is not None:
        console.print(f"kept in {out} (figure: {RunFolder(out).figure_file})", soft_wrap=True)


def _draw(record: Record, folder: RunFolder) -> None:
    folder.write(folder.figure_file, lambda path: lifetime_figure(record.blocks, record.settings, path))
