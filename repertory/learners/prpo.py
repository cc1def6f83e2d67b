"""PPO with an LSTM ("PRPO") as in the paper's Section 5.1: PPO on windows of observations.

The loss, the epochs and the schedule are PPO's; each step is judged and learned from after the window of observations
that led up to it, run through an LSTM from a zero state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.kernels import recurrent
from repertory.kernels.actor_critic import sample, softmax_in_place
from repertory.kernels.compile import kernel
from repertory.kernels.layout import layout
from repertory.kernels.network import head
from repertory.kernels.recurrent import BatchOfWindows, RecurrentShape, Window
from repertory.kernels.streams import below
from repertory.kernels.views import Matrix, rows_view
from repertory.learners import proximal
from repertory.learners.compiled_policy import Network
from repertory.learners.plain_weights import PlainWeights, looking_back
from repertory.learners.ppo import PPO, PPOLearner
from repertory.learners.protocol import LearnerKernels
from repertory.learners.proximal import Arrays
from repertory.learners.windows import window_outputs
from repertory.settings import setting

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class PRPO(PPO):
    """Settings of a PRPO learner; calling them builds one. The defaults are the paper's.

    `net_arch` is the width of the rectified layer and the number of LSTM units.
    """

    n_steps: int = setting(100, "An update comes after this many steps, or at the episode's end.", at_least=1)
    n_epochs: int = setting(3, "Passes over the steps of an update.", at_least=1)
    random_first_steps: int = setting(
        15, "Steps at the start of an episode on which to act randomly, and which are not learned from.", at_least=0
    )
    window: int = setting(15, "Observations that the LSTM looks back over.", at_least=1)

    def __call__(
        self,
        observation_space: gymnasium.Space,
        action_space: gymnasium.Space,
        seed: int,
        n_tasks: int | None = None,
    ) -> PRPOLearner:
        return PRPOLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


def count_observations(n_steps: int, steps: int) -> int:
    """Those from before the collected steps, theirs, and what followed."""
    return steps - 1 + n_steps + 1


def policy_layout(shape: RecurrentShape, n_steps: int, steps: int) -> np.dtype[Any]:
    observations = count_observations(n_steps, steps)
    return layout(
        [
            *proximal.policy_fields(recurrent.count_weights(shape), n_steps),
            ("window", np.int64, ()),
            ("observations", np.float32, (observations, shape.inputs)),
            ("before", np.int64, ()),
            ("embedded", np.int64, ()),
            ("judged", np.int64, ()),
            ("probabilities", np.float32, (n_steps, shape.outputs - 1)),
            ("embedding", np.float32, (observations, 4 * shape.units)),
            # The windows that begin at each of the last `window` observations, as far as they have come.
            ("open_hidden", np.float32, (steps, shape.units)),
            ("open_cells", np.float32, (steps, shape.units)),
            ("advanced", np.int64, ()),
        ]
    )


def scratch_layout(shape: RecurrentShape, settings: PRPO) -> np.dtype[Any]:
    batch_size, steps = settings.batch_size, settings.window
    observations = count_observations(settings.n_steps, steps)
    return layout(
        [
            *proximal.scratch_fields(recurrent.count_weights(shape), batch_size),
            ("embedding_dense", np.float32, (observations, shape.dense)),
            ("open_gates", np.float32, (steps, 4 * shape.units)),
            ("open_tanh_cells", np.float32, (1, shape.units)),
            ("open_outputs", np.float32, (1, shape.outputs)),
            ("distinct", np.float32, (observations, shape.inputs)),
            ("distinct_count", np.int64, ()),
            ("place_of", np.int64, (observations,)),
            ("checksums", np.float64, (observations,)),
            ("places", np.int64, (batch_size * steps,)),
            ("starts", np.int64, (batch_size,)),
            ("forest", np.int64, recurrent.forest_shape(batch_size, steps)),
            ("room", np.float32, (recurrent.count_window(shape, observations, batch_size, steps),)),
            ("way_back", np.float32, (recurrent.count_window_gradient(shape, observations, batch_size, steps),)),
        ]
    )


# ------------------------------------------------------------------------------------------------- kernels


@kernel
def begin_episode(prpo: Arrays) -> None:
    policy = prpo.policy[0]
    policy.episode = 0
    policy.before = 0
    policy.collected = 0
    policy.embedded = 0
    policy.judged = 0
    policy.advanced = -1


@kernel
def act(prpo: Arrays, observation: NDArray[np.float32]) -> int:
    """An action drawn from the policy after the last `window` observations."""
    policy = prpo.policy[0]
    actions = policy.shape[3] - 1
    if policy.episode < policy.random_first_steps:
        return below(policy.stream, actions)
    note_observation(prpo, observation)
    outputs = look_back(prpo)
    softmax_in_place(outputs, 0, actions)
    if policy.judged == policy.collected:  # what `evaluate` would find for this step
        policy.values[policy.collected] = outputs[0, actions]
        for a in range(actions):
            policy.probabilities[policy.collected, a] = outputs[0, a]
        policy.judged += 1
    return sample(outputs, 0, actions, policy.stream)


@kernel
def look_back(prpo: Arrays) -> Matrix:
    """The network's outputs after the last `window` observations.

    A window is as many recurrent products of a single row as it has steps, each slower than the memory it reads. But
    every observation stands in as many windows: advancing all of them by one step is a single product.
    """
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    shape = recurrent.shape_of(policy.shape)
    _w1, _b1, _w, _r, _b, w3, b3 = recurrent.matrices(policy.weights, shape)
    here = policy.window - 1 + policy.collected
    begin = here - min(policy.before + policy.collected, policy.window - 1)
    embed_up_to(prpo, here)
    if policy.advanced != here:  # a new episode, new weights, or a step that was not acted on
        for row in range(begin, here):
            advance_windows(prpo, shape, row)
    advance_windows(prpo, shape, here)
    policy.advanced = here + 1
    head(rows_view(policy.open_hidden, begin % policy.window, 1), w3, b3, scratch.open_outputs, 1)
    return scratch.open_outputs


@kernel
def advance_windows(prpo: Arrays, shape: RecurrentShape, row: int) -> None:
    """One step on, to the observation in `row`, where a window begins in the place of the oldest."""
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    new = row % policy.window
    policy.open_hidden[new] = np.float32(0.0)
    policy.open_cells[new] = np.float32(0.0)
    recurrent.advance(
        policy.weights, shape, policy.embedding, row, scratch.open_gates, policy.open_hidden, policy.open_cells,
        scratch.open_tanh_cells, 0, policy.window,
    )  # fmt: skip


@kernel
def note_observation(prpo: Arrays, observation: NDArray[np.float32]) -> None:
    """Write down the observation of the step to be collected; what was found with another one is void."""
    policy = prpo.policy[0]
    policy.rollout = 0
    here = policy.window - 1 + policy.collected
    for k in range(observation.size):
        if policy.observations[here, k] != observation[k]:
            policy.observations[here, k] = observation[k]
            policy.embedded = min(policy.embedded, here)
            policy.judged = min(policy.judged, policy.collected)


@kernel
def embed_up_to(prpo: Arrays, last: int) -> None:
    """What the observations up to row `last` bring to the gates, computed once each between two updates."""
    policy = prpo.policy[0]
    first, count = policy.embedded, last + 1 - policy.embedded
    if count > 0:
        inputs, gates = rows_view(policy.observations, first, count), rows_view(policy.embedding, first, count)
        recurrent.embed(
            policy.weights, recurrent.shape_of(policy.shape), inputs, prpo.scratch[0].embedding_dense, gates, count
        )
        policy.embedded = last + 1


@kernel
def place_window(prpo: Arrays, step: int, rows: int, row: int) -> None:
    """Window `row` of a batch: the observations up to that of collected step `step`."""
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    steps = policy.window
    scratch.starts[row] = steps - 1 - min(policy.before + step, steps - 1)
    for t in range(steps):
        scratch.places[t * rows + row] = scratch.place_of[step + t]


@kernel
def find_distinct_observations(prpo: Arrays) -> None:
    """The different observations of the rollout and from before it: what its windows are made of."""
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    distinct = scratch.distinct
    count = policy.window + policy.collected
    for t in range(count):
        scratch.place_of[t] = t if t >= policy.window - 1 - policy.before else -1
        for k in range(distinct.shape[1]):
            distinct[t, k] = policy.observations[t, k]
    scratch.distinct_count = recurrent.index_distinct(distinct, count, scratch.place_of, scratch.checksums)


@kernel
def load_observations(prpo: Arrays, batch: Window) -> None:
    distinct = prpo.scratch[0].distinct
    for place in range(batch.inputs.shape[0]):
        for k in range(batch.inputs.shape[1]):
            batch.inputs[place, k] = distinct[place, k]


@kernel
def evaluate(prpo: Arrays, ended: bool) -> None:
    """Before the epochs: values, old probabilities, advantages and value targets of the collected steps.

    The weights are still those that the steps were played with, so what was found while acting is not found again.
    """
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    shape, steps = recurrent.shape_of(policy.shape), policy.collected
    find_distinct_observations(prpo)
    n = scratch.distinct_count
    for t in range(min(policy.judged, steps)):
        policy.old[t] = policy.probabilities[t, policy.actions[t]]
    for first in range(min(policy.judged, steps), steps + 1, policy.batch_size):
        rows = min(policy.batch_size, steps + 1 - first)
        batch = recurrent.window(scratch.room, shape, n, rows, policy.window)
        load_observations(prpo, batch)
        for i in range(rows):
            place_window(prpo, first + i, rows, i)
        made = BatchOfWindows(n, rows, policy.window, scratch.places, scratch.starts, scratch.forest)
        recurrent.window_forward(policy.weights, shape, batch, made)
        proximal.note_outputs(prpo, batch.outputs, first, rows)
    proximal.estimate_advantages(prpo, ended)


@kernel
def compute_gradient(prpo: Arrays, first: int, rows: int) -> None:
    """Gradient of the loss on the steps `order[first : first + rows]`."""
    policy, scratch = prpo.policy[0], prpo.scratch[0]
    shape, steps = recurrent.shape_of(policy.shape), policy.window
    n = scratch.distinct_count
    batch = recurrent.window(scratch.room, shape, n, rows, steps)
    way_back = recurrent.window_gradient(scratch.way_back, shape, n, rows, steps)
    load_observations(prpo, batch)
    for i in range(rows):
        place_window(prpo, policy.order[first + i], rows, i)
    proximal.gather_batch(prpo, first, rows)
    made = BatchOfWindows(n, rows, steps, scratch.places, scratch.starts, scratch.forest)
    recurrent.window_forward(policy.weights, shape, batch, made)
    proximal.differentiate_loss(prpo, batch.outputs, rows, way_back.outputs)
    recurrent.window_backward(policy.weights, shape, batch, made, way_back, scratch.gradient)


@kernel
def note_observations(prpo: Arrays, observation: NDArray[np.float32], next_observation: NDArray[np.float32]) -> None:
    policy = prpo.policy[0]
    note_observation(prpo, observation)
    for k in range(next_observation.size):
        policy.observations[policy.window + policy.collected, k] = next_observation[k]


@kernel
def move_on(prpo: Arrays, steps: int) -> None:
    """The last observations become those from before the next steps."""
    policy = prpo.policy[0]
    for t in range(policy.window - 1):
        for k in range(policy.observations.shape[1]):
            policy.observations[t, k] = policy.observations[t + steps, k]
    policy.before = min(policy.before + steps, policy.window - 1)
    policy.embedded = 0
    policy.judged = 0
    policy.advanced = -1


observe = proximal.make_observe(note_observations, move_on, evaluate, compute_gradient)


# ---------------------------------------------------------------------------------------------------- face


class PRPOLearner(PPOLearner):
    """One PRPO policy: recurrent network, optimiser, the steps collected since the last update, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe)
    _evaluate: ClassVar[Any] = staticmethod(evaluate)
    state_fields = (*PPOLearner.state_fields, "before")
    settings: PRPO
    shape: RecurrentShape

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        settings = self.settings
        shape = RecurrentShape(inputs, *settings.net_arch, actions + 1)
        weights = recurrent.initial_weights(shape, rng, heads=(actions, 1))
        layout = policy_layout(shape, settings.n_steps, settings.window)
        return Network(shape, weights, layout, scratch_layout(shape, settings))

    def state_limits(self) -> dict[str, tuple[int, int]]:
        return super().state_limits() | {"before": (0, self.settings.window - 1)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(state)
        self.policy["embedded"] = self.policy["judged"] = 0  # found with other weights
        self.policy["advanced"] = -1

    def outputs(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits of the actions and, last, the value, after each window: (windows, steps, features)."""
        return window_outputs(self.policy["weights"], self.shape, observations)

    def plain_weights(self) -> PlainWeights:
        return looking_back(self.policy["weights"], self.shape, self.actions, self.settings.window)

    def _look_back(self, policy: Any) -> None:
        """The observations from before the last update's steps are gone: windows begin at the first of those."""
        if policy["collected"] == 0:
            policy["before"] = 0
        policy["judged"] = 0
        super()._look_back(policy)

    def _differentiate(self, arrays: Arrays, first: int, rows: int) -> tuple[Matrix, tuple[Matrix, ...]]:
        compute_gradient(arrays, first, rows)
        steps, scratch = self.settings.window, self.scratch
        batch = recurrent.window(scratch["room"], self.shape, int(scratch["distinct_count"]), rows, steps)
        return batch.outputs, recurrent.last_activations(batch, scratch["places"], scratch["forest"], steps)
