"""Runs that cannot be read."""

from __future__ import annotations

from repertory.report.section import Section
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    if not results.problems:
        return None
    intro = "These runs cannot be read, and are in no table or figure here."
    return Section("problems", "Left out", intro, results.problems)
