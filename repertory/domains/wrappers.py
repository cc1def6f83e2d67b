"""Wrappers around the environments of tasks: the same for all, or each task's own.

wrappers=["FlattenObservation"]                              # of gymnasium.wrappers, by name
wrappers=[functools.partial(TimeLimit, max_episode_steps=200)]
wrappers={"icy": [Slippery]}                                 # of single tasks, by name or number
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import gymnasium.wrappers

from repertory import own_code
from repertory.errors import UsageError, shown, unknown
from repertory.fingerprint import code_fingerprint

Wrapper = str | Callable[[gymnasium.Env], gymnasium.Env]
"""A name in `gymnasium.wrappers`, `module:Name`, or anything that takes an environment and returns one."""
Wrappers = Sequence[Wrapper] | Mapping[Any, Sequence[Wrapper]]


def wrappers_by_task(wrappers: Wrappers, task_names: Sequence[str]) -> list[list[Wrapper]]:
    """Those of each task, innermost first."""
    if isinstance(wrappers, Mapping):
        places = {_task(key, task_names): _checked(listed) for key, listed in wrappers.items()}
        return [places.get(task, []) for task in range(len(task_names))]
    return [_checked(wrappers)] * len(task_names)


def _task(key: Any, task_names: Sequence[str]) -> int:
    if isinstance(key, str) and key in task_names:
        return list(task_names).index(key)
    if isinstance(key, int) and 0 <= key < len(task_names):
        return key
    raise UsageError(f"wrappers are for the task {shown(key)}; valid: 0 to {len(task_names) - 1}, or a task's name")


def _checked(listed: Any) -> list[Wrapper]:
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence):
        raise UsageError(f"wrappers are {shown(listed)}; valid: a list of wrappers, or such a list by task")
    for wrapper in listed:
        if isinstance(wrapper, str):
            _found(wrapper)
        elif not callable(wrapper):
            raise UsageError(
                f"a wrapper is {shown(wrapper)}; valid: a name in gymnasium.wrappers, or a wrapper's class"
            )
    return list(listed)


def _found(name: str) -> Callable[[gymnasium.Env], gymnasium.Env]:
    if own_code.is_own_code(name):
        own_code.allow(name)
        found: Callable[[gymnasium.Env], gymnasium.Env] = own_code.load(name)
        return found
    if name not in _names():
        raise unknown("wrapper", name, _names())
    return getattr(gymnasium.wrappers, name)


def _names() -> list[str]:
    return [name for name in gymnasium.wrappers.__all__ if name != "vector"]


def wrapped(env: gymnasium.Env, wrappers: Sequence[Wrapper]) -> gymnasium.Env:
    for wrapper in wrappers:
        try:
            env = (_found(wrapper) if isinstance(wrapper, str) else wrapper)(env)
        except (TypeError, AssertionError, ValueError) as error:
            raise UsageError(f"the wrapper {_text(wrapper)} cannot be used: {' '.join(str(error).split())}") from error
    return env


def described(wrappers: Sequence[Wrapper]) -> list[str | None]:
    """For the record of a run; None for code that cannot be read. A wrapper of Gymnasium's goes by its name."""
    return [_description(wrapper) for wrapper in wrappers]


def _description(wrapper: Wrapper) -> str | None:
    if isinstance(wrapper, str):
        return wrapper
    if (
        isinstance(wrapper, type)
        and wrapper.__module__.startswith("gymnasium.wrappers.")
        and wrapper.__name__ in _names()
    ):
        return wrapper.__name__
    code = code_fingerprint(wrapper)
    return None if code is None else f"{_text(wrapper)} [{code}]"


def can_be_made_again(descriptions: Any) -> bool:
    """Whether wrappers can be made from what `described` said: they have names, and the user knows their code."""
    listed = descriptions if isinstance(descriptions, list) else [None]
    return all(
        isinstance(name, str) and (own_code.is_allowed(name) if own_code.is_own_code(name) else name in _names())
        for name in listed
    )


def _text(wrapper: Wrapper) -> str:
    return wrapper if isinstance(wrapper, str) else str(getattr(wrapper, "__name__", type(wrapper).__name__))
