"""Settings from a command line and a TOML file, checked by name.

    [run]
    domain = "cartpole27"
    policies = 9

    [learner]
    learning_rate = 0.05

`--set learner.learning_rate=0.05` says the same as the last two lines and wins over the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repertory import catalogue
from repertory.domains.domain import Domain
from repertory.errors import UsageError, unknown
from repertory.experiments.plan import Plan, make_plan
from repertory.learners.protocol import MakeLearner

COMPONENTS = ("domain", "learner", "selector", "agent")
RUN_KEYS = (
    *COMPONENTS,
    *("policies", "blocks", "block_steps", "run", "seed", "profile", "task", "hidden_tasks"),
)
DEFAULTS: dict[str, Any] = {
    "selector": "epsilon-greedy",
    "agent": "library",
    "run": 0,
    "seed": 0,
    "profile": "text",
}

Sections = dict[str, dict[str, Any]]


def read_config(path: Path | None) -> Sections:
    """The sections of a TOML file: `run`, and one per component for its settings."""
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise UsageError(f"cannot read --config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} is not valid TOML: {error}") from None
    for section, values in content.items():
        if section not in ("run", *COMPONENTS):
            raise unknown(f"section in {path}", section, ("run", *COMPONENTS))
        if not isinstance(values, dict):
            raise UsageError(f"'{section}' in {path} is not a section; write [{section}] on a line of its own")
    for key in content.get("run", {}):
        if key not in RUN_KEYS:
            raise unknown(f"key in [run] of {path}", key, RUN_KEYS)
    return content


def read_assignments(assignments: Sequence[str]) -> Sections:
    """`["learner.gamma=0.9"]` to `{"learner": {"gamma": "0.9"}}`."""
    sections: Sections = {}
    for assignment in assignments:
        target, equals, value = assignment.partition("=")
        component, dot, name = target.strip().partition(".")
        if not (equals and dot and name):
            raise UsageError(f"--set {assignment!r} is not of the form learner.NAME=VALUE")
        if component not in COMPONENTS:
            raise unknown("component in --set", component, COMPONENTS)
        sections.setdefault(component, {})[name] = value
    return sections


def plan_from_options(options: dict[str, Any], assignments: Sequence[str] = (), config: Path | None = None) -> Plan:
    """A plan from what the user said: the command line first, then the file, then the defaults."""
    file, changes = read_config(config), read_assignments(assignments)
    given = {key: value for key, value in options.items() if value is not None}
    run = {**DEFAULTS, **file.get("run", {}), **given}
    for key in ("domain", "learner", "policies"):
        if key not in run:
            raise UsageError(f"--{key} is missing; see 'repertory run --help'")
    return plan_from_names(run, {name: {**file.get(name, {}), **changes.get(name, {})} for name in COMPONENTS})


def plan_from_names(run: dict[str, Any], sections: Mapping[str, Mapping[str, Any]]) -> Plan:
    """A plan from the keys of `RUN_KEYS`, components by name, and changes to the settings of each."""
    run = dict(run)
    profile, domain_name = run["profile"], run["domain"]
    run["domain"] = catalogue.build_domain(domain_name, profile, sections.get("domain", {}))
    run["learner"] = catalogue.build_learner(run["learner"], profile, sections.get("learner", {}))
    run["selector"] = catalogue.build_selector(run["selector"], profile, sections.get("selector", {}), domain_name)
    run["agent"] = catalogue.build_agent(run.get("agent", "library"), profile, sections.get("agent", {}), domain_name)
    return make_plan(**run)


def plan_from_settings(settings: Mapping[str, Any]) -> Plan:
    """The plan that a run's settings describe, if all its components are in the catalogue."""
    return plan_from_names(*names_and_changes(settings))


def build_components(
    settings: Mapping[str, Any], domain: Any = None, learner: Any = None
) -> tuple[Domain, MakeLearner]:
    """The domain and the learner that a run's settings describe, but for those that are given."""
    profile = settings["profile"]

    def changes(part: str) -> dict[str, Any]:
        return {name: value for name, value in settings[part].items() if name != "name"}

    if domain is None:
        domain = catalogue.build_domain(settings["domain"]["name"], profile, changes("domain"))
    if learner is None:
        learner = catalogue.build_learner(settings["learner"]["name"], profile, changes("learner"))
    return domain, learner


def names_and_changes(settings: Mapping[str, Any]) -> tuple[dict[str, Any], Sections]:
    """From a run's settings to the arguments of `plan_from_names`."""
    run = {key: settings[key] for key in RUN_KEYS if key not in COMPONENTS}
    sections = {name: dict(settings[name]) for name in COMPONENTS}
    run |= {name: section.pop("name") for name, section in sections.items()}
    return run, sections
