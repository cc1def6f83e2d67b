"""Cross-evaluation: every policy of a library on every task, greedy and without learning.

    found = repertory.evaluate("runs/nine", episodes=20)
    found.scores[policy, task]

The tasks are met with the same episode seeds by all policies, so that their scores differ by the policies alone. How
many of the policies are needed is for `repertory capacity theoretical` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer
from repertory.core.metrics import standard_error
from repertory.core.seeds import EPISODE_SEEDS
from repertory.domains.domain import Domain
from repertory.errors import UsageError, check_count, shown
from repertory.runs.opened import open_record
from repertory.runs.record import Record
from repertory.runs.saved_library import Library, load
from repertory.runs.spec import recorded_component

EPISODES, MOST_EPISODES = 10, 10_000
"""On each task, unless told otherwise; and at most."""


@dataclass(frozen=True)
class Evaluation:
    """What each policy scores on each task."""

    scores: NDArray[np.float64]
    """(policy, task): the mean return of the episodes or, where the domain is scored so, their reward per step."""
    errors: NDArray[np.float64]
    """(policy, task): standard error of the score over episodes; NaN of a single one."""
    task_names: tuple[str, ...]
    score: str
    """What is measured: 'mean return' or 'reward per step'."""
    episodes: int
    """That each policy played of each task."""

    @property
    def best(self) -> NDArray[np.float64]:
        """The score of the best policy on each task."""
        best: NDArray[np.float64] = self.scores.max(axis=0)
        return best

    def table(self) -> pd.DataFrame:
        """A row per policy and task; `regret` is what the policy loses there to the best one."""
        policies, tasks = np.indices(self.scores.shape)
        return pd.DataFrame(
            {
                "policy": policies.ravel(),
                "task": tasks.ravel(),
                "name": np.array(self.task_names, object)[tasks.ravel()],
                "score": self.scores.ravel(),
                "error": self.errors.ravel(),
                "regret": (self.best - self.scores).ravel(),
            }
        )

    def __repr__(self) -> str:
        policies, tasks = self.scores.shape
        return f"Evaluation of {policies} policies on {tasks} tasks, {self.episodes} episodes each ({self.score})"


def evaluate(
    source: Record | Library | str | Path,
    episodes: int = EPISODES,
    *,
    seed: int = 0,
    domain: Domain | None = None,
    learner: Any = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Play every task with every policy of a record, a library, a library's file or a run's folder.

    The policies take the actions that they rate highest, learn nothing, and are as they were afterwards. Episode i
    has the seed `seed + i`, as in `repertory watch`. A domain or a learner of your own must be given again.
    `progress` hears how many policies are done.
    """
    check_count("episodes", episodes, 1, MOST_EPISODES)
    check_count("seed", seed, 0, EPISODE_SEEDS - episodes)
    library = _library(source, domain, learner)
    tasks = _domain(library, domain)
    window = int(library.settings["learner"].get("window", getattr(learner, "window", 1)))
    outcomes = np.empty((len(library.policies), tasks.n_tasks, episodes, 2))
    player = EpisodePlayer(tasks)
    try:
        for number, own in enumerate(library.policies):
            at_rest = AtRest(own.learner, own.number, window)
            outcomes[number] = outcomes_at_rest(player, at_rest, range(tasks.n_tasks), episodes, seed)
            if progress is not None:
                progress(number + 1)
    finally:
        player.close()
    scores, errors = scored(outcomes, tasks.score)
    return Evaluation(scores, errors, tasks.task_names, tasks.score, episodes)


def outcomes_at_rest(
    player: EpisodePlayer, policy: AtRest, tasks: Sequence[int], episodes: int, seed: int
) -> NDArray[np.float64]:
    """(task, episode, return and steps) of a policy that takes the actions it rates highest."""
    played = [play_at_rest(player, task, policy, seed + episode) for task in tasks for episode in range(episodes)]
    found = np.array([(outcome.total_reward, outcome.steps) for outcome in played])
    return found.reshape(len(tasks), episodes, 2)


def _library(source: Record | Library | str | Path, domain: Any, learner: Any) -> Library:
    if isinstance(source, Library):
        return source
    if isinstance(source, Record):
        return source.library()
    if not isinstance(source, (str, Path)):
        raise UsageError(f"{shown(source)} cannot be evaluated; valid: a record, a library, or where one is saved")
    if Path(source).is_file():
        return load(source, domain, learner)
    return open_record(source, domain=domain, learner=learner).library()


def _domain(library: Library, given: Domain | None) -> Domain:
    """The library's own tasks; a domain that is not in the catalogue must be given, and be the same."""
    domain: Domain = recorded_component(library.settings, "domain") if given is None else given
    if list(domain.task_names) != library.task_names:
        raise UsageError(
            f"the domain {domain.name} has other tasks than those of the library; valid: the one it was trained on"
        )
    return domain


def scored(outcomes: NDArray[np.float64], score: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The score, and its standard error, over the episodes of (..., episode, return and steps)."""
    returns, steps = outcomes[..., 0], outcomes[..., 1]
    if score == "reward per step":
        means = returns.sum(axis=-1) / steps.sum(axis=-1)
        # Of a ratio of sums: each episode's return less what its steps would have brought on average.
        deviations = (returns - means[..., None] * steps) / steps.mean(axis=-1)[..., None]
    else:
        means, deviations = returns.mean(axis=-1), returns
    return means, standard_error(np.moveaxis(deviations, -1, 0))
