"""Tables as text: CSV for programs, LaTeX for papers, Markdown for pages in a repository."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
MARKDOWN = "\\`*_{}[]<>#~"
"""Characters that mean something in Markdown, but for those that do only at the start of a line, and `|`."""


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """`path`.csv and `path`.tex; a table without rows is written as such."""
    # A name in it may be any file's, and need not be text.
    frame.to_csv(path.with_name(f"{path.name}.csv"), index=False, errors="backslashreplace")
    path.with_name(f"{path.name}.tex").write_text(latex(frame), encoding="utf-8", errors="backslashreplace")


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


def markdown(titles: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """A table whose cells are Markdown already; the first columns are text, the others numbers."""
    rules = [":--" if index < text_columns else "--:" for index in range(len(titles))]
    lines = [titles, rules, *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def markdown_text(text: str) -> str:
    """Text from elsewhere, whatever it holds, as Markdown that shows it."""
    return "".join(f"\\{character}" if character in MARKDOWN else character for character in " ".join(text.split()))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
