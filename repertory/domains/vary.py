"""`repertory.vary` and `repertory.contexts`: variants of one environment as the tasks of a domain.

    repertory.vary("LunarLander-v3", gravity=[-10, -6, -2], enable_wind=[False, True])     # six tasks
    repertory.contexts("LunarLander-v3", {"moon": {"gravity": -1.6}, "storm": {"enable_wind": True}})

What is varied is an argument of the environment's constructor or, if it has none of that name, an attribute of the
unwrapped environment, such as `gravity` of CartPole-v1; dots lead further in (`model.opt.timestep` of a MuJoCo task).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec, load_env_creator
from numpy.typing import NDArray

from repertory import own_code
from repertory.domains.domain import SCORES, Domain
from repertory.domains.task_checks import check_tasks, refuse_contexts_without_effect
from repertory.domains.wrappers import Wrapper, Wrappers, can_be_made_again, described, wrapped, wrappers_by_task
from repertory.errors import UsageError, shown, unknown
from repertory.fingerprint import code_fingerprint

MakeEnv = str | Callable[..., gymnasium.Env]
"""A Gymnasium id, or a class or function that makes an environment from keyword arguments."""
OF_MAKE = ("max_episode_steps",)
"""What `gymnasium.make` itself takes."""
MOST_TASKS = 100_000
Context = dict[str, Any]


def vary(
    env: MakeEnv,
    *,
    name: str | None = None,
    score: str = "mean return",
    wrappers: Wrappers = (),
    check: bool = True,
    **values: Any,
) -> Domain:
    """A domain of all combinations of the given values, the last name varying fastest.

    >>> vary("CartPole-v1", gravity=[1.6, 9.8], force_mag=[5.0, 10.0]).task_names[1]
    'gravity=1.6, force_mag=10'

    Each value is a list; a single value holds for all tasks. With `check`, an environment that does not obey its seed,
    and a value that has no effect on what happens, are refused.
    """
    lists = {key: _listed(value) for key, value in values.items()}
    for key, listed in lists.items():
        if not listed:
            raise UsageError(f"{key} has no values; valid: a list of one or more")
    count = functools.reduce(lambda product, listed: product * len(listed), lists.values(), 1)
    if count > MOST_TASKS:
        raise UsageError(f"these are {count} combinations; valid: at most {MOST_TASKS} tasks")
    made = [dict(zip(lists, combination, strict=True)) for combination in itertools.product(*lists.values())]
    told = [{key: value for key, value in context.items() if len(lists[key]) > 1} for context in made]
    names = [_name_of(each) for each in (told if len(made) > 1 else made)]
    if len(set(names)) < len(names):
        raise UsageError(f"two tasks are both {max(names, key=names.count)}; valid: each value once")
    return contexts(env, dict(zip(names, made, strict=True)), name=name, score=score, wrappers=wrappers, check=check)


def contexts(
    env: MakeEnv,
    contexts: Mapping[Any, Mapping[str, Any]] | Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    score: str = "mean return",
    wrappers: Wrappers = (),
    check: bool = True,
) -> Domain:
    """A domain with a task for each context: what is different there, by name. The keys are the names of the tasks.

    >>> contexts("CartPole-v1", {"moon": {"gravity": 1.6}, "earth": {}}).task_names
    ('moon', 'earth')
    """
    by_name = _named(contexts)
    if score not in SCORES:
        raise UsageError(f"score is {score!r}; valid: {' or '.join(SCORES)}")
    task_names, rows = tuple(by_name), list(by_name.values())
    around = wrappers_by_task(wrappers, task_names)
    env_text = env if isinstance(env, str) else getattr(env, "__name__", type(env).__name__)
    places = _places(env, env_text, sorted({key for row in rows for key in row}))
    code = env if isinstance(env, str) else code_fingerprint(env)
    told = [described(each) for each in around]
    settings: dict[str, Any] = {"env": env if isinstance(env, str) else f"{env_text} [{code}]", "contexts": by_name}
    if any(told):
        settings["wrappers"] = told[0] if told.count(told[0]) == len(told) else dict(zip(task_names, told, strict=True))
    if score != "mean return":
        settings["score"] = score
    domain = Domain(
        name=name or env_text,
        task_names=task_names,
        make_env=lambda task: _made(env, env_text, rows[task], places, around[task]),
        settings=settings,
        score=score,
        contexts=_numbers(rows),
        is_described=code is not None and all(None not in each for each in told),
    )
    if check:
        check_tasks(domain)
        given = [frozenset((key, repr(value)) for key, value in row.items()) for row in rows]
        refuse_contexts_without_effect(domain, given)
    return domain


def again(settings: Mapping[str, Any], name: str) -> Domain:
    """The domain that has these settings, if `can_be_made_again`."""
    return contexts(
        settings["env"],
        settings["contexts"],
        name=name,
        score=settings.get("score", "mean return"),
        wrappers=settings.get("wrappers", ()),
        check=False,
    )


def is_variation(settings: Mapping[str, Any]) -> bool:
    """Whether the settings of a recorded domain tell how to make it again."""
    env, rows, around = settings.get("env"), settings.get("contexts"), settings.get("wrappers", [])
    lists = list(around.values()) if isinstance(around, Mapping) else [around]
    if not isinstance(env, str) or not (own_code.is_allowed(env) if ":" in env else env in gymnasium.registry):
        return False  # an id with a module imports that, so the user must have named it
    return isinstance(rows, Mapping) and all(map(can_be_made_again, lists))


# ---------------------------------------------------------------------------------------------- what was given


def _listed(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, range, np.ndarray, set, frozenset)):
        return [_plain(each) for each in value]
    return [_plain(value)]


def _plain(value: Any) -> Any:
    """NumPy's values as Python's, so that a record can hold them."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _named(given: Any) -> dict[str, Context]:
    rows = given if isinstance(given, Mapping) else dict(enumerate(given)) if isinstance(given, (list, tuple)) else {}
    if not rows or not all(
        isinstance(row, Mapping) and all(isinstance(key, str) for key in row) for row in rows.values()
    ):
        raise UsageError(f"contexts are {shown(given)}; valid: a dictionary of contexts, each a dictionary of values")
    plain = [{key: _plain(value) for key, value in row.items()} for row in rows.values()]
    # Numbers, as CARL has them, say nothing about a task.
    names = [key if isinstance(key, str) else _name_of(row) for key, row in zip(rows, plain, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{place}: {name}" for place, name in enumerate(names)]
    return dict(zip(names, plain, strict=True))


def _name_of(context: Context) -> str:
    return ", ".join(f"{key}={_text(value)}" for key, value in context.items()) or "as it is"


def _text(value: Any) -> str:
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else str(value)


def _numbers(rows: Sequence[Context]) -> NDArray[np.float64] | None:
    """(task, feature), for agents that go by them, if all contexts tell the same and it is numbers that differ."""
    keys = [key for key in rows[0] if len({repr(row.get(key)) for row in rows}) > 1]
    if not keys or not all(row.keys() == rows[0].keys() for row in rows):
        return None
    try:
        numbers = np.array([[float(row[key]) for key in keys] for row in rows])
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


# ------------------------------------------------------------------------------------------- the environments


def _places(env: MakeEnv, env_text: str, keys: Sequence[str]) -> dict[str, str]:
    """Where each value goes: `argument` of the constructor, or `attribute` of the unwrapped environment."""
    arguments, takes_any = _arguments(env, env_text)
    places = {key: "argument" for key in keys if key in arguments}
    rest = [key for key in keys if key not in places]
    if not rest:
        return places
    plain = _make(env, env_text, {})
    for key in rest:
        owner, attribute = _owner(plain, key)
        if owner is not None and hasattr(owner, attribute):
            places[key] = "attribute"
        elif takes_any:
            places[key] = "argument"
        else:
            own = [name for name, value in vars(plain.unwrapped).items() if isinstance(value, (bool, int, float, str))]
            valid = [*arguments, *(name for name in own if not name.startswith("_"))]
            raise unknown(f"argument or attribute of {env_text}", key, valid)
    plain.close()
    return places


def env_spec(env: str) -> EnvSpec:
    """What Gymnasium knows of an id. One with a module, `minigrid:MiniGrid-Empty-5x5-v0`, imports that first: it is the
    user's word for code."""
    module, colon, env_id = env.rpartition(":")
    try:
        if colon:
            own_code.allow(env)
            importlib.import_module(module)
        return gymnasium.spec(env_id)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        raise _cannot_be_made(env, {}, error) from error


def _arguments(env: MakeEnv, env_text: str) -> tuple[list[str], bool]:
    """Those of the constructor, and whether it takes any others."""
    creator: Any = env
    if isinstance(env, str):
        try:
            creator = env_spec(env).entry_point
            creator = load_env_creator(creator) if isinstance(creator, str) else creator
        except (gymnasium.error.Error, ImportError, AttributeError) as error:
            raise _cannot_be_made(env_text, {}, error) from error
    try:
        parameters = list(inspect.signature(creator).parameters.values())
    except (TypeError, ValueError):  # of code that is not Python's
        return list(OF_MAKE), True
    named = [each.name for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return [*named, *(OF_MAKE if isinstance(env, str) else ())], takes_any


def _made(
    env: MakeEnv, env_text: str, context: Context, places: Mapping[str, str], wrappers: Sequence[Wrapper]
) -> gymnasium.Env:
    made = _make(env, env_text, {key: value for key, value in context.items() if places[key] == "argument"})
    for key, value in context.items():
        if places[key] == "attribute":
            _set(made, env_text, key, value)
    return wrapped(made, wrappers)


def _make(env: MakeEnv, env_text: str, arguments: Mapping[str, Any]) -> gymnasium.Env:
    try:
        return gymnasium.make(env, **arguments) if isinstance(env, str) else env(**arguments)
    except (gymnasium.error.Error, ImportError, TypeError, ValueError, AssertionError) as error:
        raise _cannot_be_made(env_text, arguments, error) from error


def _cannot_be_made(env_text: str, arguments: Mapping[str, Any], error: Exception) -> UsageError:
    given = f" with {_name_of(dict(arguments))}" if arguments else ""
    return UsageError(f"{env_text}{given} cannot be made: {' '.join(str(error).split())}")


def _owner(env: gymnasium.Env, key: str) -> tuple[Any, str]:
    """What has the attribute at the end of a path, and its name; None if the path leads nowhere."""
    *path, attribute = key.split(".")
    owner: Any = env.unwrapped
    for part in path:
        owner = getattr(owner, part, None)
    return owner, attribute


def _set(env: gymnasium.Env, env_text: str, key: str, value: Any) -> None:
    owner, attribute = _owner(env, key)
    held = getattr(owner, attribute)
    try:
        if isinstance(held, np.ndarray):
            value = np.broadcast_to(np.asarray(value, held.dtype), held.shape).copy()
        setattr(owner, attribute, value)
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(
            f"{key} of {env_text} cannot be {shown(value)}: {' '.join(str(error).split())}; it is {shown(held)}"
        ) from error
