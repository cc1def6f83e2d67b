"""Tables as files: CSV for programs, LaTeX for papers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """`path`.csv and `path`.tex; a table without rows is written as such."""
    frame.to_csv(path.with_suffix(".csv"), index=False)
    path.with_suffix(".tex").write_text(latex(frame), encoding="utf-8")


def latex(frame: pd.DataFrame) -> str:
    """A tabular with a header line; numbers to four places, text escaped."""
    numeric = [pd.api.types.is_numeric_dtype(frame[column]) for column in frame.columns]
    lines = [
        r"\begin{tabular}{" + "".join("r" if is_number else "l" for is_number in numeric) + "}",
        " & ".join(escape(str(column)) for column in frame.columns) + r" \\ \hline",
        *(" & ".join(_cell(value) for value in row) + r" \\" for row in frame.itertuples(index=False)),
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
