"""The search for the least number of policies, from one upwards: which probes are trained, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.ageing import ages_within, diverges_within
from repertory.analysis.partition import LATEST, fewest_lost, grouped, losses, lost_with, most_opposed, projected
from repertory.analysis.probe import Budget, Probe, Spent
from repertory.analysis.tried import ERRORS, Conflict, Loss, Places, Tried
from repertory.core.metrics import standard_error
from repertory.core.seeds import generator
from repertory.errors import UsageError
from repertory.runs.spec import RunSpec, run_spec
from repertory.runs.summary import random_scores

BLOCKS_IN_ONE = 10
"""Blocks of a probe in one of the planned life: a policy for many tasks must meet them all in a fraction of a life."""
MOST_TASKS = 60
"""That are looked at; of more, a random sample stands for all."""
REFERENCES, REFERENCE_SHARE = 3, 0.25
"""Random tasks that are learned alone to begin with, as long as they take no more than this share of the budget."""
FIRST_SHARE = 0.25
"""Of the budget, for the first of them: one that takes longer to learn leaves nothing for the rest."""
LONGER = 2
"""So many times as long as the first may the other tasks take alone."""
SHARED_LEAST, SHARED_MOST = 3, 12
"""So many times as long as a task alone does a policy for several learn before it may count as unable; and at most."""
HOPELESS = 0.5
"""A policy for several tasks that will lose so much, by its trend, when one task is learned long since, is not waited
for."""
LOOKS = 6
"""While a task is learned alone."""
LEVEL = 2.0
"""A policy has levelled off if its last third is better than the one before by less than this many tolerances."""
LEVEL_LEAST = 0.01
"""Of the planned life, or of the budget if that is less, before which nothing has levelled off: a learner that has
hardly begun is level as well."""
TRIES = 3
"""Tasks that are learned alone to find one that needs a policy of its own."""
POORLY = 0.5
"""A task is poorly served on which the best policy gains less than this share of what is usual."""
RANDOM_STEPS, RANDOM_SHARE = 2_000, 0.02
"""Of random play on each task, at most; and the share of the budget that it may take on all."""


class Search:
    """Trains probes until the number of policies is clear, or the budget is spent."""

    def __init__(
        self, planned: RunSpec, tolerance: float, budget: Budget, folder: Path, progress: Callable[[str, float], None]
    ) -> None:
        self.planned, self.tolerance, self.budget = planned, tolerance, budget
        self.life = planned.blocks * planned.block_steps
        self._folder, self._progress, self._doing = folder, progress, ""
        self._block = max(1, planned.block_steps // BLOCKS_IN_ONE)
        self._rng = generator(planned.seed, "assign", planned.run)
        n_tasks = planned.domain.n_tasks
        self.tasks: list[int] = sorted(self._rng.choice(n_tasks, min(n_tasks, MOST_TASKS), replace=False).tolist())
        self.random = self._random_scores()
        self.base = self.random[self.tasks]
        self.alone: dict[int, Probe] = {}
        self.references: list[int] = []
        """Places of the tasks that were learned alone because chance had it so."""
        self.shared: dict[Places, Probe] = {}
        self._control: Probe | None = None
        self.tried: list[Tried] = []
        self.groups: list[Places] = []
        """Of the number that was tried last."""
        self.conflict: Conflict | None = None
        self.unanswered = ""
        """Why there is no answer, if there is none."""
        self.is_clear = True
        """Whether the answer is; if not, the budget was spent before it could be."""
        self.single_steps = 0
        """In which a policy learns a task alone."""
        self.has_levelled = False
        """Whether it has learned all that it will in them."""

    def run(self) -> None:
        """Do all of it; what was done before, in the same folder, is not done again."""
        self._learn_alone()
        if self.has_levelled:
            self._find_number()
        elif not self.unanswered:
            self._compare_while_learning()
        if self.single_steps:
            self._doing = "control: one task for as many updates as the planned life brings"
            if diverges_within(self.control, self.planned_updates, self.budget) and not self.unanswered:
                self.unanswered = "the learner does not stay sound for as long as the planned life"

    # ---- what is known

    @property
    def control(self) -> Probe:
        """The first task alone, which goes on and on; the probe that all else is measured by stays as it is."""
        if self._control is None:
            first = next(iter(self.alone.values()))
            self._control = first.copied(self._folder / "control")
        return self._control

    @property
    def planned_updates(self) -> int:
        """Steps that the planned life gives to each policy of a library of the size that was tried last."""
        return self.life // max(1, len(self.groups))

    @property
    def probes(self) -> list[Probe]:
        return [probe for probe in (*self.alone.values(), *self.shared.values()) if probe.looks]

    @property
    def _seen_alone(self) -> list[Probe]:
        """Those of a single task; one that was begun when the budget ended has not been looked at."""
        return [probe for probe in self.alone.values() if probe.looks]

    def regrets(self, probes: Sequence[Probe]) -> NDArray[np.float64]:
        """(probe, task)."""
        return losses(np.array([probe.latest.mean(axis=0) for probe in probes]), self.best, self.base)

    @property
    def best(self) -> NDArray[np.float64]:
        """The best score known on each task."""
        best: NDArray[np.float64] = np.max([probe.latest.mean(axis=0) for probe in self.probes], axis=0)
        return best

    def _lost(self, probe: Probe, group: Places) -> NDArray[np.float64]:
        """(look, task) of a group: what a policy loses on each, as far as that is known.

        What can be had is known of tasks that were learned alone. Of those, the random ones stand for all others: a
        task for which nobody has tried to do better would else seem to lose nothing.
        """
        own = list(group)
        table = losses(probe.seen[:, own], self.best[own], self.base[own])
        known = [number for number, place in enumerate(group) if place in self.alone]
        # A policy trained on one task is no judge of what can be had elsewhere, nor its own task of what it loses.
        others = [number for number in known if probe is not self.alone[group[number]]]
        fair = [number for number in others if group[number] in self.references] or others
        if fair or len(known) == len(group):
            usual = table[:, fair].mean(axis=1, keepdims=True) if fair else 0.0
            unknown = [number for number in range(len(group)) if number not in known]
            table[:, unknown] = np.maximum(table[:, unknown], usual)
            return table
        return np.ones_like(table)

    def _loss(self, probe: Probe, group: Places) -> Loss:
        """The mean of it over tasks, now and by the end of the planned life."""
        by_look = self._lost(probe, group).mean(axis=1)
        latest = by_look[-LATEST:]
        error = float(standard_error(latest)) if len(latest) > 1 else np.inf
        expected = projected(np.array([look.steps for look in probe.looks], float), by_look, self.planned_updates)
        return Loss(float(latest.mean()), error, expected)

    def _serves(self, probe: Probe, group: Places) -> bool:
        """Whether a policy loses no more on these tasks than is tolerated, beyond doubt."""
        if len(probe.looks) < LATEST:
            return False
        return self._loss(probe, group).high <= self.tolerance

    def _has_levelled(self, probe: Probe) -> bool:
        if len(probe.looks) < LATEST or probe.steps < LEVEL_LEAST * min(self.life, self.budget.affordable):
            return False
        return probe.has_levelled(self.random, LEVEL * self.tolerance)

    def _random_scores(self) -> NDArray[np.float64]:
        """Of each task of the domain."""
        steps = min(RANDOM_STEPS, max(1, int(RANDOM_SHARE * self.budget.steps / self.planned.domain.n_tasks)))
        try:
            scores = random_scores(self.planned.domain, steps, self.planned.seed)
        except UsageError:  # actions that are not a finite set
            return np.zeros(self.planned.domain.n_tasks)
        self.budget.spent.add(Spent(steps * len(scores)))
        return np.array(scores)

    # ---- what is done

    def _probe(self, places: Places) -> Probe:
        """One policy for these tasks, as far as it was trained."""
        tasks = tuple(self.tasks[place] for place in places)
        probes: dict[Any, Probe] = self.alone if len(places) == 1 else self.shared
        key = places[0] if len(places) == 1 else places
        if key not in probes:
            several = f"together-{len(tasks)}-{crc32(repr(tasks).encode()):08x}"
            spec = run_spec(
                self.planned.domain,
                self.planned.learner,
                1,
                "fixed-partition",
                blocks=-(-self.life // self._block),
                block_steps=self._block,
                seed=self.planned.seed,
                profile=self.planned.profile,
                task=tasks[0] if len(tasks) == 1 else tasks,
            )
            path = self._folder / (f"alone-{tasks[0]}" if len(tasks) == 1 else several)
            every = max(self._block, self.single_steps // LOOKS)
            probes[key] = Probe(spec, path, self.tasks, every, self.budget, self._heard)
        what = f"task {tasks[0]} alone" if len(tasks) == 1 else f"{len(tasks)} tasks together"
        self._doing = f"one policy, {what}"
        return probes[key]

    def _heard(self) -> None:
        self._progress(self._doing, self.budget.used)

    def _learn_alone(self) -> None:
        """The first tasks; the first of them tells how long one takes."""
        order = self._rng.permutation(len(self.tasks)).tolist()
        first = self._probe((order[0],))
        first.train(lambda probe: self._has_levelled(probe) or self.budget.used >= FIRST_SHARE, self.life)
        self.has_levelled = self._has_levelled(first)
        if not (self.has_levelled or (first.looks and first.has_learned(self.random))):
            self.unanswered = (
                f"a policy alone on task {first.trained_on[0]} was not clearly better than random play after "
                f"{first.steps:,} steps, all that one task may take of this budget"
            )
            return
        self.single_steps = first.steps
        self.references = order[:1]
        for place in order[1:REFERENCES] if self.has_levelled else ():
            if self.budget.used + self.single_steps / self.budget.steps <= REFERENCE_SHARE:
                self._learn_one(place)
                self.references.append(place)
        # One may have been an easy task, or a hard one.
        self.single_steps = int(np.median([self.alone[place].steps for place in self.references]))

    def _learn_one(self, place: int) -> Probe:
        probe = self._probe((place,))
        probe.train(self._has_levelled, LONGER * self.single_steps)
        return probe

    def _compare_while_learning(self) -> None:
        """Not one task could be learned to the end: does one policy for all come as far with what is left?"""
        self.is_clear = False
        self.groups = [tuple(range(len(self.tasks)))]
        shared = self._probe(self.groups[0])
        shared.train(self._comes_as_far, self.life)
        if self._comes_as_far(shared):
            self.tried.append(self._tried([shared], self.groups))
            return
        (first,) = self.alone.values()
        self.unanswered = (
            f"a policy alone on task {first.trained_on[0]} had not levelled off after {first.steps:,} steps, all that "
            "one task may take of this budget, and one policy for all did not come as far with the rest"
        )

    def _comes_as_far(self, shared: Probe) -> bool:
        """Whether one policy for all does on a task what one alone on it does, beyond doubt, and fails no other."""
        ((place, first),) = self.alone.items()
        alone, random = first.latest[:, place].mean(), self.base[place]
        if len(shared.looks) < LATEST or not alone > random or self._is_any_poorly_served():
            return False
        lost = losses(shared.latest[:, place], alone, random)
        return bool(lost.mean() + ERRORS * standard_error(lost) <= self.tolerance)

    def _find_number(self) -> None:
        self.groups = [tuple(range(len(self.tasks)))]
        while True:
            tried = self._try(self.groups)
            if tried.expected <= self.tolerance and self._check_worst_served():
                tried = self._try(self.groups)
            self.tried.append(tried)
            if tried.expected <= self.tolerance:
                return
            if self.budget.is_spent:
                self._end_unclear()
                return
            self._doing = "control: one task for as many updates as the shared policy had"
            least = SHARED_LEAST * self.single_steps
            if ages_within(self.control, tried.steps, least, self.random, self.tolerance):
                self.unanswered = "a policy alone on one task does not keep what it has learned"
                return
            groups = self._regroup(len(self.groups) + 1)
            if groups is None or not self._are_in_conflict(groups):
                if self.budget.is_spent:
                    self._end_unclear()
                return  # one more would not lose less: what is lost is not lost by sharing
            self.groups = groups

    def _end_unclear(self) -> None:
        """The budget is spent: the last number is the answer for now, if there is a reason for one more than one."""
        self.is_clear = False
        if len(self.tried) < 2:
            self.unanswered = "the budget was spent before a number of policies served the tasks"

    def _try(self, groups: Sequence[Places]) -> Tried:
        return self._tried([self._serving(group, len(groups)) for group in groups], groups)

    def _tried(self, serving: Sequence[Probe], groups: Sequence[Places]) -> Tried:
        """What groups of tasks lose, each with its policy."""
        found = [self._loss(probe, group) for probe, group in zip(serving, groups, strict=True)]
        shares = np.array([len(group) for group in groups]) / len(self.tasks)
        worst = max(
            self._lost(probe, group)[-LATEST:].mean(axis=0).max() for probe, group in zip(serving, groups, strict=True)
        )
        return Tried(
            policies=len(groups),
            loss=float(shares @ [own.now for own in found]),
            error=float(np.linalg.norm(shares * [own.error for own in found])),
            expected=float(shares @ [own.expected for own in found]),
            worst=float(worst),
            steps=max(probe.steps for probe in serving),
        )

    def _check_worst_served(self) -> bool:
        """Learn the worst served task alone: what is lost there is not known before. Whether there was one."""
        if self.budget.is_spent or len(self.alone) == len(self.tasks):
            return False
        self._learn_one(self._worst_served())
        return True

    def _serving(self, group: Places, count: int) -> Probe:
        """The best policy for a group of tasks, one of `count`: trained on one of them, if that does, or on all."""
        if len(group) == 1:
            return self._learn_one(group[0])
        if count > 1:
            for probe in self.alone.values():
                if self._serves(probe, group):
                    return probe
        self._learn_together(group)
        return min(self.probes, key=lambda probe: self._loss(probe, group).expected)

    def _learn_together(self, group: Places) -> None:
        """Until one policy has levelled off, and either serves the group or has had time enough to."""

        def enough(probe: Probe) -> bool:
            if len(probe.looks) < LATEST or probe.steps < self.single_steps:
                return False
            expected = self._loss(probe, group).expected
            if expected <= self.tolerance / 2 or expected > HOPELESS:
                return True
            had_its_time = self._serves(probe, group) or probe.steps >= SHARED_LEAST * self.single_steps
            return had_its_time and self._has_levelled(probe)

        self._probe(group).train(enough, SHARED_MOST * self.single_steps)

    def _regroup(self, count: int) -> list[Places] | None:
        """The tasks in so many groups; None if no task is found that makes it worth one more."""
        for _ in range(TRIES):
            is_enough = len(self.alone) >= count and not self._is_any_poorly_served()
            if is_enough or self.budget.is_spent or len(self.alone) == len(self.tasks):
                break
            self._learn_one(self._worst_served())
        return self._groups_worth_it(count)

    def _groups_worth_it(self, count: int) -> list[Places] | None:
        table = self.regrets(self._seen_alone)
        if len(table) < count:
            return None
        chosen = fewest_lost(table, count)
        gained = lost_with(table, fewest_lost(table, count - 1)) - lost_with(table, chosen)
        groups = grouped(table, chosen)
        return groups if gained > self.tolerance / 2 and len(groups) == count else None

    def _gains(self) -> NDArray[np.float64]:
        """What the best policy known gains on each task."""
        gains: NDArray[np.float64] = self.best - self.base
        return gains

    def _worst_served(self) -> int:
        """The task that gains least of all that were not learned alone."""
        return min(
            (place for place in range(len(self.tasks)) if place not in self.alone), key=self._gains().__getitem__
        )

    def _is_any_poorly_served(self) -> bool:
        """Whether a task that was not learned alone gains much less than is usual: what can be had there is unknown."""
        if len(self.alone) == len(self.tasks):
            return False
        usual = float(np.median(self._gains()[list(self.alone)]))
        return bool(self._gains()[self._worst_served()] < POORLY * usual)

    def _are_in_conflict(self, groups: Sequence[Places]) -> bool:
        """Whether one policy for a task of each of the two groups that are most alike does not learn both.

        Groups may differ by no more than what policies happened to learn first; those need training, not a policy more.
        """
        seen = [place for place, probe in self.alone.items() if probe.looks]
        pair = most_opposed(self.regrets(self._seen_alone), seen, groups)
        if pair is None or self.budget.is_spent:
            return False
        probe, as_alone = self._probe(pair), len(pair) * self.single_steps
        probe.train(lambda probe: False, as_alone)
        if probe.steps < as_alone:
            return False  # nobody has seen what it would have learned
        looks = self._lost(probe, pair)
        lost = float(looks[-max(LATEST, len(looks) // 3) :].mean(axis=0).max())
        found = Conflict((self.tasks[pair[0]], self.tasks[pair[1]]), lost, probe.steps)
        if found.is_one or self.conflict is None:
            self.conflict = found
        return found.is_one
