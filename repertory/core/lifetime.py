"""Lifetime Policy Reuse: the paper's Algorithm 1, whole.

A lifetime is a sequence of blocks; a block presents one task for a budget of steps; every episode of it is played
by one policy, which the agent chooses and which acts and learns as it would alone. In the paper, the agent is a fixed
library of policies with a selector (`repertory.agents.library`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.agents.protocol import Choice, Episode, Frozen, Reusing, Situation, can_be_saved, news_of, opening_steps
from repertory.core.at_rest import AtRest
from repertory.core.episode import EpisodePlayer, Outcome
from repertory.core.evaluator import Evaluator
from repertory.core.held_out import HeldOut
from repertory.core.reuse import Reuse
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.core.spread import spread_if_any
from repertory.core.tally import BlockTally, block_table
from repertory.domains.domain import Domain
from repertory.errors import EpisodeFault, shown
from repertory.learners.compiled_policy import bytes_held
from repertory.learners.health import measured

HEALTH_STEPS = 20_000
"""From one measurement of health to the next, at least: so that it costs next to nothing."""
SPREAD_STEPS = 1_500_000
"""The same for the spread of the policies, which takes longer; 25 blocks of Cartpole, as the paper's curves have it."""


class Pause(Exception):
    """A monitor raises this at the end of a block to stop the run there; its folder can be resumed."""


class Monitor:
    """Hears how a lifetime is going: for progress bars, logs, checkpoints. Override the methods that you need.

    One that raises `Pause` at the end of a block stops the run there, with all that it needs to be resumed.
    """

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        """Before the first episode, or the first after a checkpoint."""

    def episode_ended(self, tally: BlockTally) -> None:
        """`tally` is of the current block."""

    def block_ended(self, tally: BlockTally) -> None: ...

    def lifetime_ends(self) -> None:
        """After the last block, or after an error."""


class Lifetime:
    """An agent and a task sequence, and how far they have come. It can be saved if the agent can."""

    def __init__(
        self,
        domain: Domain,
        agent: Any,
        sequence: NDArray[np.int64],
        block_steps: int,
        seed: int,
        run: int,
        hidden_tasks: bool = False,
        window: int = 1,
        evaluator: Evaluator | None = None,
        held_out: HeldOut | None = None,
    ) -> None:
        """`window` is how many observations the policies look back on; `evaluator` is the one that the agent asks;
        `held_out` plays the tasks that are not of this life."""
        self._domain = domain
        self._window = window
        self.agent = agent
        self.sequence = sequence
        self.block_steps = block_steps
        self.rows: list[dict[str, Any]] = []
        self._tally: BlockTally | None = None
        """The current block, if one has begun."""
        self._steps_before = 0
        """Of all finished blocks."""
        self._hidden_tasks = hidden_tasks
        self._task_names = domain.task_names
        self._player = EpisodePlayer(domain, opening_steps=opening_steps(agent))
        self._evaluator = evaluator or Evaluator(domain, seed, run, window)
        self._held_out = held_out
        self._select_rng = generator(seed, "select", run)
        self._env_rng = generator(seed, "env", run)

    @property
    def policies(self) -> Sequence[Any]:
        """The agent's, as many as there are now."""
        policies: Sequence[Any] = self.agent.policies
        return policies

    @property
    def score_kind(self) -> str:
        """How its blocks are scored."""
        return self._domain.score

    @property
    def task_names(self) -> Sequence[str]:
        return self._task_names

    def live(self, monitors: Sequence[Monitor] = ()) -> None:
        """Run all blocks that are left."""
        for monitor in monitors:
            monitor.lifetime_begins(self)
        try:
            self._live_blocks(monitors)
        finally:
            for monitor in monitors:
                monitor.lifetime_ends()

    def _live_blocks(self, monitors: Sequence[Monitor]) -> None:
        for block in range(len(self.rows), len(self.sequence)):
            tally = self._tally or BlockTally(block, self._task_of(block), len(self.policies))
            self._tally = tally
            self._live_block(tally, monitors)
            if self._is_due(tally, HEALTH_STEPS):
                tally.health = measured(self.policies[tally.most_played])
            if self._is_due(tally, SPREAD_STEPS):
                spread = spread_if_any(self._domain, self.policies, self._window)
                tally.health |= {} if spread is None else {"spread": spread}
            if self._held_out is not None and self._held_out.is_due(block):
                tally.held_out = self._held_out.scores(self.policies)
            tally.evaluation_steps += self._evaluator.steps_since()
            tally.events = news_of(self.agent)
            tally.bytes = bytes_held(self.policies)
            if tally.bytes is not None:
                tally.bytes += int(getattr(self.agent, "other_bytes", 0))
            self.rows.append(tally.row())
            self._steps_before += tally.steps
            self._tally = None
            for monitor in monitors:
                monitor.block_ended(tally)

    def _task_of(self, block: int) -> int:
        """What the agent asks for, if it may and does; else what the sequence has."""
        ask = None if self._hidden_tasks else getattr(self.agent, "next_task", None)
        asked = None if ask is None else ask(self._select_rng)
        if asked is None:
            return int(self.sequence[block])
        if not 0 <= asked < self._domain.n_tasks:
            raise EpisodeFault(
                f"the agent asked for task {shown(asked)} in block {block}; valid: 0 to {self._domain.n_tasks - 1}, "
                "or none for the one that comes"
            )
        return int(asked)

    def _is_due(self, tally: BlockTally, every: int) -> bool:
        """In the blocks in which the life passes a multiple of so many steps."""
        return (self._steps_before + tally.steps) // every > self._steps_before // every

    def _live_block(self, tally: BlockTally, monitors: Sequence[Monitor]) -> None:
        """Episodes of one task until the block's steps are used up; the running episode is finished."""
        situation = Situation(None if self._hidden_tasks else tally.task)
        while tally.steps < self.block_steps:
            choice = self.agent.choose(situation, self._select_rng)
            policy = choice.policy if isinstance(choice, (Frozen, Reusing)) else choice
            episode_seed = int(self._env_rng.integers(EPISODE_SEEDS))
            outcome = self._play(tally, policy, episode_seed, choice)
            tally.add(policy, outcome.total_reward, outcome.steps)
            self.agent.ended(situation, Episode(policy, outcome.total_reward, outcome.steps, outcome.opening))
            for monitor in monitors:
                monitor.episode_ended(tally)

    def _play(self, tally: BlockTally, policy: int, episode_seed: int, choice: Choice) -> Outcome:
        """One episode; an error in it is raised with the task and the policy."""
        others = (choice.past,) if isinstance(choice, Reusing) else ()
        if not all(0 <= number < len(self.policies) for number in (policy, *others)):
            raise EpisodeFault(
                f"{self._where(tally, policy)}: the agent chose a policy that does not exist; valid: 0 to "
                f"{len(self.policies) - 1}"
            )
        try:
            learner = self._learner_of(choice, episode_seed)
            outcome = self._player.play(tally.task, learner, episode_seed, not self._hidden_tasks)
        except EpisodeFault as fault:
            raise EpisodeFault(f"{self._where(tally, policy)}: {fault}") from fault.__cause__
        if not math.isfinite(outcome.total_reward):
            raise EpisodeFault(
                f"{self._where(tally, policy)}: an episode of {outcome.steps} steps gave a return that is not finite"
            )
        return outcome

    def _learner_of(self, choice: Choice, episode_seed: int) -> Any:
        """What plays the episode."""
        if isinstance(choice, Reusing):
            return Reuse(self.policies, choice, int(getattr(self._domain.action_space, "n", 0)), episode_seed)
        if isinstance(choice, Frozen):
            at_rest = AtRest(self.policies[choice.policy], choice.policy, self._window)
            at_rest.seed(episode_seed)
            return at_rest
        return self.policies[choice]

    def _where(self, tally: BlockTally, policy: int) -> str:
        return f"task {tally.task} ({self._task_names[tally.task]}), policy {policy}, block {tally.block}"

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything that decides the rest of the lifetime, between two episodes: arrays by name, and plain values."""
        if self._tally is not None:
            self._tally.evaluation_steps += self._evaluator.steps_since()
        values = {
            "rows": self.rows,
            "tally": None if self._tally is None else self._tally.state(),
            "select": self._select_rng.bit_generator.state,
            "env": self._env_rng.bit_generator.state,
        }
        return self.agent.state_dict(), values

    def load_state(
        self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any], has_grown: bool = False
    ) -> None:
        """Become the lifetime that `state` described; one that `has_grown` had fewer tasks then."""
        if has_grown:
            self.agent.load_grown(arrays)
        else:
            self.agent.load_state_dict(arrays)
        self.rows = list(values["rows"])
        self._steps_before = sum(int(row["steps"]) for row in self.rows)
        self._tally = None if values["tally"] is None else BlockTally.from_state(values["tally"], len(self.policies))
        self._select_rng.bit_generator.state = values["select"]
        self._env_rng.bit_generator.state = values["env"]

    @property
    def steps(self) -> int:
        """Run so far, those of the current block included."""
        return self._steps_before + (0 if self._tally is None else self._tally.steps)

    @property
    def steps_under_way(self) -> int | None:
        """Of the episode that is being played, none where that is not known: for other threads, which may ask at any
        time."""
        return self._player.under_way.steps

    @property
    def can_be_saved(self) -> bool:
        """Whether the agent and all its policies have `state_dict` and `load_state_dict`."""
        return can_be_saved(self.agent)

    def close(self) -> None:
        """Close the environments."""
        self._player.close()
        self._evaluator.close()
        if self._held_out is not None:
            self._held_out.close()

    @property
    def blocks(self) -> pd.DataFrame:
        """The finished blocks, as `record.blocks` has them."""
        return block_table(self.rows, len(self.policies))
