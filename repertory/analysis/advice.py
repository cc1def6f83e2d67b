"""What a recommendation says: a number with its interval, the groups, what it rests on, and what was not looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.analysis.partition import task_tree
from repertory.analysis.probe import Spent
from repertory.analysis.search import Search
from repertory.analysis.tried import Conflict, Tried

SHOWN_TASKS = 12
"""Of a group, in one line."""


@dataclass(frozen=True)
class LearnerHealth:
    """How one policy alone on one task stood the updates that a planned life would give it."""

    watched: int
    """Steps of training."""
    planned: int
    """Steps that the planned life gives to each policy."""
    diverged_after: int | None
    """Steps after which its values had passed what is possible; None if they did not, or later than planned."""
    fall: float
    """From its best third to its last."""

    @property
    def share(self) -> float:
        """Of the planned updates that were watched."""
        return min(1.0, self.watched / self.planned)


@dataclass(frozen=True)
class Advice:
    """How many policies to buy, and what that was decided from."""

    policies: int | None
    """None if the budget, or the learner, allows no answer; `unanswered` says why."""
    low: int
    high: int
    """The interval of the number."""
    tolerance: float
    is_clear: bool
    """Whether the budget was enough to be sure of it."""
    unanswered: str
    groups: tuple[tuple[int, ...], ...]
    """The tasks that go together, of those that were looked at."""
    tried: tuple[Tried, ...]
    conflict: Conflict | None
    health: LearnerHealth | None
    regrets: pd.DataFrame
    """A row per policy that was trained, named by its tasks, a column per task: the share of what learning gains that
    it loses there."""
    estimates: pd.DataFrame | None
    """Of policies that were trained alone on a task, the same as theory has it from sampled transitions, without
    playing (`repertory.analysis.carried`); None of learners that do not say what an observation is worth."""
    tree: NDArray[np.float64] | None
    """SciPy's linkage of the tasks, by how alike policies do on them."""
    memory: int | None
    """Of the library in bytes, replay memories included."""
    affordable: int | None
    """The most policies that fit into the memory that was given, where the answer does not."""
    spent: Spent
    budget_steps: int
    single_steps: int
    """In which a policy learns one task alone."""
    has_levelled: bool
    """Whether it has learned all that it will in them; if not, policies were compared that were still learning."""
    tasks: tuple[int, ...]
    """That were looked at."""
    n_tasks: int

    @property
    def table(self) -> pd.DataFrame:
        """A row per number of policies that was tried."""
        columns = list(Tried._fields)
        return pd.DataFrame([tried._asdict() for tried in self.tried], columns=columns)

    @property
    def learner_is_sound(self) -> bool | None:
        """Whether one policy kept what it had learned; None if that was not watched."""
        if self.health is None:
            return None
        return self.health.diverged_after is None and self.health.fall <= self.tolerance

    def __str__(self) -> str:
        return "\n".join(
            [self._answer(), *self._reasons(), *self._learner(), *self._theory(), *self._unseen(), self._cost()]
        )

    def _answer(self) -> str:
        if self.policies is None:
            return f"no number of policies can be recommended: {self.unanswered}"
        interval = "" if self.low == self.high else f" ({self.low} to {self.high})"
        size = "" if self.memory is None else f", {self.memory / 1e6:.1f} MB"
        enough = "policy is enough" if self.policies == 1 else "policies are enough"
        if not self.is_clear:
            enough = f"{enough.split()[0]}, as far as the budget allows to say"
        last = self.tried[-1]
        lost = f"{last.loss:.1%} of what learning gains is lost"
        if not self.has_levelled:
            lost = (
                f"one for all tasks came as far in {last.steps:,} steps on task {self.regrets.index[0]} as one alone "
                f"on it in {self.single_steps:,}; next: a larger budget to be sure"
            )
        elif last.loss > self.tolerance:
            lost += f" after {last.steps:,} steps"
            if not self.is_clear:
                lost += ", still getting less, when the budget was spent; next: a larger budget to be sure"
            elif last.expected > self.tolerance:
                lost += ", by too little training: no conflict is left that one more policy would end"
            else:
                lost += f", and {last.expected:.1%} by the end of the planned life, by its trend"
        line = f"{self.policies} {enough}{interval}{size}: {lost}"
        if self.affordable is not None:
            line += f"; but only {self.affordable} fit into memory"
        return line

    def _reasons(self) -> list[str]:
        lines = [
            f"{tried.policies} would lose {tried.loss:.0%}, more than the {self.tolerance:.0%} that is tolerated"
            for tried in self.tried
            if tried.expected > self.tolerance and tried.policies != self.policies
        ]
        serves_for_a_while = self.policies is None and self.tried and self.tried[-1].expected <= self.tolerance
        if serves_for_a_while:
            lines.append(f"while it lasts, {self.tried[-1].policies} would be enough")
        if len(self.groups) > 1 and (self.policies is not None or serves_for_a_while):
            lines += [f"together: {_listed(group)}" for group in self.groups]
        if self.conflict is not None:
            one, other = self.conflict.tasks
            found = "are in conflict" if self.conflict.is_one else "do not conflict by themselves"
            lost = f"one policy for both loses {self.conflict.loss:.0%} on the worse"
            lines.append(f"tasks {one} and {other} {found}: {lost}")
        return lines

    def _learner(self) -> list[str]:
        health = self.health
        if health is None:
            return []
        watched = f"{health.watched:,} steps alone on one task ({health.share:.0%} of what the planned life gives it)"
        if health.diverged_after is not None:
            least = -(-health.planned * max(1, len(self.groups)) // health.diverged_after)
            return [
                f"the learner does not stay sound: its values pass what is possible after {health.diverged_after:,} "
                f"steps on one task, and the planned life gives each policy {health.planned:,}; only with {least} "
                "policies or more would each have fewer. Next: --profile sound, or settings that keep it sound"
            ]
        if health.fall > self.tolerance:
            return [f"the learner does not keep what it learns: it falls by {health.fall:.0%} in {watched}"]
        return [f"the learner stays sound as far as it was watched: {watched}"]

    def _theory(self) -> list[str]:
        """How far theory, which has not played, agrees with what was seen."""
        if self.estimates is None or self.estimates.size == 0:
            return []
        seen, estimated = self.regrets.to_numpy()[: len(self.estimates)], self.estimates.to_numpy()
        agree = ((seen > self.tolerance) == (estimated > self.tolerance)).mean()
        return [
            f"theory, from sampled transitions: right of {agree:.0%} of {seen.size} pairs of a policy and a task as to "
            f"whether more than {self.tolerance:.0%} is lost"
        ]

    def _unseen(self) -> list[str]:
        lines = []
        if len(self.tasks) < self.n_tasks:
            lines.append(f"not looked at: {self.n_tasks - len(self.tasks)} of the {self.n_tasks} tasks")
        if self.policies is None and not self.has_levelled:
            sharing = "sharing, conflict" if self.single_steps == 0 else "conflict"
            lines.append(f"not looked at: {sharing} and how long the learner stays sound; next: a larger budget")
        elif self.policies is not None and not self.has_levelled:
            lines.append(
                f"not looked at: what comes after {self.single_steps:,} steps on one task, when a policy alone on it "
                "was still getting better, and whether tasks conflict then"
            )
        elif self.health is not None and self.health.share < 1 and self.learner_is_sound:
            lines.append("not looked at: how the learner stands the rest of the planned life")
        return lines

    def _cost(self) -> str:
        minutes = f"{self.spent.core_seconds / 60:.1f} core-minutes"
        return f"cost: {self.spent.steps:,} of {self.budget_steps:,} steps, {minutes}"


def _listed(tasks: Sequence[int]) -> str:
    shown = ", ".join(map(str, tasks[:SHOWN_TASKS]))
    return shown if len(tasks) <= SHOWN_TASKS else f"{shown} and {len(tasks) - SHOWN_TASKS} more"


def advice_of(search: Search, policy_bytes: int, memory: int | None, estimates: NDArray[np.float64] | None) -> Advice:
    """What a search has found."""
    tasks, probes = search.tasks, search.probes
    policies = None if search.unanswered else len(search.groups)
    low, high = _interval(search)
    health = None
    if search.single_steps:
        control = search.control
        fall = control.fall(search.random)
        planned = search.planned_updates
        health = LearnerHealth(control.steps, planned, control.diverged_within(planned), fall)
    regrets = search.regrets(probes) if probes else np.empty((0, len(tasks)))
    regrets_of = pd.Index([" ".join(map(str, probe.trained_on)) for probe in probes], name="trained on")
    most = None if memory is None else memory // policy_bytes
    return Advice(
        policies=policies,
        low=low,
        high=high,
        tolerance=search.tolerance,
        is_clear=search.is_clear and not search.unanswered,
        unanswered=search.unanswered,
        groups=tuple(tuple(tasks[place] for place in group) for group in search.groups),
        tried=tuple(search.tried),
        conflict=search.conflict,
        health=health,
        regrets=pd.DataFrame(regrets, regrets_of, tasks),
        # Those that were trained alone come first.
        estimates=None if estimates is None else pd.DataFrame(estimates, regrets_of[: len(estimates)], tasks),
        tree=task_tree(regrets) if len(probes) and len(tasks) > 1 else None,
        memory=None if policies is None else policies * policy_bytes,
        affordable=None if policies is None or most is None or most >= policies else most,
        spent=search.budget.spent,
        budget_steps=search.budget.steps,
        single_steps=search.single_steps,
        has_levelled=search.has_levelled,
        tasks=tuple(tasks),
        n_tasks=search.planned.domain.n_tasks,
    )


def _interval(search: Search) -> tuple[int, int]:
    """The least number whose loss may be tolerable, and the least whose loss surely is, as far as they were tried."""
    most, tolerance = search.planned.domain.n_tasks, search.tolerance
    possible = [tried.policies for tried in search.tried if tried.low <= tolerance]
    certain = [tried.policies for tried in search.tried if tried.high <= tolerance]
    last = search.tried[-1].policies if search.tried else 0
    low = possible[0] if possible else min(most, last + 1)
    if certain and search.has_levelled:
        return low, max(low, certain[0])
    if search.unanswered:
        return low, most
    return min(low, last), min(most, last + 1) if search.is_clear else most
