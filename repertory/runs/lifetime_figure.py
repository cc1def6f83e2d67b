"""Figures of a lifetime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from repertory.core.metrics import block_scores, development
from repertory.core.tally import RECENT_BLOCKS, recent_shares
from repertory.runs.folder import RunFolder
from repertory.runs.record import Record

mpl.use("Agg")
import matplotlib.pyplot as plt

INK, BLOCK, CURVE = "#202124", "#9db7d5", "#0b4f8a"
LABELS_AT_MOST = 30
DEVELOPMENT_POINTS = 15


def lifetime_figure(blocks: pd.DataFrame, settings: dict[str, Any], path: Path) -> None:
    """Score over the lifetime, and which policies each task uses at its end."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), width_ratios=[1.35, 1], layout="constrained")
    _draw_scores(left, blocks, settings["score"])
    _draw_map(right, figure, blocks, len(settings["task_names"]))
    figure.suptitle(_title(settings), fontsize=11, color=INK)
    figure.savefig(path, dpi=150, format="png")
    plt.close(figure)


def draw_lifetime(record: Record, folder: RunFolder) -> None:
    """The figure of a run, in its folder."""
    folder.write(folder.figure_file, lambda path: lifetime_figure(record.blocks, record.settings, path))


def _title(settings: dict[str, Any]) -> str:
    return (
        f"{settings['domain']['name']}: {settings['policies']} policies of {settings['learner']['name'].upper()}, "
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


def _draw_map(axes: Any, figure: Any, blocks: pd.DataFrame, n_tasks: int) -> None:
    shares = recent_shares(blocks, n_tasks)
    colours = mpl.colormaps["cividis"].with_extremes(bad="#e6e6e6")
    image = axes.imshow(np.ma.masked_invalid(shares), aspect="auto", cmap=colours, vmin=0, vmax=1)
    n_policies = shares.shape[1]
    for axis, count, size in ((axes.xaxis, n_policies, 8), (axes.yaxis, n_tasks, 7)):
        every = -(-count // LABELS_AT_MOST)
        axis.set_ticks(range(0, count, every), [str(i) for i in range(0, count, every)], fontsize=size)
    axes.set_xlabel("policy")
    axes.set_ylabel("task")
    title = f"Who plays what (each task's last {RECENT_BLOCKS} blocks)"
    axes.set_title(f"{title}; grey: never met" if np.isnan(shares).any() else title, fontsize=10)
    figure.colorbar(image, ax=axes, label="share of episodes")
