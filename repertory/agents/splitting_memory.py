"""What a library that splits knows of its tasks and policies, and how that is saved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.agents.contest import least_episodes
from repertory.agents.protocol import Event

TABLES = ("home", "blank", "seen", "levels", "meetings", "specialists", "returned", "short")
"""The fields of `Memory` whose keys are numbers or pairs of them, which JSON does not have."""

STALE = 2.0
"""Two policies meet again on a task when one of them has played so many times as many visits as when they met last."""


@dataclass
class Meeting:
    """How two policies, `first < second`, did on a task when they last met there."""

    verdict: int
    """1 if the first earned more, -1 if the second did, 0 for a draw."""
    levels: tuple[float, float]
    """What each earned."""
    visits: tuple[int, int]
    """That each had played by then."""


@dataclass
class Specialist:
    """A policy that plays one task, in place of the one that played it before."""

    task: int
    master: int


@dataclass
class Visit:
    """Consecutive episodes of one task."""

    task: int
    champion: int
    """The policy that is to play it."""
    rivals: list[int]
    """Policies that the champion has to meet first."""
    returns: dict[int, list[float]] = field(default_factory=dict)
    """By policy."""
    steps: int = 0
    episodes: int = 0
    blank: int | None = None
    """The place of a policy that has learned nothing, while it plays."""
    may_copy: bool = False
    may_specialize: bool = False


@dataclass
class Memory:
    """All that decides the agent's future, its policies aside, as plain values."""

    alive: list[int] = field(default_factory=lambda: [0])
    visits: int = 0
    steps: int = 0
    episodes: int = 0
    """Of all visits that are over."""
    visits_of: list[int] = field(default_factory=lambda: [0])
    born: list[int] = field(default_factory=lambda: [0])
    """The visit in which the policy at each place was made."""
    home: dict[int, int] = field(default_factory=dict)
    """The policy that played each task last."""
    blank: dict[int, float] = field(default_factory=dict)
    """What a policy that has learned nothing earns on each task."""
    seen: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The least and the most that an episode of each task has brought."""
    levels: dict[tuple[int, int], float] = field(default_factory=dict)
    """What a policy earned on a task in its last visit there: by (policy, task)."""
    meetings: dict[tuple[int, int, int], Meeting] = field(default_factory=dict)
    """By (first, second, task)."""
    on_trial: tuple[int, int] | None = None
    """A copy that has yet to show that it is needed: (parent, copy)."""
    practised: int | None = None
    """The task that the copy practises and has yet to meet its parent on."""
    practice: int = 0
    """Steps that have been played there since."""
    shown: int = 0
    """How often the copy has shown there that it is needed."""
    waits: bool = False
    """Whether they meet nowhere else until they have met there."""
    waiting_since: int = 0
    """The visit from which tasks to judge it by have been waited for."""
    attempts: int = 0
    """Copies and new policies so far."""
    wait: int = 0
    """From the last copy to the next, in visits."""
    next_copy: int = 0
    specialists: dict[int, Specialist] = field(default_factory=dict)
    """By policy."""
    returned: dict[int, int] = field(default_factory=dict)
    """The visit in which each task went back to the policy that its specialist was no better than."""
    short: dict[int, int] = field(default_factory=dict)
    """Visits in a row in which each task brought less than the others of its home."""
    visit: Visit | None = None
    """The current one."""
    news: list[Event] = field(default_factory=list)
    """What has not been told yet."""

    @property
    def generals(self) -> list[int]:
        """The policies that play any task which comes to them."""
        return [policy for policy in self.alive if policy not in self.specialists]

    @property
    def parent(self) -> int:
        """Of the copy on trial."""
        assert self.on_trial is not None
        return self.on_trial[0]

    @property
    def least_episodes(self) -> int:
        """Of each policy in a contest."""
        return least_episodes(self.episodes / max(self.visits, 1))

    def is_on_trial(self, *policies: int) -> bool:
        return self.on_trial is not None and self.on_trial[1] in policies

    def note_return(self, task: int, brought: float) -> None:
        least, most = self.seen.get(task, (brought, brought))
        self.seen[task] = min(least, brought), max(most, brought)

    def can_only_cost(self, task: int) -> bool:
        """As far as is known: its episodes have cost something or nothing, and none has brought anything."""
        least, most = self.seen.get(task, (0.0, 0.0))
        return least < 0 >= most

    def left_to_gain(self, task: int, level: float) -> float:
        """How much more than `level` a task can bring: where it can only cost, no more than to cost nothing."""
        return -level if self.can_only_cost(task) else np.inf

    def gain(self, policy: int, task: int) -> float:
        """What a policy has earned on a task, beyond one that has learned nothing."""
        return self.levels[policy, task] - self.ignorance(task)

    def gains_at_home(self, policy: int, but: int) -> list[float]:
        """On the tasks that are at home with a policy, but for one."""
        return [
            self.gain(policy, task) for who, task in self.levels if who == policy == self.home.get(task) and task != but
        ]

    def has_learned_nothing(self, copy: int, task: int, parent: int, share: float) -> bool:
        """Whether a copy has gained less where it practised than this share of what its parent's other tasks bring: who
        has not learned a task in its practice says nothing of what is in the way there."""
        usual = self.gains_at_home(parent, but=task)
        return bool(usual) and self.gain(copy, task) < share * float(np.mean(usual))

    def ignorance(self, task: int) -> float:
        """What a policy earns that has learned nothing; where that was not measured, what it earns on other tasks."""
        return self.blank[task] if task in self.blank else float(np.mean(list(self.blank.values())))

    def usual_ignorance(self, task: int) -> float:
        """What a policy that has learned nothing earns on average, on the tasks that can only cost or on the others, as
        this one does: what one costs says nothing of what the other brings."""
        kind = self.can_only_cost(task)
        alike = [earned for other, earned in self.blank.items() if self.can_only_cost(other) == kind]
        return float(np.mean(alike)) if alike else self.ignorance(task)

    def keeps_too_little(self, task: int, level: float, other: float, share: float) -> bool:
        """Whether who earns `level` has gained less than a share of what another has."""
        nothing = self.ignorance(task)
        return level < other and level - nothing < share * (other - nothing)

    def levels_when_met(self, policy: int, other: int, task: int) -> tuple[float, float]:
        """What a policy and another earned when they last met on a task."""
        first, second = sorted((policy, other))
        levels = self.meetings[first, second, task].levels
        return levels if policy == first else (levels[1], levels[0])

    def is_in_conflict(self, policy: int, other: int, task: int, share: float) -> bool:
        """Whether a policy keeps less than a share of what another gained on a task when they last met there."""
        first, second = sorted((policy, other))
        meeting = self.meetings[first, second, task]
        won = meeting.verdict * (1 if other == first else -1) > 0
        return won and self.keeps_too_little(task, *self.levels_when_met(policy, other, task), share)

    def is_harmful(self, policy: int, other: int, task: int) -> bool:
        """Whether a policy earned less than one that has learned nothing when it last met another on a task."""
        return self.levels_when_met(policy, other, task)[0] < self.ignorance(task)

    def has_failed(self, policy: int, other: int, task: int, share: float) -> bool:
        """Whether a policy was in conflict with a task when it last met another there, and that is not on trial now."""
        first, second = sorted((policy, other))
        met = (first, second, task) in self.meetings and task != self.practised
        return met and self.is_in_conflict(policy, other, task, share)

    def should_meet(self, one: int, other: int, task: int, share: float) -> bool:
        """If they never have on this task, or if one of them may have become another policy since: it has played for
        long, or the one that is at home here now keeps too little of what the other gained.

        A copy on trial meets the policy beside which it was made, and no other; so does a specialist, once it has
        practised, and on its task only.
        """
        trial, pair = self.on_trial, {one, other}
        for policy in pair & self.specialists.keys():
            if self.specialists[policy] != Specialist(task, one + other - policy) or not self.visits_of[policy]:
                return False
        if trial is not None and trial[1] in pair and (trial[0] not in pair or task == self.practised or self.waits):
            return False
        first, second = sorted((one, other))
        meeting = self.meetings.get((first, second, task))
        if meeting is None:
            return True
        if not self.is_on_trial(first, second) and (one, task) in self.levels:
            level, (_, other_level) = self.levels[one, task], self.levels_when_met(one, other, task)
            if self.keeps_too_little(task, level, other_level, share):
                return True
        now = self.visits_of[first], self.visits_of[second]
        return any(n > STALE * max(before, 1) for n, before in zip(now, meeting.visits, strict=True))

    def has_met_on_all_tasks_of(self, policy: int, met: list[int]) -> bool:
        return all(task in met for task, home in self.home.items() if home == policy)

    def as_array(self) -> NDArray[np.uint8]:
        """JSON, as bytes: a checkpoint holds arrays only."""
        plain = asdict(self)
        for name in TABLES:
            plain[name] = list(plain[name].items())
        if plain["visit"] is not None:
            plain["visit"]["returns"] = list(plain["visit"]["returns"].items())
        return np.frombuffer(json.dumps(plain).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: NDArray[np.uint8]) -> Memory:
        plain = json.loads(array.tobytes())
        for name in TABLES:  # older ones lack some
            rows = plain.get(name, [])
            plain[name] = {_as_tuple(key): _as_tuple(value) for key, value in rows}
        plain["specialists"] = {policy: Specialist(**its) for policy, its in plain["specialists"].items()}
        plain["meetings"] = {
            key: Meeting(met["verdict"], tuple(met["levels"]), tuple(met["visits"]))
            for key, met in plain["meetings"].items()
        }
        if plain["visit"] is not None:
            _bring_practice_up_to_date(plain)
            plain["visit"] = Visit(**plain["visit"] | {"returns": dict(plain["visit"]["returns"])})
        if plain["on_trial"] is not None:
            plain["on_trial"] = tuple(plain["on_trial"])
        return cls(**plain)


def _as_tuple(value: Any) -> Any:
    """What was a tuple before JSON made it a list."""
    return tuple(value) if isinstance(value, list) else value


def _bring_practice_up_to_date(plain: dict[str, Any]) -> None:
    """Until 0.2.0 practice ended with its visit, and was noted there."""
    visit = plain["visit"]
    if "practising" in visit:
        is_on = visit.pop("practising") is not None
        plain["practised"], plain["practice"] = visit["task"] if is_on else None, visit.pop("practice")
    if plain["on_trial"] is not None:
        plain.setdefault("waiting_since", plain["born"][plain["on_trial"][1]])
