"""Every table and figure of the paper: what it needs, and what makes it. `repertory figure NAME` makes one.

A figure is an entry in `FIGURES`: its label in the paper, a title, the experiments whose runs it shows, and the
function that makes charts, tables or a picture of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from repertory.errors import UsageError, unknown
from repertory.paper.experiments import experiment
from repertory.profiles import PROFILES
from repertory.report import figure_content as content
from repertory.report.claim_quantities import Evidence
from repertory.report.claims import Gap, commands, gather, shorter, sweep_of
from repertory.report.figure_content import Content, Source
from repertory.sweeps.results import Results, Run

LPR_CARTPOLE = ("AdaptiveDQN9P", "AdaptivePPO9P", "Unadaptive*1P", "Unadaptive*27P")
LPR_POCMAN = ("AdaptiveDRQN9P", "AdaptivePRPO2P", "Unadaptive*1P", "Unadaptive*18P")
PPO = ("UnadaptivePPO1P", "UnadaptivePPO9P", "UnadaptivePPO27P")


@dataclass(frozen=True)
class Figure:
    """A table or figure of the paper."""

    label: str
    """In the paper's source: `fig: LPRcomp`."""
    title: str
    make: Callable[[Source], Content] | None = None
    """None for a drawing that shows no result."""
    needs: Mapping[str, tuple[str, ...]] | None = None
    """Experiments, and patterns of the conditions whose runs are shown; all conditions if there is no pattern."""
    counts: Callable[[Run], bool] = lambda run: True
    """Whether a run has what is shown."""

    follows_profile: bool = False
    """Whether it differs by profile, though it shows no runs."""

    @property
    def name(self) -> str:
        return self.label.partition(": ")[2]

    @property
    def is_table(self) -> bool:
        return self.label.startswith("tab")

    def conditions(self) -> list[tuple[str, str]]:
        """Every experiment and condition that is shown."""
        needs = self.needs or {}
        return [(name, found.name) for name, patterns in needs.items() for found in experiment(name).select(patterns)]

    def shown(self, name: str, results: Results) -> Results:
        """A sweep of an experiment, of the finished runs that are shown alone."""
        conditions = [condition for experiment_name, condition in self.conditions() if experiment_name == name]
        runs = (run for run in results.runs if run.is_done and run.condition in conditions and self.counts(run))
        return replace(results, runs=tuple(runs))


FIGURES = (
    Figure("fig: multiplepolicies", "The cycle of Lifetime Policy Reuse"),
    Figure("fig: architecture-diagram", "Networks of the base-learners"),
    Figure("fig: experiment-sets", "Task sequences", content.task_sequences),
    Figure("fig: taskpics", "Four of the POcman tasks", content.pocman_tasks),
    Figure(
        "fig: LPRcomp",
        "Lifetime Policy Reuse, a single policy and a policy per task",
        content.lpr_comparison,
        {"cartpole27": LPR_CARTPOLE, "pocman18": LPR_POCMAN},
    ),
    Figure("fig: policiesscore", "Average score on 27-task Cartpole", content.development, {"cartpole27": ()}),
    Figure("tab: significance-27task", "Performance on 27-task Cartpole", content.scores, {"cartpole27": ()}),
    Figure("fig: policiesscorePOMDP", "Cumulative reward on POcman", content.cumulative, {"pocman18": ()}),
    Figure("tab: significance", "Performance on POcman", content.scores, {"pocman18": ()}),
    Figure(
        "fig: paramdiversity",
        "Policy spread over the lifetime on POcman",
        content.spread,
        {"pocman18": ("Adaptive*",)},
        content.has_spread,
    ),
    Figure("fig: 125-task", "Average score on 125-task Cartpole", content.development, {"cartpole125": ()}),
    Figure("tab: parametersMDP", "Settings on Cartpole", content.cartpole_settings, follows_profile=True),
    Figure("tab: learning-rateMDP", "Learning rates on Cartpole", content.scores, {"learning-rate-cartpole": ()}),
    Figure("tab: parameters", "Settings on POcman", content.pocman_settings, follows_profile=True),
    Figure("tab: learning-rate", "Learning rates on POcman", content.scores, {"learning-rate-pocman": ()}),
    Figure("fig: UCB", "UCB1-Tuned as selector on 27-task Cartpole", content.development, {"ucb": ()}),
    Figure("fig: memory", "Memory of growing libraries (simulation)", content.memory),
    Figure(
        "fig: PPOmonotonicimprovement",
        "PPO: as it is, with longer blocks, with unbounded improvement",
        content.ppo_improvement,
        {"cartpole27": PPO, "ppo-long-blocks": (), "ppo-unbounded": ()},
    ),
    Figure("fig: buffer", "Replay memories of a single DQN policy", content.development, {"replay": ()}),
)
"""In the paper's order."""


def figure(name: str) -> Figure:
    """By its name, in capitals or not."""
    found = {each.name.lower(): each for each in FIGURES}
    if name.lower() not in found:
        raise unknown("figure", name, [each.name for each in FIGURES])
    return found[name.lower()]


# ------------------------------------------------------------------------------------------ what there is to show


@dataclass(frozen=True)
class Standing:
    """What the sweeps of one profile have of a figure."""

    figure: Figure
    profile: str
    folders: Mapping[str, Results]
    """The sweep of each experiment that is shown, of the runs that are shown alone."""
    full_length: Evidence
    """Where runs that are missing belong: beside others of the paper's length."""

    def runs(self, name: str, condition: str) -> list[Run]:
        """The finished ones that have what is shown."""
        return self.folders[name].by_condition.get(condition, []) if name in self.folders else []

    @property
    def present(self) -> list[tuple[str, str]]:
        """Experiments and conditions with such a run."""
        return [each for each in self.figure.conditions() if self.runs(*each)]

    @property
    def missing(self) -> list[tuple[str, str]]:
        return [each for each in self.figure.conditions() if not self.runs(*each)]

    def missing_text(self) -> str:
        """`ucb: 8 of 8 conditions`; `pocman18: full length (has scale 0.1)`; empty where nothing is missing."""
        parts = []
        for name in self.figure.needs or {}:
            lacks = [not self.runs(*each) for each in self.figure.conditions() if each[0] == name]
            sweep = self.folders[name].sweep if name in self.folders else None
            length = ", ".join(shorter(sweep)) if sweep is not None else ""
            if any(lacks) or length:
                wanted = f"{sum(lacks)} of {len(lacks)} conditions" if any(lacks) else "full length"
                parts.append(f"{name}: {wanted}" + (f" (has {length})" if length else ""))
        return ", ".join(parts)

    def commands(self) -> list[str]:
        """That would run what is missing, at the paper's length."""
        gaps = [
            Gap(sweep_of(self.full_length, name), condition, tuple(range(experiment(name).conditions[condition].runs)))
            for name, condition in self.missing
        ]
        return commands(gaps)

    def caption(self) -> str:
        """What is shown: the title, the profile, and of each experiment how many runs, of what length."""
        return ". ".join([self.figure.title, *self._shown()]) + "."

    def _shown(self) -> Iterator[str]:
        if self.figure.needs is not None or self.figure.follows_profile:
            yield f"Profile {self.profile}"
        for name, results in self.folders.items():
            counts = [len(self.runs(*each)) for each in self.present if each[0] == name]
            if counts and results.sweep is not None:
                length = ", ".join(shorter(results.sweep))
                runs = "-".join(map(str, sorted({min(counts), max(counts)})))
                yield f"{name}: {runs} of {results.sweep.data.runs} runs" + (f", {length}" if length else "")

    def content(self) -> Content:
        """The charts, tables or picture, of the runs that there are."""
        if self.figure.make is None:
            raise UsageError(f"{self.figure.name} is a drawing that shows no results: only the paper has it")
        if self.figure.needs and not self.present:
            raise UsageError(
                f"{self.figure.name} needs finished runs ({self.missing_text()}); next: {self.commands()[0]}"
            )
        shown = {name: results for name, results in self.folders.items() if results.runs}
        return self.figure.make(Source(self.figure.name, self.profile, shown))


def standing(wanted: Figure, results: Sequence[Results], profile: str | None = None) -> Standing:
    """Of a figure: by the sweeps of the profile that has most of it; of several, `text` first."""
    if profile is not None and profile not in PROFILES:
        raise unknown("--profile", profile, PROFILES)
    gathered = gather(results)
    profiles = [profile] if profile is not None else [*gathered] or ["text"]
    candidates = [_standing(wanted, each, gathered.get(each) or [Evidence(each)]) for each in profiles]
    return max(candidates, key=lambda found: len(found.present))


def _standing(wanted: Figure, profile: str, evidence: Sequence[Evidence]) -> Standing:
    """Of each experiment, the sweep with most of the conditions; of several, the longest."""
    folders: dict[str, Results] = {}
    for name in wanted.needs or {}:
        held = [wanted.shown(name, each.folders[name]) for each in evidence if name in each.folders]
        if held:
            folders[name] = max(held, key=lambda results: len(results.by_condition))
    return Standing(wanted, profile, folders, evidence[0])
