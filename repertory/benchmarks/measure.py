"""How contenders are timed: turn by turn in one process, each at its best of several repeats.

Machines are shared and noisy. Taking turns lets a slow minute hit all contenders, and the best repeat is the one
that was disturbed least.
"""

from __future__ import annotations

import itertools
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repertory import domain
from repertory.episode import EpisodePlayer

Contender = Callable[[], int]
"""Does a fixed amount of work and returns how many environment steps that was."""


def steps_per_second(contenders: dict[str, Contender], repeats: int = 3) -> dict[str, float]:
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(repeats):
        for name, work in contenders.items():
            started = time.perf_counter()
            steps = work()
            best[name] = max(best[name], steps / (time.perf_counter() - started))
    return best


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
    return settings(spaces.observation_space, spaces.action_space, 0)


def machine() -> str:
    """The processor, as the system names it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, one thread"
