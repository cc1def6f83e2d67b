"""Health: each number against a naive computation, and a learner that goes on as if nobody had asked."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.core.lifetime import Monitor
from repertory.core.metrics import divergence
from repertory.kernels.replay import draw
from repertory.kernels.replay_slots import TERMINATED, action_at, ending_at, slot_after
from repertory.kernels.streams import new_stream
from repertory.learners.dqn import DQNLearner
from repertory.learners.health import LARGEST, OF_ACTOR_CRITIC, OF_Q_LEARNING, dormant_share, has_diverged, measured
from repertory.runs.saver import PAUSE_VARIABLE
from tests import ppo_twin, q_twin
from tests.pytorch import needs_torch, torch
from tests.test_recurrent import SPACES as BITS
from tests.test_recurrent import TorchTwin, bits, experience_key, live, slot_key

BOX = (gymnasium.spaces.Box(-1.0, 1.0, (4,)), gymnasium.spaces.Discrete(3))
SMALL = {"learning_starts": 50, "buffer_size": 300, "target_update_interval": 70}
WIDE = {"net_arch": (30, 20)}


def play(learner, episodes: list[int], rng: np.random.Generator) -> None:
    """Random episodes of given lengths, ended in turn by failure and by a time limit."""
    for number, length in enumerate(episodes):
        learner.begin_episode()
        observation = rng.normal(size=4).astype(np.float32)
        for t in range(length):
            following, over = rng.normal(size=4).astype(np.float32), t == length - 1
            ends = (over and number % 2 == 0, over and number % 2 == 1)
            learner.observe(observation, learner.act(observation), float(rng.normal()), following, *ends)
            observation = following


def naive_dormant(layers: list[np.ndarray]) -> float:
    dormant, units = 0, 0
    for layer in layers:
        means = [np.mean([abs(x) for x in column]) for column in layer.T]
        dormant += sum(mean <= 0.025 * np.mean(means) for mean in means)
        units += len(means)
    return dormant / units


def torch_layers(parts: list[torch.Tensor], observations: np.ndarray) -> list[torch.Tensor]:
    """Both hidden layers and the outputs."""
    w1, b1, w2, b2, w3, b3 = parts
    first = torch.relu(torch.tensor(observations.copy()) @ w1 + b1)
    second = torch.relu(first @ w2 + b2)
    return [first, second, second @ w3.T + b3]


def gradient_length(parameters) -> float:
    return math.sqrt(sum(float((part.grad**2).sum()) for part in parameters))


def silence_three_units(learner) -> None:
    """By the biases of the first layer, so that there are dormant ones to count."""
    inputs, units = learner.shape[:2]
    learner.policy["weights"][inputs * units : inputs * units + 3] = -1000.0


def drawn_by_health(learner) -> list[int]:
    """The slots of the sample: whole minibatches, from a generator that the steps lived decide."""
    stream, count = new_stream(int(learner.policy["life"])), learner.settings.batch_size
    rounds = math.ceil(64 / count)
    return [draw(learner.arrays.replay, learner.policy["cursor"], stream) for _ in range(rounds * count)]


def check_q_health(learner, batch: q_twin.Batch, layers: list[np.ndarray], parameters, seen: list[float]) -> None:
    settings, health = learner.settings, learner.health()
    q_twin.loss(settings, batch, seen).backward()
    one, outputs = q_twin.value_of_one(settings, seen), batch.q.detach().numpy()
    errors = one * (outputs[np.arange(len(outputs)), batch.actions] - q_twin.targets(settings, batch, seen))
    q = one * outputs
    assert set(health) == set(OF_Q_LEARNING)
    assert health["q_largest"] == pytest.approx(np.abs(q).max(), rel=1e-5)
    assert health["q_mean"] == pytest.approx(np.abs(q).mean(), rel=1e-5)
    assert health["action_gap"] == pytest.approx(np.mean([a - b for a, b, *_ in -np.sort(-q, axis=1)]), rel=1e-4)
    assert health["q_bound"] == pytest.approx(max(abs(reward) for reward in seen) / (1 - settings.gamma), rel=1e-5)
    assert health["weight_norm"] == pytest.approx(np.linalg.norm(learner.policy["weights"]), rel=1e-5)
    assert health["gradient_norm"] == pytest.approx(gradient_length(parameters), rel=1e-4)
    assert health["dormant"] == pytest.approx(naive_dormant(layers))
    assert 3 <= health["dormant"] * sum(learner.shape[1:3]) < 30
    assert health["td_error"] == pytest.approx(np.abs(errors).mean(), rel=1e-4)


@needs_torch
@pytest.mark.parametrize("options", [{}, q_twin.EVERYTHING, {"normalize_returns": True}], ids=str)
def test_dqn(options: dict, rng: np.random.Generator) -> None:
    learner = repertory.DQN(**SMALL, **WIDE, **options)(*BOX, seed=1)
    play(learner, [40, 25, 60, 3, 80], rng)
    silence_three_units(learner)
    policy, replay, slots = learner.policy, learner.arrays.replay, drawn_by_health(learner)
    here = replay.slots["observation"][slots]
    there = replay.slots["observation"][[slot_after(replay, policy["cursor"], slot) for slot in slots]]
    online, target = (q_twin.torch_network(policy[name], learner) for name in ("weights", "target_weights"))
    *layers, q = torch_layers(online, here)
    batch = q_twin.Batch(
        q,
        torch_layers(online, there)[-1].detach(),
        torch_layers(target, there)[-1].detach(),
        [int(action_at(replay, slot)) for slot in slots],
        replay.slots["reward"][slots].tolist(),
        [ending_at(replay, slot) != TERMINATED for slot in slots],
    )
    seen = replay.slots["reward"][:210].tolist()
    check_q_health(learner, batch, [layer.detach().numpy() for layer in layers], online, seen)


def test_td_error_is_the_mean_size_of_reward_plus_next_value_less_value(rng: np.random.Generator) -> None:
    """In a closed form: with all weights 0, what is left is the size of the rewards."""
    learner = repertory.DQN(**{**SMALL, "learning_starts": 10**9})(*BOX, seed=1)
    play(learner, [40, 25], rng)
    learner.policy["weights"] = learner.policy["target_weights"] = 0.0
    rewards = learner.arrays.replay.slots["reward"][drawn_by_health(learner)]
    health = learner.health()
    assert health["td_error"] == pytest.approx(np.abs(rewards).mean(), rel=1e-6)
    assert (health["q_largest"], health["q_mean"], health["action_gap"], health["weight_norm"]) == (0, 0, 0, 0)
    assert health["dormant"] == 1.0


@needs_torch
def test_drqn(rng: np.random.Generator) -> None:
    learner = repertory.DRQN(**SMALL, **q_twin.EVERYTHING)(*BITS, seed=1)
    told = live(learner, [40, 3, 25, 60, 17, 90], rng)
    silence_three_units(learner)
    steps = {experience_key(episode[t]): (episode, t) for episode in told for t in range(len(episode))}
    online, following, played = [], [], []
    for slot in drawn_by_health(learner):
        episode, t = steps[slot_key(learner, slot)]
        online.append(np.stack([step[0] for step in episode[max(0, t - 14) : t + 1]]))
        following.append(np.concatenate([online[-1], episode[t][3][None]])[-15:])
        played.append(episode[t])
    twin, target = (TorchTwin(learner.policy[name], learner.shape) for name in ("weights", "target_weights"))
    actions, rewards, goes_on = zip(*((action, reward, not end) for _, action, reward, _, end in played), strict=True)
    next_q, next_target_q = twin(following).detach(), target(following).detach()
    batch = q_twin.Batch(twin(online), next_q, next_target_q, list(actions), list(rewards), list(goes_on))
    dense = np.stack([torch.relu(twin.dense(torch.tensor(window[-1]))).detach().numpy() for window in online])
    hidden = np.stack([lstm_output(twin, window) for window in online])
    seen = [step[2] for episode in told for step in episode]
    parameters = [part for name, part in twin.named_parameters() if name != "lstm.bias_hh_l0"]  # there is one bias
    check_q_health(learner, batch, [dense, hidden], parameters, seen)


def lstm_output(twin: TorchTwin, window: np.ndarray) -> np.ndarray:
    return twin.lstm(torch.relu(twin.dense(torch.tensor(window))))[0][-1].detach().numpy()


def naive_rollout(rewards: np.ndarray, values: np.ndarray, ended: bool, settings: repertory.PPO) -> dict:
    """Advantages and targets, by their definition; `values` has that of the state after the last step."""
    following = np.append(values[1:-1], 0.0 if ended else values[-1])
    delta = rewards + settings.gamma * following - values[:-1]
    decay = settings.gamma * settings.gae_lambda
    n = len(rewards)
    advantages = np.array([sum(decay**k * delta[t + k] for k in range(n - t)) for t in range(n)], np.float32)
    return {"advantages": advantages, "targets": advantages + values[:-1], "values": values[:-1]}


def check_actor_critic_health(learner, steps: list[tuple], ended: bool, outputs: torch.Tensor, layers, parameters):
    """`outputs` has a row more than there are steps."""
    settings, health, n = learner.settings, learner.health(), len(steps)
    values = outputs[:, -1].detach().numpy()
    pi = torch.softmax(outputs[:n, :-1], dim=1).detach().numpy()
    rollout = naive_rollout(np.array([step[2] for step in steps], np.float32), values, ended, settings)
    rollout["actions"] = np.array([step[1] for step in steps])
    rollout["old"] = pi[np.arange(n), rollout["actions"]]
    ppo_twin.loss(settings, rollout, np.arange(n), outputs[:n]).backward()
    assert set(health) == set(OF_ACTOR_CRITIC)
    assert health["value_largest"] == pytest.approx(np.abs(values[:n]).max(), rel=1e-4)
    assert health["value_mean"] == pytest.approx(np.abs(values[:n]).mean(), rel=1e-4)
    assert health["entropy"] == pytest.approx(np.mean([-(row * np.log(row)).sum() for row in pi]), rel=1e-4)
    assert health["td_error"] == pytest.approx(np.abs(values[:n] - rollout["targets"]).mean(), rel=1e-4)
    assert health["gradient_norm"] == pytest.approx(gradient_length(parameters), rel=1e-3)
    assert health["weight_norm"] == pytest.approx(np.linalg.norm(learner.policy["weights"]), rel=1e-5)
    assert health["dormant"] == pytest.approx(naive_dormant(layers))
    assert 3 <= health["dormant"] * sum(learner.shape[1:3]) < 30


@needs_torch
@pytest.mark.parametrize(("episodes", "ended"), [([50, 70, 45], True), ([50, 70], False)])
def test_ppo_is_measured_on_the_steps_of_its_last_update(
    episodes: list[int], ended: bool, rng: np.random.Generator
) -> None:
    learner = repertory.PPO(**WIDE, n_epochs=2)(*BOX, seed=1)
    play(learner, episodes, rng)
    silence_three_units(learner)
    policy, n = learner.policy, episodes[-1]
    steps = list(zip(policy["observations"][:n], policy["actions"][:n], policy["rewards"][:n].tolist(), strict=True))
    parts = q_twin.torch_network(policy["weights"], learner)
    *layers, outputs = torch_layers(parts, policy["observations"][: n + 1])
    check_actor_critic_health(learner, steps, ended, outputs, [layer[:n].detach().numpy() for layer in layers], parts)


@needs_torch
@pytest.mark.parametrize("ends", [True, False])
def test_prpo_is_measured_on_the_steps_of_its_last_update_or_since(ends: bool, rng: np.random.Generator) -> None:
    """Windows reach back before the steps since the last update, but not before its own, which are forgotten."""
    learner = repertory.PRPO(n_epochs=1)(*BITS, seed=1)
    told = live(learner, [40, 90, 15 + 160], rng, ends=ends)[-1]
    silence_three_units(learner)
    first = 15 + 100
    steps = told[first:]
    observations = [step[0] for step in told] + [told[-1][3]]
    earliest = first if ends else 0
    windows = [np.stack(observations[max(earliest, t - 14) : t + 1]) for t in range(first, len(told) + 1)]
    twin = TorchTwin(learner.policy["weights"], learner.shape)
    dense = np.stack([torch.relu(twin.dense(torch.tensor(window[-1]))).detach().numpy() for window in windows[:-1]])
    hidden = np.stack([lstm_output(twin, window) for window in windows[:-1]])
    parameters = [part for name, part in twin.named_parameters() if name != "lstm.bias_hh_l0"]
    check_actor_critic_health(learner, steps, ends, twin(windows), [dense, hidden], parameters)


MAKERS = {
    "dqn": lambda: repertory.DQN(**SMALL)(*BITS, seed=1),
    "dqn by episodes": lambda: repertory.DQN(**SMALL, sampling="episodes")(*BITS, seed=1),
    "dqn, finished episodes": lambda: repertory.DQN(**SMALL, memory="finished-episodes", sampling="episodes")(*BITS, 1),
    "dqn, matching": lambda: repertory.DQN(**SMALL, memory="distribution-matching", protected=40)(*BITS, seed=1),
    "drqn": lambda: repertory.DRQN(**SMALL, **q_twin.EVERYTHING, **q_twin.ADAM, random_first_steps=3)(*BITS, seed=1),
    "ppo": lambda: repertory.PPO(n_steps=37, batch_size=16, n_epochs=2)(*BITS, seed=1),
    "prpo": lambda: repertory.PRPO(n_steps=37, n_epochs=2, random_first_steps=3)(*BITS, seed=1),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_asking_changes_nothing(make, rng: np.random.Generator) -> None:
    """Asked at every moment of an episode, the learner acts and learns as one that nobody asks: to the bit."""
    asked, left_alone = make(), make()
    for length in (50, 1, 39, 60, 20):
        asked.health()
        for each in (asked, left_alone):
            each.begin_episode()
        observation = bits(rng)
        for t in range(length):
            asked.health()
            action = asked.act(observation)
            assert action == left_alone.act(observation)
            asked.health()
            following, reward = bits(rng), float(rng.integers(-1, 2))
            for each in (asked, left_alone):
                each.observe(observation, action, reward, following, t == length - 1 and length > 40, t == length - 1)
            observation = following
    assert asked.policy["updates"] > 0
    for name, array in asked.state_dict().items():
        assert np.array_equal(array, left_alone.state_dict()[name]), name
    assert asked.policy.tobytes() == left_alone.policy.tobytes()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_it_is_the_same_for_a_restored_learner_and_is_finite_once_there_are_steps(
    make, rng: np.random.Generator
) -> None:
    learner, twin = make(), make()
    known = {"weight_norm"}
    assert {name for name, number in learner.health().items() if not math.isnan(number)} == known
    live(learner, [60, 45], rng)
    twin.load_state_dict(learner.state_dict())
    assert learner.health() == twin.health()
    assert all(math.isfinite(number) for number in learner.health().values())


def test_an_episode_without_a_step_is_not_drawn(rng: np.random.Generator) -> None:
    learner = repertory.DQN(**{**SMALL, "learning_starts": 10**9}, sampling="episodes")(*BITS, seed=1)
    live(learner, [4], rng)
    before = learner.health()
    learner.begin_episode()
    assert learner.health() == before


def test_a_policy_that_learns_nothing_has_no_health() -> None:
    assert repertory.Random()(*BITS, seed=1).health() == {}


def test_dormant_share_of_a_layer_where_one_unit_does_nearly_everything() -> None:
    busy = np.array([[100.0, 1.0, 0.0, -100.0], [100.0, -1.0, 0.0, 100.0]], np.float32)
    assert dormant_share([busy]) == 0.5  # the layer's mean is 50.25: 1 and 0 are below a fortieth of it
    assert dormant_share([busy, np.ones((2, 4), np.float32)]) == 0.25


@pytest.mark.parametrize(
    ("health", "diverged"),
    [
        ({"q_largest": 199.0, "q_bound": 100.0, "weight_norm": 9.0}, False),
        ({"q_largest": 201.0, "q_bound": 100.0, "weight_norm": 9.0}, True),
        ({"q_largest": math.inf, "q_bound": 100.0, "weight_norm": 9.0}, True),
        ({"q_largest": math.nan, "q_bound": math.nan, "weight_norm": 9.0}, False),
        ({"q_largest": math.nan, "q_bound": 100.0, "weight_norm": math.nan}, True),
        ({"q_largest": 0.3, "q_bound": 0.0, "weight_norm": 9.0}, False),
        ({"q_largest": 1e9, "q_bound": math.inf, "weight_norm": 9.0}, False),
        ({"value_largest": -0.0, "value_bound": 1.0, "weight_norm": 9.0}, False),
        ({"value_largest": 2.5, "value_bound": 1.0, "weight_norm": 9.0}, True),
        ({}, False),
    ],
)
def test_diverged_is_what_passes_twice_the_bound(health: dict, diverged: bool) -> None:
    assert has_diverged(health) is diverged


@pytest.mark.parametrize(("bound", "diverged"), [(None, True), ("rewards", False)])
def test_values_that_chase_themselves_diverge_and_a_bound_holds_them(bound: str | None, diverged: bool) -> None:
    """Tsitsiklis and Van Roy's example: the next state looks twice like this one, and is never learned from itself.

    A network that gives this state w gives the next one about 2 w, so the target 1 + 0.9 * 2 w runs ahead of it.
    """
    settings = repertory.DQN(
        gamma=0.9, target_bound=bound, optimizer="adam", learning_rate=0.01, learning_starts=20, train_freq=1,
        target_update_interval=10,
    )  # fmt: skip
    learner, state = settings(*BOX, seed=1), np.array([1.0, -1.0, 0.5, -0.5], np.float32)
    for _ in range(1500):
        learner.begin_episode()
        learner.observe(state, 0, 1.0, 2 * state, False, True)
    health = learner.health()
    assert health["q_bound"] == pytest.approx(10.0)
    assert has_diverged(health) is diverged


# ------------------------------------------------------------------------------------------------- in a record

LIVELY = {"blocks": 6, "block_steps": 9000, "seed": 3}


def test_a_record_holds_the_health_of_the_policy_that_played_most(tmp_path) -> None:
    learner = repertory.DQN(learning_starts=500, buffer_size=3000)
    record = repertory.live("cartpole27", learner, 2, "fixed-partition", **LIVELY)
    table = record.blocks.filter(like="health_")
    steps = record.blocks["steps"].cumsum()
    measured = (steps // 20_000).diff().fillna(steps // 20_000) > 0
    assert measured.sum() == 2
    assert table.notna().all(axis=1).tolist() == measured.tolist()
    options = {**LIVELY, "blocks": int(measured.index[measured][-1]) + 1}
    shorter = repertory.live("cartpole27", learner, 2, "fixed-partition", **options)
    last = shorter.policies[shorter.blocks.filter(regex="^policy_").iloc[-1].argmax()]
    assert table[measured].iloc[-1].to_dict() == {f"health_{name}": value for name, value in last.health().items()}
    assert record.divergence is None


def test_measuring_changes_no_life_and_a_resumed_one_has_the_same_health(tmp_path, monkeypatch) -> None:
    learner = repertory.DQN(learning_starts=500, buffer_size=3000)
    whole = repertory.live("cartpole27", learner, 2, **LIVELY)

    class Stop(Monitor):
        def block_ended(self, tally) -> None:
            if tally.block == 3:
                raise KeyboardInterrupt

    monkeypatch.setenv(PAUSE_VARIABLE, "0")
    with pytest.raises(KeyboardInterrupt):
        repertory.live("cartpole27", learner, 2, **LIVELY, out=tmp_path, monitors=[Stop()])
    resumed = repertory.live("cartpole27", learner, 2, **LIVELY, out=tmp_path)
    pd.testing.assert_frame_equal(resumed.blocks, whole.blocks, check_exact=True)
    pd.testing.assert_frame_equal(repertory.open(tmp_path).blocks, whole.blocks, check_exact=True)
    monkeypatch.setattr(DQNLearner, "health", None)  # as a learner that does not tell
    untold = repertory.live("cartpole27", learner, 2, **LIVELY).blocks
    pd.testing.assert_frame_equal(untold, whole.blocks[untold.columns], check_exact=True)
    assert not untold.filter(like="health_").columns.size


def blocks_with(**health: list[float]) -> pd.DataFrame:
    rows = len(next(iter(health.values())))
    return pd.DataFrame({"block": range(rows), **{f"health_{name}": values for name, values in health.items()}})


def test_a_life_diverges_in_the_first_block_that_passes_the_bound() -> None:
    nan = math.nan
    found = divergence(
        blocks_with(q_largest=[3, nan, 201, 9e9], q_bound=[100, nan, 100, 100], weight_norm=[1, nan, 1, 1])
    )
    assert found == (2, 201.0, 100.0)
    assert str(found) == "diverged in block 2 (values up to 201; no return can pass 100)"
    assert divergence(blocks_with(q_largest=[3, nan], q_bound=[100, nan], weight_norm=[1, nan])) is None
    assert divergence(blocks_with(q_largest=[3], q_bound=[100], weight_norm=[LARGEST])).block == 0
    assert divergence(blocks_with(mood=[nan, 3.0])) is None
    assert divergence(pd.DataFrame({"block": [0, 1]})) is None


class Telling:
    def __init__(self, **health: float) -> None:
        self.health = lambda: health


def test_what_is_recorded_has_a_place_in_every_file() -> None:
    told = measured(Telling(a=math.nan, b=math.inf, c=-math.inf, d=2, weight_norm=math.nan))
    assert told == {"a": None, "b": LARGEST, "c": -LARGEST, "d": 2.0, "weight_norm": LARGEST}
    assert measured(object()) == {}
