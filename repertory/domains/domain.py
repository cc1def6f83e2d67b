"""A domain: a finite list of tasks that share observation and action spaces.

Any domain can hand out a Gymnasium environment per task. A domain that also has compiled dynamics can be
played inside a compiled episode; its Gymnasium environments then call the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels.streams import Stream, new_stream

SCORES = ("mean return", "reward per step")
"""How a block is scored: by the mean return of its episodes (the paper's Cartpole), or by reward per step (POcman)."""


SPLIT = ("train", "held_out", "held_out_names")
"""What the settings of a domain say of its `split`."""


class TaskKernels(NamedTuple):
    """The compiled dynamics of a domain's tasks: three functions made with `@kernel`.

    `params` is whatever describes one task (a NamedTuple of numbers), `state` an array that the functions own.
    """

    reset: Callable[[Any, NDArray[Any], Stream], None]
    """reset(params, state, stream): begin an episode."""
    step: Callable[[Any, NDArray[Any], int, Stream], tuple[float, bool, bool]]
    """step(params, state, action, stream) -> reward, terminated, truncated."""
    observe: Callable[[Any, NDArray[Any], NDArray[np.float32]], None]
    """observe(params, state, observation): write what the learner sees."""


@dataclass(frozen=True)
class CompiledTasks:
    """What a compiled episode needs of a domain."""

    kernels: TaskKernels
    params: Sequence[Any]
    new_state: Callable[[], NDArray[Any]]
    observation_size: int


class EndFeature(NamedTuple):
    """A feature that, just before an episode ends for a certain cause, tells tasks apart.

    The paper's Cartpole: the angular velocity just before the pole falls.
    """

    name: str
    feature: int
    """Its place in an observation."""
    cause: int
    """The place of the feature that ended the episode by passing `limit` in size."""
    limit: float


@dataclass(frozen=True)
class Domain:
    """A finite list of tasks."""

    name: str
    task_names: tuple[str, ...]
    make_env: Callable[[int], gymnasium.Env]
    """make_env(task): a new Gymnasium environment of that task."""
    compiled: CompiledTasks | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """What the domain was built with, for the record of a run."""
    score: str = "mean return"
    """How its blocks are scored; see `SCORES`."""
    sample_observations: Callable[[np.random.Generator, int], NDArray[np.float32]] | None = None
    """(rng, count) -> observations that policies may be compared on; the observation space's own samples if none."""
    end_feature: EndFeature | None = None
    contexts: NDArray[np.float64] | None = field(default=None, compare=False)
    """(task, feature): numbers that describe the tasks, such as masses and lengths, for agents that go by them."""
    held_out: Domain | None = field(default=None, compare=False)
    """Tasks that are never trained on, and evaluated during the life; see `split`."""
    is_described: bool = True
    """Whether name, task names and settings tell it from all other domains. If false, runs cannot be resumed."""

    def __post_init__(self) -> None:
        if self.contexts is None:
            return
        contexts = np.asarray(self.contexts, float)
        if contexts.ndim != 2 or len(contexts) != self.n_tasks or not np.isfinite(contexts).all():
            raise UsageError(
                f"contexts of {self.name} have the shape {contexts.shape}; valid: finite numbers, a row for each of "
                f"the {self.n_tasks} tasks"
            )
        object.__setattr__(self, "contexts", contexts)

    @property
    def n_tasks(self) -> int:
        return len(self.task_names)

    def env(self, task: int) -> gymnasium.Env:
        """A new Gymnasium environment of a task."""
        if not 0 <= task < self.n_tasks:
            raise UsageError(f"task {task} of {self.name} does not exist; valid: 0 to {self.n_tasks - 1}")
        return self.make_env(task)

    def split(self, train: Sequence[int | str] | None = None, held_out: Sequence[int | str] | None = None) -> Domain:
        """A domain of the tasks in `train`, by number or name, whose policies are evaluated on those in `held_out`.

        What is not given is all the rest. During a life, every so often, the policies play the tasks that are held
        out, greedily and without learning; see `repertory.core.held_out`.
        """
        if train is None and held_out is None:
            raise UsageError("neither train nor held_out is given; valid: tasks by number or name")
        chosen = [None if given is None else [self._number(task) for task in given] for given in (train, held_out)]
        learned, kept = (
            [task for task in range(self.n_tasks) if task not in (other or ())] if own is None else own
            for own, other in (chosen, chosen[::-1])
        )
        if not learned or not kept or len({*learned, *kept}) < len(learned) + len(kept):
            raise UsageError(
                f"train is {learned} and held_out is {kept}; valid: one task or more in each, and none twice"
            )
        numbers = {"train": learned, "held_out": kept, "held_out_names": [self.task_names[task] for task in kept]}
        return replace(self._of(learned), held_out=self._of(kept), settings={**self.settings, **numbers})

    def _number(self, task: int | str) -> int:
        if isinstance(task, str) and task in self.task_names:
            return self.task_names.index(task)
        if isinstance(task, bool) or not isinstance(task, (int, np.integer)) or not 0 <= task < self.n_tasks:
            raise UsageError(f"task {task!r} of {self.name} does not exist; valid: 0 to {self.n_tasks - 1}, or a name")
        return int(task)

    def _of(self, tasks: Sequence[int]) -> Domain:
        """Some of its tasks."""
        compiled = self.compiled
        return replace(
            self,
            task_names=tuple(self.task_names[task] for task in tasks),
            make_env=lambda task: self.make_env(tasks[task]),
            compiled=None if compiled is None else replace(compiled, params=[compiled.params[task] for task in tasks]),
            contexts=None if self.contexts is None else self.contexts[list(tasks)],
        )

    def check_spaces(self, task: int, env: gymnasium.Env) -> None:
        """All tasks of a domain share their spaces: policies are built for one."""
        if (env.observation_space, env.action_space) != (self.observation_space, self.action_space):
            raise UsageError(
                f"task {task} of {self.name} has other spaces than task 0: {env.observation_space}, {env.action_space} "
                f"against {self.observation_space}, {self.action_space}"
            )

    @cached_property
    def _first_env(self) -> gymnasium.Env:
        return self.env(0)

    @property
    def observation_space(self) -> gymnasium.Space:
        return self._first_env.observation_space

    @property
    def action_space(self) -> gymnasium.Space:
        return self._first_env.action_space

    def distinct_tasks(self, steps: int = 2000) -> int:
        """How many tasks really differ, found by giving every task the same seeds and the same actions.

        Tasks that differ only after more than `steps` such steps count as the same.
        """
        return len({self.trajectory(task, steps) for task in range(self.n_tasks)})

    def identical_tasks(self, steps: int = 2000) -> list[tuple[int, ...]]:
        """Groups of two or more tasks that do not differ, found as by `distinct_tasks`."""
        groups: dict[bytes, list[int]] = {}
        for task in range(self.n_tasks):
            groups.setdefault(self.trajectory(task, steps), []).append(task)
        return [tuple(group) for group in groups.values() if len(group) > 1]

    def trajectory(self, task: int, steps: int) -> bytes:
        """Everything that a learner could see of a task under a fixed sequence of seeds and actions."""
        env = self.env(task)
        env.action_space.seed(0)
        seen = bytearray()
        over = True
        for t in range(steps):
            if over:
                observation, _info = env.reset(seed=t)
                seen += as_bytes(observation)
            observation, reward, terminated, truncated, _info = env.step(env.action_space.sample())
            seen += as_bytes(observation) + np.float64(reward).tobytes()
            seen += bytes([terminated, truncated])
            over = terminated or truncated
        env.close()
        return bytes(seen)


def as_bytes(observation: Any) -> bytes:
    """Equal for equal observations, also of several parts."""
    if isinstance(observation, dict):
        return b"".join(as_bytes(observation[key]) for key in sorted(observation))
    if isinstance(observation, (tuple, list)):
        return b"".join(map(as_bytes, observation))
    return observation.encode() if isinstance(observation, str) else np.asarray(observation).tobytes()


class KernelEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A Gymnasium environment on compiled dynamics: `reset` and `step` call the kernels that a compiled episode runs.

    An episode is decided by the seed given to `reset`; without one, the stream continues from the last episode.
    """

    picture: ClassVar[str]
    """The module whose `draw(params, state)` gives pixels and whose `write(params, state)` gives text, where
    `metadata["render_modes"]` has 'rgb_array' and 'ansi'."""

    def __init__(self, tasks: CompiledTasks, task: int, render_mode: str | None = None) -> None:
        self._kernels = tasks.kernels
        self._params = tasks.params[task]
        self._state = tasks.new_state()
        self._observation_size = tasks.observation_size
        self._stream: Stream | None = None
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._stream = new_stream(seed)
        elif self._stream is None:
            self._stream = new_stream(int(self.np_random.integers(2**63)))
        self._kernels.reset(self._params, self._state, self._stream)
        return self._observe(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        if self._stream is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"action {action!r} is not in {self.action_space}")
        reward, terminated, truncated = self._kernels.step(self._params, self._state, int(action), self._stream)
        return self._observe(), float(reward), bool(terminated), bool(truncated), {}

    def _observe(self) -> NDArray[np.float32]:
        observation = np.zeros(self._observation_size, np.float32)
        self._kernels.observe(self._params, self._state, observation)
        return observation

    def render(self) -> Any:
        valid = self.metadata["render_modes"]
        if not valid:
            return super().render()
        if self.render_mode not in valid:
            modes = " or ".join(repr(mode) for mode in valid)
            gymnasium.logger.warn(f"{type(self).__name__} renders only with render_mode={modes}")
            return None
        picture = import_module(self.picture)  # what draws is needed by those who look only
        return (picture.draw if self.render_mode == "rgb_array" else picture.write)(self._params, self._state)
