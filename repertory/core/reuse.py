"""A policy that learns while another, which stays as it is, often acts in its place: pi-reuse.

F. Fernandez and M. Veloso, *Probabilistic policy reuse in a reinforcement learning agent*, AAMAS 2006. At step h of an
episode, with probability psi(h) the action is the past policy's; otherwise it is the new policy's own with probability
1 - psi(h), else a random one. psi(h + 1) = upsilon psi(h). The new policy learns from every step.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.protocol import Reusing
from repertory.core.at_rest import AtRest
from repertory.errors import UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.handle import pack
from repertory.kernels.layout import allocate, layout
from repertory.kernels.streams import below, new_stream, uniform
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.protocol import LearnerKernels

MIXTURE = layout(
    [
        ("stream", np.uint64, (4,)),
        *((name, np.float64, ()) for name in ("psi", "upsilon", "psi_now")),
        ("actions", np.int64, ()),
    ]
)
OTHER_STREAM = 2**32
"""Episode seeds are smaller: what is drawn here is not what the environment draws."""


class Arrays(NamedTuple):
    """What a compiled episode needs of both policies."""

    new: Any
    past: Any
    mixture: NDArray[Any]


@cache
def reuse_kernels(of_policy: LearnerKernels) -> LearnerKernels:
    """Of a policy that learns while another of its kind is reused."""
    begin_new, act_new, observe_new = of_policy.begin_episode, of_policy.act, of_policy.observe
    act_past = of_policy.act_at_rest
    assert act_past is not None

    @kernel
    def begin_episode(reuse: Arrays) -> None:
        mixture = reuse.mixture[0]
        mixture.psi_now = mixture.psi
        begin_new(reuse.new)

    @kernel
    def act(reuse: Arrays, observation: NDArray[np.float32]) -> int:
        mixture = reuse.mixture[0]
        psi = mixture.psi_now
        mixture.psi_now = psi * mixture.upsilon
        if uniform(mixture.stream) < psi:
            return act_past(reuse.past, observation)
        if uniform(mixture.stream) < 1.0 - psi:
            return act_new(reuse.new, observation)
        return below(mixture.stream, mixture.actions)

    @kernel
    def observe(
        reuse: Arrays,
        observation: NDArray[np.float32],
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
        truncated: bool,
    ) -> None:
        observe_new(reuse.new, observation, action, reward, next_observation, terminated, truncated)

    return LearnerKernels(begin_episode, act, observe)


class Reuse:
    """One episode of a new policy with a past one; compiled where both are, of the same kind."""

    kernels: LearnerKernels | None = None

    def __init__(self, policies: Any, choice: Reusing, actions: int, seed: int) -> None:
        self._new, past = policies[choice.policy], policies[choice.past]
        check_can_reuse(self._new)
        self._past = AtRest(past, choice.past)
        self._past.seed(seed)
        mixture = allocate(MIXTURE)
        mixture["psi"], mixture["upsilon"], mixture["actions"] = choice.psi, choice.upsilon, actions
        mixture["stream"] = new_stream(seed + OTHER_STREAM)
        self._mixture = mixture[0]
        if isinstance(self._new, CompiledPolicy) and type(past) is type(self._new) and self._past.kernels is not None:
            self.kernels = reuse_kernels(self._new.kernels)
            self.inputs, self.actions = self._new.inputs, self._new.actions
            self._arrays = past.arrays, mixture

    @property
    def handle(self) -> Any:
        """Made when the episode begins: with the task, the arrays of the new policy may change."""
        return pack(Arrays(self._new.arrays, *self._arrays))

    def begin_task(self, task: int) -> None:
        """The one that learns may want to know."""
        begin_task = getattr(self._new, "begin_task", None)
        if begin_task is not None:
            begin_task(task)

    def begin_episode(self) -> None:
        self._mixture["psi_now"] = self._mixture["psi"]
        self._new.begin_episode()
        self._past.begin_episode()

    def act(self, observation: Any) -> Any:
        mixture, psi = self._mixture, float(self._mixture["psi_now"])
        mixture["psi_now"] = psi * mixture["upsilon"]
        if uniform(mixture["stream"]) < psi:
            return self._past.act(observation)
        if uniform(mixture["stream"]) < 1.0 - psi:
            return self._new.act(observation)
        return below(mixture["stream"], int(mixture["actions"]))

    def observe(self, *step: Any) -> None:
        self._new.observe(*step)


def check_can_reuse(policy: Any) -> None:
    """Refuse learners that have to choose their actions themselves."""
    if not getattr(policy, "learns_off_policy", False):
        raise UsageError(
            f"{type(policy).__name__} does not learn from actions that another policy chose; valid where policies are "
            "reused: a learner with learns_off_policy, such as q-table or dqn"
        )
