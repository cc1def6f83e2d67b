"""What is checked of tasks before any run: that they can be made, share spaces, obey seeds, and differ."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

import gymnasium

from repertory.domains.domain import Domain
from repertory.errors import UsageError

CHECKED_STEPS = 200
FEW_STEPS = 20
"""Of every task but the first, which is often the same class: what ignores its seed shows it at once."""
LONGER_STEPS = 2000
"""Of tasks that are alike so far: a rare event may tell them apart."""


def check_tasks(domain: Domain) -> None:
    """Make every environment, compare its spaces with the first one's, and see that seeds decide its episodes."""
    for task in range(domain.n_tasks):
        env = domain.env(task)
        if not isinstance(env, gymnasium.Env):
            raise UsageError(f"task {task} makes a {type(env).__name__}; valid: a Gymnasium environment")
        domain.check_spaces(task, env)
        _check_reset(domain, task, env)
        env.close()
        steps = CHECKED_STEPS if task == 0 else FEW_STEPS
        if domain.trajectory(task, steps) != domain.trajectory(task, steps):
            raise UsageError(
                f"{_called(domain, task)} does not obey its seed: reset(seed=...) and the same actions gave two "
                "different episodes; next: call super().reset(seed=seed) and draw from self.np_random alone"
            )


def _check_reset(domain: Domain, task: int, env: gymnasium.Env) -> None:
    parameters = inspect.signature(env.unwrapped.reset).parameters.values()
    if not any(each.name == "seed" or each.kind is each.VAR_KEYWORD for each in parameters):
        raise UsageError(
            f"{_called(domain, task)} has a reset without a seed; next: def reset(self, *, seed=None, options=None), "
            "and super().reset(seed=seed) in it"
        )


def warn_of_tasks_alike(domain: Domain) -> None:
    for alike in domain.identical_tasks(CHECKED_STEPS):
        listed = ", ".join(f"{task} ({domain.task_names[task]})" for task in alike)
        warnings.warn(f"tasks {listed} behave alike over {CHECKED_STEPS} random steps", stacklevel=4)


def refuse_contexts_without_effect(domain: Domain, varied: Sequence[frozenset[tuple[str, str]]]) -> None:
    """`varied` has, for each task, what it was given: (name, value as text)."""
    if not domain.identical_tasks(CHECKED_STEPS):
        return
    for alike in domain.identical_tasks(LONGER_STEPS):
        shared = frozenset.intersection(*(varied[task] for task in alike))
        names = sorted({name for task in alike for name, _value in varied[task] - shared})
        first, second = (f"{task} ({domain.task_names[task]})" for task in alike[:2])
        what = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} no effect" if names else "nothing differs"
        raise UsageError(
            f"{what}: tasks {first} and {second} of {domain.name} behave alike over {LONGER_STEPS} random steps; next: "
            "vary something that the environment reads when it steps, or give check=False if they differ only later"
        )


def _called(domain: Domain, task: int) -> str:
    return f"task {task} ({domain.task_names[task]}) of {domain.name}"
