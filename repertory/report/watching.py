"""Watching a policy: episodes of one task, played without learning, moment by moment.

    for moment in open_performance(Path("runs/nine"), task=5).moments("rgb_array"):
        show(moment.frame)

Nothing is learned and nothing is drawn from a policy's own random stream, so the lifetime stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.core.at_rest import AtRest
from repertory.core.episode import blaming
from repertory.core.lifetime import Lifetime
from repertory.core.seeds import EPISODE_SEEDS
from repertory.core.tally import recent_shares
from repertory.domains.domain import Domain
from repertory.errors import UsageError, check_count
from repertory.paths import existing_folder
from repertory.runs.opened import open_run
from repertory.runs.spec import RunSpec
from repertory.wording import counted

PICTURE, TEXT = "rgb_array", "ansi"
"""Gymnasium's names for the two ways to draw an environment."""
MOST_EPISODES = 100
USUAL_FPS = 10

Frame = NDArray[np.uint8] | str
"""A picture (height, width, 3) or text."""


class Moment(NamedTuple):
    """What there is to see after some steps of an episode; the first moment is before any."""

    episode: int
    step: int
    total_reward: float
    is_over: bool
    frame: Frame | None
    """None for moments that were not asked to be drawn."""


@dataclass(frozen=True)
class Performance:
    """A policy of a lifetime on a task, for some episodes. The same values give the same moments, always."""

    spec: RunSpec
    lifetime: Lifetime
    task: int
    policy: int
    episodes: int = 1
    seed: int = 0
    """Of the first episode; the next ones have the next seeds."""
    explore: bool = False
    """Explore as in training; if not, always take the action rated highest."""

    def __post_init__(self) -> None:
        check_count(f"task of {self.spec.domain.name}", self.task, 0, self.spec.domain.n_tasks - 1)
        check_count("policy", self.policy, 0, len(self.lifetime.policies) - 1)
        check_count("episodes", self.episodes, 1, MOST_EPISODES)
        check_count("seed", self.seed, 0, EPISODE_SEEDS - 1)
        self._at_rest()

    def _at_rest(self) -> AtRest:
        at_rest = AtRest(self.lifetime.policies[self.policy], self.policy, self.spec.window)
        if not self.spec.hidden_tasks:
            at_rest.begin_task(self.task)
        return at_rest

    @property
    def task_name(self) -> str:
        return self.spec.domain.task_names[self.task]

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        with blaming("the environment", 0):
            env = self.spec.domain.env(self.task)
            env.close()
        return env.metadata

    @property
    def render_modes(self) -> tuple[str, ...]:
        """The ways in which the task can be drawn."""
        return tuple(self._metadata.get("render_modes") or ())

    @property
    def usual_fps(self) -> float:
        """Frames a second at which the task looks natural."""
        return float(self._metadata.get("render_fps") or USUAL_FPS)

    @cached_property
    def endings(self) -> tuple[Moment, ...]:
        """The last moment of each episode, found by playing them without drawing."""
        return tuple(moment for moment in self.moments() if moment.is_over)

    def moments(self, render_mode: str | None = None, every: int = 1) -> Iterator[Moment]:
        """All episodes; the first and last moment and every `every`-th between them are drawn."""
        env = _rendering_env(self.spec.domain, self.task, render_mode)
        try:
            for episode in range(self.episodes):
                for moment in self._episode(env, episode):
                    is_drawn = render_mode is not None and (moment.is_over or moment.step % every == 0)
                    yield moment._replace(frame=_draw(env, render_mode, moment.step)) if is_drawn else moment
        finally:
            env.close()

    def _episode(self, env: gymnasium.Env, episode: int) -> Iterator[Moment]:
        seed, player = self.seed + episode, self._at_rest()
        player.seed(seed)
        step, total_reward, is_over = 0, 0.0, False
        with blaming("the environment", step):
            observation, _info = env.reset(seed=seed)
        yield Moment(episode, step, total_reward, is_over, None)
        while not is_over:
            with blaming("the learner", step):
                action = self._choose(player, observation, step)
            with blaming("the environment", step):
                observation, reward, terminated, truncated, _info = env.step(action)
            step, total_reward, is_over = step + 1, total_reward + float(reward), terminated or truncated
            yield Moment(episode, step, total_reward, is_over, None)

    def _choose(self, player: AtRest, observation: Any, step: int) -> Any:
        if not self.explore:
            return player.act(observation)
        if step < getattr(self.spec.learner, "random_first_steps", 0):
            return int(player.rng.integers(len(player.probabilities(observation))))
        return player.explore(observation)


# --------------------------------------------------------------------------------------------- who plays what


def open_performance(path: Path, task: int | None = None, policy: int | None = None, **manner: Any) -> Performance:
    """From a run folder; by default the task of its last block and the policy that its selector holds best.

    `manner` is the performance's episodes, seed and explore. The folder is only read: a process that is running the run
    is not disturbed.
    """
    check_run_folder(path)
    spec, lifetime = open_run(path)
    task = last_task(lifetime) if task is None else task
    check_count(f"task of {spec.domain.name}", task, 0, spec.domain.n_tasks - 1)
    policy = best_policy(lifetime, task) if policy is None else policy
    return Performance(spec, lifetime, task, policy, **manner)


def last_task(lifetime: Lifetime) -> int:
    """The task of the last finished block, or of the first block if none is finished."""
    return int(lifetime.rows[-1]["task"]) if lifetime.rows else int(lifetime.sequence[0])


def best_policy(lifetime: Lifetime, task: int) -> int:
    """The policy that a selector holds best for a task: its fixed one, or the one with the best lifetime average.

    For a selector with neither, it is the one that played most of the task's last blocks.
    """
    selector = getattr(lifetime.agent, "selector", None)
    state = selector.state_dict() if selector is not None and hasattr(selector, "state_dict") else {}
    if "policy_of_task" in state:
        return int(state["policy_of_task"][task])
    if selector is not None and hasattr(selector, "ranks"):
        merits = selector.ranks(task)
    elif {"values", "steps"} <= state.keys():
        merits = np.where(state["steps"][task] > 0, state["values"][task], -np.inf)
    else:
        merits = np.nan_to_num(recent_shares(lifetime.blocks, task + 1)[task], nan=-np.inf)
    if np.isneginf(merits).all():
        raise UsageError(
            f"no policy has played task {task} yet, so none is known to be its best; next: choose one with "
            f"--policy, 0 to {len(lifetime.policies) - 1}"
        )
    return int(merits.argmax())


def check_run_folder(path: Path) -> None:
    """Fail if a folder is not that of one run."""
    existing_folder(path, "next: give a folder that 'repertory run --out' has made")
    if (path / "run.json").is_file():
        return
    inside = sorted(file.parent for file in path.glob("**/run.json"))
    if inside:
        raise UsageError(f"{path} holds {counted(len(inside), 'run')}; next: choose one of them, such as {inside[0]}")
    raise UsageError(f"{path} holds no run; next: give a folder that 'repertory run --out' has made")


# ---------------------------------------------------------------------------------------------------- drawing


def _rendering_env(domain: Domain, task: int, mode: str | None) -> gymnasium.Env:
    with blaming("the environment", 0):
        env = domain.env(task)
        domain.check_spaces(task, env)
    if mode is None or env.render_mode == mode:
        return env
    modes = env.metadata.get("render_modes") or []
    if mode not in modes:
        env.close()
        shown = ", ".join(str(each) for each in modes) or "none"
        raise UsageError(
            f"{domain.name} cannot be drawn as '{mode}' (render modes of its environments: {shown}); next: give them "
            f"the render mode '{PICTURE}'"
        )
    env.unwrapped.render_mode = mode  # as `repertory.domains.registration` sets it
    return env


def _draw(env: gymnasium.Env, mode: str | None, step: int) -> Frame:
    with blaming("the environment", step):
        try:
            frame: Any = env.render()
        except gymnasium.error.Error as error:
            raise UsageError(f"the environment cannot be drawn as '{mode}': {' '.join(str(error).split())}") from None
    is_picture = isinstance(frame, np.ndarray) and frame.ndim == 3 and frame.shape[2] == 3
    if not (isinstance(frame, str) if mode == TEXT else is_picture):
        needed = "text" if mode == TEXT else "an array (height, width, 3)"
        raise UsageError(f"the environment's render() gave {type(frame).__name__} where '{mode}' needs {needed}")
    return frame
