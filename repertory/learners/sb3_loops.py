"""The loops by which algorithms of Stable-Baselines3 collect experiences, taken one step at a time."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.utils import obs_as_tensor, should_collect_more_steps

from repertory.errors import UsageError
from repertory.learners.sb3_policy import SB3Learner, Step


class OffPolicyLearner(SB3Learner):
    """DQN, SAC, TD3, DDPG, QRDQN, TQC, ...: the loop of `OffPolicyAlgorithm`, step by step."""

    memory_name = "replay_buffer"

    @property
    def learning_starts(self) -> int:
        return int(self.model.learning_starts)

    def forget_experiences(self) -> None:
        self.model.replay_buffer.reset()

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

    def _explore(self, observations: Any, memory: Any) -> tuple[NDArray[Any], Any]:
        model, space = self.model, copy.deepcopy(self.model.action_space)
        actions, memory = super()._explore(observations, memory)
        is_beginning = model.num_timesteps < model.learning_starts
        if model.action_noise is not None and not is_beginning:
            noise = copy.deepcopy(model.action_noise)
            scaled = [model.policy.scale_action(action) + noise() for action in actions]
            actions = np.array([model.policy.unscale_action(np.clip(action, -1, 1)) for action in scaled])
        rate = 1.0 if is_beginning else getattr(model, "exploration_rate", 0.0)
        space.seed(int(np.random.randint(2**31)))  # noqa: NPY002
        for row in np.flatnonzero(np.random.random(len(actions)) < rate):  # noqa: NPY002
            actions[row] = space.sample()
        return actions, memory

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


def learner_class(algorithm: type) -> type[SB3Learner]:
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
