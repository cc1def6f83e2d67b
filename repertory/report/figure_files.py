"""A table or figure of the paper as files: PNG, SVG and PDF, CSV, and the LaTeX that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from repertory.report import escaping
from repertory.report.figure_content import Content
from repertory.report.figures import Figure
from repertory.report.table import to_csv, to_latex
from repertory.report.to_matplotlib import DETERMINISTIC, DPI, to_matplotlib, write_figure

PICTURES = ("png", "svg", "pdf")


def write_files(figure: Figure, content: Content, caption: str, folder: Path) -> list[str]:
    """Write NAME.tex and what it shows; returns the names of all files."""
    names: list[str] = []
    parts: list[str] = []
    for chart in content.charts:
        write_figure(chart, folder, ("png", "svg"))
        with mpl.rc_context(DETERMINISTIC):
            FigureCanvasPdf(to_matplotlib(chart)).print_pdf(
                folder / f"{chart.name}.pdf", metadata={"CreationDate": None}
            )
        names += [f"{chart.name}.{ending}" for ending in PICTURES]
        parts.append(_included(chart.name, len(content.charts)))
    if content.picture is not None:
        _write_picture(content.picture, lambda ending: folder / f"{figure.name}.{ending}")
        names += [f"{figure.name}.{ending}" for ending in PICTURES]
        parts.append(_included(figure.name, 2))
    for table in content.tables:
        # A name in it may be any file's, and need not be text.
        (folder / f"{figure.name}.csv").write_text(to_csv(table), encoding="utf-8", errors="backslashreplace")
        names.append(f"{figure.name}.csv")
        parts.append(to_latex(table))
    kind = "table" if figure.is_table else "figure"
    ends = rf"\begin{{{kind}}}[htbp]", rf"\end{{{kind}}}"
    label = rf"\caption{{{escaping.to_latex(caption)}}}\label{{{figure.label}}}"
    text = "\n".join([ends[0], r"\centering", *(part.rstrip("\n") for part in parts), label, ends[1], ""])
    (folder / f"{figure.name}.tex").write_text(text, encoding="utf-8", errors="backslashreplace")
    return [*names, f"{figure.name}.tex"]


def _included(name: str, beside: int) -> str:
    return rf"\includegraphics[width={0.98 / min(beside, 2):.2f}\textwidth]{{{name}.pdf}}"


def _write_picture(picture: NDArray[np.uint8], file: Callable[[str], Path]) -> None:
    """As it is, a pixel for a pixel."""
    height, width = picture.shape[:2]
    drawing = Drawing(figsize=(width / DPI, height / DPI), dpi=DPI)
    axes: Any = drawing.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.imshow(picture, interpolation="nearest")
    without_date: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with mpl.rc_context(DETERMINISTIC):
        for ending in PICTURES:
            drawing.savefig(file(ending), metadata=without_date[ending])
