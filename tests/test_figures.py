"""Every table and figure of the paper has a command, which makes it of the runs that there are."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from rich.console import Console

from repertory.cli.figure import figure_in_console, list_figures
from repertory.core.metrics import cumulative_reward
from repertory.errors import UsageError
from repertory.report.figures import FIGURES, figure, standing
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep
from tests.records import write_sweep

LABELS = (
    *("fig: multiplepolicies", "fig: architecture-diagram", "fig: experiment-sets", "fig: taskpics", "fig: LPRcomp"),
    *("fig: policiesscore", "tab: significance-27task", "fig: policiesscorePOMDP", "tab: significance"),
    *("fig: paramdiversity", "fig: 125-task", "tab: parametersMDP", "tab: learning-rateMDP", "tab: parameters"),
    *("tab: learning-rate", "fig: UCB", "fig: memory", "fig: PPOmonotonicimprovement", "fig: buffer"),
)
"""Of all tables and figures in the paper's source."""
DRAWINGS = ("fig: multiplepolicies", "fig: architecture-diagram")
WITHOUT_RUNS = ("experiment-sets", "taskpics", "parametersMDP", "parameters")


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sweeps of two profiles: `released` has most of LPRcomp, `text` one condition of Cartpole."""
    folder = tmp_path_factory.mktemp("sweeps")
    lpr = (
        "AdaptiveDQN9P",
        "UnadaptiveDQN1P",
        "UnadaptiveDQN27P",
        "AdaptivePPO9P",
        "UnadaptivePPO1P",
        "UnadaptivePPO27P",
    )
    write_sweep(folder / "cartpole", Sweep("cartpole27", "released", blocks=30), lpr, runs=2)
    write_sweep(folder / "pocman", Sweep("pocman18", "released"), ("AdaptiveDRQN9P", "UnadaptivePRPO18P"), runs=1)
    write_sweep(folder / "long", Sweep("ppo-long-blocks", "released", blocks=30), ("UnadaptivePPO1P",), runs=1)
    write_sweep(folder / "text", Sweep("cartpole27", "text", blocks=30), ("AdaptiveDQN2P",), runs=1)
    return folder


def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_the_list_is_that_of_the_paper() -> None:
    assert tuple(each.label for each in FIGURES) == LABELS
    assert tuple(each.label for each in FIGURES if each.make is None) == DRAWINGS
    for each in FIGURES:
        assert figure(each.name.upper()) is each
        each.conditions()  # fails for an experiment or a condition that there is not
    with pytest.raises(UsageError, match="did you mean 'LPRcomp'"):
        figure("LPRcom")


def test_a_figure_is_of_the_profile_that_has_most(sweeps: Path, tmp_path: Path) -> None:
    screen = console()
    figure_in_console("LPRcomp", sweeps, None, tmp_path / "out", screen)
    said = screen.file.getvalue()
    assert "Profile released. cartpole27: 2 of 27 runs, 30 blocks. pocman18: 1 of 18 runs." in said
    assert "missing: cartpole27: full length (has 30 blocks), pocman18: 4 of 6 conditions; next:" in said
    assert "repertory reproduce pocman18 --conditions UnadaptiveDRQN1P,UnadaptiveDRQN18P," in said
    charts = [f"LPRcomp-{name}.{ending}" for name in ("cartpole27", "pocman18") for ending in ("png", "svg", "pdf")]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {*charts, "LPRcomp.tex"}
    text = (tmp_path / "out" / "LPRcomp.tex").read_text()
    assert r"\label{fig: LPRcomp}" in text
    assert text.count("includegraphics") == 2
    figure_in_console("significance-27task", sweeps, "text", tmp_path / "out", console())
    text = (tmp_path / "out" / "significance-27task.tex").read_text()
    assert "AdaptiveDQN2P" in text
    assert "AdaptiveDQN9P" not in text
    assert text.startswith(r"\begin{table}")


def test_curves_are_those_of_the_runs(sweeps: Path) -> None:
    content = standing(figure("policiesscorePOMDP"), [read_results(sweeps / "pocman")]).content()
    assert [chart.name for chart in content.charts] == ["policiesscorePOMDP-drqn", "policiesscorePOMDP-prpo"]
    (line,) = content.charts[0].panels[0].marks
    run = read_results(sweeps / "pocman").by_condition["AdaptiveDRQN9P"][0]
    assert line.name == "AdaptiveDRQN9P"
    assert line.y[-1] == pytest.approx(run.blocks["total_reward"].sum())
    assert line.x[-1] == pytest.approx(run.blocks["steps"].sum() / 1e6)


def test_the_panels_of_ppo_are_beside_each_other(sweeps: Path) -> None:
    held = standing(figure("PPOmonotonicimprovement"), [read_results(path) for path in sorted(sweeps.iterdir())])
    (chart,) = held.content().charts
    assert [panel.title for panel in chart.panels] == ["a: reference", "b: longer blocks"]
    assert {mark.name for mark in chart.panels[0].marks} == {"UnadaptivePPO1P", "UnadaptivePPO27P"}
    assert held.missing == [
        ("cartpole27", "UnadaptivePPO9P"),
        ("ppo-long-blocks", "UnadaptivePPO9P"),
        ("ppo-long-blocks", "UnadaptivePPO27P"),
        *(("ppo-unbounded", f"UnadaptivePPO{n}P") for n in (1, 9, 27)),
    ]


def test_cumulative_reward_in_closed_form() -> None:
    runs = [pd.DataFrame({"steps": [10] * n, "total_reward": [rate] * n}) for n, rate in ((5, 2.0), (4, 4.0))]
    curve = cumulative_reward(runs)
    assert curve.steps.tolist() == [10, 20, 30, 40]  # as far as the shorter run goes
    assert curve.mean.tolist() == [3, 6, 9, 12]
    assert curve.error == pytest.approx([1, 2, 3, 4])  # half the difference between two runs
    assert np.isnan(cumulative_reward(runs[:1]).error).all()


def test_every_task_is_once_in_every_column() -> None:
    (chart,) = standing(figure("experiment-sets"), []).content().charts
    tasks = np.asarray(chart.panels[0].heatmap.values)
    assert all(sorted(column) == list(range(18)) for column in tasks.T)
    assert np.array_equal(tasks[1], (tasks[0] + 1) % 18)


@pytest.mark.parametrize("name", WITHOUT_RUNS)
def test_what_needs_no_runs_is_made_without_any(name: str, tmp_path: Path) -> None:
    screen = console()
    figure_in_console(name, tmp_path / "not there", "released", tmp_path / "out", screen)
    assert "missing" not in screen.file.getvalue()
    files = sorted(file.suffix for file in (tmp_path / "out").iterdir())
    assert files == ([".csv", ".tex"] if figure(name).is_table else [".pdf", ".png", ".svg", ".tex"])


def test_the_picture_of_tasks_shows_four(tmp_path: Path) -> None:
    figure_in_console("taskpics", tmp_path, None, tmp_path / "out", console())
    with Image.open(tmp_path / "out" / "taskpics.png") as image:
        corners = np.asarray(image.convert("RGB"))
    picture = standing(figure("taskpics"), []).content().picture
    assert corners.shape == picture.shape


def test_what_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    for name, message in (
        ("UCB", r"UCB needs finished runs \(ucb: 8 of 8 conditions\); next: repertory reproduce ucb "),
        ("multiplepolicies", "is a drawing that shows no results"),
    ):
        with pytest.raises(UsageError, match=message):
            figure_in_console(name, tmp_path, None, tmp_path / "out", console())
    with pytest.raises(UsageError, match="unknown --profile"):
        figure_in_console("UCB", tmp_path, "txt", tmp_path / "out", console())
    assert not (tmp_path / "out").exists()


def test_the_list_says_what_is_missing(sweeps: Path, tmp_path: Path) -> None:
    for folder, said in ((sweeps, "pocman18: 4 of 6 conditions"), (tmp_path, "cartpole27: 6 of 6 conditions")):
        screen = console()
        list_figures(folder, screen)
        (line,) = [line for line in screen.file.getvalue().splitlines() if line.startswith("LPRcomp")]
        assert said in line
        assert sum(each.name in screen.file.getvalue() for each in FIGURES) == len(LABELS)
