"""Empirical capacity, task clusters and pre-selection."""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import repertory
from repertory.analysis import clusters
from repertory.analysis.capacity import capacity_curve, estimate_capacity
from repertory.analysis.clusters import cluster_signatures, cluster_tasks, clusters_over_seeds, task_signatures
from repertory.analysis.controls import capacity_of
from repertory.analysis.pilot import candidates, decide, pilot_policies
from repertory.analysis.policy_memory import parse_memory
from repertory.cli.capacity import empirical_in_console
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.runs.folder import RunFolder
from repertory.runs.spec import RunSpec
from repertory.runs.summary import RunSummary, write_summary
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep
from tests.records import write_sweep

QUIET = Console(quiet=True)


def published(name: str, learner: str) -> dict[int, float]:
    conditions = experiment(name).conditions.values()
    return {c.policies: c.lifetime.mean for c in conditions if c.learner == learner and c.selector == "fixed-partition"}


@pytest.mark.parametrize(
    ("name", "learner", "tasks", "grid_mean", "integral"),
    [
        ("cartpole27", "dqn", 27, 18.71, 18.73),
        ("cartpole27", "ppo", 27, 26.73, 26.84),
        ("pocman18", "drqn", 18, 3.80, 3.74),
        ("pocman18", "prpo", 18, 13.27, 13.33),
    ],
)
def test_the_printed_tables_give_the_printed_capacities(
    name: str, learner: str, tasks: int, grid_mean: float, integral: float
) -> None:
    curve = capacity_curve(published(name, learner), tasks)
    paper = experiment(name).capacity[learner]
    assert curve.grid_mean == pytest.approx(grid_mean, abs=0.005)
    assert curve.integral == pytest.approx(integral, abs=0.005)
    assert curve.grid_mean == pytest.approx(paper.integrated, abs=0.1)
    assert curve.capacity(paper.tolerance) == paper.capacity


@pytest.mark.parametrize("learner", ["dqn", "ppo"])
def test_the_125_tasks_need_what_the_paper_says(learner: str) -> None:
    curve = capacity_curve(published("cartpole125", learner), 125)
    assert curve.policies(0.05) == experiment("cartpole125").capacity[learner].policies


def test_a_curve_by_hand() -> None:
    """4 tasks; 1 policy scores 50, 2 score 90, 4 score 100: 4 from 0, 2 from .1, 1 from .5."""
    curve = capacity_curve({1: 50.0, 2: 90.0, 4: 100.0}, 4)
    assert [(round(step.tolerance, 12), step.policies) for step in curve.steps] == [(0, 4), (0.1, 2), (0.5, 1)]
    assert curve.integral == pytest.approx(0.1 * 1 + 0.4 * 2 + 0.5 * 4)
    assert [curve.policies(t) for t in (0, 0.05, 0.11, 0.49, 0.51, 1)] == [4, 4, 2, 2, 1, 1]


def test_a_smaller_library_that_is_better_wins_at_once() -> None:
    curve = capacity_curve({1: 120.0, 2: 60.0, 4: 100.0}, 4)
    assert [step.policies for step in curve.steps] == [1]
    assert curve.integral == curve.grid_mean == 4.0


def test_capacity_is_monotone_and_bounded(rng: np.random.Generator) -> None:
    for _ in range(200):
        numbers = np.unique(rng.integers(1, 20, size=5))
        curve = capacity_curve({int(n): float(rng.uniform(-50, 100)) for n in numbers[:-1]} | {20: 80.0}, 20)
        capacities = [curve.capacity(t) for t in np.linspace(0, 1, 50)]
        assert all(one <= other for one, other in itertools.pairwise(capacities))
        assert 1 <= curve.integral <= 20
        assert abs(curve.integral - curve.grid_mean) < 0.4


def test_no_capacity_without_a_positive_reference() -> None:
    with pytest.raises(UsageError, match="needs it above 0"):
        capacity_curve({1: 5.0, 4: -1.0}, 4)
    with pytest.raises(UsageError, match="no scores"):
        capacity_curve({}, 4)
    with pytest.raises(UsageError, match="valid: from 0 to 1"):
        capacity_curve({4: 1.0}, 4).policies(1.5)


def test_intervals_hold_the_estimate_and_need_two_runs(rng: np.random.Generator) -> None:
    scores = {1: rng.normal(50, 2, 10), 2: rng.normal(90, 2, 10), 4: rng.normal(100, 2, 10)}
    estimate = estimate_capacity(scores, 4)
    low, high = estimate.interval()
    assert low <= estimate.curve.grid_mean <= high
    assert high - low < 0.5
    assert estimate.interval(0.3) == (2.0, 2.0)  # no doubt about it
    assert estimate.confidence(2, 0.3) == 1.0
    assert estimate.confidence(1, 0.3) == 0.0
    assert estimate_capacity({1: np.array([1.0]), 2: np.array([2.0])}, 2).interval() is None


def test_the_decision() -> None:
    estimate = estimate_capacity({1: np.array([50, 52]), 4: np.array([97, 99]), 9: np.array([100.0, 100.0])}, 9)
    choice = decide(estimate, 0.05, 10_000_000, None)
    assert (choice.policies, choice.within_tolerance, choice.memory) == (4, True, 40_000_000)
    assert "4 policies are within 5%" in str(choice)
    small = decide(estimate, 0.05, 10_000_000, 20_000_000)
    assert (small.policies, small.within_tolerance) == (1, False)
    assert "lose 49%" in str(small)
    with pytest.raises(UsageError, match="a single policy takes"):
        decide(estimate, 0.05, 10_000_000, 1_000_000)
    assert candidates(27) == [1, 2, 4, 9, 14, 27]  # the paper's
    assert candidates(1) == [1]


def test_memory_in_words() -> None:
    assert parse_memory("200MB") == 200_000_000
    assert parse_memory("1.5 GiB") == int(1.5 * 2**30)
    assert parse_memory("64000") == 64_000
    for bad in ("lots", "-5MB", "5 XB", "", "nanMB"):
        with pytest.raises(UsageError, match="memory is"):
            parse_memory(bad)


def test_a_pilot_recommends_and_is_not_lived_twice(tmp_path: Path, cartpole27: repertory.Domain) -> None:
    options = {"policies": [1, 2], "blocks": 3, "block_steps": 200, "runs": 2, "out": tmp_path / "pilot"}
    first = pilot_policies(cartpole27, repertory.Random(), 0.5, **options)
    assert first.policies == 1  # random policies are all alike
    assert first.table["policies"].tolist() == [1, 2, 27]
    assert first.table["runs"].tolist() == [2, 2, 2]
    stamps = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("blocks.parquet")}
    again = pilot_policies(cartpole27, repertory.Random(), 0.5, **options)
    assert stamps == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("blocks.parquet")}
    assert again.table.equals(first.table)
    from_results = pilot_policies(cartpole27, repertory.Random(), 0.5, results=tmp_path / "pilot")
    assert from_results.table["score"].tolist() == first.table["score"].tolist()
    heavy = repertory.domain("cartpole27", force=2.0)
    with pytest.raises(UsageError, match=r"another domain \(domain\.force: 1\.0 there, 2\.0 given\)"):
        pilot_policies(heavy, repertory.Random(), 0.5, results=tmp_path / "pilot")
    with pytest.raises(UsageError, match="no finished unadaptive runs of dqn"):
        pilot_policies(cartpole27, repertory.DQN(), 0.5, results=tmp_path / "pilot")
    with pytest.raises(UsageError, match="valid: numbers from 1 to 27"):
        pilot_policies(cartpole27, repertory.Random(), 0.5, policies=[0, 28])


REFUSED: dict[str, dict[str, Any]] = {
    "tolerance is 1.5; valid: from 0 to 1": {"tolerance": 1.5},
    "tolerance is nan": {"tolerance": float("nan")},
    "runs is 0; valid: a whole number from 1 to 1000": {"runs": 0},
    "runs is 1000000000000; valid: a whole number from 1 to 1000": {"runs": 10**12},
    "memory is 0.0 MB; a single policy takes": {"memory": 1},
    "4 policies, the fewest compared, take": {"memory": 150, "policies": [4]},
    "memory is 'lots'": {"memory": "lots"},
    "blocks is 0": {"blocks": 0},
    "policies are []": {"policies": []},
    "unknown profile": {"profile": "both"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_pilot_cannot_answer_is_refused_before_any_run(message: str, tmp_path: Path) -> None:
    def live(plans: object) -> list[pd.DataFrame]:
        raise AssertionError("lived")

    with pytest.raises(UsageError) as refusal:
        pilot_policies("cartpole27", "random", **REFUSED[message], out=tmp_path / "out", live=live)
    assert message in str(refusal.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("score", [-1.0, 0.0, float("nan")])
def test_a_pilot_ends_where_there_is_no_score_to_take_shares_of(score: float, cartpole27: repertory.Domain) -> None:
    """The runs with a policy for each task come first; with nothing above 0 in them, no other is lived."""
    lived = []

    def live(specs: Sequence[tuple[RunSpec, Path | None]]) -> list[pd.DataFrame]:
        lived.extend(spec.policies for spec, _path in specs)
        return [pd.DataFrame({"mean_return": [score]}) for _spec in specs]

    with pytest.raises(UsageError, match=r"needs it above 0|finite numbers"):
        pilot_policies(cartpole27, repertory.Random(), policies=[1, 2], runs=3, live=live)
    assert lived == [27, 27, 27]


def test_the_tolerance_is_looked_at_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tolerance is -0\.1"):
        empirical_in_console(tmp_path, -0.1, tmp_path / "out", QUIET)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot write to"):
        empirical_in_console(tmp_path, 0.1, tmp_path / "file", QUIET)


def test_a_learner_that_cannot_tell_its_memory(cartpole27: repertory.Domain) -> None:
    class Still:
        def begin_episode(self) -> None: ...
        def act(self, observation: object) -> int:
            return 0

        def observe(self, *step: object) -> None: ...

    options = {"policies": [1], "blocks": 2, "block_steps": 50, "runs": 1}
    found = pilot_policies(cartpole27, lambda o, a, s: Still(), 0.5, **options)
    assert found.memory is None
    assert "memory unknown" in str(found)
    with pytest.raises(UsageError, match="leave out memory"):
        pilot_policies(cartpole27, lambda o, a, s: Still(), 0.5, memory=10, **options)


def test_scores_below_zero_count_from_random_play(tmp_path: Path) -> None:
    """Random play has 25 on task 0, 26 on task 1, ...: scores are put so far above that, less 1,000 on all."""
    gained = {1: 80.0, 4: 96.0, 27: 100.0}
    names = [f"UnadaptiveDQN{policies}P" for policies in gained]
    out = write_sweep(tmp_path / "sweep", Sweep("cartpole27", "released"), names)
    for policies, above in gained.items():
        for run in range(2):
            folder = RunFolder(out / f"UnadaptiveDQN{policies}P" / f"run-{run:02d}")
            write_summary(folder, RunSummary(random_scores=[25.0 + task - 1_000.0 for task in range(27)]))
            blocks = folder.read_blocks()
            folder.write_blocks(blocks.assign(mean_return=25.0 + blocks["task"] - 1_000.0 + above))
            folder.finish()
    with pytest.raises(UsageError, match="--above-random"):
        capacity_of(read_results(out), "dqn")
    curve = capacity_of(read_results(out), "dqn", above_random=True).curve
    assert curve.scores == pytest.approx(gained)
    assert [curve.policies(tolerance) for tolerance in (0.01, 0.05, 0.25)] == [27, 4, 1]
    told = Console(file=io.StringIO(), width=200)
    empirical_in_console(out, 0.05, tmp_path / "out", told, above_random=True)
    assert "6.75" in told.file.getvalue()  # type: ignore[attr-defined]


def test_too_little_data_names_the_command(tmp_path: Path) -> None:
    repertory.live(
        "cartpole27", "random", 2, "fixed-partition", blocks=2, block_steps=50, out=tmp_path / "2P" / "run-00"
    )
    with pytest.raises(UsageError, match="at least two numbers of policies; next: repertory"):
        empirical_in_console(tmp_path, 0.05, tmp_path / "out", QUIET)
    repertory.live(
        "cartpole27", "random", 1, "fixed-partition", blocks=2, block_steps=50, out=tmp_path / "1P" / "run-00"
    )
    with pytest.raises(UsageError, match="with 27 policies, which the others are measured"):
        empirical_in_console(tmp_path, 0.05, tmp_path / "out", QUIET)
    with pytest.raises(UsageError, match="is not a folder; next: repertory reproduce"):
        empirical_in_console(tmp_path / "nowhere", 0.05, tmp_path / "out", QUIET)
    assert not (tmp_path / "out").exists()
    repertory.live(
        "cartpole125", "random", 4, "fixed-partition", blocks=2, block_steps=50, out=tmp_path / "4P" / "run-00"
    )
    with pytest.raises(UsageError, match="2 different domains, settings or lengths"):
        empirical_in_console(tmp_path, 0.05, tmp_path / "out", QUIET)
    with pytest.raises(UsageError, match="finite numbers"):
        capacity_curve({1: float("nan"), 2: 1.0}, 2)


def test_random_play_tells_tasks_apart() -> None:
    """Lengths by pole length and falls by angle are those that random play is known for (600,000 steps a task)."""
    domain = repertory.domain("cartpole27", profile="released")
    table = task_signatures(domain, steps=30_000)
    lengths = table["episode length"].to_numpy().reshape(9, 3).mean(axis=0)
    assert np.allclose(lengths, [15, 22, 33], rtol=0.07)
    falls = table["ends"].to_numpy().reshape(9, 3).mean(axis=0) * 20
    assert np.allclose(falls, [43_000, 28_000, 18_000], rtol=0.1)


def test_clusters_of_the_text_domain() -> None:
    """As many as there are tasks at most; longer poles fall apart from others."""
    clusters = cluster_tasks(repertory.domain("cartpole27"), steps=30_000, signature="minimum")
    assert 2 <= clusters.n_clusters < 27
    assert clusters.capacity == pytest.approx(27 / clusters.n_clusters)
    assert clusters.means()["tasks"].sum() == 27
    by_length = clusters.signatures["cluster"].to_numpy().reshape(9, 3)
    assert not set(by_length[:, 0]) & set(by_length[:, 2])  # 0.5 m and 2 m poles never share one


def test_signatures_before_a_fall_are_the_minimum_and_a_quantile_of_the_same_falls() -> None:
    table = task_signatures(repertory.domain("cartpole27"), steps=20_000)
    assert (table["lowest |angular velocity|"] < table["low |angular velocity|"]).all()


def test_more_clusters_than_are_of_use_are_not_looked_for(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "MOST_CLUSTERS", 3)
    domain = dataclasses.replace(repertory.domain("cartpole27"), end_feature=None)
    for tasks, counts in ((3, [2]), (4, [2, 3]), (20, [2, 3])):
        signatures = pd.DataFrame({"reward per step": rng.random(tasks), "episode length": rng.random(tasks)})
        assert list(cluster_signatures(domain, signatures).silhouettes) == counts


def test_the_number_of_clusters_is_the_tasks_by_the_quantile_and_the_seeds_by_the_minimum() -> None:
    """The three lengths of the pole, whatever the seed; the paper's signature is the extreme of thousands of falls."""
    found = clusters_over_seeds(repertory.domain("cartpole27", profile="released"), steps=60_000, seeds=3)
    assert found.counts["low"] == (3, 3, 3)
    assert len(set(found.counts["minimum"])) > 1
    lengths = found.first.signatures["cluster"].to_numpy().reshape(9, 3)
    assert [len(set(column)) for column in lengths.T] == [1, 1, 1]
