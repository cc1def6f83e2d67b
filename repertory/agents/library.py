"""The library of policies: a fixed number of them, and a selector that picks one per episode (the paper's LPR)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from repertory.agents.protocol import AgentSetup, Episode, Situation
from repertory.learners.protocol import State
from repertory.settings import Settings

HIDDEN = 0
"""Where tasks are hidden, a selector sees one task."""


@dataclass(frozen=True, kw_only=True)
class PolicyLibrary(Settings):
    """Lifetime Policy Reuse: a fixed number of policies, and a selector that picks one of them for each episode."""

    def __call__(self, setup: AgentSetup) -> LibraryAgent:
        selector = setup.make_selector(setup.n_tasks or 1, setup.policies, setup.rng)
        return LibraryAgent([setup.new_policy(number) for number in range(setup.policies)], selector)


class LibraryAgent:
    """Policies and a selector. It can be saved if all of them can."""

    def __init__(self, policies: Sequence[Any], selector: Any) -> None:
        self.policies = list(policies)
        self.selector = selector

    def choose(self, situation: Situation, rng: Any) -> int:
        policy: int = self.selector.select(HIDDEN if situation.task is None else situation.task, rng)
        return policy

    def ended(self, situation: Situation, episode: Episode) -> None:
        task = HIDDEN if situation.task is None else situation.task
        self.selector.update(task, episode.policy, episode.total_reward, episode.steps)

    @property
    def can_be_saved(self) -> bool:
        parts = [self.selector, *self.policies]
        return all(hasattr(part, "state_dict") and hasattr(part, "load_state_dict") for part in parts)

    def state_dict(self) -> State:
        return join({"selector": self.selector, **policy_parts(self.policies)})

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        share_out(state, {"selector": self.selector, **policy_parts(self.policies)})


def policy_parts(policies: Sequence[Any]) -> dict[str, Any]:
    """Policies by their names in a saved state."""
    return {f"policy {number}": policy for number, policy in enumerate(policies)}


def join(parts: Mapping[str, Any]) -> State:
    """The states of several parts as one: `policy 3/weights`."""
    return {f"{part}/{name}": array for part, owner in parts.items() for name, array in owner.state_dict().items()}


def share_out(state: Mapping[str, NDArray[Any]], parts: Mapping[str, Any]) -> None:
    """Load into each part its share of what `join` made."""
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for full_name, array in state.items():
        group, _slash, name = full_name.partition("/")
        groups.setdefault(group, {})[name] = array
    for part, owner in parts.items():
        owner.load_state_dict(groups.get(part, {}))
