"""Stable-Baselines3 algorithms as policies of a library.

    import stable_baselines3
    from repertory.learners.sb3 import SB3

    repertory.live("cartpole27", SB3(stable_baselines3.DQN, learning_starts=1000), policies=9)

`model.learn` of Stable-Baselines3 runs an environment to the end. Here the same loop is taken one step at a time, so
that a policy can rest between its episodes with its replay or rollout buffer as it was left. Everything else is the
algorithm's own: networks, buffers, schedules, `train`. One policy on one task ends with the weights that `model.learn`
gives, bit for bit, after as many steps: `model.learn` goes on to the end of a rollout, a library to the end of an
episode. An environment whose `reset` draws from NumPy's or PyTorch's shared generator is the one exception:
Stable-Baselines3 resets it before it trains, a library afterwards.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from repertory.errors import UsageError, unknown
from repertory.learners.replay_room import check_room, element_bytes
from repertory.learners.sb3_by_name import OURS
from repertory.machine import let_torch_run_on_one_thread

try:
    import torch as th
    from stable_baselines3.common.base_class import BaseAlgorithm

    from repertory.learners.sb3_loops import learner_class
    from repertory.learners.sb3_policy import SB3Learner, constructor_arguments
except ImportError as error:
    raise UsageError(f"Stable-Baselines3 cannot be used ({error}); next: pip install 'repertory[sb3]'") from None

let_torch_run_on_one_thread()


class SB3:
    """Settings of a Stable-Baselines3 learner; calling them builds one.

    `arguments` are the algorithm's own (`learning_rate`, `policy_kwargs`, ...). `total_timesteps` is what its schedules
    are stretched over, as in `model.learn`: DQN's exploration falls during the first tenth of it. It counts the steps
    of one policy; beyond it, schedules stay at their end.
    """

    def __init__(
        self, algorithm: type, policy: str | type = "MlpPolicy", *, total_timesteps: int = 100_000, **arguments: Any
    ) -> None:
        if not (isinstance(algorithm, type) and issubclass(algorithm, BaseAlgorithm)):
            raise UsageError(f"algorithm is {algorithm!r}; valid: a class such as stable_baselines3.DQN")
        aliases = getattr(algorithm, "policy_aliases", {})
        if isinstance(policy, str) and policy not in aliases:
            raise unknown(f"policy of {algorithm.__name__}", policy, aliases)
        if type(total_timesteps) is not int or total_timesteps < 1:
            raise UsageError(f"total_timesteps is {total_timesteps!r}; valid: a whole number at least 1")
        names = [name for name in constructor_arguments(algorithm) if name != "policy" and name not in OURS]
        for name in arguments:
            if name in OURS:
                raise UsageError(f"{name} of {algorithm.__name__} cannot be set: {OURS[name]}")
            if name not in names:
                raise unknown(f"argument of {algorithm.__name__}", name, names)
        self._learner = learner_class(algorithm)
        self.algorithm = algorithm
        self.policy = policy
        self.total_timesteps = total_timesteps
        self.arguments = copy.deepcopy(arguments) | {"device": str(arguments.get("device", "cpu"))}

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> SB3Learner:
        check_room(self, observation_space, action_space, policies=1)
        return self._learner(self, observation_space, action_space, seed)

    def build(self, env: Any, seed: int) -> Any:
        """The model. Arguments are copied: algorithms write into dictionaries, and noise has a state."""
        try:
            return self.algorithm(self.policy, env, seed=seed, **copy.deepcopy(self.arguments))
        except (AssertionError, NotImplementedError, TypeError, ValueError) as error:
            said = " ".join(str(error).split())
            raise UsageError(f"{self.algorithm.__name__} cannot be built: {said}{_next_step(self, env)}") from error

    @property
    def buffer_size(self) -> int:
        """Experiences that a policy keeps for replay: 0 of an algorithm without a replay buffer."""
        usual = inspect.signature(self.algorithm).parameters.get("buffer_size")
        return int(self.arguments.get("buffer_size", usual.default if usual is not None else 0))

    def replay_bytes(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> int:
        """What they take: two observations each, unless the buffer keeps every one once."""
        observations = 1 if self.arguments.get("optimize_memory_usage") else 2
        return self.buffer_size * (observations * element_bytes(observation_space) + element_bytes(action_space))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record of a run."""
        return self._description[0]

    @property
    def is_described(self) -> bool:
        """Whether `as_dict` tells these settings from all others: not if a lambda or the like is among them."""
        return self._description[1]

    @functools.cached_property
    def _description(self) -> tuple[dict[str, Any], bool]:
        vague: list[object] = []
        parts = {"algorithm": self.algorithm, "policy": self.policy, "total_timesteps": self.total_timesteps}
        return _plain({**parts, "arguments": self.arguments}, vague), not vague

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"SB3({self.algorithm.__name__}, {self.policy!r}, total_timesteps={self.total_timesteps}{arguments})"


def _next_step(settings: SB3, env: Any) -> str:
    """What fits the spaces, where they are what an algorithm cannot take."""
    if _has_parts_in_parts(env.observation_space):
        return "; next: gymnasium.wrappers.FlattenObservation, or parts that are no Dict or Tuple themselves"
    counted = isinstance(env.action_space, gymnasium.spaces.Discrete)
    takes_counted = settings.algorithm.__name__ not in ("SAC", "TD3", "DDPG", "TQC", "CrossQ")
    if counted and not takes_counted:
        return "; next: an algorithm for Discrete actions, such as stable_baselines3.DQN or PPO"
    if not counted and settings.algorithm.__name__ in ("DQN", "QRDQN"):
        return f"; next: an algorithm for {type(env.action_space).__name__} actions, such as stable_baselines3.PPO"
    return ""


def _has_parts_in_parts(space: gymnasium.Space) -> bool:
    parts = space.spaces.values() if isinstance(space, gymnasium.spaces.Dict) else ()
    return isinstance(space, gymnasium.spaces.Tuple) or any(
        isinstance(part, (gymnasium.spaces.Dict, gymnasium.spaces.Tuple)) for part in parts
    )


def _plain(value: Any, vague: list[object]) -> Any:
    """A value as JSON can hold it; what has no lasting name goes to `vague` as well."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic, th.Tensor)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(part, vague) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, vague) for part in value]
    if isinstance(value, (type, types.FunctionType)):
        name = f"{value.__module__}.{value.__qualname__}"
        if "<" in name or value.__module__ == "__main__":
            vague.append(value)
        return name
    if hasattr(value, "__dict__"):  # action noise, a schedule: its class and what it was made with
        return {"class": _plain(type(value), vague), **_plain(vars(value), vague)}
    vague.append(value)
    return str(value)
