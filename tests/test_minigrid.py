"""Families of MiniGrid tasks, where that package is installed; what is said where it is not."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import repertory
from repertory.domains.minigrid import FAMILIES, KINDS
from repertory.testing import check_domain


def test_without_the_package_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(repertory.UsageError, match=r"next: pip install 'repertory\[minigrid\]'"):
        repertory.domain("minigrid-doorkey")


@pytest.mark.parametrize("name", FAMILIES)
def test_families_conform_and_their_tasks_differ(name: str) -> None:
    pytest.importorskip("minigrid")
    domain = repertory.domain(name, max_steps=40)
    check_domain(domain, episodes=1)
    assert domain.distinct_tasks(500) == domain.n_tasks


def test_features_are_the_fields_ahead() -> None:
    pytest.importorskip("minigrid")
    env = repertory.domain("minigrid-doorkey").env(0)
    features, _info = env.reset(seed=3)
    image = env.unwrapped.gen_obs()["image"]
    fields = np.split(features.reshape(7, 7, sum(KINDS)), np.cumsum(KINDS)[:-1], axis=-1)
    for place, numbers in enumerate(fields):
        assert (numbers.sum(axis=-1) == 1).all()
        np.testing.assert_array_equal(numbers.argmax(axis=-1), image[..., place])


def test_a_life_of_compiled_learners() -> None:
    pytest.importorskip("minigrid")
    learner = repertory.DQN(learning_starts=100, buffer_size=1000)
    record = repertory.live("minigrid-empty", learner, 2, blocks=2, block_steps=100)
    assert record.blocks["steps"].min() >= 100


def test_single_environments_by_their_module(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minigrid")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    wrap = {"wrappers": ["minigrid.wrappers:ImgObsWrapper", "FlattenObservation"]}
    domain = repertory.vary("minigrid:MiniGrid-DoorKey-5x5-v0", max_steps=[20, 30], **wrap)
    assert domain.observation_space.shape == (147,)
    repertory.live(domain, repertory.Random(), 1, blocks=1, block_steps=30, out=tmp_path / "run")
    assert repertory.open(tmp_path / "run").settings["domain"]["env"] == "minigrid:MiniGrid-DoorKey-5x5-v0"
