"""`repertory list`: domains, learners, ... by name, and their settings."""

from __future__ import annotations

import dataclasses

from rich.table import Column, Table

from repertory import catalogue
from repertory.catalogue import BUILT_IN, DomainEntry, all_settings, find, names
from repertory.errors import UsageError
from repertory.learners.single.settings import SinglePolicy
from repertory.paper.experiments import Published, experiment, experiment_names
from repertory.paper.forecasts import RECOMMEND, forecasts
from repertory.profiles import PROFILES, differences_on_domains, with_profile
from repertory.settings import Settings, valid_text

SHARED = frozenset(SinglePolicy.field_names())
WHAT = {
    "cartpole27": "27 tasks: cart mass, pole mass and pole length, three values each (the paper's main experiments)",
    "cartpole125": "125 tasks: the same with five values each",
    "cartpole54": "54 tasks: the 27 and their mirror images; two policies are needed, and enough",
    "cartpole1000": "1,000 tasks: Gymnasium's CartPole-v1 with ten masses, pole masses and lengths each",
    "pocman18": "18 tasks, partially observable: maze, how the object moves, whether touching it is good or bad",
    "office-rooms": "50 tasks: where the goal is, in an office of 15 rooms",
    "continual-world": "10 tasks of a robot's arm, from Meta-World (needs the extra metaworld)",
    "minigrid-empty": "5 tasks of MiniGrid: an empty room (needs the extra minigrid, as the next three do)",
    "minigrid-doorkey": "4 tasks of MiniGrid: a key, a door and a goal, in rooms of four sizes",
    "minigrid-crossing": "8 tasks of MiniGrid: walls or lava to cross",
    "minigrid-mixed": "10 tasks of MiniGrid, each of another kind",
    "dqn": "Deep Q-Network, with a choice of replay memories",
    "drqn": "the same on an LSTM over the last observations, for partial observability",
    "ppo": "Proximal Policy Optimisation, updated at each episode's end",
    "prpo": "the same on an LSTM over the last observations, for partial observability",
    "q-table": "tabular Q-learning, where observations are whole numbers",
    "random": "acts at random: the unit in which forgetting and transfer are measured",
}
"""Of what does not say it in the first line of its own documentation."""


def slim_table(first: str, *others: str) -> Table:
    """Its first column is never cut or broken, however narrow the terminal; the others are broken into lines."""
    titles = (Column(title, overflow="fold") for title in others)
    return Table(Column(first, no_wrap=True), *titles, box=None, header_style="bold", pad_edge=False)


def names_table(kind: str) -> Table:
    """Every domain, learner, selector or agent, and what it is in a line."""
    table = slim_table(kind.removesuffix("s"), "what it is")
    for name in names(kind):
        table.add_row(name, _what(kind, name))
    return table


def _what(kind: str, name: str) -> str:
    if name in WHAT and name in BUILT_IN[kind]:
        return WHAT[name]
    try:
        entry = find(kind, name)
    except UsageError as problem:  # another package that cannot be imported does not hide the others
        return str(problem)
    described = entry.build if isinstance(entry, DomainEntry) else entry
    paragraph = (getattr(described, "__doc__", None) or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


def profile_table() -> Table:
    """Every setting in which profiles differ."""
    table = slim_table("setting", "of", *PROFILES)
    for owners, settings_class in all_settings().items():
        under = [with_profile(settings_class, profile) for profile in PROFILES]
        for setting in settings_class.field_names():
            values = [str(getattr(settings, setting)) for settings in under]
            if len(set(values)) > 1:
                table.add_row(setting, owners, *values)
        for domain, setting, released in differences_on_domains(settings_class):
            text = getattr(settings_class(), setting)
            table.add_row(setting, f"{owners} on {domain}", str(text), str(released), str(text))
    return table


def experiments_table() -> Table:
    """Every experiment of the paper."""
    table = slim_table("name", "conditions", "runs", "blocks", "steps", "what")
    for name in experiment_names():
        data = experiment(name)
        counts = (len(data.conditions), data.runs, data.blocks, f"{data.blocks * data.block_steps / 1e6:g} million")
        table.add_row(name, *(str(count) for count in counts), data.title)
    table.add_row(RECOMMEND, str(len(forecasts())), *[""] * 3, "Recommendations beside the answers of full-length runs")
    return table


def experiment_table(name: str) -> Table:
    """The conditions of one, with the published scores."""
    if name == RECOMMEND:
        return _forecasts_table()
    table = slim_table("condition", "learner", "policies", "selector")
    for title in ("lifetime", "final"):
        table.add_column(f"published {title}", justify="right")
    for condition in experiment(name).conditions.values():
        scores = (published_text(condition.lifetime), published_text(condition.final))
        table.add_row(condition.name, condition.learner, str(condition.policies), condition.selector, *scores)
    return table


def _forecasts_table() -> Table:
    table = slim_table("condition", "domain", "learner", "profile", "answer")
    for row in forecasts():
        answer = f"runs of {row.answer}" if row.known is None else f"{row.known}: the tasks were made so"
        table.add_row(row.name, row.domain, row.learner, row.profile, answer)
    return table


def published_text(score: Published | None) -> str:
    if score is None:
        return ""
    return f"{score.mean:g}" + ("" if score.deviation is None else f" ± {score.deviation:g}")


def settings_table(settings_class: type[Settings]) -> Table:
    """Names, defaults, valid values and meanings."""
    table = slim_table("setting", "default", "valid", "meaning")
    # What learners share, which is off by default, comes after what is a learner's own.
    for field in sorted(dataclasses.fields(settings_class), key=lambda field: field.name in SHARED):
        valid = valid_text(settings_class, field.name)
        table.add_row(field.name, str(field.default), valid, field.metadata["meaning"])
    return table


def own_table(kind: str, name: str) -> Table:
    """What is not in the catalogue: the tasks of a domain, or what a learner of a user's own has been given."""
    part = kind.removesuffix("s")
    built = catalogue.build(part, name, "text", {})
    table = Table(box=None, header_style="bold", pad_edge=False)
    if part == "domain":
        table.add_column("task")
        table.add_column("name")
        for task, task_name in enumerate(built.task_names):
            table.add_row(str(task), task_name)
        return table
    if isinstance(built, Settings):
        return settings_table(type(built))
    table.add_column("argument", no_wrap=True)
    table.add_column("default")
    for argument, default in catalogue.arguments(built).items():
        table.add_row(argument, default)
    return table
