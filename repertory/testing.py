"""Conformance checks for learners and domains of your own.

    from repertory.testing import check_domain, check_learner

    def test_my_learner():
        check_learner(MyLearner(learning_rate=0.1), my_domain)

    def test_my_domain():
        check_domain(my_domain)

Each raises `ConformanceError`, which says what was checked and what was found.
"""

from __future__ import annotations

import copy
import inspect
import io
import json
import random
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory import catalogue
from repertory.domains.domain import Domain
from repertory.episode import EpisodePlayer
from repertory.errors import UsageError
from repertory.kernels.random import new_stream
from repertory.learners.protocol import CompiledLearner, MakeLearner
from repertory.learners.random import Random
from repertory.lifetime import EPISODE_SEEDS, Lifetime
from repertory.metrics import SCORES
from repertory.seeds import generator
from repertory.selectors import FixedSelector
from repertory.sequence import single_task

PROTOCOL = {
    "begin_episode": (),
    "act": ("observation",),
    "observe": ("observation", "action", "reward", "next_observation", "terminated", "truncated"),
}
"""The methods that every learner has, with what they are given."""
OPTIONAL = {
    "begin_task": ("task",),
    "action_probabilities": ("observations",),
    "state_dict": (),
    "load_state_dict": ("state",),
    "is_finite": (),
    "losses": (),
}
"""The methods that a learner may have."""
LONGEST_LOOK = 1000
"""How many steps of an episode are looked at if it need not end."""


class ConformanceError(AssertionError):
    """Something does not keep to the protocol."""


def _expect(condition: bool, checked: str, found: str) -> None:
    if not condition:
        raise ConformanceError(f"{checked}: {found}")


# ------------------------------------------------------------------------------------------------- learners


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
            found = f"learners of seeds {seed} and {seed + 1} did the same in {_count(trace)} steps"
            _expect(_difference(trace, other) is not None, "seeds", f"{found}; pass seeds_matter=False if they should")
        if hasattr(learner, "state_dict"):
            _check_saving(stage, trace)
        _check_no_leak(stage, trace)
        _check_library(stage, steps)
    finally:
        stage.close()


class Moment(NamedTuple):
    """One step, as the learner saw it."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool


Trace = list[list[Moment]]
"""Episodes of steps."""


class _Stage:
    """Learners of one factory, and episodes for them to play; the n-th is the same for all."""

    def __init__(self, domain: Domain, factory: MakeLearner, seed: int) -> None:
        self.domain = domain
        self.seed = seed
        self._factory = factory
        self._envs: dict[int, gymnasium.Env] = {}

    def learner(self, other: int = 0) -> Any:
        return self._factory(self.domain.observation_space, self.domain.action_space, self.seed + other)

    def env(self, task: int) -> gymnasium.Env:
        if task not in self._envs:
            self._envs[task] = self.domain.env(task)
        return self._envs[task]

    def play(self, learner: Any, *, first: int = 0, episodes: int | None = None, steps: int = 0) -> Trace:
        """So many episodes from number `first` on, or else at least two and at least so many steps."""
        trace: Trace = []
        while len(trace) < episodes if episodes is not None else len(trace) < 2 or _count(trace) < steps:
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
            is_read_only = _bits(observation) == _bits(before)
            next_observation, reward, terminated, truncated, _info = env.step(action)
            moment = Moment(before, action, float(reward), next_observation, terminated, truncated)
            moments.append(copy.deepcopy(moment))
            learner.observe(observation, action, float(reward), next_observation, terminated, truncated)
            is_read_only &= _bits(next_observation) == _bits(moments[-1].next_observation)
            _expect(is_read_only, "observations", f"the learner wrote into one at {where}; valid: to read it")
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
        _expect(callable(method), "protocol", f"{type(learner).__name__} has no method {wanted}")
        try:
            inspect.signature(method).bind(*arguments)  # type: ignore[arg-type]
        except TypeError as error:
            raise ConformanceError(
                f"protocol: {type(learner).__name__}.{name} cannot be called as {wanted}: {error}"
            ) from None
    both = hasattr(learner, "state_dict") == hasattr(learner, "load_state_dict")
    _expect(both, "protocol", "state_dict and load_state_dict go together; the learner has only one of them")


def _check_same_seed(stage: _Stage, trace: Trace) -> None:
    """Also when somebody else draws from the generators that all of a process shares."""
    _stir()
    twin, again = stage.learner(), []
    for number in range(len(trace)):
        _stir()
        again += stage.play(twin, first=number, episodes=1)
    advice = "valid: all random numbers from a generator of its own that the seed decides"
    _expect_same(trace, again, "determinism", "two learners of one seed did not do the same", advice)


def _check_saving(stage: _Stage, trace: Trace) -> None:
    half = len(trace) // 2
    rest = len(trace) - half
    twin = stage.learner()
    stage.play(twin, episodes=half)
    _check_probabilities(twin, trace, stage.domain)
    state = twin.state_dict()
    _check_state(state)
    saved = _through_a_file(state)
    expected = trace[half:]
    found = "a learner that was looked into (state_dict, action_probabilities) did not go on as before"
    _expect_same(expected, stage.play(twin, first=half, episodes=rest), "saving", found, "valid: to change nothing")
    for name in saved:
        found = f"state_dict()['{name}'] changed while the learner lived on"
        _expect(_bits(state[name]) == _bits(saved[name]), "saving", f"{found}; valid: a copy")
    final = twin.state_dict()
    advice = "valid: state_dict holds everything that decides the future, random state included"
    for which, learner in {"fresh": stage.learner(other=1), "used": twin}.items():
        learner.load_state_dict(saved)
        found = f"a {which} learner that loaded the state did not go on as the one saved"
        _expect_same(expected, stage.play(learner, first=half, episodes=rest), "loading", found, advice)
        _expect_same_state(final, learner.state_dict(), "loading", f"a {which} learner that went on from the state")


def _check_probabilities(learner: Any, trace: Trace, domain: Domain) -> None:
    vectors = isinstance(domain.observation_space, gymnasium.spaces.Box)
    actions = domain.action_space
    if not (hasattr(learner, "action_probabilities") and vectors and isinstance(actions, gymnasium.spaces.Discrete)):
        return
    observations = np.stack([moment.observation for moment in trace[0]]).astype(domain.observation_space.dtype)
    probabilities = np.asarray(learner.action_probabilities(observations))
    wanted = (len(observations), int(actions.n))
    _expect(probabilities.shape == wanted, "action_probabilities", f"shape {probabilities.shape}; valid: {wanted}")
    fine = bool((probabilities >= 0).all()) and np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    _expect(fine, "action_probabilities", "a row is not of numbers from 0 that sum to 1")


def _check_state(state: Any) -> None:
    _expect(isinstance(state, dict), "saving", f"state_dict returned a {type(state).__name__}; valid: a dict of arrays")
    for name, array in state.items():
        found = f"state_dict()[{name!r}] is a {type(array).__name__}"
        fine = isinstance(name, str) and isinstance(array, np.ndarray)
        _expect(fine, "saving", f"{found}; valid: names with NumPy arrays")
        _expect(not array.dtype.hasobject, "saving", f"{found} of Python objects; valid: numbers, no pickles")


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
    _expect_same(trace, together, "independence", found, "valid: learners that share nothing, no generator either")


def _check_library(stage: _Stage, steps: int) -> None:
    """Task 0 in two blocks, by hand, in a library, and in a library that may compile."""
    bare, recorder = stage.learner(), _Recorder(stage.learner())
    env_rng, by_hand = generator(stage.seed, "env", 0), []
    block_steps = max(steps // 2, 1)
    rows = _live(stage, recorder, block_steps)
    for _row in rows:
        lived = 0
        while lived < block_steps:
            by_hand.append(stage.episode(bare, 0, int(env_rng.integers(EPISODE_SEEDS))))
            lived += len(by_hand[-1])
    found = "one policy of a library on one task did not do what the bare learner does"
    _expect_same(by_hand, recorder.trace, "library", found, "valid: all learning in observe")
    if isinstance(bare, CompiledLearner):
        compiled = stage.learner()
        same = _live(stage, compiled, block_steps) == rows
        _expect(same, "library", "a compiled lifetime has other rewards or steps than the same one in Python")
        if hasattr(bare, "state_dict"):
            _expect_same_state(bare.state_dict(), compiled.state_dict(), "library", "a learner in a compiled lifetime")


def _live(stage: _Stage, learner: Any, block_steps: int) -> list[dict[str, Any]]:
    domain = stage.domain
    selector = FixedSelector(np.zeros(domain.n_tasks, np.int64))
    lifetime = Lifetime(domain, [learner], selector, single_task(0, 2), block_steps, stage.seed, run=0)
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


def _count(trace: Trace) -> int:
    return sum(len(episode) for episode in trace)


def _expect_same(expected: Trace, got: Trace, checked: str, found: str, advice: str) -> None:
    difference = _difference(expected, got)
    _expect(difference is None, checked, f"{found} ({difference}); {advice}")


def _expect_same_state(expected: Mapping[str, Any], got: Mapping[str, Any], checked: str, who: str) -> None:
    names = sorted(name for name in {*expected, *got} if _bits(expected.get(name)) != _bits(got.get(name)))
    shown = ", ".join(names[:4])
    _expect(not names, checked, f"{who} ended in another state ({shown}); valid: the same to the bit")


def _difference(expected: Trace, got: Trace) -> str | None:
    """The first difference in words."""
    for episode, (one, other) in enumerate(zip(expected, got, strict=False)):
        for step, (ours, theirs) in enumerate(zip(one, other, strict=False)):
            for name, value, other_value in zip(Moment._fields, ours, theirs, strict=True):
                if _bits(value) != _bits(other_value):
                    return f"episode {episode}, step {step}: {name} {value} against {other_value}"
        if len(one) != len(other):
            return f"episode {episode}: {len(one)} steps against {len(other)}"
    return None if len(expected) == len(got) else f"{len(expected)} episodes against {len(got)}"


def _bits(value: Any) -> Any:
    """Something that is equal only for what is equal to the bit, and of one shape and kind."""
    if isinstance(value, Mapping):
        return {key: _bits(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_bits(part) for part in value)
    array = np.asarray(value)
    return (array.dtype.str, array.shape, array.tobytes()) if not array.dtype.hasobject else value


# -------------------------------------------------------------------------------------------------- domains


def check_domain(domain: Domain, *, episodes: int = 2, longest_episode: int | None = 10_000, seed: int = 0) -> None:
    """Check all that a library asks of a domain, by playing so many random episodes of each task, several times over.

    An episode that does not end within `longest_episode` steps is an error: a library waits for the end of every
    episode. With None, only the first thousand steps of each are looked at. Tasks that nobody can tell apart are a
    warning.
    """
    _check_description(domain)
    for task in range(domain.n_tasks):
        _check_task(domain, task, episodes, longest_episode, seed)
    distinct = domain.distinct_tasks()
    if distinct < domain.n_tasks:
        message = f"{domain.name} has {domain.n_tasks} tasks of which {distinct} are distinct; the others behave alike"
        warnings.warn(message, UserWarning, stacklevel=2)


def _check_description(domain: Domain) -> None:
    names = domain.task_names
    _expect(len(names) > 0, "tasks", f"{domain.name} has none")
    _expect(domain.n_tasks == len(names), "tasks", f"n_tasks is {domain.n_tasks}, but there are {len(names)} names")
    doubles = sorted({str(name) for name in names if names.count(name) > 1})
    _expect(not doubles, "tasks", f"task names occur twice: {', '.join(doubles)}")
    _expect(all(isinstance(name, str) for name in names), "tasks", f"task_names are {names}; valid: texts")
    _expect(domain.score in SCORES, "score", f"'{domain.score}'; valid: {' or '.join(SCORES)}")
    try:
        json.dumps(domain.settings)
    except (TypeError, ValueError) as error:
        raise ConformanceError(f"settings: {error}; valid: plain values, for the record of a run") from None


def _check_task(domain: Domain, task: int, episodes: int, longest: int | None, seed: int) -> None:
    env, twin = domain.env(task), domain.env(task)
    _expect(
        isinstance(env, gymnasium.Env), f"task {task}", f"make_env gave a {type(env).__name__}; valid: gymnasium.Env"
    )
    _expect(env is not twin, f"task {task}", "make_env gave one environment twice; valid: a new one each time")
    try:
        domain.check_spaces(task, env)
    except UsageError as error:
        raise ConformanceError(f"spaces: {error}") from None
    lived = [list(_random_episode(domain, env, task, seed + n, longest)) for n in range(episodes)]
    for n in reversed(range(episodes)):  # in another order: an episode is decided by its seed, not by those before it
        again = list(_random_episode(domain, twin, task, seed + n, longest))
        found = f"two episodes of task {task} with seed {seed + n} and the same actions differ"
        _expect_same([lived[n]], [again], "reset", found, "valid: reset(seed) decides the whole episode")
    _check_compiled(domain, task, lived, seed)
    env.close()
    twin.close()


def _random_episode(domain: Domain, env: gymnasium.Env, task: int, seed: int, longest: int | None) -> Iterator[Moment]:
    space = copy.deepcopy(domain.action_space)
    space.seed(seed)
    answer: Any = env.reset(seed=seed)
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
        raise ConformanceError(f"reset: task {task} returned {_short(answer)}; valid: (observation, info)")
    observation = answer[0]
    _check_observation(domain, task, "reset", observation)
    for _step in range(LONGEST_LOOK if longest is None else longest):
        before, action = copy.deepcopy(observation), space.sample()
        outcome: Any = env.step(action)
        _check_outcome(task, outcome)
        if _bits(observation) != _bits(before):
            raise ConformanceError(f"step: task {task} wrote into an observation it had given before; valid: a new one")
        observation, reward, terminated, truncated, _info = outcome
        _check_observation(domain, task, "step", observation)
        yield Moment(before, action, float(reward), copy.deepcopy(observation), bool(terminated), bool(truncated))
        if terminated or truncated:
            return
    found = f"an episode of task {task} with random actions did not end within {longest} steps"
    _expect(longest is None, "episodes", f"{found}; valid: to end, as by gymnasium's TimeLimit")


def _check_observation(domain: Domain, task: int, method: str, observation: Any) -> None:
    if not domain.observation_space.contains(observation):
        kind = f"{observation.dtype} array" if isinstance(observation, np.ndarray) else type(observation).__name__
        found = f"{method} of task {task} gave {_short(observation)} ({kind})"
        raise ConformanceError(f"observations: {found}, which is not in {domain.observation_space}")


def _check_outcome(task: int, outcome: Any) -> None:
    if not (isinstance(outcome, tuple) and len(outcome) == 5):
        valid = "(observation, reward, terminated, truncated, info)"
        raise ConformanceError(f"step: task {task} returned {_short(outcome)}; valid: {valid}")
    _observation, reward, *flags, _info = outcome
    try:
        is_finite = bool(np.isfinite(float(reward)))
    except (TypeError, ValueError):
        is_finite = False
    if not is_finite:
        raise ConformanceError(f"step: task {task} gave reward {_short(reward)}; valid: a finite number")
    for name, flag in zip(("terminated", "truncated"), flags, strict=True):
        if not isinstance(flag, (bool, np.bool_)):
            raise ConformanceError(f"step: task {task} gave {name} {_short(flag)}; valid: a bool")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _check_compiled(domain: Domain, task: int, lived: Trace, seed: int) -> None:
    """What compiled code plays is what `make_env` plays: step by step, and as whole episodes."""
    tasks = domain.compiled
    if tasks is None:
        return
    shape = (tasks.observation_size,)
    _expect(shape == domain.observation_space.shape, "compiled", f"observation_size is {shape}, not the space's shape")
    _expect(len(tasks.params) == domain.n_tasks, "compiled", f"there are params for {len(tasks.params)} tasks")
    state, observations = tasks.new_state(), np.zeros((2, tasks.observation_size), np.float32)
    for n, expected in enumerate(lived):
        stream, played, params = new_stream(seed + n), [], tasks.params[task]
        tasks.kernels.reset(params, state, stream)
        tasks.kernels.observe(params, state, observations[0])
        for moment in expected:
            outcome = tasks.kernels.step(params, state, int(moment.action), stream)
            tasks.kernels.observe(params, state, observations[1])
            before, after = observations.copy()
            played.append(Moment(before, moment.action, float(outcome[0]), after, bool(outcome[1]), bool(outcome[2])))
            observations[0] = after
        found = f"an episode of task {task} with seed {seed + n} is not the same compiled as through make_env"
        _expect_same([expected], [played], "compiled", found, "valid: the same to the bit")
    if all(episode[-1].terminated or episode[-1].truncated for episode in lived):
        players = EpisodePlayer(domain, compiled=False), EpisodePlayer(domain)
        spaces = domain.observation_space, domain.action_space
        outcomes = [player.play(task, Random()(*spaces, seed), seed) for player in players]
        found = f"a random policy's episode of task {task} is {outcomes[1]}, through make_env {outcomes[0]}"
        _expect(_bits(outcomes[0]) == _bits(outcomes[1]), "compiled", found)
        players[0].close()
