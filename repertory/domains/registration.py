"""Gymnasium ids: `gymnasium.make("repertory/Cartpole27-v0", task=5, profile="text")`.

Importing repertory registers them.
"""

from __future__ import annotations

import gymnasium

IDS = {
    "repertory/Cartpole27-v0": "cartpole27",
    "repertory/Cartpole125-v0": "cartpole125",
    "repertory/Cartpole54-v0": "cartpole54",
    "repertory/Cartpole1000-v0": "cartpole1000",
    "repertory/Pocman18-v0": "pocman18",
    "repertory/OfficeRooms-v0": "office-rooms",
}


def register() -> None:
    for env_id, name in IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point="repertory.catalogue:make_env", kwargs={"domain_name": name})
