"""Every learner and selector of the catalogue, small enough to be quick: tests that go through them forget none."""

from __future__ import annotations

from typing import Any

from repertory import catalogue
from repertory.settings import Settings

SUITS = {"q-table": "office-rooms"}
"""Learners that cannot play just any domain."""


def every_learner(**small: Any) -> dict[str, tuple[str, Settings]]:
    """By name: a domain that suits it, and its settings with those of `small` that it has."""
    found = {}
    for name in catalogue.BUILT_IN["learners"]:
        kind = catalogue.settings_class("learners", name)
        own = {key: value for key, value in small.items() if key in kind.field_names()}
        looks_back = "window" in kind.field_names()
        found[name] = (SUITS.get(name, "pocman18" if looks_back else "cartpole27"), kind(**own))
    return found


def every_selector() -> dict[str, Any]:
    return {name: catalogue.selector(name) for name in catalogue.BUILT_IN["selectors"]}
