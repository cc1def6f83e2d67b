"""Names for domains, learners and selectors: what `repertory list` shows and the command line accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from repertory.domains.cartpole import CartpoleRules, cartpole27, cartpole125
from repertory.domains.domain import Domain
from repertory.domains.pocman import PocmanRules, pocman18
from repertory.errors import unknown
from repertory.learners.dqn import DQN
from repertory.learners.drqn import DRQN
from repertory.learners.ppo import PPO
from repertory.learners.protocol import MakeLearner
from repertory.learners.prpo import PRPO
from repertory.learners.random import Random
from repertory.profiles import with_profile
from repertory.selectors import EpsilonGreedy, FixedPartition, MakeSelector, OneToOne, UCB1Tuned
from repertory.settings import Settings


@dataclass(frozen=True)
class DomainEntry:
    """A domain that can be asked for by name: its rules and what builds it from them."""

    rules: type[Settings]
    build: Callable[[Any], Domain]
    blocks: int
    block_steps: int
    """The length of a lifetime in the paper."""


DOMAINS: dict[str, DomainEntry] = {
    "cartpole27": DomainEntry(CartpoleRules, cartpole27, blocks=675, block_steps=60_000),
    "cartpole125": DomainEntry(CartpoleRules, cartpole125, blocks=675, block_steps=60_000),
    "pocman18": DomainEntry(PocmanRules, pocman18, blocks=450, block_steps=200_000),
}
LEARNERS: dict[str, type[Settings]] = {"dqn": DQN, "drqn": DRQN, "ppo": PPO, "prpo": PRPO, "random": Random}
SELECTORS: dict[str, type[Settings]] = {
    "epsilon-greedy": EpsilonGreedy,
    "ucb1-tuned": UCB1Tuned,
    "fixed-partition": FixedPartition,
    "one-to-one": OneToOne,
}


def domain(name: str, profile: str = "text", **changes: Any) -> Domain:
    """A domain by name, under a profile, with single rules changed on top.

    >>> domain("cartpole27", profile="released").distinct_tasks()
    9
    """
    return build_domain(name, profile, changes)


def learner(name: str, profile: str = "text", **changes: Any) -> MakeLearner:
    """A learner's settings by name, under a profile, with single settings changed on top."""
    return build_learner(name, profile, changes)


def selector(name: str, profile: str = "text", **changes: Any) -> MakeSelector:
    """A selector's settings by name, under a profile, with single settings changed on top."""
    return build_selector(name, profile, changes)


# The same with the changes as a mapping, whatever their names: for command lines and files.


def build_domain(name: str, profile: str, changes: Mapping[str, Any]) -> Domain:
    entry = _find("domain", name, DOMAINS)
    return entry.build(with_profile(entry.rules, profile).replace_from_text(changes))


def build_learner(name: str, profile: str, changes: Mapping[str, Any]) -> MakeLearner:
    return with_profile(_find("learner", name, LEARNERS), profile).replace_from_text(changes)


def build_selector(name: str, profile: str, changes: Mapping[str, Any], domain_name: str = "") -> MakeSelector:
    return with_profile(_find("selector", name, SELECTORS), profile, domain_name).replace_from_text(changes)


def all_settings() -> dict[str, type[Settings]]:
    """Every settings class with the names it goes by: `{"cartpole125, cartpole27": CartpoleRules, ...}`."""
    classes: dict[type[Settings], list[str]] = {}
    named = {name: entry.rules for name, entry in DOMAINS.items()} | LEARNERS | SELECTORS
    for name, settings_class in named.items():
        classes.setdefault(settings_class, []).append(name)
    return {", ".join(names): settings_class for settings_class, names in classes.items()}


def name_of(component: object) -> str:
    """The name of a component in the catalogue, or else of its class or function."""
    for names in (LEARNERS, SELECTORS):
        for name, settings_class in names.items():
            if type(component) is settings_class:
                return name
    return getattr(component, "__qualname__", type(component).__qualname__)


def _find(kind: str, name: str, entries: dict[str, Any]) -> Any:
    if not isinstance(name, str) or name not in entries:
        raise unknown(kind, name, entries)
    return entries[name]
