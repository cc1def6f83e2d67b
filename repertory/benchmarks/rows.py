"""All rows of the table: what is measured, and what is asked of it."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from repertory import DQN, DRQN
from repertory.benchmarks import cartpole_dqn, cartpole_ppo, environment, plain_c, pocman_drqn, pocman_prpo
from repertory.benchmarks.keeping import checkpoint_seconds, checkpoint_share, gain_of_second_worker
from repertory.benchmarks.measure import speed_against
from repertory.benchmarks.memory_use import megabytes_of
from repertory.benchmarks.peak import share_of_peak
from repertory.benchmarks.result import AT_LEAST, AT_MOST, Row, Target
from repertory.benchmarks.scaling import Size, cost_against
from repertory.benchmarks.start import second_start
from repertory.errors import UsageError


def at_least(value: float) -> Target:
    return Target(AT_LEAST, value)


def at_most(value: float) -> Target:
    return Target(AT_MOST, value)


BUFFER, SMALL_BUFFER = 400_000, 40_000
"""Experiences that a policy remembers. 300 memories of the paper's size would take 3 GB, so they are smaller."""
SB3, CONTRIB = "Stable-Baselines3", "sb3-contrib"

ROWS = (
    Row(
        "Cartpole DQN / Stable-Baselines3",
        "x",
        at_least(130),
        speed_against(cartpole_dqn.repertory_dqn, SB3, cartpole_dqn.sb3_dqn),
    ),
    Row(
        "Cartpole DQN, sound / Stable-Baselines3",
        "x",
        at_least(100),
        speed_against(cartpole_dqn.sound_dqn, SB3, cartpole_dqn.sb3_sound_dqn),
    ),
    Row(
        "Cartpole DQN / plain C",
        "x",
        at_least(1.0),
        speed_against(cartpole_dqn.repertory_dqn, "plain C", plain_c.plain_c_dqn),
    ),
    Row("Cartpole DQN, share of peak", "%", at_least(0.30), share_of_peak(cartpole_dqn.repertory_dqn_in_flops)),
    Row(
        "Cartpole PPO / Stable-Baselines3",
        "x",
        at_least(80),
        speed_against(cartpole_ppo.repertory_ppo, SB3, cartpole_ppo.sb3_ppo),
    ),
    Row(
        "POcman DRQN / PyTorch",
        "x",
        at_least(4),
        speed_against(pocman_drqn.repertory_drqn, "PyTorch", pocman_drqn.torch_drqn),
    ),
    Row(
        "POcman DRQN updates, share of peak",
        "%",
        at_least(0.45),
        share_of_peak(pocman_drqn.repertory_drqn_updates, "products of equal windows are done, and count, once"),
    ),
    Row(
        "POcman PRPO / sb3-contrib",
        "x",
        at_least(12),
        speed_against(pocman_prpo.repertory_prpo, CONTRIB, pocman_prpo.sb3_recurrent_ppo),
    ),
    Row(
        "Cartpole alone / Gymnasium",
        "x",
        at_least(200),
        speed_against(environment.repertory_environment, "Gymnasium", environment.gymnasium_environment),
    ),
    Row("memory of a Cartpole DQN policy", "MB", at_most(10), megabytes_of("cartpole27", DQN())),
    Row("memory of a POcman DRQN policy", "MB", at_most(2.5), megabytes_of("pocman18", DRQN())),
    Row(
        "cost of a step, 27 policies / 1",
        "x",
        at_most(1.1),
        cost_against(Size(27, 27, buffer_size=BUFFER), Size(27, 1, buffer_size=BUFFER)),
    ),
    Row(
        "cost of a step, 1,000 tasks / 27",
        "x",
        at_most(1.2),
        cost_against(Size(1_000, 300, buffer_size=SMALL_BUFFER), Size(27, 9, buffer_size=SMALL_BUFFER)),
    ),
    Row("second start to first step", "s", at_most(4), second_start),
    Row("two workers / one", "x", at_least(1.8), gain_of_second_worker),
    Row("checkpoints, share of a lifetime", "%", None, checkpoint_share),
    Row("checkpoint of 27 full policies", "s", None, checkpoint_seconds),
)


def chosen(pattern: str | None, rows: Sequence[Row] = ROWS) -> list[Row]:
    """Those with `pattern` in their name, or that match it as a whole if it has wildcards; whatever the case."""
    if pattern is None:
        return list(rows)
    whole = pattern.lower() if set(pattern) & set("*?[") else f"*{pattern.lower()}*"
    found = [row for row in rows if fnmatch.fnmatchcase(row.name.lower(), whole)]
    if not found:
        names = "; ".join(row.name for row in rows)
        raise UsageError(f"--only {pattern!r} matches no row. Rows: {names}")
    return found
