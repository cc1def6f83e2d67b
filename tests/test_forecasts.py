"""Recommendations beside full-length answers: what is right, what is not settled, and what they cost."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from repertory.cli.forecasts import forecasts_in_console
from repertory.errors import UsageError
from repertory.paper.experiments import experiment, experiment_names
from repertory.paper.forecasts import Forecast, forecasts
from repertory.report.forecasts import CLUSTERS, FOLDER, PILOT, Made, forecast_section, full_answer
from repertory.runs.folder import RunFolder
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep
from tests.records import write_sweep

ROW = Forecast("cartpole27-dqn-released", "cartpole27", "dqn", "released", answer="cartpole27-released")


def made(policies: int | None = 1, name: str = ROW.name, diverged_after: int | None = None) -> Made:
    return Made(name, 0, policies, 1, 2, 0.05, [[0]], diverged_after, 0.0, 10, 10_000_000, 60.0, "", "0.2.0")


@pytest.mark.parametrize("row", forecasts(), ids=lambda row: row.name)
def test_what_is_asked_exists(row: Forecast) -> None:
    assert row.life > 0
    assert (row.steps or row.life) <= row.life
    assert (row.known is None) != (row.answer is None)
    assert row.answer is None or row.answer.rsplit("-", 1)[0] in experiment_names()
    if row.learner.startswith("sb3:"):
        pytest.importorskip("stable_baselines3")
        pytest.importorskip("Box2D")
    assert row.tasks.n_tasks == row.n_tasks > 1
    assert callable(row.make_learner)
    if row.groups is not None:
        assert sum(row.groups) == row.n_tasks
    if row.vary is not None and row.answer is not None:  # the same as in the sweep that has the answer
        asked = experiment(row.answer.rsplit("-", 1)[0])
        (settings,) = {json.dumps(each.settings, sort_keys=True) for each in asked.conditions.values()}
        assert json.loads(settings) == {"domain": {"vary": row.vary}, "learner": row.settings}
        assert (asked.domain, asked.blocks, asked.block_steps) == (row.domain, row.blocks, row.block_steps)


def sweep_with(root: Path, scores: dict[int, float], spread: float) -> Path:
    """Unadaptive DQN runs at each number of policies, with scores about these."""
    names = [f"UnadaptiveDQN{policies}P" for policies in scores]
    out = write_sweep(root / "cartpole27-released", Sweep("cartpole27", "released"), names, runs=4)
    rng = np.random.default_rng(0)
    for policies, score in scores.items():
        for run in range(4):
            folder = RunFolder(out / f"UnadaptiveDQN{policies}P" / f"run-{run:02d}")
            blocks = folder.read_blocks()
            blocks["mean_return"] = score + spread * rng.standard_normal()
            folder.write_blocks(blocks)
            folder.finish()
    return out


def test_the_answer_is_the_least_number_within_the_tolerance(tmp_path: Path) -> None:
    results = read_results(sweep_with(tmp_path, {1: 100.0, 4: 196.0, 27: 200.0}, spread=0.1))
    assert full_answer(ROW, 0.05, [results]) == ("4", True)
    assert full_answer(ROW, 0.6, [results]) == ("1", True)
    assert full_answer(ROW, 0.05, []) == ("", False)


def test_runs_that_disagree_settle_nothing(tmp_path: Path) -> None:
    results = read_results(sweep_with(tmp_path, {1: 189.0, 27: 200.0}, spread=30.0))
    assert full_answer(ROW, 0.05, [results])[1] is False


@pytest.mark.parametrize(("policies", "right"), [(4, "yes"), (3, "yes"), (1, "no"), (None, "no")])
def test_within_one_is_right(policies: int | None, right: str, tmp_path: Path) -> None:
    results = read_results(sweep_with(tmp_path, {1: 100.0, 4: 196.0, 27: 200.0}, spread=0.1))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "row.json").write_text(json.dumps(made(policies).to_json()))
    section = forecast_section(tmp_path, [results])
    assert section is not None
    (row,) = section.tables[0].rows
    assert row["right"] == right
    assert row["share"] == pytest.approx(10_000_000 / (6 * 675 * 60_000))


def test_a_learner_that_diverges_has_no_number(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "row.json").write_text(json.dumps(made(1, diverged_after=5_000).to_json()))
    section = forecast_section(tmp_path, [])
    assert section is not None
    (row,) = section.tables[0].rows
    assert "diverges after 5,000 steps" in row["says"]
    assert row["right"] == ""


def test_other_ways_to_a_number_stand_beside_it(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    pilot = replace(made(9), method=PILOT, steps=100_000_000)
    clusters = replace(made(3), method=CLUSTERS, low=3, high=3)
    for number, each in enumerate([made(1), pilot, clusters, replace(pilot, seed=1)]):
        (tmp_path / FOLDER / f"{number}.json").write_text(json.dumps(each.to_json()))
    section = forecast_section(tmp_path, [])
    assert section is not None
    (row,) = section.tables[0].rows
    assert (row["says"], row["pilot"], row["clusters"]) == ("1 (1 to 2)", "9 (1 to 2)", "3")
    assert row["of pilot"] == pytest.approx(0.1)


def test_each_way_to_a_number_is_counted(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    known = {"name": "cartpole54-dqn-sound"}  # whose answer is 2
    every = [
        replace(made(2), **known, low=2),
        replace(made(3), **known, seed=1, low=3, high=4),
        replace(made(None), **known, seed=2, low=1, high=54),
        replace(made(9), **known, method=PILOT, low=2, high=9),
        made(None, "cartpole27-dqn-text", diverged_after=5_000),
        replace(made(None, "cartpole27-dqn-text"), seed=1),  # ended by its budget, which tells nothing of it
        replace(made(1, "cartpole27-dqn-text"), method=PILOT),
    ]
    for number, each in enumerate(every):
        (tmp_path / FOLDER / f"{number}.json").write_text(json.dumps(each.to_json()))
    section = forecast_section(tmp_path, [])
    assert section is not None
    ours, pilot, clusters = [list(row.values()) for row in section.tables[1].rows]
    assert ours == ["recommendation", 3, 1, 2, 2, 2, 1]
    assert pilot == ["pilot", 1, 0, 0, 1, 1, 0]
    assert clusters == ["clusters", 0, 0, 0, 0, 0, 0]


def test_clusters_are_counted_on_the_command_line(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    forecasts_in_console(console, ["cartpole27-dqn-text/clusters"], 0, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    found = Made.read(file)
    assert found.policies == 3  # the three lengths of the pole
    assert found.method == CLUSTERS
    assert "cartpole27-dqn-text/clusters: 3; in" in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="unknown recommendation"):
        forecasts_in_console(console, ["cartpole28*"], 0, tmp_path / "out")


@pytest.mark.parametrize("content", ["{", "[]", '{"name": "cartpole27-dqn-sound"}'])
def test_a_damaged_recommendation_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "recommend").mkdir()
    (tmp_path / "recommend" / "cut.json").write_text(content)
    with pytest.raises(UsageError, match=r"cut\.json cannot be read"):
        forecast_section(tmp_path, [])


def test_without_recommendations_nothing_is_said(tmp_path: Path) -> None:
    assert forecast_section(tmp_path, []) is None
