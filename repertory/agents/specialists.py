"""When a task of a library that splits gets a policy of its own.

Two groups in conflict are not all there is: where a policy is needed by several tasks, one of them may still bring less
than it could, and two policies would not show it, for a policy learns such a task in many visits, not in half a one.
Where there is room, such a task is given to a new policy that plays nothing else, for as long as that takes to show. It
knows nothing: a copy would act as one that has not learned the task, and has to unlearn that.
"""

from __future__ import annotations

import numpy as np

from repertory.agents.splitting_memory import Memory, Visit

IN_A_ROW = 2
"""Visits in which a task must have brought too little, at whatever home: persistence tells conflict from noise."""
APPRENTICESHIP = 15
"""Visits after which a specialist must be better; they meet after 1, 3, 7, 15, ... of them."""
KEPT = 1
"""Places that specialists leave free, for a copy on trial."""
AGAIN = 2
"""A task that went back may have another specialist once so many times as many visits have passed."""


def shortfall(m: Memory, home: int, task: int, share: float) -> float:
    """How much less than other tasks bring a policy gains on one of them, if it keeps less than this share of that, and
    if as much can be missing at all: who avoids what costs little has little to gain.

    For the same reason, tasks that can only cost say nothing of what one can bring.
    """
    if not m.blank or (home, task) not in m.levels:  # with room for one policy, nobody knows what ignorance earns
        return 0.0
    others = [
        m.gain(at, other)
        for other, at in m.home.items()
        if other != task and (at, other) in m.levels and not m.can_only_cost(other)
    ]
    if not others:
        return 0.0
    nothing = min(m.ignorance(task), m.usual_ignorance(task))  # two episodes may have been lucky ones
    usual, level = float(np.mean(others)), m.levels[home, task]
    gain, left = level - nothing, m.left_to_gain(task, level)
    return min(usual - gain, left) if gain < share * usual and left > (1.0 - share) * usual else 0.0


def note_shortfall(m: Memory, visit: Visit, share: float) -> None:
    """At the end of a visit, before the task moves home. A copy on trial has not had the time to bring all it could."""
    if m.is_on_trial(visit.champion):
        return
    is_short = shortfall(m, visit.champion, visit.task, share) > 0
    m.short[visit.task] = (m.short.get(visit.task, 0) + 1) * is_short


def is_due(m: Memory, home: int, task: int, places: int, share: float) -> bool:
    """Whether a task is among those at which most is missing, of as many as there are places.

    Not before two policies have shown that tasks conflict here, nor before all have tried the task, for it may just be
    with the wrong one.
    """
    staying = [policy for policy in m.generals if not m.is_on_trial(policy)]
    spare = places - KEPT + (m.on_trial is not None)
    if len(staying) < 2 or spare < 1 or m.home.get(task) != home:
        return False
    missing = {
        other: shortfall(m, at, other, share)
        for other, at in m.home.items()
        if at in staying
        and other != m.practised
        and m.short.get(other, 0) >= IN_A_ROW
        and m.visits >= AGAIN * m.returned.get(other, 0)
        and all((min(at, one), max(at, one), other) in m.meetings for one in staying if one != at)
    }
    return missing.get(task, 0.0) > 0 and task in sorted(missing, key=lambda other: -missing[other])[:spare]


def is_needed(m: Memory, specialist: int, outcome: int, share: float) -> bool:
    """Whether it goes on, now that it has met the policy in whose place it plays, with this outcome for it."""
    its = m.specialists[specialist]
    ours, theirs = m.levels[specialist, its.task], m.levels[its.master, its.task]
    if outcome > 0 and m.keeps_too_little(its.task, theirs, ours, share):
        return True
    return m.visits_of[specialist] < APPRENTICESHIP and (outcome > 0 or shortfall(m, its.master, its.task, share) > 0)
