"""The record of a lifetime: its blocks, its settings and the policies it trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.agents.protocol import Agent
from repertory.core import metrics
from repertory.core.tally import held_out_of, plays_by_task, recent_shares
from repertory.learners.protocol import Learner
from repertory.runs.record_html import record_html
from repertory.runs.saved_library import Library, Policy
from repertory.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Record:
    """What a lifetime leaves: its blocks, its settings and the policies it trained."""

    blocks: pd.DataFrame
    """A row per block: block, task, steps, episodes, total_reward, mean_return, last_return (of its last ten episodes),
    the episodes that each policy played (policy_0, policy_1, ...), and the health of the one that played most
    (health_q_largest, ...; see `repertory.learners.health`), every 20,000 steps or more; the policy spread
    (health_spread), every 1.5 million. If the agent had policies evaluated, evaluation_steps is how many steps that
    took, besides those of the block. If tasks are held out, held_out_0, ... are their scores, twenty times in a life,
    and held_out_policy_0, ... the policies that played them. Where all policies say what they take in memory, bytes is
    that sum at its end."""
    settings: dict[str, Any]
    agent: Agent
    observation_space: gymnasium.Space[Any]

    @property
    def policies(self) -> list[Learner]:
        """As they are at the end."""
        return list(self.agent.policies)

    def __repr__(self) -> str:
        name, policies = self.settings["domain"]["name"], counted(len(self.policies), "policy")
        return (
            f"Record of {counted(len(self.blocks), 'block')} of {name} with {policies}, score {self.lifetime_score:.4g}"
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        return record_html(self)

    def plot(self) -> Figure:
        """A matplotlib figure: score over the lifetime, and which policy plays which task by its end.

        `record.plot().savefig("lifetime.png")` writes it; a notebook shows it.
        """
        from repertory.runs.lifetime_figure import lifetime_figure  # slow to import, and often not needed

        return lifetime_figure(self.blocks, self.settings)

    def plot_tasks(self) -> Figure:
        """The same of each task: its score over the lifetime."""
        from repertory.runs.lifetime_figure import tasks_figure

        return tasks_figure(self.blocks, self.settings)

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

    def held_out(self) -> pd.DataFrame:
        """The scores of tasks that were held out: a row for each block in which they were played, a column for each."""
        scores, names = held_out_of(self.blocks), self.settings["domain"].get("held_out_names", [])
        return scores.rename(columns=dict(enumerate(names)))

    def plays(self) -> NDArray[np.int64]:
        """Episodes by (task, policy)."""
        return plays_by_task(self.blocks, len(self.settings["task_names"]))
