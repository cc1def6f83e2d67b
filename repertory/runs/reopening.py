"""A run's folder opened again: the run in it gets more blocks, or more tasks, and is to be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repertory.errors import UsageError
from repertory.runs.checkpoint import Checkpoint
from repertory.runs.folder import RunFolder, plain
from repertory.runs.formats import RunFile, goes_on
from repertory.runs.spec import RunSpec


def reopen_if_longer(path: Path, spec: RunSpec) -> None:
    """Make the run in a folder this longer one, if it is one; what cannot go on is refused and stays as it was."""
    folder, settings = RunFolder(path), plain(spec.to_json())
    if not folder.holds_run:
        return
    held = folder.run_file()
    if held.settings == settings or not goes_on(held.settings, settings):
        return
    _check_can_go_on(spec, held.settings, path)
    with folder.locked():
        last_checkpoint(folder, held.settings)
        folder.reopen()  # first: a run that is done and has a new length would count as finished
        folder.write_run_file(RunFile(settings, held.made_by))


def last_checkpoint(folder: RunFolder, settings: dict[str, Any]) -> Checkpoint:
    """Of a run that is to go on."""
    checkpoint, problems = folder.newest_checkpoint(settings)
    if checkpoint is None:
        reason = "; ".join(problems) or "there is no checkpoint with its policies"
        raise UsageError(f"the run in {folder.path} cannot go on ({reason}); next: run it in a new folder")
    return checkpoint


def _check_can_go_on(spec: RunSpec, held: dict[str, Any], path: Path) -> None:
    if not spec.is_described:
        raise UsageError(f"{path} holds a run of code that cannot be compared with this; valid: code that can be read")
    if getattr(spec.agent, "plans_by_blocks", False):
        raise UsageError(
            f"the agent {held['agent']['name']} plans for a life of {held['blocks']} blocks and cannot go on after it; "
            "next: begin another run with start_from"
        )
    if len(held["task_names"]) < spec.domain.n_tasks and not spec.hidden_tasks:
        _check_can_grow(spec, held, path)


def _check_can_grow(spec: RunSpec, held: dict[str, Any], path: Path) -> None:
    lifetime = spec.lifetime()
    lifetime.close()
    selector = getattr(lifetime.agent, "selector", None)
    for part, can_grow in (
        ("learner", not getattr(spec.learner, "needs_tasks", False)),
        ("agent", hasattr(lifetime.agent, "load_grown")),
        ("selector", hasattr(selector, "load_grown")),
    ):
        if not can_grow:
            raise UsageError(
                f"no task can be added to the run in {path}: its {part} {held[part]['name']} was built for "
                f"{len(held['task_names'])}; next: begin another run with start_from"
            )
