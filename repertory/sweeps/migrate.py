"""`repertory migrate`: run folders, sweeps and records of older versions, rewritten in today's formats.

Older files are read as they are, so resuming a run never needs this. It is for records that are to be stored:
afterwards each says its format and, as far as that is known, the code that made it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from repertory.errors import UsageError
from repertory.paths import existing_folder
from repertory.runs import formats
from repertory.runs.folder import RUN_FILE, RunFolder, run_folders
from repertory.runs.opened import open_run
from repertory.runs.provenance import MadeBy
from repertory.runs.reading import build, read_json
from repertory.runs.spec import recorded_component
from repertory.runs.summary import RunSummary, random_scores_if_possible, read_summary, summarise, write_summary
from repertory.sweeps.sweep import FILE_NAME as SWEEP_FILE
from repertory.sweeps.sweep import FORMAT as SWEEP_FORMAT
from repertory.sweeps.sweep import read_sweep, sweep_text


@dataclass
class Migrated:
    """What was done."""

    runs: int = 0
    sweeps: int = 0
    summaries: int = 0
    left_out: list[str] = field(default_factory=list)
    """What was not touched, and why."""


def migrate(root: Path, commit: str | None = None) -> Migrated:
    """Rewrite all older run folders and sweeps below a folder; `commit` is of the code that made them, if it is known.

    Unfinished runs are left as they are: they get today's formats when they are resumed.
    """
    existing_folder(root, "valid: the folder of a run, of a sweep, or of several")
    done = Migrated()
    for path in run_folders(root):
        folder = RunFolder(path)
        try:
            is_old = read_json(path / RUN_FILE).get("format", 1) < formats.RUN_FORMAT
            if not folder.is_done:
                if is_old:
                    done.left_out.append(f"{path} is not finished")
                continue
            if is_old:
                _migrate_run(folder, commit)
                done.runs += 1
            done.summaries += _complete_summary(folder)
        except UsageError as problem:
            done.left_out.append(str(problem))
    for file in sorted(root.rglob(SWEEP_FILE)):
        try:
            if read_json(file).get("format", 1) < SWEEP_FORMAT:
                _migrate_sweep(file, commit)
                done.sweeps += 1
        except UsageError as problem:
            done.left_out.append(str(problem))
    return done


def _migrate_run(folder: RunFolder, commit: str | None) -> None:
    """The same rows and settings under today's formats."""
    file = folder.run_file()
    makers = tuple(replace(maker, commit=maker.commit or commit) for maker in file.made_by)
    folder.rewrite_blocks(folder.read_blocks(file.settings), makers[-1] if makers else MadeBy())
    folder.write_run_file(replace(file, made_by=makers))  # last: a run.json of today's format tells that all is done


def _complete_summary(folder: RunFolder) -> bool:
    """Add to the summary of a run what older versions did not compute; whether anything was missing."""
    held = read_summary(folder.path) or RunSummary()
    if held.random_scores is not None:
        return False
    settings = folder.settings()
    try:
        domain = recorded_component(settings, "domain")
    except UsageError:  # tasks whose code is not here
        return False
    if list(domain.task_names) != settings["task_names"]:
        return False
    found = replace(held, random_scores=random_scores_if_possible(domain))
    if found.policy_spread is None and settings["policies"] > 1 and folder.was_run_here:
        spec, lifetime = open_run(folder.path)
        again = summarise(spec, lifetime, held.steps_per_second)
        found = replace(again, random_scores=found.random_scores, greedy_scores=held.greedy_scores)
    write_summary(folder, found)
    return True


def _migrate_sweep(file: Path, commit: str | None) -> None:
    held = read_json(file).get("made_by")
    maker = build(MadeBy, held, file) if isinstance(held, dict) else MadeBy()
    text = sweep_text(read_sweep(file.parent), replace(maker, commit=maker.commit or commit))
    RunFolder(file.parent).write(file, lambda path: path.write_text(text))
