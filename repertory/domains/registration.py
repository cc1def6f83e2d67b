"""Gymnasium ids: `gymnasium.make("repertory/Cartpole27-v0", task=5, profile="text")`.

Importing repertory registers them.
"""

from __future__ import annotations

from typing import Any

import gymnasium

IDS = {
    "repertory/Cartpole27-v0": "cartpole27",
    "repertory/Cartpole125-v0": "cartpole125",
    "repertory/Pocman18-v0": "pocman18",
}


def register() -> None:
    for env_id, name in IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point="repertory.domains.registration:make", kwargs={"domain_name": name})


def make(
    domain_name: str, task: int = 0, profile: str = "text", render_mode: str | None = None, **rules: Any
) -> gymnasium.Env:
    """The environment of one task; `rules` are the domain's settings, such as `force=2.0`."""
    from repertory.catalogue import domain

    env = domain(domain_name, profile, **rules).env(task)
    env.render_mode = render_mode
    return env
