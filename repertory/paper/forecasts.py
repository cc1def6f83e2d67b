"""Recommendations to compare with the answer of full-length runs, as `forecasts.toml` has them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Forecast:
    """What a recommendation is asked, and where the answer is."""

    name: str
    domain: str
    learner: str
    profile: str
    blocks: int | None = None
    block_steps: int | None = None
    answer: str | None = None
    """The sweep whose unadaptive runs tell."""
    known: int | None = None
    """The answer, where the tasks were made so."""


@cache
def forecasts() -> tuple[Forecast, ...]:
    content = tomllib.loads(resources.files("repertory.paper").joinpath("forecasts.toml").read_text())
    return tuple(Forecast(name, **row) for name, row in content.items())
