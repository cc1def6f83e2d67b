"""A Stable-Baselines3 model as one policy of a library: the protocol, and its state as arrays."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.distributions import StateDependentNoiseDistribution
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.utils import get_device

from repertory.errors import UsageError
from repertory.learners.compiled_policy import restore
from repertory.learners.protocol import State
from repertory.learners.sb3_env import HandFed
from repertory.learners.sb3_state import Generators, drawn_by, pack, unpack

if TYPE_CHECKING:
    from repertory.learners.sb3 import SB3

BUFFER_MODULES = ("stable_baselines3.common.buffers", "sb3_contrib.common.recurrent.buffers")
"""Where the buffers stand whose content is rows, a position and whether they are full."""
LOSSES = ("train/value_loss", "train/critic_loss", "train/loss")
"""What algorithms log as the loss of their value function; the first that there is."""


def constructor_arguments(algorithm: type) -> list[str]:
    """The names of all that an algorithm can be made with."""
    return list(inspect.signature(algorithm).parameters)


class Step(NamedTuple):
    """What a model's environment returns, for a batch of one."""

    observations: Any
    rewards: NDArray[np.float32]
    dones: NDArray[np.bool_]
    infos: list[dict[str, Any]]


class SB3Learner:
    """One policy: a Stable-Baselines3 model whose loop is driven from outside."""

    memory_name: ClassVar[str]
    """Which attribute of the model is its replay or rollout buffer."""

    def __init__(
        self, settings: SB3, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        self.settings = settings
        self._env = HandFed(observation_space, action_space)
        self._generators = Generators(get_device(settings.arguments["device"]))
        self._generators.take()
        try:
            self.model = settings.build(self._env, seed)
            self.model.set_logger(Logger(folder=None, output_formats=[]))
            self.model._setup_learn(settings.total_timesteps)
        finally:
            self._generators.give_back()
        self._memory = getattr(self.model, self.memory_name)
        if type(self._memory).__module__ not in BUFFER_MODULES:
            valid = " and ".join(BUFFER_MODULES)
            raise UsageError(f"{type(self._memory).__name__} cannot be saved; valid buffers: those of {valid}")
        self._columns = [name for name, value in vars(self._memory).items() if _is_column(value)]
        self._collected_steps = self._collected_episodes = 0
        """Of the running rollout, which is what lies between two calls of `train`."""
        self._trainings, self._loss_total = 0, 0.0
        self._chosen: Any = None
        """The action, a batch of it, and what the algorithm remembers of the choice, from `act` to `observe`."""

    # ---- the protocol

    def begin_episode(self) -> None:
        self._generators.take()
        self._chosen = None
        self.model._last_episode_starts = np.ones((1,), dtype=bool)

    def act(self, observation: Any) -> Any:
        self._generators.take()
        self._env.observation = observation
        self.model._last_obs = self.model.env.reset()
        if self._collected_steps == 0:
            self._begin_rollout()
        actions, remembered = self._choose()
        self._chosen = actions[0], actions, remembered
        return self._chosen[0]

    def observe(
        self, observation: Any, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool
    ) -> None:
        if self._chosen is None:
            raise UsageError("observe was called without act before it; valid: one observe for each act")
        chosen, actions, remembered = self._chosen
        if action is not chosen and not np.array_equal(action, chosen):
            raise UsageError(f"observe was given action {action}, but act chose {chosen}; valid: that action")
        self._chosen = None
        self._generators.take()
        self._env.observation, self._env.reward = next_observation, float(reward)
        self._env.terminated, self._env.truncated = bool(terminated), bool(truncated)
        self.model.num_timesteps += 1
        self._learn(remembered, Step(*self.model.env.step(actions)))
        if terminated or truncated:
            self._generators.give_back()

    def _begin_rollout(self) -> None:
        self.model.policy.set_training_mode(False)

    def _choose(self) -> tuple[NDArray[Any], Any]:
        """Actions, a batch of one, and what `_learn` needs to know again."""
        raise NotImplementedError

    def _learn(self, remembered: Any, step: Step) -> None:
        """What the algorithm does with a step that its environment has made."""
        raise NotImplementedError

    def _renew_noise(self, actor: Any) -> None:
        """State-dependent exploration draws a new matrix when a rollout begins, and as often as it is set to."""
        if self.model.use_sde:
            every = self.model.sde_sample_freq
            for due in (self._collected_steps == 0, every > 0 and self._collected_steps % every == 0):
                if due:
                    actor.reset_noise(1)

    def _update_progress(self) -> None:
        total = self.model._total_timesteps
        steps = min(self.model.num_timesteps, total)  # a learning rate that falls to zero must not fall below it
        self.model._update_current_progress_remaining(steps, total)

    def _train(self, *arguments: int) -> None:
        self.model.train(*arguments)
        logged = self.model.logger.name_to_value
        self._trainings += 1
        self._loss_total += float(next((logged[name] for name in LOSSES if name in logged), 0.0))

    # ---- looking into it

    def action_probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """For each row of observations, the probability of each action; for a recurrent policy, as the first of an
        episode."""
        space = self.model.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise UsageError(f"actions in {space} have no probabilities; valid: a Discrete action space")
        self.model.policy.set_training_mode(False)
        with th.no_grad():
            return self._probabilities(self.model.policy.obs_to_tensor(observations)[0], int(space.n))

    def _probabilities(self, observations: Any, actions: int) -> NDArray[np.float64]:
        raise NotImplementedError

    def actions_at_rest(
        self, observations: Any, memory: Any = None, rng: np.random.Generator | None = None
    ) -> tuple[NDArray[Any], Any]:
        """For each row of observations, the action rated highest or, with `rng`, one drawn as it explores; and the
        states of a recurrent policy's LSTM, to be given with the next observations."""
        if rng is None:
            return self.model.policy.predict(observations, memory, deterministic=True)
        with drawn_by(rng):
            return self._explore(observations, memory)

    def _explore(self, observations: Any, memory: Any) -> tuple[NDArray[Any], Any]:
        return self.model.policy.predict(observations, memory, deterministic=False)

    def is_finite(self) -> bool:
        """Whether all weights are numbers still."""
        return all(bool(th.isfinite(weights).all()) for weights in self.model.policy.parameters())

    def losses(self) -> tuple[int, float]:
        """How many trainings there have been, and the sum of the value function's mean losses in them."""
        return self._trainings, self._loss_total

    # ---- saving

    export_ending: ClassVar[str] = ".zip"

    def export(self, path: Path) -> None:
        """Write the model as Stable-Baselines3 does: `stable_baselines3.SAC.load(path)` reads it."""
        self.model.save(path)

    def state_dict(self) -> State:
        if self._chosen is not None:
            raise UsageError("a policy cannot be saved between act and observe; valid: between steps or episodes")
        arrays: State = {}
        text = json.dumps(pack(self._state(), "", arrays))
        return {**arrays, "structure": np.frombuffer(text.encode(), np.uint8).copy()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        if "structure" not in state:
            raise UsageError(f"state has {sorted(state)}; valid: what state_dict of an SB3 learner gave")
        held = unpack(json.loads(bytes(state["structure"])), state)
        name = self.settings.algorithm.__name__
        if held["algorithm"] != name:
            raise UsageError(f"the state is of {held['algorithm']}; this learner is {name}")
        self._load(held)

    def _state(self) -> dict[str, Any]:
        model, rows = self.model, self._rows()
        parts, variables = model._get_torch_save_params()
        noise = vars(model.action_noise) if model.action_noise is not None else {}
        return {
            "algorithm": self.settings.algorithm.__name__,
            "weights": {name: recursive_getattr(model, name).state_dict() for name in parts},
            "variables": {name: recursive_getattr(model, name) for name in variables},
            "counters": {name: getattr(model, name) for name in self._counter_names()},
            "memory": {name: array[:rows] for name, array in self._memory_arrays().items() if rows},
            "place": [rows, self._memory.pos, self._memory.full],
            "rollout": [self._collected_steps, self._collected_episodes, self._trainings, self._loss_total],
            "episode starts": model._last_episode_starts,
            "matrices": [[part.exploration_mat, part.exploration_matrices] for part in self._noise_matrices()],
            "noise": {name: array for name, array in noise.items() if _is_column(array)},
            "action space": model.action_space.np_random.bit_generator.state,
            "generators": self._generators.state(),
        }

    def _load(self, held: dict[str, Any]) -> None:
        model, memory = self.model, self._memory
        model.set_parameters(held["weights"], exact_match=True, device=model.device)
        for name, tensor in held["variables"].items():
            recursive_getattr(model, name).data = tensor.to(model.device)
        for name, value in held["counters"].items():
            setattr(model, name, value)
        memory.reset()
        rows, position, full = held["place"]
        for name, array in self._memory_arrays().items() if rows else ():
            restore(array[:rows], held["memory"][name], name)
        memory.pos, memory.full = position, full
        self._collected_steps, self._collected_episodes, self._trainings, self._loss_total = held["rollout"]
        model._last_episode_starts = held["episode starts"]
        for part, matrices in zip(self._noise_matrices(), held["matrices"], strict=True):
            part.exploration_mat, part.exploration_matrices = (matrix.to(model.device) for matrix in matrices)
        for name, array in held["noise"].items():
            setattr(model.action_noise, name, array)
        model.action_space.np_random.bit_generator.state = held["action space"]
        self._generators.load(held["generators"])
        model.policy.set_training_mode(False)
        self._chosen = None

    def _rows(self) -> int:
        """How many rows of the buffer matter."""
        raise NotImplementedError

    def _memory_arrays(self) -> dict[str, NDArray[Any]]:
        """The buffer's arrays by name; of observations that are dictionaries, one for each key."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in self._columns:
            column = getattr(self._memory, name)
            parts = {f"{name} {key}": part for key, part in column.items()} if isinstance(column, dict) else {}
            arrays |= parts or {name: column}
        return arrays

    def _counter_names(self) -> list[str]:
        """The model's numbers that are not settings, except the time on the clock."""
        settings = {*constructor_arguments(type(self.model)), "start_time"}
        numbers = [name for name, value in vars(self.model).items() if isinstance(value, (bool, int, float))]
        return [name for name in numbers if name not in settings]

    def _noise_matrices(self) -> list[Any]:
        """Where state-dependent exploration keeps what it drew for the running rollout."""
        parts = [getattr(module, "action_dist", None) for module in self.model.policy.modules()]
        return [part for part in parts if isinstance(part, StateDependentNoiseDistribution)]


def _is_column(value: Any) -> bool:
    """Whether this is an array, or a dictionary of arrays."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return bool(parts) and all(isinstance(part, np.ndarray) for part in parts)
