"""The page's figures for paper: SVG and PNG from the same data that the page draws."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from PIL import Image

from repertory.errors import one_line
from repertory.report.style import COLOURS, DASHES

mpl.use("Agg")
import matplotlib.pyplot as plt

Data = Mapping[str, Any]
SMALL_DPI, SMALL_COLOURS = 110, 128
LONGEST_NAME = 120
"""Bytes of a name in a file's; file systems take 255 in all."""
LONGEST_LABEL = 60
"""Characters."""


def write_all(data: Data, folder: Path) -> None:
    """Every figure that the data allow."""
    for name, draw in all_figures(data).items():
        figure = draw()
        for ending in ("svg", "png"):
            figure.savefig(folder / f"{name}.{ending}", dpi=150)
        plt.close(figure)


def write_small(figure: Any, path: Path) -> None:
    """A PNG of few colours, for a repository to keep."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=SMALL_DPI, format="png")
    plt.close(figure)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(SMALL_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def all_figures(data: Data) -> dict[str, Callable[[], Any]]:
    """What draws each figure that the data allow, by file name."""
    found: dict[str, Callable[[], Any]] = {}
    if any(row["lifetime published"] is not None for row in data["conditions"]):
        found["published"] = partial(published_figure, data)
    for learner in dict.fromkeys(curve["learner"] for curve in data["development"]):
        curves = [curve for curve in data["development"] if curve["learner"] == learner]
        draw = partial(development_figure, curves, learner, curves[0]["score"], data["stretch"])
        found[_new_name(found, "development", learner)] = draw
    if len(data["conditions"]) > 1 and len(data["domains"]) == 1:
        found["final-against-lifetime"] = partial(final_figure, data["conditions"], data["score"])
    for entry in data["assignment"]:
        found[_new_name(found, "assignment", entry["condition"])] = partial(assignment_figure, entry)
    if data["per_task"]["conditions"]:
        found["tasks"] = partial(per_task_figure, data["per_task"], data["score"])
    if data["learning"]["conditions"]:
        found |= {kind: partial(ratio_figure, data, kind) for kind in ("forgetting", "transfer")}
    if data["capacity"]:
        found["capacity"] = partial(capacity_figure, data["capacity"])
    for learner, pairs in data["significance"].items():
        found[_new_name(found, "significance", learner)] = partial(significance_figure, pairs, learner)
    return found


def _new_name(taken: Mapping[str, Any], kind: str, name: str) -> str:
    """Of a file; names that are alike once they are safe do not share one."""
    chosen = f"{kind}-{safe(name)}"
    while chosen in taken:
        chosen += "_"
    return chosen


def safe(name: str) -> str:
    """A name as part of a file's: runs may be called anything, and nothing is written elsewhere for it."""
    kept = "".join(character if character.isalnum() or character in "-+._" else "_" for character in name)
    return kept.strip(".").encode()[:LONGEST_NAME].decode(errors="ignore") or "unnamed"


def _axes(width: float = 7, height: float = 4.4) -> tuple[Any, Any]:
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    _plain_axes(axes)
    return figure, axes


def _plain_axes(axes: Any) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _plain_text(text: str) -> str:
    """No mathematics: a dollar sign in a name is a dollar sign. Nor what no font or SVG file has, nor too much."""
    line = one_line(text)
    shown = line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 3]}..."
    return shown.replace("$", r"\$")


def _curve_styles(curves: Sequence[Data]) -> list[dict[str, Any]]:
    """Colour by number of policies and dashes for adaptive, where that tells the curves apart."""
    sizes = sorted({curve["policies"] for curve in curves})
    by_size = len(sizes) > 1 and len(curves) <= 2 * len(sizes)
    return [
        {
            "color": COLOURS[(sizes.index(curve["policies"]) if by_size else index) % len(COLOURS)],
            "linestyle": ("--" if curve["adaptive"] else "-") if by_size else DASHES[index // 8 % len(DASHES)],
        }
        for index, curve in enumerate(curves)
    ]


def development_figure(curves: Sequence[Data], learner: str, score: str, stretch: int) -> Any:
    """Score over the lifetime, mean and standard error."""
    figure, axes = _axes(8)
    for curve, style in zip(curves, _curve_styles(curves), strict=True):
        steps, mean = np.array(curve["steps"], float), np.array(curve["mean"], float)
        axes.plot(steps, mean, **style, linewidth=1.8, label=_plain_text(curve["condition"]))
        error = np.array([np.nan if e is None else e for e in curve["error"]], float)
        if np.isfinite(error).all():
            axes.fill_between(steps, mean - error, mean + error, color=style["color"], alpha=0.15, linewidth=0)
    axes.set_xlabel("steps lived (millions)")
    axes.set_ylabel(_plain_text(score))
    axes.set_xlim(left=0)
    axes.set_title(f"{_plain_text(learner.upper())}: means over {stretch} blocks", fontsize=10)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    return figure


def published_figure(data: Data) -> Any:
    """Our lifetime and final scores beside the published ones: a column for each learner."""
    kinds = {curve["condition"]: curve["adaptive"] for curve in data["development"]}
    shown = [w for w in ("lifetime", "final") if any(row[f"{w} published"] is not None for row in data["conditions"])]
    compared = [row for row in data["conditions"] if any(row[f"{which} published"] is not None for which in shown)]
    learners = list(dict.fromkeys(row["learner"] for row in compared))
    figure, panels = plt.subplots(
        len(shown),
        len(learners),
        figsize=(1.2 + 4.4 * len(learners), 0.9 + 2.9 * len(shown)),
        layout="constrained",
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for column, learner in enumerate(learners):
        rows = [row | {"adaptive": kinds[row["condition"]]} for row in data["conditions"] if row["learner"] == learner]
        for axes, which in zip(panels[:, column], shown, strict=True):
            _draw_beside_published(axes, rows, which)
            if column == 0:
                axes.set_ylabel(_plain_text(f"{which} {data['score']}"))
            if all(min(row[which], row[f"{which} published"] or 0) >= 0 for row in data["conditions"]):
                axes.set_ylim(bottom=0)  # deviations reach below what scores can
        panels[0, column].set_title(_plain_text(learner.upper()), fontsize=11)
    handles = {label: handle for axes in panels.flat for handle, label in _legend(axes)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9
    )
    return figure


def _legend(axes: Any) -> Iterator[tuple[Any, str]]:
    return zip(*axes.get_legend_handles_labels(), strict=True)


def _draw_beside_published(axes: Any, rows: Sequence[Data], which: str) -> None:
    """By number of policies, unadaptive left of adaptive; by condition where that does not tell them apart."""
    sizes = sorted({row["policies"] for row in rows})
    by_size = len({(row["policies"], row["adaptive"]) for row in rows}) == len(rows)
    for index, row in enumerate(rows):
        place = float(index)
        if by_size:
            is_alone = sum(other["policies"] == row["policies"] for other in rows) == 1
            place = sizes.index(row["policies"]) + (0 if is_alone else 0.17 if row["adaptive"] else -0.17)
        mean, deviation = row[f"{which} published"], row[f"{which} published sd"]
        if mean is not None:
            bar = {"color": "#b8bcc4", "zorder": 1, "solid_capstyle": "butt"}
            for factor, width, label in ((2, 3, "published ± 2 SD"), (1, 9, "published ± SD")):
                ends = [mean - factor * (deviation or 0), mean + factor * (deviation or 0)]
                axes.plot([place, place], ends, linewidth=width, label=label, **bar)
            axes.plot(
                place, mean, "_", color="#555a66", markersize=10, markeredgewidth=1.6, zorder=2, label="published mean"
            )
        style = {"fmt": "D", "color": COLOURS[1]} if row["adaptive"] else {"fmt": "o", "color": COLOURS[0]}
        label = "ours, adaptive" if row["adaptive"] else "ours, unadaptive"
        error = row[f"{which} sd"]
        axes.errorbar(place, row[which], error, **style, markersize=5.5, elinewidth=1.2, zorder=3, label=label)
    _plain_axes(axes)
    axes.grid(axis="x", visible=False)
    if by_size:
        axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
        axes.set_xlabel("policies")
    else:
        names = [_plain_text(row["condition"]) for row in rows]
        axes.set_xticks(range(len(rows)), names, rotation=45, ha="right", fontsize=8)
    axes.label_outer()


def final_figure(rows: Sequence[Data], score: str) -> Any:
    figure, axes = _axes(6, 5)
    for index, learner in enumerate(dict.fromkeys(row["learner"] for row in rows)):
        own = [row for row in rows if row["learner"] == learner]
        x, y = [row["lifetime"] for row in own], [row["final"] for row in own]
        axes.scatter(x, y, color=COLOURS[index % 8], marker="osD^vPX*"[index % 8], label=_plain_text(learner.upper()))
    ends = [min(min(r["lifetime"], r["final"]) for r in rows), max(max(r["lifetime"], r["final"]) for r in rows)]
    axes.plot(ends, ends, color="#999999", linestyle=":", linewidth=1, zorder=0)
    axes.set_xlabel(_plain_text(f"lifetime {score}"))
    axes.set_ylabel(_plain_text(f"final {score}"))
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
    figure.colorbar(image, ax=axes, label=_plain_text(score))
    return figure


def ratio_figure(data: Data, kind: str) -> Any:
    """Forgetting or transfer by bins, a panel for each learner; libraries that are their own measure are left out."""
    ratios = {entry["condition"]: entry[kind] for entry in data["learning"]["conditions"]}
    known = [curve for curve in data["development"] if curve["condition"] in ratios]
    curves = [c for c in known if c["adaptive"] or c["policies"] != c["tasks"]] or known
    learners = list(dict.fromkeys(curve["learner"] for curve in curves))
    figure, panels = plt.subplots(
        1, len(learners), figsize=(1.5 + 5.2 * len(learners), 4.6), layout="constrained", sharey=True, squeeze=False
    )
    for axes, learner in zip(panels[0], learners, strict=True):
        own = [curve for curve in curves if curve["learner"] == learner]
        for index, (curve, style) in enumerate(zip(own, _curve_styles(own), strict=True)):
            table = ratios[curve["condition"]]
            places = np.arange(len(table["bin"])) + (index - (len(own) - 1) / 2) * 0.04
            mean, error = _vector(table["mean"]), np.nan_to_num(_vector(table["error"]))
            label = _plain_text(curve["condition"])
            axes.errorbar(
                places, mean, error, label=label, linewidth=1.5, elinewidth=0.8, marker="o", markersize=3, **style
            )
        _plain_axes(axes)
        axes.axhline(0, color="#777777", linewidth=1, zorder=0)
        axes.set_xticks(range(len(table["bin"])), table["bin"])
        axes.set_xlabel("interfering blocks" if kind == "forgetting" else "prior blocks")
        axes.set_title(_plain_text(learner.upper()), fontsize=10)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=8, handlelength=3)
    panels[0][0].set_ylabel(f"{kind} ratio")
    return figure


def capacity_figure(curves: Sequence[Data]) -> Any:
    figure, axes = _axes()
    for index, curve in enumerate(curves):
        published = "" if curve["published itc"] is None else f" (published: {curve['published itc']:g})"
        label = f"{_plain_text(curve['learner'].upper())}: integrated {curve['itc']:.3g}{published}"
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
    axes.set_title(f"{_plain_text(learner.upper())}: pairwise F-tests of lifetime scores", fontsize=10)
    figure.colorbar(image, ax=axes, label="p, Holm-corrected (0.1 or more: dark)")
    return figure


def _matrix(rows: Sequence[Sequence[float | None]]) -> np.ndarray:
    return np.array([_vector(row) for row in rows])


def _vector(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)
