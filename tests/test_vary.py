"""Variants of one environment as tasks, and what is refused before any run."""

from __future__ import annotations

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation, TimeLimit

import repertory
from repertory.domains.vary import again, is_variation
from repertory.errors import UsageError


def test_all_combinations_and_they_take_effect() -> None:
    domain = repertory.vary("CartPole-v1", sutton_barto_reward=[False, True], gravity=np.linspace(5, 10, 2))
    assert domain.name == "CartPole-v1"
    assert domain.task_names[1] == "sutton_barto_reward=False, gravity=10"
    assert domain.distinct_tasks() == 4
    assert domain.env(2).unwrapped.gravity == 5  # an attribute
    assert domain.env(2).unwrapped._sutton_barto_reward is True  # an argument of the constructor
    np.testing.assert_array_equal(domain.contexts, [[0, 5], [0, 10], [1, 5], [1, 10]])
    assert repertory.vary("CartPole-v1", gravity=[5, 10], max_episode_steps=7).env(0).spec.max_episode_steps == 7


def test_contexts_by_name_and_by_number() -> None:
    named = repertory.contexts("CartPole-v1", {"moon": {"gravity": 1.6}, "earth": {}})
    assert named.task_names == ("moon", "earth")
    assert [named.env(task).unwrapped.gravity for task in (0, 1)] == [1.6, 9.8]
    numbered = repertory.contexts("CartPole-v1", {0: {"gravity": 1.6}, 1: {"gravity": 9.8, "length": 0.1}})
    assert numbered.task_names == ("gravity=1.6", "gravity=9.8, length=0.1")


def test_a_variation_can_be_made_again_from_its_record() -> None:
    domain = repertory.vary("CartPole-v1", gravity=[5.0, 10.0], wrappers=[FlattenObservation], score="reward per step")
    assert is_variation(domain.settings)
    same = again(domain.settings, domain.name)
    assert (same.name, same.task_names, same.settings, same.score) == (
        domain.name,
        domain.task_names,
        domain.settings,
        domain.score,
    )
    assert [same.trajectory(task, 50) for task in (0, 1)] == [domain.trajectory(task, 50) for task in (0, 1)]
    limited = repertory.vary("CartPole-v1", wrappers=[functools.partial(TimeLimit, max_episode_steps=3)])
    assert not is_variation(limited.settings)  # code that only its user has


class Walk(gymnasium.Env):
    """A walk of ten steps in one dimension."""

    observation_space = gymnasium.spaces.Dict({"place": gymnasium.spaces.Box(-99, 99, (1,), np.float32)})
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, stride: float = 1.0) -> None:
        self.stride, self.unused, self.limits = stride, 0, np.zeros(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.place = 0, float(self.np_random.random())
        return {"place": np.array([self.place], np.float32)}, {}

    def step(self, action):
        self.steps += 1
        self.place += self.stride * (1 if action else -1)
        return {"place": np.array([self.place], np.float32)}, self.place, False, self.steps == 10, {}


class Restless(Walk):
    """One whose seed decides nothing."""

    def reset(self, *, seed=None, options=None):
        return super().reset()


class Seedless(Walk):
    def reset(self):
        return super().reset()


class Mirror(gymnasium.ActionWrapper):
    def action(self, action):
        return 1 - action


def test_wrappers_of_all_tasks_and_of_one() -> None:
    domain = repertory.vary(Walk, stride=[1.0, 2.0], wrappers=["FlattenObservation"])
    assert domain.observation_space.shape == (1,)
    assert domain.is_described
    mirrored = repertory.tasks([Walk, Walk], names=["plain", "mirror"], wrappers={"mirror": [Mirror]})
    assert mirrored.distinct_tasks() == 2
    assert isinstance(mirrored.env(1), Mirror)
    with pytest.raises(UsageError, match="wrappers are for the task 'mirrored'; valid: 0 to 1, or a task's name"):
        repertory.tasks([Walk, Walk], names=["plain", "mirror"], wrappers={"mirrored": [Mirror]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: repertory.vary("CartPole-v1", gravity=[5, 9], masscart=[1, 2]),
            r"^masscart has no effect: tasks 0 \(",
        ),
        (lambda: repertory.vary(Walk, unused=[1, 2]), r"^unused has no effect: tasks 0 \(unused=1\)"),
        (lambda: repertory.contexts(Walk, [{}, {"stride": 1.0}]), "^stride has no effect"),
        (lambda: repertory.vary(Restless, stride=[1, 2]), r"task 0 \(stride=1\) of Restless does not obey its seed"),
        (lambda: repertory.tasks([Restless]), "does not obey its seed"),
        (lambda: repertory.tasks([Walk, Restless]), r"task 1 \(Restless\) of tasks does not obey its seed"),
        (lambda: repertory.tasks([Walk, Seedless]), r"task 1 \(Seedless\) of tasks has a reset without a seed"),
        (lambda: repertory.vary("CartPole-v1", gravty=[1]), "'gravty'; did you mean 'gravity'"),
        (lambda: repertory.vary("CartPole-v99"), "CartPole-v99 cannot be made"),
        (lambda: repertory.vary("no_such_module:Thing-v0"), "no_such_module:Thing-v0 cannot be made: No module named"),
        (lambda: repertory.vary(Walk, stride=[]), "stride has no values"),
        (lambda: repertory.vary(Walk, stride=[1, 1]), "two tasks are both stride=1"),
        (lambda: repertory.vary(Walk, limits=[[1, 2, 3]]), "limits of Walk cannot be"),
        (lambda: repertory.vary(Walk, stride=[1], wrappers=["Flatten"]), "did you mean 'FlattenObservation'"),
        (lambda: repertory.contexts(Walk, [3]), "valid: a dictionary of contexts"),
    ],
)
def test_refused_in_one_line_before_any_run(make, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)


def test_a_strangers_record_imports_nothing() -> None:
    assert not is_variation({"env": "antigravity:Thing-v0", "contexts": {"a": {}}})
    assert not is_variation({"env": "CartPole-v1", "contexts": {"a": {}}, "wrappers": ["antigravity:Wrap"]})


def test_an_effect_that_comes_late_can_be_vouched_for() -> None:
    assert repertory.vary("CartPole-v1", max_episode_steps=[300, 500], check=False).n_tasks == 2
