"""Experiments as data: conditions, length, number of runs and, for the paper's, the published values beside them.

Each table or figure of the paper is one TOML file in `published/`; those in `beyond/` ask what the paper does not. A
published score is `[mean, standard deviation]` over runs, or `[mean]` where the paper prints no more. A file of one's
own has the same form and needs no more than this:

    domain = "cartpole27"
    blocks = 100
    [conditions]
    Two  = { learner = "dqn", policies = 2 }
    Nine = { learner = "dqn", policies = 9, settings.learner.learning_rate = 0.05 }

`domain` may be any Gymnasium id, with `settings.domain.vary = { gravity = [-10, -2] }` for all conditions, or code of
one's own, `my_tasks.py:domain`; `learner` may be `sb3:SAC` or `my_learner.py:make`.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from repertory import catalogue
from repertory.core.metrics import FINAL_SCORES, LAST_BLOCKS
from repertory.core.sequence import SEQUENCES
from repertory.errors import UsageError, unknown
from repertory.paper.forecasts import RECOMMEND
from repertory.runs.spec import COMPONENTS, DEFAULTS

TASK_OF_THE_RUN = "of the run"
FOLDERS = ("published", "beyond")
"""Of experiment files: those of the paper's tables and figures, and those that go past it."""


class Published(NamedTuple):
    """A score as the paper prints it."""

    mean: float
    deviation: float | None = None
    """Standard deviation over runs."""


@dataclass(frozen=True)
class Condition:
    """One line of a table: what each of its runs is made of."""

    name: str
    learner: str
    policies: int
    selector: str = DEFAULTS["selector"]
    agent: str = DEFAULTS["agent"]
    hidden_tasks: bool = False
    profile: str = ""
    """Of single components, on top of the sweep's: `learner=sound`."""
    task: str | int | tuple[int, ...] | None = None
    """The only tasks; `TASK_OF_THE_RUN` if run n has task n alone."""
    runs: int = 1
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes to the settings of `learner`, `selector`, `agent` and `domain`."""
    lifetime: Published | None = None
    final: Published | None = None


class Comparison(NamedTuple):
    """A p-value of the paper."""

    conditions: tuple[str, str]
    score: str
    p: float


class PublishedCapacity(NamedTuple):
    """Empirical task capacity at a tolerance, or the number of policies it amounts to; and its integral."""

    tolerance: float
    capacity: float | None = None
    integrated: float | None = None
    policies: int | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or an experiment of one's own."""

    name: str
    title: str
    domain: str
    runs: int
    blocks: int
    block_steps: int
    """Of a lifetime; the domain's usual length if a file does not say."""
    conditions: Mapping[str, Condition]
    final: str = LAST_BLOCKS
    """One of `FINAL_SCORES`."""
    sequence: str = "seed"
    """Where task sequences come from, unless a sweep says otherwise: see `repertory.core.sequence`."""
    comparisons: tuple[Comparison, ...] = ()
    capacity: Mapping[str, PublishedCapacity] = field(default_factory=dict)
    """By learner."""
    ranges: tuple[Mapping[str, Any], ...] = ()
    """What the paper gives as a range: `metric`, `range` and the `conditions` it is of, as patterns."""
    against: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which conditions are compared with each of some, run by run, as patterns: `Two = ["One", "Fixed*"]`."""
    days_per_run: tuple[float, ...] = ()
    """On the wall, as the paper prints them: a number, or from the one to the other."""

    def select(self, patterns: Sequence[str]) -> list[Condition]:
        """The conditions whose names match one of the patterns (`AdaptiveDQN9P`, `Unadaptive*`); all if none."""
        if not patterns:
            return list(self.conditions.values())
        for pattern in patterns:
            if not fnmatch.filter(self.conditions, pattern):
                raise unknown(f"condition of {self.name}", pattern, self.conditions)
        matches = [name for name in self.conditions if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
        return [self.conditions[name] for name in matches]


@cache
def experiment_names(folders: tuple[str, ...] = FOLDERS) -> tuple[str, ...]:
    return tuple(sorted(name for folder in folders for name in _files(folder)))


@cache
def _files(folder: str) -> dict[str, Traversable]:
    files = resources.files("repertory.paper").joinpath(folder).iterdir()
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}


def experiments_named(name: str) -> tuple[str, ...]:
    """The one of that name or, where there is none, those whose names begin with it: `rivals` is `rivals-cartpole27`
    and all its like. The name itself, if there are none either."""
    family = tuple(each for each in experiment_names() if each.startswith(f"{name}-"))
    return (name,) if name in experiment_names() or not family else family


@cache
def experiment(name: str) -> Experiment:
    """An experiment by name."""
    if name not in experiment_names():
        raise unknown("experiment", name, (*experiment_names(), RECOMMEND))
    file = next(files[name] for files in map(_files, FOLDERS) if name in files)
    return read_experiment(name, tomllib.loads(file.read_text()))


SCORES = {"lifetime", "final"}
"""Keys of a condition with what the paper prints."""
CONDITION_KEYS = tuple(each.name for each in fields(Condition) if each.name != "name")
KEYS = ("defaults", "task", "settings", *(each.name for each in fields(Experiment) if each.name != "name"))


def read_experiment(name: str, content: Mapping[str, Any]) -> Experiment:
    """From the content of a file; whatever has no place in an experiment fails."""
    for key in content:
        if key not in KEYS:
            raise unknown(f"key in {name}", key, KEYS)
    rest = {"title": name, "runs": 1, **content}
    defaults, tables = rest.pop("defaults", {}), rest.pop("conditions", {})
    if not isinstance(rest.get("domain"), str):
        raise UsageError(
            f"'domain' in {name} is {rest.get('domain')!r}; valid: {', '.join(catalogue.names('domains'))}"
        )
    if not isinstance(tables, dict) or not isinstance(defaults, dict) or not tables:
        raise UsageError(f"{name} has no conditions; valid: a table [conditions] with one entry or more")
    usual = catalogue.lengths(rest["domain"])
    rest = {"blocks": usual[0], "block_steps": usual[1], **rest}
    if rest.get("sequence", "seed") not in SEQUENCES:
        raise unknown(f"sequence in {name}", rest["sequence"], SEQUENCES)
    if rest.get("final", LAST_BLOCKS) not in FINAL_SCORES:
        raise unknown(f"final score in {name}", rest["final"], FINAL_SCORES)
    for key in ("runs", "blocks", "block_steps"):
        _check_count(name, key, rest[key])
    defaults = {"runs": rest["runs"], "task": rest.pop("task", None), **defaults}
    shared = _checked_settings(rest.pop("settings", {}), name)
    conditions = {key: _read_condition(name, key, value, defaults, shared) for key, value in tables.items()}
    against = _read_against(name, rest.pop("against", {}), conditions)
    try:
        published = _read_published(rest)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UsageError(
            f"what {name} says of published values has another form than the paper's files ({error})"
        ) from None
    for comparison in published["comparisons"]:
        for condition in comparison.conditions:
            if condition not in conditions:
                raise UsageError(f"experiment {name} compares {condition}, which it does not have")
    return Experiment(name=name, conditions=conditions, against=against, **published, **rest)


def _check_count(source: str, key: str, given: Any) -> None:
    if type(given) is not int or given < 1:
        raise UsageError(f"'{key}' in {source} is {given!r}; valid: a whole number at least 1")


def _read_task(source: str, given: Any) -> str | int | tuple[int, ...] | None:
    """Whether there are such tasks is seen when runs are made of them."""
    tasks = given if isinstance(given, list) else [given]
    if given in (None, TASK_OF_THE_RUN) or (tasks and all(type(task) is int and task >= 0 for task in tasks)):
        return tuple(given) if isinstance(given, list) else given
    raise UsageError(f"'task' in {source} is {given!r}; valid: '{TASK_OF_THE_RUN}', a task, or a list of tasks")


def _read_against(source: str, given: Any, conditions: Mapping[str, Condition]) -> dict[str, tuple[str, ...]]:
    """A condition and the patterns of those compared with it; a pattern that matches none is a slip of the pen."""
    if not isinstance(given, dict) or not all(isinstance(patterns, list) for patterns in given.values()):
        raise UsageError(f"'against' in {source} is {given!r}; valid: a table of lists (Two = ['One', 'Fixed*'])")
    for reference, patterns in given.items():
        for pattern in (reference, *patterns):
            if not (pattern in conditions if pattern is reference else fnmatch.filter(conditions, str(pattern))):
                raise unknown(f"condition in 'against' of {source}", pattern, conditions)
    return {reference: tuple(patterns) for reference, patterns in given.items()}


def _read_published(rest: dict[str, Any]) -> dict[str, Any]:
    """What the paper prints of an experiment besides scores, taken out of the content of its file."""
    return {
        "comparisons": tuple(
            Comparison(tuple(entry.pop("conditions")), **entry) for entry in map(dict, rest.pop("comparisons", []))
        ),
        "ranges": tuple(map(dict, rest.pop("ranges", []))),
        "days_per_run": tuple(rest.pop("days_per_run", ())),
        "capacity": {name: PublishedCapacity(**entry) for name, entry in rest.pop("capacity", {}).items()},
    }


def _read_score(what: str, given: Any) -> Published:
    numbers = given if isinstance(given, list) else []
    if not 1 <= len(numbers) <= 2 or not all(type(number) in (int, float) for number in numbers):
        raise UsageError(f"{what} is {given!r}; valid: [mean] or [mean, standard deviation]")
    return Published(*numbers)


def _checked_settings(settings: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(settings, dict) or not all(isinstance(part, dict) for part in settings.values()):
        raise UsageError(f"'settings' of {where} is not a table of tables (learner.gamma = 0.9)")
    for part in settings:
        if part not in COMPONENTS:
            raise unknown(f"component in the settings of {where}", part, COMPONENTS)
    return settings


def _read_condition(
    source: str,
    name: str,
    given: Any,
    defaults: Mapping[str, Any],
    shared: Mapping[str, Mapping[str, Any]],
) -> Condition:
    """`shared` are settings of all conditions, on which each has its own."""
    if not isinstance(given, dict):
        raise UsageError(f"condition '{name}' in {source} is {given!r}; valid: a table with 'learner' and 'policies'")
    if not name or any(character in name for character in "/\\\0") or name.startswith("."):
        raise UsageError(f"condition {name!r} in {source} cannot be the name of a folder; valid: letters and digits")
    entry = {**defaults, **given}
    for key in entry:
        if key not in CONDITION_KEYS:
            raise unknown(f"key of condition '{name}' in {source}", key, CONDITION_KEYS)
    for key in ("learner", "policies"):
        if key not in entry:
            raise UsageError(f"condition '{name}' in {source} has no '{key}'; next: add it, or give it in [defaults]")
    settings = _checked_settings(entry.get("settings", {}), f"condition '{name}' in {source}")
    if shared:
        parts = [part for part in COMPONENTS if part in shared or part in settings]
        entry["settings"] = {part: {**shared.get(part, {}), **settings.get(part, {})} for part in parts}
    _check_count(f"condition '{name}' of {source}", "runs", entry["runs"])
    entry["task"] = _read_task(f"condition '{name}' of {source}", entry["task"])
    where = f"condition '{name}' in {source}"
    scores = {key: _read_score(f"'{key}' of {where}", entry[key]) for key in SCORES & entry.keys()}
    return Condition(**{**entry, "name": name, **scores})
