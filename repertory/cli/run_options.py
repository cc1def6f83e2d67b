"""Settings from a command line and a TOML file, checked by name.

    [run]
    domain = "cartpole27"
    policies = 9

    [learner]
    learning_rate = 0.05

`--set learner.learning_rate=0.05` says the same as the last two lines and wins over the file. `--vary gravity=-10,-2`
says the same as `vary = { gravity = [-10, -2] }` below [domain].
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repertory import catalogue
from repertory.domains.domain import Domain
from repertory.errors import UsageError, unknown
from repertory.learners.protocol import MakeLearner
from repertory.number_ranges import parse_numbers
from repertory.runs.extension import extended_spec
from repertory.runs.folder import RunFolder
from repertory.runs.reading import read_toml
from repertory.runs.spec import COMPONENTS, RUN_KEYS, RunSpec
from repertory.runs.start_source import resolved_start
from repertory.text_values import values_of

Sections = dict[str, dict[str, Any]]
GOING_ON = {"blocks", "domain"}
"""What may be given, and nothing else, to go on with the run in `--out` as it is."""


def read_config(path: Path | None) -> Sections:
    """The sections of a TOML file: `run`, and one per component for its settings."""
    if path is None:
        return {}
    content = read_toml(path, "--config")
    for section, values in content.items():
        if section not in ("run", *COMPONENTS):
            raise unknown(f"section in {path}", section, ("run", *COMPONENTS))
        if not isinstance(values, dict):
            raise UsageError(f"'{section}' in {path} is not a section; write [{section}] on a line of its own")
    for key in content.get("run", {}):
        if key not in RUN_KEYS:
            raise unknown(f"key in [run] of {path}", key, RUN_KEYS)
    return content


def read_assignments(assignments: Sequence[str], components: Sequence[str] = COMPONENTS) -> Sections:
    """`["learner.gamma=0.9"]` to `{"learner": {"gamma": "0.9"}}`."""
    sections: Sections = {}
    for assignment in assignments:
        target, equals, value = assignment.partition("=")
        component, dot, name = target.strip().partition(".")
        if not (equals and dot and name):
            raise UsageError(f"--set {assignment!r} is not of the form learner.NAME=VALUE")
        if component not in components:
            raise unknown("component in --set", component, components)
        sections.setdefault(component, {})[name] = value
    return sections


def read_variations(variations: Sequence[str]) -> dict[str, list[Any]]:
    """`["gravity=-10,-2"]` to `{"gravity": [-10, -2]}`."""
    found = {}
    for variation in variations:
        name, equals, values = variation.partition("=")
        if not (equals and name.strip() and values.strip()):
            raise UsageError(f"--vary {variation!r} is not of the form NAME=VALUE,VALUE")
        found[name.strip()] = values_of(values)
    return found


def spec_from_options(options: dict[str, Any], assignments: Sequence[str] = (), config: Path | None = None) -> RunSpec:
    """The spec of the run that the user asked for: the command line first, then the file, then the defaults."""
    file, changes = read_config(config), read_assignments(assignments)
    out = options.get("out")
    if config is None and not assignments and out is not None and RunFolder(out).holds_run:
        named = {key for key in RUN_KEYS if options.get(key) is not None}
        if named <= GOING_ON:
            return extended_spec(out, options.get("blocks"), domain=_domain_to_go_on_with(options))
    given = {key: options[key] for key in RUN_KEYS if options.get(key) is not None}
    if "task" in given:  # `3` is one task, `0-8` are some
        tasks = parse_numbers(given["task"], "--task", "task")
        given["task"] = tasks if len(tasks) > 1 else tasks[0]
    run = {**file.get("run", {}), **given}
    for key in ("domain", "learner", "policies"):
        if key not in run:
            raise UsageError(f"--{key} is missing; see 'repertory run --help'")
    changes["domain"] = {**changes.get("domain", {}), **_domain_options(options, file.get("domain", {}).get("vary"))}
    run["start_from"] = resolved_start(run.get("start_from"))
    return RunSpec.from_names(run, {part: {**file.get(part, {}), **changes.get(part, {})} for part in COMPONENTS})


def changed_components(
    domain: str, learner: str, profile: str, assignments: Sequence[str], variations: Sequence[str]
) -> tuple[Domain, MakeLearner]:
    """Domain and learner by name, as `--set` and `--vary` change them."""
    changes = read_assignments(assignments, ("domain", "learner"))
    varied = {**changes.get("domain", {}), **_domain_options({"vary": variations})}
    return (
        catalogue.build("domain", domain, profile, varied),
        catalogue.build("learner", learner, profile, changes.get("learner", {}), domain),
    )


def _domain_options(options: dict[str, Any], in_file: Any = None) -> dict[str, Any]:
    """What `--vary` and `--held-out` say of the domain."""
    said: dict[str, Any] = {}
    varied = read_variations(options.get("vary") or [])
    if varied:
        said["vary"] = {**in_file, **varied} if isinstance(in_file, dict) else varied
    if options.get("held_out") is not None:
        said["held_out"] = options["held_out"]
    return said


def _domain_to_go_on_with(options: dict[str, Any]) -> Any:
    """The domain whose further tasks a run is to get, if one is named."""
    name, said = options.get("domain"), _domain_options(options)
    if not said:
        return name
    if name is None:
        raise UsageError(f"--{next(iter(said)).replace('_', '-')} is given without --domain; next: give both")
    return catalogue.build("domain", name, "text", said)
