"""`repertory save`: the policies of a run in one file, or one of them for other programs."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.errors import UsageError
from repertory.paths import check_new_file
from repertory.report.watching import check_run_folder
from repertory.runs.opened import open_record
from repertory.runs.saved_library import Library, Policy


def save_in_console(
    run: Path, file: Path, console: Console, for_training: bool, task: int | None, policy: int | None
) -> None:
    check_run_folder(run)
    check_new_file(file, "file")
    library = open_record(run).library()
    if task is None and policy is None:
        can_train = library.save(file, for_training)
        limits = "" if can_train else "; replay memories and optimisers were not saved (--for-training saves them)"
        console.print(f"{file}: {library!r}, {_size(file)}{limits}", soft_wrap=True)
        return
    if for_training:
        raise UsageError("--for-training is of whole libraries, and one policy is asked for; leave one of both out")
    chosen = _chosen(library, task, policy)
    chosen.export(file)
    console.print(
        f"{file}: policy {chosen.number} of {run}, {_size(file)}; it needs no repertory to act", soft_wrap=True
    )


def _chosen(library: Library, task: int | None, number: int | None) -> Policy:
    if task is not None and number is not None:
        raise UsageError("--task and --policy are both given; valid: one of them")
    if task is not None:
        return library.policy_for(task)
    if number is None or not 0 <= number < len(library.policies):
        raise UsageError(f"--policy is {number}; valid: 0 to {len(library.policies) - 1}")
    return library.policies[number]


def _size(file: Path) -> str:
    return f"{file.stat().st_size / 1000:,.0f} kB"
