"""Tasks that are held out: split off, never trained on, evaluated greedily during the life, in record and page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import repertory
from repertory.core.at_rest import AtRest, play_at_rest
from repertory.core.episode import EpisodePlayer
from repertory.core.held_out import EPISODES
from repertory.core.seeds import EPISODE_SEEDS, generator
from repertory.core.tally import held_out_of
from repertory.errors import UsageError
from repertory.report.page import write_report
from repertory.sweeps.results import read_results
from repertory.testing import check_domain


def test_a_split_has_the_tasks_of_the_whole() -> None:
    whole = repertory.domain("cartpole27")
    domain = whole.split(held_out=[26, 3])
    assert domain.n_tasks == 25
    assert domain.held_out.task_names == (whole.task_names[26], whole.task_names[3])
    assert domain.trajectory(3, 30) == whole.trajectory(4, 30)
    assert domain.held_out.trajectory(0, 30) == whole.trajectory(26, 30)
    np.testing.assert_array_equal(domain.contexts[3], whole.contexts[4])
    check_domain(whole.split(train=[0, 5], held_out=[2]))  # compiled as through Gymnasium
    again = repertory.domain("cartpole27", held_out="26,3")
    assert again.settings["held_out"] == [3, 26]


def test_held_out_tasks_are_played_greedily_and_change_nothing(tmp_path: Path) -> None:
    whole = repertory.vary("CartPole-v1", gravity=[2.0, 9.8, 15.0], max_episode_steps=40)
    life = {"policies": 2, "blocks": 30, "block_steps": 60, "selector": "fixed-partition"}
    learner = repertory.PPO(net_arch=(6, 6), n_steps=32, batch_size=16)
    domain = whole.split(train=[0, 1], held_out=["gravity=15"])
    record = repertory.live(domain, learner, **life, out=tmp_path / "run")
    plain = repertory.live(repertory.vary("CartPole-v1", gravity=[2.0, 9.8], max_episode_steps=40), learner, **life)
    assert record.blocks["total_reward"].tolist() == plain.blocks["total_reward"].tolist()
    assert "held_out_0" not in plain.blocks
    scores = record.held_out()
    assert list(scores.columns) == ["gravity=15"]
    assert len(scores) == 20
    assert scores.index[-1] == 29
    # The same by hand, with the policies as they are at the end.
    seeds = generator(0, "evaluate", 0).integers(EPISODE_SEEDS, size=2 * EPISODES).tolist()

    def mean(policy, part):
        rest = AtRest(policy, None)
        return np.mean([play_at_rest(EpisodePlayer(whole), 2, rest, seed).total_reward for seed in part])

    best = int(np.argmax([mean(policy, seeds[:EPISODES]) for policy in record.policies]))
    assert record.blocks["held_out_policy_0"].iloc[-1] == best
    assert scores.iloc[-1, 0] == mean(record.policies[best], seeds[EPISODES:])
    # From the record alone, and on the page.
    opened = repertory.open(tmp_path / "run")
    assert opened.settings["domain"]["held_out_names"] == ["gravity=15"]
    assert held_out_of(opened.blocks).equals(held_out_of(record.blocks))
    page = write_report(read_results(tmp_path / "run"), tmp_path / "page").read_text()
    assert "Tasks held out" in page
    assert "gravity=15" in page


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({}, "neither train nor held_out is given"),
        ({"held_out": [27]}, "task 27 of cartpole27 does not exist"),
        ({"train": [0, 1], "held_out": [1]}, "and none twice"),
        ({"held_out": list(range(27))}, "one task or more in each"),
        ({"held_out": ["moon"]}, "task 'moon' of cartpole27 does not exist"),
    ],
)
def test_refused(split, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        repertory.domain("cartpole27").split(**split)


def test_policies_that_must_know_their_tasks_are_refused_before_any_run(tmp_path: Path) -> None:
    domain = repertory.domain("cartpole27").split(held_out=[3])
    for learner, message in (
        (repertory.DQN(heads=True), "cannot play a task that is held out"),
        (lambda o, a, s: Blind(), "has no action_probabilities"),
    ):
        with pytest.raises(UsageError, match=message):
            repertory.live(domain, learner, 1, blocks=2, block_steps=20, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()


class Blind:
    def begin_episode(self) -> None: ...

    def act(self, observation):
        return 0

    def observe(self, *step) -> None: ...
