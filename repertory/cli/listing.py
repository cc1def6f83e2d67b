"""`repertory list`: domains, learners, ... by name, and their settings."""

from __future__ import annotations

import dataclasses

from rich.table import Column, Table

from repertory.catalogue import all_settings
from repertory.learners.single.settings import SinglePolicy
from repertory.paper.experiments import Published, experiment, experiment_names
from repertory.profiles import PROFILES, differences_on_domains, with_profile
from repertory.settings import Settings, valid_text

SHARED = frozenset(SinglePolicy.field_names())


def profile_table() -> Table:
    """Every setting in which profiles differ."""
    table = Table("of", Column("setting", no_wrap=True), *PROFILES, box=None, header_style="bold", pad_edge=False)
    for names, settings_class in all_settings().items():
        under = [with_profile(settings_class, profile) for profile in PROFILES]
        for setting in settings_class.field_names():
            values = [str(getattr(settings, setting)) for settings in under]
            if len(set(values)) > 1:
                table.add_row(names, setting, *values)
        for domain, setting, released in differences_on_domains(settings_class):
            text = getattr(settings_class(), setting)
            table.add_row(f"{names} on {domain}", setting, str(text), str(released), str(text))
    return table


def experiments_table() -> Table:
    """Every experiment of the paper."""
    table = Table(
        "name", "conditions", "runs", "blocks", "steps", "what", box=None, header_style="bold", pad_edge=False
    )
    for name in experiment_names():
        data = experiment(name)
        counts = (len(data.conditions), data.runs, data.blocks, f"{data.blocks * data.block_steps:,}")
        table.add_row(name, *(str(count) for count in counts), data.title)
    return table


def experiment_table(name: str) -> Table:
    """The conditions of one, with the published scores."""
    table = Table("condition", "learner", "policies", "selector", box=None, header_style="bold", pad_edge=False)
    for title in ("lifetime", "final"):
        table.add_column(f"published {title}", justify="right")
    for condition in experiment(name).conditions.values():
        scores = (published_text(condition.lifetime), published_text(condition.final))
        table.add_row(condition.name, condition.learner, str(condition.policies), condition.selector, *scores)
    return table


def published_text(score: Published | None) -> str:
    if score is None:
        return ""
    return f"{score.mean:g}" + ("" if score.deviation is None else f" ± {score.deviation:g}")


def settings_table(settings_class: type[Settings]) -> Table:
    """Names, defaults, valid values and meanings."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("setting", "default", "valid", "meaning"):
        table.add_column(title, no_wrap=title == "setting")
    # What learners share, which is off by default, comes after what is a learner's own.
    for field in sorted(dataclasses.fields(settings_class), key=lambda field: field.name in SHARED):
        valid = valid_text(settings_class, field.name)
        table.add_row(field.name, str(field.default), valid, field.metadata["meaning"])
    return table
