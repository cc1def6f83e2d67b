"""The record of a lifetime: its blocks, its settings and the policies it trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.agents.protocol import Agent
from repertory.core import metrics
from repertory.core.tally import plays_by_task, recent_shares
from repertory.learners.protocol import Learner
from repertory.runs.saved_library import Library, Policy


@dataclass(frozen=True)
class Record:
    """What a lifetime leaves: its blocks, its settings and the policies it trained."""

    blocks: pd.DataFrame
    """A row per block: block, task, steps, episodes, total_reward, mean_return, last_return (of its last ten episodes),
    the episodes that each policy played (policy_0, policy_1, ...), and the health of the one that played most
    (health_q_largest, ...; see `repertory.learners.health`), every 20,000 steps or more; the policy spread
    (health_spread), every 1.5 million. If the agent had policies evaluated, evaluation_steps is how many steps that
    took, besides those of the block. Where all policies say what they take in memory, bytes is that sum at its end."""
    settings: dict[str, Any]
    agent: Agent
    observation_space: gymnasium.Space[Any]

    @property
    def policies(self) -> list[Learner]:
        """As they are at the end."""
        return list(self.agent.policies)

    def __repr__(self) -> str:
        name, policies = self.settings["domain"]["name"], len(self.policies)
        return (
            f"Record of {len(self.blocks)} blocks of {name} with {policies} policies, score {self.lifetime_score:.4g}"
        )

    @property
    def lifetime_score(self) -> float:
        """Mean score of all blocks: mean return or reward per step, as the domain is scored."""
        return metrics.lifetime_score(self.blocks, self.settings["score"])

    @property
    def final_score(self) -> float:
        """Mean score of the last ten blocks."""
        return metrics.final_score(self.blocks, self.settings["score"])

    @property
    def divergence(self) -> metrics.Divergence | None:
        """When the values of a policy passed what any return can be; None for a sound life."""
        return metrics.divergence(self.blocks)

    def library(self) -> Library:
        """The policies, and which of them plays which task by now."""
        policies = [Policy(number, each, self.observation_space) for number, each in enumerate(self.policies)]
        return Library(policies, recent_shares(self.blocks, len(self.settings["task_names"])), self.settings)

    def save(self, path: str | Path, for_training: bool = False) -> None:
        """Write the library to a file that `repertory.load` reads; see `Library.save`."""
        self.library().save(path, for_training)

    def plays(self) -> NDArray[np.int64]:
        """Episodes by (task, policy)."""
        return plays_by_task(self.blocks, len(self.settings["task_names"]))
