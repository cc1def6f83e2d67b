"""MBCD's rule in place of ours: a rival, with the same light models of contexts.

L. N. Alegre, A. L. C. Bazzan and B. C. da Silva, *Minimum-delay adaptation in non-stationary reinforcement learning via
online high-confidence change-point detection*, AAMAS 2021: for every other context i, S_i <- max(0, S_i + log p_i - log
p_now) after each step, and the context whose sum first passes the threshold is the new one. One of these contexts is
that of which nothing is known. There, the models are ensembles of neural networks; here, only the rule is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from repertory.agents.inference import InferringAgent, InferTasks
from repertory.agents.protocol import AgentSetup, Episode, Opening
from repertory.errors import UsageError
from repertory.settings import other_default


@dataclass(frozen=True)
class MBCD(InferTasks):
    """Task inference by MBCD's CUSUM; the threshold is the authors'. There is no prior that contexts last."""

    threshold: float = other_default(InferTasks, "threshold", 300.0)

    def validate(self) -> None:
        super().validate()
        for name in ("hazard", "returns"):
            given, usual = getattr(self, name), getattr(InferTasks, name)
            if given != usual:
                raise UsageError(f"MBCD.{name} is {given}, and its rule knows nothing of it; valid: {usual}")

    def __call__(self, setup: AgentSetup) -> MBCDAgent:
        return MBCDAgent(self, self.agent_inside, setup)


class MBCDAgent(InferringAgent):
    """See the module. `memory.sums` has a place for each context, the first that is not open included."""

    def __init__(self, settings: InferTasks, make_inside: Any, setup: AgentSetup) -> None:
        super().__init__(settings, make_inside, setup)
        self.memory = self.memory._replace(sums=np.zeros(settings.max_contexts))

    def goes_on(self, opening: Opening) -> bool:
        return False

    def infer(self, seen: Any, episode: Episode) -> bool:
        sums, now = self.memory.sums, self.context
        log_now = self.models.score(now, seen)
        open_to = range(min(self.contexts + 1, len(sums)))
        for other in open_to:
            log_other = seen.log_new if other == self.contexts else self.models.score(other, seen)
            for ratio in (log_other - log_now).sum(axis=1).tolist():
                sums[other] = max(0.0, sums[other] + ratio)
        best = int(sums.argmax())
        if sums[best] > self.settings.threshold:
            if best == self.contexts:
                self.open()
            self.memory.belief[:] = np.eye(len(sums))[best]
            self.move(best)
        return True
