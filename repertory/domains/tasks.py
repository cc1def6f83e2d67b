"""`repertory.tasks`: a domain from any list of Gymnasium environments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from repertory.domains.domain import SCORES, Domain
from repertory.domains.task_checks import check_tasks, warn_of_tasks_alike
from repertory.domains.wrappers import Wrappers, wrapped, wrappers_by_task
from repertory.domains.wrappers import described as described_wrappers
from repertory.errors import UsageError
from repertory.fingerprint import code_fingerprint

TaskSpec = str | tuple[str, Mapping[str, Any]] | Callable[[], gymnasium.Env]
"""An id, an id with keyword arguments, or anything that makes an environment when called."""


def tasks(
    specs: Sequence[TaskSpec],
    *,
    name: str = "tasks",
    names: Sequence[str] | None = None,
    score: str = "mean return",
    wrappers: Wrappers = (),
    check: bool = True,
) -> Domain:
    """A domain whose tasks are the given environments, which must share their spaces.

    >>> domain = tasks(["CartPole-v1", ("CartPole-v1", {"sutton_barto_reward": True})])
    >>> domain.n_tasks
    2

    `wrappers` are put around every environment or, as a dictionary, around those of single tasks. With `check`, every
    environment is made once, its spaces are compared with the first one's, one that does not obey its seed is refused,
    and two tasks that behave alike over a few hundred random steps give a warning: they count as one.
    """
    if isinstance(specs, (str, bytes)) or not isinstance(specs, Sequence) or not specs:
        raise UsageError(
            f"tasks are {specs!r}; valid: a list of ids, (id, kwargs) or functions that make an environment"
        )
    makers = [_maker(place, spec) for place, spec in enumerate(specs)]
    found = tuple(names) if names is not None else _distinct([_name(spec) for spec in specs])
    if len(found) != len(specs) or len(set(found)) != len(found):
        raise UsageError(f"names are {list(found)}; valid: {len(specs)} different ones, one for each task")
    if score not in SCORES:
        raise UsageError(f"score is {score!r}; valid: {' or '.join(SCORES)}")
    around = wrappers_by_task(wrappers, found)
    descriptions = [_description(spec) for spec in specs]
    told = [described_wrappers(each) for each in around]
    domain = Domain(
        name=name,
        task_names=tuple(str(task) for task in found),
        make_env=lambda task: wrapped(makers[task](), around[task]),
        settings={"tasks": descriptions, **({"wrappers": told} if any(told) else {})},
        score=score,
        is_described=None not in descriptions and all(None not in each for each in told),
    )
    if check:
        check_tasks(domain)
        warn_of_tasks_alike(domain)
    return domain


def _maker(place: int, spec: Any) -> Callable[[], gymnasium.Env]:
    if isinstance(spec, str):
        return functools.partial(_make, place, spec, {})
    if isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], str) and isinstance(spec[1], Mapping):
        return functools.partial(_make, place, spec[0], dict(spec[1]))
    if callable(spec):
        return spec
    raise UsageError(f"task {place} is {spec!r}; valid: an id, (id, kwargs) or a function that makes an environment")


def _make(place: int, name: str, options: dict[str, Any]) -> gymnasium.Env:
    try:
        return gymnasium.make(name, **options)
    except (gymnasium.error.Error, TypeError) as error:
        text = " ".join(str(error).split())
        raise UsageError(f"task {place}, {name} with {options}, cannot be made: {text}") from error


def _name(spec: Any) -> str:
    if isinstance(spec, str):
        return spec
    if isinstance(spec, tuple):
        options = ", ".join(f"{key}={value}" for key, value in spec[1].items())
        return f"{spec[0]} ({options})" if options else spec[0]
    if isinstance(spec, functools.partial):
        options = ", ".join([*(str(value) for value in spec.args), *(f"{k}={v}" for k, v in spec.keywords.items())])
        return f"{_name(spec.func)} ({options})"
    return str(getattr(spec, "__name__", type(spec).__name__))


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Equal names get numbers."""
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{place}: {name}" for place, name in enumerate(names))


def _description(spec: Any) -> str | None:
    """For the record of a run: tells one list of tasks from another; None for code that cannot be read."""
    if isinstance(spec, (str, tuple)):
        return _name(spec)
    code = code_fingerprint(spec)
    return None if code is None else f"{_name(spec)} [{code}]"
