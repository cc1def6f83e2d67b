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
import json
import types
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError, unknown
from repertory.learners.face import restore
from repertory.learners.protocol import State

try:
    import torch as th
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.distributions import StateDependentNoiseDistribution
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
    from stable_baselines3.common.save_util import recursive_getattr
    from stable_baselines3.common.utils import get_device, obs_as_tensor, should_collect_more_steps
    from stable_baselines3.common.vec_env import DummyVecEnv

    from repertory.learners.sb3_state import Generators, pack, unpack
except ImportError as error:
    raise UsageError(f"Stable-Baselines3 cannot be used ({error}); next: pip install 'repertory[sb3]'") from None

OURS = {
    "env": "the library's tasks are its environments",
    "seed": "the library gives each policy its own",
    "tensorboard_log": "the run's own event files have the losses",
    "_init_setup_model": "a policy is always set up",
}
"""Arguments of the algorithms that are not the user's to give, and why."""
BUFFER_MODULES = ("stable_baselines3.common.buffers", "sb3_contrib.common.recurrent.buffers")
"""Where the buffers stand whose content is rows, a position and whether they are full."""
LOSSES = ("train/value_loss", "train/critic_loss", "train/loss")
"""What algorithms log as the loss of their value function; the first that there is."""

# ------------------------------------------------------------------------------------------------ settings


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
        names = [name for name in _constructor_arguments(algorithm) if name != "policy" and name not in OURS]
        for name in arguments:
            if name in OURS:
                raise UsageError(f"{name} of {algorithm.__name__} cannot be set: {OURS[name]}")
            if name not in names:
                raise unknown(f"argument of {algorithm.__name__}", name, names)
        self._learner = _learner_class(algorithm)
        self.algorithm = algorithm
        self.policy = policy
        self.total_timesteps = total_timesteps
        self.arguments = copy.deepcopy(arguments) | {"device": str(arguments.get("device", "cpu"))}

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> SB3Learner:
        return self._learner(self, observation_space, action_space, seed)

    def build(self, env: Any, seed: int) -> Any:
        """The model. Arguments are copied: algorithms write into dictionaries, and noise has a state."""
        try:
            return self.algorithm(self.policy, env, seed=seed, **copy.deepcopy(self.arguments))
        except (AssertionError, TypeError, ValueError) as error:
            raise UsageError(f"{self.algorithm.__name__} cannot be built: {' '.join(str(error).split())}") from error

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


def _constructor_arguments(algorithm: type) -> list[str]:
    return list(inspect.signature(algorithm).parameters)


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


def _learner_class(algorithm: type) -> type[SB3Learner]:
    """By whose loop the algorithm collects experiences: that loop is the one taken apart here."""
    loops: dict[Any, type[SB3Learner]] = {
        OffPolicyAlgorithm.collect_rollouts: OffPolicyLearner,
        OnPolicyAlgorithm.collect_rollouts: OnPolicyLearner,
    }
    try:
        from sb3_contrib import RecurrentPPO

        loops[RecurrentPPO.collect_rollouts] = RecurrentLearner
    except ImportError:
        pass  # then the algorithm is not one of its either
    learner = loops.get(getattr(algorithm, "collect_rollouts", None))
    if learner is None:
        raise UsageError(
            f"{algorithm.__name__} collects experiences in a way of its own; valid: algorithms with the loop of "
            "OffPolicyAlgorithm, OnPolicyAlgorithm or RecurrentPPO, such as DQN, PPO, A2C, SAC, TD3, QRDQN"
        )
    return learner


# ------------------------------------------------------------------------------------------------ learners


class HandFed(gymnasium.Env[Any, Any]):
    """An environment that returns what it was given. The model's own wrappers around it do the rest: batches of one,
    float32 rewards, images with channels first, `terminal_observation` and `TimeLimit.truncated`."""

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> None:
        self.observation_space = copy.deepcopy(observation_space)
        self.action_space = copy.deepcopy(action_space)  # it has a generator, which is the policy's own
        self.observation = self.observation_space.sample()
        self.outcome = (0.0, False, False)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation, *self.outcome, {}


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
            self.model = settings.build(DummyVecEnv([lambda: self._env]), seed)
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
        """The action, and what the algorithm wants to remember of choosing it, from `act` to `observe`."""

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
        self._chosen = self._choose()
        return self._chosen[0][0]

    def observe(
        self, observation: Any, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool
    ) -> None:
        if self._chosen is None:
            raise UsageError("observe was called without act before it; valid: one observe for each act")
        actions, remembered = self._chosen
        if not np.array_equal(action, actions[0]):
            raise UsageError(f"observe was given action {action}, but act chose {actions[0]}; valid: that action")
        self._chosen = None
        self._generators.take()
        self._env.observation = next_observation
        self._env.outcome = (float(reward), bool(terminated), bool(truncated))
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

    def is_finite(self) -> bool:
        """Whether all weights are numbers still."""
        return all(bool(th.isfinite(weights).all()) for weights in self.model.policy.parameters())

    def losses(self) -> tuple[int, float]:
        """How many trainings there have been, and the sum of the value function's mean losses in them."""
        return self._trainings, self._loss_total

    # ---- saving

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
        settings = {*_constructor_arguments(type(self.model)), "start_time"}
        numbers = [name for name, value in vars(self.model).items() if isinstance(value, (bool, int, float))]
        return [name for name in numbers if name not in settings]

    def _noise_matrices(self) -> list[Any]:
        """Where state-dependent exploration keeps what it drew for the running rollout."""
        parts = [getattr(module, "action_dist", None) for module in self.model.policy.modules()]
        return [part for part in parts if isinstance(part, StateDependentNoiseDistribution)]


class OffPolicyLearner(SB3Learner):
    """DQN, SAC, TD3, DDPG, QRDQN, TQC, ...: the loop of `OffPolicyAlgorithm`, step by step."""

    memory_name = "replay_buffer"

    def _choose(self) -> tuple[NDArray[Any], Any]:
        self._renew_noise(getattr(self.model, "actor", None))
        return self.model._sample_action(self.model.learning_starts, self.model.action_noise, 1)

    def _learn(self, remembered: Any, step: Step) -> None:
        model = self.model
        model._store_transition(model.replay_buffer, remembered, *step)
        self._collected_steps += 1
        self._update_progress()
        model._on_step()
        if step.dones[0]:
            self._collected_episodes += 1
            model._episode_num += 1
            if model.action_noise is not None:
                model.action_noise.reset()
        if should_collect_more_steps(model.train_freq, self._collected_steps, self._collected_episodes):
            return
        gradient_steps = model.gradient_steps if model.gradient_steps >= 0 else self._collected_steps
        self._collected_steps = self._collected_episodes = 0
        if model.num_timesteps > model.learning_starts and gradient_steps > 0:
            self._train(gradient_steps, model.batch_size)

    def _probabilities(self, observations: Any, actions: int) -> NDArray[np.float64]:
        model = self.model
        rate = 1.0 if model.num_timesteps < model.learning_starts else model.exploration_rate
        best = model.policy._predict(observations, deterministic=True).cpu().numpy()
        probabilities = np.full((len(best), actions), rate / actions)
        probabilities[np.arange(len(best)), best] += 1.0 - rate
        return probabilities

    def _rows(self) -> int:
        memory = self._memory
        ahead = memory.optimize_memory_usage and not memory.full  # the next observation stands in the next row
        return memory.size() + int(ahead)


class OnPolicyLearner(SB3Learner):
    """PPO, A2C, TRPO, ...: the loop of `OnPolicyAlgorithm`, step by step."""

    memory_name = "rollout_buffer"

    def _begin_rollout(self) -> None:
        super()._begin_rollout()
        self.model.rollout_buffer.reset()

    def _choose(self) -> tuple[NDArray[Any], Any]:
        model, space = self.model, self.model.action_space
        self._renew_noise(model.policy)
        with th.no_grad():
            tensor, values, log_probs = self._forward(obs_as_tensor(model._last_obs, model.device))
        actions = played = tensor.cpu().numpy()
        if isinstance(space, gymnasium.spaces.Box):
            squashed = model.policy.squash_output
            played = model.policy.unscale_action(actions) if squashed else np.clip(actions, space.low, space.high)
        elif isinstance(space, gymnasium.spaces.Discrete):
            actions = actions.reshape(-1, 1)
        return played, (actions, values, log_probs)

    def _learn(self, remembered: Any, step: Step) -> None:
        model = self.model
        actions, values, log_probs = remembered
        if step.infos[0]["TimeLimit.truncated"]:  # cut off, not over: the critic guesses what would have come
            last_observation = model.policy.obs_to_tensor(step.infos[0]["terminal_observation"])[0]
            with th.no_grad():
                step.rewards[0] += model.gamma * self._value(last_observation, np.zeros(1, dtype=bool))[0]
        self._remember(model._last_obs, actions, step.rewards, model._last_episode_starts, values, log_probs)
        model._last_episode_starts = step.dones
        self._collected_steps += 1
        if self._collected_steps < model.n_steps:
            return
        # Where an episode is over, Stable-Baselines3 values the first observation of the next one, which is not known
        # here; that value is multiplied by zero.
        with th.no_grad():
            last_values = self._value(obs_as_tensor(step.observations, model.device), step.dones)
        model.rollout_buffer.compute_returns_and_advantage(last_values=last_values, dones=step.dones)
        self._collected_steps = 0
        self._update_progress()
        self._train()

    def _forward(self, observations: Any) -> tuple[Any, Any, Any]:
        return self.model.policy(observations)

    def _value(self, observations: Any, episode_starts: NDArray[np.bool_]) -> Any:
        return self.model.policy.predict_values(observations)

    def _remember(self, *step: Any) -> None:
        self.model.rollout_buffer.add(*step)

    def _distribution(self, observations: Any) -> Any:
        return self.model.policy.get_distribution(observations)

    def _probabilities(self, observations: Any, actions: int) -> NDArray[np.float64]:
        probabilities = self._distribution(observations).distribution.probs.double().cpu().numpy()
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _rows(self) -> int:
        return self._collected_steps


class RecurrentLearner(OnPolicyLearner):
    """RecurrentPPO: the same with the states of two LSTMs, which its networks set to zero where an episode starts."""

    _states_after: Any = None
    """The LSTMs' states after the observation acted on."""

    def _forward(self, observations: Any) -> tuple[Any, Any, Any]:
        model = self.model
        starts = self._tensor(model._last_episode_starts)
        *outputs, self._states_after = model.policy(observations, model._last_lstm_states, starts)
        return tuple(outputs)

    def _value(self, observations: Any, episode_starts: NDArray[np.bool_]) -> Any:
        return self.model.policy.predict_values(observations, self._states_after.vf, self._tensor(episode_starts))

    def _remember(self, *step: Any) -> None:
        self.model.rollout_buffer.add(*step, lstm_states=self.model._last_lstm_states)
        self.model._last_lstm_states = self._states_after

    def _distribution(self, observations: Any) -> Any:
        lstm = self.model.policy.lstm_actor
        rows = len(next(iter(observations.values())) if isinstance(observations, dict) else observations)
        nothing = self._tensor(np.zeros((lstm.num_layers, rows, lstm.hidden_size)))
        return self.model.policy.get_distribution(observations, (nothing, nothing), self._tensor(np.ones(rows)))[0]

    def _tensor(self, array: NDArray[Any]) -> Any:
        return th.tensor(array, dtype=th.float32, device=self.model.device)

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"lstm": [list(pair) for pair in self.model._last_lstm_states]}

    def _load(self, held: dict[str, Any]) -> None:
        super()._load(held)
        pairs = (tuple(tensor.to(self.model.device) for tensor in pair) for pair in held["lstm"])
        self.model._last_lstm_states = type(self.model._last_lstm_states)(*pairs)


def _is_column(value: Any) -> bool:
    """Whether this is an array, or a dictionary of arrays."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return bool(parts) and all(isinstance(part, np.ndarray) for part in parts)
