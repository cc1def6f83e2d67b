"""One table, and what it becomes: HTML for the page, Markdown for RESULTS.md, CSV, LaTeX, and text on the console.

A table has raw rows, which CSV files hold to the last digit, and columns, which say what is shown of them.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich import table as rich_table
from rich.text import Text

from repertory.report import escaping

Row = Mapping[str, Any]
TEXT, PROSE, NUMBER, SHARE = "text", "prose", "number", "share"
"""Kinds of column: a name, sentences that may be broken into lines, numbers, and how much of a whole is done."""
STRONG, GOOD, BAD, DIM = "strong", "good", "bad", "dim"
"""Tones of a cell."""
NARROW, TEXT_AT_LEAST = 80, 12
"""Columns of the narrowest terminal that names are whole in, and of text that can be broken."""
CONSOLE_STYLES = {STRONG: "bold", GOOD: "green", BAD: "red", DIM: "dim"}


@dataclass(frozen=True)
class Column:
    """What is shown of each row."""

    title: str
    show: Callable[[Row], str]
    """The text of a cell; empty where there is nothing to say."""
    kind: str = NUMBER
    tone: Callable[[Row], str] = lambda row: ""
    value: Callable[[Row], Any] | None = None
    """Of a column of single values: what is shown, to as many decimals in every row."""
    digits: int = 4

    @property
    def is_text(self) -> bool:
        return self.kind in (TEXT, PROSE)


def column(title: str, key: str | None = None, digits: int = 4, kind: str = NUMBER) -> Column:
    """A single value, under its own name if no other is given."""
    source = title if key is None else key
    return Column(
        title, lambda row: number(row.get(source), digits), kind, value=lambda row: row.get(source), digits=digits
    )


def name_column(title: str, key: str | None = None, kind: str = TEXT) -> Column:
    return column(title, key, kind=kind)


def number(value: Any, digits: int = 4) -> str:
    """Any value in a few digits; empty for None and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # NumPy's own as well
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else value if isinstance(value, str) else str(value)


def decimals(values: Sequence[Any], digits: int) -> int | None:
    """Behind the point in every number of a column: its largest has so many digits, and none ends in needless zeros.

    None where there is nothing to align, or where the smallest numbers would be shown as 0.
    """
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    if not sizes or max(sizes) / min(sizes) > 10**digits or max(sizes) >= 10 ** (2 * digits):
        return None
    most = max(0, digits - 1 - math.floor(math.log10(max(sizes))))
    return next(
        (fewer for fewer in range(most) if all(f"{s:.{most}f}" == f"{round(s, fewer):.{most}f}" for s in sizes)), most
    )


def _aligned(column: Column, rows: Sequence[Row]) -> list[str]:
    """The text of a column's cells."""
    shown = [column.show(row) for row in rows]
    if column.value is None:
        return shown
    values = [column.value(row) for row in rows]
    places = decimals(values, column.digits)
    return [
        f"{value:.{places}f}" if places is not None and text and _is_number(value) else text
        for value, text in zip(values, shown, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class Cell(NamedTuple):
    column: Column
    text: str
    tone: str


@dataclass(frozen=True)
class Table:
    name: str
    """Of its files."""
    columns: Sequence[Column]
    rows: Sequence[Row]

    def shown(self) -> tuple[list[Column], list[list[Cell]]]:
        """Columns and lines of cells, without the columns that are empty in all rows."""
        texts = [_aligned(column, self.rows) for column in self.columns]
        lines = [
            [Cell(column, text[place], column.tone(row)) for column, text in zip(self.columns, texts, strict=True)]
            for place, row in enumerate(self.rows)
        ]
        filled = [index for index in range(len(self.columns)) if any(line[index].text for line in lines) or not lines]
        return [self.columns[index] for index in filled], [[line[index] for index in filled] for line in lines]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, None where they have nothing."""
    known = {
        str(name): [None if gone else value for value, gone in zip(values.tolist(), values.isna(), strict=True)]
        for name, values in frame.items()
    }
    return [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True)]


def from_frame(name: str, frame: pd.DataFrame) -> Table:
    """Every column of a frame as it is, numbers to four places."""
    kinds = [NUMBER if pd.api.types.is_numeric_dtype(frame[name]) else TEXT for name in frame.columns]
    columns = [column(str(name), kind=kind) for name, kind in zip(frame.columns, kinds, strict=True)]
    return Table(name, columns, records(frame))


# -------------------------------------------------------------------------------------------------- what it becomes


def to_html(table: Table, label: str = "") -> str:
    """In a region that scrolls sideways, by keyboard too; the name in the first column is the heading of its row.

    Of a table with prose, a phone shows the cells of a row below each other.
    """
    columns, lines = table.shown()
    head = "".join(f'<th scope="col" class="{column.kind}">{escaping.to_html(column.title)}</th>' for column in columns)
    rows = "\n".join(f"<tr>{''.join(_html_cell(cell, cell is line[0]) for cell in line)}</tr>" for line in lines)
    named = escaping.to_html(label or table.name)
    kind = ' class="reading"' if any(column.kind == PROSE for column in columns) else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{named}"><table{kind}>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _html_cell(cell: Cell, is_first: bool) -> str:
    content = escaping.to_html(cell.text)
    if cell.column.kind == SHARE and cell.text:
        content = f'<progress max="100" value="{cell.text.rstrip("%")}" aria-label="{cell.text}">{cell.text}</progress>'
    kind = f'class="{cell.column.kind} {cell.tone}"'
    return (
        f'<th scope="row" {kind}>{content}</th>' if is_first and cell.column.is_text else f"<td {kind}>{content}</td>"
    )


def to_markdown(table: Table) -> str:
    columns, lines = table.shown()
    head = [escaping.to_markdown(column.title) for column in columns]
    rules = [":--" if column.is_text else "--:" for column in columns]
    body = [[_strong(cell, escaping.to_markdown(cell.text), "**{}**") for cell in line] for line in lines]
    return "".join(
        "| " + " | ".join(text.replace("|", r"\|") for text in line) + " |\n" for line in (head, rules, *body)
    )


def to_latex(table: Table) -> str:
    """A tabular with a header line."""
    columns, lines = table.shown()
    body = [[_strong(cell, escaping.to_latex(cell.text), r"\textbf{{{}}}") for cell in line] for line in lines]
    text = [
        r"\begin{tabular}{" + "".join("l" if column.is_text else "r" for column in columns) + "}",
        " & ".join(escaping.to_latex(column.title) for column in columns) + r" \\ \hline",
        *(" & ".join(line) + r" \\" for line in body),
        r"\end{tabular}",
    ]
    return "\n".join(text) + "\n"


def _strong(cell: Cell, text: str, form: str) -> str:
    return form.format(text) if text and cell.tone == STRONG else text


def to_csv(table: Table) -> str:
    """The raw rows."""
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    content = io.StringIO()
    writer = csv.DictWriter(content, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if _is_nan(value) else value for name, value in row.items()} for row in table.rows)
    return content.getvalue()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def to_console(table: Table) -> rich_table.Table:
    """For a terminal that may have 80 columns: numbers are never broken, and names only if nothing else helps."""
    columns, lines = table.shown()
    has_prose = any(column.kind == PROSE for column in columns)
    longest = [max(map(len, column.title.split()), default=1) for column in columns]
    widths = [max(word, *(len(line[place].text) for line in lines), 1) for place, word in enumerate(longest)]
    least = [
        min(width, TEXT_AT_LEAST) if column.is_text else width for column, width in zip(columns, widths, strict=True)
    ]
    room = NARROW - sum(least[1:]) - max(widths[:1], default=0)
    gap = 2 if has_prose or room >= 2 * (len(least) - 1) else 1
    fits = room >= gap * (len(least) - 1)
    padding = (0, gap, 1 if has_prose else 0, 0)
    made = rich_table.Table(box=None, header_style="bold", pad_edge=False, padding=padding)
    for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
        ratio = 1 if column.kind == PROSE else None
        side: Any = "left" if column.is_text else "right"
        is_whole = not column.is_text or (place == 0 and (has_prose or fits))
        title = column.title if column.is_text else _broken(column.title, width)
        made.add_column(Text(title), justify=side, ratio=ratio, no_wrap=is_whole, overflow="fold")
    for line in lines:
        made.add_row(*(Text(escaping.to_console(cell.text), CONSOLE_STYLES.get(cell.tone, "")) for cell in line))
    return made


def _broken(title: str, width: int) -> str:
    """A heading in lines no wider than the numbers below it, as far as its words allow."""
    return "\n".join(textwrap.wrap(title, width, break_long_words=False, break_on_hyphens=False)) or title


def write_table(table: Table, folder: Path, name: str) -> None:
    """NAME.csv and NAME.tex; a table without rows is written as such."""
    # A name in it may be any file's, and need not be text.
    for ending, text in (("csv", to_csv(table)), ("tex", to_latex(table))):
        (folder / f"{name}.{ending}").write_text(text, encoding="utf-8", errors="backslashreplace")
