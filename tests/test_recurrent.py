"""The recurrent learners: LSTM against PyTorch, and windows that stay in their episode."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.domains.two_valued import TwoValued
from repertory.kernels.recurrent import (
    BatchOfWindows,
    RecurrentShape,
    count_weights,
    count_window,
    count_window_gradient,
    forest_shape,
    initial_weights,
    matrices,
    plant_forest,
    window,
    window_backward,
    window_forward,
    window_gradient,
)
from repertory.learners import drqn, prpo
from repertory.learners.compiled_policy import memory_of
from repertory.learners.random import RandomLearner
from tests.ppo_twin import OPTIONS as PPO_OPTIONS
from tests.ppo_twin import assert_clips_matter
from tests.ppo_twin import loss as ppo_loss
from tests.pytorch import needs_torch, torch
from tests.q_twin import ADAM, EVERYTHING, OPTIONS, Batch, assert_option_matters, loss

SPACES = (TwoValued(0.0, 1.0, 11, whole_rewards=True), gymnasium.spaces.Discrete(5))


class TorchTwin(torch.nn.Module if torch else object):
    """The same network out of PyTorch's parts, with our weights."""

    def __init__(self, weights: np.ndarray, shape: RecurrentShape) -> None:
        super().__init__()
        w1, b1, w, r, b, w3, b3 = (torch.tensor(part.copy()) for part in matrices(weights, shape))
        self.dense = torch.nn.Linear(shape.inputs, shape.dense)
        self.lstm = torch.nn.LSTM(shape.dense, shape.units)
        self.head = torch.nn.Linear(shape.units, shape.outputs)
        with torch.no_grad():
            self.dense.weight.copy_(w1.T)
            self.dense.bias.copy_(b1)
            self.lstm.weight_ih_l0.copy_(w.T)
            self.lstm.weight_hh_l0.copy_(r.T)
            self.lstm.bias_ih_l0.copy_(b)
            self.lstm.bias_hh_l0.zero_()
            self.head.weight.copy_(w3)
            self.head.bias.copy_(b3)

    def forward(self, windows: list[np.ndarray]) -> torch.Tensor:
        """Outputs after each window, (steps, features), whatever its length."""
        last = []
        for observations in windows:
            hidden, _state = self.lstm(torch.relu(self.dense(torch.tensor(observations))))
            last.append(hidden[-1])
        return self.head(torch.stack(last))

    def gradients(self) -> list[np.ndarray]:
        """In the order of `matrices`."""
        parts = [
            self.dense.weight.grad.T, self.dense.bias.grad, self.lstm.weight_ih_l0.grad.T,
            self.lstm.weight_hh_l0.grad.T, self.lstm.bias_ih_l0.grad, self.head.weight.grad, self.head.bias.grad,
        ]  # fmt: skip
        return [part.numpy() for part in parts]


def assert_gradients_equal(gradient: np.ndarray, shape: RecurrentShape, twin: TorchTwin) -> None:
    for ours, theirs in zip(matrices(gradient, shape), twin.gradients(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())


@needs_torch
@pytest.mark.parametrize("shape", [RecurrentShape(11, 80, 80, 5), RecurrentShape(3, 7, 9, 2)])
@pytest.mark.parametrize(("rows", "n"), [(1, 40), (10, 40), (34, 40), (34, 2)])
def test_lstm_outputs_and_gradients_equal_torch(
    shape: RecurrentShape, rows: int, n: int, rng: np.random.Generator
) -> None:
    """Each of `n` observations stands in several windows or in none; of two, most windows begin alike."""
    steps = 15
    weights = initial_weights(shape, rng) + 0.1 * rng.normal(size=count_weights(shape))
    weights = weights.astype(np.float32)
    batch = window(np.zeros(count_window(shape, n, rows, steps), np.float32), shape, n, rows, steps)
    room = np.zeros(count_window_gradient(shape, n, rows, steps), np.float32)
    way_back = window_gradient(room, shape, n, rows, steps)
    batch.inputs[:] = rng.normal(size=batch.inputs.shape)
    way_back.outputs[:] = rng.normal(size=way_back.outputs.shape)
    starts = rng.integers(0, steps, size=rows)
    starts[0] = 0
    made = BatchOfWindows(
        n, rows, steps, rng.integers(n, size=rows * steps), starts, np.zeros(forest_shape(rows, steps), np.int64)
    )
    gradient = np.full_like(weights, np.nan)
    window_forward(weights, shape, batch, made)
    window_backward(weights, shape, batch, made, way_back, gradient)

    twin = TorchTwin(weights, shape)
    places = made.places.reshape(steps, rows)
    outputs = twin([batch.inputs[places[starts[i] :, i]] for i in range(rows)])
    (outputs * torch.tensor(way_back.outputs)).sum().backward()
    np.testing.assert_allclose(batch.outputs, outputs.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert_gradients_equal(gradient, shape, twin)


def test_windows_that_begin_alike_share_their_first_steps() -> None:
    places = np.array([[0, 0, 0, 1], [1, 1, 2, 1], [3, 3, 3, 3]])  # by step and window
    forest = np.zeros(forest_shape(4, 3), np.int64)
    plant_forest(BatchOfWindows(4, 4, 3, places.ravel(), np.array([0, 0, 0, 1]), forest))
    place, parent, first, node = forest
    assert first[:4].tolist() == [0, 1, 4, 8]  # one step for three windows, then one for two, and the last for each
    assert place[:8].tolist() == [0, 1, 2, 1, 3, 3, 3, 3]
    assert parent[:8].tolist() == [-1, 0, 0, -1, 1, 1, 2, 3]
    assert node[:4].tolist() == [4, 5, 6, 7]


def test_initial_weights_are_as_in_keras(rng: np.random.Generator) -> None:
    shape = RecurrentShape(11, 80, 80, 5)
    w1, b1, w, r, b, w3, b3 = matrices(initial_weights(shape, rng), shape)
    np.testing.assert_allclose(r @ r.T, np.eye(80), atol=1e-5)
    assert b.reshape(4, 80).mean(axis=1).tolist() == [0.0, 1.0, 0.0, 0.0]
    for matrix in (w1, w, w3):
        limit = np.sqrt(6 / sum(matrix.shape))
        assert 0.9 * limit < np.abs(matrix).max() <= limit
    assert not b1.any()
    assert not b3.any()


def bits(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(2, size=11).astype(np.float32)


def live(learner, episodes: list[int], rng: np.random.Generator, ends: bool = True) -> list[list[tuple]]:
    """Random episodes of given lengths, every other one truly ended; the last is left open unless `ends`."""
    told = []
    for number, length in enumerate(episodes):
        learner.begin_episode()
        observation = bits(rng)
        told.append([])
        for t in range(length):
            action, reward, following = int(rng.integers(5)), float(rng.integers(-1, 2)), bits(rng)
            over = t == length - 1 and (ends or number < len(episodes) - 1)
            learner.observe(observation, action, reward, following, over and number % 2 == 0, over and number % 2 == 1)
            told[-1].append((observation, action, reward, following, over and number % 2 == 0))
            observation = following
    return told


@needs_torch
@pytest.mark.parametrize(
    "settings",
    [
        {"memory": "finished-episodes", "sampling": "episodes"},
        {"sampling": "episodes", "full_windows": True},
        *OPTIONS,
    ],
    ids=str,
)
def test_drqn_replays_windows_that_never_cross_an_episode_and_its_gradient_equals_torch(
    settings: dict, rng: np.random.Generator
) -> None:
    learner = repertory.DRQN(learning_starts=10**9, buffer_size=500, **settings)(*SPACES, seed=1)
    told = live(learner, [40, 3, 1, 25, 60, 2, 17, 16, 90, 5, 120, 30], rng)
    steps = {experience_key(episode[t]): (episode, t) for episode in told for t in range(len(episode))}
    policy, replay = learner.policy, learner.arrays.replay
    policy["target_weights"] += 0.05 * rng.normal(size=policy["weights"].size).astype(np.float32)
    policy["target_weights"][-5:] += 3.0  # more, with some rewards, than a return can be
    seen_rewards = [step[2] for episode in told for step in episode]
    seen_lengths = set()
    for _ in range(20):
        learner.scratch["drawn"][:] = [drqn_draw(learner) for _ in range(10)]
        drqn.compute_gradient(learner.arrays)
        online, following, rewards, actions, goes_on = [], [], [], [], []
        for slot in learner.scratch["drawn"]:
            episode, t = steps[slot_key(learner, slot)]
            past = np.stack([step[0] for step in episode[max(0, t - 14) : t + 1]])
            online.append(past)
            following.append(np.concatenate([past, episode[t][3][None]])[-15:])
            actions.append(episode[t][1])
            rewards.append(episode[t][2])
            goes_on.append(not episode[t][4])
            seen_lengths.add(len(past))
            assert not (settings.get("full_windows") and len(episode) >= 15 and len(past) < 15)
        twin, target = TorchTwin(policy["weights"], learner.shape), TorchTwin(policy["target_weights"], learner.shape)
        batch = Batch(twin(online), twin(following).detach(), target(following).detach(), actions, rewards, goes_on)
        loss(learner.settings, batch, seen_rewards).backward()
        assert_option_matters(learner.settings, batch, seen_rewards)
        assert_gradients_equal(learner.scratch["gradient"], learner.shape, twin)
    assert len(seen_lengths) > 2 or settings.get("full_windows")
    assert 15 in seen_lengths
    assert replay.slots.dtype["observation"].base == np.uint16


def experience_key(step: tuple) -> tuple:
    observation, action, reward, following, ended = step
    return tuple(observation), action, reward, None if ended else tuple(following)


def drqn_draw(learner) -> int:
    from repertory.kernels.replay import draw

    return draw(learner.arrays.replay, learner.policy["cursor"], learner.policy["stream"])


def slot_key(learner, slot: int) -> tuple:
    from repertory.kernels.replay_slots import TERMINATED, action_at, ending_at, read_observation, slot_after

    replay, cursor = learner.arrays.replay, learner.policy["cursor"]
    rows = np.zeros((2, 11), np.float32)
    for row, place in enumerate((slot, slot_after(replay, cursor, slot))):
        read_observation(replay, cursor, place, np.float32(0), np.float32(1), rows, row)
    stored = replay.slots[slot]
    ended = ending_at(replay, slot) == TERMINATED
    return tuple(rows[0]), int(action_at(replay, slot)), float(stored["reward"]), None if ended else tuple(rows[1])


@pytest.mark.parametrize("settings_class", [repertory.DRQN, repertory.PRPO])
def test_acting_looks_back_over_the_window_within_the_episode(settings_class, rng: np.random.Generator) -> None:
    """The probabilities of the action taken after n steps are those of the window of the last 15 observations."""
    learner = settings_class(random_first_steps=0)(*SPACES, seed=1)
    live(learner, [20], rng)
    for length in (0, 1, 7, 14, 15, 40):
        told = live(learner, [length], rng, ends=False)
        now = bits(rng)
        past = np.array([*(step[0] for step in told[0][-14:]), now])
        expected = learner.action_probabilities(past[None])[0]
        share = np.bincount([learner.act(now) for _ in range(3000)], minlength=5) / 3000
        assert share == pytest.approx(expected, abs=0.045), length


@pytest.mark.parametrize(
    "settings",
    [{}, {"train_freq": 1}, {"train_freq": 7, "exploration_rate": 0.6}, {"window": 3}, {"window": 2}, {"window": 1}],
    ids=str,
)
def test_windows_opened_before_end_as_those_looked_back_on(settings: dict, rng: np.random.Generator) -> None:
    """Acting takes the windows of the next steps along, and comes to the values of the whole window to the bit, through
    updates, steps that nobody asked about, and observations that were asked about but did not come."""
    learner = repertory.DRQN(learning_starts=40, **settings)(*SPACES, seed=1)
    steps = learner.settings.window
    most = min(drqn.OPEN, steps, learner.settings.train_freq)
    taken_along = 0
    for length in (25, 60, 3, 40):
        learner.begin_episode()
        past: list[np.ndarray] = []
        for _ in range(length):
            past.append(bits(rng))
            asked = [[], [past[-1]], [past[-1]], [bits(rng), past[-1]], [past[-1], bits(rng)]][rng.integers(5)]
            for now in asked:
                taken_along += drqn.goes_on(learner.arrays, most)
                outputs = drqn.look_back(learner.arrays, now)[0].copy()
                window = np.array([*past[:-1], now])[-steps:]
                assert np.array_equal(outputs, learner.q_values(window[None])[0])
            learner.observe(past[-1], int(rng.integers(5)), rng.random(), bits(rng), False, False)
    assert taken_along > 10 or most == 1


def test_prpo_does_not_take_one_observation_for_another(rng: np.random.Generator) -> None:
    """Asking for an action on one observation leaves nothing behind for the next."""
    learner, fresh = (repertory.PRPO(random_first_steps=0)(*SPACES, seed=1) for _ in range(2))
    for each in (learner, fresh):
        each.begin_episode()
    one, other = bits(rng), bits(rng)
    learner.act(one)
    expected = learner.action_probabilities(other[None, None])[0]
    share = np.bincount([learner.act(other) for _ in range(3000)], minlength=5) / 3000
    assert share == pytest.approx(expected, abs=0.045)
    learner.act(one)
    learner.policy["stream"] = fresh.policy["stream"]
    for each in (learner, fresh):
        each.observe(other, 1, 1.0, one, True, False)
    assert np.array_equal(learner.policy["weights"], fresh.policy["weights"])


def test_prpo_learns_the_same_whether_or_not_it_acted(rng: np.random.Generator) -> None:
    """What was found while acting is what would have been found before the update: to the bit."""
    acting, watching = (repertory.PRPO(random_first_steps=3)(*SPACES, seed=1) for _ in range(2))
    for length in (150, 40):
        observation = bits(rng)
        for each in (acting, watching):
            each.begin_episode()
        for t in range(length):
            following, action = bits(rng), int(rng.integers(5))
            if t % 100 < 60:
                acting.act(observation)
            acting.policy["stream"] = watching.policy["stream"]
            for each in (acting, watching):
                each.observe(observation, action, float(action == 2), following, False, t == length - 1)
            observation = following
    assert acting.policy["updates"] > 10
    assert np.array_equal(acting.policy["weights"], watching.policy["weights"])


@needs_torch
@pytest.mark.parametrize("options", PPO_OPTIONS, ids=str)
def test_prpo_gradient_equals_torch(options: dict, rng: np.random.Generator) -> None:
    """On steps whose windows reach back before the rollout, into burn-in, and to the start of the episode."""
    for first_steps, episode in ((5, 25), (15, 114), (15, 180)):
        settings = repertory.PRPO(random_first_steps=first_steps, n_steps=100, **options)
        learner = settings(*SPACES, seed=1)
        told = live(learner, [33, episode], rng, ends=False)[-1]
        policy = learner.policy
        collected = (episode - first_steps) % 100 or 100
        assert policy["collected"] == collected
        prpo.evaluate(learner.arrays, False)
        rows = min(34, collected)
        policy["order"][:collected] = rng.permutation(collected)
        chosen, first = policy["order"][:rows], episode - collected
        windows = [np.stack([s[0] for s in told[max(0, first + t - 14) : first + t + 1]]) for t in chosen]
        values = TorchTwin(policy["weights"], learner.shape)(windows)[:, -1]
        np.testing.assert_allclose(policy["values"][chosen], values.detach().numpy(), rtol=1e-4, atol=1e-5)
        assert policy["actions"][chosen].tolist() == [told[first + t][1] for t in chosen]

        policy["weights"] += 0.05 * rng.normal(size=policy["weights"].size).astype(np.float32)  # past the clips
        prpo.compute_gradient(learner.arrays, 0, rows)
        twin = TorchTwin(policy["weights"], learner.shape)
        outputs = twin(windows)
        ppo_loss(settings, policy, chosen, outputs).backward()
        assert_clips_matter(settings, policy, chosen, outputs)
        assert_gradients_equal(learner.scratch["gradient"], learner.shape, twin)


SMALL = {"learning_starts": 50, "buffer_size": 300}


@pytest.mark.parametrize(
    "settings",
    [
        repertory.DRQN(**SMALL),
        repertory.DRQN(**SMALL, **EVERYTHING, **ADAM, tau=0.1, target_update_interval=3),
        repertory.PRPO(),
        repertory.PRPO(normalize_advantage=True, clip_range_vf=0.2, target_kl=0.01, anneal_steps=150),
    ],
    ids=["drqn", "drqn with all options", "prpo", "prpo with all options"],
)
def test_a_restored_learner_goes_on_to_the_bit(settings, rng: np.random.Generator) -> None:
    learner, twin = settings(*SPACES, seed=1), settings(*SPACES, seed=2)
    live(learner, [30, 47], rng, ends=False)
    live(twin, [33, 70], rng, ends=False)
    for each in (learner, twin):  # both have looked at their own observations with their own weights
        each.act(bits(rng))
    twin.load_state_dict(learner.state_dict())
    for _ in range(120):
        observation, following = bits(rng), bits(rng)
        assert learner.act(observation) == twin.act(observation)
        for each in (learner, twin):
            each.observe(observation, 1, 1.0, following, False, False)
    for name, array in learner.state_dict().items():
        assert np.array_equal(array, twin.state_dict()[name]), name


def test_a_policys_memory_is_under_two_and_a_half_megabytes() -> None:
    assert memory_of(repertory.DRQN()(*SPACES, 1)) < 2_500_000


def test_policies_of_a_kind_share_their_scratch_space_and_a_copy_does_too() -> None:
    one, other, wider = (repertory.DRQN(net_arch=arch)(*SPACES, 1) for arch in ((80, 80), (80, 80), (80, 96)))
    assert one.arrays.scratch is other.arrays.scratch
    assert one.arrays.scratch is not wider.arrays.scratch
    plain = RandomLearner(*SPACES, 1)  # has none, and can be copied too
    assert memory_of(copy.deepcopy(plain)) == memory_of(pickle.loads(pickle.dumps(plain))) == memory_of(plain)
    assert copy.deepcopy(one).arrays.scratch is pickle.loads(pickle.dumps(one)).arrays.scratch is one.arrays.scratch
