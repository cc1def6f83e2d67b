"""What a policy loses on another task, as theory has it from sampled transitions: against closed forms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from repertory import catalogue
from repertory.agents.protocol import Opening
from repertory.analysis.carried import can_be_estimated, carried_losses, sample_transitions
from repertory.runs.live import live_spec
from repertory.runs.spec import run_spec

GAMMA = 0.9
LINE = SimpleNamespace(observation_space=gymnasium.spaces.Box(-9, 9, (1,)), action_space=gymnasium.spaces.Discrete(2))


class ToTheMiddle:
    """On a line, it goes towards 0; its values are those of a task that pays 1 - |x|."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        left = observations[:, 0] > 0
        return np.stack([left, ~left], axis=1).astype(float)

    def state_values(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._value(observations[:, 0].astype(float))
        return values


def seen_on_a_line(push: float, reward: float = 1.0, steps: int = 400) -> Opening:
    """Random steps: action 1 pushes to the right, 0 to the left."""
    rng = np.random.default_rng(3)
    states, actions = rng.uniform(-1, 1, (steps, 1)), rng.integers(2, size=steps)
    after = states + push * (2 * actions[:, None] - 1)
    return Opening(states, actions, np.full(steps, reward), after, np.zeros(steps, bool))


def test_a_change_of_rewards_costs_what_it_takes_away() -> None:
    policy = ToTheMiddle(lambda x: np.full(x.shape, 1.0 / (1.0 - GAMMA)))
    seen = [seen_on_a_line(0.1), seen_on_a_line(0.1, reward=0.25), seen_on_a_line(0.1, reward=2.0)]
    losses = carried_losses(LINE, [policy], [0], GAMMA, seen)  # type: ignore[arg-type]
    assert losses[0] == pytest.approx([0.0, 0.75, 0.0], abs=1e-6)


def test_a_change_of_dynamics_costs_what_next_states_are_worth_less() -> None:
    policy = ToTheMiddle(lambda x: 4.0 - x)
    seen = [seen_on_a_line(0.1), seen_on_a_line(-0.1)]
    losses = carried_losses(LINE, [policy, policy], [0, 1], GAMMA, seen)  # type: ignore[arg-type]
    # Values fall by 1 for each step to the right; mirrored, the policy goes 0.2 the other way than it means to.
    states = seen[0].observations[:, 0]
    expected = GAMMA * np.where(states > 0, 0.2, -0.2).mean() / (1 - GAMMA) / (4.0 - states.mean())
    assert losses[0] == pytest.approx([0.0, max(0.0, expected)], abs=1e-5)
    assert losses[1] == pytest.approx([max(0.0, -expected), 0.0], abs=1e-5)


@pytest.mark.parametrize("learner", ["dqn", "ppo"])
def test_tasks_that_only_have_other_numbers_cost_nothing(learner: str) -> None:
    """In the released code's Cartpole, tasks 0 and 9 are the same; 3 has another pole."""
    spec = run_spec("cartpole27", learner, 1, "fixed-partition", blocks=2, block_steps=2000, profile="released", task=0)
    policy = live_spec(spec).policies[0]
    assert can_be_estimated(spec.domain, [policy])
    seen = [sample_transitions(spec.domain, task, policy, seed=5) for task in (0, 9, 3)]
    assert np.array_equal(seen[0].observations, seen[1].observations)
    assert not np.array_equal(seen[0].observations, seen[2].observations)
    losses = carried_losses(spec.domain, [policy], [0], GAMMA, seen)
    assert losses[0, :2].tolist() == [0.0, 0.0]
    assert 0.0 <= losses[0, 2] <= 1.0


def test_policies_without_values_and_observations_that_are_no_vectors_are_left_out() -> None:
    cartpole, choices = catalogue.domain("cartpole27"), SimpleNamespace(**vars(LINE))
    choices.observation_space = gymnasium.spaces.Discrete(5)
    assert can_be_estimated(cartpole, [ToTheMiddle(abs)])
    assert not can_be_estimated(cartpole, [object()])
    assert not can_be_estimated(choices, [ToTheMiddle(abs)])  # type: ignore[arg-type]
