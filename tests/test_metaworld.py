"""Continual World's ten tasks, where Meta-World is installed; what is said where it is not."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import repertory
from repertory.domains.metaworld import TASKS
from repertory.testing import check_domain


@pytest.fixture
def ten() -> repertory.Domain:
    pytest.importorskip("metaworld")
    return repertory.domain("continual-world")


def test_without_the_package_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metaworld", None)
    monkeypatch.setitem(sys.modules, "metaworld.env_dict", None)
    with pytest.raises(repertory.UsageError, match=r"next: pip install 'repertory\[metaworld\]'"):
        repertory.domain("continual-world")


def test_the_ten_tasks_conform_and_differ(ten: repertory.Domain) -> None:
    """Episodes of one seed are the same to the bit, in another environment and after other episodes."""
    assert ten.task_names == TASKS
    check_domain(ten, episodes=3)
    assert ten.distinct_tasks(400) == len(TASKS) == 10


def test_episodes_differ_by_their_seed_and_take_200_steps(ten: repertory.Domain) -> None:
    for task in range(ten.n_tasks):
        env = ten.env(task)
        starts = {env.reset(seed=seed)[0].tobytes() for seed in range(4)}
        assert len(starts) == 4, TASKS[task]
    steps, is_over = 0, False
    while not is_over:
        _observation, reward, terminated, is_over, _info = env.step(env.action_space.sample())
        steps += 1
        assert not terminated
        assert 0 <= reward <= 10
    assert steps == 200


def test_the_goal_is_seen_throughout(ten: repertory.Domain) -> None:
    """Meta-World hides it from environments that no task of its lists was set in."""
    for task in range(ten.n_tasks):
        env: Any = ten.env(task)
        seen = [env.reset(seed=5)[0][-3:], env.step(env.action_space.sample())[0][-3:]]
        for goal in seen:
            np.testing.assert_allclose(goal, env.unwrapped._get_pos_goal(), atol=1e-6)


def test_a_life_of_sac_on_three_of_them(ten: repertory.Domain) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from repertory.learners.sb3 import SB3

    learner = SB3(sb3.SAC, learning_starts=50, buffer_size=2000, batch_size=16)
    record = repertory.live(ten, learner, 2, blocks=2, block_steps=100, task=[2, 5, 8])
    assert record.blocks["steps"].tolist() == [200, 200]
    assert np.isfinite(record.blocks["mean_return"]).all()
