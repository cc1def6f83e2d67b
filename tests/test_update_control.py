"""What smaller libraries lose, told apart: made-up lives of which the answer is known."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from repertory.analysis.update_control import capacity_parts, controls_for, parts_warning
from repertory.cli.capacity import empirical_in_console
from repertory.core.tally import BlockTally, block_table
from repertory.runs.spec import run_spec
from repertory.sweeps.results import Results, Run, read_results
from tests.records import write_run

BLOCKS = 270
RESULTS = Path(__file__).parent.parent / "results"


def life(policies: int, score, task: int | None = None, diverges: bool = False) -> Run:
    """A run whose blocks have the score of (task, block)."""
    spec = run_spec("cartpole27", "dqn", policies, "fixed-partition", blocks=BLOCKS, block_steps=10, task=task)
    rows = []
    for block, its_task in enumerate(spec.lifetime().sequence):
        tally = BlockTally(block, int(its_task), policies)
        tally.add(0, score(int(its_task), block), 10)
        tally.health = {"q_largest": 201.0 if diverges else 1.0, "q_bound": 100.0, "weight_norm": 1.0}
        rows.append(tally.row())
    condition = f"{policies}P" if task is None else "Alone"
    return Run(condition, Path("somewhere"), spec.to_json(), block_table(rows, policies), is_done=True)


def results(*runs: Run) -> Results:
    return Results(Path("somewhere"), runs, None)


def test_a_learner_that_ages_is_told_from_one_that_is_disturbed() -> None:
    # A policy plays 200 for its first 90 blocks and 20 from then on, whoever else it plays with.
    ages = lambda task, block: 200.0 if block < 90 else 20.0  # noqa: E731
    libraries = [life(27, lambda task, block: 200.0), life(3, lambda task, block: 200.0), life(1, ages, diverges=True)]
    alone = [life(1, ages, task) for task in range(27)]
    one, three, every = capacity_parts(results(*libraries), results(*alone), "dqn")
    assert (one.policies, three.policies, every.policies) == (1, 3, 27)
    assert one.ageing == pytest.approx(180 / 200)
    assert one.interference == pytest.approx(0.0, abs=0.03)  # tasks come when they come
    assert one.sharing == pytest.approx(one.library / 200 - 1)
    assert (three.ageing, three.interference, three.sharing) == (0, 0, 0)  # 90 blocks each
    assert one.is_ageing
    assert not three.is_ageing
    assert (one.diverged, three.diverged, one.tasks) == (1, 0, 27)
    assert "alone on one task falls by 90%" in parts_warning(one)
    assert parts_warning(three) == ""


def test_tasks_that_disturb_each_other_are_interference() -> None:
    libraries = [life(27, lambda task, block: 180.0), life(1, lambda task, block: 60.0)]
    one, every = capacity_parts(results(*libraries), results(life(1, lambda task, block: 200.0, 3)), "dqn")
    assert (one.ageing, one.interference, one.sharing) == pytest.approx((0.0, 140 / 180, -120 / 180))
    assert every.sharing == 0
    assert not one.is_ageing
    assert parts_warning(one) == ""


def test_sharing_is_what_a_library_learns_faster_than_a_policy_per_task() -> None:
    libraries = [life(27, lambda task, block: 100.0), life(1, lambda task, block: 150.0)]
    one, _every = capacity_parts(results(*libraries), results(life(1, lambda task, block: 150.0, 3)), "dqn")
    assert (one.ageing, one.interference, one.sharing) == pytest.approx((0.0, 0.0, 0.5))


def test_only_tasks_with_a_control_are_compared() -> None:
    by_task = lambda task, block: float(task)  # noqa: E731
    libraries = [life(27, by_task), life(1, by_task)]
    one, _every = capacity_parts(results(*libraries), results(life(1, by_task, 20), life(1, by_task, 10)), "dqn")
    assert (one.library, one.control, one.interference) == pytest.approx((15.0, 15.0, 0.0))


def test_other_learners_rules_and_lengths_are_no_control() -> None:
    libraries = results(life(27, lambda task, block: 1.0), life(1, lambda task, block: 1.0))
    control = life(1, lambda task, block: 1.0, 3)
    for part, change in (("learner", {"gamma": 0.5}), ("domain", {"force": 2.0})):
        other = {**control.settings, part: {**control.settings[part], **change}}
        stranger = Run("Alone", control.path, other, control.blocks, is_done=True)
        assert capacity_parts(libraries, results(stranger), "dqn") == []
    short = Run("Alone", control.path, control.settings, control.blocks.head(20), is_done=True)
    one, every = capacity_parts(libraries, results(short), "dqn")
    assert (one.tasks, every.tasks) == (0, 1)  # twenty blocks are enough for a policy of 27 only
    assert np.isnan(one.ageing)
    assert capacity_parts(results(life(1, lambda task, block: 1.0)), results(control), "dqn") == []


def test_the_published_capacity_of_dqn_is_that_of_a_learner_that_wears_out() -> None:
    """The records of the main table, made by several versions, beside those of single tasks."""
    libraries = read_results(RESULTS / "cartpole27-released")
    one, two, *more = capacity_parts(libraries, controls_for(libraries), "dqn")
    assert one.is_ageing
    assert two.is_ageing
    assert not any(parts.is_ageing for parts in more)


def test_the_command_prints_the_three_parts(tmp_path: Path) -> None:
    falls = lambda task, block: 200.0 - block / 2  # noqa: E731
    for run in (life(27, lambda task, block: 200.0), life(1, falls), life(1, falls, 3)):
        write_run(tmp_path / run.condition / "run-00", run.settings, run.blocks)
    console = Console(file=io.StringIO(), width=80)
    empirical_in_console(tmp_path, 0.05, tmp_path / "out", console)
    printed = " ".join(console.file.getvalue().split())
    assert "learner policies score updates sharing interference ageing" in printed  # no heading is broken
    for word in ("sharing", "interference", "ageing", "falls by", "--profile sound"):
        assert word in printed
    console = Console(file=io.StringIO(), width=200)
    empirical_in_console(tmp_path, 0.05, tmp_path / "out", console, control=tmp_path / "27P")
    assert "no runs of single tasks" in console.file.getvalue()
