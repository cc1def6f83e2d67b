"""The agent seam: whatever chooses who plays can live a lifetime."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.agents.protocol import AgentSetup, Episode, Situation
from repertory.core.episode import EpisodePlayer
from repertory.core.lifetime import Monitor
from repertory.runs.opened import open_run
from repertory.testing import ConformanceError, check_agent

QUICK = repertory.DQN(learning_starts=60, buffer_size=300, net_arch=(8, 8))


class Growing:
    """Adds a policy every few episodes and plays the newest; the simplest agent whose number of policies changes."""

    every = 5
    opening_steps = 3

    def __init__(self, setup: AgentSetup) -> None:
        self._setup = setup
        self.policies = [setup.new_policy(0)]
        self.episodes = 0
        self.situations: list[Situation] = []
        self.openings: list[Any] = []

    def choose(self, situation: Situation, rng: np.random.Generator) -> int:
        self.situations.append(situation)
        if self.episodes and self.episodes % self.every == 0 and len(self.policies) < self._setup.policies:
            self.policies.append(self._setup.new_policy(len(self.policies)))
        return len(self.policies) - 1

    def ended(self, situation: Situation, episode: Episode) -> None:
        self.episodes += 1
        self.openings.append(episode.opening)

    def state_dict(self) -> dict[str, Any]:
        own = {"episodes": np.array(self.episodes), "count": np.array(len(self.policies))}
        return own | {
            f"{number}/{name}": array
            for number, policy in enumerate(self.policies)
            for name, array in policy.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.episodes = int(state["episodes"])
        self.policies = [self._setup.new_policy(number) for number in range(int(state["count"]))]
        for number, policy in enumerate(self.policies):
            prefix = f"{number}/"
            policy.load_state_dict({n[len(prefix) :]: a for n, a in state.items() if n.startswith(prefix)})


def live(agent: Any = "library", **more: Any) -> repertory.Record:
    return repertory.live("cartpole27", QUICK, 4, blocks=6, block_steps=150, agent=agent, **more)


def test_the_library_is_the_default_agent() -> None:
    default, named, built = live(), live("library"), live(repertory.PolicyLibrary())
    pd.testing.assert_frame_equal(default.blocks, named.blocks, check_exact=True)
    pd.testing.assert_frame_equal(default.blocks, built.blocks, check_exact=True)
    assert default.settings["agent"] == {"name": "library"}


def test_policies_may_come_during_a_life() -> None:
    blocks = live(Growing).blocks
    plays = blocks.filter(like="policy_")
    assert list(plays.columns) == [f"policy_{i}" for i in range(4)]
    assert (plays.sum(axis=1) == blocks["episodes"]).all()
    assert [int(plays.iloc[:, i].sum()) for i in range(3)] == [5, 5, 5]
    assert plays["policy_3"].iloc[0] == 0
    assert (plays.dtypes == np.int64).all()


class Crash(Exception):
    pass


class CrashAfterBlock(Monitor):
    def __init__(self, block: int) -> None:
        self.block = block

    def block_ended(self, tally: Any) -> None:
        if tally.block == self.block:
            raise Crash


def test_a_growing_agent_is_saved_resumed_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from repertory.report.page import page_content
    from repertory.report.sections import chapters
    from repertory.sweeps.results import read_results

    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    whole = live(Growing, out=tmp_path / "whole")
    for block in (0, 2, 4):
        with pytest.raises(Crash):
            live(Growing, out=tmp_path / "broken", monitors=[CrashAfterBlock(block)])
    broken = live(Growing, out=tmp_path / "broken")
    pd.testing.assert_frame_equal(whole.blocks, broken.blocks, check_exact=True)
    results = read_results(tmp_path)
    assert [len(run.blocks.filter(like="policy_").columns) for run in results.runs] == [4, 4]
    json.dumps(page_content(results, chapters(results)), allow_nan=False)
    with pytest.raises(repertory.UsageError, match="Growing"):
        open_run(tmp_path / "whole")  # the agent is not in the catalogue


def test_a_hidden_task_reaches_neither_agent_nor_learner() -> None:
    told: list[int] = []

    class Curious:
        def begin_task(self, task: int) -> None:
            told.append(task)

        def begin_episode(self) -> None: ...

        def act(self, observation: Any) -> int:
            return 0

        def observe(self, *transition: Any) -> None: ...

    options: dict[str, Any] = {"policies": 1, "blocks": 3, "block_steps": 30}
    record = repertory.live("cartpole27", lambda *_: Curious(), agent=Growing, hidden_tasks=True, **options)
    assert told == []
    assert {situation.task for situation in record.agent.situations} == {None}
    assert record.blocks["task"].nunique() > 1  # the record knows
    repertory.live("cartpole27", lambda *_: Curious(), agent=Growing, **options)
    assert len(set(told)) > 1


def test_a_library_without_the_task_is_one_bandit() -> None:
    record = live(hidden_tasks=True)
    assert record.agent.selector.state_dict()["values"].shape == (1, 4)


@pytest.mark.parametrize("steps", [1, 3, 500])
def test_the_opening_is_what_the_learner_saw_on_both_paths(steps: int) -> None:
    domain = repertory.domain("cartpole27")
    outcomes = []
    for compiled in (True, False):
        learner = QUICK(domain.observation_space, domain.action_space, 3)
        player = EpisodePlayer(domain, compiled=compiled, opening_steps=steps)
        outcomes.append(player.play(5, learner, seed=11))
    one, other = outcomes
    assert one[:2] == other[:2]
    assert len(one.opening.rewards) == min(steps, one.steps)
    for ours, theirs in zip(one.opening, other.opening, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(one.opening.observations[1:], one.opening.next_observations[:-1])
    assert one.opening.rewards.sum() == (one.total_reward if steps >= one.steps else min(steps, one.steps))
    assert list(np.flatnonzero(one.opening.terminated)) in ([], [one.steps - 1])


def test_asking_for_an_opening_changes_nothing() -> None:
    class Asking(Growing):
        opening_steps = 7

    class Silent(Growing):
        opening_steps = 0

    one, other = live(Asking), live(Silent)
    pd.testing.assert_frame_equal(one.blocks, other.blocks, check_exact=True)
    assert all(opening is None for opening in other.agent.openings)
    assert all(len(opening.rewards) == 7 for opening in one.agent.openings)


@pytest.mark.parametrize("agent", [repertory.PolicyLibrary(), Growing], ids=["library", "growing"])
def test_agents_conform(agent: Any) -> None:
    check_agent(agent, learner=QUICK)


def test_what_does_not_conform_is_told() -> None:
    class OutOfRange(Growing):
        def choose(self, situation: Situation, rng: np.random.Generator) -> int:
            return 99

    class Forgetful(Growing):
        def load_state_dict(self, state: Mapping[str, Any]) -> None:
            super().load_state_dict(state)
            self.episodes = 0

    class Unruly(Growing):
        def choose(self, situation: Situation, rng: np.random.Generator) -> int:
            super().choose(situation, rng)
            return int(np.random.default_rng().integers(len(self.policies)))

    for agent, message in (
        (OutOfRange, "does not exist; valid: 0 to 0"),
        (Forgetful, "another state"),
        (Unruly, "same seed differ"),
    ):
        with pytest.raises(ConformanceError, match=message):
            check_agent(agent, learner="random", blocks=8)
