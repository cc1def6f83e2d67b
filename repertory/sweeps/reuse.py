"""`repertory reproduce --reuse`: runs that another experiment has made already are not run again.

A run follows from its settings and seed, whatever the condition is called and whichever experiment it stands in: one
policy for 27 tasks is in three of them. Its record is copied, as `export` would, with the code that made it; of several
records one that today's code made. Whether other code did the same is for whoever asks for it to know: `run.json` names
its commit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repertory.errors import UsageError
from repertory.runs.folder import RunFolder, plain, run_folders
from repertory.runs.provenance import this_code
from repertory.sweeps.export import copy_record
from repertory.sweeps.job import Job


def reuse(jobs: Sequence[Job], source: Path) -> list[Job]:
    """Copy the records of finished runs anywhere in `source` to jobs with the same settings; return those jobs.

    A job that has begun in its own folder is left to be resumed there.
    """
    new = [job for job in jobs if not RunFolder(Path(job.folder)).holds_run]
    known = _finished_runs(source, {_key(job.spec) for job in new})
    taken = [job for job in new if _key(job.spec) in known]
    for job in taken:
        copy_record(known[_key(job.spec)], RunFolder(Path(job.folder)))
    return taken


def _finished_runs(source: Path, wanted: set[str]) -> dict[str, RunFolder]:
    """Finished runs with settings that are wanted, by those; made by this code rather than by other."""
    found: dict[str, RunFolder] = {}
    for folder in map(RunFolder, run_folders(source)):
        try:
            key = _key(folder.settings())
        except UsageError:  # one damaged folder does not hide the others
            continue
        if key in wanted and folder.is_done and (key not in found or _is_made_by_this_code(folder)):
            found[key] = folder
    return found


def _is_made_by_this_code(folder: RunFolder) -> bool:
    return all(maker.is_same_code(this_code()) for maker in folder.run_file().made_by)


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(plain(settings), sort_keys=True)
