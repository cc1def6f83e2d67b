"""The library of policies: a fixed number of them, and a selector that picks one per episode (the paper's LPR)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from repertory.agents.protocol import AgentSetup, Episode, Situation, has_state
from repertory.errors import UsageError
from repertory.learners.protocol import State, can_rest
from repertory.selectors.protocol import Arrays
from repertory.settings import Settings

HIDDEN = 0
"""Where tasks are hidden, a selector sees one task."""


@dataclass(frozen=True, kw_only=True)
class PolicyLibrary(Settings):
    """Lifetime Policy Reuse: a fixed number of policies, and a selector that picks one of them for each episode."""

    def __call__(self, setup: AgentSetup) -> LibraryAgent:
        selector = setup.make_selector(setup.n_tasks or 1, setup.policies, setup.rng)
        return LibraryAgent([setup.new_policy(number) for number in range(setup.policies)], selector)


class SavedInParts:
    """What agents inherit that are saved part by part: their policies, and what else `parts` names."""

    policies: list[Any]

    def parts(self) -> dict[str, Any]:
        return policy_parts(self.policies)

    @property
    def can_be_saved(self) -> bool:
        return all(map(has_state, self.parts().values()))

    def state_dict(self) -> State:
        return join(self.parts())

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        share_out(state, self.parts())


class OwnArrays(Arrays):
    """The arrays of an agent's own, as one of its parts."""

    def __init__(self, own: State) -> None:
        self._own = own

    def arrays(self) -> State:
        return self._own


class LibraryAgent(SavedInParts):
    """Policies and a selector. It can be saved if all of them can."""

    credits_any_task = True

    def __init__(self, policies: Sequence[Any], selector: Any) -> None:
        self.policies = list(policies)
        self.selector = selector

    def choose(self, situation: Situation, rng: Any) -> int:
        policy: int = self.selector.select(HIDDEN if situation.task is None else situation.task, rng)
        return policy

    def ended(self, situation: Situation, episode: Episode) -> None:
        task = HIDDEN if situation.task is None else situation.task
        self.selector.update(task, episode.policy, episode.total_reward, episode.steps)

    def parts(self) -> dict[str, Any]:
        return {"selector": self.selector, **super().parts()}

    def load_grown(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load the state of one for fewer tasks, the first of these: policies are the same for any number."""
        groups = shares(state)
        self.selector.load_grown(groups.get("selector", {}))
        for part, policy in policy_parts(self.policies).items():
            policy.load_state_dict(groups.get(part, {}))


def policy_parts(policies: Sequence[Any]) -> dict[str, Any]:
    """Policies by their names in a saved state."""
    return {f"policy {number}": policy for number, policy in enumerate(policies)}


def join(parts: Mapping[str, Any]) -> State:
    """The states of several parts as one: `policy 3/weights`."""
    return {f"{part}/{name}": array for part, owner in parts.items() for name, array in owner.state_dict().items()}


def shares(state: Mapping[str, NDArray[Any]]) -> dict[str, State]:
    """What `join` made, by part."""
    groups: dict[str, State] = {}
    for full_name, array in state.items():
        group, _slash, name = full_name.partition("/")
        groups.setdefault(group, {})[name] = array
    return groups


def share_out(state: Mapping[str, NDArray[Any]], parts: Mapping[str, Any]) -> None:
    """Load into each part its share of what `join` made."""
    groups = shares(state)
    for part, owner in parts.items():
        owner.load_state_dict(groups.get(part, {}))


def number_of_tasks(setup: AgentSetup, agent: str) -> int:
    """For an agent that goes by them."""
    if setup.n_tasks is None:
        raise UsageError(f"{agent} must know which task it is; valid: without hidden tasks")
    return setup.n_tasks


def policies_to_compare(setup: AgentSetup, agent: str) -> tuple[list[Any], int]:
    """New policies and the number of tasks, for an agent that evaluates policies on tasks that it knows."""
    n_tasks = number_of_tasks(setup, agent)
    policies = [setup.new_policy(number) for number in range(setup.policies)]
    if not can_rest(policies[0]):
        raise UsageError(
            f"{agent} evaluates its policies, and a {type(policies[0]).__name__} has no action_probabilities to choose "
            "actions by, and no actions_at_rest; valid: a learner that has"
        )
    return policies, n_tasks
