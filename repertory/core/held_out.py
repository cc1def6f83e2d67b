"""Tasks that are held out: what a library can do on tasks that none of its policies ever learned.

Twenty times in a life, at the end of a block, each policy plays some episodes of each task that is held out, greedily
and without learning. The best of them plays some others, and these count: were a policy judged by the episodes that
it was chosen by, the largest library would look best by luck alone. The episodes are the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer, Outcome
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.domains.domain import Domain
from repertory.errors import UsageError

TIMES = 20
"""In a life, the last block included."""
EPISODES = 5
"""By which a policy is chosen, and as many by which it is judged."""


class HeldOut:
    """Plays the policies of a lifetime on tasks that are not of it."""

    def __init__(self, domain: Domain, seed: int, run: int, window: int, blocks: int) -> None:
        """`domain` has the tasks that are held out; `window` is how many observations the policies look back on."""
        self._domain = domain
        self._window = window
        self._blocks = blocks
        seeds = generator(seed, "evaluate", run).integers(EPISODE_SEEDS, size=2 * EPISODES)
        self._choosing, self._judging = seeds[:EPISODES].tolist(), seeds[EPISODES:].tolist()
        self._player = EpisodePlayer(domain)

    def refuse_policies_that_cannot(self, policies: Sequence[Any]) -> None:
        """Before any run: policies that need to know a task cannot play one they never met."""
        for number, policy in enumerate(policies):
            AtRest(policy, number, self._window)
            if hasattr(policy, "turn_to") and getattr(policy, "needs_tasks", True):
                raise UsageError(
                    f"policy {number} has inputs or outputs for each of its tasks, so it cannot play a task that is "
                    "held out; next: a learner without them"
                )

    def is_due(self, block: int) -> bool:
        return (block + 1) * TIMES // self._blocks > block * TIMES // self._blocks

    def scores(self, policies: Sequence[Any]) -> list[tuple[float, int]]:
        """Of each task: the score of the policy that did best in other episodes, and which that is."""
        return [self._score(policies, task) for task in range(self._domain.n_tasks)]

    def _score(self, policies: Sequence[Any], task: int) -> tuple[float, int]:
        tried = [self._play(policy, task, self._choosing) for policy in policies]
        best = tried.index(max(tried))
        return self._play(policies[best], task, self._judging), best

    def _play(self, policy: Any, task: int, seeds: Sequence[int]) -> float:
        at_rest = AtRest(policy, None, self._window)
        outcomes: list[Outcome] = [play_at_rest(self._player, task, at_rest, seed) for seed in seeds]
        total = sum(outcome.total_reward for outcome in outcomes)
        if self._domain.score == "reward per step":
            return total / sum(outcome.steps for outcome in outcomes)
        return total / len(outcomes)

    def close(self) -> None:
        """Close the environments."""
        self._player.close()
