"""Figures of a lifetime: of all tasks together, and of each."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from repertory.core.metrics import block_scores, development
from repertory.core.tally import RECENT_BLOCKS, recent_shares
from repertory.runs.folder import RunFolder
from repertory.runs.record import Record
from repertory.wording import counted, task_labels

INK, BLOCK, CURVE, BLANK = "#202124", "#9db7d5", "#0b4f8a", "#e6e6e6"
LABELS_AT_MOST = 30
DEVELOPMENT_POINTS = 15
PANELS_AT_MOST, PANELS_IN_A_ROW = 36, 6
"""Tasks up to which each has a panel of its own; more are rows of one map."""


class NotebookFigure(Figure):
    """Shown by a notebook as it is, whether pyplot was ever imported or not."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def lifetime_figure(blocks: pd.DataFrame, settings: dict[str, Any]) -> Figure:
    """Score over the lifetime, and which policies each task uses at its end."""
    figure = NotebookFigure(figsize=(11, 4.8), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    _draw_scores(left, blocks, settings["score"])
    _draw_map(right, figure, blocks, settings["task_names"])
    figure.suptitle(_title(settings), fontsize=11, color=INK)
    return figure


def tasks_figure(blocks: pd.DataFrame, settings: dict[str, Any]) -> Figure:
    """The score of each task over the lifetime: a panel for each, or a map where there are many."""
    scores = block_scores(blocks, settings["score"])
    ends = (blocks["steps"].cumsum() / 1e6).to_numpy(float)
    names = settings["task_names"]
    if len(names) > PANELS_AT_MOST:
        figure = _tasks_map(blocks["task"].to_numpy(), scores.to_numpy(float), ends, names, settings["score"])
    else:
        figure = _task_panels(blocks["task"].to_numpy(), scores.to_numpy(float), ends, names, settings["score"])
    figure.suptitle(_title(settings), fontsize=11, color=INK)
    return figure


def draw_lifetime(record: Record, folder: RunFolder) -> None:
    """The figure of a run, in its folder."""
    folder.write(folder.figure_file, lambda path: save(lifetime_figure(record.blocks, record.settings), path))


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150, format="png")


def _title(settings: dict[str, Any]) -> str:
    policies = counted(settings["policies"], "policy")
    return (
        f"{settings['domain']['name']}: {policies} of {settings['learner']['name'].upper()}, "
        f"{settings['selector']['name']} selection (profile {settings['profile']}, run {settings['run']})"
    )


def _draw_scores(axes: Any, blocks: pd.DataFrame, score: str) -> None:
    ends = blocks["steps"].cumsum() / 1e6
    axes.scatter(ends, block_scores(blocks, score), s=12, color=BLOCK, linewidths=0, label="one block")
    stretch = len(blocks) // DEVELOPMENT_POINTS
    if stretch > 1:
        curve = development([blocks], score, stretch)
        axes.plot(curve.steps / 1e6, curve.mean, color=CURVE, linewidth=2, label=f"mean of {stretch} blocks")
    axes.set_xlabel("steps (millions)")
    axes.set_ylabel(f"{score} of the block")
    axes.set_title("Score over the lifetime", fontsize=10)
    axes.grid(alpha=0.25)
    axes.set_xlim(left=0)
    axes.legend(loc="lower right", framealpha=0.9, edgecolor="none")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_map(axes: Any, figure: Any, blocks: pd.DataFrame, task_names: list[str]) -> None:
    n_tasks = len(task_names)
    shares = recent_shares(blocks, n_tasks)
    colours = mpl.colormaps["cividis"].with_extremes(bad=BLANK)
    image = axes.imshow(np.ma.masked_invalid(shares), aspect="auto", cmap=colours, vmin=0, vmax=1)
    _label(axes.xaxis, [str(policy) for policy in range(shares.shape[1])], 8)
    _label(axes.yaxis, _task_labels(task_names), 7)
    axes.set_xlabel("policy")
    axes.set_ylabel("task")
    title = f"Who plays what (each task's last {RECENT_BLOCKS} blocks)"
    axes.set_title(f"{title}; grey: never met" if np.isnan(shares).any() else title, fontsize=10)
    figure.colorbar(image, ax=axes, label="share of episodes")


def _task_labels(names: list[str]) -> list[str]:
    """With names where all of them fit, else numbers alone."""
    return task_labels(names) if len(names) <= LABELS_AT_MOST else [str(task) for task in range(len(names))]


def _label(axis: Any, labels: list[str], size: float) -> None:
    every = -(-len(labels) // LABELS_AT_MOST)
    axis.set_ticks(range(0, len(labels), every), labels[::every], fontsize=size)


def _task_panels(tasks: Any, scores: Any, ends: Any, names: list[str], score: str) -> Figure:
    columns = min(PANELS_IN_A_ROW, max(2, math.ceil(math.sqrt(len(names)))))
    rows = math.ceil(len(names) / columns)
    figure = NotebookFigure(figsize=(11, 1.4 + 1.5 * rows), dpi=110, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for task, (axes, label) in enumerate(zip(grid.flat, task_labels(names), strict=False)):
        own = tasks == task
        axes.plot(ends[own], scores[own], color=CURVE, linewidth=1.4, marker="o", markersize=2.5)
        axes.set_title(label.replace("$", r"\$"), fontsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    figure.supxlabel("steps (millions)", fontsize=9)
    figure.supylabel(f"{score} of the block", fontsize=9)
    return figure


def _tasks_map(tasks: Any, scores: Any, ends: Any, names: list[str], score: str) -> Figure:
    """Rows of tasks, columns of stretches of the life; the mean score of the blocks of each."""
    edges = np.linspace(0, ends[-1], DEVELOPMENT_POINTS + 1)
    columns = np.clip(np.searchsorted(edges, ends, side="left") - 1, 0, DEVELOPMENT_POINTS - 1)
    sums, counts = (np.zeros((len(names), DEVELOPMENT_POINTS)) for _ in range(2))
    np.add.at(sums, (tasks, columns), scores)
    np.add.at(counts, (tasks, columns), 1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    figure = NotebookFigure(figsize=(11, 6.5), dpi=110, layout="constrained")
    axes = figure.subplots()
    colours = mpl.colormaps["viridis"].with_extremes(bad=BLANK)
    extent = (0.0, float(ends[-1]), len(names) - 0.5, -0.5)
    image = axes.imshow(np.ma.masked_invalid(means), aspect="auto", cmap=colours, extent=extent)
    _label(axes.yaxis, _task_labels(names), 7)
    axes.set_xlabel("steps (millions)")
    axes.set_ylabel("task")
    figure.colorbar(image, ax=axes, label=f"{score}; grey: not met")
    return figure
