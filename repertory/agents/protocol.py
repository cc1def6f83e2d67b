"""What a lifetime asks of an agent. Nothing to inherit: any object with two methods and a list of policies is one.

    policy = agent.choose(situation, rng)     # which of agent.policies plays the next episode
    agent.ended(situation, episode)           # how it went

An agent that has a method `next_task(rng)` is asked before each block which task it wants, None for the one that comes.

A library of policies with a selector is an agent; so is a single policy for all tasks, a library that grows or splits,
or one that has to infer the task. Policies learn by themselves, inside `observe`; an agent only says which one plays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.learners.protocol import Learner, State
from repertory.selectors.protocol import MakeSelector


class Situation(NamedTuple):
    """What an agent may know before an episode."""

    task: int | None
    """None where the task is hidden."""


class Opening(NamedTuple):
    """The first transitions of an episode, a row each. The arrays are reused: copy what you want to store."""

    observations: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]


class Episode(NamedTuple):
    """What an agent hears of an episode."""

    policy: int
    total_reward: float
    steps: int
    opening: Opening | None = None
    """If the agent asked for one; see `Agent.opening_steps`."""


class Frozen(NamedTuple):
    """A choice: this policy plays the next episode as it is, greedily, and learns nothing from it."""

    policy: int


class Reusing(NamedTuple):
    """A choice: this policy plays and learns, but at step h of the episode, with probability psi upsilon^h, another
    acts in its place, greedily; else, with that probability again, the action is random. See `repertory.core.reuse`."""

    policy: int
    past: int
    """The other one; it learns nothing."""
    psi: float
    upsilon: float


Choice = int | Frozen | Reusing
"""How the next episode is played. A number: that policy plays, and learns, as it would alone."""

Event = dict[str, int | str]
"""Something that happened to an agent's policies: `event` says what; the other entries are the agent's own."""


class Agent(Protocol):
    """What chooses the policy of every episode of a lifetime."""

    @property
    def policies(self) -> Sequence[Learner]:
        """The policies there are now; an episode's policy is a place in this list. It may grow during a lifetime."""

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """The policy to play the next episode."""

    def ended(self, situation: Situation, episode: Episode) -> None:
        """An episode is over; its policy has learned from it already."""


class SavableAgent(Agent, Protocol):
    """An agent that can be saved and resumed, its policies included."""

    def state_dict(self) -> State:
        """Copies of all that decides the agent's future."""

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load what `state_dict` returned, with as many policies as there were."""


class AgentMayHave(Protocol):
    """What an agent may have besides, each by itself."""

    opening_steps: int
    """How many first transitions of each episode it gets; an agent without this attribute gets none."""
    other_bytes: int
    """What it holds in memory besides `policies`, such as copies of them; an agent without this attribute holds
    nothing to speak of."""
    credits_any_task: bool
    """Whether `ended` may name another task than `choose` did: where tasks are inferred, an episode may turn out to be
    of another one. An agent without this attribute is then not told of the episode."""
    plans_by_blocks: bool
    """Of its settings: whether what it does depends on how long the life is. Then a run that is over cannot go on."""

    def news(self) -> list[Event]:
        """What has happened to its policies since this was last asked, for the record; an agent without this method
        tells nothing. Asked at the end of every block."""

    @property
    def can_be_saved(self) -> bool:
        """Whether all its parts can; an agent without this property always can if it has a state."""

    def load_grown(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load what `state_dict` of an agent for fewer tasks returned, the first of these. To the run of an agent
        without this method no tasks can be added."""


class AgentSetup(NamedTuple):
    """What an agent is built from."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    n_tasks: int | None
    """None where tasks are hidden."""
    policies: int
    """How many policies there may be."""
    new_policy: Callable[[int], Learner]
    """The policy of a number, untrained; always the same for the same number."""
    make_selector: MakeSelector
    rng: np.random.Generator
    """For random draws before the first episode."""
    blocks: int = 0
    """Of the lifetime."""
    tasks: Sequence[int] = ()
    """Those that can come; none where tasks are hidden."""
    contexts: NDArray[np.float64] | None = None
    """(task, feature): `Domain.contexts`, where there are any and tasks are not hidden."""
    evaluate: Callable[[Learner, int, int], float] | None = None
    """evaluate(policy, task, episodes): the mean return of a policy that learns nothing; the steps are counted, in the
    column `evaluation_steps` of the record. None where tasks are hidden."""
    returns: Callable[[Learner, int, int], list[float]] | None = None
    """The same, but the return of each episode."""


MakeAgent = Callable[[AgentSetup], Agent]
"""Settings such as `PolicyLibrary()` are such callables."""


def opening_steps(agent: Agent) -> int:
    return int(getattr(agent, "opening_steps", 0))


def news_of(agent: Agent) -> list[Event]:
    """What an agent has to tell of itself since it was last asked; most have nothing."""
    news = getattr(agent, "news", None)
    return [] if news is None else news()


def has_state(part: Any) -> bool:
    """Whether an agent, a policy or a selector can be saved and restored, and so copied."""
    return hasattr(part, "state_dict") and hasattr(part, "load_state_dict")


def can_be_saved(agent: Agent) -> bool:
    return has_state(agent) and bool(getattr(agent, "can_be_saved", True))
