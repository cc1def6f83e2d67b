"""A life that goes on: more blocks, more tasks, and policies that begin as those of another run."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from every_learner import every_selector
from typer.testing import CliRunner

import repertory
from repertory.cli import app
from repertory.core.lifetime import Monitor, Pause
from repertory.core.sequence import authors_sequence, rounds_sequence, task_sequence
from repertory.errors import UsageError
from repertory.runs.folder import RunFolder
from tests.test_resume import assert_same_run

DQN = repertory.DQN(learning_starts=60, buffer_size=200, target_update_interval=100)
LENGTH = 250


def lengths(count: int) -> repertory.Domain:
    """CartPole with poles of so many lengths."""
    return repertory.tasks([lambda i=i: poles(i) for i in range(count)], names=[f"pole {i}" for i in range(count)])


def poles(place: int):
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    env.unwrapped.length = 0.5 + 0.25 * place
    env.unwrapped.polemass_length = env.unwrapped.masspole * env.unwrapped.length
    return env


def live(out: Path | None, blocks: int, domain: object = "cartpole27", **changes: object) -> repertory.Record:
    options = {"learner": DQN, "policies": 3, "block_steps": LENGTH, **changes}
    return repertory.live(domain, blocks=blocks, out=out, **options)


def same_policies(one: repertory.Record | repertory.Library, other: repertory.Record | repertory.Library) -> bool:
    def states(of: object) -> list[dict[str, np.ndarray]]:
        return [getattr(policy, "learner", policy).state_dict() for policy in of.policies]

    return all(
        set(a) == set(b) and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(states(one), states(other), strict=True)
    )


# ---- more blocks


@pytest.mark.parametrize("sequence", [task_sequence, rounds_sequence, lambda seed, *rest: authors_sequence(*rest)])
def test_a_longer_sequence_begins_with_the_shorter(sequence) -> None:
    whole = sequence(3, 2, 400, 27)
    for blocks in (1, 26, 27, 28, 399):
        assert np.array_equal(sequence(3, 2, blocks, 27), whole[:blocks])


@pytest.mark.parametrize("way", ["extend", "live", "command"])
def test_a_run_that_goes_on_ends_as_a_longer_one(way: str, tmp_path: Path) -> None:
    longer, shorter = tmp_path / "longer", tmp_path / "shorter"
    live(longer, 8)
    live(shorter, 3)
    assert RunFolder(shorter).is_done
    if way == "extend":
        repertory.extend(shorter, blocks=5)  # twice
        record = repertory.extend(shorter, blocks=8)
    elif way == "live":
        record = live(shorter, 8)
    else:
        finished = CliRunner().invoke(app, ["run", "--out", str(shorter), "--blocks", "8"])
        assert finished.exit_code == 0, finished.output
        assert "at block 4 of 8" in finished.output
        record = repertory.open(shorter)
    assert len(record.blocks) == 8
    assert same_policies(record, repertory.open(longer))
    assert RunFolder(shorter).is_done
    assert RunFolder(shorter).settings() == RunFolder(longer).settings()
    assert_same_run(shorter, longer)


def test_it_can_be_stopped_while_it_goes_on(tmp_path: Path) -> None:
    live(tmp_path / "longer", 6)
    live(tmp_path / "run", 2)

    class StopAt(Monitor):
        def block_ended(self, tally) -> None:
            if tally.block == 3:
                raise Pause

    assert len(repertory.extend(tmp_path / "run", blocks=6, monitors=[StopAt()]).blocks) == 4
    assert not RunFolder(tmp_path / "run").is_done
    assert CliRunner().invoke(app, ["run", "--out", str(tmp_path / "run")]).exit_code == 0  # resumes what is there
    assert_same_run(tmp_path / "run", tmp_path / "longer")


def test_what_cannot_go_on_stays_as_it_was(tmp_path: Path) -> None:
    live(tmp_path / "run", 3)
    before = (tmp_path / "run" / "run.json").read_text()
    with pytest.raises(UsageError, match=r"blocks is 2, and the run in .* has 3; valid: that or more"):
        repertory.extend(tmp_path / "run", blocks=2)
    with pytest.raises(UsageError, match=r"blocks: 3 there, 2 given"):
        live(tmp_path / "run", 2)
    with pytest.raises(UsageError, match=r"blocks: 3 there, 5 given; policies|policies: 3 there, 2 given"):
        live(tmp_path / "run", 5, policies=2)
    with pytest.raises(UsageError, match="holds no run"):
        repertory.extend(tmp_path / "nothing", blocks=2)
    for file in (tmp_path / "run").glob("checkpoint*"):
        file.unlink()
    with pytest.raises(UsageError, match=r"cannot go on \(there is no checkpoint with its policies"):
        repertory.extend(tmp_path / "run", blocks=5)
    assert (tmp_path / "run" / "run.json").read_text() == before
    assert RunFolder(tmp_path / "run").is_done


def test_an_agent_that_plans_by_the_length_of_its_life_does_not_go_on(tmp_path: Path) -> None:
    options = {"agent": "mbtl", "block_steps": 50, "policies": 2}
    repertory.live("cartpole27", DQN, blocks=4, out=tmp_path / "run", **options)
    with pytest.raises(UsageError, match="the agent mbtl plans for a life of 4 blocks"):
        repertory.extend(tmp_path / "run", blocks=6)


# ---- more tasks


@pytest.mark.parametrize("selector", sorted(every_selector().keys() - {"one-to-one", "fixed-partition"}))
def test_added_tasks_come_as_if_they_had_been_known(selector: str, tmp_path: Path) -> None:
    """A run of two tasks that gets a third ends as one that knew of three from the start and met it from then on."""
    options = {"selector": every_selector()[selector], "learner": DQN, "policies": 2, "block_steps": 60}
    live(tmp_path / "run", 4, lengths(2), **options)
    grown = repertory.extend(tmp_path / "run", blocks=12, domain=lengths(3), selector=options["selector"])
    assert list(grown.settings["task_names"]) == ["pole 0", "pole 1", "pole 2"]
    assert grown.settings["grown"] == [[4, 2]]
    assert set(grown.blocks["task"][:4]) <= {0, 1}
    assert 2 in set(grown.blocks["task"][4:])

    from repertory.runs.live import live_spec
    from repertory.runs.spec import run_spec

    knew = live_spec(run_spec(lengths(3), blocks=12, grown=((4, 2),), **options))
    assert knew.blocks.equals(grown.blocks)
    assert same_policies(knew, grown)


def test_policies_and_what_the_selector_knows_stay(tmp_path: Path) -> None:
    partition = repertory.FixedPartition()
    first = live(tmp_path / "run", 4, lengths(2), selector=partition)
    before = first.agent.selector.policy_of_task.copy()
    untouched = [number for number in range(3) if number not in before]
    grown = repertory.extend(tmp_path / "run", blocks=5, domain=lengths(4))
    assert np.array_equal(grown.agent.selector.policy_of_task[:2], before)
    assert len(grown.agent.selector.policy_of_task) == 4
    played = set(grown.blocks.filter(like="policy_").iloc[4].to_numpy().nonzero()[0])
    for number in set(untouched) - played:
        old, new = first.policies[number].state_dict(), grown.policies[number].state_dict()
        assert all(np.array_equal(old[name], new[name]) for name in old)
    again = repertory.open(tmp_path / "run", domain=lengths(4))
    assert again.blocks.equals(grown.blocks)
    more = repertory.extend(tmp_path / "run", blocks=7, domain=lengths(5))  # and again
    assert more.settings["grown"] == [[4, 2], [5, 4]]
    assert len(repertory.extend(tmp_path / "run", domain=lengths(5)).blocks) == 7  # nothing left to do


def test_only_new_tasks_can_be_added(tmp_path: Path) -> None:
    live(tmp_path / "run", 2, lengths(2), block_steps=60)
    with pytest.raises(UsageError, match=r"does not begin with the 2 tasks of the run in .* \(pole 0, pole 1\)"):
        repertory.extend(tmp_path / "run", blocks=4, domain="cartpole27")
    other = repertory.tasks(["CartPole-v1"] * 3, names=["pole 0", "pole 1", "pole 2"], check=False)
    with pytest.raises(UsageError, match=r"other tasks of the same names .*tasks"):
        repertory.extend(tmp_path / "run", blocks=4, domain=other)
    live(tmp_path / "counted", 2, lengths(2), block_steps=60, learner=DQN.replace(task_input=True))
    with pytest.raises(UsageError, match="its learner dqn was built for 2; next: begin another run with start_from"):
        repertory.extend(tmp_path / "counted", blocks=4, domain=lengths(3))
    live(tmp_path / "splitting", 2, lengths(2), block_steps=60, agent="splitting")
    with pytest.raises(UsageError, match="its agent splitting was built for 2"):
        repertory.extend(tmp_path / "splitting", blocks=4, domain=lengths(3))
    assert RunFolder(tmp_path / "splitting").is_done


def test_hidden_tasks_can_be_added_to_any_agent(tmp_path: Path) -> None:
    live(tmp_path / "run", 2, lengths(2), block_steps=60, hidden_tasks=True)
    grown = repertory.extend(tmp_path / "run", blocks=8, domain=lengths(3))
    assert 2 in set(grown.blocks["task"])


# ---- policies that begin as others


@pytest.mark.parametrize("source", ["record", "folder", "library", "file"])
def test_policies_begin_as_those_of_another_run(source: str, tmp_path: Path) -> None:
    first = live(tmp_path / "first", 3)
    first.save(tmp_path / "library.npz", for_training=True)
    loaded = repertory.load(tmp_path / "library.npz")
    assert same_policies(loaded, first)  # replay memories included
    given = {"record": first, "folder": tmp_path / "first", "library": loaded, "file": tmp_path / "library.npz"}[source]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        began = live(None, 1, policies=4, block_steps=1, start_from=given, seed=5)
        live(tmp_path / "second", 2, start_from=given, seed=5)
    (played,) = began.blocks.filter(like="policy_").iloc[0].to_numpy().nonzero()[0]
    for number in set(range(3)) - {played}:
        old, new = first.policies[number].state_dict(), began.policies[number].state_dict()
        assert all(np.array_equal(old[name], new[name]) for name in old)
    # It is told from a run that began untrained, goes on without the library, and is opened.
    with pytest.raises(UsageError, match="start_from: "):
        live(tmp_path / "second", 2, seed=5)
    live(tmp_path / "longer", 4, start_from=given, seed=5)
    repertory.extend(tmp_path / "second", blocks=4)
    assert_same_run(tmp_path / "second", tmp_path / "longer")
    assert len(repertory.open(tmp_path / "second").blocks) == 4


def test_policies_without_memories_say_so(tmp_path: Path) -> None:
    first = live(None, 3)
    first.save(tmp_path / "library.npz")
    library = repertory.load(tmp_path / "library.npz")
    for given in (library, tmp_path / "library.npz"):
        with pytest.warns(UserWarning, match="saved without their replay memories and optimisers"):
            began = live(None, 1, block_steps=1, start_from=given)
        for old, new in zip(first.policies, began.policies, strict=True):
            assert np.array_equal(old.policy["weights"], new.policy["weights"])
            assert np.array_equal(old.policy["weights"], new.policy["target_weights"])
            assert new.memory_plan.capacity == DQN.buffer_size
    run = ["run", "--domain", "cartpole27", "--learner", "dqn", "--policies", "3", "--blocks", "1"]
    run += ["--block-steps", "20", "--start-from", str(tmp_path / "library.npz")]
    finished = CliRunner().invoke(app, run)
    assert finished.exit_code == 0, finished.output
    assert "saved without their replay memories" in " ".join(finished.output.split())


def test_what_no_run_can_start_from(tmp_path: Path) -> None:
    first = live(tmp_path / "first", 1, block_steps=20)
    with pytest.raises(UsageError, match="policies is 2, and start_from has 3; valid: at least as many"):
        live(None, 1, policies=2, start_from=first)
    with pytest.raises(UsageError, match=r"policy 0 of .* does not fit a PPOLearner"):
        live(None, 1, learner=repertory.PPO(), start_from=first)
    with pytest.raises(UsageError, match="start_from is 3; valid: a library"):
        live(None, 1, start_from=3)
    with pytest.raises(UsageError, match="holds no run"):
        live(None, 1, start_from=tmp_path)
    with pytest.raises(UsageError, match="is not a file"):
        live(None, 1, start_from=tmp_path / "nothing.npz")


def test_a_run_is_saved_as_a_library(tmp_path: Path) -> None:
    first = live(tmp_path / "run", 3)
    for options, can_train in (([], False), (["--for-training"], True)):
        done = CliRunner().invoke(app, ["save", str(tmp_path / "run"), str(tmp_path / "library.npz"), *options])
        assert done.exit_code == 0, done.output
        library = repertory.load(tmp_path / "library.npz")
        assert library.can_train is can_train
        assert ("memories and optimisers were not saved" in done.output) is not can_train
        assert np.array_equal(library.assignment, first.library().assignment, equal_nan=True)
        weights = [policy.learner.policy["weights"] for policy in library.policies]
        assert all(np.array_equal(a, b.policy["weights"]) for a, b in zip(weights, first.policies, strict=True))
