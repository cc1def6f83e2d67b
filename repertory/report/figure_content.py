"""What the tables and figures of the paper show, made of the runs that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory import catalogue
from repertory.core.metrics import Development, cumulative_reward, measured_curve
from repertory.core.sequence import task_sequence
from repertory.core.tally import HEALTH
from repertory.paper.memory_simulation import GrowingLibrary
from repertory.report.chart import COLOURS, DASH, SOLID, Axis, Chart, Heatmap, Panel, single
from repertory.report.domains import by_learner
from repertory.report.sections.development import STEPS_AXIS, Conditions, CurveOf, curves, score_curve, stretch_of
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
    sweeps: Mapping[str, Results]
    """By experiment: of the runs that are shown, at least one."""

    @property
    def only(self) -> Results:
        """Of a figure that shows one experiment."""
        (results,) = self.sweeps.values()
        return results


# ---------------------------------------------------------------------------------------------------- curves


def development(source: Source) -> Content:
    """Scores over the lifetime, a chart for each learner."""
    return _by_learner(source, _scores_of(source.only), _score_axis(source.only))


def cumulative(source: Source) -> Content:
    """Rewards so far over the lifetime, a chart for each learner."""
    return _by_learner(source, _cumulative, CUMULATIVE)


def _scores_of(results: Results) -> CurveOf:
    return score_curve(stretch_of(results))


def _cumulative(runs: Sequence[Run]) -> Development:
    return cumulative_reward([run.blocks for run in runs])


CUMULATIVE = Axis("cumulative reward")


def _score_axis(results: Results) -> Axis:
    return Axis(results.runs[0].score_kind)


def _by_learner(source: Source, curve_of: CurveOf, y: Axis) -> Content:
    groups = list(by_learner(source.only))
    charts = [
        single(
            source.name if len(groups) == 1 else f"{source.name}-{learner}",
            curves(conditions, curve_of),
            STEPS_AXIS,
            y,
            title=learner.upper(),
            size=(8, 4.4),
        )
        for _part, learner, conditions in groups
    ]
    return Content(charts)


def lpr_comparison(source: Source) -> Content:
    """A chart for each domain: Lifetime Policy Reuse, one policy for all tasks, one for each."""
    charts = []
    for experiment, results in source.sweeps.items():
        is_cartpole = experiment == "cartpole27"
        conditions = results.by_condition
        marks = curves(conditions, _scores_of(results) if is_cartpole else _cumulative, _lpr_looks(conditions))
        y = _score_axis(results) if is_cartpole else CUMULATIVE
        title = f"{len(results.runs[0].settings['task_names'])} tasks of {experiment}"
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
            curves(results.by_condition, _scores_of(results)),
            STEPS_AXIS,
            _score_axis(results) if index == 0 else Axis(),
            titles[experiment],
        )
        for index, (experiment, results) in enumerate(source.sweeps.items())
    ]
    return Content([Chart(source.name, [panels], legend="below", size=(1.5 + 4.2 * len(panels), 4.2))])


def has_spread(run: Run) -> bool:
    """Whether the spread of its policies was measured over its life: not by versions before 0.2.0."""
    return SPREAD in run.blocks and bool(run.blocks[SPREAD].notna().any())


def spread(source: Source) -> Content:
    """Policy spread over the lifetime, of all learners in one chart."""
    conditions = source.only.by_condition
    # A colour for each, for learners have libraries of the same sizes.
    looks = [{"colour": COLOURS[index % len(COLOURS)]} for index in range(len(conditions))]
    marks = curves(conditions, lambda runs: measured_curve([run.blocks for run in runs], SPREAD), looks)
    return Content([single(source.name, marks, STEPS_AXIS, Axis("policy spread", low=0), size=(8, 4.4))])


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
    columns = [*map(name_column, ("learner", "setting", "value")), name_column("meaning", kind=PROSE)]
    return Content(tables=[Table(source.name, columns, rows)])


def scores(source: Source) -> Content:
    """Lifetime and final scores beside the published ones."""
    table = score_table(source.only, score_rows(source.only))
    return Content(tables=[dataclasses.replace(table, name=source.name)])
