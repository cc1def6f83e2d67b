"""`repertory evaluate`: every policy of a run or a library on every task, as a table, a picture and a CSV file."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from repertory.analysis.evaluation import evaluate
from repertory.cli.screen import source_name
from repertory.paths import check_new_folder
from repertory.report import evaluation_view as view
from repertory.report.capacity_view import print_frame, save
from repertory.report.watching import check_run_folder
from repertory.wording import counted


def evaluate_in_console(source: Path, episodes: int, seed: int, out: Path, console: Console) -> None:
    check_new_folder(out)
    if not os.path.isfile(source):
        check_run_folder(source)
    with console.status("") as status:
        found = evaluate(
            source, episodes, seed=seed, progress=lambda done: status.update(f"{counted(done, 'policy')} evaluated")
        )
    name = source_name(source)
    print_frame(console, view.tasks_table(found))
    console.print(f"{found!r}", soft_wrap=True)
    save(console, out, name, found.table(), view.regret_chart(name, found))
    console.print(
        f"Which of the policies are enough: repertory capacity theoretical {out / name}.csv --tolerance 0.05",
        soft_wrap=True,
        style="dim",
    )
