"""The page's figures for paper: SVG and PNG from the same data that the page draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from repertory.report.style import COLOURS, DASHES

mpl.use("Agg")
import matplotlib.pyplot as plt

Data = Mapping[str, Any]


def write_all(data: Data, folder: Path) -> None:
    """Every figure that the data allow."""
    for learner in dict.fromkeys(curve["learner"] for curve in data["development"]):
        curves = [curve for curve in data["development"] if curve["learner"] == learner]
        _write(
            development_figure(curves, learner, data["score"], data["stretch"]), folder / f"development-{safe(learner)}"
        )
    if len(data["conditions"]) > 1:
        _write(final_figure(data["conditions"], data["score"]), folder / "final-against-lifetime")
    for entry in data["assignment"]:
        _write(assignment_figure(entry), folder / f"assignment-{safe(entry['condition'])}")
    if data["per_task"]["conditions"]:
        _write(per_task_figure(data["per_task"], data["score"]), folder / "tasks")
    if data["learning"]["conditions"]:
        for kind in ("forgetting", "transfer"):
            _write(ratio_figure(data["learning"]["conditions"], kind), folder / kind)
    if data["capacity"]:
        _write(capacity_figure(data["capacity"]), folder / "capacity")
    for learner, pairs in data["significance"].items():
        _write(significance_figure(pairs, learner), folder / f"significance-{safe(learner)}")


def safe(name: str) -> str:
    """A name as part of a file's: runs may be called anything, and nothing is written elsewhere for it."""
    kept = "".join(character if character.isalnum() or character in "-+._" else "_" for character in name)
    return kept.strip(".")[:80] or "unnamed"


def _write(figure: Any, path: Path) -> None:
    for ending in ("svg", "png"):
        figure.savefig(path.with_name(f"{path.name}.{ending}"), dpi=150)
    plt.close(figure)


def _axes(width: float = 7, height: float = 4.4) -> tuple[Any, Any]:
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _plain_text(text: str) -> str:
    """No mathematics: a dollar sign in a name is a dollar sign."""
    return text.replace("$", r"\$")


def development_figure(curves: Sequence[Data], learner: str, score: str, stretch: int) -> Any:
    """Score over the lifetime, mean and standard error; colour by number of policies, dashes for adaptive."""
    figure, axes = _axes(8)
    sizes = sorted({curve["policies"] for curve in curves})
    by_size = len(sizes) > 1 and len(curves) <= 2 * len(sizes)
    for index, curve in enumerate(curves):
        colour = COLOURS[(sizes.index(curve["policies"]) if by_size else index) % len(COLOURS)]
        dash = ("--" if curve["adaptive"] else "-") if by_size else DASHES[index // len(COLOURS) % len(DASHES)]
        steps, mean = np.array(curve["steps"], float), np.array(curve["mean"], float)
        axes.plot(steps, mean, color=colour, linestyle=dash, linewidth=1.8, label=_plain_text(curve["condition"]))
        error = np.array([np.nan if e is None else e for e in curve["error"]], float)
        if np.isfinite(error).all():
            axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("steps lived (millions)")
    axes.set_ylabel(score)
    axes.set_xlim(left=0)
    axes.set_title(f"{_plain_text(learner.upper())}: means over {stretch} blocks", fontsize=10)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    return figure


def final_figure(rows: Sequence[Data], score: str) -> Any:
    figure, axes = _axes(6, 5)
    for index, learner in enumerate(dict.fromkeys(row["learner"] for row in rows)):
        own = [row for row in rows if row["learner"] == learner]
        x, y = [row["lifetime"] for row in own], [row["final"] for row in own]
        axes.scatter(x, y, color=COLOURS[index % 8], marker="osD^vPX*"[index % 8], label=_plain_text(learner.upper()))
    ends = [min(min(r["lifetime"], r["final"]) for r in rows), max(max(r["lifetime"], r["final"]) for r in rows)]
    axes.plot(ends, ends, color="#999999", linestyle=":", linewidth=1, zorder=0)
    axes.set_xlabel(f"lifetime {score}")
    axes.set_ylabel(f"final {score}")
    axes.legend(frameon=False)
    return figure


def assignment_figure(entry: Data) -> Any:
    """Each task's favourite policy (number) and its share (colour) over the lifetime."""
    share = _matrix(entry["share"])
    tasks, points = share.shape
    figure, axes = plt.subplots(figsize=(8, max(3.0, min(14.0, 0.24 * tasks + 1.2))), layout="constrained")
    colours = mpl.colormaps["cividis"].with_extremes(bad="#e6e6e6")
    image = axes.imshow(np.ma.masked_invalid(share), aspect="auto", cmap=colours, vmin=0, vmax=1)
    if tasks <= 40:
        for task in range(tasks):
            for point in range(points):
                policy = entry["favourite"][task][point]
                if policy is not None:
                    ink = "white" if share[task, point] < 0.6 else "black"
                    axes.text(point, task, f"{policy:.0f}", ha="center", va="center", fontsize=6, color=ink)
    axes.set_xticks(range(points), [f"{steps:.3g}" for steps in entry["steps"]], fontsize=7)
    axes.set_xlabel("steps lived (millions), end of stretch")
    axes.set_ylabel("task")
    axes.set_title(f"{_plain_text(entry['condition'])}, run {entry['run']}: favourite policy of each task", fontsize=10)
    figure.colorbar(image, ax=axes, label="share of the task's episodes")
    return figure


def per_task_figure(per_task: Data, score: str) -> Any:
    scores = _matrix(per_task["scores"])
    figure, axes = plt.subplots(figsize=(9, max(2.5, 0.3 * len(scores) + 1.2)), layout="constrained")
    colours = mpl.colormaps["viridis"].with_extremes(bad="#e6e6e6")
    image = axes.imshow(np.ma.masked_invalid(scores), aspect="auto", cmap=colours)
    axes.set_yticks(range(len(scores)), [_plain_text(name) for name in per_task["conditions"]], fontsize=8)
    axes.set_xlabel("task")
    axes.set_title("Scores by task over the last quarter of the lifetimes", fontsize=10)
    figure.colorbar(image, ax=axes, label=score)
    return figure


def ratio_figure(conditions: Sequence[Data], kind: str) -> Any:
    figure, axes = _axes(8)
    for index, entry in enumerate(conditions):
        table = entry[kind]
        places = np.arange(len(table["bin"])) + (index - len(conditions) / 2) * 0.02
        mean, error = _vector(table["mean"]), np.nan_to_num(_vector(table["error"]))
        style = {"color": COLOURS[index % 8], "linestyle": DASHES[index // 8 % 4]}
        axes.errorbar(
            places, mean, error, label=_plain_text(entry["condition"]), linewidth=1.4, marker="o", markersize=3, **style
        )
    axes.axhline(0, color="#999999", linewidth=1)
    axes.set_xticks(range(len(conditions[0][kind]["bin"])), conditions[0][kind]["bin"])
    axes.set_xlabel("interfering blocks" if kind == "forgetting" else "prior blocks")
    axes.set_ylabel(f"{kind} ratio")
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    return figure


def capacity_figure(curves: Sequence[Data]) -> Any:
    figure, axes = _axes()
    for index, curve in enumerate(curves):
        label = f"{curve['learner'].upper()}: ITC {curve['itc']:.3g}"
        axes.stairs(
            curve["capacities"][:-1],
            curve["tolerances"],
            baseline=None,
            color=COLOURS[index % 8],
            linewidth=2,
            label=label,
        )
    axes.set_xlabel("tolerance (share of the one-to-one score given up)")
    axes.set_ylabel("tasks per policy")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower right")
    return figure


def significance_figure(pairs: Sequence[Data], learner: str) -> Any:
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["condition_1"], pair["condition_2"])))
    matrix = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        i, j = names.index(pair["condition_1"]), names.index(pair["condition_2"])
        matrix[i, j] = matrix[j, i] = np.nan if pair["p_holm"] is None else pair["p_holm"]
    figure, axes = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
    colours = mpl.colormaps["cividis_r"].with_extremes(bad="#e6e6e6")
    image = axes.imshow(np.ma.masked_invalid(matrix), cmap=colours, vmin=0, vmax=0.1)
    labels = [_plain_text(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), labels, fontsize=8)
    axes.set_title(f"{learner.upper()}: pairwise F-tests of lifetime scores", fontsize=10)
    figure.colorbar(image, ax=axes, label="p, Holm-corrected (0.1 or more: dark)")
    return figure


def _matrix(rows: Sequence[Sequence[float | None]]) -> np.ndarray:
    return np.array([_vector(row) for row in rows])


def _vector(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)
