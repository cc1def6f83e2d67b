"""A policy at rest: it takes the actions that it rates highest and stays as it is.

Its own `act` needs `observe`, and with it learning, to go on, and draws from the policy's own random stream.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.core.episode import EpisodePlayer, Outcome
from repertory.errors import EpisodeFault, UsageError
from repertory.learners.compiled_policy import CompiledPolicy, as_input
from repertory.learners.encoding import stacked
from repertory.learners.protocol import ActsAtRest, LearnerKernels, can_rest, turn_to
from repertory.learners.random import begin_episode, observe
from repertory.selectors.protocol import argmax_random_tie


class AtRest:
    """A learner that takes the action which a policy rates highest, and learns nothing.

    It is played compiled if the policy's kernels say how it acts at rest.
    """

    kernels: LearnerKernels | None = None

    def __init__(self, policy: Any, number: int | None, window: int = 1) -> None:
        """`number` is for messages; `window` is how many observations it looks back on, its last one included."""
        if not can_rest(policy):
            who, kind = "a policy" if number is None else f"policy {number}", type(policy).__name__
            raise UsageError(
                f"{who} is a {kind}, which has no action_probabilities to choose actions by, and no actions_at_rest"
            )
        self._policy = policy
        self._chooses = isinstance(policy, ActsAtRest)
        self._memory: Any = None
        self._looks_back = window > 1
        # A policy with a memory of its last observations is asked about all of them at once.
        self._seen: deque[Any] = deque(maxlen=window)
        if isinstance(policy, CompiledPolicy) and policy.kernels.act_at_rest is not None:
            self.kernels = LearnerKernels(begin_episode, policy.kernels.act_at_rest, observe)
            self.inputs, self.actions, self.handle = policy.inputs, policy.actions, policy.handle
        self.seed(0)

    def seed(self, seed: int) -> None:
        """What equally good actions of the next episode are chosen by."""
        self._seed: int = seed
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """Made when first needed: that takes as long as a short episode."""
        if self._rng is None:
            self._rng = np.random.default_rng(self._seed)
        return self._rng

    def begin_task(self, task: int) -> None:
        turn_to(self._policy, task)

    def begin_episode(self) -> None:
        self._seen.clear()
        self._memory = None

    def probabilities(self, observation: Any) -> NDArray[np.float64]:
        """Of each action at the next step of an episode, as the policy would explore."""
        self._seen.append(as_input(self._policy, observation))
        row = stacked(self._seen) if self._looks_back else self._seen[-1]
        probabilities: NDArray[np.float64] = self._policy.action_probabilities(stacked([row]))[0]
        return probabilities

    def act(self, observation: Any) -> Any:
        if self.kernels is not None:
            return self._policy.act_at_rest(observation)
        if self._chooses:
            return self._chosen(observation, None)
        return argmax_random_tie(self.probabilities(observation), self.rng)

    def explore(self, observation: Any) -> Any:
        """An action as the policy would explore."""
        if self._chooses:
            return self._chosen(observation, self.rng)
        probabilities = self.probabilities(observation)
        return int(self.rng.choice(len(probabilities), p=probabilities))

    def _chosen(self, observation: Any, rng: np.random.Generator | None) -> Any:
        actions, self._memory = self._policy.actions_at_rest(stacked([observation]), self._memory, rng)
        return actions[0]

    def observe(self, *step: Any) -> None: ...


def play_at_rest(player: EpisodePlayer, task: int, policy: AtRest, seed: int) -> Outcome:
    """An episode; an error in it is raised with the task."""
    policy.seed(seed)
    try:
        return player.play(task, policy, seed)
    except EpisodeFault as fault:
        raise EpisodeFault(f"task {task}: {fault}") from fault.__cause__
