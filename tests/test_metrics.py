"""Metrics on hand-made records with known scores, forgetting, transfer and spread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.analysis.controls import learning_metrics, one_to_one_runs
from repertory.core import metrics
from repertory.core.spread import sample_observations
from repertory.core.tally import plays_by_task
from repertory.errors import UsageError
from repertory.runs.summary import random_scores, run_spread
from repertory.sweeps.results import read_results


def record(tasks: list[int], scores: list[float], steps: int = 100) -> pd.DataFrame:
    """Blocks of ten episodes each."""
    returns = np.array(scores, float)
    table = {"block": range(len(tasks)), "task": tasks, "steps": steps, "episodes": 10}
    return pd.DataFrame(table | {"total_reward": returns * 10, "mean_return": returns})


def test_scores() -> None:
    blocks = record([0] * 20, list(range(20)))
    assert metrics.lifetime_score(blocks) == 9.5
    assert metrics.final_score(blocks) == 14.5  # 10, ..., 19
    assert metrics.lifetime_score(blocks, "reward per step") == pytest.approx(0.95)


def test_development_is_the_mean_of_stretches_over_runs() -> None:
    one, other = record([0] * 60, [1.0] * 25 + [3.0] * 35), record([0] * 60, [3.0] * 60)
    curve = metrics.development([one, other])
    assert curve.steps.tolist() == [2500, 5000]  # the ten blocks after are no whole stretch
    assert curve.mean.tolist() == [2.0, 3.0]
    assert curve.error.tolist() == [1.0, 0.0]  # standard deviation sqrt(2) over sqrt(2) runs
    assert np.isnan(metrics.development([one]).error).all()
    assert metrics.development([record([0] * 3, [1, 2, 3])]).mean.tolist() == [2.0]  # shorter than a stretch


def test_forgetting_by_hand() -> None:
    """Task 0 loses 6 while its one-to-one twin gains 2; random play scores 4: ratio (-6 - 2) / 4 = -2."""
    own = record([0, 1, 1, 0], [10, 5, 7, 4])
    twin = record([0, 1, 1, 0], [10, 5, 6, 12])
    ratios = metrics.forgetting_ratios(own, twin, {0: 4.0, 1: 1.0})
    assert ratios[["block", "task", "interfering"]].to_numpy().tolist() == [[2, 1, 0], [3, 0, 2]]
    assert ratios["ratio"].tolist() == [1.0, -2.0]  # task 1: (7 - 5) - (6 - 5), in units of 1
    bins = metrics.by_bins(ratios, "interfering").set_index("bin")
    assert bins.loc["0", "mean"] == 1.0
    assert bins.loc["1-9", "mean"] == -2.0
    assert bins["count"].tolist() == [1, 1, 0, 0, 0]
    assert bins["error"].isna().all()


def test_the_error_of_ratios_is_over_runs_not_over_blocks() -> None:
    """A run of a hundred ratios around 1 and one of a hundred around 3: two independent numbers, not two hundred."""
    spread = np.tile([-0.5, 0.5], 50)
    ratios = pd.DataFrame({"interfering": 5, "ratio": np.append(1 + spread, 3 + spread), "run": [0] * 100 + [1] * 100})
    (row,) = metrics.by_bins(ratios, "interfering").query("bin == '1-9'").to_dict("records")
    assert (row["mean"], row["runs"], row["count"]) == (2.0, 2, 200)
    assert row["error"] == pytest.approx(1.0)  # sqrt(2) / sqrt(2)


def test_a_run_that_is_its_own_twin_neither_forgets_nor_transfers() -> None:
    rng = np.random.default_rng(0)
    tasks = rng.integers(5, size=200).tolist()
    own = record(tasks, rng.normal(size=200).tolist())
    random = dict.fromkeys(range(5), -0.5)
    assert (metrics.forgetting_ratios(own, own, random)["ratio"] == 0).all()
    assert (metrics.transfer_ratios(own, own, random)["ratio"] == 0).all()


def test_a_loss_is_a_loss_where_random_play_is_punished() -> None:
    own, twin = record([0, 1, 0], [0, 0, -1]), record([0, 1, 0], [0, 0, 0])
    assert metrics.forgetting_ratios(own, twin, {0: -0.5, 1: 1.0})["ratio"].tolist() == [-2.0]


def test_transfer_by_hand() -> None:
    """Only the first block of a task counts; `prior` is how many blocks came before it."""
    own, twin = record([2, 0, 2, 1], [3, 9, 1, 2]), record([2, 0, 2, 1], [3, 5, 9, 4])
    ratios = metrics.transfer_ratios(own, twin, {0: 2.0, 1: 2.0, 2: 1.0})
    assert ratios["task"].tolist() == [2, 0, 1]
    assert ratios["prior"].tolist() == [0, 1, 3]
    assert ratios["ratio"].tolist() == [0.0, 2.0, -1.0]


def test_ratios_refuse_what_cannot_be_compared() -> None:
    own = record([0, 1], [1, 1])
    with pytest.raises(UsageError, match="another task sequence"):
        metrics.forgetting_ratios(own, record([1, 0], [1, 1]), {0: 1.0, 1: 1.0})
    with pytest.raises(UsageError, match="random policy"):
        metrics.transfer_ratios(own, own, {0: 1.0, 1: 0.0})


def test_policy_spread_closed_forms(rng: np.random.Generator) -> None:
    same = np.tile(rng.dirichlet([1, 1, 1], 20), (4, 1, 1))
    assert metrics.policy_spread(same) == 0
    opposite = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert metrics.policy_spread(opposite) == 1
    third = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
    assert metrics.policy_spread(third) == pytest.approx(2 / 3)  # two of three pairs differ
    greedy = np.array([[[0.9, 0.1]], [[0.1, 0.9]]])  # epsilon-greedy with epsilon 0.2 on two actions
    assert metrics.policy_spread(greedy) == pytest.approx(0.8)
    with pytest.raises(UsageError, match="one policy"):
        metrics.policy_spread(same[:1])


@pytest.fixture(scope="module")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conditions of a tiny domain of three Cartpole tasks' worth of blocks."""
    out = tmp_path_factory.mktemp("results")
    learner = repertory.DQN(learning_starts=100, buffer_size=1000)
    common = {"blocks": 12, "block_steps": 300}
    repertory.live("cartpole27", learner, 2, "fixed-partition", out=out / "2P" / "run-00", **common)
    return out


def test_missing_references_are_named_or_lived(results_folder: Path) -> None:
    results = read_results(results_folder)
    with pytest.raises(UsageError, match="with a policy for each task"):
        learning_metrics(results, "2P")
    with pytest.raises(UsageError, match="no finished run of 9P"):
        learning_metrics(results, "9P")
    found = learning_metrics(results, "2P", compute_missing=True)
    assert found["transfer"]["count"].sum() == results.runs[0].blocks["task"].nunique()
    assert np.isfinite(found["transfer"]["mean"].dropna()).all()
    twins = one_to_one_runs(read_results(results_folder), "dqn")
    assert list(twins) == [0]
    assert learning_metrics(read_results(results_folder), "2P")["forgetting"].equals(found["forgetting"])


def test_spread_of_a_saved_library(results_folder: Path) -> None:
    spread = run_spread(results_folder / "2P" / "run-00")
    assert 0 <= spread <= 0.8  # epsilon-greedy policies with epsilon 0.2 are never further apart
    assert spread == run_spread(results_folder / "2P" / "run-00")
    with pytest.raises(UsageError):
        run_spread(results_folder / "nowhere")


def test_sampled_observations(cartpole27: repertory.Domain, rng: np.random.Generator) -> None:
    cartpole = sample_observations(cartpole27, 5000, 1, rng)
    assert np.allclose(np.abs(cartpole).max(axis=0), [2.4, np.radians(15), 2.5, 2.5], rtol=0.01)
    windows = sample_observations(repertory.domain("pocman18"), 50, 15, rng)
    assert windows.shape == (50, 15, 11)
    assert np.array_equal(windows[0, 1:], windows[1, :-1])  # they slide
    assert set(np.unique(windows)) == {0.0, 1.0}


def test_random_scores_are_those_of_random_play() -> None:
    """Falling at once from the released physics takes 15, 22 and 33 steps by pole length."""
    scores = random_scores(repertory.domain("cartpole27", profile="released"), steps=20_000)
    by_length = np.array([scores[task] for task in range(27)]).reshape(9, 3).mean(axis=0)
    assert np.allclose(by_length, [15, 22, 33], rtol=0.05)


def test_plays_are_counted_by_task_and_policy() -> None:
    blocks = pd.DataFrame({"task": [2, 0, 2], "policy_0": [1, 2, 3], "policy_1": [0, 5, 7]})
    assert plays_by_task(blocks, 4).tolist() == [[2, 5], [0, 0], [4, 7], [0, 0]]
    assert plays_by_task(blocks, 1).tolist() == [[2, 5]]  # of the first task alone
