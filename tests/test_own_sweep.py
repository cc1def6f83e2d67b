"""Anybody's experiment: a TOML file, run from Python or the command, read back without the file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import repertory
from repertory.cli import main
from repertory.errors import RunStopped, UsageError
from repertory.runs.status import Status
from repertory.sweeps import sweep as sweep_module
from repertory.sweeps.job import Job, run_job
from repertory.sweeps.results import read_results

MINE = """
title = "Mine"
domain = "cartpole27"
runs = 2
blocks = 3
block_steps = 60

[defaults]
learner = "ppo"
settings.learner.net_arch = [6, 6]

[conditions]
One = { policies = 1, selector = "fixed-partition" }
Two = { policies = 2, hidden_tasks = true }
"""


class InTurn:
    """The simplest engine: one job after another, here."""

    workers = 1

    def __init__(self, workers: int | None = None) -> None:
        self.ran: list[str] = []

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Status] | None]:
        for job in jobs:
            self.ran.append(job.condition)
            yield job, run_job(job)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    return file


def test_ones_own_sweep_from_python(mine: Path, tmp_path: Path) -> None:
    engine = InTurn()
    results = repertory.sweep(mine, out=tmp_path / "out", engine=engine)
    assert engine.ran == ["One", "Two", "One", "Two"]
    assert {name: len(runs) for name, runs in results.by_condition.items()} == {"One": 2, "Two": 2}
    run = results.by_condition["Two"][0]
    assert run.settings["hidden_tasks"] is True
    assert run.settings["learner"]["net_arch"] == [6, 6]
    mine.unlink()  # what is in the folder says all
    again = read_results(tmp_path / "out")
    assert again.experiment is not None
    assert again.experiment.title == "Mine"
    assert repertory.open(run.path).lifetime_score == run.score("lifetime")


def test_the_command_and_an_engine_of_another_package(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Point:
        name = "in-turn"

        @staticmethod
        def load() -> Any:
            return InTurn

    monkeypatch.setattr(sweep_module, "_other_engines", lambda: {"in-turn": Point})
    command = ["repertory", "reproduce", str(mine), "--runs", "0", "--engine", "in-turn", "--out", str(tmp_path / "o")]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert len(read_results(tmp_path / "o").runs) == 2


def test_runs_that_do_not_finish_are_told(mine: Path, tmp_path: Path) -> None:
    mine.write_text(
        MINE + 'Three = { policies = 2, learner = "dqn", settings.learner = { learning_rate = 1e30, '
        "optimizer_eps = 1e10, learning_starts = 10 } }\n"
    )
    with pytest.raises(RunStopped, match=r"1 of 3 runs did not finish; .*Three.* diverged"):
        repertory.sweep(mine, runs="0", out=tmp_path / "out", engine=InTurn())
    assert len(read_results(tmp_path / "out").by_condition) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("domain = 3", "'domain' in mine is 3; valid: cartpole27"),
        ('domain = "cartpole27"', "mine has no conditions"),
        ('domain = "cartpole27"\nblocks = 0\n[conditions]\nA = {learner="dqn", policies=1}', "'blocks' in mine is 0"),
        ('domain = "cartpole27"\n[conditions]\nA = 3', "condition 'A' in mine is 3"),
        ('domain = "cartpole27"\n[conditions]\nA = {policies=1}', "has no 'learner'; next"),
        ('domain = "cartpole27"\n[conditions]\nA = {learner="dqn", policies=1, x=1}', "unknown key of condition 'A'"),
        ('domain = "cartpole27"\n[conditions]\n"../A" = {learner="dqn", policies=1}', "cannot be the name of a folder"),
        ('domain = "cartpole27"\n[conditions]\nA = {learner="dnq", policies=1}', "did you mean 'dqn'"),
        ('domain = "cartpole27"\n[conditions]\nA = {learner="dqn", policies=0}', "policies is 0"),
        ('domain = "cartpole27"\nnope = 1', "unknown key in mine 'nope'"),
        ('domain = "cartpole27"\ncomparisons = 3\n[conditions]\nA = {learner="dqn", policies=1}', "published values"),
        (
            'domain = "cartpole27"\n[conditions]\nA = {learner="dqn", policies=1, lifetime=5}',
            "'lifetime' of condition 'A'",
        ),
        (
            'domain = "cartpole27"\nfinal = "end"\n[conditions]\nA = {learner="dqn", policies=1}',
            "unknown final score in",
        ),
        ("domain = ", "mine.toml is not valid TOML"),
    ],
)
def test_a_file_with_a_slip_is_refused_before_anything_is_written(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UsageError, match=message) as refusal:
        repertory.sweep(tmp_path / "mine.toml", out=tmp_path / "out", engine=InTurn())
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="cannot read"):
        repertory.sweep(tmp_path / "none.toml")
