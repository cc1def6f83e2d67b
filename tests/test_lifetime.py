"""A lifetime: its blocks, its randomness, its record."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.core.seeds import PURPOSES, generator, policy_seed, seed_sequence
from repertory.core.sequence import authors_sequence, task_sequence
from repertory.core.tally import BlockTally

QUICK = repertory.DQN(learning_starts=500, buffer_size=2000)


def quick(**changes: object) -> repertory.Record:
    options = {"policies": 4, "blocks": 6, "block_steps": 700, **changes}
    return repertory.live("cartpole27", QUICK, **options)


def test_every_slice_across_runs_holds_every_task_once() -> None:
    sequences = np.stack([task_sequence(seed=3, run=n, blocks=200, n_tasks=27) for n in range(27)])
    assert (np.sort(sequences, axis=0) == np.arange(27)[:, None]).all()


def test_the_zeroth_sequence_is_uniform_and_its_seed_decides_it() -> None:
    sequence = task_sequence(seed=0, run=0, blocks=27_000, n_tasks=27)
    counts = np.bincount(sequence, minlength=27)
    assert ((counts - 1000) ** 2 / 1000).sum() < 62  # 26 degrees of freedom, p = 1e-4
    assert not np.array_equal(sequence, task_sequence(1, 0, 27_000, 27))


def test_a_longer_lifetime_starts_like_a_shorter_one() -> None:
    assert np.array_equal(task_sequence(0, 2, 50, 27), task_sequence(0, 2, 675, 27)[:50])


def test_purposes_runs_and_seeds_have_randomness_of_their_own() -> None:
    draws = [
        tuple(generator(seed, purpose, run).integers(2**63, size=4))
        for seed in (0, 1)
        for run in (0, 1)
        for purpose in PURPOSES
    ]
    assert len(set(draws)) == len(draws)
    seeds = [policy_seed(0, 0, number) for number in range(300)]
    assert len(set(seeds)) == 300
    assert seeds == list(seed_sequence(0, "learn", 0).generate_state(300, np.uint32))  # as when drawn all at once


def test_columns_and_bookkeeping() -> None:
    blocks = quick().blocks
    policies = [f"policy_{i}" for i in range(4)]
    assert list(blocks.columns) == [
        "block",
        "task",
        "steps",
        "episodes",
        "total_reward",
        "mean_return",
        "last_return",
        "bytes",
        *policies,
    ]
    assert (blocks[policies].sum(axis=1) == blocks["episodes"]).all()
    assert np.allclose(blocks["mean_return"] * blocks["episodes"], blocks["total_reward"])
    assert (blocks["task"] == task_sequence(0, 0, 6, 27)).all()


def test_a_block_ends_with_the_episode_that_used_up_its_steps() -> None:
    blocks = quick().blocks
    assert (blocks["steps"] >= 700).all()
    assert (blocks["steps"] < 700 + 200).all()
    assert (blocks["steps"] > 700).any()  # some episode did cross the end


def test_one_seed_repeats_and_two_differ() -> None:
    first, again, other, run_1 = quick(), quick(), quick(seed=1), quick(run=1)
    pd.testing.assert_frame_equal(first.blocks, again.blocks)
    for a, b in zip(first.policies, again.policies, strict=True):
        assert np.array_equal(a.policy["weights"], b.policy["weights"])
    assert not first.blocks.equals(other.blocks)
    assert ((run_1.blocks["task"] - first.blocks["task"]) % 27 == 1).all()
    assert not np.array_equal(first.blocks["steps"], run_1.blocks["steps"])


def test_policies_start_apart_and_learn_only_from_their_own_episodes() -> None:
    record = quick(selector=repertory.FixedPartition())
    initial = [QUICK(*_spaces(), seed).policy["weights"] for seed in [policy_seed(0, 0, number) for number in range(4)]]
    steps = [policy.policy["life"] for policy in record.policies]
    assert sum(steps) == record.blocks["steps"].sum()
    for policy, start, lived in zip(record.policies, initial, steps, strict=True):
        assert np.array_equal(policy.policy["weights"], start) == (lived < 500)
    assert len({start.tobytes() for start in initial}) == 4


def _spaces() -> tuple:
    domain = repertory.domain("cartpole27")
    return domain.observation_space, domain.action_space


def test_any_callable_is_a_learner() -> None:
    class Coin:
        def __init__(self, observation_space, action_space, seed: int) -> None:
            self.actions = int(action_space.n)
            self.rng = np.random.default_rng(seed)
            self.observed = 0

        def begin_episode(self) -> None: ...

        def act(self, observation: np.ndarray) -> int:
            return int(self.rng.integers(self.actions))

        def observe(self, *step: object) -> None:
            self.observed += 1

    record = repertory.live("cartpole27", Coin, policies=2, blocks=3, block_steps=300)
    assert sum(policy.observed for policy in record.policies) == record.blocks["steps"].sum()
    assert record.settings["learner"]["name"].endswith("Coin")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policies": 0}, "policies is 0; valid: a whole number at least 1"),
        ({"blocks": 0}, "blocks is 0"),
        ({"block_steps": -5}, "block_steps is -5"),
        ({"run": -1}, "run is -1"),
        ({"selector": "one-to-one"}, "one-to-one selection with 4 policies and 27 tasks"),
        ({"selector": "epsilon"}, "unknown selector 'epsilon'; did you mean 'epsilon-greedy'"),
        ({"profile": "txt"}, "unknown profile 'txt'; did you mean 'text'"),
    ],
)
def test_bad_input_is_one_clear_line(changes: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(repertory.UsageError, match=message):
        quick(out=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_out_keeps_the_record(tmp_path: Path) -> None:
    record = quick(out=tmp_path / "run")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "run" / "blocks.parquet"), record.blocks)
    assert (tmp_path / "run" / "done").exists()


def test_a_finished_run_is_not_lived_again(tmp_path: Path) -> None:
    record = quick(out=tmp_path / "run")
    before = (tmp_path / "run" / "blocks.parquet").stat().st_mtime_ns
    again = quick(out=tmp_path / "run")
    pd.testing.assert_frame_equal(again.blocks, record.blocks, check_exact=True)
    opened = repertory.open(tmp_path / "run")
    for one, other in zip(record.policies, opened.policies, strict=True):
        assert np.array_equal(one.policy["weights"], other.policy["weights"])
    assert (tmp_path / "run" / "blocks.parquet").stat().st_mtime_ns == before


def test_code_that_cannot_be_told_apart_needs_a_folder_of_its_own(tmp_path: Path) -> None:
    hidden = QUICK  # what a function takes from around it could be anything

    def build(observation_space, action_space, seed: int):
        return hidden(observation_space, action_space, seed)

    options = {"policies": 2, "blocks": 2, "block_steps": 200, "out": tmp_path / "run"}
    repertory.live("cartpole27", build, **options)
    with pytest.raises(repertory.UsageError, match="a run of code that cannot be compared with this"):
        repertory.live("cartpole27", build, **options)


def test_what_cannot_be_built_leaves_no_folder(tmp_path: Path) -> None:
    pendulum = repertory.Domain("pendulum", ("one",), lambda task: gymnasium.make("Pendulum-v1"))
    with pytest.raises(repertory.UsageError, match="DQN takes Discrete actions from 0"):
        repertory.live(pendulum, QUICK, 1, blocks=1, block_steps=10, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tasks_with_other_spaces_are_refused() -> None:
    names = ("CartPole-v1", "Acrobot-v1")
    mixed = repertory.Domain("mixed", names, lambda task: gymnasium.make(names[task]))
    with pytest.raises(repertory.UsageError, match="task 1 of mixed has other spaces than task 0"):
        repertory.live(mixed, QUICK, 1, blocks=30, block_steps=10)


def test_another_runs_folder_is_left_alone(tmp_path: Path) -> None:
    quick(out=tmp_path / "run")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    with pytest.raises(repertory.UsageError, match=r"other settings \(policies: 4 there, 5 given\)"):
        quick(out=tmp_path / "run", policies=5)
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}


def test_the_last_episodes_of_a_block() -> None:
    """`last_return` is the mean of the last ten, or of all if there are fewer; it outlives a checkpoint."""
    tally = BlockTally(0, 0, 1)
    for total in range(5):
        tally.add(0, float(total), 1)
    assert tally.last_return == 2.0
    tally = BlockTally.from_state(tally.state(), 1)
    for total in range(5, 25):
        tally.add(0, float(total), 1)
    assert tally.last_return == np.mean(range(15, 25))


def test_one_task_for_a_whole_life() -> None:
    record = repertory.live("cartpole27", "random", 1, "fixed-partition", blocks=4, block_steps=50, task=7)
    assert set(record.blocks["task"]) == {7}
    for bad in (27, -1, 1.5):
        with pytest.raises(repertory.UsageError, match="valid: 0 to 26"):
            repertory.live("cartpole27", "random", 1, blocks=1, task=bad)


def test_scores_are_the_domains() -> None:
    """Cartpole is scored by return, POcman by reward per step."""
    record = repertory.live("pocman18", "random", 2, blocks=3, block_steps=1000)
    blocks = record.blocks
    assert record.lifetime_score == pytest.approx(blocks["total_reward"].sum() / blocks["steps"].sum())
    record = repertory.live("cartpole27", "random", 2, blocks=12, block_steps=100)
    assert record.lifetime_score == pytest.approx(record.blocks["mean_return"].mean())
    assert record.final_score == pytest.approx(record.blocks["mean_return"].iloc[2:].mean())


def test_a_life_can_have_some_of_the_tasks() -> None:
    short = {"blocks": 40, "block_steps": 1}
    record = repertory.live("cartpole27", "random", 1, task=[3, 20, 5], **short)
    assert set(record.blocks["task"]) == {3, 5, 20}
    places = [[3, 20, 5].index(task) for task in record.blocks["task"]]
    assert places == task_sequence(0, 0, 40, 3).tolist()
    shifted = repertory.live("cartpole27", "random", 1, task=(3, 20, 5), run=1, **short)
    assert [[3, 20, 5][(place + 1) % 3] for place in places] == shifted.blocks["task"].tolist()
    assert set(repertory.live("cartpole27", "random", 1, task=range(4, 6), **short).blocks["task"]) == {4, 5}


@pytest.mark.parametrize("task", [27, -1, [], [0, 27], [1, 1], ["a"], 1.5, "0-8"])
def test_tasks_that_there_are_not_are_refused(task: object) -> None:
    with pytest.raises(repertory.errors.UsageError, match=r"task is .*valid"):
        repertory.live("cartpole27", "random", 1, task=task, blocks=1)


def test_the_authors_own_sequence_is_their_draws_moved_on_by_the_run() -> None:
    """`np.random.seed(0)` and a `randint(0, 27)` for each block, as their code has it."""
    state = np.random.RandomState(0)
    zeroth = [state.randint(0, 27) for _ in range(675)]
    assert authors_sequence(0, 675, 27).tolist() == zeroth
    assert zeroth[:8] == [12, 15, 21, 0, 3, 3, 7, 9]
    assert authors_sequence(5, 675, 27).tolist() == [(task + 5) % 27 for task in zeroth]
    record = repertory.live("cartpole27", "random", 1, blocks=6, block_steps=10, sequence="authors", run=1, seed=9)
    assert record.blocks["task"].tolist() == [(task + 1) % 27 for task in zeroth[:6]]
    with pytest.raises(repertory.UsageError, match="did you mean 'authors'"):
        repertory.live("cartpole27", "random", 1, blocks=1, block_steps=10, sequence="author")
