"""`repertory evaluate`: every policy of a run or a library on every task, as a table, a picture and a CSV file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from repertory.analysis.evaluation import Evaluation, evaluate
from repertory.cli.screen import source_name
from repertory.errors import UsageError
from repertory.paths import check_new_folder
from repertory.report import evaluation_view as view
from repertory.report.capacity_view import print_frame, save
from repertory.report.watching import check_run_folder
from repertory.runs.folder import RunFolder
from repertory.runs.summary import RunSummary, read_summary, write_summary
from repertory.wording import counted


def evaluate_in_console(
    source: Path, episodes: int, seed: int, out: Path, console: Console, keep: bool = False
) -> None:
    """With `keep`, what the best policy has on each task goes into the run's record as well."""
    check_new_folder(out)
    if not os.path.isfile(source):
        check_run_folder(source)
    elif keep:
        raise UsageError(f"--keep is for the folder of a run, and {source} is a file; next: leave it out")
    with console.status("") as status:
        found = evaluate(
            source, episodes, seed=seed, progress=lambda done: status.update(f"{counted(done, 'policy')} evaluated")
        )
    name = source_name(source)
    print_frame(console, view.tasks_table(found))
    console.print(f"{found!r}", soft_wrap=True)
    save(console, out, name, found.table(), view.regret_chart(name, found))
    if keep:
        _keep(RunFolder(source), found)
        console.print(f"{found.best.mean():.4g} with the best policy on each task; kept in {source}", soft_wrap=True)
    console.print(
        f"Which of the policies are enough: repertory capacity theoretical {out / name}.csv --tolerance 0.05",
        soft_wrap=True,
        style="dim",
    )


def _keep(folder: RunFolder, found: Evaluation) -> None:
    summary = read_summary(folder.path) or RunSummary()
    write_summary(folder, replace(summary, greedy_scores=[float(score) for score in found.best]))
