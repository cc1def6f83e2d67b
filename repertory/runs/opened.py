"""A run folder opened: its lifetime and policies as they were at its last checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repertory.core.lifetime import Lifetime
from repertory.errors import UsageError
from repertory.runs.folder import RunFolder
from repertory.runs.live import record_of, restore
from repertory.runs.record import Record
from repertory.runs.spec import RunSpec


def open_run(path: Path, **own: Any) -> tuple[RunSpec, Lifetime]:
    """The lifetime in a run folder, finished or not, as its newest good checkpoint has it.

    Components that are not in the catalogue must be given: `domain=...`, `learner=...`.
    """
    folder = RunFolder(path)
    settings = folder.settings()
    checkpoint, problems = folder.newest_checkpoint(settings)
    if checkpoint is None:
        if folder.is_done and not problems:
            raise UsageError(
                f"{path} has no good checkpoint: it holds the records of a finished run without its policies; "
                "next: run it in a new folder"
            )
        reason = f" ({'; '.join(problems)})" if problems else ""
        raise UsageError(f"{path} has no good checkpoint{reason}; next: wait for its first one, or run it again")
    spec = RunSpec.from_json(settings, **own)
    lifetime = spec.lifetime()
    restore(lifetime, checkpoint, path, settings)
    return spec, lifetime


def open_record(folder: str | Path, **own: Any) -> Record:
    """A run that was saved, finished or not, as a record with its policies: `repertory.open("runs/nine")`.

    A domain, learner, selector or agent of your own must be given again: `domain=...`. It must be the same code.
    """
    spec, lifetime = open_run(Path(folder), **own)
    lifetime.close()
    RunFolder(Path(folder)).refuse_others(spec.to_json(), spec.is_described)
    return record_of(spec, lifetime)
