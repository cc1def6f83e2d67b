"""Text for each way of showing it. Text from runs may hold anything, and is shown as it is: markup in it has no effect.

Our own sentences may stress *words* and quote `code`: they are `Marked`.
"""

from __future__ import annotations

import html
import re

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
STRESS, CODE = re.compile(r"\*([^*]+)\*"), re.compile(r"`([^`]+)`")


class Marked(str):
    """Text of our own: *stressed* words and `code` are read as such."""

    __slots__ = ()


def to_html(text: str) -> str:
    escaped = html.escape(text)
    if isinstance(text, Marked):
        return CODE.sub(r"<code>\1</code>", STRESS.sub(r"<em>\1</em>", escaped))
    return escaped


def to_markdown(text: str) -> str:
    if isinstance(text, Marked):
        return text
    return "".join(f"\\{character}" if character in MARKDOWN else character for character in " ".join(text.split()))


def to_latex(text: str) -> str:
    escaped = "".join(LATEX.get(character, character) for character in text)
    if isinstance(text, Marked):
        return CODE.sub(r"\\texttt{\1}", STRESS.sub(r"\\emph{\1}", escaped))
    return escaped


def to_console(text: str) -> str:
    return CODE.sub(r"\1", STRESS.sub(r"\1", text)) if isinstance(text, Marked) else text
