"""Deep Recurrent Q-Network (Hausknecht and Stone, 2015) as in the paper's Section 5.1: DQN on windows of observations.

The loss, the memory and the schedule are DQN's; what is replayed is the window of observations that led up to a
step, run through an LSTM from a zero state, with the loss on its last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels import recurrent
from repertory.kernels.compile import kernel
from repertory.kernels.layout import layout
from repertory.kernels.network import argmax, head
from repertory.kernels.q_loss import note_best
from repertory.kernels.recurrent import BatchOfWindows, RecurrentShape, Window
from repertory.kernels.replay import begin, steps_before
from repertory.kernels.replay_slots import read_observation
from repertory.kernels.streams import below, uniform
from repertory.kernels.views import Matrix, rows_view
from repertory.learners.compiled_policy import Network
from repertory.learners.dqn import DQN, DQNLearner
from repertory.learners.plain_weights import PlainWeights, looking_back
from repertory.learners.protocol import LearnerKernels
from repertory.learners.q_learning import Arrays, make_observe, policy_fields, scratch_fields, temporal_differences
from repertory.learners.windows import window_outputs
from repertory.settings import setting

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class DRQN(DQN):
    """Settings of a DRQN learner; calling them builds one. The defaults are the paper's.

    `net_arch` is the width of the rectified layer and the number of LSTM units.
    """

    random_first_steps: int = setting(15, "Steps at the start of an episode on which to act randomly.", at_least=0)
    window: int = setting(15, "Observations that the LSTM looks back over.", at_least=1)
    full_windows: bool = setting(
        False, "With sampling by episodes, whether only steps with a full window before them are replayed."
    )

    def validate(self) -> None:
        super().validate()
        if self.memory == "distribution-matching":
            raise UsageError(
                "DRQN.memory is 'distribution-matching'; valid: 'fifo', 'finished-episodes' or 'task-matching', which "
                "keep the steps before a step"
            )
        if self.full_windows and self.sampling != "episodes":
            raise UsageError("DRQN.full_windows is True; valid: False, unless sampling='episodes'")

    def __call__(
        self,
        observation_space: gymnasium.Space,
        action_space: gymnasium.Space,
        seed: int,
        n_tasks: int | None = None,
    ) -> DRQNLearner:
        return DRQNLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


OPEN = 4
"""Windows that act together, those of a step and of the next: a product of four rows takes hardly longer than one of a
single row, which waits for the weights."""


def policy_layout(shape: RecurrentShape, steps: int) -> np.dtype[Any]:
    return layout(
        [
            *policy_fields(recurrent.count_weights(shape)),
            ("window", np.int64, ()),
            ("recent", np.float32, (steps, shape.inputs)),
            ("recent_count", np.int64, ()),
            # The windows of the steps `open_since`, `open_since` + 1, ... of the episode, up to the step `open_until`.
            ("open_hidden", np.float32, (OPEN, shape.units)),
            ("open_cells", np.float32, (OPEN, shape.units)),
            ("open_last", np.float32, (shape.inputs,)),
            ("open_since", np.int64, ()),
            ("open_until", np.int64, ()),
        ]
    )


def scratch_layout(shape: RecurrentShape, batch_size: int, steps: int) -> np.dtype[Any]:
    observations = batch_size * (steps + 1)
    batch = (recurrent.count_window(shape, observations, batch_size, steps),)
    return layout(
        [
            *scratch_fields(recurrent.count_weights(shape), batch_size),
            ("acting", np.float32, (recurrent.count_window(shape, steps, OPEN, steps),)),
            ("acting_starts", np.int64, (OPEN,)),
            ("acting_places", np.int64, (OPEN * steps,)),
            ("acting_forest", np.int64, recurrent.forest_shape(OPEN, steps)),
            ("online", np.float32, batch),
            ("target", np.float32, batch),
            ("way_back", np.float32, (recurrent.count_window_gradient(shape, observations, batch_size, steps),)),
            ("online_starts", np.int64, (batch_size,)),
            ("target_starts", np.int64, (batch_size,)),
            ("places", np.int64, (observations,)),
            ("online_forest", np.int64, recurrent.forest_shape(batch_size, steps)),
            ("target_forest", np.int64, recurrent.forest_shape(batch_size, steps)),
            ("checksums", np.float64, (observations,)),
        ]
    )


# ------------------------------------------------------------------------------------------------- kernels


@kernel
def begin_episode(drqn: Arrays) -> None:
    policy = drqn.policy[0]
    policy.episode = 0
    policy.recent_count = 0
    close_windows(drqn)
    begin(drqn.replay, policy.cursor)


@kernel
def act(drqn: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy on the action values after the last `window` observations."""
    policy = drqn.policy[0]
    shape = recurrent.shape_of(policy.shape)
    explores = uniform(policy.stream) < policy.exploration_rate
    if explores or policy.episode < policy.random_first_steps:
        return below(policy.stream, shape.outputs)
    return argmax(look_back(drqn, observation), 0, shape.outputs)


@kernel
def look_back(drqn: Arrays, observation: NDArray[np.float32]) -> Matrix:
    """The network's outputs after the last `window` observations.

    The windows of the next steps begin in this one. As long as the weights stay, they are taken along.
    """
    policy, scratch = drqn.policy[0], drqn.scratch[0]
    shape = recurrent.shape_of(policy.shape)
    w3, b3 = recurrent.matrices(policy.weights, shape)[5:]
    windows = min(OPEN, policy.window, policy.train_freq)
    batch = recurrent.window(scratch.acting, shape, policy.window, OPEN, policy.window)
    if not goes_on(drqn, windows):
        open_windows(drqn, shape, batch, observation, windows)
    else:
        row = policy.episode - policy.open_since
        for ago in range(policy.episode - policy.open_until, 0, -1):
            advance_windows(drqn, shape, batch, policy.recent[policy.recent_count - ago], row, windows)
        advance_windows(drqn, shape, batch, observation, row, windows)
    policy.open_until = policy.episode + 1
    for k in range(shape.inputs):
        policy.open_last[k] = observation[k]
    row = policy.episode - policy.open_since
    head(rows_view(policy.open_hidden, row, 1), w3, b3, batch.outputs, 1)
    return batch.outputs


@kernel
def close_windows(drqn: Arrays) -> None:
    """Windows that were begun are void: of another episode, or of other weights."""
    drqn.policy[0].open_until = -1


@kernel
def goes_on(drqn: Arrays, windows: int) -> bool:
    """Whether this step's window has come to one of the steps before it, by what was observed since."""
    policy = drqn.policy[0]
    ago = policy.episode - policy.open_until
    if policy.open_until < 0 or ago < 0 or policy.episode - policy.open_since >= windows:
        return False
    last = policy.recent[policy.recent_count - 1 - ago]
    as_asked = True
    for k in range(policy.open_last.size):
        as_asked = as_asked and last[k] == policy.open_last[k]
    return as_asked


@kernel
def open_windows(
    drqn: Arrays, shape: RecurrentShape, batch: Window, observation: NDArray[np.float32], windows: int
) -> None:
    """Begin the windows of this step and of the next ones, and take them through all observations up to now."""
    policy, scratch = drqn.policy[0], drqn.scratch[0]
    earlier = policy.recent_count
    for k in range(shape.inputs):
        for t in range(earlier):
            batch.inputs[t, k] = policy.recent[t, k]
        batch.inputs[earlier, k] = observation[k]
    for i in range(windows):
        scratch.acting_starts[i] = max(earlier + i - (policy.window - 1), 0)
        for t in range(earlier + 1):
            scratch.acting_places[t * windows + i] = t
    made = BatchOfWindows(
        earlier + 1, windows, earlier + 1, scratch.acting_places, scratch.acting_starts, scratch.acting_forest
    )
    recurrent.window_forward(policy.weights, shape, batch, made)
    last = recurrent.last_node(made)
    for i in range(windows):
        for j in range(shape.units):
            policy.open_hidden[i, j] = batch.hidden[last + i, j]
            policy.open_cells[i, j] = batch.cells[last + i + 1, j]
    policy.open_since = policy.episode


@kernel
def advance_windows(
    drqn: Arrays, shape: RecurrentShape, batch: Window, observation: NDArray[np.float32], first: int, windows: int
) -> None:
    """Take the windows from row `first` on one observation further."""
    policy = drqn.policy[0]
    for k in range(shape.inputs):
        batch.inputs[0, k] = observation[k]
    recurrent.embed(policy.weights, shape, batch.inputs, batch.dense, batch.input_gates, 1)
    recurrent.advance(
        policy.weights, shape, batch.input_gates, 0, batch.gates, policy.open_hidden, policy.open_cells,
        batch.tanh_cells, first, windows,
    )  # fmt: skip


@kernel
def compute_gradient(drqn: Arrays) -> None:
    """Gradient of the loss on the windows that end in the experiences `drawn`: Equation "DRQN loss function"."""
    policy, scratch = drqn.policy[0], drqn.scratch[0]
    shape, rows, steps = recurrent.shape_of(policy.shape), policy.batch_size, policy.window
    most = rows * (steps + 1)
    online, target = (
        recurrent.window(scratch.online, shape, most, rows, steps),
        recurrent.window(scratch.target, shape, most, rows, steps),
    )
    way_back = recurrent.window_gradient(scratch.way_back, shape, most, rows, steps)
    for i in range(rows):
        earlier = steps_before(drqn.replay, policy.cursor, scratch.drawn[i], steps - 1)
        scratch.online_starts[i] = steps - 1 - earlier
        scratch.target_starts[i] = max(steps - 2 - earlier, 0)  # one observation more, if there is room
        read_window(drqn, online.inputs, i)
    # The target's windows are the same observations moved on by one step, so one table of them serves both networks.
    distinct = recurrent.index_distinct(online.inputs, most, scratch.places, scratch.checksums)
    for place in range(distinct):
        for k in range(shape.inputs):
            target.inputs[place, k] = online.inputs[place, k]
    made = BatchOfWindows(
        distinct, rows, steps, scratch.places[: rows * steps], scratch.online_starts, scratch.online_forest
    )
    target_made = BatchOfWindows(
        distinct, rows, steps, scratch.places[rows:], scratch.target_starts, scratch.target_forest
    )
    if policy.double_q:
        recurrent.window_forward(policy.weights, shape, target, target_made)
        note_best(target.outputs, rows, scratch.best_next)
    recurrent.window_forward(policy.weights, shape, online, made)
    recurrent.window_forward(policy.target_weights, shape, target, target_made)
    if not policy.double_q:
        note_best(target.outputs, rows, scratch.best_next)
    temporal_differences(drqn, online.outputs, target.outputs, way_back.outputs)
    recurrent.window_backward(policy.weights, shape, online, made, way_back, scratch.gradient)


@kernel
def read_window(drqn: Arrays, inputs: NDArray[np.float32], row: int) -> None:
    """The observations up to the one after `drawn[row]`: that of step t into row t * rows + `row`."""
    policy, scratch = drqn.policy[0], drqn.scratch[0]
    rows, steps, slots = policy.batch_size, policy.window, drqn.replay.slots.size
    for t in range(steps + 1):
        place = t * rows + row
        scratch.places[place] = -1
        if t >= scratch.online_starts[row]:
            slot = (scratch.drawn[row] + t - (steps - 1)) % slots
            read_observation(drqn.replay, policy.cursor, slot, policy.low, policy.high, inputs, place)
            scratch.places[place] = place


@kernel
def note_observation(drqn: Arrays, observation: NDArray[np.float32]) -> None:
    """Put it among those to look back on, in the place of the oldest."""
    policy = drqn.policy[0]
    if policy.recent_count == policy.window - 1:
        for t in range(policy.recent_count - 1):
            for k in range(observation.size):
                policy.recent[t, k] = policy.recent[t + 1, k]
        policy.recent_count = max(policy.recent_count - 1, 0)
    if policy.window > 1:
        for k in range(observation.size):
            policy.recent[policy.recent_count, k] = observation[k]
        policy.recent_count += 1


observe = make_observe(compute_gradient, note_observation, close_windows)


# ---------------------------------------------------------------------------------------------------- face


class DRQNLearner(DQNLearner):
    """One DRQN policy: recurrent network, target network, optimiser, replay memory, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe)
    state_fields = (*DQNLearner.state_fields, "recent", "recent_count")
    learns_off_policy = False  # it looks back
    settings: DRQN
    shape: RecurrentShape

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        shape, steps = RecurrentShape(inputs, *self.settings.net_arch, actions), self.settings.window
        scratch = scratch_layout(shape, self.settings.batch_size, steps)
        return Network(shape, recurrent.initial_weights(shape, rng), policy_layout(shape, steps), scratch)

    def state_limits(self) -> dict[str, tuple[int, int]]:
        return {"recent_count": (0, self.settings.window - 1)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(state)
        close_windows(self.arrays)

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The value of each action after each window of observations: (windows, steps, features)."""
        return window_outputs(self.policy["weights"], self.shape, observations) * self._value_of_one

    def plain_weights(self) -> PlainWeights:
        return looking_back(self.policy["weights"], self.shape, self.actions, self.settings.window)

    def _replay_drawn(self, arrays: Arrays) -> tuple[Matrix, tuple[Matrix, ...]]:
        compute_gradient(arrays)
        rows, steps = self.settings.batch_size, self.settings.window
        batch = recurrent.window(self.scratch["online"], self.shape, rows * (steps + 1), rows, steps)
        return batch.outputs, recurrent.last_activations(
            batch, self.scratch["places"], self.scratch["online_forest"], steps
        )
