"""The summary of a run: a few numbers that need its policies or its tasks, computed when it ends and saved.

So reading results plays no episode, opens no checkpoint and writes nothing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repertory.core.episode import EpisodePlayer, Outcome
from repertory.core.lifetime import Lifetime
from repertory.core.many_episodes import ManyEpisodes
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.core.spread import spread_if_any
from repertory.core.tally import BlockTally
from repertory.domains.domain import Domain
from repertory.errors import RunStopped, UsageError
from repertory.learners.compiled_policy import memory_of
from repertory.learners.random import Random
from repertory.runs.folder import RunFolder
from repertory.runs.reading import read_if_any
from repertory.runs.spec import RunSpec

SUMMARY_FILE = "summary.json"
RANDOM_STEPS, RANDOM_STEPS_PLAIN = 60_000, 1_000
"""Steps of random play on each task, of a compiled domain and of another."""
MOST_RANDOM_STEPS = 7_500_000
"""On all tasks together."""
SEEDS_AT_ONCE = 1000


@dataclass(frozen=True)
class RunSummary:
    """What blocks.parquet does not say."""

    policy_spread: float | None = None
    """None for a single policy, or policies without `action_probabilities`."""
    memory: int | None = None
    """Of all policies, in bytes."""
    steps_per_second: float | None = None
    random_scores: list[float] | None = None
    """The score of the uniform random policy on each task: the unit of forgetting and transfer."""
    greedy_scores: list[float] | None = None
    """What the best policy of each task scores there when it is over, greedily; by `repertory evaluate --keep`."""


def read_summary(path: Path) -> RunSummary | None:
    """What the file in a run's folder says, if anything readable."""
    return read_if_any(RunSummary, path / SUMMARY_FILE)


def run_spread(path: Path) -> float:
    """Policy spread of the library in a run folder, on sampled observations, as it was when the run ended."""
    summary = read_summary(path)
    if summary is None or summary.policy_spread is None:
        raise UsageError(f"{path} does not say its policy spread; next: repertory migrate {path}, or run it again")
    return summary.policy_spread


def write_summary(folder: RunFolder, summary: RunSummary) -> None:
    folder.write(folder.path / SUMMARY_FILE, lambda part: part.write_text(json.dumps(asdict(summary)) + "\n"))


def summarise(spec: RunSpec, lifetime: Lifetime, steps_per_second: float | None = None) -> RunSummary:
    """Of a lifetime as it is now."""
    policies = lifetime.policies
    can_weigh = all(hasattr(policy, "state_dict") for policy in policies)
    return RunSummary(
        policy_spread=spread_if_any(spec.domain, policies, spec.window),
        memory=sum(memory_of(policy) for policy in policies) if can_weigh else None,
        steps_per_second=steps_per_second,
        random_scores=random_scores_if_possible(spec.domain),
    )


def random_scores(domain: Domain, steps: int | None = None, seed: int = 0) -> list[float]:
    """The score of the uniform random policy on each task."""
    if steps is None:
        steps = RANDOM_STEPS if domain.compiled is not None else RANDOM_STEPS_PLAIN
        steps = min(steps, MOST_RANDOM_STEPS // domain.n_tasks)
    rng = generator(seed, "env", 0)
    seeds: deque[int] = deque()
    play = _play_compiled if domain.compiled is not None else _play_plain
    scores = []
    for task in range(domain.n_tasks):
        learner = Random()(domain.observation_space, domain.action_space, task)
        tally = BlockTally(0, task, 1)
        for outcome in play(domain, task, learner, steps, rng, seeds):
            tally.add(0, outcome.total_reward, outcome.steps)
        scores.append(tally.score(domain.score))
    return scores


def _play_compiled(
    domain: Domain, task: int, learner: Any, steps: int, rng: np.random.Generator, seeds: deque[int]
) -> Iterator[Outcome]:
    """Many episodes in one call; `seeds` holds those that were drawn and not used yet."""
    player = ManyEpisodes(domain, task)
    while steps > 0:
        while len(seeds) < SEEDS_AT_ONCE:
            seeds.append(int(rng.integers(EPISODE_SEEDS)))
        played = player.play(learner, np.array(seeds), at_least=steps)
        for length, total_reward in zip(played.steps, played.total_rewards, strict=True):
            seeds.popleft()
            steps -= int(length)
            yield Outcome(int(length), float(total_reward))


def _play_plain(
    domain: Domain, task: int, learner: Any, steps: int, rng: np.random.Generator, seeds: deque[int]
) -> Iterator[Outcome]:
    player = EpisodePlayer(domain)
    try:
        while steps > 0:
            outcome = player.play(task, learner, int(rng.integers(EPISODE_SEEDS)))
            steps -= outcome.steps
            yield outcome
    finally:
        player.close()


def random_scores_if_possible(domain: Domain) -> list[float] | None:
    """None where the tasks cannot be played at random: actions that are not a finite set, code that fails."""
    known = json.dumps([domain.name, domain.settings, domain.task_names], default=repr)
    if known not in _RANDOM_SCORES:
        try:
            _RANDOM_SCORES[known] = random_scores(domain)
        except (UsageError, RunStopped):
            _RANDOM_SCORES[known] = None
    return _RANDOM_SCORES[known]


_RANDOM_SCORES: dict[str, list[float] | None] = {}
"""Of the domains that this process has summarised runs of."""
