"""How contenders are timed: turn by turn in one process, each at its best of several repeats.

Machines are shared and noisy. Taking turns lets a slow minute hit all contenders, and the best repeat is the one
that was disturbed least.
"""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from repertory import domain
from repertory.benchmarks.result import Measured, NotMeasured, Side
from repertory.core.episode import EpisodePlayer
from repertory.learners.compiled_policy import memory_of
from repertory.learners.protocol import new_learner

Contender = Callable[[], float]
"""Does a fixed amount of work and returns how much that was, in environment steps if not said otherwise."""


def take_turns(
    contenders: list[Contender], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[tuple[float, ...]]:
    """Work per second of each contender in each repeat."""
    speeds: list[list[float]] = [[] for _ in contenders]
    for _ in range(repeats):
        for contender, seen in zip(contenders, speeds, strict=True):
            started = clock()
            amount = contender()
            seen.append(amount / (clock() - started))
    return [tuple(seen) for seen in speeds]


def speed_against(ours: Callable[[], Contender], who: str, other: Callable[[], Contender]) -> Callable[[int], Measured]:
    """How many times as many steps a second we do as another."""

    def measure(repeats: int) -> Measured:
        theirs = other()  # first: it may be missing
        our_speeds, their_speeds = take_turns([ours(), theirs], repeats)
        our_side, their_side = Side("repertory", "steps/s", our_speeds), Side(who, "steps/s", their_speeds)
        return Measured(our_side.best / their_side.best, our_side, their_side)

    return measure


def training(name: str, task: int, learner: Any, steps: int, warm_up: int) -> Contender:
    """repertory's own contender: `steps` steps of a learner on one task, once compiled and past `warm_up` steps."""
    player = EpisodePlayer(domain(name))
    seeds = itertools.count()

    def work(at_least: int = steps) -> int:
        done = 0
        while done < at_least:
            done += player.play(task, learner, next(seeds)).steps
        return done

    work(warm_up)
    return work


def build(name: str, settings: Any) -> Any:
    """A learner for a domain."""
    spaces = domain(name)
    return new_learner(settings, spaces.observation_space, spaces.action_space, 0, spaces.n_tasks)


def learning(model: Any, steps: int) -> Contender:
    """Stable-Baselines3's contender: `steps` steps of a model that has begun to learn."""

    def work() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return work


def megabytes_of(domain: str, settings: Any) -> Callable[[int], Measured]:
    """Memory of one policy; counted, not timed, so one repeat says it all."""

    def measure(_repeats: int) -> Measured:
        size = memory_of(build(domain, settings)) / 1e6
        return Measured(size, Side("repertory", "MB", (size,), is_cost=True))

    return measure


def contender_package(name: str) -> ModuleType:
    """A package that only a contender needs."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: a shared library of it cannot be loaded
        is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
        reason = f"{name} is not installed" if is_absent else f"{name} cannot be imported ({error})"
        raise NotMeasured(reason, "pip install 'repertory[bench]'") from error


def torch_on_one_thread() -> Any:
    torch = contender_package("torch")
    torch.set_num_threads(1)
    return torch
