"""The policies of a run folder: opened as they were at its last checkpoint."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.core.lifetime import Lifetime
from repertory.core.metrics import policy_spread
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.learners.compiled_policy import memory_of
from repertory.runs.folder import RunFolder
from repertory.runs.live import record_of, restore
from repertory.runs.reading import Unreadable, build, read_json
from repertory.runs.record import Record
from repertory.runs.spec import RunSpec
from repertory.runs.status import read_status

SPREAD_OBSERVATIONS = 1000


def open_run(path: Path, **own: Any) -> tuple[RunSpec, Lifetime]:
    """The lifetime in a run folder, finished or not, as its newest good checkpoint has it.

    Components that are not in the catalogue must be given: `domain=...`, `learner=...`.
    """
    folder = RunFolder(path)
    settings = folder.settings()
    spec = RunSpec.from_json(settings, **own)
    checkpoint, problems = folder.newest_checkpoint(settings)
    if checkpoint is None:
        if folder.is_done and not problems:
            raise UsageError(
                f"{path} has no good checkpoint: it holds the records of a finished run without its policies; "
                "next: run it in a new folder"
            )
        reason = f" ({'; '.join(problems)})" if problems else ""
        raise UsageError(f"{path} has no good checkpoint{reason}; next: wait for its first one, or run it again")
    lifetime = spec.lifetime()
    restore(lifetime, checkpoint, path)
    return spec, lifetime


def open_record(folder: str | Path, **own: Any) -> Record:
    """A run that was saved, finished or not, as a record with its policies: `repertory.open("runs/nine")`.

    A domain, learner, selector or agent of your own must be given again: `domain=...`. It must be the same code.
    """
    spec, lifetime = open_run(Path(folder), **own)
    lifetime.close()
    RunFolder(Path(folder)).refuse_others(spec.to_json(), spec.is_described)
    return record_of(spec, lifetime)


def run_spread(path: Path) -> float:
    """Policy spread of the library in a run folder, on sampled observations: as it was kept, or from its checkpoint."""
    summary = summarise(path)
    if summary is None or summary.policy_spread is None:
        return library_spread(*open_run(path))  # says what is missing
    return summary.policy_spread


def library_spread(spec: RunSpec, lifetime: Lifetime, observations: int = SPREAD_OBSERVATIONS, seed: int = 0) -> float:
    window = int(getattr(spec.learner, "window", 1))
    sampled = sample_observations(spec.domain, observations, window, np.random.default_rng(seed))
    return policy_spread(np.array([policy.action_probabilities(sampled) for policy in lifetime.policies]))


def sample_observations(domain: Domain, count: int, window: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Observations to compare policies on; for policies that look back, sliding windows of independent ones."""
    needed = count + window - 1
    if domain.sample_observations is not None:
        drawn = domain.sample_observations(rng, needed)
    else:
        space = domain.observation_space
        space.seed(int(rng.integers(2**31)))
        drawn = np.array([space.sample() for _ in range(needed)], np.float32)
    if window == 1:
        return drawn
    return np.stack([drawn[first : first + window] for first in range(count)])


# ---- what is kept of a library when its checkpoint is not

SUMMARY_FILE = "summary.json"


@dataclass(frozen=True)
class LibrarySummary:
    """A few numbers that need the policies themselves."""

    policy_spread: float | None
    """None for a single policy, or one that cannot be looked into."""
    memory: int
    """Of all policies, in bytes."""
    steps_per_second: float | None


def summarise(path: Path) -> LibrarySummary | None:
    """The summary of a run: as it was kept, or else from its checkpoint, and kept; None if it has neither."""
    summary = kept_summary(path)
    if summary is None:
        summary = new_summary(path)
        if summary is not None and RunFolder(path).is_done:
            with contextlib.suppress(OSError):  # a folder that is read only can still be summarised
                write_summary(RunFolder(path), summary)
    return summary


def kept_summary(path: Path) -> LibrarySummary | None:
    """What the file in a run's folder says, if anything readable."""
    try:
        return build(LibrarySummary, read_json(path / SUMMARY_FILE), path / SUMMARY_FILE)
    except (OSError, Unreadable):
        return None


def new_summary(path: Path) -> LibrarySummary | None:
    """From the checkpoint of a run; None if it has none. Nothing is written."""
    try:
        spec, lifetime = open_run(path)
    except UsageError:
        return None
    status = read_status(path)
    spread = None
    if len(lifetime.policies) > 1 and all(hasattr(p, "action_probabilities") for p in lifetime.policies):
        spread = library_spread(spec, lifetime)
    return LibrarySummary(
        policy_spread=spread,
        memory=sum(memory_of(policy) for policy in lifetime.policies),
        steps_per_second=None if status is None else status.steps_per_second,
    )


def write_summary(folder: RunFolder, summary: LibrarySummary) -> None:
    folder.write(folder.path / SUMMARY_FILE, lambda part: part.write_text(json.dumps(asdict(summary)) + "\n"))
