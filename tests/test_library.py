"""Libraries that were trained, saved and loaded; and runs of one's own code that go on."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import repertory
from repertory.core.lifetime import Monitor
from repertory.errors import UsageError
from repertory.fingerprint import code_fingerprint
from repertory.runs.component_record import described
from tests.test_tasks import Faulty, Stray

LEARNERS = {
    "dqn": ("cartpole27", repertory.DQN(learning_starts=50, buffer_size=300), (4,)),
    "ppo": ("cartpole27", repertory.PPO(), (4,)),
    "drqn": ("pocman18", repertory.DRQN(learning_starts=50, buffer_size=300), (15, 11)),
    "prpo": ("pocman18", repertory.PRPO(), (15, 11)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_loaded_library_acts_as_the_one_saved(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    domain, learner, shape = LEARNERS[name]
    options = {"max_steps": 60} if domain == "pocman18" else {}
    record = repertory.live(repertory.domain(domain, **options), learner, 3, blocks=6, block_steps=200)
    record.save(tmp_path / "library.npz")
    library = repertory.load(tmp_path / "library.npz")
    assert len(library.policies) == 3
    for own, loaded in zip(record.library().policies, library.policies, strict=True):
        for _ in range(20):
            observation = rng.integers(2, size=shape).astype(np.float32)
            assert np.array_equal(own.action_probabilities(observation), loaded.action_probabilities(observation))
            assert loaded.predict(observation) == own.predict(observation)
    table = library.table()
    met = set(record.blocks["task"])
    assert set(np.flatnonzero(table["policy"] >= 0)) == met
    task = next(iter(met))
    assert library.policy_for(task).number == table["policy"][task]
    assert library.policy_for(library.task_names[task]).number == table["policy"][task]
    unmet = next(iter(set(range(len(table))) - met))
    with pytest.raises(UsageError, match="never came"):
        library.policy_for(unmet)
    for bad in (-1, 99, "nothing"):
        with pytest.raises(UsageError):
            library.policy_for(bad)
    library.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").stat().st_size < 3e6  # weights, not memories


def test_a_library_of_ones_own_learners(tmp_path: Path) -> None:
    domain = repertory.tasks([Faulty], names=["corridor"], check=False)
    record = repertory.live(domain, make_stray, 2, blocks=1, block_steps=60)
    record.save(tmp_path / "mine.npz")
    with pytest.raises(UsageError, match=r"the domain 'tasks' is not in the catalogue; .* must be given: domain="):
        repertory.load(tmp_path / "mine.npz")
    library = repertory.load(tmp_path / "mine.npz", domain=domain, learner=make_stray)
    assert [p.learner.count for p in library.policies] == [p.count for p in record.policies]


def test_strange_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "pickle.npz", a=np.array([object()]))
    repertory.live("cartpole27", "random", 1, blocks=1, block_steps=20, out=tmp_path / "run")
    for name in ("text.npz", "other.npz", "pickle.npz", "missing.npz", "run", "run/checkpoint.npz"):
        with pytest.raises(UsageError, match=r"record\.save"):
            repertory.load(tmp_path / name)
    record = repertory.live("cartpole27", "random", 1, blocks=1, block_steps=20)
    with pytest.raises(UsageError, match="cannot write"):
        record.save(tmp_path / "no such folder" / "library.npz")


# ---- runs of one's own code


def make_stray(observation_space, action_space, seed):
    return Stray()


def make_other(observation_space, action_space, seed):
    return Stray()  # another function


def live(out: Path, learner: object, blocks: int = 4) -> repertory.Record:
    domain = repertory.tasks([Faulty], names=["corridor"], check=False)
    return repertory.live(domain, learner, 2, blocks=blocks, block_steps=60, out=out)


CONSTANT = 1


def reads_constant(observation_space, action_space, seed):
    return CONSTANT


class Stop(Exception):
    """As if the process had died."""


def test_a_run_of_ones_own_learner_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    whole = live(tmp_path / "whole", make_stray)
    calls = []

    class StopAfter(Monitor):
        def block_ended(self, tally) -> None:
            calls.append(tally.block)
            if tally.block == 2:
                raise Stop

    domain = repertory.tasks([Faulty], names=["corridor"], check=False)
    options = {"blocks": 4, "block_steps": 60, "out": tmp_path / "broken"}
    with pytest.raises(Stop):
        repertory.live(domain, make_stray, 2, **options, monitors=[StopAfter()])
    with pytest.raises(UsageError, match=r"learner\.name: 'make_stray' there, 'make_other' given"):
        repertory.live(domain, make_other, 2, **options)
    calls.clear()
    resumed = repertory.live(domain, make_stray, 2, **options)
    assert resumed.blocks.equals(whole.blocks)


def test_what_tells_code_apart() -> None:
    rate = 0.1

    def captured(o, a, s):
        return rate

    rates = [code_fingerprint(captured)]
    rate = 0.2
    rates.append(code_fingerprint(captured))
    assert None not in rates
    assert rates[0] != rates[1]
    assert code_fingerprint(make_stray) == code_fingerprint(make_stray) != code_fingerprint(make_other)
    assert code_fingerprint(functools.partial(make_stray, 1)) != code_fingerprint(functools.partial(make_stray, 2))
    assert code_fingerprint(eval("lambda o, a, s: 5")) is None  # no source to read
    assert code_fingerprint(reads_constant) is not None
    before = code_fingerprint(reads_constant)
    globals()["CONSTANT"] = 2
    assert code_fingerprint(reads_constant) != before
    anything = object()
    assert code_fingerprint(lambda o, a, s: anything) is None
    assert described(repertory.DQN())["name"] == "dqn"
