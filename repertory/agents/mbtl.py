"""Model-based transfer learning: each policy is trained alone, on a task of the method's choice; then the best plays.

How tasks are chosen is in `repertory.agents.source_choice`. Policies are trained one after the other, in equal shares
of the blocks, and never again. In the blocks that are left, nature chooses the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.library import OwnArrays, SavedInParts, policies_to_compare
from repertory.agents.protocol import AgentSetup, Episode, Frozen, Situation
from repertory.agents.source_choice import next_by_process, next_centre, scaled
from repertory.errors import UsageError
from repertory.settings import Settings, setting

NO_TASK = -1


@dataclass(frozen=True, kw_only=True)
class MBTL(Settings):
    """Model-based transfer learning (NeurIPS 2024): policies trained on a task each, and the best of them for any."""

    plans_by_blocks: ClassVar[bool] = True
    """What it does depends on how long the life is: one that is over cannot go on."""

    choice: str = setting(
        "gp",
        "Of the tasks to train on: at random; the centres of a k-means over contexts (M-MBTL); or where a Gaussian "
        "process over contexts expects most (GP-MBTL).",
        choices=("random", "kmeans", "gp"),
    )
    evaluation_episodes: int = setting(10, "Episodes to evaluate a policy on a task.", at_least=1)
    training_share: float = setting(
        0.9,
        "Share of the blocks in which policies are trained; in the rest, nature's tasks are played.",
        above=0,
        at_most=1,
    )

    def __call__(self, setup: AgentSetup) -> MBTLAgent:
        return MBTLAgent(self, setup)


class Memory(NamedTuple):
    """What decides who plays next, besides the policies."""

    blocks: NDArray[np.int64]
    """How many have begun, as the only element."""
    sources: NDArray[np.int64]
    """The task of each policy, as a place in `setup.tasks`."""
    transfers: NDArray[np.float64]
    """(policy, task): mean returns; minus infinity where they are not known yet."""


class MBTLAgent(SavedInParts):
    """Policies, and the tasks that they were trained on."""

    def __init__(self, settings: MBTL, setup: AgentSetup) -> None:
        self.policies, _n_tasks = policies_to_compare(setup, "MBTL")
        self._settings, self._tasks, self._evaluate = settings, list(setup.tasks), setup.evaluate
        self._place = {task: place for place, task in enumerate(self._tasks)}
        self._training_blocks = int(settings.training_share * setup.blocks + 1e-9)
        most = min(self._training_blocks, len(self._tasks))
        if setup.policies > most:
            raise UsageError(
                f"MBTL with {setup.policies} policies, {self._training_blocks} blocks to train in (training_share) and "
                f"{len(self._tasks)} tasks; valid: at most {most} policies, a block and a task for each"
            )
        self._points = None if setup.contexts is None else scaled(setup.contexts[self._tasks])
        if self._points is None and settings.choice != "random":
            raise UsageError(
                f"MBTL.choice is '{settings.choice}', which goes by contexts, and the domain has none "
                "(Domain.contexts); valid: 'random'"
            )
        self._memory = Memory(
            blocks=np.zeros(1, np.int64),
            sources=np.full(setup.policies, NO_TASK),
            transfers=np.full((setup.policies, len(self._tasks)), -np.inf),
        )

    @property
    def sources(self) -> list[int]:
        """The tasks that policies were trained on so far, in the order of the policies."""
        return [self._tasks[place] for place in self._memory.sources if place != NO_TASK]

    def next_task(self, rng: np.random.Generator) -> int | None:
        block, memory = int(self._memory.blocks[0]), self._memory
        memory.blocks[0] += 1
        if block >= self._training_blocks:
            self._evaluate_policies(len(self.policies))
            return None
        policy = self._trained_in(block)
        if memory.sources[policy] == NO_TASK:
            memory.sources[policy] = self._choose_source(policy, rng)
        return self._tasks[int(memory.sources[policy])]

    def _trained_in(self, block: int) -> int:
        return block * len(self.policies) // self._training_blocks

    def _choose_source(self, policy: int, rng: np.random.Generator) -> int:
        """The task of a policy, when those before it are trained."""
        sources = self._memory.sources[:policy].tolist()
        if self._points is None or self._settings.choice == "random":
            return int(rng.choice(np.setdiff1d(np.arange(len(self._tasks)), sources)))
        if self._settings.choice == "kmeans":
            return next_centre(self._points, sources)
        self._evaluate_policies(policy)
        return next_by_process(self._points, sources, self._memory.transfers[:policy])

    def _evaluate_policies(self, count: int) -> None:
        """The first so many on all tasks, those that were not before."""
        assert self._evaluate is not None
        for policy, returns in zip(self.policies[:count], self._memory.transfers, strict=False):
            if np.isneginf(returns).any():
                episodes = self._settings.evaluation_episodes
                returns[:] = [self._evaluate(policy, task, episodes) for task in self._tasks]

    def choose(self, situation: Situation, rng: np.random.Generator) -> int | Frozen:
        block = int(self._memory.blocks[0]) - 1
        if block < self._training_blocks:
            return self._trained_in(block)
        assert situation.task is not None
        return Frozen(int(self._memory.transfers[:, self._place[situation.task]].argmax()))

    def ended(self, situation: Situation, episode: Episode) -> None:
        """Policies learn by themselves."""

    def parts(self) -> dict[str, Any]:
        return {"mbtl": OwnArrays(self._memory._asdict()), **super().parts()}
