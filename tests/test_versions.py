"""The versions we declare: each is tried out, by `make test-lowest`."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_lowest_versions_are_tried_out() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lowest = "".join(requirement.replace(">=", "==") + "\n" for requirement in declared)
    assert (ROOT / "constraints-lowest.txt").read_text() == lowest, "next: write this into constraints-lowest.txt"
