"""Task clusters (the paper's Section 4.2): a rough estimate of the number of policies from random play alone.

Each task is played by the uniform random policy, which leaves a signature of two numbers. Tasks whose signatures are
close together may share a policy; the number of clusters is then an estimate of the number of policies needed.

The paper takes the least angular velocity before a fall for one of the two, which is the extreme of tens of thousands
of falls: with another seed it is another number, and so is the count of clusters. The 1% quantile is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from repertory.core.episode import EpisodePlayer, is_compiled
from repertory.core.many_episodes import ManyEpisodes
from repertory.domains.domain import Domain
from repertory.errors import UsageError, unknown
from repertory.kernels.compile import kernel
from repertory.kernels.layout import allocate, layout
from repertory.kernels.streams import new_stream
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.encoding import action_count, observation_size
from repertory.learners.protocol import LearnerKernels
from repertory.learners.random import Random, act, begin_episode

STEPS = 600_000
"""Of random play on each task, as in the paper."""
PUBLISHED = {"cartpole27": 8}
"""Clusters that the paper counts by eye."""
SEEDS = 5
SEEDS_APART = 1000
"""Seeds next to each other share streams: each task has its own, counted from the seed on."""
LOW_QUANTILE = 0.01
MOST_ENDS = 2**17
"""Whose feature is noted; 600,000 steps of random Cartpole have 20,000 to 60,000."""
MOST_CLUSTERS = 125
"""Beyond which none are looked for: of a thousand tasks, that would take an hour."""
MINIMUM, LOW = "lowest", "low"
SIGNATURES = {"low": LOW, "minimum": MINIMUM}
"""Of a feature before an end: its 1% quantile, or the paper's minimum, which hangs on a single episode of thousands."""


class Arrays(NamedTuple):
    """A random policy that looks at how episodes end."""

    policy: NDArray[Any]


POLICY_LAYOUT = layout(
    [
        ("stream", np.uint64, (4,)),
        *((name, np.int64, ()) for name in ("actions", "feature", "cause", "ends")),
        ("limit", np.float64, ()),
        ("sizes", np.float32, (MOST_ENDS,)),
    ]
)


@kernel
def observe(
    watcher: Arrays,
    observation: NDArray[np.float32],
    action: int,
    reward: float,
    next_observation: NDArray[np.float32],
    terminated: bool,
    truncated: bool,
) -> None:
    """Remember the size of the feature on the step before an end for the cause."""
    policy = watcher.policy[0]
    if terminated and abs(next_observation[policy.cause]) > policy.limit:
        if policy.ends < policy.sizes.size:
            policy.sizes[policy.ends] = abs(observation[policy.feature])
        policy.ends += 1


class EndWatcher(CompiledPolicy):
    """Acts at random, and notes the size of a feature just before episodes end."""

    kernels = LearnerKernels(begin_episode, act, observe)
    state_fields = ("stream", "ends", "sizes")

    def __init__(self, domain: Domain, seed: int) -> None:
        policy = allocate(POLICY_LAYOUT)
        policy["stream"] = new_stream(seed)
        policy["actions"] = actions = action_count("Random", domain.action_space)
        if domain.end_feature is not None:
            for name in ("feature", "cause", "limit"):
                policy[name] = getattr(domain.end_feature, name)
        space = domain.observation_space
        super().__init__(Arrays(policy), observation_size("Random", space), actions, space)


def task_signatures(domain: Domain, steps: int = STEPS, seed: int = 0) -> pd.DataFrame:
    """A row per task: episodes, mean episode length, reward per step and, if the domain names one, its end feature.

    Of the feature there is the least size just before an end, as in the paper, and the size that one end in a hundred
    lies below.
    """
    player = EpisodePlayer(domain)
    rows = []
    for task in range(domain.n_tasks):
        watches = domain.end_feature is not None
        random = Random()(domain.observation_space, domain.action_space, seed + task)
        learner = EndWatcher(domain, seed + task) if watches else random
        lived, episodes, reward = _random_life(player, domain, task, learner, seed * domain.n_tasks + task, steps)
        row = {"task": domain.task_names[task], "episodes": episodes, "episode length": lived / episodes}
        row["reward per step"] = reward / lived
        if domain.end_feature is not None and isinstance(learner, EndWatcher):
            ends = row["ends"] = int(learner.policy["ends"])
            sizes = learner.policy["sizes"][: min(ends, MOST_ENDS)]
            row[f"{MINIMUM} {domain.end_feature.name}"] = float(sizes.min()) if ends else math.inf
            row[f"{LOW} {domain.end_feature.name}"] = float(np.quantile(sizes, LOW_QUANTILE)) if ends else math.inf
        rows.append(row)
    player.close()
    return pd.DataFrame(rows)


def _random_life(
    player: EpisodePlayer, domain: Domain, task: int, learner: Any, first_seed: int, steps: int
) -> tuple[int, int, float]:
    """Steps, episodes and reward of at least so many steps, each episode with the next seed."""
    if domain.compiled is not None and is_compiled(learner):
        seeds = np.arange(first_seed, first_seed + steps)  # no episode is shorter than a step
        played = ManyEpisodes(domain, task).play(learner, seeds, at_least=steps)
        return int(played.steps.sum()), played.steps.size, sum(played.total_rewards.tolist())
    lived, episodes, reward = 0, 0, 0.0
    while lived < steps:
        outcome = player.play(task, learner, first_seed + episodes)
        lived, episodes, reward = lived + outcome.steps, episodes + 1, reward + outcome.total_reward
    return lived, episodes, reward


@dataclass(frozen=True)
class Clusters:
    """Tasks by the signatures they leave."""

    signatures: pd.DataFrame
    """As `task_signatures`, with the column `cluster`."""
    columns: tuple[str, str]
    """The two numbers of a signature."""
    silhouettes: dict[int, float]
    """By number of clusters; the highest decides."""

    @property
    def n_clusters(self) -> int:
        return max(self.silhouettes, key=lambda count: self.silhouettes[count])

    @property
    def capacity(self) -> float:
        """Tasks per cluster."""
        return len(self.signatures) / self.n_clusters

    def means(self) -> pd.DataFrame:
        groups = self.signatures.groupby("cluster")
        return groups[list(self.columns)].mean().assign(tasks=groups.size()).reset_index()


def cluster_tasks(domain: Domain, steps: int = STEPS, seed: int = 0, signature: str = "low") -> Clusters:
    """Random play of all tasks, and the clusters of the signatures it leaves."""
    return cluster_signatures(domain, task_signatures(domain, steps, seed), seed, signature)


def cluster_signatures(domain: Domain, signatures: pd.DataFrame, seed: int = 0, signature: str = "low") -> Clusters:
    """Cluster signatures by k-means; the number of clusters is that of the highest mean silhouette.

    Both numbers of a signature are standardised first; one that is always positive counts by its logarithm, so that
    what matters is how many times one task's is another's.
    """
    if signature not in SIGNATURES:
        raise unknown("signature", signature, SIGNATURES)
    feature = "reward per step"
    if domain.end_feature is not None:
        feature = f"{SIGNATURES[signature]} {domain.end_feature.name}"
    columns = (feature, "episode length")
    points = np.column_stack([_standardised(signatures[column].to_numpy(float)) for column in columns])
    distinct = len(np.unique(points, axis=0))
    if distinct < 3:
        raise UsageError(f"{domain.name} leaves {distinct} different signatures; clusters need 3 or more")
    silhouettes, labels = {}, {}
    for count in range(2, min(distinct, MOST_CLUSTERS + 1)):
        found = KMeans(count, n_init=10, random_state=seed).fit(points)
        silhouettes[count] = float(silhouette_score(points, found.labels_))
        labels[count] = found.labels_
    best = max(silhouettes, key=lambda count: silhouettes[count])
    return Clusters(signatures.assign(cluster=labels[best]), columns, silhouettes)


@dataclass(frozen=True)
class ClustersOverSeeds:
    """How far the number of clusters is a property of the tasks, and how far of the seed."""

    first: Clusters
    """Of the first seed, by the signature asked for."""
    counts: Mapping[str, tuple[int, ...]]
    """Number of clusters with each seed, by signature."""


def clusters_over_seeds(
    domain: Domain, steps: int = STEPS, seed: int = 0, seeds: int = SEEDS, signature: str = "low"
) -> ClustersOverSeeds:
    """The same play, clustered by each signature that the domain has."""
    others = SIGNATURES if domain.end_feature is not None else ()
    found: dict[str, list[Clusters]] = {name: [] for name in (signature, *others)}
    for one in range(seed, seed + SEEDS_APART * seeds, SEEDS_APART):
        signatures = task_signatures(domain, steps, one)
        for name, clusters in found.items():
            clusters.append(cluster_signatures(domain, signatures, one, name))
    counts = {name: tuple(each.n_clusters for each in clusters) for name, clusters in found.items()}
    return ClustersOverSeeds(found[signature][0], counts)


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise UsageError("some task never ended for the cause that its signature looks at; next: more --steps")
    scaled = np.log(values) if (values > 0).all() else values
    deviation = scaled.std()
    return (scaled - scaled.mean()) / (deviation if deviation > 0 else 1.0)
