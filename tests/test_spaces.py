"""Any action and observation space, from training to predicting and watching; and the table of docs/spaces.md."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.core.at_rest import AtRest
from repertory.core.metrics import action_spread
from repertory.core.spread import spread_if_any
from repertory.errors import UsageError
from repertory.learners import replay_room
from repertory.report.watching import Performance
from repertory.runs.live import live_spec
from repertory.runs.spec import run_spec
from tests.spaces_rows import COLUMNS, ROWS, InATuple, InParts, StandIn, domain_of, learner_of, made

spaces = gymnasium.spaces
PAGE = Path(__file__).parent.parent / "docs" / "spaces.md"
MACHINE = 16_000_000_000
"""Bytes of memory of the machine that the page speaks of."""


# ------------------------------------------------------------------------------------------ the table of the page


def works(row: str, column: str, learner: Any, folder: Path) -> None:
    """All that a user would do with a library, from training on."""
    domain = domain_of(row)
    spec = run_spec(domain, learner, 2, "epsilon-greedy", blocks=2, block_steps=30)
    lifetime: Any = spec.lifetime()
    lifetime.close()
    record = live_spec(spec, folder / "run")
    observation = domain.observation_space.sample()
    record.save(folder / "library.npz")
    loaded = repertory.load(folder / "library.npz", domain=domain, learner=learner)
    for one, other in zip(record.library().policies, loaded.policies, strict=True):
        action = one.predict(observation)
        assert domain.action_space.contains(action), action
        assert np.array_equal(action, other.predict(observation))
    assert repertory.evaluate(loaded, 1, domain=domain, learner=learner).scores.shape == (2, 2)
    lifetime.agent.policies = record.policies
    for explores in (False, True):
        (ending,) = Performance(spec, lifetime, task=1, policy=0, explore=explores).endings
        assert ending.is_over
    spread = spread_if_any(domain, record.policies)
    assert spread is not None
    assert 0 <= spread <= 1


def cell(row: str, column: str, folder: Path) -> str:
    """`works`, what it needs to, or the line that refuses it."""
    try:
        works(row, column, learner_of(row, column), folder)
    except UsageError as refusal:
        said = str(refusal)
        if "buffer_size=" not in said:
            return said
        works(row, column, learner_of(row, column, is_small=True), folder)
        return "works with a smaller `buffer_size`"
    return "works"


def of_page(row: str) -> list[str]:
    """The row of the page's table."""
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {row} |"))
    return [entry.strip() for entry in line.strip("|").split("|")][1:]


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_room, "total_memory", lambda: MACHINE)


def check_row(row: str, columns: tuple[str, ...], folder: Path) -> None:
    pytest.importorskip("sb3_contrib")
    for column in columns:
        (folder / column).mkdir()
        found = cell(row, column, folder / column)
        told = of_page(row)[COLUMNS.index(column)]
        if found.startswith("works"):
            assert told == found, f"{row}, {column}"
        else:
            assert told == "refused", f"{row}, {column}: {found}"
            assert "; next: " in found
            assert "\n" not in found


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(("row", "column"), [("Pendulum", "SB3 SAC"), ("Dict observations", "SB3 PPO")])
def test_a_cell_of_the_table(row: str, column: str, tmp_path: Path) -> None:
    check_row(row, (column,), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("row", ROWS)
def test_the_table_of_the_page_is_what_happens(row: str, tmp_path: Path) -> None:
    check_row(row, COLUMNS, tmp_path)


@pytest.mark.usefixtures("small_machine")
def test_what_the_page_says_is_refused_is_so_in_one_line_before_anything_is_made(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    refused = [
        (row, column) for row in ROWS for column, told in zip(COLUMNS, of_page(row), strict=True) if told == "refused"
    ]
    assert len(refused) > 10
    for row, column in refused:
        with pytest.raises(UsageError, match=r"^[^\n]*; next: [^\n]*$"):
            repertory.live(domain_of(row), learner_of(row, column), 2, blocks=1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------------------------------------- Box actions


def pendulums() -> repertory.Domain:
    return domain_of("Pendulum")


def trained(algorithm: str, **arguments: Any) -> repertory.Record:
    sb3 = pytest.importorskip("stable_baselines3")
    from repertory.learners.sb3 import SB3

    small = {"learning_starts": 20, "batch_size": 8, "buffer_size": 200, "policy_kwargs": {"net_arch": [8]}}
    return repertory.live(pendulums(), SB3(getattr(sb3, algorithm), **small, **arguments), 2, blocks=2, block_steps=40)


def test_predict_is_the_action_of_the_model_itself() -> None:
    record = trained("SAC")
    observation = record.observation_space.sample()
    for policy in record.library().policies:
        action = policy.predict(observation.tolist())
        assert action.shape == (1,)
        assert np.array_equal(action, policy.learner.model.predict(observation, deterministic=True)[0])


def test_exploring_at_rest_is_random_as_in_training_and_leaves_no_trace() -> None:
    from stable_baselines3.common.noise import NormalActionNoise

    learner: Any = trained("TD3", action_noise=NormalActionNoise(np.zeros(1), np.full(1, 0.05))).policies[0]
    rows = np.zeros((400, 3), np.float32)
    before, shared = learner.state_dict(), np.random.get_state()[1].copy()  # noqa: NPY002
    drawn, _memory = learner.actions_at_rest(rows, None, np.random.default_rng(3))
    again, _memory = learner.actions_at_rest(rows, None, np.random.default_rng(3))
    best, _memory = learner.actions_at_rest(rows)
    assert np.array_equal(drawn, again)
    assert np.unique(best).size == 1
    inside = np.abs(best[0, 0]) < 1.5
    assert not inside or np.std(drawn) == pytest.approx(2 * 0.05, rel=0.2)  # noise is of actions scaled to -1 ... 1
    assert (np.random.get_state()[1] == shared).all()  # noqa: NPY002
    assert all(array.tobytes() == before[name].tobytes() for name, array in learner.state_dict().items())


def test_a_recurrent_policy_remembers_its_episode_at_rest() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    from repertory.learners.sb3 import SB3

    domain = domain_of("Pendulum")
    policy: Any = SB3(contrib.RecurrentPPO, "MlpLstmPolicy", n_steps=16)(
        domain.observation_space, domain.action_space, 0
    )
    at_rest, state, start = AtRest(policy, 0), None, np.ones(1)
    seen = [domain.observation_space.sample() for _ in range(4)]
    for _episode in range(2):
        at_rest.begin_episode()
        actions = [at_rest.act(observation) for observation in seen]
    for observation, action in zip(seen, actions, strict=True):
        expected, state = policy.model.predict(observation, state, start, deterministic=True)
        start = np.zeros(1)
        assert np.array_equal(action, expected)
    library = repertory.runs.saved_library.Policy(0, policy, domain.observation_space)
    assert np.array_equal(library.predict(seen), actions[-1])
    assert not np.array_equal(library.predict(seen[-1]), actions[-1])


class Constant:
    def __init__(self, *numbers: float) -> None:
        self.numbers = np.array(numbers, np.float32)

    def actions_at_rest(self, observations: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        return np.tile(self.numbers, (len(observations), 1)), None


def of_actions(space: gymnasium.Space) -> repertory.Domain:
    return repertory.tasks([lambda: StandIn(spaces.Box(0, 1, (2,)), space, 1.0)], names=["one"], check=False)


def test_constant_actions_are_as_far_apart_as_their_share_of_the_range() -> None:
    box = of_actions(spaces.Box(np.array([-1, 0], np.float32), np.array([1, 4], np.float32)))
    assert spread_if_any(box, [Constant(-1, 0), Constant(1, 4)]) == pytest.approx(1)
    assert spread_if_any(box, [Constant(0, 1), Constant(0.5, 1)]) == pytest.approx((0.25 + 0) / 2)
    three = [Constant(-1, 0), Constant(1, 4), Constant(1, 4)]
    assert spread_if_any(box, three) == pytest.approx(2 / 3)
    assert spread_if_any(of_actions(spaces.Box(-np.inf, np.inf, (2,))), [Constant(-1, 0), Constant(1, 4)]) is None


def test_of_choices_the_share_that_is_another_counts() -> None:
    assert action_spread(np.array([[[0, 1, 2]], [[0, 3, 0]]]), np.zeros(3)) == pytest.approx(2 / 3)
    choices = of_actions(spaces.MultiDiscrete([4, 4]))
    assert spread_if_any(choices, [Constant(0, 1), Constant(0, 3)]) == pytest.approx(0.5)


def test_clusters_of_tasks_with_box_actions() -> None:
    from repertory.analysis.clusters import cluster_tasks

    makers = [lambda g=g: made("Pendulum-v1", g=g) for g in (0.5, 1.0, 9.0, 10.0)]
    found = cluster_tasks(repertory.tasks(makers, names=list("abcd"), check=False), steps=400)
    assert 2 <= found.n_clusters <= 3


# ------------------------------------------------------------------------------------ observations in parts


SMALL_DQN = {"learning_starts": 50, "buffer_size": 500, "net_arch": (8, 8)}


@pytest.mark.parametrize("in_parts", [InParts, InATuple])
def test_a_compiled_learner_sees_parts_as_the_flattened_environment_shows_them(in_parts: Any) -> None:
    def lives(*wrappers: Any) -> repertory.Record:
        def make() -> gymnasium.Env:
            env = in_parts(made("CartPole-v1"))
            for wrapper in wrappers:
                env = wrapper(env)
            return env

        domain = repertory.tasks([make], names=["one"], check=False)
        return repertory.live(domain, repertory.DQN(**SMALL_DQN), 2, blocks=2, block_steps=150)

    parts, flat = lives(), lives(gymnasium.wrappers.FlattenObservation)
    pd.testing.assert_frame_equal(parts.blocks, flat.blocks, check_exact=True)
    observation = parts.observation_space.sample()
    vector = gymnasium.spaces.flatten(parts.observation_space, observation)
    for one, other in zip(parts.library().policies, flat.library().policies, strict=True):
        assert np.array_equal(one.learner.policy["weights"], other.learner.policy["weights"])
        assert one.predict(observation) == other.predict(vector)


@pytest.mark.parametrize("in_parts", [InParts, InATuple])
def test_tasks_are_told_apart_by_the_parts_of_their_observations(in_parts: Any) -> None:
    def cart(gravity: float) -> gymnasium.Env:
        env = made("CartPole-v1")
        env.unwrapped.gravity = gravity
        return in_parts(env)

    makers = [lambda gravity=gravity: cart(gravity) for gravity in (9.8, 1.6, 9.8)]
    domain = repertory.tasks(makers, names=list("abc"), check=False)
    assert domain.identical_tasks(100) == [(0, 2)]


def test_what_cannot_be_a_vector_is_refused_with_a_wrapper_to_use() -> None:
    domain = repertory.tasks(
        [lambda: StandIn(spaces.Dict({"words": spaces.Sequence(spaces.Discrete(3))}), spaces.Discrete(2), 1.0)],
        names=["one"],
        check=False,
    )
    with pytest.raises(UsageError, match=r"cannot be written as a vector; next: .*FilterObservation"):
        repertory.live(domain, repertory.PPO(), 1)


# ------------------------------------------------------------------------------------------------ memories


def test_a_memory_that_does_not_fit_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(replay_room, "total_memory", lambda: MACHINE)
    images = domain_of("Atari-like images")
    # 400,000 experiences and a sixty-fourth more, of 84 x 84 x 4 numbers in four bytes each
    with pytest.raises(
        UsageError, match=r"400000 experiences takes 45\.9 GB, 3 of them 137\.6 GB; this machine has 16\.0 GB"
    ):
        repertory.live(images, repertory.DQN(), 3, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match=r"45\.9 GB.* next: buffer_size=6\d{4} or less, or DQN of Stable-Baselines3"):
        repertory.DQN()(images.observation_space, images.action_space, 0)


def test_a_buffer_of_stable_baselines_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from repertory.learners.sb3 import SB3

    monkeypatch.setattr(replay_room, "total_memory", lambda: MACHINE)
    images = domain_of("Atari-like images")
    spaces_of = images.observation_space, images.action_space
    learner = SB3(sb3.DQN, "CnnPolicy", buffer_size=200)(*spaces_of, 0)
    buffer = learner.model.replay_buffer
    held = buffer.observations.nbytes + buffer.next_observations.nbytes + buffer.actions.nbytes
    assert SB3(sb3.DQN, "CnnPolicy", buffer_size=200).replay_bytes(*spaces_of) == held
    with pytest.raises(UsageError, match=r"1000000 experiences takes 56\.5 GB"):
        SB3(sb3.DQN, "CnnPolicy")(*spaces_of, 0)
    assert SB3(sb3.PPO).replay_bytes(*spaces_of) == 0


def test_a_policy_that_was_copied_still_rests() -> None:
    record = trained("SAC")
    observation = record.observation_space.sample()[None]
    policy: Any = record.policies[0]
    twin = copy.deepcopy(policy)
    assert np.array_equal(policy.actions_at_rest(observation)[0], twin.actions_at_rest(observation)[0])
