"""All rows of the table: what is measured, and what is asked of it."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from repertory import DQN, DRQN
from repertory.benchmarks import environment, plain_c, pocman_drqn, ppo
from repertory.benchmarks.cartpole_dqn import SOUND, repertory_dqn, repertory_dqn_in_flops, sb3_dqn
from repertory.benchmarks.hidden_tasks import inferred_against_told
from repertory.benchmarks.keeping import checkpoint_seconds, checkpoint_share, gain_of_second_worker
from repertory.benchmarks.measure import Contender, megabytes_of, speed_against
from repertory.benchmarks.peak import share_of_peak
from repertory.benchmarks.result import AT_LEAST, AT_MOST, Row, Target
from repertory.benchmarks.sb3_inside import cost_of_a_library
from repertory.benchmarks.scaling import Size, cost_against
from repertory.benchmarks.single_policy import dqn_on_second_task
from repertory.benchmarks.start import second_start
from repertory.errors import UsageError

Make = Callable[[], Contender]


def at_least(value: float) -> Target:
    return Target(AT_LEAST, value)


def at_most(value: float) -> Target:
    return Target(AT_MOST, value)


def faster(name: str, than: str, times: float, ours: Make, theirs: Make) -> Row:
    return Row(f"{name} / {than}", "x", at_least(times), speed_against(ours, than, theirs))


def no_slower(what: str, **changes: Any) -> Row:
    """DQN with something switched on keeps four fifths of its speed."""
    return faster(f"DQN with {what}", "plain DQN", 0.8, partial(dqn_on_second_task, **changes), dqn_on_second_task)


BUFFER, SMALL_BUFFER = 400_000, 40_000
"""Experiences that a policy remembers. 300 memories of the paper's size would take 3 GB, so they are smaller."""
SB3 = "Stable-Baselines3"
MANY_POLICIES = cost_against(Size(27, 27, buffer_size=BUFFER), Size(27, 1, buffer_size=BUFFER))
MANY_TASKS = cost_against(Size(1_000, 300, buffer_size=SMALL_BUFFER), Size(27, 9, buffer_size=SMALL_BUFFER))
DRQN_UPDATES = share_of_peak(pocman_drqn.repertory_drqn_updates, "products of equal windows are done, and count, once")

ROWS = (
    faster("Cartpole DQN", SB3, 130, repertory_dqn, sb3_dqn),
    faster("Cartpole DQN, sound", SB3, 100, partial(repertory_dqn, SOUND), partial(sb3_dqn, SOUND)),
    faster("Cartpole DQN", "plain C", 1.0, repertory_dqn, plain_c.plain_c_dqn),
    Row("Cartpole DQN, share of peak", "%", at_least(0.30), share_of_peak(repertory_dqn_in_flops)),
    no_slower("task input", task_input=True),
    no_slower("EWC", ewc=0.1),
    no_slower("PackNet", packnet=1_000, memory="task-matching"),
    faster("Cartpole PPO", SB3, 80, ppo.repertory_ppo, ppo.sb3_ppo),
    faster("POcman DRQN", "PyTorch", 4, pocman_drqn.repertory_drqn, pocman_drqn.torch_drqn),
    Row("POcman DRQN updates, share of peak", "%", at_least(0.45), DRQN_UPDATES),
    faster("POcman PRPO", "sb3-contrib", 12, ppo.repertory_prpo, ppo.sb3_recurrent_ppo),
    faster("Cartpole alone", "Gymnasium", 200, environment.repertory_environment, environment.gymnasium_environment),
    Row("memory of a Cartpole DQN policy", "MB", at_most(10), megabytes_of("cartpole27", DQN())),
    Row("memory of a POcman DRQN policy", "MB", at_most(2.5), megabytes_of("pocman18", DRQN())),
    Row("cost of a step, 27 policies / 1", "x", at_most(1.1), MANY_POLICIES),
    Row("cost of a step, 1,000 tasks / 27", "x", at_most(1.2), MANY_TASKS),
    Row("SB3 PPO in a library / alone", "x", at_most(1.05), cost_of_a_library("PPO")),
    Row("SB3 DQN in a library / alone", "x", at_most(1.03), cost_of_a_library("DQN")),
    Row("Cartpole DQN, task inferred / told", "x", at_most(1.05), inferred_against_told),
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
