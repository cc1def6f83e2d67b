"""A library that shares until it hurts: one policy at first, a second where two groups of tasks are in conflict.

Where tasks agree, one policy learns fastest from all of them; where they conflict, no amount of training helps. Which
it is, nobody knows beforehand, and it cannot be seen from the scores of one policy. So, ever more rarely, a second
policy practises one of its tasks alone: a copy with its memory emptied, or one that knows nothing. If the tasks agree,
it is no better there than the first, and is given up. If they conflict, it soon earns what the first never will: it
stays, and each task goes where it earns more. Later, a task that brings too little for long may get a policy of its own
(`specialists.py`). `docs/splitting.md` has the rule on one page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.agents import specialists
from repertory.agents.contest import is_our_turn, verdict
from repertory.agents.library import join, number_of_tasks, policy_parts, share_out
from repertory.agents.protocol import AgentSetup, Episode, Event, Situation, has_state
from repertory.agents.splitting_memory import Meeting, Memory, Specialist, Visit
from repertory.errors import UsageError
from repertory.learners.protocol import State, forget_experiences, has_memory, steps_before_learning
from repertory.settings import Settings, setting

BLANK_EPISODES = 2
"""What a policy that has learned nothing earns on a task is measured once, by so many episodes."""
FEW_TASKS = 5
"""A copy is judged when it has met its parent on so many tasks: of two equal groups, five tasks show both in 30 cases
of 32."""
MANY_TASKS = 12
"""By then it has shown conflict both ways or takes its parent's place, or is given up."""
ALMOST_ALL = 0.8
"""A policy that is in conflict with so many of the tasks is worth nothing, and its copy takes its place."""
CONFLICTS = 2
"""So many tasks must be in conflict either way, for one may be chance; one where there are fewer than five tasks. Where
two policies stay beside each other, so many for the next copy to come soon."""
ONE_TASK = 3
"""One task is waited for as long as many tasks of so many policies: of 18 tasks, it has come in 7 cases of 8."""
VISIT_EPISODES = 18
"""That visits must have on average for a copy to be worth it: to look, to practise and to compare."""
GLANCE = 2
"""A visit of fewer episodes is none: who infers the task may have been mistaken."""
LEVEL_EPISODES = 20
"""What a policy earns on a task is the mean of so many last episodes of a visit."""


@dataclass(frozen=True, kw_only=True)
class Splitting(Settings):
    """A library that begins with one policy and splits where tasks conflict; `policies` is the most there may be."""

    conflict: float = setting(
        0.25,
        "A policy is in conflict with a task on which it keeps less than this share of what another has gained.",
        above=0,
        below=1,
    )
    first_copy: int = setting(
        4, "Visits of tasks before the first copy; the time to the next ones doubles every other time.", at_least=1
    )
    special: float = setting(
        0.75,
        "A task gets a policy of its own, if there is room, where its home gains less than this share of what it gains "
        "on its others, and keeps it if its home gains less than this share of what that gains; 0: no task does.",
        at_least=0,
        below=1,
    )

    def __call__(self, setup: AgentSetup) -> SplittingLibrary:
        return SplittingLibrary(self, setup)


class SplittingLibrary:
    """See the module. Places in `policies` that are not `alive` wait for the next copy."""

    def __init__(self, settings: Splitting, setup: AgentSetup) -> None:
        number_of_tasks(setup, "a library that splits")  # refuses hidden ones; of those there are, some may never come
        self.settings = settings
        self._most = setup.policies
        self._n_tasks = len(setup.tasks)
        self._new_policy = setup.new_policy
        self.policies: list[Any] = [setup.new_policy(0)]
        if not has_state(self.policies[0]):
            raise UsageError(
                f"a library that splits copies its policies, and {type(self.policies[0]).__name__} cannot be copied; "
                "valid: learners with state_dict and load_state_dict"
            )
        self._m = Memory(wait=settings.first_copy, next_copy=settings.first_copy)

    @property
    def alive(self) -> list[int]:
        """The places in `policies` that are in use."""
        return sorted(self._m.alive)

    def news(self) -> list[Event]:
        """What has happened since this was last asked."""
        told, self._m.news = self._m.news, []
        return told

    def _tell(self, event: str, **details: int | str) -> None:
        self._m.news.append({"event": event, **details})

    # ---- an episode

    def choose(self, situation: Situation, rng: Any) -> int:
        assert situation.task is not None
        visit = self._visit_of(situation.task)
        if visit.blank is not None:
            return visit.blank
        if self._is_practising(visit) and not visit.rivals and 2 * self._m.practice * self._m.visits > self._m.steps:
            visit.rivals, visit.returns = [self._m.parent], {}  # half a visit of practice: the parent comes back
        least = self._m.least_episodes
        while visit.rivals:
            champion, rival = visit.champion, visit.rivals[-1]
            ours, theirs = (visit.returns.setdefault(policy, []) for policy in (champion, rival))
            failed = self._m.has_failed(rival, champion, visit.task, self.settings.conflict)
            outcome = verdict(ours, theirs, failed, least)
            if outcome is None:
                return champion if is_our_turn(ours, theirs, failed, least) else rival
            self._settle(visit, outcome)
        if visit.may_specialize:
            visit.may_specialize = False
            self._specialize_if_due(visit)
        if visit.may_copy and len(visit.returns.get(visit.champion, ())) >= least:
            visit.may_copy = False
            self._copy_if_worse_than_usual(visit)
        if not self._is_practising(visit):
            self._move_home(visit)
        return visit.champion

    def ended(self, situation: Situation, episode: Episode) -> None:
        visit = self._m.visit
        assert visit is not None
        self._m.note_return(visit.task, episode.total_reward)
        visit.steps += episode.steps
        visit.episodes += 1
        self._m.practice += episode.steps if self._is_practising(visit) else 0
        returns = visit.returns.setdefault(episode.policy, [])
        returns.append(episode.total_reward)
        if not visit.rivals:
            del returns[:-LEVEL_EPISODES]
        if episode.policy == visit.blank and len(returns) == BLANK_EPISODES:
            self._m.blank[visit.task] = float(np.mean(visit.returns.pop(visit.blank)))
            visit.blank = None

    # ---- a visit

    def _visit_of(self, task: int) -> Visit:
        """The current one, or the next if the task is another."""
        m = self._m
        if m.visit is not None:
            if m.visit.task == task:
                return m.visit
            self._end_visit(m.visit)
        if m.on_trial is not None:
            parent, copy = m.on_trial
            if m.visits - m.waiting_since > self._patience():
                self._give_up(copy, parent, "too few tasks came to judge it by")
            elif m.waits and not m.shown and task != m.practised and m.visits >= m.next_copy:
                self._give_up(copy, parent, "no other task needs it, and the next copy is due")
        home = m.home.get(task, -1)
        champion = home if home in m.alive else max(m.generals, key=lambda policy: m.visits_of[policy])
        share = self.settings.conflict
        rivals = [policy for policy in m.alive if policy != champion and m.should_meet(champion, policy, task, share)]
        visit = m.visit = Visit(task, champion, rivals)
        if len(m.alive) < self._most:
            if task not in m.blank:
                visit.blank = self._free_place()
                self.policies[visit.blank] = self._new_policy(visit.blank)
            if m.episodes >= VISIT_EPISODES * m.visits and champion not in m.specialists:
                visit.may_copy = m.on_trial is None and m.visits >= m.next_copy
                visit.may_specialize = self.settings.special > 0
        return visit

    def _end_visit(self, visit: Visit) -> None:
        m = self._m
        if visit.episodes < GLANCE:
            return
        for policy in m.alive:
            if visit.returns.get(policy):
                self._note_level(policy, visit)
        m.visits += 1
        m.steps += visit.steps
        m.episodes += visit.episodes
        m.visits_of[visit.champion] += 1
        specialists.note_shortfall(m, visit, self.settings.special)
        self._move_home(visit)

    def _move_home(self, visit: Visit) -> None:
        before = self._m.home.get(visit.task, visit.champion)
        self._m.home[visit.task] = visit.champion
        if before != visit.champion:
            self._tell("moves", task=visit.task, policy=before, to=visit.champion)

    def _note_level(self, policy: int, visit: Visit) -> None:
        self._m.levels[policy, visit.task] = float(np.mean(visit.returns[policy][-LEVEL_EPISODES:]))

    # ---- copies

    def _is_practising(self, visit: Visit) -> bool:
        """Whether a copy plays the task that it has to show on trial."""
        trial = self._m.on_trial
        return trial is not None and (self._m.practised, trial[1]) == (visit.task, visit.champion)

    def _patience(self) -> int:
        """Visits in which what a copy is judged by should have come: many tasks of each policy, or the one."""
        m = self._m
        return MANY_TASKS * max(len(m.generals), ONE_TASK if m.practised is not None else 0)

    def _free_place(self) -> int:
        m = self._m
        for place in range(len(self.policies)):
            if place not in m.alive:
                return place
        self.policies.append(None)
        m.visits_of.append(0)
        m.born.append(0)
        return len(self.policies) - 1

    def _copy_if_worse_than_usual(self, visit: Visit) -> None:
        """Where a policy gains less than on its other tasks, sharing may have a price.

        A copy knows how to act and has to unlearn; a new policy has nothing to unlearn. Where there is no memory, a
        network that has become sure of itself may learn no more: a new one, every other time. Where there is one, it is
        that which keeps a policy from unlearning: a copy, without it. But who earns less than one that knows nothing
        may avoid what there is to be learned, and so would its copy: a new one, if that learns within its practice.
        """
        m, parent = self._m, visit.champion
        gains, level = m.gains_at_home(parent, but=visit.task), float(np.mean(visit.returns[parent]))
        if not gains or level - m.ignorance(visit.task) >= np.mean(gains):
            return
        best = level + m.left_to_gain(visit.task, level)
        if not m.keeps_too_little(visit.task, level, best, self.settings.conflict):
            return  # even the best copy would be given up
        place = self._make_policy()
        policy, is_copy = self.policies[place], m.attempts % 2 == 0
        if has_memory(policy):
            is_copy = level >= m.ignorance(visit.task) or 2 * steps_before_learning(policy) * m.visits >= m.steps
        if is_copy:
            self._copy(parent, place)
        m.wait *= 1 + m.attempts % 2
        m.attempts += 1
        m.on_trial = parent, place
        m.practised, m.practice, m.shown, m.waits, m.waiting_since = visit.task, 0, 0, False, m.visits
        m.next_copy = m.visits + m.wait
        visit.champion = place
        self._tell("copy" if is_copy else "new", policy=place, of=parent, task=visit.task)

    def _make_policy(self) -> int:
        """In a free place; it knows nothing."""
        m, place = self._m, self._free_place()
        self.policies[place] = self._new_policy(place + self._most * m.attempts)
        m.alive.append(place)
        m.visits_of[place], m.born[place] = 0, m.visits
        return place

    def _copy(self, parent: int, place: int) -> None:
        self.policies[place].load_state_dict(self.policies[parent].state_dict())
        forget_experiences(self.policies[place])

    def _specialize_if_due(self, visit: Visit) -> None:
        m, master, task = self._m, visit.champion, visit.task
        if not specialists.is_due(m, master, task, self._most - len(m.alive), self.settings.special):
            return
        place = visit.champion = self._make_policy()
        m.attempts += 2  # another seed; whether the next on trial is a copy, and when, stays as it was
        m.specialists[place] = Specialist(task, master)
        visit.may_copy = False
        self._tell("special", policy=place, of=master, task=task)

    def _give_up(self, loser: int, winner: int, why: str) -> None:
        m, visit = self._m, self._m.visit
        m.alive.remove(loser)
        left = {task for task, policy in m.home.items() if policy == loser}
        m.home = {task: winner if policy == loser else policy for task, policy in m.home.items()}
        m.levels = {key: level for key, level in m.levels.items() if key[0] != loser}
        # Where it is at home now, the heir has to meet the others again.
        m.meetings = {k: meeting for k, meeting in m.meetings.items() if loser not in k[:2] and k[2] not in left}
        if m.on_trial is not None:
            parent, copy = m.on_trial
            m.on_trial = None if {copy} & {loser, winner} else (winner if loser == parent else parent, copy)
        if m.on_trial is None:
            m.practised = None
        if loser in m.specialists:
            m.returned[m.specialists.pop(loser).task] = m.visits
        for specialist in m.specialists.values():
            specialist.master = winner if specialist.master == loser else specialist.master
        if visit is not None:
            visit.returns.pop(loser, None)
            visit.rivals = [policy for policy in visit.rivals if policy != loser]
            visit.champion = winner if visit.champion == loser else visit.champion
        self._tell("ends", policy=loser, heir=winner, why=why)

    # ---- judgement

    def _settle(self, visit: Visit, outcome: int) -> None:
        """The champion has met a rival."""
        m, champion, rival = self._m, visit.champion, visit.rivals.pop()
        first, second = sorted((champion, rival))
        for policy in (first, second):
            self._note_level(policy, visit)
        levels = {policy: m.levels[policy, visit.task] for policy in (first, second)}
        m.meetings[first, second, visit.task] = Meeting(
            outcome if first == champion else -outcome,
            (levels[first], levels[second]),
            (m.visits_of[first], m.visits_of[second]),
        )
        if champion in m.specialists:
            if not specialists.is_needed(m, champion, outcome, self.settings.special):
                self._give_up(champion, rival, f"it plays task {visit.task} no better")
            return
        # A task stays where it is, unless that is with a copy which is no better: tasks that agree come together again.
        # Between policies that both stay, a rare disaster that no rank shows is enough.
        if outcome == 0 and m.is_on_trial(first, second):
            outcome = -1 if m.on_trial == (rival, champion) else 1
        share = self.settings.conflict
        if outcome < 0 or (outcome == 0 and m.keeps_too_little(visit.task, levels[champion], levels[rival], share)):
            visit.champion = rival
            visit.rivals = [policy for policy in visit.rivals if m.should_meet(rival, policy, visit.task, share)]
        younger = max(first, second, key=lambda policy: m.born[policy])
        self._judge(first + second - younger, younger, visit)

    def _judge(self, older: int, younger: int, visit: Visit) -> None:
        """Whether both are needed."""
        m = self._m
        pair = min(older, younger), max(older, younger)
        met = [task for first, second, task in m.meetings if (first, second) == pair]
        share = self.settings.conflict
        ours = sum(m.is_in_conflict(older, younger, task, share) for task in met)
        theirs = sum(m.is_in_conflict(younger, older, task, share) for task in met)
        on_trial = m.on_trial == (older, younger)
        home = m.home | {visit.task: visit.champion}  # where it moves next
        reach = sum(policy in pair for policy in home.values()) + self._n_tasks - len(home)
        is_over = len(met) >= min(MANY_TASKS, reach)
        if on_trial and m.practised == visit.task:
            m.practised, m.shown, m.waits, m.waiting_since = None, m.shown + 1, False, m.visits
            if not m.is_in_conflict(older, younger, visit.task, share):
                # Asked before, for what it earned goes with it.
                in_vain = len(m.generals) == 2 and m.has_learned_nothing(younger, visit.task, older, share)
                self._give_up(younger, older, f"it plays task {visit.task} no better")
                if in_vain:
                    self._try_again_soon()
            elif m.shown > 1:
                self._split(older, younger, ours, theirs)
            return
        if len(met) < min(FEW_TASKS, reach):
            return
        if min(ours, theirs) >= (CONFLICTS if reach >= FEW_TASKS else 1):
            if on_trial:
                self._split(older, younger, ours, theirs)
        elif not theirs and ours >= ALMOST_ALL * len(met):
            if (on_trial and is_over) or m.has_met_on_all_tasks_of(older, met):
                self._give_up(older, younger, "it is the better one nowhere")
        elif on_trial:
            needed = [task for task in met if m.is_in_conflict(older, younger, task, share)]
            harmed = any(m.is_harmful(older, younger, task) for task in needed)
            if not needed and m.practised is not None:
                m.waits = True  # what it has practised may be all that it is needed for
            elif is_over and theirs >= CONFLICTS and [home[task] for task in needed] == [younger]:
                self._move_home(visit)  # one may be chance: once more there
                m.practised, m.shown, m.waits, m.waiting_since = needed[0], 1, True, m.visits
            elif (
                not ours or (not theirs and ours < CONFLICTS and not harmed) or younger not in home.values() or is_over
            ):
                self._give_up(younger, older, f"{ours} of {len(met)} tasks need it")
                if ours >= (CONFLICTS if len(m.generals) > 1 else 1):  # not this one, but there is conflict
                    self._try_again_soon()
        elif not ours and m.has_met_on_all_tasks_of(younger, met):
            self._give_up(younger, older, f"{ours} of {len(met)} tasks need it")

    def _try_again_soon(self) -> None:
        """What was seen is no reason to wait for longer than before the first copy."""
        m = self._m
        m.wait = self.settings.first_copy
        m.next_copy = m.visits + m.wait

    def _split(self, parent: int, copy: int, ours: int, theirs: int) -> None:
        """The copy stays. What the parent remembers of tasks that leave it would teach it the wrong thing, unless it is
        one of many."""
        m = self._m
        m.on_trial = m.practised = None
        m.wait = max(1, m.wait // 2)
        if m.shown < 2:
            forget_experiences(self.policies[parent])
        self._tell("stays", policy=copy, beside=parent, needed=ours, other_needed=theirs)

    # ---- saving

    def state_dict(self) -> State:
        return join(policy_parts(self.policies)) | {"library/memory": self._m.as_array()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._m = Memory.from_array(state["library/memory"])
        self.policies = [self._new_policy(place) for place in range(len(self._m.visits_of))]
        share_out(state, policy_parts(self.policies))
