"""A run that goes on: more blocks, and more tasks, in the folder that it has.

    repertory.extend("runs/nine", blocks=2000)

A run of 1000 blocks that is extended to 2000 ends as a run of 2000, to the bit. One that is given more tasks ends as if
it had known of them from its first block and they had come only now: its policies stay as they are, what its selector
knows of the tasks it has had stays too, and its record goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repertory.core.lifetime import Monitor
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.runs.folder import RunFolder, plain
from repertory.runs.live import live_spec
from repertory.runs.record import Record
from repertory.runs.reopening import last_checkpoint, reopen_if_longer
from repertory.runs.spec import RunSpec, built_component


def extend(
    folder: str | Path,
    blocks: int | None = None,
    *,
    domain: Domain | str | None = None,
    learner: Any = None,
    selector: Any = None,
    agent: Any = None,
    monitors: Sequence[Monitor] = (),
) -> Record:
    """Run more blocks of a run that was saved, finished or not, and return its record.

    `blocks` is the length of the whole life: as long as the run was meant to be if not given. Components of your own
    must be given again, and must be the same code. A `domain` with the same tasks and then others adds those to the
    run: from the next block on they come too.
    """
    own = {"domain": domain, "learner": learner, "selector": selector, "agent": agent}
    spec = extended_spec(Path(folder), blocks, **own)
    reopen_if_longer(Path(folder), spec)
    return live_spec(spec, folder, monitors)


def extended_spec(path: Path, blocks: int | None = None, **own: Any) -> RunSpec:
    """The run in a folder, with as many blocks, and with the tasks of `domain=...` where those are more."""
    folder = RunFolder(path)
    settings = folder.settings()
    if isinstance(blocks, int) and blocks < settings["blocks"]:
        raise UsageError(f"blocks is {blocks}, and the run in {path} has {settings['blocks']}; valid: that or more")
    if own.get("domain") is not None:
        own["domain"] = built_component("domain", own["domain"], settings["profile"])
        settings = _with_tasks_of(own["domain"], folder, settings)
    return RunSpec.from_json(settings if blocks is None else settings | {"blocks": blocks}, **own)


def _with_tasks_of(domain: Domain, folder: RunFolder, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run that gets the further tasks of a domain at the block that it has come to."""
    names, held = list(domain.task_names), settings["task_names"]
    if names[: len(held)] != held:
        raise UsageError(
            f"the domain {domain.name} does not begin with the {len(held)} tasks of the run in {folder.path} "
            f"({', '.join(held[:3])}{', ...' if len(held) > 3 else ''}); valid: the same tasks, then new ones"
        )
    described = plain(domain.settings)
    other = [
        name
        for name, value in settings["domain"].items()
        if name != "name" and not _begins_with(described, name, value)
    ]
    if other:
        raise UsageError(
            f"the domain {domain.name} has other tasks of the same names than the run in {folder.path} (other settings "
            f"of it: {', '.join(other)}); valid: the same tasks, then new ones"
        )
    if len(names) == len(held):
        return settings
    values = last_checkpoint(folder, settings).values
    block = len(values["rows"]) + (values["tally"] is not None)  # a block that has begun keeps its task
    return settings | {"grown": [*settings["grown"], [block, len(held)]]}


def _begins_with(settings: dict[str, Any], name: str, held: Any) -> bool:
    """Whether a domain has a setting of another, or the same for the first tasks and then more of it."""
    given = settings.get(name)
    if isinstance(held, dict) and isinstance(given, dict):  # contexts by the names of tasks
        held, given = list(held.items()), list(given.items())
    return given == held or (isinstance(held, list) and isinstance(given, list) and given[: len(held)] == held)
