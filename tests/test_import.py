"""Importing the package is quick, and its names are all there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import repertory

HEAVY = ("numba", "pandas", "scipy", "sklearn", "matplotlib", "pyarrow", "torch", "ray")


def imported_by(code: str) -> set[str]:
    said = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(said.stdout.split())


def test_heavy_packages_wait_until_they_are_needed() -> None:
    assert not imported_by("import repertory").intersection(HEAVY)
    assert not imported_by("import repertory.cli").intersection(HEAVY)


def test_every_public_name_is_where_it_is_said_to_be() -> None:
    for name in repertory.__all__:
        assert getattr(repertory, name) is not None
    assert set(repertory.__all__) == set(repertory._MODULE_OF) <= set(dir(repertory))


def test_what_type_checkers_read_is_what_is_imported() -> None:
    tree = ast.parse(Path(repertory.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        (alias.asname or alias.name): node.module.removeprefix("repertory.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == repertory._MODULE_OF
