"""What the tables and figures of the paper show, made of the runs that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory import catalogue
from repertory.core.metrics import Development, cumulative_reward, measured_curve
from repertory.core.sequence import task_sequence
from repertory.core.tally import HEALTH
from repertory.paper.memory_simulation import GrowingLibrary
from repertory.report.chart import COLOURS, DASH, SOLID, Axis, Chart, Heatmap, Panel, single
from repertory.report.sections.development import STEPS_AXIS, Conditions, curves, score_curve, stretch_of
from repertory.report.sections.memory import memory_chart
from repertory.report.sections.scores import score_rows, score_table
from repertory.report.table import PROSE, Table, name_column
from repertory.sweeps.results import Results, Run

SHOWN_BLOCKS = 11
"""Of a task sequence."""
PICTURED = (15, 8, 10, 1)
"""POcman tasks, as the paper has them: positive and negative, reacting; positive and negative, static."""
SPREAD = f"{HEALTH}spread"
GAP = 16
"""Pixels between pictures."""


@dataclasses.dataclass(frozen=True)
class Content:
    """Of one figure: one of these."""

    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    picture: NDArray[np.uint8] | None = None
    """(height, width, 3)."""


@dataclasses.dataclass(frozen=True)
class Source:
    """What a figure is made of."""

    name: str
    profile: str
    runs: Mapping[str, Mapping[str, Sequence[Run]]]
    """By experiment and condition: finished ones, at least one."""
    folders: Mapping[str, Results]

    def results(self, experiment: str) -> Results:
        """The sweep, of the runs that are shown alone."""
        shown = tuple(run for runs in self.runs[experiment].values() for run in runs)
        return dataclasses.replace(self.folders[experiment], runs=shown)

    def by_learner(self, experiment: str) -> dict[str, dict[str, Sequence[Run]]]:
        found: dict[str, dict[str, Sequence[Run]]] = {}
        for condition, runs in self.runs.get(experiment, {}).items():
            found.setdefault(str(runs[0].settings["learner"]["name"]), {})[condition] = runs
        return found


# ---------------------------------------------------------------------------------------------------- curves


def development(source: Source) -> Content:
    """Scores over the lifetime, a chart for each learner."""
    (experiment,) = source.runs
    stretch = stretch_of(source.results(experiment))
    return _by_learner(source, experiment, score_curve(stretch), _score_axis(source.runs[experiment]))


def cumulative(source: Source) -> Content:
    """Rewards so far over the lifetime, a chart for each learner."""
    (experiment,) = source.runs
    return _by_learner(source, experiment, _cumulative, CUMULATIVE)


def _cumulative(runs: Sequence[Run]) -> Development:
    return cumulative_reward([run.blocks for run in runs])


CUMULATIVE = Axis("cumulative reward")


def _score_axis(conditions: Conditions) -> Axis:
    return Axis(next(iter(conditions.values()))[0].score_kind)


def _by_learner(source: Source, experiment: str, curve_of: Callable[[Sequence[Run]], Development], y: Axis) -> Content:
    groups = source.by_learner(experiment)
    charts = [
        single(
            source.name if len(groups) == 1 else f"{source.name}-{learner}",
            curves(conditions, curve_of),
            STEPS_AXIS,
            y,
            title=learner.upper(),
            size=(8, 4.4),
        )
        for learner, conditions in groups.items()
    ]
    return Content(charts)


def lpr_comparison(source: Source) -> Content:
    """A chart for each domain: Lifetime Policy Reuse, one policy for all tasks, one for each."""
    charts = []
    for experiment, conditions in source.runs.items():
        is_cartpole = experiment == "cartpole27"
        stretch = stretch_of(source.results(experiment))
        marks = curves(conditions, score_curve(stretch) if is_cartpole else _cumulative, _lpr_looks(conditions))
        y = _score_axis(conditions) if is_cartpole else CUMULATIVE
        title = f"{len(next(iter(conditions.values()))[0].settings['task_names'])} tasks of {experiment}"
        charts.append(single(f"{source.name}-{experiment}", marks, STEPS_AXIS, y, title=title, size=(8, 4.4)))
    return Content(charts)


def _lpr_looks(conditions: Conditions) -> list[dict[str, Any]]:
    """A colour for the kind of library, a dash for the learner."""
    firsts = [runs[0] for runs in conditions.values()]
    learners = list(dict.fromkeys(run.settings["learner"]["name"] for run in firsts))
    return [
        {
            "colour": COLOURS[_kind(run)],
            "dash": DASH if learners.index(run.settings["learner"]["name"]) else SOLID,
        }
        for run in firsts
    ]


def _kind(run: Run) -> int:
    """0 for a library of some policies, 1 for a single policy, 2 for one per task."""
    policies = run.settings["policies"]
    return 1 if policies == 1 else 2 if policies == len(run.settings["task_names"]) else 0


def ppo_improvement(source: Source) -> Content:
    """Three panels: the reference, longer blocks, unbounded improvement."""
    titles = {
        "cartpole27": "a: reference",
        "ppo-long-blocks": "b: longer blocks",
        "ppo-unbounded": "c: unbounded improvement",
    }
    panels = [
        Panel(
            curves(conditions, score_curve(stretch_of(source.results(experiment)))),
            STEPS_AXIS,
            _score_axis(conditions) if index == 0 else Axis(),
            titles[experiment],
        )
        for index, (experiment, conditions) in enumerate(source.runs.items())
    ]
    return Content([Chart(source.name, [panels], legend="below", size=(1.5 + 4.2 * len(panels), 4.2))])


def has_spread(run: Run) -> bool:
    """Whether the spread of its policies was measured over its life: not by versions before 0.2.0."""
    return SPREAD in run.blocks and bool(run.blocks[SPREAD].notna().any())


def spread(source: Source) -> Content:
    """Policy spread over the lifetime, of all learners in one chart."""
    (experiment,) = source.runs
    conditions = source.runs[experiment]
    marks = curves(conditions, lambda runs: measured_curve([run.blocks for run in runs], SPREAD), _by_place(conditions))
    return Content([single(source.name, marks, STEPS_AXIS, Axis("policy spread", low=0), size=(8, 4.4))])


def _by_place(conditions: Conditions) -> list[dict[str, Any]]:
    """A colour for each, for learners have libraries of the same sizes."""
    return [{"colour": COLOURS[index % len(COLOURS)]} for index in range(len(conditions))]


def memory(source: Source) -> Content:
    return Content([dataclasses.replace(memory_chart(GrowingLibrary()), name=source.name)])


# ------------------------------------------------------------------------------------------- tasks and settings


def task_sequences(source: Source) -> Content:
    """The first blocks of all task sequences of an 18-task domain: down a column, every task comes once."""
    n_tasks = 18
    tasks = np.array([task_sequence(0, run, SHOWN_BLOCKS, n_tasks) for run in range(n_tasks)])
    heatmap = Heatmap(tasks, "task", low=0, high=n_tasks - 1, text=[[str(task) for task in row] for row in tasks])
    blocks, runs = ([str(place) for place in range(count)] for count in (SHOWN_BLOCKS, n_tasks))
    return Content([single(source.name, [heatmap], Axis("block", blocks), Axis("task sequence", runs), size=(7, 5.4))])


def pocman_tasks(source: Source) -> Content:
    """Four tasks in a square, at the beginning of an episode."""
    domain = catalogue.domain("pocman18", source.profile)
    frames = []
    for task in PICTURED:
        env: Any = domain.env(task)
        env.unwrapped.render_mode = "rgb_array"
        env.reset(seed=0)
        frames.append(np.asarray(env.render()))
        env.close()
    height, width = (max(frame.shape[axis] for frame in frames) for axis in (0, 1))
    picture = np.full((2 * height + GAP, 2 * width + GAP, 3), 255, np.uint8)
    for place, frame in enumerate(frames):
        top, left = (place // 2) * (height + GAP), (place % 2) * (width + GAP)
        picture[top : top + frame.shape[0], left : left + frame.shape[1]] = frame
    return Content(picture=picture)


def cartpole_settings(source: Source) -> Content:
    return _settings(source, "cartpole27", ("dqn", "ppo"))


def pocman_settings(source: Source) -> Content:
    return _settings(source, "pocman18", ("drqn", "prpo"))


def _settings(source: Source, domain: str, learners: Sequence[str]) -> Content:
    """Every setting of the learners, as the profile has it."""
    rows = []
    for learner in learners:
        settings = catalogue.build("learner", learner, source.profile, {}, domain)
        rows += [
            {
                "learner": learner.upper(),
                "setting": field.name,
                "value": str(getattr(settings, field.name)),
                "meaning": field.metadata["meaning"],
            }
            for field in dataclasses.fields(settings)
        ]
    columns = [name_column("learner"), name_column("setting"), name_column("value"), name_column("meaning", kind=PROSE)]
    return Content(tables=[Table(source.name, columns, rows)])


def scores(source: Source) -> Content:
    """Lifetime and final scores beside the published ones."""
    (experiment,) = source.runs
    results = source.results(experiment)
    return Content(tables=[dataclasses.replace(score_table(results, score_rows(results)), name=source.name)])
