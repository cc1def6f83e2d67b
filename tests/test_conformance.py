"""The conformance suite lets good learners and domains pass, and says what is wrong with bad ones."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from every_learner import every_learner

import repertory
from repertory import catalogue
from repertory.domains.minigrid import FAMILIES
from repertory.learners.random import RandomLearner
from repertory.testing import ConformanceError, check_domain, check_learner

SMALL = {"learning_starts": 60, "buffer_size": 200, "target_update_interval": 100}
BUILT_IN = every_learner(**SMALL) | {
    "dqn by task": ("cartpole27", repertory.DQN(**SMALL, memory="task-matching")),
}
LARGE = ("cartpole125", "cartpole1000")
"""As cartpole27, but slow to check."""
DOMAINS = [name for name in catalogue.BUILT_IN["domains"] if name not in (*LARGE, *FAMILIES, "continual-world")]


def short(name: str, max_steps: int) -> repertory.Domain:
    """A domain; of POcman, whose episodes never end by themselves, with short ones."""
    return repertory.domain(name, **({"max_steps": max_steps} if name == "pocman18" else {}))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_learners_conform(name: str) -> None:
    domain, settings = BUILT_IN[name]
    check_learner(settings, short(domain, 40), steps=200)


@pytest.mark.parametrize("name", DOMAINS)
def test_built_in_domains_conform(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_domain(short(name, 200))


# ------------------------------------------------------------------------------------------------- learners


class Coin:
    """A learner that does everything right: it draws actions from a generator of its own, and counts."""

    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        self.rng = np.random.Generator(np.random.MT19937(seed))
        self.total = np.zeros(1)

    def begin_episode(self) -> None: ...

    def act(self, observation: Any) -> int:
        return int(self.rng.random() < 0.5)

    def observe(self, observation, action, reward, next_observation, terminated, truncated) -> None:
        self.total += reward

    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        return np.full((len(observations), 2), 0.5)

    def state_dict(self) -> dict[str, np.ndarray]:
        words = self.rng.bit_generator.state["state"]
        return {"total": self.total.copy(), "key": words["key"], "pos": np.array(words["pos"])}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        self.total = state["total"].copy()
        words = {"key": state["key"], "pos": int(state["pos"])}
        self.rng.bit_generator.state = self.rng.bit_generator.state | {"state": words}


class NoObserve(Coin):
    observe = None


class ShortObserve(Coin):
    def observe(self, observation, action, reward) -> None: ...


class SavesOnly(Coin):
    def __getattribute__(self, name: str) -> Any:
        if name == "load_state_dict":
            raise AttributeError(name)
        return super().__getattribute__(name)


class SeventhAction(Coin):
    def act(self, observation: Any) -> int:
        return 7


class Scribbler(Coin):
    def act(self, observation: Any) -> int:
        observation /= 2.0
        return super().act(observation)


class SharedGenerator(Coin):
    def act(self, observation: Any) -> int:
        return int(np.random.random() < 0.5)  # noqa: NPY002


class SeedIgnored(Coin):
    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        super().__init__(observation_space, action_space, 0)


class Unsure(Coin):
    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        return np.full((len(observations), 2), 0.4)


class OneProbability(Coin):
    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        return np.array([0.5, 0.5])


class SavesNumbers(Coin):
    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"total": float(self.total[0])}


class SavesObjects(Coin):
    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"settings": np.array({"a": 1}, dtype=object)}


class SavesViews(Coin):
    def state_dict(self) -> dict[str, np.ndarray]:
        return super().state_dict() | {"total": self.total}


class MovedByLooking(Coin):
    def state_dict(self) -> dict[str, np.ndarray]:
        self.rng.random()
        return super().state_dict()


class ForgetsItsGenerator(Coin):
    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        self.total = state["total"].copy()


class AddsWhenLoading(Coin):
    """All its actions are right after loading, its memory is not."""

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state_dict(state | {"total": self.total + state["total"]})


class CountsTogether(Coin):
    """All learners of the class count their steps together, from when the newest of them was made."""

    count: ClassVar[int] = 0
    state_dict = load_state_dict = property()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        CountsTogether.count = 0

    def act(self, observation: Any) -> int:
        CountsTogether.count += 1
        return super().act(observation) if CountsTogether.count < 60 else 0


class TwoFaced(RandomLearner):
    """Compiled, it does something else than in Python."""

    def act(self, observation: Any) -> int:
        return 1 - super().act(observation)


BROKEN_LEARNERS: dict[type, str] = {
    NoObserve: r"protocol: NoObserve has no method observe\(observation, action, reward, next_observation",
    ShortObserve: r"protocol: ShortObserve.observe cannot be called as observe\(.*too many positional arguments",
    SavesOnly: "protocol: state_dict and load_state_dict go together",
    SeventhAction: r"actions: act returned 7 at step 0 of an episode of task 0; valid: Discrete\(2\)",
    Scribbler: "observations: the learner wrote into one at step 0",
    SharedGenerator: r"determinism: two learners of one seed did not do the same \(episode 0, step \d+: action",
    SeedIgnored: r"seeds: learners of seeds 0 and 1 did the same in \d+ steps; pass seeds_matter=False",
    Unsure: "action_probabilities: a row is not of numbers from 0 that sum to 1",
    OneProbability: r"action_probabilities: shape \(2,\); valid: \(\d+, 2\)",
    SavesNumbers: r"saving: state_dict\(\)\['total'\] is a float; valid: names with NumPy arrays",
    SavesObjects: r"saving: state_dict\(\)\['settings'\] is a ndarray of Python objects; valid: numbers, no pickles",
    SavesViews: r"saving: state_dict\(\)\['total'\] changed while the learner played on; valid: a copy",
    MovedByLooking: r"saving: a learner that was looked into \(.*\) did not continue as before",
    ForgetsItsGenerator: "loading: a fresh learner that loaded the state did not continue as the one saved",
    AddsWhenLoading: r"loading: a used learner that went on from the state ended in another state \(total\)",
    CountsTogether: "independence: a learner did something else because another one of the factory played",
    TwoFaced: "library: a compiled lifetime has other rewards or steps than the same one in Python",
}


def test_a_good_learner_passes() -> None:
    check_learner(Coin, steps=100)


@pytest.mark.parametrize("learner", BROKEN_LEARNERS, ids=lambda learner: learner.__name__)
def test_what_is_wrong_with_a_learner_is_said(learner: type) -> None:
    with pytest.raises(ConformanceError, match=BROKEN_LEARNERS[learner]):
        check_learner(learner, steps=100)


def test_a_learner_without_chance_may_ignore_its_seed() -> None:
    check_learner(SeedIgnored, steps=100, seeds_matter=False)


# -------------------------------------------------------------------------------------------------- domains


class Walk(gymnasium.Env):
    """A random walk on a line, which is over at either end."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, task: int) -> None:
        self.bias = 0.1 * task

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0.0
        return self.look(), {}

    def step(self, action: int) -> Any:
        self.place += self.bias + (1.0 if action else -1.0) * self.np_random.random()
        return self.look(), self.place, abs(self.place) > 4, False, {}

    def look(self) -> np.ndarray:
        return np.array([self.place], np.float32)


def domain(make_env: Callable[[int], Any] = Walk, **changes: Any) -> repertory.Domain:
    return repertory.Domain(**{"name": "walk", "task_names": ("even", "biased"), "make_env": make_env, **changes})


class OtherSpaces(Walk):
    def __init__(self, task: int) -> None:
        super().__init__(task)
        self.action_space = gymnasium.spaces.Discrete(2 + task)


class SeedUnread(Walk):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset()


class Continued(Walk):
    """An episode starts where the last one ended."""

    place = 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        start = self.place / 2
        super().reset(seed=seed)
        self.place = start
        return self.look(), {}


class DoublePrecision(Walk):
    def look(self) -> np.ndarray:
        return np.array([self.place])


class OneArray(Walk):
    """All its observations are one array, written anew at each step."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.array = np.zeros(1, np.float32)
        return super().reset(seed=seed)

    def look(self) -> np.ndarray:
        self.array[0] = self.place
        return self.array


class OldReset(Walk):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0]


class OldStep(Walk):
    def step(self, action: int) -> Any:
        observation, reward, terminated, _truncated, info = super().step(action)
        return observation, reward, terminated, info


class NoReward(Walk):
    def step(self, action: int) -> Any:
        observation, _reward, *rest = super().step(action)
        return observation, float("nan"), *rest


class NumberFlag(Walk):
    def step(self, action: int) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, int(terminated), truncated, info


class Endless(Walk):
    def step(self, action: int) -> Any:
        _observation, reward, _terminated, *rest = super().step(action)
        self.place = np.clip(self.place, -4, 4)
        return self.look(), reward, False, *rest


ONE_ENV = Walk(0)
CARTPOLE = repertory.domain("cartpole27")
BROKEN_DOMAINS: dict[str, tuple[repertory.Domain, str]] = {
    "no tasks": (domain(task_names=()), "tasks: walk has none"),
    "names twice": (domain(task_names=("a", "b", "a")), "tasks: task names occur twice: a"),
    "score": (domain(score="fun"), "score: 'fun'; valid: mean return or reward per step"),
    "settings": (domain(settings={"maker": Walk}), "settings: .*; valid: plain values"),
    "no environment": (domain(lambda task: "walk"), "task 0: make_env gave a str; valid: gymnasium.Env"),
    "one environment": (domain(lambda task: ONE_ENV), "task 0: make_env gave one environment twice"),
    "spaces": (domain(OtherSpaces), "spaces: task 1 of walk has other spaces than task 0"),
    "seed": (domain(SeedUnread), r"reset: two episodes of task 0 with seed \d and the same actions differ"),
    "episodes before": (domain(Continued), r"reset: two episodes of task 0 with seed \d and the same actions differ"),
    "observation": (
        domain(DoublePrecision),
        r"observations: reset of task 0 gave .* \(float64 array\), which is not in",
    ),
    "one array": (domain(OneArray), "step: task 0 wrote into an observation it had given before; valid: a new one"),
    "old reset": (domain(OldReset), r"reset: task 0 returned array.*; valid: \(observation, info\)"),
    "old step": (domain(OldStep), r"step: task 0 returned .*; valid: \(observation, reward, terminated, truncated"),
    "reward": (domain(NoReward), "step: task 0 gave reward nan; valid: a finite number"),
    "flag": (domain(NumberFlag), "step: task 0 gave terminated 0; valid: a bool"),
    "endless": (domain(Endless), "episodes: an episode of task 0 .* did not end within 500 steps"),
    "compiled": (
        dataclasses.replace(CARTPOLE, compiled=repertory.domain("cartpole27", force=2.0).compiled),
        r"compiled: an episode of task 0 with seed 0 is not the same compiled .* step 0: next_observation",
    ),
    "compiled for fewer tasks": (
        dataclasses.replace(repertory.domain("cartpole125"), compiled=CARTPOLE.compiled),
        "compiled: there are params for 27 tasks",
    ),
}


def test_a_good_domain_passes() -> None:
    check_domain(domain())
    check_domain(domain(Endless), longest_episode=None)


@pytest.mark.parametrize("name", BROKEN_DOMAINS)
@pytest.mark.filterwarnings("ignore:.*gave")
def test_what_is_wrong_with_a_domain_is_said(name: str) -> None:
    broken, message = BROKEN_DOMAINS[name]
    with pytest.raises(ConformanceError, match=message):
        check_domain(broken, longest_episode=500)


def test_tasks_that_behave_alike_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="walk has 2 tasks of which 1 are distinct"):
        check_domain(domain(lambda task: Walk(0)))
