"""Proximal Policy Optimisation (Schulman et al., 2017) as in the paper's Section 5.1 and Table "Parameter settings"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import layout, shared_scratch
from repertory.kernels.network import NetworkShape
from repertory.kernels.reward_range import UNSEEN
from repertory.kernels.views import Matrix
from repertory.learners import proximal
from repertory.learners.compiled_policy import CompiledPolicy, Network
from repertory.learners.encoding import action_count, observation_size
from repertory.learners.health import OF_ACTOR_CRITIC, Health, Minibatch, measure
from repertory.learners.plain_weights import PlainWeights, feed_forward
from repertory.learners.protocol import LearnerKernels
from repertory.learners.proximal import Arrays
from repertory.learners.single.settings import SinglePolicy
from repertory.settings import setting

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class PPO(SinglePolicy):
    """Settings of a PPO learner; calling them builds one. The defaults are the paper's."""

    learning_rate: float = setting(0.00025, "Adam's step size.", above=0)
    anneal_steps: int | None = setting(
        None, "Steps of the policy over which the step size falls to 0 in a straight line, and stays there.", at_least=1
    )
    n_steps: int = setting(1024, "An update comes after this many steps, or at the episode's end.", at_least=1)
    batch_size: int = setting(34, "Steps in a minibatch.", at_least=1)
    n_epochs: int = setting(10, "Passes over the steps of an update.", at_least=1)
    gamma: float = setting(0.99, "Discount of future reward.", at_least=0, at_most=1)
    gae_lambda: float = setting(0.95, "Lambda of Generalised Advantage Estimation.", at_least=0, at_most=1)
    clip_range: float = setting(0.1, "How far the clipped objective rewards a change of the policy.", above=0)
    clip_range_vf: float | None = setting(
        None,
        "How far the value may move from what it was before the epochs; the larger of the clipped and the unclipped "
        "squared error counts.",
        above=0,
    )
    normalize_advantage: bool = setting(
        False, "Whether the advantages of each minibatch are brought to mean 0 and standard deviation 1."
    )
    target_kl: float | None = setting(
        None, "An update ends before a step that finds the policy moved 1.5 times this far (KL divergence).", above=0
    )
    vf_coef: float = setting(1.0, "Weight of the value loss.", at_least=0)
    ent_coef: float = setting(0.01, "Weight of the entropy.", at_least=0)
    max_grad_norm: float | None = setting(1.0, "Longer gradients are scaled down to this norm.", above=0)
    net_arch: tuple[int, int] = setting((80, 80), "Widths of the two hidden layers.", at_least=1)
    adam_beta_1: float = setting(0.9, "Adam's decay of the mean.", at_least=0, below=1)
    adam_beta_2: float = setting(0.999, "Adam's decay of the square.", at_least=0, below=1)
    adam_eps: float = setting(1e-8, "Adam's epsilon.", above=0)
    ratio: str = setting(
        "own",
        "Each step's probability over its own old one, fixed before the epochs; or over that of every step in the "
        "minibatch, taken anew before each.",
        choices=("own", "pairwise"),
    )
    probability_floor: float = setting(
        0.0, "Smaller probabilities count as this in the ratio, and are not pulled.", at_least=0, below=1
    )
    minibatches: str = setting(
        "shuffled", "Steps in random order, or slices in the order of time.", choices=("shuffled", "consecutive")
    )
    delta: str = setting(
        "discounted",
        "Temporal differences r + gamma V' - V; or r + V' - V, undiscounted but for the last.",
        choices=("discounted", "undiscounted"),
    )
    value_target: str = setting(
        "advantage",
        "What the value learns: advantage plus value (the lambda-return), or the discounted return.",
        choices=("advantage", "return"),
    )
    random_first_steps: int = setting(
        0, "Steps at the start of an episode on which to act randomly, and which are not learned from.", at_least=0
    )
    timeout_bootstraps: bool = setting(True, "Whether an episode cut off by a time limit counts as going on.")

    def validate(self) -> None:
        super().validate()
        if len(self.net_arch) != 2:
            raise UsageError(
                f"{type(self).__name__}.net_arch is {self.net_arch}; valid: the widths of two layers, such as (80, 80)"
            )

    def __call__(
        self,
        observation_space: gymnasium.Space,
        action_space: gymnasium.Space,
        seed: int,
        n_tasks: int | None = None,
    ) -> PPOLearner:
        if self.switched_on:
            from repertory.learners.single.ppo import ManyTaskPPO  # here: it is built on this file

            return ManyTaskPPO(self, observation_space, action_space, seed, n_tasks)
        return PPOLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


def policy_layout(shape: NetworkShape, n_steps: int) -> np.dtype[Any]:
    fields = proximal.policy_fields(network.count_weights(shape), n_steps)
    return layout([*fields, ("observations", np.float32, (n_steps + 1, shape.inputs))])


def scratch_layout(shape: NetworkShape, batch_size: int) -> np.dtype[Any]:
    fields = proximal.scratch_fields(network.count_weights(shape), batch_size)
    return layout([*fields, ("room", np.float32, (network.count_activations(shape, batch_size),))])


# ------------------------------------------------------------------------------------------------- kernels


@kernel
def begin_episode(ppo: Arrays) -> None:
    policy = ppo.policy[0]
    policy.episode = 0
    policy.collected = 0


@inlined
def look(ppo: Arrays, observation: NDArray[np.float32]) -> Matrix:
    """The network's outputs, in the first row: logits of the actions, then the value."""
    policy = ppo.policy[0]
    shape = network.shape_of(policy.shape)
    batch = network.activations(ppo.scratch[0].room, shape, policy.batch_size)
    for k in range(shape.inputs):
        batch.inputs[0, k] = observation[k]
    network.forward(policy.weights, shape, batch, 1)
    return batch.outputs


act, act_greedily = proximal.make_acts(look)


@kernel
def evaluate(ppo: Arrays, ended: bool) -> None:
    """Before the epochs: values, old probabilities, advantages and value targets of the collected steps."""
    policy = ppo.policy[0]
    shape, steps = network.shape_of(policy.shape), policy.collected
    batch = network.activations(ppo.scratch[0].room, shape, policy.batch_size)
    for first in range(0, steps + 1, policy.batch_size):
        rows = min(policy.batch_size, steps + 1 - first)
        for i in range(rows):
            for k in range(shape.inputs):
                batch.inputs[i, k] = policy.observations[first + i, k]
        network.forward(policy.weights, shape, batch, rows)
        proximal.note_outputs(ppo, batch.outputs, first, rows)
    proximal.estimate_advantages(ppo, ended)


@kernel
def compute_gradient(ppo: Arrays, first: int, rows: int) -> None:
    """Gradient of the loss on the steps `order[first : first + rows]`: Equation "PPO loss function"."""
    policy = ppo.policy[0]
    shape = network.shape_of(policy.shape)
    batch = network.activations(ppo.scratch[0].room, shape, policy.batch_size)
    for i in range(rows):
        t = policy.order[first + i]
        for k in range(shape.inputs):
            batch.inputs[i, k] = policy.observations[t, k]
    proximal.gather_batch(ppo, first, rows)
    network.forward(policy.weights, shape, batch, rows)
    proximal.differentiate_loss(ppo, batch.outputs, rows, batch.gradient_outputs)
    network.backward(policy.weights, shape, batch, rows, ppo.scratch[0].gradient)


@kernel
def note_observations(ppo: Arrays, observation: NDArray[np.float32], next_observation: NDArray[np.float32]) -> None:
    """Of a step to be collected."""
    policy = ppo.policy[0]
    if policy.episode >= policy.random_first_steps:
        for k in range(observation.size):
            policy.observations[policy.collected, k] = observation[k]
            policy.observations[policy.collected + 1, k] = next_observation[k]


@kernel
def move_on(ppo: Arrays, steps: int) -> None:
    """Nothing of what came before is looked back on."""


observe = proximal.make_observe(note_observations, move_on, evaluate, compute_gradient)


# ---------------------------------------------------------------------------------------------------- face


class PPOLearner(CompiledPolicy):
    """One PPO policy: network, optimiser, the steps collected since the last update, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe, act_greedily)
    _evaluate: ClassVar[Any] = staticmethod(evaluate)
    state_fields: ClassVar[tuple[str, ...]] = (
        *("weights", "mean", "square", "observations", "actions", "rewards", "stream"),
        *("collected", "life", "episode", "updates", "loss_total"),
        *("rollout", "rollout_ended", *UNSEEN),
    )
    added_fields: ClassVar[Mapping[str, float]] = {"rollout": 0, "rollout_ended": False, **UNSEEN}

    def __init__(
        self, settings: PPO, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        name = type(settings).__name__
        inputs, actions = observation_size(name, observation_space), action_count(name, action_space)
        self.settings = settings
        new = self._new_network(inputs, actions, np.random.default_rng(seed))
        self.shape = new.shape
        policy = new.new_policy(settings, seed)
        policy["max_norm"] = settings.max_grad_norm or 0.0
        policy["value_clip"] = settings.clip_range_vf or 0.0
        policy["largest_kl"] = 1.5 * (settings.target_kl or 0.0)
        policy["annealing"] = settings.anneal_steps or 0
        policy["pairwise"] = settings.ratio == "pairwise"
        policy["shuffles"] = settings.minibatches == "shuffled"
        policy["discounts_delta"] = settings.delta == "discounted"
        policy["learns_returns"] = settings.value_target == "return"
        super().__init__(Arrays(policy, shared_scratch(new.scratch_layout)), inputs, actions, observation_space)

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        shape = NetworkShape(inputs, *self.settings.net_arch, actions + 1)
        weights = network.glorot_uniform(shape, rng, heads=(actions, 1))
        scratch = scratch_layout(shape, self.settings.batch_size)
        return Network(shape, weights, policy_layout(shape, self.settings.n_steps), scratch)

    def state_limits(self) -> dict[str, tuple[int, int]]:
        most = self.settings.n_steps
        return {"collected": (0, most - 1), "rollout": (0, most), "actions": (0, self.actions - 1)}

    def outputs(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits of the actions and, last, the value, for each row of observations."""
        batch = network.new_activations(self.shape, len(observations))
        batch.inputs[:] = self.checked_rows(observations)
        network.forward(self.policy["weights"], self.shape, batch, len(observations))
        return batch.outputs

    def state_values(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each row of observations is worth."""
        return self.outputs(observations)[:, -1].astype(np.float64)

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        logits = self.outputs(observations)[:, :-1].astype(np.float64)
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def plain_weights(self) -> PlainWeights:
        return feed_forward(self.policy["weights"], self.shape, self.actions)

    def health(self) -> Health:
        """On the steps collected since the last update or, right after one, on its own."""
        return measure(OF_ACTOR_CRITIC, self.policy, self.settings.gamma, self._sample())

    def _sample(self) -> list[Minibatch]:
        """Those steps as a copy of the policy would learn from them first."""
        arrays = self.arrays._replace(policy=self.arrays.policy.copy())
        policy, size = arrays.policy[0], self.settings.batch_size
        ended = policy["collected"] == 0 and policy["rollout_ended"]
        self._look_back(policy)
        steps = int(policy["collected"])
        if steps == 0:
            return []
        self._evaluate(arrays, bool(ended))
        policy["order"][:steps] = np.arange(steps)
        minibatches = []
        for first in range(0, steps, size):
            rows = min(size, steps - first)
            outputs, layers = self._differentiate(arrays, first, rows)
            errors = outputs[:, -1] - policy["targets"][first : first + rows]
            minibatches.append(Minibatch(outputs.copy(), errors, layers, self.scratch["gradient"].copy()))
        return minibatches

    def _look_back(self, policy: Any) -> None:
        """If no step is collected, take the last update's for collected."""
        if policy["collected"] == 0:
            policy["collected"] = policy["rollout"]

    def _differentiate(self, arrays: Arrays, first: int, rows: int) -> tuple[Matrix, tuple[Matrix, ...]]:
        """Compute a minibatch's gradient; what the network came to, and copies of its layers."""
        compute_gradient(arrays, first, rows)
        batch = network.activations(self.scratch["room"], self.shape, self.settings.batch_size)
        return batch.outputs[:rows], (batch.hidden_1[:rows].copy(), batch.hidden_2[:rows].copy())
