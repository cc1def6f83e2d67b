"""Domains from lists of Gymnasium environments, and what goes wrong with other people's code."""

from __future__ import annotations

import functools
import math
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.errors import EpisodeFault, UsageError
from repertory.runs.checkpoint import read_checkpoint

CARTS = [("CartPole-v1", {"sutton_barto_reward": flag}) for flag in (False, True)]


def test_ids_kwargs_and_functions() -> None:
    domain = repertory.tasks([*CARTS, lambda: gymnasium.make("CartPole-v0")], check=False)
    assert domain.n_tasks == 3
    assert domain.task_names[1] == "CartPole-v1 (sutton_barto_reward=True)"
    assert domain.env(0).spec.id == "CartPole-v1"
    named = repertory.tasks(CARTS, names=["plain", "barto"], name="carts")
    assert (named.name, named.task_names) == ("carts", ("plain", "barto"))
    twice = repertory.tasks(["CartPole-v1", "CartPole-v1"], check=False)
    assert twice.task_names == ("0: CartPole-v1", "1: CartPole-v1")
    lake = functools.partial(gymnasium.make, "FrozenLake-v1", is_slippery=False)
    assert "is_slippery=False" in repertory.tasks([lake]).task_names[0]


def test_tasks_that_are_alike_are_warned_about() -> None:
    with pytest.warns(UserWarning, match="behave alike"):
        repertory.tasks(["CartPole-v1", "CartPole-v1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repertory.tasks(CARTS)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([], "valid: a list of ids"),
        ("CartPole-v1", "valid: a list of ids"),
        ([3], "task 0 is 3"),
        (["NoSuchEnv-v9"], "task 0, NoSuchEnv-v9"),
        ([("CartPole-v1", {"gravity": 3})], "cannot be made"),
        (["CartPole-v1", "MountainCar-v0"], "task 1 of tasks has other spaces"),
        ([lambda: 5], "makes a int"),
    ],
)
def test_bad_lists(specs: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        repertory.tasks(specs)


def test_names_must_fit() -> None:
    with pytest.raises(UsageError, match="valid: 2 different ones"):
        repertory.tasks(CARTS, names=["one"])


class Fields(gymnasium.Env):
    """Four fields in a row; the goal is the last."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.field, self.steps = 0, 0
        return self.field, {}

    def step(self, action):
        self.steps += 1
        self.field = min(max(self.field + (1 if action else -1), 0), 3)
        return self.field, float(self.field == 3), self.field == 3, self.steps >= 20, {}


def test_built_in_learners_take_choices_as_observations() -> None:
    """A field of four is one-hot to a DQN."""
    domain = repertory.tasks([Fields])
    learner = repertory.DQN(learning_starts=50, buffer_size=500)
    record = repertory.live(domain, learner, 2, blocks=2, block_steps=300)
    assert record.policies[0].inputs == 4
    q = record.policies[0].q_values(np.eye(4, dtype=np.float32))
    assert [record.library().policies[0].predict(field) for field in range(4)] == q.argmax(axis=1).tolist()
    with pytest.raises(UsageError, match="observes numbers or choices"):
        repertory.DQN()(gymnasium.spaces.Text(5), gymnasium.spaces.Discrete(2), 0)


class Faulty(gymnasium.Env):
    """A corridor that does something wrong at its 30th step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.total = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.steps += 1
        self.total += 1
        reward = 1.0
        if self.total == 300:
            if self.fault == "raises":
                raise ValueError("the motor is on fire")
            if self.fault == "nan":
                reward = math.nan
        return np.full(4, self.steps / 20, np.float32), reward, self.steps == 20, False, {}


class WrongAction(repertory.Random().__class__):
    """Settings of a learner whose 300th action is none."""

    def __call__(self, observation_space, action_space, seed):
        return Stray()


class Stray:
    def __init__(self) -> None:
        self.count = 0

    def begin_episode(self) -> None: ...

    def act(self, observation):
        self.count += 1
        return 7 if self.count == 300 else 0

    def observe(self, *step) -> None: ...

    def state_dict(self):
        return {"count": np.array(self.count)}

    def load_state_dict(self, state) -> None:
        self.count = int(state["count"])


@pytest.mark.parametrize(
    ("fault", "learner", "message"),
    [
        ("raises", repertory.Random(), "at step 19 the environment raised ValueError: the motor is on fire"),
        ("nan", repertory.Random(), "at step 19 the environment gave the reward nan"),
        ("", WrongAction(), "at step 19 the learner acted 7, which is not in Discrete"),
    ],
)
def test_a_fault_names_task_policy_and_step_and_spares_the_checkpoint(
    fault: str, learner: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    domain = repertory.tasks([functools.partial(Faulty, fault)], names=["corridor"], check=False)
    with pytest.raises(EpisodeFault, match=message) as caught:
        repertory.live(domain, learner, 1, blocks=20, block_steps=40, out=tmp_path / "run")
    assert str(caught.value).startswith("task 0 (corridor), policy 0, block 7: ")
    checkpoint = read_checkpoint(tmp_path / "run" / "checkpoint.npz")
    assert len(checkpoint.values["rows"]) == 7  # every block before
    if fault == "raises":
        assert isinstance(caught.value.__cause__, ValueError)


def test_a_learner_that_raises_is_named() -> None:
    class Broken(Stray):
        def observe(self, *step) -> None:
            raise KeyError("weights")

    domain = repertory.tasks([Faulty], names=["corridor"], check=False)
    with pytest.raises(EpisodeFault, match=r"policy 0, block 0: at step 0 the learner raised KeyError"):
        repertory.live(domain, lambda o, a, s: Broken(), 1, blocks=1, block_steps=10)


def test_a_run_with_other_task_code_is_another_run(tmp_path: Path) -> None:
    def live(steps: int) -> None:
        domain = repertory.tasks([functools.partial(Faulty, str(steps))], names=["corridor"], check=False)
        repertory.live(domain, repertory.Random(), 1, blocks=1, block_steps=40, out=tmp_path / "run")

    live(1)
    with pytest.raises(UsageError, match="holds a run with other settings"):
        live(2)
    live(1)  # finished: its record, without a step
    with pytest.raises(UsageError, match="score is 'fame'; valid: mean return or reward per step"):
        repertory.tasks(["CartPole-v1"], score="fame")


def test_a_selector_must_choose_a_policy() -> None:
    class Off:
        def select(self, task: int, rng: np.random.Generator) -> int:
            return -1

        def update(self, *episode: object) -> None: ...

    with pytest.raises(EpisodeFault, match="the agent chose a policy that does not exist; valid: 0 to 1"):
        repertory.live("cartpole27", "random", 2, lambda t, p, rng: Off(), blocks=1, block_steps=20)
