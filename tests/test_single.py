"""One policy for many tasks: gradients against PyTorch, what is kept to the bit, toy tasks, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer
from repertory.kernels.network import matrices
from repertory.kernels.replay import draw_batch
from repertory.kernels.replay_slots import action_at, ending_at, slot_after
from repertory.kernels.streams import new_stream
from repertory.learners.dqn import DQNLearner
from repertory.learners.ppo import PPOLearner
from repertory.learners.protocol import new_learner, turn_to
from repertory.learners.single import dqn, packing, ppo
from repertory.testing import check_learner, grouped_tasks
from tests import many_task_twin as twin
from tests import ppo_twin, q_twin
from tests.pytorch import needs_torch, torch

SPACES = (gymnasium.spaces.Box(-1.0, 1.0, (4,)), gymnasium.spaces.Discrete(2))
TASKS = 3
SMALL = {"net_arch": (8, 6), "visit_sample": 32}
ADDED = {**SMALL, "ewc": 0.3, "l2_init": 0.05, "clone": 0.7, "clone_batch": 6}
BY_TASK = {**ADDED, "task_input": True, "heads": True}
ONLINE = {**ADDED, "ewc_decay": 0.9}
DQN_SMALL = {"learning_starts": 20, "buffer_size": 300, "train_freq": 2}
PPO_SMALL = {"n_steps": 20, "batch_size": 10, "n_epochs": 2}
SETTINGS: dict[str, Any] = {
    "dqn": lambda **changes: repertory.DQN(**{**DQN_SMALL, **changes}),
    "ppo": lambda **changes: repertory.PPO(**{**PPO_SMALL, **changes}),
}


def lived(settings: Any, rng: np.random.Generator, tasks: tuple[int, ...] = (0, 1, 2, 0), steps: int = 61) -> Any:
    """A learner that has seen so many random steps of each of these tasks in turn."""
    learner = settings(*SPACES, 1, n_tasks=TASKS)
    for task in tasks:
        learner.begin_task(task)
        learner.begin_episode()
        observation = rng.normal(size=4).astype(np.float32)
        for t in range(steps):
            following = rng.normal(size=4).astype(np.float32)
            learner.observe(observation, int(rng.integers(2)), float(rng.normal()), following, t % 7 == 6, False)
            observation = following
    return learner


# -------------------------------------------------------------------------------------------------- gradients


@needs_torch
@pytest.mark.parametrize("options", [BY_TASK, ONLINE], ids=["by task", "online"])
def test_dqn_gradient_equals_torch(options: dict, rng: np.random.Generator) -> None:
    learner = lived(SETTINGS["dqn"](**options), rng)
    policy, scratch, replay, plan = learner.policy, learner.scratch, learner.arrays.replay, learner.plan
    policy["weights"] += rng.normal(size=policy["weights"].size).astype(np.float32) * 0.1
    draw_batch(replay, policy["cursor"], new_stream(9), scratch["drawn"])
    dqn.compute_gradient(learner.arrays)
    drawn = scratch["drawn"]
    here = replay.slots[drawn]["observation"]
    there = replay.slots[[slot_after(replay, policy["cursor"], slot) for slot in drawn]]["observation"]
    tasks = here[:, 4].astype(np.int64)
    assert set(tasks.tolist()) == {0, 1, 2}  # rows of several tasks in one batch
    weights = torch.tensor(policy["weights"].copy(), requires_grad=True)
    target = torch.tensor(policy["target_weights"].copy())
    batch = q_twin.Batch(
        twin.outputs(weights, plan, here[:, :4], tasks),
        twin.outputs(weights, plan, there[:, :4], tasks).detach(),
        twin.outputs(target, plan, there[:, :4], tasks).detach(),
        [int(action_at(replay, slot)) for slot in drawn],
        replay.slots[drawn]["reward"].tolist(),
        [ending_at(replay, slot) != 1 for slot in drawn],
    )
    added = twin.penalty(weights, plan, policy) + twin.cloning(weights, plan, learner, is_policy=False)
    assert added.item() > 0.01  # what is added is under test
    (q_twin.loss(learner.settings, batch, []) + added).backward()
    np.testing.assert_allclose(scratch["gradient"], weights.grad.numpy(), rtol=1e-3, atol=3e-6)


@needs_torch
@pytest.mark.parametrize("options", [BY_TASK, ONLINE], ids=["by task", "online"])
def test_ppo_gradient_equals_torch(options: dict, rng: np.random.Generator) -> None:
    learner = lived(SETTINGS["ppo"](**options), rng)
    policy, plan = learner.policy, learner.plan
    policy["collected"] = policy["rollout"]
    ppo.evaluate(learner.arrays, True)
    chosen = np.arange(int(policy["collected"]))
    policy["order"][: chosen.size] = chosen
    policy["weights"] += rng.normal(size=policy["weights"].size).astype(np.float32) * 0.1
    ppo.compute_gradient(learner.arrays, 0, chosen.size)
    weights = torch.tensor(policy["weights"].copy(), requires_grad=True)
    own = twin.outputs(weights, plan, policy["observations"][chosen], np.zeros(chosen.size, np.int64))
    added = twin.penalty(weights, plan, policy) + twin.cloning(weights, plan, learner, is_policy=True)
    assert added.item() > 0.01
    (ppo_twin.loss(learner.settings, policy, chosen, own) + added).backward()
    np.testing.assert_allclose(learner.scratch["gradient"], weights.grad.numpy(), rtol=1e-3, atol=1e-5)


@needs_torch
@pytest.mark.parametrize("kind", SETTINGS)
def test_what_matters_is_the_fisher_information(kind: str, rng: np.random.Generator) -> None:
    learner = lived(SETTINGS[kind](**BY_TASK), rng)
    learner.turn_to(2)
    observations = rng.normal(size=(5, 4)).astype(np.float32)
    expected = np.zeros(learner.policy["weights"].size)
    weights = torch.tensor(learner.policy["weights"].copy(), requires_grad=True)
    for observation in observations:
        out = twin.outputs(weights, learner.plan, observation[None], [2])[0]
        log_pi = torch.log_softmax(out[:-1], dim=0)
        for a in range(2):
            (slope,) = torch.autograd.grad(log_pi[a] if kind == "ppo" else out[a], weights, retain_graph=True)
            share = log_pi[a].exp().item() if kind == "ppo" else 1.0
            expected += share * slope.numpy().astype(np.float64) ** 2 / len(observations)
    np.testing.assert_allclose(learner.fisher(observations), expected, rtol=1e-3, atol=1e-9)


def test_a_batch_of_a_task_touches_no_other_tasks_inputs_and_outputs(rng: np.random.Generator) -> None:
    learner = lived(SETTINGS["ppo"](**BY_TASK), rng, tasks=(1,))
    before = learner.policy["initial"]
    moved = [
        np.abs(now - then) > 0
        for now, then in zip(
            *(matrices(v, learner.plan.shape) for v in (learner.policy["weights"], before)), strict=True
        )
    ]
    assert not moved[0][[4, 6]].any()
    assert moved[0][5].any()
    assert not moved[4][[0, 1, 2, 6, 7, 8]].any()
    assert moved[4][3:6].any()


# ------------------------------------------------------------------------------------------------ what is kept


@pytest.mark.parametrize("kind", SETTINGS)
def test_importance_has_mean_1_whatever_the_number_of_tasks(kind: str, rng: np.random.Generator) -> None:
    learner = lived(SETTINGS[kind](**BY_TASK), rng)
    stiffness, ewc, l2 = learner.policy["stiffness"].astype(np.float64), 0.3, 0.05
    matters = learner.policy["importance"][1:].any(axis=0)  # of tasks 1 and 2: it is task 0 again
    assert (stiffness[matters] - l2).mean() == pytest.approx(ewc, rel=1e-4)
    np.testing.assert_allclose(stiffness[~matters], l2, rtol=1e-6)
    first = matrices(learner.policy["importance"][1], learner.plan.shape)[4]
    outputs = learner.plan.core.outputs
    assert first[outputs : 2 * outputs].any()
    assert not first[:outputs].any()


def returns_at_rest(player: EpisodePlayer, learner: Any, task: int) -> list[float]:
    policy = AtRest(learner, 0)
    return [play_at_rest(player, task, policy, seed).total_reward for seed in range(5)]


@pytest.mark.parametrize("optimizer", ["adadelta", "adam", "ppo"])
def test_packed_tasks_keep_their_returns_and_outputs_to_the_bit(optimizer: str, rng: np.random.Generator) -> None:
    shared = {**SMALL, "net_arch": (12, 12), "heads": True, "packnet": 300, "pack_share": 0.25}
    of_dqn = {"memory": "task-matching", "optimizer": optimizer, "learning_rate": 0.01}
    settings = SETTINGS["ppo"](**shared) if optimizer == "ppo" else SETTINGS["dqn"](**shared, **of_dqn)
    domain = repertory.domain("cartpole27")
    learner, player = new_learner(settings, domain.observation_space, domain.action_space, 3, 27), EpisodePlayer(domain)
    probes, kept = rng.normal(size=(50, 4)).astype(np.float32), {}
    for seed, task in enumerate((5, 20, 0, 5, 13, 20, 1)):
        steps, updates = 0, int(learner.policy["updates"])
        while steps < 700:
            steps += player.play(task, learner, seed).steps
        assert (learner.policy["updates"] > updates) == (task not in kept)  # what is packed trains no more
        if task not in kept:
            assert learner.policy["phase"][task] == packing.PRUNED
            owned = matrices(learner.policy["owner"] == learner.policy["rank"][task], learner.plan.shape)
            free_before = 144 - 36 * len(kept)
            assert owned[2].sum() == min(36, free_before)
        learner.begin_task(26)  # the visit is over
        learner.begin_task(task)
        assert learner.policy["phase"][task] == packing.FIXED
        for packed in {*kept, task}:
            learner.turn_to(packed)
            now = learner.action_probabilities(probes).tobytes(), returns_at_rest(player, learner, packed)
            assert kept.setdefault(packed, now) == now
    assert len(kept) == 5


def test_a_pruned_task_trains_what_it_owns_alone(rng: np.random.Generator) -> None:
    settings = SETTINGS["ppo"](**SMALL, packnet=60, pack_share=0.5)
    learner = lived(settings, rng, tasks=(0, 0))  # the second time, the first 61 steps are behind it
    policy = learner.policy
    assert policy["phase"][0] == packing.PRUNED
    owner = policy["owner"]
    assert not policy["weights"][owner == packing.FREE].any()
    assert (owner == 1).sum() == 16 + 24 + 9 + 8 + 6 + 3  # half of each matrix, and the biases
    before = policy["weights"].copy()
    for _ in range(30):
        observation, following = rng.normal(size=(2, 4)).astype(np.float32)
        learner.observe(observation, 0, 1.0, following, False, False)
    assert ((policy["weights"] != before) <= (owner == 1)).all()
    assert (policy["weights"] != before)[owner == 1].mean() > 0.5


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_look_leaves_no_trace(kind: str) -> None:
    domain, player = repertory.domain("cartpole27"), EpisodePlayer(repertory.domain("cartpole27"))
    memory = {"memory": "task-matching"} if kind == "dqn" else {}
    settings = SETTINGS[kind](**SMALL, packnet=100, task_input=True, **memory)

    def live(looks: bool) -> dict[str, np.ndarray]:
        learner = new_learner(settings, domain.observation_space, domain.action_space, 3, 27)
        for episode in range(40):
            player.play(episode // 5 % 3, learner, episode)
            if looks and episode % 3 == 0:
                for task in range(5):
                    returns_at_rest(player, learner, task)
        return learner.state_dict()

    alone, looked_at = live(False), live(True)
    assert alone["phase"].tolist()[:3] == [packing.FIXED] * 3
    assert {name: array.tobytes() for name, array in alone.items()} == {
        name: array.tobytes() for name, array in looked_at.items()
    }


@pytest.mark.parametrize("kept", [0.0, 0.75])
def test_shrink_and_perturb_moves_towards_a_new_network(kept: float, rng: np.random.Generator) -> None:
    settings = SETTINGS["dqn"](net_arch=(8, 6), shrink_every=50, shrink=kept, learning_starts=10**9)
    before = settings(*SPACES, 1).policy["weights"].copy()
    learner = lived(settings, rng, tasks=(0,), steps=49)
    assert np.array_equal(learner.policy["weights"], before)
    learner = lived(settings, rng, tasks=(0,), steps=50)
    fresh = (learner.policy["weights"] - np.float32(kept) * before) / np.float32(1 - kept)
    for new, layer in zip(matrices(fresh, learner.plan.shape), (0, 1, 2, 3, 4, 5), strict=True):
        limit = np.sqrt(6.0 / sum(new.shape)) if layer % 2 == 0 else 0.0
        assert np.abs(new).max() <= limit * (1 + 1e-5) + 1e-6
        assert layer % 2 == 1 or np.abs(new).max() > 0.5 * limit
    assert not np.allclose(fresh, before)


# --------------------------------------------------------------------------------------------------- protocol


PACKED = {**SMALL, "packnet": 40, "task_input": True, "heads": True}


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS["dqn"](**BY_TASK),
        SETTINGS["ppo"](**BY_TASK),
        SETTINGS["dqn"](**PACKED, memory="task-matching"),
        SETTINGS["ppo"](**PACKED),
    ],
    ids=["dqn", "ppo", "dqn packed", "ppo packed"],
)
def test_it_conforms_and_goes_on_from_its_state_to_the_bit(settings: Any) -> None:
    check_learner(settings, "cartpole27", steps=300)


def test_nothing_switched_on_is_the_plain_learner() -> None:
    assert type(repertory.DQN()(*SPACES, 1, n_tasks=3)) is DQNLearner
    assert type(repertory.PPO()(*SPACES, 1, n_tasks=3)) is PPOLearner
    assert not repertory.DQN().needs_tasks
    assert not repertory.DQN(l2_init=0.1, shrink_every=5).needs_tasks


def test_a_saved_library_plays_each_task_in_its_own_way(tmp_path: Any, rng: np.random.Generator) -> None:
    settings = SETTINGS["dqn"](**PACKED, memory="task-matching")
    record = repertory.live("cartpole27", settings, 1, blocks=4, block_steps=120, task=(3, 9))
    record.save(tmp_path / "one.npz")
    library, probes = repertory.load(tmp_path / "one.npz"), rng.normal(size=(40, 4)).astype(np.float32)
    (own,) = record.policies
    for task in (9, 3, 9):
        own.turn_to(task)
        loaded = library.policy_for(task)
        assert [loaded.predict(row) for row in probes] == own.q_values(probes).argmax(axis=1).tolist()


# ------------------------------------------------------------------------------------------------ what is learned


class AfterTwoTasks(NamedTuple):
    """Of two tasks that contradict each other, played one after the other."""

    first: float
    """The return on it at the end."""
    second: float
    forgotten: float
    """How far the values of the first have moved meanwhile: root mean square."""


def after_two_tasks(**options: Any) -> AfterTwoTasks:
    base = {"optimizer": "adam", "learning_rate": 0.005, "train_freq": 1, "target_update_interval": 50, "gamma": 0.9}
    settings = repertory.DQN(**base, learning_starts=50, buffer_size=200, net_arch=(24, 24), **options)
    domain, states = grouped_tasks(groups=2, tasks_per_group=1, states=5), np.eye(5, dtype=np.float32)
    learner, player = new_learner(settings, domain.observation_space, domain.action_space, 3, 2), EpisodePlayer(domain)
    values = []
    for task in (0, 1):
        for episode in range(700):
            player.play(task, learner, episode)
        turn_to(learner, 0)
        values.append(learner.q_values(states).copy())
    forgotten = float(np.sqrt(((values[1] - values[0]) ** 2).mean()))
    returns = [float(np.mean(returns_at_rest(player, learner, task))) for task in (0, 1)]
    return AfterTwoTasks(*returns, forgotten)


def test_with_ewc_less_is_forgotten_of_two_tasks_that_conflict() -> None:
    """Whoever is not told the task can but choose between them; whoever is can have both."""
    plain, held = after_two_tasks(), after_two_tasks(ewc=100.0)
    assert (plain.first, plain.second, held.first) == (0.0, 5.0, 5.0)
    assert held.forgotten < 0.3 * plain.forgotten
    plain, held = after_two_tasks(heads=True), after_two_tasks(heads=True, ewc=1.0)
    assert plain.second == held.second == 5.0  # it is no brake on learning that forgetting is less by
    assert held.first == 5.0
    assert held.forgotten < 0.3 * plain.forgotten


def test_one_policy_balances_a_cart_and_its_mirror_image_if_it_knows_which() -> None:
    settings = repertory.learner("dqn", profile="sound", optimizer="adam", learning_rate=0.0005, learning_starts=1000)
    both = (13, 40)

    def worse_of_both(**options: bool) -> float:
        changed = settings.replace(target_update_interval=1000, **options)
        record = repertory.live("cartpole54", changed, 1, task=both, blocks=100, block_steps=5000)
        return float(repertory.evaluate(record, episodes=5).scores[0, both].min())

    plain = worse_of_both()
    assert plain < 100
    assert worse_of_both(task_input=True) > plain + 50
    assert worse_of_both(heads=True) > plain + 50


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: repertory.DRQN(packnet=100, memory="task-matching"), "DRQN.packnet is 100; valid in a recurrent"),
        (lambda: repertory.PRPO(task_input=True), "PRPO.task_input is True; valid in a recurrent network"),
        (lambda: repertory.DQN(packnet=100), "DQN.memory is 'fifo'; valid with packnet: 'task-matching'"),
        (lambda: repertory.PPO(packnet=100, ewc=1.0), "PPO.ewc is 1.0; valid with packnet, which fixes weights: 0.0"),
        (lambda: repertory.PPO(ewc_decay=0.9), "PPO.ewc_decay is 0.9; valid without ewc: none"),
        (lambda: repertory.PPO(pack_share=0.5), "PPO.pack_share is 0.5; valid without packnet: none"),
        (lambda: repertory.PPO(shrink=1.0), "PPO.shrink is 1.0; valid: a number at least 0 and below 1"),
        (lambda: repertory.PPO(heads=True)(*SPACES, 1), "PPO.heads is True; valid where the number of tasks is not"),
        (
            lambda: repertory.live("cartpole27", repertory.DQN(ewc=1.0), 1, blocks=1, block_steps=9, hidden_tasks=True),
            "DQN.ewc is 1.0; valid where the number of tasks is not known (hidden tasks, or no n_tasks given): 0.0",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make: Any, said: str) -> None:
    with pytest.raises(repertory.UsageError) as error:
        make()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_hidden_tasks_are_no_matter_to_what_does_not_need_them() -> None:
    settings = SETTINGS["ppo"](net_arch=(8, 6), l2_init=0.1)
    record = repertory.live("cartpole27", settings, 1, blocks=2, block_steps=60, hidden_tasks=True)
    assert len(record.blocks) == 2
