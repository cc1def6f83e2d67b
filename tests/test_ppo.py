"""PPO against PyTorch and closed forms, and on a task it must learn."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.kernels.actor_critic import approximate_kl, normalise, policy_weights_own, policy_weights_pairwise
from repertory.kernels.advantage import discounted_returns, generalised_advantages
from repertory.kernels.network import matrices
from repertory.kernels.optimisers import adam, clip_norm
from repertory.learners.ppo import PPOLearner, compute_gradient, evaluate
from tests.ppo_twin import OPTIONS, assert_clips_matter, loss
from tests.pytorch import needs_torch, torch

SPACES = (gymnasium.spaces.Box(-1.0, 1.0, (4,)), gymnasium.spaces.Discrete(3))


def collected(rng: np.random.Generator, steps: int, **settings: object) -> PPOLearner:
    """A learner in the middle of an episode, with random steps collected."""
    learner = repertory.PPO(**settings)(*SPACES, seed=1)
    learner.begin_episode()
    observation = rng.normal(size=4).astype(np.float32)
    for _ in range(steps):
        following = rng.normal(size=4).astype(np.float32)
        learner.observe(observation, int(rng.integers(3)), float(rng.normal()), following, False, False)
        observation = following
    return learner


def torch_outputs(parts: list[torch.Tensor], observations: np.ndarray) -> torch.Tensor:
    """Logits and, last, the value."""
    w1, b1, w2, b2, w3, b3 = parts
    return torch.relu(torch.relu(torch.tensor(observations) @ w1 + b1) @ w2 + b2) @ w3.T + b3


def torch_parts(learner: PPOLearner) -> list[torch.Tensor]:
    return [
        torch.tensor(part.copy(), requires_grad=True) for part in matrices(learner.policy["weights"], learner.shape)
    ]


@needs_torch
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_equals_torch(options: dict, rng: np.random.Generator) -> None:
    steps = 30
    learner = collected(rng, steps, batch_size=34, **options)
    policy = learner.policy
    evaluate(learner.arrays, False)
    policy["weights"] += 0.05 * rng.normal(size=policy["weights"].size).astype(np.float32)  # some ratios leave the clip
    policy["order"][:steps] = rng.permutation(steps)
    compute_gradient(learner.arrays, 0, steps)

    chosen, parts = policy["order"][:steps], torch_parts(learner)
    outputs = torch_outputs(parts, policy["observations"][chosen])
    loss(learner.settings, policy, chosen, outputs).backward()
    assert_clips_matter(learner.settings, policy, chosen, outputs)
    for ours, theirs in zip(matrices(learner.scratch["gradient"], learner.shape), parts, strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-4, atol=2e-6)


def test_normalised_advantages_have_mean_0_and_deviation_1_but_one_alone_stays(rng: np.random.Generator) -> None:
    numbers = rng.normal(3.0, 5.0, size=9).astype(np.float32)
    expected = (numbers[:7] - numbers[:7].mean()) / numbers[:7].std(ddof=1)
    normalise(numbers, 7)
    np.testing.assert_allclose(numbers[:7], expected, rtol=1e-5)
    single, equal = np.array([4.0], np.float32), np.full(5, 4.0, np.float32)
    normalise(single, 1)
    normalise(equal, 5)
    assert single.tolist() == [4.0]
    assert equal.tolist() == [0.0] * 5


def test_the_estimated_kl_is_0_for_the_same_policy_and_converges_to_the_definition(rng: np.random.Generator) -> None:
    old, new = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.3, 0.1])
    taken = rng.choice(3, size=200_000, p=old)
    before, after = old[taken].astype(np.float32), new[taken].astype(np.float32)
    assert approximate_kl(before, before, before.size) == 0.0
    assert approximate_kl(after, before, before.size) == pytest.approx((old * np.log(old / new)).sum(), rel=0.02)


def test_an_update_stops_before_the_step_that_finds_the_policy_too_far(rng: np.random.Generator) -> None:
    """Up to there it is the same update; what is too far is 1.5 times the target, as in Stable-Baselines3."""
    observations, rewards = rng.normal(size=(101, 4)).astype(np.float32), rng.normal(size=100)
    actions = rng.integers(3, size=100)

    def update(n_epochs: int, target_kl: float | None) -> PPOLearner:
        learner = repertory.PPO(n_steps=100, batch_size=100, n_epochs=n_epochs, target_kl=target_kl)(*SPACES, seed=1)
        learner.begin_episode()
        for t in range(100):
            learner.observe(observations[t], int(actions[t]), float(rewards[t]), observations[t + 1], False, False)
        return learner

    def moved(learner: PPOLearner) -> float:
        new = learner.action_probabilities(observations[:100])[np.arange(100), actions]
        ratio = new / learner.policy["old"][:100]
        return float((ratio - 1 - np.log(ratio)).mean())

    distances = [moved(update(n, None)) for n in range(1, 6)]
    assert distances == sorted(distances)
    stopped = update(20, target_kl=(distances[2] + distances[3]) / 2 / 1.5)
    assert stopped.policy["updates"] == 4  # the fourth step brings it too far, which the fifth finds
    assert np.array_equal(stopped.policy["weights"], update(4, None).policy["weights"])


def test_the_step_size_falls_in_a_straight_line_to_0() -> None:
    """The first step of Adam is as long as its rate in every weight that has a gradient."""

    def first_step(life: int) -> float:
        learner = collected(np.random.default_rng(3), 39, n_steps=40, batch_size=40, n_epochs=1, anneal_steps=1000)
        before = learner.policy["weights"].copy()
        learner.policy["life"] = life - 1
        learner.observe(np.zeros(4, np.float32), 0, 1.0, np.zeros(4, np.float32), False, False)
        return float(np.abs(learner.policy["weights"] - before).max())

    assert first_step(250) == pytest.approx(0.00025 * 0.75, rel=1e-3)
    assert first_step(999) == pytest.approx(0.00025 * 0.001, rel=0.1)
    assert first_step(1000) == first_step(5000) == 0.0


@pytest.mark.parametrize("weights_of", [policy_weights_own, policy_weights_pairwise])
def test_no_gradient_outside_the_clip_range(weights_of) -> None:
    """A good action already made more likely, and a bad one already made less likely, pull no further."""
    old = np.full(2, 0.5, np.float32)
    advantages = np.array([1.0, -1.0], np.float32)
    weights = np.full(2, np.nan, np.float32)
    weights_of(np.array([0.56, 0.44], np.float32), old, advantages, 2, 0.1, 0.0, weights)
    assert weights.tolist() == [0.0, 0.0]
    weights_of(np.array([0.44, 0.56], np.float32), old, advantages, 2, 0.1, 0.0, weights)
    assert (weights[0] > 0, weights[1] < 0) == (True, True)


def test_pairwise_with_one_step_is_own() -> None:
    probability, old, advantage = (np.array([x], np.float32) for x in (0.45, 0.44, 2.0))
    own, pairwise = np.zeros(1, np.float32), np.zeros(1, np.float32)
    policy_weights_own(probability, old, advantage, 1, 0.1, 0.0, own)
    policy_weights_pairwise(probability, old, advantage, 1, 0.1, 0.0, pairwise)
    assert own[0] == pairwise[0] > 0


def test_a_floor_keeps_an_unlikely_action_from_blowing_up_the_pairwise_ratio() -> None:
    probabilities = np.array([0.9, 1e-30, 0.0], np.float32)
    advantages = np.full(3, -1.0, np.float32)
    weights = np.full(3, np.nan, np.float32)
    policy_weights_pairwise(probabilities, probabilities, advantages, 3, 0.1, 1e-7, weights)
    assert weights[1:].tolist() == [0.0, 0.0]
    assert weights[0] == pytest.approx(-(1.0 + 2 * 0.9 / 1e-7) / 9, rel=1e-6)


def gae(rewards, values, final_value, lambda_: float, discounts: bool = True, gamma: float = 0.99) -> np.ndarray:
    advantages = np.zeros(len(rewards), np.float32)
    floats = [np.float32(x) for x in (final_value, gamma, lambda_)]
    generalised_advantages(rewards, values, floats[0], len(rewards), floats[1], floats[2], discounts, advantages)
    return advantages


def test_gae_equals_its_definition(rng: np.random.Generator) -> None:
    rewards, values = rng.normal(size=(2, 20)).astype(np.float32)
    following = np.append(values[1:], 0.7)
    delta = rewards + 0.99 * following - values
    expected = [sum((0.99 * 0.95) ** k * delta[t + k] for k in range(20 - t)) for t in range(20)]
    np.testing.assert_allclose(gae(rewards, values, 0.7, 0.95), expected, rtol=1e-4, atol=1e-5)


def test_gae_of_the_released_code_discounts_only_the_last_value(rng: np.random.Generator) -> None:
    rewards, values = rng.normal(size=(2, 20)).astype(np.float32)
    delta = rewards + np.append(values[1:], 0.99 * 0.7) - values
    expected = [sum((0.99 * 0.95) ** k * delta[t + k] for k in range(20 - t)) for t in range(20)]
    np.testing.assert_allclose(gae(rewards, values, 0.7, 0.95, discounts=False), expected, rtol=1e-4, atol=1e-5)


def test_gae_with_lambda_1_is_returns_minus_values_and_with_0_the_temporal_difference(
    rng: np.random.Generator,
) -> None:
    rewards, values = rng.normal(size=(2, 30)).astype(np.float32)
    returns = np.zeros(30, np.float32)
    discounted_returns(rewards, np.float32(0.3), 30, np.float32(0.99), returns)
    np.testing.assert_allclose(gae(rewards, values, 0.3, 1.0), returns - values, rtol=1e-4, atol=1e-5)
    difference = rewards + np.float32(0.99) * np.append(values[1:], np.float32(0.3)) - values
    np.testing.assert_allclose(gae(rewards, values, 0.3, 0.0), difference, rtol=1e-4, atol=1e-5)


class Adam(NamedTuple):
    """What the optimiser reads of a policy."""

    weights: np.ndarray
    updates: int
    adam_beta_1: np.float32
    adam_beta_2: np.float32
    adam_eps: np.float32


@needs_torch
def test_adam_equals_torch(rng: np.random.Generator) -> None:
    weights = rng.normal(size=500).astype(np.float32)
    theirs = torch.tensor(weights.copy(), requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.01)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    rate, *betas_and_epsilon = (np.float32(x) for x in (0.01, 0.9, 0.999, 1e-8))
    for step in range(1, 201):
        gradient = rng.normal(size=500).astype(np.float32)
        theirs.grad = torch.tensor(gradient)
        optimiser.step()
        adam(Adam(weights, step, *betas_and_epsilon), gradient, mean, square, rate)
    np.testing.assert_allclose(weights, theirs.detach().numpy(), rtol=1e-4, atol=1e-5)


@needs_torch
@pytest.mark.parametrize("length", [0.1, 30.0])
def test_norm_clip_equals_torch(length: float, rng: np.random.Generator) -> None:
    gradient = rng.normal(size=333).astype(np.float32)
    gradient *= np.float32(length / np.linalg.norm(gradient))
    theirs = torch.zeros(333, requires_grad=True)
    theirs.grad = torch.tensor(gradient.copy())
    torch.nn.utils.clip_grad_norm_([theirs], 1.0)
    clip_norm(gradient, np.float32(1.0))
    np.testing.assert_allclose(gradient, theirs.grad.numpy(), rtol=1e-5)


def test_an_update_comes_at_the_episodes_end_or_after_n_steps(rng: np.random.Generator) -> None:
    learner = collected(rng, 99, n_steps=100, batch_size=34, n_epochs=3)
    assert learner.policy["updates"] == 0
    observation = np.zeros(4, np.float32)
    learner.observe(observation, 0, 0.0, observation, False, False)
    assert learner.policy["updates"] == 3 * 3  # 100 steps: 34, 34, 32
    learner.observe(observation, 0, 0.0, observation, True, False)
    assert learner.policy["updates"] == 3 * 3 + 3


@pytest.mark.parametrize(
    ("settings", "terminated", "bootstraps"),
    [({}, False, True), ({}, True, False), ({"timeout_bootstraps": False}, False, False)],
)
def test_a_timeout_bootstraps_and_a_true_end_does_not(settings: dict, terminated: bool, bootstraps: bool) -> None:
    learner = repertory.PPO(learning_rate=1e-30, **settings)(*SPACES, seed=1)
    learner.begin_episode()
    observation = np.array([1.0, -1.0, 0.5, 0.2], np.float32)
    learner.observe(observation, 0, 1.0, 2 * observation, terminated, not terminated)
    policy = learner.policy
    final = 0.99 * policy["values"][1] if bootstraps else 0.0
    assert policy["advantages"][0] == pytest.approx(1.0 + final - policy["values"][0], rel=1e-5)


def test_random_first_steps_are_not_learned_from(rng: np.random.Generator) -> None:
    learner = collected(rng, 5, random_first_steps=2)
    assert learner.policy["collected"] == 3


def test_actions_follow_the_probabilities(rng: np.random.Generator) -> None:
    learner = repertory.PPO()(*SPACES, seed=1)
    observation = 3 * rng.normal(size=4).astype(np.float32)
    expected = learner.action_probabilities(observation[None])[0]
    share = np.bincount([learner.act(observation) for _ in range(20_000)], minlength=3) / 20_000
    assert share == pytest.approx(expected, abs=0.015)
    assert expected.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("learning_rate", -1.0),
        ("batch_size", 0),
        ("clip_range", 0.0),
        ("ratio", "theirs"),
        ("max_grad_norm", 0.0),
        ("adam_beta_2", 1.0),
        ("clip_range_vf", 0.0),
        ("target_kl", -0.1),
        ("anneal_steps", 0),
        ("normalize_advantage", 1),
    ],
)
def test_bad_settings_name_the_field(field: str, value: object) -> None:
    with pytest.raises(repertory.UsageError, match=rf"PPO\.{field} is .*; valid: "):
        repertory.PPO(**{field: value})


def test_learns_to_balance(cartpole27: repertory.Domain) -> None:
    """One task of the text profile with the paper's settings."""
    learner = repertory.PPO()(cartpole27.observation_space, cartpole27.action_space, seed=1)
    player, steps, returns = EpisodePlayer(cartpole27), 0, []
    while steps < 300_000:
        outcome = player.play(13, learner, len(returns))
        steps += outcome.steps
        returns.append(outcome.total_reward)
    assert np.mean(returns[-300:]) > 100
