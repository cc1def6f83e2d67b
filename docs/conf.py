"""How the pages are built: `sphinx-build -W docs OUT`, or `make docs`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator
from typing import Any

from repertory.settings import Settings, valid_text

project = "repertory"
author = "the authors of repertory"
version = release = importlib.metadata.version("repertory")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
highlight_language = "none"  # what has no language named is a command line or its output

html_theme = "furo"
html_title = f"repertory {version}"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_docstring_signature = False
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
autodoc_type_aliases = {"MakeLearner": "MakeLearner", "MakeSelector": "MakeSelector"}
python_use_unqualified_type_names = True
# The adapters can be described without the packages they adapt.
autodoc_mock_imports = [
    name for name in ("sb3_contrib", "stable_baselines3", "torch") if not importlib.util.find_spec(name)
]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", from_plain_text)
    app.connect("autodoc-process-signature", in_short)


def in_short(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Signatures without module names; of settings, whose table follows, none at all."""
    if isinstance(thing, type) and issubclass(thing, Settings) and thing is not Settings:
        return "(*, ...)" if thing.field_names() else "()", None
    return _short(signature), _short(result)


def _short(annotated: str | None) -> str | None:
    if annotated is None:
        return None
    bare = re.sub(r"~(?:\w+\.)*(\w+)", r"\1", annotated).replace("<factory>", "...")
    bare = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", bare)
    return re.sub(r"ndarray\[tuple\[Any, ...\], dtype\[(\w+)\]\]", r"NDArray[\1]", bare)


def from_plain_text(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings here are plain text; make them mean to Sphinx what they mean to a reader."""
    by_python = ("Alias for field number", f"{getattr(thing, '__name__', name)}(")
    if lines and lines[0].startswith(by_python):
        lines.clear()  # about a NamedTuple or a dataclass that says nothing itself
    title = [f".. rubric:: {name}", ""] if what == "module" else []
    lines[:] = [*title, *_marked_up(lines), *_settings_table(thing)]


def _marked_up(lines: list[str]) -> Iterator[str]:
    """`name` is code, indented paragraphs are code, and no other character means anything."""
    is_code, last = False, ""
    for line in lines:
        indented = line.startswith("    ")
        if indented and not is_code and not last.strip():
            yield from (".. code-block:: none", "")
            is_code = True
        elif line.strip() and not indented:
            is_code = False
        yield line if is_code or line.startswith(">>>") else _escaped(line)
        last = line


def _escaped(line: str) -> str:
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(f"`{part}`" if part.startswith("`") else re.sub(r"([*|_\\])", r"\\\1", part) for part in parts)


def _settings_table(thing: Any) -> Iterator[str]:
    """What can be set of a settings class, as `repertory list` shows it."""
    if not (isinstance(thing, type) and issubclass(thing, Settings) and thing.field_names()):
        return
    yield from ("", ".. list-table::", "   :header-rows: 1", "   :widths: auto", "")
    rows = [("setting", "default", "valid", "meaning")]
    for name in thing.field_names():
        field = thing.__dataclass_fields__[name]
        meaning = _escaped(str(field.metadata.get("meaning", "")))
        rows.append((f"``{name}``", f"``{field.default!r}``", _escaped(valid_text(thing, name)), meaning))
    for row in rows:
        yield from (f"   {'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row))
    yield ""
