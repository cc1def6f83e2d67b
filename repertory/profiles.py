"""Profiles: named sets of options, and the only place that knows them.

`text` is the paper as written and the default of every settings class. `released` is what the authors' published
code does; only that one can be expected to land on the published tables. `sound` has learners that keep what they have
learned for a whole life, and is otherwise as `text`. Each difference is an ordinary option with a plain meaning, so
single ones can be set on top of any profile.

A component can be read under a profile of its own: `released,learner=sound` has sound learners play the released tasks.
"""

from __future__ import annotations

from typing import Any

from repertory.errors import shown, unknown
from repertory.settings import Settings, SettingsType

PROFILES = ("text", "released", "sound")
PARTS = ("domain", "learner", "selector", "agent")
"""What can have a profile of its own."""

RELEASED: dict[str, dict[str, Any]] = {
    "repertory.domains.cartpole.CartpoleRules": {
        "force": 10.0,
        "angle_limit": 12.0,
        "max_steps": 201,
        "failure_reward": 1.0,
        "observation_order": "x x_dot theta theta_dot",
        # Their tasks change attributes that Gym's CartPole reads only once, before the change: what is derived
        # from mass and length stays at Gym's defaults, the cart's mass does nothing, and 9 (25) tasks differ.
        "total_mass": 1.1,
        "pole_moment": 0.05,
    },
    "repertory.domains.pocman.PocmanRules": {
        "reaction_range": 3,
        "headings": "no reversal",
        "chase": "axis",
        "static_adjacency": "always on",
        "observation_values": "-1 1",
        "direction_order": "north south west east",
    },
    "repertory.learners.dqn.DQN": {
        "exploration_rate": 0.1,
        "random_first_steps": 2,
        "timeout_bootstraps": False,
        "memory": "finished-episodes",
        "sampling": "episodes",
    },
    "repertory.learners.drqn.DRQN": {
        "random_first_steps": 16,
        "memory": "finished-episodes",
        "sampling": "episodes",
        "full_windows": True,
    },
    "repertory.learners.ppo.PPO": {
        "max_grad_norm": None,
        "ratio": "pairwise",
        "probability_floor": 1e-7,  # Keras clips probabilities so; without it, one unlikely action ends all learning
        "minibatches": "consecutive",
        "delta": "undiscounted",
        "value_target": "return",
        "random_first_steps": 1,
        "timeout_bootstraps": False,
    },
    "repertory.learners.prpo.PRPO": {
        "max_grad_norm": None,
        "ratio": "pairwise",
        "probability_floor": 1e-7,  # Keras clips probabilities so; without it, one unlikely action ends all learning
        "minibatches": "consecutive",
        "delta": "undiscounted",
        "value_target": "return",
    },
    "repertory.selectors.averages.EpsilonGreedy": {"average": "per policy episode"},
    "repertory.selectors.averages.UCB1Tuned": {
        "average": "per policy episode",
        "optimal_average": 200.0,
        "statistics": "policy mean",
        "sample": "average",
        "initial_value": 1.0,
    },
}
"""Per settings class, by its full name, the fields in which `released` differs from `text`.

A class of the same name from elsewhere is another class: none of this is said of it.
"""

RELEASED_ON: dict[str, dict[str, dict[str, Any]]] = {
    # The authors divide by a policy's episodes on Cartpole only.
    "pocman18": {"repertory.selectors.averages.EpsilonGreedy": {"average": "per step"}},
}
"""Per domain, what `released` has different there."""

SOUND: dict[str, dict[str, Any]] = {
    "repertory.learners.dqn.DQN": {
        # Values that cannot pass what is possible, and a network that need not grow to hold them.
        "target_bound": "rewards",
        "normalize_returns": True,
        "double_q": True,
        # What the network outputs is 1 at most, so its steps are as much smaller.
        "learning_rate": 0.01,
        "exploration_rate": 0.1,
        # A policy that plays well no longer sees failures: it must remember them.
        "memory": "distribution-matching",
        "protected": 50_000,
    },
    "repertory.learners.ppo.PPO": {
        # A bonus for entropy keeps a policy that has nothing left to find away from what it has found.
        "ent_coef": 0.0,
        # A step too far on one hard task can undo what was learned on all: an update ends before that.
        "target_kl": 0.01,
    },
    "repertory.learners.drqn.DRQN": {
        "target_bound": "rewards",
        "double_q": True,
        # Play at random is dear where nothing ends an episode: rewards are touched by following what is known.
        "exploration_rate": 0.05,
        "learning_starts": 5_000,
        # What counts in these mazes comes within twenty steps; values of a longer view take longer to learn.
        "gamma": 0.95,
    },
}
"""Per settings class, in what `sound` differs from `text`; `sound-search` is how it was chosen."""

CHANGES = {"text": {}, "released": RELEASED, "sound": SOUND}


def full_name(settings_class: type[Settings]) -> str:
    """Where a class is from, and its name: `repertory.learners.dqn.DQN`."""
    return f"{settings_class.__module__}.{settings_class.__qualname__}"


def differences(settings_class: type[Settings], profile: str = "released") -> list[tuple[str, Any, Any]]:
    """(setting, value under `text`, value under the profile) for every setting that differs."""
    text = settings_class()
    changes = CHANGES[profile].get(full_name(settings_class), {})
    return [(name, getattr(text, name), value) for name, value in changes.items()]


def differences_on_domains(settings_class: type[Settings]) -> list[tuple[str, str, Any]]:
    """(domain, setting, value under `released` there) where a domain departs from the rest."""
    return [
        (domain, setting, value)
        for domain, classes in RELEASED_ON.items()
        for setting, value in classes.get(full_name(settings_class), {}).items()
    ]


def check_profile(profile: str) -> str:
    """A profile, or one with others for single components, in its shortest form: `released,learner=sound`."""
    if not isinstance(profile, str):
        raise unknown("profile", profile, PROFILES)
    first, *rest = (entry.strip() for entry in profile.split(","))
    own: dict[str, str] = {}
    for entry in rest if "=" not in first else [first, *rest]:
        part, _equals, name = entry.partition("=")
        if part not in PARTS:
            raise unknown(f"component in the profile {shown(profile)}", part, PARTS)
        own[part] = name
    base = "text" if "=" in first else first
    for name in (base, *own.values()):
        if name not in PROFILES:
            raise unknown("profile", name, PROFILES)
    return ",".join([base, *(f"{part}={own[part]}" for part in PARTS if own.get(part, base) != base)])


def profile_of(profile: str, part: str) -> str:
    """Under which profile a component is read: `sound` for the learner of `released,learner=sound`."""
    base, *own = check_profile(profile).split(",")
    return dict(entry.split("=") for entry in own).get(part, base)


def with_profile(settings_class: type[SettingsType], profile: str, domain: str = "") -> SettingsType:
    """The settings of a class under a profile, on a domain."""
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    name = full_name(settings_class)
    on_domain = RELEASED_ON.get(domain, {}).get(name, {}) if profile == "released" else {}
    return settings_class().replace(**CHANGES[profile].get(name, {}) | on_domain)
