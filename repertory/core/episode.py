"""Play one episode: compiled when the domain and the learner both are, else any environment with any learner.

This is the only place that knows the two apart. The same seed gives the same episode on both paths, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.agents.protocol import Opening
from repertory.domains.domain import CompiledTasks, Domain, TaskKernels
from repertory.errors import EpisodeFault, UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.handle import pack, unpack
from repertory.kernels.streams import Stream, new_stream, seed_stream
from repertory.kernels.views import borrowed
from repertory.learners.protocol import CompiledLearner, Learner, LearnerKernels


class Outcome(NamedTuple):
    """What an agent and a record need to know of an episode."""

    steps: int
    total_reward: float
    opening: Opening | None = None
    """Its first transitions, where they are asked for."""


class UnderWay:
    """How many steps of an episode have been played, for whoever looks on from another thread."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: int | None = None
        """None between episodes, and in compiled ones: their count is inside the kernel."""


class Stage(NamedTuple):
    """What a compiled episode is played on: the state of the task, the learner's view of it, room for its opening."""

    state: NDArray[Any]
    stream: Stream
    observation: NDArray[np.float32]
    next_observation: NDArray[np.float32]
    opening: Opening


def new_stage(tasks: CompiledTasks, opening_steps: int = 0) -> Stage:
    observation, next_observation = (np.zeros(tasks.observation_size, np.float32) for _ in range(2))
    observations, next_observations = (np.zeros((opening_steps, tasks.observation_size), np.float32) for _ in range(2))
    opening = Opening(
        observations,
        np.zeros(opening_steps, np.int64),
        np.zeros(opening_steps),
        next_observations,
        np.zeros(opening_steps, np.bool_),
    )
    return Stage(tasks.new_state(), new_stream(0), observation, next_observation, opening)


def policy_sizes(domain: Domain, tasks: CompiledTasks) -> tuple[int, int]:
    """Features and actions that a policy must be built for. Compiled code does not check indices, so its caller
    compares these first."""
    return tasks.observation_size, int(getattr(domain.action_space, "n", 0))


def misfit(learner: CompiledLearner, sizes: tuple[int, int], name: str) -> UsageError:
    return UsageError(
        f"a policy built for {learner.inputs} features and {learner.actions} actions cannot play "
        f"{name}, which has {sizes[0]} and {sizes[1]}"
    )


class EpisodePlayer:
    """Plays episodes of a domain's tasks, with one environment per task, made when first needed.

    An episode depends on its seed, its task and the learner only, never on the episodes before it.
    """

    def __init__(self, domain: Domain, compiled: bool = True, opening_steps: int = 0) -> None:
        """With `opening_steps`, outcomes hold that many first transitions of each episode."""
        self._domain = domain
        self._opening_steps = opening_steps
        self.under_way = UnderWay()
        self._envs: dict[int, gymnasium.Env] = {}
        self._tasks = domain.compiled if compiled else None
        if self._tasks is not None:
            stage = new_stage(self._tasks, opening_steps)
            self._stage, self._opening = pack(stage), stage.opening
            self._openings: dict[int, Opening] = {}
            self._sizes = policy_sizes(domain, self._tasks)
            self._params = [pack(params) for params in self._tasks.params]

    def play(self, task: int, learner: Learner, seed: int, tells_task: bool = True) -> Outcome:
        """An episode. A learner that wants to know the task is told it, unless that is hidden."""
        begin_task = getattr(learner, "begin_task", None) if tells_task else None
        if begin_task is not None:
            with blaming("the learner", 0):
                begin_task(task)
        if self._tasks is not None and is_compiled(learner):
            if (learner.inputs, learner.actions) != self._sizes:
                raise misfit(learner, self._sizes, self._domain.name)
            run_episode = compiled_episode(self._tasks.kernels, learner.kernels)
            steps, total_reward = run_episode(self._params[task], self._stage, learner.handle, seed)
            return Outcome(steps, total_reward, self._opening_of(steps) if self._opening_steps else None)
        if task not in self._envs:
            with blaming("the environment", 0):
                env = self._domain.env(task)
                self._domain.check_spaces(task, env)
            self._envs[task] = env
        try:
            return plain_episode(self._envs[task], learner, seed, self._opening_steps, self.under_way)
        finally:
            self.under_way.steps = None

    def _opening_of(self, steps: int) -> Opening:
        """Always the same object for as many steps: most openings are as long as they may be."""
        rows = min(steps, self._opening_steps)
        if rows not in self._openings:
            self._openings[rows] = Opening._make(array[:rows] for array in self._opening)
        return self._openings[rows]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()


def plain_episode(
    env: gymnasium.Env, learner: Learner, seed: int, opening_steps: int = 0, under_way: UnderWay | None = None
) -> Outcome:
    """One episode of any Gymnasium environment with any learner; `under_way` is told how far it is."""
    told = under_way or UnderWay()
    steps, total_reward = 0, 0.0
    opening: list[tuple[Any, ...]] = []
    playing = "the learner"  # who is to blame if something raises: `blaming`, entered at every step, would be dearer
    try:
        learner.begin_episode()
        playing = "the environment"
        observation, _info = env.reset(seed=seed)
        action_space = env.action_space
        while True:
            playing = "the learner"
            action = learner.act(observation)
            if not action_space.contains(action):
                raise EpisodeFault(f"at step {steps} the learner acted {action!r}, which is not in {action_space}")
            playing = "the environment"
            next_observation, reward, terminated, truncated, _info = env.step(action)
            if not isinstance(reward, (int, float, np.number)) or not math.isfinite(reward):
                raise EpisodeFault(
                    f"at step {steps} the environment gave the reward {reward!r}, which is not a finite number"
                )
            reward = float(reward)
            playing = "the learner"
            learner.observe(observation, action, reward, next_observation, terminated, truncated)
            if steps < opening_steps:
                opening.append((observation, action, reward, next_observation, bool(terminated)))
            steps += 1
            told.steps = steps  # one store: nothing beside a step
            total_reward += reward
            if terminated or truncated:
                first = Opening(*map(_column, zip(*opening, strict=True))) if opening else None
                return Outcome(steps, total_reward, first)
            observation = next_observation
    except (UsageError, EpisodeFault):
        raise
    except Exception as error:
        raise blamed(playing, steps, error) from error


def blamed(who: str, step: int, error: Exception) -> EpisodeFault:
    """Says who failed, and at which step."""
    text = " ".join(str(error).split())
    return EpisodeFault(f"at step {step} {who} raised {type(error).__name__}: {text}")


def _column(values: Sequence[Any]) -> NDArray[Any]:
    """Values of an opening; observations in parts stay what they are, one to a place."""
    if not isinstance(values[0], (Mapping, tuple)):
        return np.array(values)
    column = np.empty(len(values), object)
    column[:] = values
    return column


def is_compiled(learner: Learner) -> TypeGuard[CompiledLearner]:
    """By its kernels alone: asking for all that the protocol names takes as long as ten steps."""
    return isinstance(getattr(learner, "kernels", None), LearnerKernels)


class blaming:
    """Says who failed, and at which step, when something raises. A class: generators cost microseconds a step."""

    __slots__ = ("_step", "_who")

    def __init__(self, who: str, step: int) -> None:
        self._who, self._step = who, step

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, (UsageError, EpisodeFault)):
            raise blamed(self._who, self._step, error) from error


@kernel
def write_opening(
    opening: Opening,
    step: int,
    observation: NDArray[np.float32],
    action: int,
    reward: float,
    next_observation: NDArray[np.float32],
    terminated: bool,
) -> None:
    opening.observations[step], opening.next_observations[step] = observation, next_observation
    opening.actions[step], opening.rewards[step], opening.terminated[step] = action, reward, terminated


@cache
def compiled_episode(task: TaskKernels, learner: LearnerKernels) -> Callable[..., tuple[int, float]]:
    """The same loop, compiled with the kernels of a domain and of a learner."""
    reset, step, write_observation = task
    begin_episode, act, observe = learner.begin_episode, learner.act, learner.observe

    @kernel
    def run_episode(params_handle: Any, stage_handle: Any, learner_handle: Any, seed: int) -> tuple[int, float]:
        params, arrays = unpack(params_handle), borrowed(unpack(learner_handle))
        state, stream, observation, next_observation, opening = borrowed(unpack(stage_handle))
        begin_episode(arrays)
        seed_stream(stream, seed)
        reset(params, state, stream)
        write_observation(params, state, observation)
        steps, total_reward = 0, 0.0
        while True:
            action = act(arrays, observation)
            reward, terminated, truncated = step(params, state, action, stream)
            write_observation(params, state, next_observation)
            observe(arrays, observation, action, reward, next_observation, terminated, truncated)
            if steps < opening.actions.size:
                write_opening(opening, steps, observation, action, reward, next_observation, terminated)
            steps += 1
            total_reward += reward
            if terminated or truncated:
                return steps, total_reward
            observation, next_observation = next_observation, observation

    return run_episode
