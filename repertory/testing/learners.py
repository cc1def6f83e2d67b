"""Whether a learner follows the protocol."""

from __future__ import annotations

import copy
import inspect
import io
import random
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory import catalogue
from repertory.agents.library import LibraryAgent
from repertory.core.lifetime import Lifetime
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.domains.domain import Domain
from repertory.learners.protocol import ActsAtRest, CompiledLearner, MakeLearner, new_learner
from repertory.selectors.fixed import FixedSelector
from repertory.testing.trace import (
    ConformanceError,
    Moment,
    Trace,
    bits,
    count,
    difference,
    expect,
    expect_same,
    expect_same_state,
)

PROTOCOL = {
    "begin_episode": (),
    "act": ("observation",),
    "observe": ("observation", "action", "reward", "next_observation", "terminated", "truncated"),
}
"""The methods that every learner has, with what they are given."""
OPTIONAL = {
    "begin_task": ("task",),
    "turn_to": ("task",),
    "action_probabilities": ("observations",),
    "actions_at_rest": ("observations", "memory", "rng"),
    "state_dict": (),
    "load_state_dict": ("state",),
    "is_finite": (),
    "losses": (),
}
"""The methods that a learner may have."""


def check_learner(
    factory: MakeLearner,
    domain: Domain | str = "cartpole27",
    *,
    steps: int = 500,
    seed: int = 0,
    seeds_matter: bool = True,
) -> None:
    """Check all that a library asks of a learner, by playing about ten times `steps` steps of `domain`.

    `factory` is what `repertory.live` takes: settings, or any callable `(observation_space, action_space, seed)`.
    Choose `steps` so large that it learns on the way. A learner that draws no random numbers needs
    `seeds_matter=False`. Saving is checked if the learner has `state_dict`.
    """
    stage = _Stage(catalogue.domain(domain) if isinstance(domain, str) else domain, factory, seed)
    try:
        learner = stage.learner()
        _check_methods(learner)
        trace = stage.play(learner, steps=steps)
        _check_same_seed(stage, trace)
        if seeds_matter:
            other = stage.play(stage.learner(other=1), episodes=len(trace))
            found = f"learners of seeds {seed} and {seed + 1} did the same in {count(trace)} steps"
            expect(difference(trace, other) is not None, "seeds", f"{found}; pass seeds_matter=False if they should")
        if hasattr(learner, "state_dict"):
            _check_saving(stage, trace)
        _check_no_leak(stage, trace)
        _check_library(stage, steps)
    finally:
        stage.close()


class _Stage:
    """Learners of one factory, and episodes for them to play; the n-th is the same for all."""

    def __init__(self, domain: Domain, factory: MakeLearner, seed: int) -> None:
        self.domain = domain
        self.seed = seed
        self._factory = factory
        self._envs: dict[int, gymnasium.Env] = {}

    def learner(self, other: int = 0) -> Any:
        spaces = self.domain.observation_space, self.domain.action_space
        return new_learner(self._factory, *spaces, self.seed + other, self.domain.n_tasks)

    def env(self, task: int) -> gymnasium.Env:
        if task not in self._envs:
            self._envs[task] = self.domain.env(task)
        return self._envs[task]

    def play(self, learner: Any, *, first: int = 0, episodes: int | None = None, steps: int = 0) -> Trace:
        """So many episodes from number `first` on, or else at least two and at least so many steps."""
        trace: Trace = []
        while len(trace) < episodes if episodes is not None else len(trace) < 2 or count(trace) < steps:
            number = first + len(trace)
            trace.append(self.episode(learner, number % self.domain.n_tasks, seed=1000 * self.seed + number))
        return trace

    def episode(self, learner: Any, task: int, seed: int) -> list[Moment]:
        """The loop of a library's episode by hand, with an eye on what the learner does."""
        moments: list[Moment] = []
        env = self.env(task)
        if hasattr(learner, "begin_task"):
            learner.begin_task(task)
        learner.begin_episode()
        observation, _info = env.reset(seed=seed)
        while not moments or not (moments[-1].terminated or moments[-1].truncated):
            where = f"step {len(moments)} of an episode of task {task}"
            before = copy.deepcopy(observation)
            action = learner.act(observation)
            if not self.domain.action_space.contains(action):
                raise ConformanceError(
                    f"actions: act returned {action!r} at {where}; valid: {self.domain.action_space}"
                )
            is_read_only = bits(observation) == bits(before)
            next_observation, reward, terminated, truncated, _info = env.step(action)
            moment = Moment(before, action, float(reward), next_observation, terminated, truncated)
            moments.append(copy.deepcopy(moment))
            learner.observe(observation, action, float(reward), next_observation, terminated, truncated)
            is_read_only &= bits(next_observation) == bits(moments[-1].next_observation)
            expect(is_read_only, "observations", f"the learner wrote into one at {where}; valid: to read it")
            observation = next_observation
        return moments

    def close(self) -> None:
        for env in self._envs.values():
            env.close()


def _check_methods(learner: Any) -> None:
    for name, arguments in (PROTOCOL | OPTIONAL).items():
        method = getattr(learner, name, None)
        if method is None and name in OPTIONAL:
            continue
        wanted = f"{name}({', '.join(arguments)})"
        expect(callable(method), "protocol", f"{type(learner).__name__} has no method {wanted}")
        try:
            inspect.signature(method).bind(*arguments)  # type: ignore[arg-type]
        except TypeError as error:
            raise ConformanceError(
                f"protocol: {type(learner).__name__}.{name} cannot be called as {wanted}: {error}"
            ) from None
    both = hasattr(learner, "state_dict") == hasattr(learner, "load_state_dict")
    expect(both, "protocol", "state_dict and load_state_dict go together; the learner has only one of them")


def _check_same_seed(stage: _Stage, trace: Trace) -> None:
    """Also when somebody else draws from the generators that all of a process shares."""
    _stir()
    twin, again = stage.learner(), []
    for number in range(len(trace)):
        _stir()
        again += stage.play(twin, first=number, episodes=1)
    advice = "valid: all random numbers from a generator of its own that the seed decides"
    expect_same(trace, again, "determinism", "two learners of one seed did not do the same", advice)


def _check_saving(stage: _Stage, trace: Trace) -> None:
    half = len(trace) // 2
    rest = len(trace) - half
    twin = stage.learner()
    stage.play(twin, episodes=half)
    _check_probabilities(twin, trace, stage.domain)
    _check_actions_at_rest(twin, trace, stage.domain)
    state = twin.state_dict()
    _check_state(state)
    saved = _through_a_file(state)
    expected = trace[half:]
    found = (
        "a learner that was looked into (state_dict, action_probabilities, actions_at_rest) did not continue as before"
    )
    expect_same(expected, stage.play(twin, first=half, episodes=rest), "saving", found, "valid: to change nothing")
    for name in saved:
        found = f"state_dict()['{name}'] changed while the learner played on"
        expect(bits(state[name]) == bits(saved[name]), "saving", f"{found}; valid: a copy")
    final = twin.state_dict()
    advice = "valid: state_dict holds everything that decides the future, random state included"
    for which, learner in {"fresh": stage.learner(other=1), "used": twin}.items():
        learner.load_state_dict(saved)
        found = f"a {which} learner that loaded the state did not continue as the one saved"
        expect_same(expected, stage.play(learner, first=half, episodes=rest), "loading", found, advice)
        expect_same_state(final, learner.state_dict(), "loading", f"a {which} learner that went on from the state")


def _check_probabilities(learner: Any, trace: Trace, domain: Domain) -> None:
    vectors = isinstance(domain.observation_space, gymnasium.spaces.Box)
    actions = domain.action_space
    if not (hasattr(learner, "action_probabilities") and vectors and isinstance(actions, gymnasium.spaces.Discrete)):
        return
    observations = np.stack([moment.observation for moment in trace[0]]).astype(domain.observation_space.dtype)
    probabilities = np.asarray(learner.action_probabilities(observations))
    wanted = (len(observations), int(actions.n))
    expect(probabilities.shape == wanted, "action_probabilities", f"shape {probabilities.shape}; valid: {wanted}")
    fine = bool((probabilities >= 0).all()) and np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    expect(fine, "action_probabilities", "a row is not of numbers from 0 that sum to 1")


def _check_actions_at_rest(learner: Any, trace: Trace, domain: Domain) -> None:
    if not isinstance(learner, ActsAtRest) or not isinstance(domain.observation_space, gymnasium.spaces.Box):
        return
    observations = np.stack([moment.observation for moment in trace[0]]).astype(domain.observation_space.dtype)
    for rng in (None, np.random.default_rng(0)):
        actions, _memory = learner.actions_at_rest(observations, None, rng)
        fine = len(actions) == len(observations) and all(map(domain.action_space.contains, actions))
        expect(fine, "actions_at_rest", f"not an action of {domain.action_space} for each row of observations")


def _check_state(state: Any) -> None:
    expect(isinstance(state, dict), "saving", f"state_dict returned a {type(state).__name__}; valid: a dict of arrays")
    for name, array in state.items():
        found = f"state_dict()[{name!r}] is a {type(array).__name__}"
        fine = isinstance(name, str) and isinstance(array, np.ndarray)
        expect(fine, "saving", f"{found}; valid: names with NumPy arrays")
        expect(not array.dtype.hasobject, "saving", f"{found} of Python objects; valid: numbers, no pickles")


def _through_a_file(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """As a checkpoint does it."""
    file = io.BytesIO()
    np.savez(file, **{f"policy 0/{name}": array for name, array in state.items()})  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return {name.partition("/")[2]: archive[name] for name in archive.files}


def _check_no_leak(stage: _Stage, trace: Trace) -> None:
    one, other = stage.learner(), stage.learner(other=1)
    together: Trace = []
    for number in range(len(trace)):
        together += stage.play(one, first=number, episodes=1)
        stage.play(other, first=number, episodes=1)
    found = "a learner did something else because another one of the factory played in between"
    expect_same(trace, together, "independence", found, "valid: learners that share nothing, no generator either")


def _check_library(stage: _Stage, steps: int) -> None:
    """Task 0 in two blocks, by hand, in a library, and in a library that may compile."""
    bare, recorder = stage.learner(), _Recorder(stage.learner())
    env_rng, by_hand = generator(stage.seed, "env", 0), []
    block_steps = max(steps // 2, 1)
    rows = _live(stage, recorder, block_steps)
    for _row in rows:
        played = 0
        while played < block_steps:
            by_hand.append(stage.episode(bare, 0, int(env_rng.integers(EPISODE_SEEDS))))
            played += len(by_hand[-1])
    found = "one policy of a library on one task did not do what the bare learner does"
    expect_same(by_hand, recorder.trace, "library", found, "valid: all learning in observe")
    if isinstance(bare, CompiledLearner):
        compiled = stage.learner()
        same = _live(stage, compiled, block_steps) == rows
        expect(same, "library", "a compiled lifetime has other rewards or steps than the same one in Python")
        if hasattr(bare, "state_dict"):
            expect_same_state(bare.state_dict(), compiled.state_dict(), "library", "a learner in a compiled lifetime")


def _live(stage: _Stage, learner: Any, block_steps: int) -> list[dict[str, Any]]:
    domain = stage.domain
    selector = FixedSelector(np.zeros(domain.n_tasks, np.int64))
    sequence = np.zeros(2, np.int64)
    lifetime = Lifetime(domain, LibraryAgent([learner], selector), sequence, block_steps, stage.seed, run=0)
    try:
        lifetime.live()
    finally:
        lifetime.close()
    return lifetime.rows


class _Recorder:
    """A learner that writes down what passes through it."""

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self.trace: Trace = []
        self.act = learner.act

    @property
    def nbytes(self) -> int | None:
        return getattr(self._learner, "nbytes", None)

    def begin_task(self, task: int) -> None:
        if hasattr(self._learner, "begin_task"):
            self._learner.begin_task(task)

    def begin_episode(self) -> None:
        self.trace.append([])
        self._learner.begin_episode()

    def observe(self, *step: Any) -> None:
        self.trace[-1].append(Moment(*copy.deepcopy(step)))
        self._learner.observe(*step)


def _stir() -> None:
    """Draw from the generators that all of a process shares, as other code may."""
    random.random()
    np.random.random()  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].rand(1)
