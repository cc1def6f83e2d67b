"""Runs of several domains in one folder: told apart by name, and compared only with runs of their own domain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from repertory.sweeps.results import Results, Run


@dataclass(frozen=True)
class Part:
    """The runs of a folder that may be compared: all of one domain, with the same tasks and the same kind of score."""

    domain: str
    results: Results
    is_alone: bool
    """Whether the folder has no other domain."""

    def named(self, name: str) -> str:
        """The name of a learner or a condition, with the domain where there are several."""
        return name if self.is_alone else f"{name} ({self.domain})"


def by_domain(results: Results) -> list[Part]:
    """The runs of each domain. Where there are several, the names of conditions say which.

    But for the domain of the experiment that a sweep is of: its conditions keep their names, and with them what the
    paper has published of them.
    """
    parts = apart(results)
    if len(parts) < 2:
        return [replace(part, is_alone=True, results=results) for part in parts]
    return [part if part.results.sweep is not None else replace(part, results=_renamed(part)) for part in parts]


def _renamed(part: Part) -> Results:
    runs = (replace(run, condition=part.named(run.condition)) for run in part.results.runs)
    return replace(part.results, runs=tuple(runs))


def apart(results: Results) -> list[Part]:
    """The runs of each domain as if they had a folder of their own; only those of its own domain are a sweep's."""
    groups: dict[str, list[Run]] = {}
    for run in results.runs:
        groups.setdefault(_key(run), []).append(run)
    home = None if results.experiment is None else results.experiment.domain
    labels = _labels([_domain(runs[0]) for runs in groups.values()])
    if len(groups) < 2:
        return [Part(labels[0] if labels else "", results, is_alone=True)]
    parts = []
    for label, runs in zip(labels, groups.values(), strict=True):
        own = replace(results, runs=tuple(runs), sweep=results.sweep if label == home else None)
        parts.append(Part(label, own, is_alone=False))
    return parts


def by_learner(results: Results) -> Iterator[tuple[Part, str, dict[str, list[Run]]]]:
    """Each learner on each domain: the part it is of, its name there, and the finished runs of its conditions."""
    for part in by_domain(results):
        groups: dict[str, dict[str, list[Run]]] = {}
        for name, runs in part.results.by_condition.items():
            groups.setdefault(runs[0].settings["learner"]["name"], {})[name] = runs
        yield from ((part, part.named(learner), conditions) for learner, conditions in groups.items())


def together(results: Results) -> Results:
    """All runs of a folder, under the names that tell the domains apart."""
    return replace(results, runs=tuple(run for part in by_domain(results) for run in part.results.runs))


def _domain(run: Run) -> str:
    return str(run.settings["domain"]["name"])


def _key(run: Run) -> str:
    return json.dumps([_domain(run), run.settings["task_names"], run.score_kind])


def _labels(names: Sequence[str]) -> list[str]:
    """Each name, numbered from the second time on that it comes."""
    counts = [names[: index + 1].count(name) for index, name in enumerate(names)]
    return [name if count == 1 else f"{name} {count}" for name, count in zip(names, counts, strict=True)]
