"""DQN against PyTorch, on its own counters, and on a task it must learn."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.kernels.network import matrices
from repertory.kernels.replay import draw
from repertory.kernels.replay_slots import action_at, ending_at, slot_after
from repertory.kernels.streams import new_stream
from repertory.learners.compiled_policy import memory_of
from repertory.learners.dqn import DQNLearner, compute_gradient
from tests.pytorch import needs_torch, torch
from tests.q_twin import ADAM, EVERYTHING, OPTIONS, Batch, assert_option_matters, loss, torch_network

SPACES = (gymnasium.spaces.Box(-1.0, 1.0, (4,)), gymnasium.spaces.Discrete(2))


def lived(rng: np.random.Generator, steps: int = 400, **settings: object) -> DQNLearner:
    """A learner with a memory of random experiences, ended in all ways."""
    learner = repertory.DQN(**{"learning_starts": 10**9, **settings})(*SPACES, seed=1)
    observation = rng.normal(size=4).astype(np.float32)
    for t in range(steps):
        following = rng.normal(size=4).astype(np.float32)
        terminated, truncated = t % 20 == 19, t % 50 == 49
        learner.observe(observation, int(rng.integers(2)), float(rng.normal()), following, terminated, truncated)
        observation = rng.normal(size=4).astype(np.float32) if terminated or truncated else following
    return learner


def torch_q(parts: list[torch.Tensor], observations: np.ndarray) -> torch.Tensor:
    w1, b1, w2, b2, w3, b3 = parts
    return torch.relu(torch.relu(torch.tensor(observations.copy()) @ w1 + b1) @ w2 + b2) @ w3.T + b3


@needs_torch
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradient_equals_torch(options: dict, rng: np.random.Generator) -> None:
    learner = lived(rng, **options)
    policy, scratch, replay = learner.policy, learner.scratch, learner.arrays.replay
    policy["target_weights"] += rng.normal(size=policy["weights"].size).astype(np.float32) * 0.1
    policy["target_weights"][-2:] += 10.0  # more, with some rewards, than a return can be
    stream = new_stream(9)
    for i in range(10):
        scratch["drawn"][i] = draw(replay, policy["cursor"], stream)
    compute_gradient(learner.arrays)

    here = replay.slots[scratch["drawn"]]
    there = replay.slots[[slot_after(replay, policy["cursor"], slot) for slot in scratch["drawn"]]]
    endings = np.array([ending_at(replay, slot) for slot in scratch["drawn"]])
    online, target = torch_network(policy["weights"], learner), torch_network(policy["target_weights"], learner)
    batch = Batch(
        torch_q(online, here["observation"]),
        torch_q(online, there["observation"]).detach(),
        torch_q(target, there["observation"]).detach(),
        [int(action_at(replay, slot)) for slot in scratch["drawn"]],
        here["reward"].tolist(),
        (endings != 1).tolist(),
    )
    seen = replay.slots["reward"][:400].tolist()
    total = loss(learner.settings, batch, seen)
    total.backward()
    assert set(endings) >= {0, 1}  # both kinds of target are under test
    assert_option_matters(learner.settings, batch, seen)
    assert policy["loss_total"] == pytest.approx(total.item(), rel=1e-5)
    for ours, theirs in zip(matrices(scratch["gradient"], learner.shape), online, strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-4, atol=1e-6)


@needs_torch
def test_adam_steps_equal_torch_and_need_no_more_memory(rng: np.random.Generator) -> None:
    learner = repertory.DQN(learning_starts=20, train_freq=1, **ADAM)(*SPACES, seed=1)
    theirs = torch.tensor(learner.policy["weights"].copy(), requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.003)
    for _ in range(120):
        observation, following = rng.normal(size=(2, 4)).astype(np.float32)
        learner.observe(observation, int(rng.integers(2)), float(rng.normal()), following, False, False)
        if learner.policy["updates"] > 0:
            theirs.grad = torch.tensor(learner.scratch["gradient"].copy())
            assert theirs.grad.abs().max() == learner.policy["max_grad_value"]  # the clip is under test
            optimiser.step()
    assert learner.policy["updates"] == 101
    np.testing.assert_allclose(learner.policy["weights"], theirs.detach().numpy(), rtol=1e-4, atol=1e-6)
    assert memory_of(learner) == memory_of(repertory.DQN()(*SPACES, seed=1))


def test_a_soft_copy_moves_the_target_a_part_of_the_way() -> None:
    settings = {"learning_starts": 100, "target_update_interval": 50, "tau": 0.25}
    before = lived(np.random.default_rng(1), 149, **settings).policy
    after = lived(np.random.default_rng(1), 150, **settings).policy
    expected = 0.75 * before["target_weights"] + 0.25 * after["weights"]
    assert not np.array_equal(before["target_weights"], after["weights"])
    np.testing.assert_allclose(after["target_weights"], expected, rtol=1e-5, atol=1e-7)


def test_normalised_returns_are_told_in_units_of_reward() -> None:
    """One state for ever, with a reward of 4 and a discount of 0.9: it is worth 40, for which the network outputs 1."""
    settings = {"gamma": 0.9, "learning_starts": 20, "train_freq": 1, "target_update_interval": 20, **ADAM}
    learner = repertory.DQN(normalize_returns=True, **settings | {"max_grad_value": 10.0})(*SPACES, seed=1)
    state = np.array([0.5, -0.5, 0.25, 0.0], np.float32)
    for _ in range(3000):
        learner.begin_episode()
        learner.observe(state, learner.act(state), 4.0, state, False, True)
    assert learner.q_values(state[None]).max() == pytest.approx(40.0, rel=0.05)
    assert learner.health()["q_bound"] == pytest.approx(40.0)
    assert np.linalg.norm(learner.policy["weights"]) < 12.0


def test_the_range_of_rewards_seen_has_0_in_it() -> None:
    for rewards, low, high in (([], 0, 0), ([1, 1], 0, 1), ([-3, -1], -3, 0), ([-2, 5, 1], -2, 5)):
        learner = repertory.DQN()(*SPACES, seed=1)
        for reward in rewards:
            learner.observe(np.zeros(4, np.float32), 0, float(reward), np.zeros(4, np.float32), False, False)
        assert (learner.policy["reward_low"], learner.policy["reward_high"]) == (low, high)


def test_counters_run_on_the_policys_own_steps() -> None:
    settings = {"learning_starts": 100, "train_freq": 4, "target_update_interval": 50}
    for steps, updates in ((99, 0), (100, 1), (103, 1), (104, 2), (200, 26)):
        learner = lived(np.random.default_rng(1), steps, **settings)
        assert learner.policy["updates"] == updates
    before = lived(np.random.default_rng(1), 149, **settings).policy
    after = lived(np.random.default_rng(1), 150, **settings).policy
    assert not np.array_equal(before["target_weights"], before["weights"])
    assert np.array_equal(after["target_weights"], after["weights"])


def test_exploration_rate_and_random_first_steps(rng: np.random.Generator) -> None:
    observation = rng.normal(size=4).astype(np.float32)
    greedy = int(repertory.DQN()(*SPACES, 1).q_values(observation[None])[0].argmax())

    def greedy_share(after: int, **settings: object) -> float:
        learner = repertory.DQN(**settings)(*SPACES, seed=1)
        hits = 0
        for _ in range(2000):
            learner.begin_episode()
            for _ in range(after):
                learner.observe(observation, 0, 0.0, observation, False, False)
            hits += learner.act(observation) == greedy
        return hits / 2000

    assert greedy_share(0, exploration_rate=0.2) == pytest.approx(0.9, abs=0.03)
    assert greedy_share(0, exploration_rate=0.0, random_first_steps=2) == pytest.approx(0.5, abs=0.05)
    assert greedy_share(2, exploration_rate=0.0, random_first_steps=2) == 1.0


def test_action_probabilities(rng: np.random.Generator) -> None:
    learner = repertory.DQN(exploration_rate=0.2)(*SPACES, seed=1)
    observations = rng.normal(size=(50, 4)).astype(np.float32)
    probabilities = learner.action_probabilities(observations)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.allclose(probabilities.max(axis=1), 0.9)
    assert (probabilities.argmax(axis=1) == learner.q_values(observations).argmax(axis=1)).all()


@pytest.mark.parametrize("options", [{}, {**EVERYTHING, **ADAM, "tau": 0.1, "target_update_interval": 3}], ids=str)
def test_a_restored_learner_goes_on_to_the_bit(options: dict, rng: np.random.Generator) -> None:
    settings = {"learning_starts": 50, "buffer_size": 300, **options}
    learner = lived(rng, 400, **settings)
    twin = repertory.DQN(**settings)(*SPACES, seed=77)
    twin.load_state_dict(learner.state_dict())
    for _ in range(100):
        observation, following = rng.normal(size=(2, 4)).astype(np.float32)
        assert learner.act(observation) == twin.act(observation)
        for each in (learner, twin):
            each.observe(observation, 1, 1.0, following, False, False)
    for name, array in learner.state_dict().items():
        assert np.array_equal(array, twin.state_dict()[name]), name


def test_a_state_of_other_settings_is_refused_or_leaves_settings_alone(rng: np.random.Generator) -> None:
    small = lived(rng, 100, buffer_size=300)
    with pytest.raises(ValueError, match="another size or kind"):
        repertory.DQN(buffer_size=200)(*SPACES, 1).load_state_dict(small.state_dict())
    other = repertory.DQN(buffer_size=300, gamma=0.5, batch_size=5)(*SPACES, 1)
    other.load_state_dict(small.state_dict())
    assert (other.policy["gamma"], other.policy["batch_size"]) == (np.float32(0.5), 5)


def test_a_state_saved_before_rewards_were_looked_at_is_taken_and_others_are_not(rng: np.random.Generator) -> None:
    settings = {"learning_starts": 50, "buffer_size": 300}
    learner, other = lived(rng, 200, **settings), lived(rng, 300, **settings)
    state = learner.state_dict()
    old = {name: array for name, array in state.items() if name not in ("reward_low", "reward_high")}
    other.load_state_dict(old)
    assert (other.policy["reward_low"], other.policy["reward_high"]) == (0.0, 0.0)
    assert np.array_equal(other.policy["weights"], learner.policy["weights"])
    for bad in ({**old, "reward_mean": np.zeros(())}, {name: old[name] for name in old if name != "updates"}):
        with pytest.raises(ValueError, match="where this learner needs"):
            other.load_state_dict(bad)


def test_a_copy_goes_on_by_itself(rng: np.random.Generator) -> None:
    learner = lived(rng, 200, learning_starts=50, buffer_size=300)
    for twin in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        before = learner.state_dict()
        twin.observe(np.zeros(4, np.float32), 0, 1.0, np.zeros(4, np.float32), True, False)
        assert all(np.array_equal(before[name], array) for name, array in learner.state_dict().items())
        assert twin.policy["life"] == learner.policy["life"] + 1


def test_what_does_not_fit_is_refused_at_the_door() -> None:
    learner = repertory.DQN()(*SPACES, seed=1)
    good = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"shape \(8,\); this policy was built for \(4,\)"):
        learner.observe(np.zeros(8, np.float32), 0, 0.0, good, False, False)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        learner.act(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="action 2 is not one of 0 to 1"):
        learner.observe(good, 2, 0.0, good, False, False)


def test_an_episode_left_without_an_end_does_not_run_into_the_next() -> None:
    learner = repertory.DQN()(*SPACES, seed=1)
    for first, second in ((1.0, 2.0), (50.0, 51.0)):
        learner.begin_episode()
        observations = np.full((2, 4), [[first], [second]], np.float32)
        learner.observe(observations[0], 0, 0.0, observations[1], False, False)
    slots = learner.arrays.replay.slots["observation"][:4, 0]
    assert slots.tolist() == [1.0, 2.0, 50.0, 51.0]


@pytest.mark.parametrize(
    ("field", "value", "valid"),
    [
        ("learning_rate", -0.1, "above 0"),
        ("batch_size", 0, "at least 1"),
        ("buffer_size", 9, "at least batch_size, which is 10"),
        ("gamma", 1.5, "at least 0 and at most 1"),
        ("gamma", float("nan"), "at least 0 and at most 1"),
        ("train_freq", 2.5, "a whole number at least 1"),
        ("net_arch", (80,), "two layers"),
        ("timeout_bootstraps", 1, "true or false"),
        ("memory", "lifo", "'fifo' or 'finished-episodes' or 'distribution-matching' or 'task-matching'"),
        ("protected", 100, "0, unless memory='distribution-matching'"),
        ("tau", 0.0, "a number above 0 and at most 1"),
        ("target_bound", -1.0, "a number above 0 or 'rewards', or none"),
        ("target_bound", "returns", "a number above 0 or 'rewards', or none"),
        ("target_bound", True, "a number above 0 or 'rewards', or none"),
        ("optimizer", "sgd", "'adadelta' or 'adam'"),
        ("huber_delta", 0.0, "a number above 0"),
    ],
)
def test_bad_settings_name_the_field_and_the_range(field: str, value: object, valid: str) -> None:
    with pytest.raises(repertory.UsageError, match=rf"DQN\.{field} is .*; valid: .*{valid}"):
        repertory.DQN(**{field: value})


def test_memories_and_samplings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(repertory.UsageError, match="valid with memory='finished-episodes': 'episodes'"):
        repertory.DQN(memory="finished-episodes")
    with pytest.raises(repertory.UsageError, match="valid with memory='distribution-matching': 'experiences'"):
        repertory.DQN(memory="distribution-matching", sampling="episodes")
    with pytest.raises(repertory.UsageError, match=r"DQN.protected is 400000; valid: below buffer_size"):
        repertory.DQN(memory="distribution-matching", protected=400_000)


def test_a_bound_from_rewards_needs_a_discount_and_all_kinds_can_be_written_as_text() -> None:
    with pytest.raises(repertory.UsageError, match=r"target_bound is 'rewards'; valid with gamma=1.*: a number"):
        repertory.DQN(target_bound="rewards", gamma=1.0)
    for text, value in (("none", None), ("rewards", "rewards"), ("100", 100.0)):
        assert repertory.DQN(target_bound=7.0).replace_from_text({"target_bound": text}).target_bound == value


def test_spaces_it_cannot_take_are_refused() -> None:
    box = gymnasium.spaces.Box(-1.0, 1.0, (4,))
    with pytest.raises(repertory.UsageError, match="DQN takes Discrete actions from 0"):
        repertory.DQN()(box, box, 0)
    with pytest.raises(repertory.UsageError, match="DQN observes numbers or choices"):
        repertory.DQN()(gymnasium.spaces.Text(4), SPACES[1], 0)


def test_a_policy_with_a_full_memory_is_small() -> None:
    state = repertory.DQN()(*SPACES, 0).state_dict()
    assert sum(array.nbytes for array in state.values()) < 10_000_000


def test_learns_to_balance(cartpole27: repertory.Domain) -> None:
    """One task of the text profile, the paper's settings but an earlier replay start."""
    learner = repertory.DQN(learning_starts=5_000)(cartpole27.observation_space, cartpole27.action_space, seed=1)
    player = EpisodePlayer(cartpole27)
    best, seed = 0.0, 0
    for _ in range(10):
        steps, returns = 0, []
        while steps < 60_000:
            outcome = player.play(13, learner, seed)
            steps, seed = steps + outcome.steps, seed + 1
            returns.append(outcome.total_reward)
        best = max(best, float(np.mean(returns)))
    assert best > 150
