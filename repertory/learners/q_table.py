"""Q-learning with a table (Watkins, 1989): for observations that are whole numbers, such as the cells of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import allocate, fill_settings, layout
from repertory.kernels.streams import below, new_stream, uniform
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.encoding import action_count
from repertory.learners.plain_weights import PlainWeights
from repertory.learners.protocol import LearnerKernels
from repertory.settings import Settings, setting

MOST_STATES = 1_000_000

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class QTable(Settings):
    """Settings of tabular Q-learning; calling them builds a learner. The rates are those of PRQ-learning."""

    learning_rate: float = setting(0.05, "How far a value moves towards its target.", above=0, at_most=1)
    gamma: float = setting(0.95, "Discount of future reward.", at_least=0, at_most=1)
    exploration_rate: float = setting(
        0.1, "Probability of a random action, in the first episode.", at_least=0, at_most=1
    )
    exploration_decrease: float = setting(
        0.0, "What that probability loses from one episode to the next, down to 0.", at_least=0, at_most=1
    )

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> QTableLearner:
        return QTableLearner(self, observation_space, action_space, seed)


class Grid(NamedTuple):
    """Observations as whole numbers: the least of each, and how many there are."""

    low: NDArray[np.int64]
    sizes: NDArray[np.int64]


def grid_of(space: gymnasium.Space) -> Grid:
    """Of choices, or of vectors whose elements are bounded by whole numbers."""
    if isinstance(space, gymnasium.spaces.Discrete):
        grid = Grid(np.array([space.start]), np.array([space.n]))
    elif isinstance(space, gymnasium.spaces.MultiDiscrete) and space.nvec.ndim == 1:
        grid = Grid(np.asarray(getattr(space, "start", 0 * space.nvec), np.int64), np.asarray(space.nvec, np.int64))
    elif isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1 and _is_whole(space.low, space.high):
        low, high = space.low.astype(np.int64), space.high.astype(np.int64)
        grid = Grid(low, high - low + 1)
    else:
        raise UsageError(
            f"QTable observes whole numbers within bounds; this domain's observation space is {space}; "
            "valid: Discrete, MultiDiscrete, or a Box of one dimension with whole bounds"
        )
    states = math.prod(grid.sizes.tolist())
    if states > MOST_STATES:
        raise UsageError(
            f"QTable has a row for each observation, and there are {states:.3g}; valid: up to {MOST_STATES:,}"
        )
    return grid


def _is_whole(*bounds: NDArray[Any]) -> bool:
    return all(bool((np.abs(bound) < 2**53).all() and (bound == np.floor(bound)).all()) for bound in bounds)


# -------------------------------------------------------------------------------------------------- memory


class Arrays(NamedTuple):
    """All that a policy is."""

    policy: NDArray[Any]


def policy_layout(grid: Grid, actions: int) -> np.dtype[Any]:
    states, features = math.prod(grid.sizes.tolist()), grid.sizes.size
    return layout(
        [
            ("values", np.float64, (states, actions)),
            ("low", np.int64, (features,)),
            ("sizes", np.int64, (features,)),
            ("stream", np.uint64, (4,)),
            ("episodes", np.int64, ()),
            *((name, np.float64, ()) for name in QTable.field_names()),
        ]
    )


# ------------------------------------------------------------------------------------------------- kernels


@inlined
def row_of(policy: Any, observation: NDArray[np.float32]) -> int:
    """The place of an observation in the table; numbers between or beyond the whole ones count as the nearest below."""
    row = 0
    for i in range(observation.size):
        place = math.floor(observation[i]) - policy.low[i]
        row = row * policy.sizes[i] + min(max(place, 0), policy.sizes[i] - 1)
    return row


@kernel
def begin_episode(table: Arrays) -> None:
    table.policy[0].episodes += 1


@kernel
def act_greedily(table: Arrays, observation: NDArray[np.float32]) -> int:
    """The action of the largest value; of equals, the first."""
    policy = table.policy[0]
    return int(policy.values[row_of(policy, observation)].argmax())


@kernel
def act(table: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy; equally good actions are equally likely, or nothing would ever be found from a table of zeros."""
    policy = table.policy[0]
    values = policy.values[row_of(policy, observation)]
    rate = policy.exploration_rate - policy.exploration_decrease * (policy.episodes - 1)
    if rate > 0.0 and uniform(policy.stream) < rate:
        return below(policy.stream, values.size)
    best = values.max()
    equals = 0
    for action in range(values.size):
        equals += values[action] == best
    drawn = below(policy.stream, equals) if equals > 1 else 0
    for action in range(values.size):
        if values[action] == best:
            if drawn == 0:
                return action
            drawn -= 1
    return 0  # values that are no numbers


@kernel
def observe(
    table: Arrays,
    observation: NDArray[np.float32],
    action: int,
    reward: float,
    next_observation: NDArray[np.float32],
    terminated: bool,
    truncated: bool,
) -> None:
    policy = table.policy[0]
    row = row_of(policy, observation)
    target_t = reward
    if not terminated:
        target_t += policy.gamma * policy.values[row_of(policy, next_observation)].max()
    policy.values[row, action] += policy.learning_rate * (target_t - policy.values[row, action])


# ---------------------------------------------------------------------------------------------------- face


class QTableLearner(CompiledPolicy):
    """One table of action values."""

    kernels = LearnerKernels(begin_episode, act, observe, act_greedily)
    state_fields: ClassVar[tuple[str, ...]] = ("values", "stream", "episodes")
    acting_fields = ("values",)
    learns_off_policy = True

    def __init__(
        self, settings: QTable, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        self.settings = settings
        grid, actions = grid_of(observation_space), action_count("QTable", action_space)
        policy = allocate(policy_layout(grid, actions))
        fill_settings(policy, settings.as_dict())
        policy["low"], policy["sizes"] = grid
        policy["stream"] = new_stream(seed)
        super().__init__(Arrays(policy), grid.sizes.size, actions, observation_space)
        self._encode = None  # choices are taken by number, not one-hot

    def encoded(self, observation: Any) -> NDArray[np.float32]:
        return np.atleast_1d(np.ascontiguousarray(observation, np.float32))

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """The value of each action, for each row of observations."""
        places = np.floor(self.checked_rows(observations)).astype(np.int64) - self.policy["low"]
        inside = np.clip(places, 0, self.policy["sizes"] - 1)
        rows = np.ravel_multi_index(tuple(inside.T), tuple(self.policy["sizes"]))
        values: NDArray[np.float64] = self.policy["values"][rows]
        return values

    def state_values(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each row of observations is worth."""
        best: NDArray[np.float64] = self.q_values(observations).max(axis=1)
        return best

    def plain_weights(self) -> PlainWeights:
        values = self.policy["values"].reshape(*self.policy["sizes"], self.actions)
        return {"values": np.array(values), "low": np.array(self.policy["low"])}

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        values = self.q_values(observations)
        best = values == values.max(axis=1, keepdims=True)
        policy = self.policy
        rate = policy["exploration_rate"] - policy["exploration_decrease"] * max(int(policy["episodes"]) - 1, 0)
        explored = max(float(rate), 0.0)
        greedy: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
        return explored / self.actions + (1.0 - explored) * greedy
