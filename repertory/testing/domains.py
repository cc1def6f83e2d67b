"""Whether a domain is one that a library can be run on."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from repertory.core.episode import EpisodePlayer
from repertory.domains.domain import SCORES, Domain
from repertory.errors import UsageError
from repertory.kernels.streams import new_stream
from repertory.learners.random import Random
from repertory.testing.trace import ConformanceError, Moment, Trace, bits, expect, expect_same

LONGEST_LOOK = 1000
"""How many steps of an episode are looked at if it need not end."""


def check_domain(domain: Domain, *, episodes: int = 2, longest_episode: int | None = 10_000, seed: int = 0) -> None:
    """Check all that a library needs of a domain, by playing this many random episodes of each task, several times.

    An episode that does not end within `longest_episode` steps is an error: a library waits for the end of every
    episode. With None, only the first thousand steps of each are looked at. Tasks that nobody can tell apart are a
    warning.
    """
    _check_description(domain)
    for task in range(domain.n_tasks):
        _check_task(domain, task, episodes, longest_episode, seed)
    distinct = domain.distinct_tasks()
    if distinct < domain.n_tasks:
        message = f"{domain.name} has {domain.n_tasks} tasks of which {distinct} are distinct; the others behave alike"
        warnings.warn(message, UserWarning, stacklevel=2)


def _check_description(domain: Domain) -> None:
    names = domain.task_names
    expect(len(names) > 0, "tasks", f"{domain.name} has none")
    expect(domain.n_tasks == len(names), "tasks", f"n_tasks is {domain.n_tasks}, but there are {len(names)} names")
    doubles = sorted({str(name) for name in names if names.count(name) > 1})
    expect(not doubles, "tasks", f"task names occur twice: {', '.join(doubles)}")
    expect(all(isinstance(name, str) for name in names), "tasks", f"task_names are {names}; valid: texts")
    expect(domain.score in SCORES, "score", f"'{domain.score}'; valid: {' or '.join(SCORES)}")
    try:
        json.dumps(domain.settings)
    except (TypeError, ValueError) as error:
        raise ConformanceError(f"settings: {error}; valid: plain values, for the record of a run") from None


def _check_task(domain: Domain, task: int, episodes: int, longest: int | None, seed: int) -> None:
    env, twin = domain.env(task), domain.env(task)
    expect(
        isinstance(env, gymnasium.Env), f"task {task}", f"make_env gave a {type(env).__name__}; valid: gymnasium.Env"
    )
    expect(env is not twin, f"task {task}", "make_env gave one environment twice; valid: a new one each time")
    try:
        domain.check_spaces(task, env)
    except UsageError as error:
        raise ConformanceError(f"spaces: {error}") from None
    played = [list(_random_episode(domain, env, task, seed + n, longest)) for n in range(episodes)]
    for n in reversed(range(episodes)):  # in another order: an episode is decided by its seed, not by those before it
        again = list(_random_episode(domain, twin, task, seed + n, longest))
        found = f"two episodes of task {task} with seed {seed + n} and the same actions differ"
        expect_same([played[n]], [again], "reset", found, "valid: reset(seed) decides the whole episode")
    _check_compiled(domain, task, played, seed)
    env.close()
    twin.close()


def _random_episode(domain: Domain, env: gymnasium.Env, task: int, seed: int, longest: int | None) -> Iterator[Moment]:
    space = copy.deepcopy(domain.action_space)
    space.seed(seed)
    answer: Any = env.reset(seed=seed)
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
        raise ConformanceError(f"reset: task {task} returned {_short(answer)}; valid: (observation, info)")
    observation = answer[0]
    _check_observation(domain, task, "reset", observation)
    for _step in range(LONGEST_LOOK if longest is None else longest):
        before, action = copy.deepcopy(observation), space.sample()
        outcome: Any = env.step(action)
        _check_outcome(task, outcome)
        if bits(observation) != bits(before):
            raise ConformanceError(f"step: task {task} wrote into an observation it had given before; valid: a new one")
        observation, reward, terminated, truncated, _info = outcome
        _check_observation(domain, task, "step", observation)
        yield Moment(before, action, float(reward), copy.deepcopy(observation), bool(terminated), bool(truncated))
        if terminated or truncated:
            return
    found = f"an episode of task {task} with random actions did not end within {longest} steps"
    expect(longest is None, "episodes", f"{found}; valid: to end, as by gymnasium's TimeLimit")


def _check_observation(domain: Domain, task: int, method: str, observation: Any) -> None:
    if not domain.observation_space.contains(observation):
        kind = f"{observation.dtype} array" if isinstance(observation, np.ndarray) else type(observation).__name__
        found = f"{method} of task {task} gave {_short(observation)} ({kind})"
        raise ConformanceError(f"observations: {found}, which is not in {domain.observation_space}")


def _check_outcome(task: int, outcome: Any) -> None:
    if not (isinstance(outcome, tuple) and len(outcome) == 5):
        valid = "(observation, reward, terminated, truncated, info)"
        raise ConformanceError(f"step: task {task} returned {_short(outcome)}; valid: {valid}")
    _observation, reward, *flags, _info = outcome
    try:
        is_finite = bool(np.isfinite(float(reward)))
    except (TypeError, ValueError):
        is_finite = False
    if not is_finite:
        raise ConformanceError(f"step: task {task} gave reward {_short(reward)}; valid: a finite number")
    for name, flag in zip(("terminated", "truncated"), flags, strict=True):
        if not isinstance(flag, (bool, np.bool_)):
            raise ConformanceError(f"step: task {task} gave {name} {_short(flag)}; valid: a bool")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _check_compiled(domain: Domain, task: int, episodes: Trace, seed: int) -> None:
    """What compiled code plays is what `make_env` plays: step by step, and as whole episodes."""
    tasks = domain.compiled
    if tasks is None:
        return
    shape = (tasks.observation_size,)
    expect(shape == domain.observation_space.shape, "compiled", f"observation_size is {shape}, not the space's shape")
    expect(len(tasks.params) == domain.n_tasks, "compiled", f"there are params for {len(tasks.params)} tasks")
    state, observations = tasks.new_state(), np.zeros((2, tasks.observation_size), np.float32)
    for n, expected in enumerate(episodes):
        stream, played, params = new_stream(seed + n), [], tasks.params[task]
        tasks.kernels.reset(params, state, stream)
        tasks.kernels.observe(params, state, observations[0])
        for moment in expected:
            outcome = tasks.kernels.step(params, state, int(moment.action), stream)
            tasks.kernels.observe(params, state, observations[1])
            before, after = observations.copy()
            played.append(Moment(before, moment.action, float(outcome[0]), after, bool(outcome[1]), bool(outcome[2])))
            observations[0] = after
        found = f"an episode of task {task} with seed {seed + n} is not the same compiled as through make_env"
        expect_same([expected], [played], "compiled", found, "valid: the same to the bit")
    if all(episode[-1].terminated or episode[-1].truncated for episode in episodes):
        players = EpisodePlayer(domain, compiled=False), EpisodePlayer(domain)
        spaces = domain.observation_space, domain.action_space
        outcomes = [player.play(task, Random()(*spaces, seed), seed) for player in players]
        found = f"a random policy's episode of task {task} is {outcomes[1]}, through make_env {outcomes[0]}"
        expect(bits(outcomes[0]) == bits(outcomes[1]), "compiled", found)
        players[0].close()
