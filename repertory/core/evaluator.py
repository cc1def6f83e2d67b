"""What an agent may ask at any time: how a policy does on a task. The steps that it takes to find out are counted."""

from __future__ import annotations

from typing import Any

from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.domains.domain import Domain


class Evaluator:
    """Plays policies at rest, outside the blocks of a lifetime.

    Episode i has the same seed whatever the policy and the task, so that returns differ by these alone, and there is
    nothing to save.
    """

    def __init__(self, domain: Domain, seed: int, run: int, window: int = 1) -> None:
        """`window` is how many observations the policies look back on."""
        self._domain = domain
        self._seed, self._run = seed, run
        self._window = window
        self._player: EpisodePlayer | None = None
        self._steps = 0

    def __call__(self, policy: Any, task: int, episodes: int) -> float:
        """The mean return of a policy that takes the actions it rates highest, and learns nothing."""
        return float(sum(self.returns(policy, task, episodes))) / episodes

    def returns(self, policy: Any, task: int, episodes: int) -> list[float]:
        """That of each episode."""
        if self._player is None:  # most agents never ask
            self._player = EpisodePlayer(self._domain)
        at_rest = AtRest(policy, None, self._window)
        seeds = generator(self._seed, "evaluate", self._run).integers(EPISODE_SEEDS, size=episodes)
        outcomes = [play_at_rest(self._player, task, at_rest, int(seed)) for seed in seeds]
        self._steps += sum(outcome.steps for outcome in outcomes)
        return [outcome.total_reward for outcome in outcomes]

    def steps_since(self) -> int:
        """Played since this was last asked."""
        steps, self._steps = self._steps, 0
        return steps

    def close(self) -> None:
        """Close the environments."""
        if self._player is not None:
            self._player.close()
