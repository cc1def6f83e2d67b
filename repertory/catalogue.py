"""Names for domains, learners, selectors and agents: what `repertory list` shows and the command line accepts.

Other packages add to them by entry points. In their pyproject.toml:

    [project.entry-points."repertory.learners"]
    my-learner = "my_package:MyLearner"

The object behind `repertory.learners`, `repertory.selectors` and `repertory.agents` is a settings class (a subclass of
`repertory.settings.Settings` whose instances build the thing when called), or simply the function that builds it;
behind `repertory.domains` it is a `DomainEntry`, or a function that returns a `Domain`.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import gymnasium

from repertory.agents.bpr import BPR
from repertory.agents.em import EMClustering
from repertory.agents.library import PolicyLibrary
from repertory.agents.mbtl import MBTL
from repertory.agents.plpr import PLPR
from repertory.agents.sane import SANE
from repertory.agents.splitting import Splitting
from repertory.domains.cartpole import (
    CartpoleRules,
    GymnasiumRules,
    cartpole27,
    cartpole54,
    cartpole125,
    cartpole1000,
)
from repertory.domains.domain import Domain
from repertory.domains.office_rooms import OfficeRules, office_rooms
from repertory.domains.pocman import PocmanRules, pocman18
from repertory.errors import UsageError, unknown
from repertory.learners.dqn import DQN
from repertory.learners.drqn import DRQN
from repertory.learners.ppo import PPO
from repertory.learners.protocol import MakeLearner
from repertory.learners.prpo import PRPO
from repertory.learners.q_table import QTable
from repertory.learners.random import Random
from repertory.profiles import profile_of, with_profile
from repertory.selectors.averages import EpsilonGreedy, UCB1Tuned
from repertory.selectors.bandits import EXP3, SlidingWindowUCB, ThompsonSampling
from repertory.selectors.fixed import FixedPartition, OneToOne
from repertory.selectors.protocol import MakeSelector
from repertory.settings import Settings


@dataclass(frozen=True)
class DomainEntry:
    """A domain that can be asked for by name: its rules and what builds it from them."""

    rules: type[Settings]
    build: Callable[[Any], Domain]
    blocks: int
    block_steps: int
    """The length of a lifetime in the paper, or a sensible one."""


PAPER_BLOCKS, PAPER_BLOCK_STEPS = 675, 60_000

BUILT_IN: dict[str, dict[str, Any]] = {
    "domains": {
        "cartpole27": DomainEntry(CartpoleRules, cartpole27, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole125": DomainEntry(CartpoleRules, cartpole125, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole54": DomainEntry(CartpoleRules, cartpole54, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole1000": DomainEntry(GymnasiumRules, cartpole1000, blocks=3000, block_steps=20_000),
        "pocman18": DomainEntry(PocmanRules, pocman18, blocks=450, block_steps=200_000),
        "office-rooms": DomainEntry(OfficeRules, office_rooms, blocks=50, block_steps=200_000),
    },
    "learners": {"dqn": DQN, "drqn": DRQN, "ppo": PPO, "prpo": PRPO, "q-table": QTable, "random": Random},
    "selectors": {
        "epsilon-greedy": EpsilonGreedy,
        "ucb1-tuned": UCB1Tuned,
        "thompson": ThompsonSampling,
        "sliding-window-ucb": SlidingWindowUCB,
        "exp3": EXP3,
        "fixed-partition": FixedPartition,
        "one-to-one": OneToOne,
    },
    "agents": {
        "library": PolicyLibrary,
        "splitting": Splitting,
        "em": EMClustering,
        "mbtl": MBTL,
        "plpr": PLPR,
        "bpr": BPR,
        "sane": SANE,
    },
}


class NoSettings(Settings):
    """Of a plain function that another package brings."""


# ----------------------------------------------------------------------------------------------- what there is


@cache
def _entry_points(kind: str) -> dict[str, importlib.metadata.EntryPoint]:
    found = importlib.metadata.entry_points(group=f"repertory.{kind}")
    return {point.name: point for point in found if point.name not in BUILT_IN[kind]}


def names(kind: str) -> list[str]:
    """Of all `domains`, `learners`, `selectors` or `agents`, our own first."""
    return [*BUILT_IN[kind], *sorted(_entry_points(kind))]


def find(kind: str, name: str) -> Any:
    """The entry of a name; what another package brings is imported when first asked for."""
    if not isinstance(name, str) or name not in names(kind):
        raise unknown(kind.removesuffix("s"), name, names(kind))
    return BUILT_IN[kind][name] if name in BUILT_IN[kind] else _imported(kind, name)


@cache
def _imported(kind: str, name: str) -> Any:
    point = _entry_points(kind)[name]
    try:
        entry = point.load()
    except Exception as error:  # whatever another package's import may raise
        raise UsageError(f"{name} is brought by {point.value}, which cannot be imported: {error}") from error
    if kind == "domains" and not isinstance(entry, DomainEntry):
        # By the name it was asked for, so that a run of it finds it again.
        build = lambda rules: dataclasses.replace(entry(), name=name, settings={})  # noqa: E731
        return DomainEntry(NoSettings, build, PAPER_BLOCKS, PAPER_BLOCK_STEPS)
    return entry


def settings_class(kind: str, name: str) -> type[Settings]:
    """What can be set of an entry."""
    entry = find(kind, name)
    if isinstance(entry, DomainEntry):
        return entry.rules
    return entry if isinstance(entry, type) and issubclass(entry, Settings) else NoSettings


def lengths(domain_name: str) -> tuple[int, int]:
    """Blocks of a lifetime and steps of a block, as the paper has them on a domain or, for others, on Cartpole."""
    if domain_name not in names("domains"):
        return PAPER_BLOCKS, PAPER_BLOCK_STEPS
    entry = find("domains", domain_name)
    return entry.blocks, entry.block_steps


# ------------------------------------------------------------------------------------------- building by name


def domain(name: str, profile: str = "text", **changes: Any) -> Domain:
    """A domain by name, under a profile, with single rules changed on top.

    >>> domain("cartpole27", profile="released").distinct_tasks()
    9
    """
    return build("domain", name, profile, changes)


def learner(name: str, profile: str = "text", **changes: Any) -> MakeLearner:
    """A learner's settings by name, under a profile, with single settings changed on top."""
    return build("learner", name, profile, changes)


def selector(name: str, profile: str = "text", **changes: Any) -> MakeSelector:
    """A selector's settings by name, under a profile, with single settings changed on top."""
    return build("selector", name, profile, changes)


def build(part: str, name: str, profile: str, changes: Mapping[str, Any], domain_name: str = "") -> Any:
    """A `domain`, `learner`, `selector` or `agent` by name; the changes are a mapping, as command lines and files have
    them. Where a profile reads something differently on some domain, `domain_name` decides."""
    kind = f"{part}s"
    entry, settings = find(kind, name), settings_class(kind, name)
    # The record of a plain function or of a list of tasks holds values that are not settings.
    told = {"code", "tasks"} - set(settings.field_names()) if settings is NoSettings or part == "domain" else set()
    changes = {key: value for key, value in changes.items() if key not in told}
    configured = with_profile(settings, profile_of(profile, part), domain_name).replace_from_text(changes)
    if not isinstance(entry, DomainEntry):
        return entry if settings is NoSettings else configured
    try:
        return entry.build(configured)
    except Exception as error:  # whatever another package's code may raise; a fault of ours is not hidden
        if name in BUILT_IN["domains"] or isinstance(error, UsageError):
            raise
        raise UsageError(f"the domain {name} cannot be built: {type(error).__name__}: {error}") from error


def all_settings() -> dict[str, type[Settings]]:
    """Every built-in settings class with the names it goes by: `{"dqn": DQN, ...}`."""
    classes: dict[type[Settings], list[str]] = {}
    for kind, entries in BUILT_IN.items():
        for name in entries:
            classes.setdefault(settings_class(kind, name), []).append(name)
    return {", ".join(group): settings for settings, group in classes.items()}


def name_of(component: object) -> str:
    """The name of a component in the catalogue, or else of its class or function."""
    for kind in ("learners", "selectors", "agents"):
        for name, entry in BUILT_IN[kind].items():
            if type(component) is entry:
                return name
        for name, point in _entry_points(kind).items():  # by where it is from: others need not be imported for it
            if point.value.replace(" ", "") == _origin(component):
                return name
    return getattr(component, "__qualname__", type(component).__qualname__)


def _origin(component: object) -> str:
    """`module:name` of a function, or of the class of an object."""
    source = component if hasattr(component, "__qualname__") else type(component)
    return f"{source.__module__}:{getattr(source, '__qualname__', '')}"


def make_env(
    domain_name: str, task: int = 0, profile: str = "text", render_mode: str | None = None, **rules: Any
) -> gymnasium.Env:
    """What `gymnasium.make("repertory/Cartpole27-v0", task=5)` calls; `rules` are the domain's settings."""
    env = domain(domain_name, profile, **rules).env(task)
    env.render_mode = render_mode
    return env
