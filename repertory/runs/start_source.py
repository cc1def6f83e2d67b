"""`start_from`: the policies of a library, a record or their files, for another run to begin with."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from repertory.errors import UsageError, shown
from repertory.learners.protocol import State
from repertory.runs.checkpoint import checksums
from repertory.runs.folder import RunFolder
from repertory.runs.record import Record
from repertory.runs.saved_library import Library, acting_state, read_library, states_in, whole_state
from repertory.runs.start import Start


def resolved_start(source: Any) -> Start | None:
    """What the policies of a run begin as; None for untrained ones."""
    if source is None or isinstance(source, Start):
        return source
    if isinstance(source, Record):
        return _start([whole_state(policy) for policy in source.policies], True, repr(source))
    if isinstance(source, Library):
        state_of = whole_state if source.can_train else acting_state
        return _start([state_of(policy.learner) for policy in source.policies], source.can_train, repr(source))
    if isinstance(source, (str, Path)):
        return _from_path(Path(source))
    raise UsageError(
        f"start_from is {shown(source)}; valid: a library, a record, a file that record.save(...) wrote, or the "
        "folder of a run"
    )


def _from_path(path: Path) -> Start:
    if os.path.isdir(path):
        folder = RunFolder(path)
        checkpoint, problems = folder.newest_checkpoint(folder.settings())
        if checkpoint is None:
            reason = "; ".join(problems) or "it has no checkpoint"
            raise UsageError(f"start_from is {path}, which holds no policies ({reason}); next: give another run")
        return _start(states_in(checkpoint.arrays), True, str(path))
    content = read_library(path)
    return _start(content.states, content.can_train, str(path))


def _start(states: list[State], is_whole: bool, source: str) -> Start:
    sums = [sorted(checksums(state).items()) for state in states]
    digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()
    return Start(len(states), digest, tuple(states), is_whole, source)
