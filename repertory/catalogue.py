"""Names for domains, learners, selectors and agents: what `repertory list` shows and the command line accepts.

Other packages add to them by entry points. In their pyproject.toml:

    [project.entry-points."repertory.learners"]
    my-learner = "my_package:MyLearner"

The object behind `repertory.learners`, `repertory.selectors` and `repertory.agents` is a settings class (a subclass of
`repertory.settings.Settings` whose instances build the thing when called), or simply the function that builds it;
behind `repertory.domains` it is a `DomainEntry`, or a function that returns a `Domain`.

Besides, a name may be `sb3:SAC`, an algorithm of Stable-Baselines3; `my_tasks.py:domain`, a user's own file; and, of a
domain, the id of any Gymnasium environment, whose settings are what varies.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import inspect
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import gymnasium

from repertory import own_code
from repertory.agents.bpr import BPR
from repertory.agents.em import EMClustering
from repertory.agents.inference import InferTasks
from repertory.agents.library import PolicyLibrary
from repertory.agents.mbcd import MBCD
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
from repertory.domains.domain import SPLIT, Domain
from repertory.domains.entry import DomainEntry
from repertory.domains.metaworld import ContinualWorldRules, continual_world
from repertory.domains.minigrid import FAMILIES, MiniGridRules, minigrid_family
from repertory.domains.office_rooms import OfficeRules, office_rooms
from repertory.domains.pocman import PocmanRules, pocman18
from repertory.domains.vary import again, contexts, env_spec, is_variation, vary
from repertory.errors import SHOWN_LENGTH, UsageError, nearest, shown, unknown
from repertory.learners.dqn import DQN
from repertory.learners.drqn import DRQN
from repertory.learners.ppo import PPO
from repertory.learners.protocol import MakeLearner
from repertory.learners.prpo import PRPO
from repertory.learners.q_table import QTable
from repertory.learners.random import Random
from repertory.learners.sb3_by_name import OURS, can_be_made_again, is_sb3, name_in_record, sb3_by_name
from repertory.number_ranges import parse_numbers
from repertory.own_components import TOLD, own_component, own_domain, own_lengths, own_name
from repertory.profiles import profile_of, with_profile
from repertory.selectors.averages import EpsilonGreedy, UCB1Tuned
from repertory.selectors.bandits import EXP3, SlidingWindowUCB, ThompsonSampling
from repertory.selectors.fixed import FixedPartition, OneToOne
from repertory.selectors.protocol import MakeSelector
from repertory.settings import Settings
from repertory.text_values import value_of

PAPER_BLOCKS, PAPER_BLOCK_STEPS = 675, 60_000
OWN_BLOCKS, OWN_BLOCKS_OF_A_TASK, OWN_BLOCK_STEPS = 50, 5, 2_000
"""Of users' own tasks, which are rarely compiled: minutes at a thousand steps a second."""

BUILT_IN: dict[str, dict[str, Any]] = {
    "domains": {
        "cartpole27": DomainEntry(CartpoleRules, cartpole27, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole125": DomainEntry(CartpoleRules, cartpole125, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole54": DomainEntry(CartpoleRules, cartpole54, PAPER_BLOCKS, PAPER_BLOCK_STEPS),
        "cartpole1000": DomainEntry(GymnasiumRules, cartpole1000, blocks=3000, block_steps=20_000),
        "pocman18": DomainEntry(PocmanRules, pocman18, blocks=450, block_steps=200_000),
        "office-rooms": DomainEntry(OfficeRules, office_rooms, blocks=50, block_steps=200_000),
        "continual-world": DomainEntry(ContinualWorldRules, continual_world, blocks=200, block_steps=50_000),
        **{
            name: DomainEntry(MiniGridRules, partial(minigrid_family, name), blocks=200, block_steps=5_000)
            for name in FAMILIES
        },
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
        "infer": InferTasks,
        "mbcd": MBCD,
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


def load_entry_point(point: importlib.metadata.EntryPoint) -> Any:
    """What another package brings."""
    try:
        return point.load()
    except Exception as error:  # whatever another package's import may raise
        raise UsageError(f"{point.name} is brought by {point.value}, which cannot be imported: {error}") from error


@cache
def _imported(kind: str, name: str) -> Any:
    entry = load_entry_point(_entry_points(kind)[name])
    if kind == "domains" and not isinstance(entry, DomainEntry):
        # By the name it was asked for, so that a run of it finds it again.
        build = lambda rules: dataclasses.replace(entry(), name=name, settings={})  # noqa: E731
        return DomainEntry(NoSettings, build, OWN_BLOCKS, OWN_BLOCK_STEPS)
    return entry


def settings_class(kind: str, name: str) -> type[Settings]:
    """What can be set of an entry."""
    entry = find(kind, name)
    if isinstance(entry, DomainEntry):
        return entry.rules
    return entry if isinstance(entry, type) and issubclass(entry, Settings) else NoSettings


def lengths(domain_name: str, n_tasks: int = 1) -> tuple[int, int]:
    """Blocks of a lifetime and steps of a block, as the paper has them on a domain; of others, some minutes' worth."""
    if own_code.is_own_code(domain_name) and (own := own_lengths(domain_name)) is not None:
        return own
    if domain_name not in names("domains"):
        return max(OWN_BLOCKS, OWN_BLOCKS_OF_A_TASK * n_tasks), OWN_BLOCK_STEPS
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
    if part == "domain" and not changes.keys().isdisjoint(SPLIT):
        whole = build(part, name, profile, {key: value for key, value in changes.items() if key not in SPLIT})
        return _split(whole, changes)
    kind = f"{part}s"
    if part == "domain" and "vary" in changes and (name in names(kind) or own_code.is_own_code(name)):
        raise UsageError(
            f"{name} cannot be varied, only a Gymnasium environment, by its id; next: see repertory list domains {name}"
        )
    if isinstance(name, str) and name not in names(kind):
        if part == "domain":
            return _other_domain(name, profile_of(profile, part), changes)
        if own_code.is_own_code(name) and not is_sb3(name):
            plain = {key: value for key, value in changes.items() if key not in TOLD}
            return own_component(part, name, profile_of(profile, part), plain, domain_name)
        if part == "learner" and is_sb3(name):
            return sb3_by_name(name, changes)
    entry, settings = find(kind, name), settings_class(kind, name)
    # The record of a plain function or of a list of tasks holds values that are not settings.
    told = (
        {"code", "tasks", "wrappers"} - set(settings.field_names())
        if settings is NoSettings or part == "domain"
        else set()
    )
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


def _split(whole: Domain, changes: Mapping[str, Any]) -> Domain:
    """Some tasks held out, as a list of tasks or as a text such as `6-8`."""
    parts = {key: changes[key] for key in ("train", "held_out") if key in changes}
    tasks = {
        key: parse_numbers(value, key, "task") if isinstance(value, str) else value for key, value in parts.items()
    }
    for key, value in tasks.items():
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"'{key}' of {whole.name} is {shown(value)}; valid: tasks, such as [6, 7] or '6-8'")
    return whole.split(**tasks)


VARIATION_KEYS = ("vary", "contexts", "wrappers", "score", "check")
"""What can be said of a Gymnasium environment as a domain."""


_checked: set[str] = set()
"""Variants that were checked in this process: a sweep asks for the same ones for each of its runs."""


def _other_domain(name: str, profile: str, changes: Mapping[str, Any]) -> Domain:
    """From a user's file, or the variants of a Gymnasium environment."""
    if own_code.is_own_code(name):
        return own_domain(name, profile, {key: value for key, value in changes.items() if key not in TOLD})
    if "env" in changes:  # the record of such variants
        return again(changes, name)
    _check_env_id(name)
    given = {key: value_of(value) for key, value in changes.items()}
    for key in given:
        if key not in VARIATION_KEYS:
            raise unknown(f"setting of {name} as a domain", key, VARIATION_KEYS)
    varied, rows = given.pop("vary", {}), given.pop("contexts", None)
    if rows is not None and varied:
        raise UsageError(f"both 'vary' and 'contexts' are given for {name}; valid: one of them")
    if rows is None and not isinstance(varied, Mapping):
        raise UsageError(f"'vary' of {name} is {shown(varied)}; valid: a table of lists, such as gravity = [1.6, 9.8]")
    for key in varied:
        if key in VARIATION_KEYS or key in ("env", "name"):
            raise UsageError(f"'{key}' of {name} cannot be varied by that name; next: use 'contexts'")
    asked = repr((name, given, varied, rows))
    given = {**given, "check": given.get("check", True) and asked not in _checked}
    made = contexts(name, rows, **given) if rows is not None else vary(name, **given, **varied)
    _checked.add(asked)
    return made


def _check_env_id(name: str) -> None:
    try:
        env_spec(name)
    except UsageError as problem:
        if ":" in name:
            raise
        near = difflib.get_close_matches(name, [*names("domains"), *gymnasium.registry], n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        raise UsageError(
            f"unknown domain '{name[:SHOWN_LENGTH]}'{hint} Valid: {', '.join(names('domains'))}, the id of a Gymnasium "
            f"environment, or {own_code.FORM}"
        ) from problem


def can_build(part: str, recorded: Mapping[str, Any]) -> bool:
    """Whether a component can be built from the record of a run, which may be a stranger's and must not run code that
    this user has never named."""
    name = recorded["name"]
    if name in names(f"{part}s"):
        return True
    if is_sb3(name):
        return part == "learner" and can_be_made_again(recorded)
    if own_code.is_own_code(name):
        return own_code.is_allowed(name)
    return part == "domain" and is_variation(recorded)


def not_built(part: str, recorded: Mapping[str, Any]) -> str:
    """Why not, and what to do."""
    name = recorded["name"]
    if own_code.is_own_code(name) and not is_sb3(name):
        return (
            f"the {part} is {name}, and code is not run because a record names it; next: if it is yours, "
            f"repertory list {part}s {name}, or give it: {part}=..."
        )
    own = f"one of your own must be given: {part}=..."
    return f"the {part} '{name}' is not in the catalogue; {own}{nearest(str(name), names(f'{part}s'))}"


def arguments(component: Any) -> dict[str, str]:
    """What can be set of a component that has no settings class, and the defaults as text."""
    source = getattr(component, "algorithm", None) or getattr(component, "arguments_of", component)
    parameters = inspect.signature(source).parameters.values()
    own = [each for each in parameters if each.default is not each.empty and each.name not in OURS]
    return {each.name: str(each.default) for each in own}


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
    own = own_name(component)
    if own is not None:
        return own
    if type(component).__qualname__ == "SB3" and hasattr(component, "as_dict"):
        return name_in_record(component.as_dict()) or "SB3"
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
