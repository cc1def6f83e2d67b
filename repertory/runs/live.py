"""`repertory.live`: one lifetime, from names or objects to a record and, if asked, a run folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from repertory.agents.protocol import MakeAgent
from repertory.core.lifetime import Lifetime, Monitor, Pause
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.learners.protocol import MakeLearner
from repertory.runs.checkpoint import Checkpoint
from repertory.runs.folder import RunFolder, plain
from repertory.runs.loggers import loggers
from repertory.runs.record import Record
from repertory.runs.reopening import reopen_if_longer
from repertory.runs.saved_library import Library
from repertory.runs.saver import Saver, disk_faults
from repertory.runs.spec import RunSpec, run_spec
from repertory.runs.start_source import resolved_start
from repertory.runs.summary import summarise, write_summary
from repertory.runs.timing import speed
from repertory.selectors.protocol import MakeSelector
from repertory.wording import counted


def live(
    domain: Domain | str,
    learner: MakeLearner | str,
    policies: int,
    selector: MakeSelector | str = "epsilon-greedy",
    *,
    blocks: int | None = None,
    block_steps: int | None = None,
    run: int = 0,
    seed: int = 0,
    profile: str = "text",
    task: int | Sequence[int] | None = None,
    agent: MakeAgent | str = "library",
    hidden_tasks: bool = False,
    sequence: str = "seed",
    start_from: Library | Record | str | Path | None = None,
    out: str | Path | None = None,
    monitors: Sequence[Monitor] = (),
    progress: bool = False,
    tensorboard: bool | str | Path = False,
    wandb: bool | str = False,
) -> Record:
    """Run one lifetime of Lifetime Policy Reuse and return its record.

    `domain`, `learner` and `selector` are objects or names in the catalogue; names are read under `profile` (see
    `repertory.profiles`), objects are taken as they are. `learner` may be settings such as `repertory.DQN()` or any
    callable `(observation_space, action_space, seed)` that returns a learner; `selector` any callable `(n_tasks,
    n_policies, rng)` that returns a selector. `agent` chooses the policies: the fixed library with its
    selector by default, or any callable that takes an `AgentSetup` and returns an agent. With `hidden_tasks`, neither
    agent nor policies are told which task it is. `blocks` and `block_steps` are the paper's if not given; of
    tasks of your own, five blocks of 2,000 steps for each, 50 at least. With `task`, all blocks present that one task,
    or one of those. `sequence="authors"` has the tasks of the authors' own Cartpole runs. With `start_from` (a library,
    a record, a library's file or a run's folder) the first policies begin as those there; the selector learns anew
    which of them is for what. With `out`, the run is saved in that folder; a run that was interrupted there is resumed,
    one that had fewer blocks goes on, and the record of a finished one is returned. With `progress`, a bar shows how
    far it is, in terminals and notebooks; `tensorboard` writes event files into the run's folder, or into one that it
    names; `wandb` sends the same numbers to a project of Weights & Biases, `repertory` if it names none.
    """
    start = resolved_start(start_from)
    if start is not None and start.caution is not None:
        warnings.warn(start.caution, stacklevel=2)
    spec = run_spec(
        domain,
        learner,
        policies,
        selector,
        blocks=blocks,
        block_steps=block_steps,
        run=run,
        seed=seed,
        profile=profile,
        task=task,
        agent=agent,
        hidden_tasks=hidden_tasks,
        sequence=sequence,
        start_from=start,
    )
    shown = list(_shown(spec, out, progress, tensorboard, wandb))  # first: what it lacks changes nothing
    if out is not None:
        reopen_if_longer(Path(out), spec)
    return live_spec(spec, out, [*monitors, *shown])


def told_length(spec: RunSpec) -> str:
    """What will be run, in a line."""
    length = f"{counted(spec.blocks, 'block')} of {counted(spec.block_steps, 'step')}"
    return f"{spec.domain.name}, {counted(spec.domain.n_tasks, 'task')}, {counted(spec.policies, 'policy')}: {length}"


def _shown(
    spec: RunSpec, out: str | Path | None, progress: bool, tensorboard: bool | str | Path, wandb: bool | str
) -> Iterator[Monitor]:
    """The monitors of what `live` was asked to show."""
    if tensorboard is True and out is None:
        raise UsageError("tensorboard=True writes into the run's folder; give out=... as well, or a folder")
    event_folder = (out if tensorboard else None) if isinstance(tensorboard, bool) else tensorboard
    yield from loggers(spec, out, event_folder, wandb)
    if progress:
        from rich.console import Console

        from repertory.runs.progress import ProgressMonitor

        console = Console(stderr=True, markup=False, highlight=False)
        console.print(told_length(spec), soft_wrap=True)
        yield ProgressMonitor(console, spec.blocks, spec.block_steps, spec.domain.score)


def live_spec(
    spec: RunSpec,
    out: str | Path | None = None,
    monitors: Sequence[Monitor] = (),
    finishing: Callable[[Record, RunFolder], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Record:
    """Run a spec; with `out`, save it there and resume it from where it was left.

    `finishing` adds to the folder before it counts as done; `notice` hears what a user should know.
    """
    lifetime = spec.lifetime()  # before the folder is claimed: what cannot be built leaves nothing behind
    try:
        if out is None:
            lifetime.live(monitors)
        else:
            _live_in_folder(spec, lifetime, RunFolder(Path(out)), monitors, finishing, notice or (lambda message: None))
    except Pause:
        pass
    finally:
        lifetime.close()
    return record_of(spec, lifetime)


def record_of(spec: RunSpec, lifetime: Lifetime) -> Record:
    """The record of a lifetime as it is now."""
    space = spec.domain.observation_space
    return Record(lifetime.blocks, spec.to_json(), lifetime.agent, space)


def _live_in_folder(
    spec: RunSpec,
    lifetime: Lifetime,
    folder: RunFolder,
    monitors: Sequence[Monitor],
    finishing: Callable[[Record, RunFolder], None] | None,
    notice: Callable[[str], None],
) -> None:
    settings = plain(spec.to_json())
    folder.refuse_others(settings, spec.is_described)
    with folder.locked(), disk_faults(folder):
        folder.claim(settings, spec.is_described)
        resumed = _resume(folder, lifetime, settings, notice)
        if folder.is_done:
            return
        if not resumed and spec.start_from is not None and spec.start_from.states is None:
            raise UsageError(
                f"the run in {folder.path} has not begun, and what it starts from is not given; next: give start_from"
            )
        saver = Saver(folder, lifetime, settings)
        with saver.on_interrupt():
            try:
                lifetime.live([*monitors, saver])
            except Pause:
                saver.save()
                raise
        saver.save()
        write_summary(folder, summarise(spec, lifetime, speed(folder.path)))
        if finishing is not None:
            finishing(record_of(spec, lifetime), folder)
        folder.finish()


def _resume(folder: RunFolder, lifetime: Lifetime, settings: dict[str, Any], notice: Callable[[str], None]) -> bool:
    """Whether there was something to resume."""
    checkpoint, problems = folder.newest_checkpoint(settings)
    if checkpoint is None:
        if folder.is_done:
            raise UsageError(
                f"{folder.path} holds this run, finished, without its policies; read its blocks.parquet, or choose "
                "another folder"
            )
        _refuse_to_start_again(folder, problems)
        if not lifetime.can_be_saved:
            notice("this run cannot be interrupted and resumed: the agent, or a part of it, has no state_dict")
        return False
    for problem in problems:
        notice(f"{problem}; using the one before")
    restore(lifetime, checkpoint, folder.path, settings)
    if folder.is_done:
        notice(f"{folder.path} holds this run, finished; nothing to do")
        return True
    folder.resumed_at(len(lifetime.rows))
    notice(f"resuming {folder.path} at block {len(lifetime.rows) + 1} of {len(lifetime.sequence)}")
    return True


def _refuse_to_start_again(folder: RunFolder, problems: Sequence[str]) -> None:
    """A run that has rows, or had a checkpoint, is not started again over them: the user decides that."""
    if problems or folder.has_rows:
        reason = "; ".join(problems) or "there is no checkpoint"
        raise UsageError(
            f"the run in {folder.path} cannot be resumed ({reason}), and starting again would overwrite it; next: "
            "choose another folder, or delete that one"
        )


def restore(lifetime: Lifetime, checkpoint: Checkpoint, path: Path, settings: Mapping[str, Any]) -> None:
    """Load a checkpoint into a lifetime; refuse one whose state this version cannot load.

    With the settings of the run: it may have got more tasks since.
    """
    had = len(checkpoint.values["settings"]["task_names"])
    has_grown = had < len(settings["task_names"]) and not settings["hidden_tasks"]
    try:
        lifetime.load_state(checkpoint.arrays, checkpoint.values, has_grown)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:300]
        raise UsageError(
            f"the checkpoint in {path} does not fit this version ({said}); next: use repertory "
            f"{checkpoint.made_by.label}, which made it"
        ) from error
