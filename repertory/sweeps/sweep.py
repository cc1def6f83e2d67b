"""Sweeps: many runs of an experiment, in one folder, as far as they have come.

    results/cartpole27-text/
        sweep.json               which experiment, at which scale; written first; holds the whole of your own experiment
        AdaptiveDQN9P/run-00/    a run folder for each condition and run

The same call resumes where the last one stopped, and more conditions and runs can be added to the same folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

from repertory import catalogue, own_code
from repertory.core.sequence import SEQUENCES
from repertory.errors import UsageError, shown, unknown
from repertory.learners.sb3_by_name import is_sb3
from repertory.machine import usable_cores
from repertory.number_ranges import parse_numbers
from repertory.paper.experiments import TASK_OF_THE_RUN, Condition, Experiment, experiment, read_experiment
from repertory.profiles import check_profile
from repertory.runs.folder import RunFolder, differences
from repertory.runs.provenance import MadeBy, this_code
from repertory.runs.reading import build, check_format, read_json, read_toml
from repertory.runs.spec import COMPONENTS, RunSpec
from repertory.runs.status import DIVERGED, FINISHED, Status
from repertory.settings import LARGEST_INTEGER
from repertory.sweeps.job import Job
from repertory.sweeps.local_engine import LocalEngine

FILE_NAME = "sweep.json"
FORMAT = 3
"""Of that file; see `formats`."""
LARGEST_SCALE, LARGEST_BLOCKS = 1e6, 10**7


@dataclass(frozen=True)
class Sweep:
    """An experiment at some scale: what all runs in a folder share."""

    experiment: str
    profile: str = "text"
    scale: float = 1.0
    """Multiplies the steps of a block; the learners are as they are."""
    blocks: int | None = None
    """The experiment's own if none."""
    seed: int = 0
    definition: dict[str, Any] | None = None
    """What the experiment is, if it is not the paper's: the content of its file."""
    sequence: str | None = None
    """Where task sequences come from; if none, from where the experiment says: see `repertory.core.sequence`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "profile", check_profile(self.profile))
        self.data  # noqa: B018  what is wrong with the experiment is told here
        if self.sequence is not None and self.sequence not in SEQUENCES:
            raise unknown("--sequence", self.sequence, SEQUENCES)
        if not 0 < self.scale <= LARGEST_SCALE:
            raise UsageError(f"--scale is {self.scale}; valid: a number above 0, at most {LARGEST_SCALE:g}")
        if not 0 <= self.seed <= LARGEST_INTEGER:
            raise UsageError(f"--seed is {shown(self.seed)}; valid: a whole number at least 0")
        if self.blocks is not None and not 1 <= self.blocks <= LARGEST_BLOCKS:
            raise UsageError(f"--blocks is {shown(self.blocks)}; valid: from 1 to {LARGEST_BLOCKS}")

    @classmethod
    def of(cls, source: str | Path, **options: Any) -> Sweep:
        """Of an experiment of the paper by name, or of a TOML file."""
        if isinstance(source, str) and not source.endswith(".toml"):
            return cls(source, **options)
        path = Path(source)
        return cls(path.stem, **options, definition=_with_own_code(read_toml(path, "experiment"), path.parent))

    @cached_property
    def data(self) -> Experiment:
        if self.definition is None:
            return experiment(self.experiment)
        return read_experiment(self.experiment, self.definition)

    @property
    def n_blocks(self) -> int:
        return self.data.blocks if self.blocks is None else self.blocks

    @property
    def block_steps(self) -> int:
        return max(1, round(self.data.block_steps * self.scale))

    def job(
        self, out: Path, condition: Condition, run: int, tensorboard: bool = False, wandb: str | None = None
    ) -> Job:
        values = {
            "domain": self.data.domain,
            "learner": condition.learner,
            "selector": condition.selector,
            "agent": condition.agent,
            "hidden_tasks": condition.hidden_tasks,
            "policies": condition.policies,
            "blocks": self.n_blocks,
            "block_steps": self.block_steps,
            "run": run,
            "seed": self.seed,
            "sequence": self.sequence or self.data.sequence,
            "profile": f"{self.profile},{condition.profile}" if condition.profile else self.profile,
            "task": run % condition.runs if condition.task == TASK_OF_THE_RUN else condition.task,
        }
        spec = RunSpec.from_names(values, condition.settings)
        return Job(condition.name, str(run_path(out, condition.name, run)), spec.to_json(), tensorboard, wandb)


def _with_own_code(content: Any, folder: Path) -> Any:
    """The same, with the paths of a user's own code, which may be beside the file, as they are from here. Whoever runs
    a file has named the code in it."""
    if isinstance(content, dict):
        parts = {key: _named_code(part, folder) if key in COMPONENTS else part for key, part in content.items()}
        return {key: _with_own_code(part, folder) for key, part in parts.items()}
    return content


def _named_code(name: Any, folder: Path) -> Any:
    if not own_code.is_own_code(name) or is_sb3(name):
        return name
    found = own_code.canonical(name, folder)
    own_code.allow(found)
    return found


def run_path(out: Path, condition: str, run: int) -> Path:
    return out / condition / f"run-{run:02d}"


def default_folder(name: str, profile: str) -> Path:
    return Path("results") / f"{name}-{profile.replace(',', '-').replace('=', '-')}"


def claim(out: Path, sweep: Sweep) -> None:
    """Make a folder this sweep's, or fail if it is another's."""
    given = asdict(sweep)
    if (out / FILE_NAME).exists():
        held = asdict(read_sweep(out))
        if held != given:
            raise UsageError(f"{out} holds another sweep ({'; '.join(differences(held, given))}); choose another --out")
        return
    try:
        if out.exists() and any(not file.name.startswith(FILE_NAME) for file in out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no sweep; choose another --out")
        out.mkdir(parents=True, exist_ok=True)
        temporary = out / f"{FILE_NAME}.{os.getpid()}.part"  # array jobs claim one folder at the same moment
        try:
            temporary.write_text(sweep_text(sweep, this_code()))
            os.replace(temporary, out / FILE_NAME)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {out}: {error.strerror}; choose another --out") from None


def sweep_text(sweep: Sweep, maker: MadeBy) -> str:
    """What sweep.json says."""
    return json.dumps({"format": FORMAT, "made_by": maker.note(), **asdict(sweep)}, indent=2) + "\n"


def read_sweep(out: Path) -> Sweep:
    """The sweep that a folder holds."""
    try:
        content = read_json(out / FILE_NAME)
    except FileNotFoundError:
        raise UsageError(f"{out} holds no sweep; next: repertory reproduce NAME --out {out}") from None
    if check_format(content, FORMAT, out / FILE_NAME) < 3 and content.get("sequence") == "seed":
        content["sequence"] = None  # what nobody had asked for was written so
    return build(Sweep, content, out / FILE_NAME)


class Watcher:
    """Hears how a sweep is going. This one shows nothing; override the methods to show it."""

    def begin(self, jobs: Sequence[Job], standing: Mapping[str, Status], workers: int) -> None: ...
    def tick(self) -> None: ...
    def ended(self, job: Job, status: Status) -> None: ...
    def close(self) -> None: ...


def live_sweep(jobs: Sequence[Job], engine: Engine, watcher: Watcher) -> dict[str, Status]:
    """Run all jobs that are not finished; return the status of each, by folder.

    A run that diverges or fails does not stop the others.
    """
    standing: dict[str, Status] = {}
    waiting = []
    for job in jobs:
        known = _known_end(job)
        if known is None:
            waiting.append(job)
        else:
            standing[job.folder] = known
    watcher.begin(jobs, standing, engine.workers)
    try:
        for outcome in engine.outcomes(waiting):
            if outcome is None:
                watcher.tick()
            else:
                job, status = outcome
                standing[job.folder] = status
                watcher.ended(job, status)
    finally:
        watcher.close()
    return standing


def _known_end(job: Job) -> Status | None:
    """Of a run that need not be run: it is finished, or would diverge again."""
    try:
        if RunFolder(Path(job.folder)).holds_finished(job.spec):
            said = job.status() or Status(FINISHED)
            return replace(said, state=FINISHED, message="")  # whatever was said last before the process died
    except UsageError:  # its worker will say what is wrong
        return None
    status = job.status()
    return status if status is not None and status.state == DIVERGED else None


class Engine(Protocol):
    """Runs jobs somewhere. Packages can bring their own by the entry point group `repertory.engines`: a name, and what
    makes the engine from the number of workers asked for, or None."""

    workers: int
    """Jobs at a time."""

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Status] | None]:
        """Each job with the status it ended in, as they end (`run_job` runs one); None now and then in between."""


def _local_engine(workers: int | None) -> Engine:
    return LocalEngine(workers or usable_cores())


def _ray_engine(workers: int | None) -> Engine:
    from repertory.sweeps.ray_engine import RayEngine

    return RayEngine(workers)


ENGINES: dict[str, Callable[[int | None], Engine]] = {"local": _local_engine, "ray": _ray_engine}


@cache
def _other_engines() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="repertory.engines") if point.name not in ENGINES}


def make_engine(name: str, workers: int | None) -> Engine:
    """The engine of a name; the workers are as many as there are cores if not given."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}; valid: a whole number at least 1")
    if name in ENGINES:
        return ENGINES[name](workers)
    if name in _other_engines():
        return catalogue.load_entry_point(_other_engines()[name])(workers)
    raise unknown("engine", name, [*ENGINES, *_other_engines()])


def parse_runs(text: str) -> list[int]:
    """`0-3,7` to [0, 1, 2, 3, 7]."""
    return parse_numbers(text, "--runs", "run")
