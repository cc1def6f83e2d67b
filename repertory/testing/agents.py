"""Whether an agent follows the protocol."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from repertory import catalogue
from repertory.agents.protocol import Choice, Episode, MakeAgent, Situation, can_be_saved
from repertory.core.lifetime import Lifetime
from repertory.domains.domain import Domain
from repertory.errors import EpisodeFault, UsageError
from repertory.learners.protocol import MakeLearner
from repertory.runs.spec import RunSpec, run_spec
from repertory.testing.trace import ConformanceError, expect


def check_agent(
    make_agent: MakeAgent,
    domain: Domain | str = "cartpole27",
    learner: MakeLearner | str = "random",
    *,
    policies: int = 3,
    blocks: int = 6,
    block_steps: int = 300,
    seed: int = 0,
) -> None:
    """Check all that a lifetime needs of an agent, by running some short ones.

    `make_agent` is what `repertory.live(agent=...)` takes: settings, or any callable that takes an `AgentSetup`. Choose
    `blocks` and `block_steps` so large that it does all it can do. Saving is checked if the agent has `state_dict`.
    """
    place = catalogue.domain(domain) if isinstance(domain, str) else domain

    def spec(hidden_tasks: bool = False) -> RunSpec:
        return run_spec(
            place,
            learner,
            policies,
            "epsilon-greedy",
            blocks=blocks,
            block_steps=block_steps,
            seed=seed,
            agent=make_agent,
            hidden_tasks=hidden_tasks,
        )

    _check_methods(spec().lifetime().agent)
    whole = _live(spec())
    _check_same_seed(spec(), whole)
    _check_hidden_tasks(spec(hidden_tasks=True))
    if can_be_saved(whole.agent.agent):
        _check_saving(spec(), whole, blocks // 2)


class _Watched:
    """An agent whose every choice is written down."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.choices: list[Choice] = []
        self.situations: list[Situation] = []
        self.opening_steps = int(getattr(agent, "opening_steps", 0))

    @property
    def policies(self) -> Any:
        return self.agent.policies

    def next_task(self, rng: np.random.Generator) -> int | None:
        next_task = getattr(self.agent, "next_task", None)
        return None if next_task is None else next_task(rng)

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        self.situations.append(situation)
        self.choices.append(self.agent.choose(situation, rng))
        return self.choices[-1]

    def ended(self, situation: Situation, episode: Episode) -> None:
        self.agent.ended(situation, episode)


def _check_methods(agent: Any) -> None:
    for name in ("choose", "ended"):
        expect(callable(getattr(agent, name, None)), "protocol", f"{type(agent).__name__} has no method {name}")
    expect(len(getattr(agent, "policies", ())) > 0, "protocol", f"{type(agent).__name__}.policies is empty")


def _live(spec: RunSpec, blocks: int | None = None, lifetime: Lifetime | None = None) -> Lifetime:
    """A lifetime whose agent is watched, run as far as some block."""
    lifetime = lifetime or spec.lifetime()
    lifetime.agent = _Watched(lifetime.agent)
    sequence, lifetime.sequence = lifetime.sequence, lifetime.sequence[:blocks]
    try:
        lifetime.live()
    except EpisodeFault as fault:
        raise ConformanceError(f"choices: {fault}") from fault
    finally:
        lifetime.sequence = sequence
        lifetime.close()
    return lifetime


def _check_hidden_tasks(spec: RunSpec) -> None:
    try:
        lifetime = spec.lifetime()
    except UsageError:  # an agent may refuse to live without the tasks
        return
    told = [situation.task for situation in _live(spec, lifetime=lifetime).agent.situations]
    expect(told == [None] * len(told), "hidden tasks", "a situation named the task")


def _check_same_seed(spec: RunSpec, whole: Lifetime) -> None:
    states = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
    again = _live(spec)
    expect(again.rows == whole.rows, "seeds", "two lifetimes of the same seed differ; valid: draw from `rng` alone")
    after = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
    expect(states == after, "seeds", "the agent drew from a global generator; valid: draw from `rng` alone")


def _check_saving(spec: RunSpec, whole: Lifetime, middle: int) -> None:
    half = _live(spec, middle)
    half.agent = half.agent.agent
    arrays, values = half.state()
    for name, array in arrays.items():
        expect(isinstance(array, np.ndarray), "saving", f"{name} in state_dict is a {type(array).__name__}")
    resumed = spec.lifetime()
    resumed.load_state({name: array.copy() for name, array in arrays.items()}, values)
    again = resumed.agent.state_dict()
    same = again.keys() == arrays.keys() and all(np.array_equal(again[name], arrays[name]) for name in arrays)
    expect(same, "saving", "an agent that was loaded has another state than the one that was saved")
    _live(spec, lifetime=resumed)
    expect(resumed.rows == whole.rows, "saving", "a lifetime that was saved and resumed ended differently")
