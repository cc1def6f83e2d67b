"""A cross-evaluation as tables and a chart, its CSV file read again, and the smallest library that it leaves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.analysis.evaluation import Evaluation
from repertory.errors import UsageError
from repertory.paper.cover import Cover, relative_regrets
from repertory.report.chart import Axis, Chart, Heatmap, numbered, single, task_axis
from repertory.wording import counted

COLUMNS = ("policy", "task", "name", "score")
"""That a CSV file must have."""


def tasks_table(found: Evaluation) -> pd.DataFrame:
    """A row per task: its best policy, what that scores, and what the middle and the worst policy score."""
    best = found.scores.argmax(axis=0)
    tasks = np.arange(len(best))
    return pd.DataFrame(
        {
            "task": tasks,
            "name": found.task_names,
            "best policy": best,
            "score": found.scores[best, tasks],
            "error": found.errors[best, tasks],
            "median": np.median(found.scores, axis=0),
            "worst": found.scores.min(axis=0),
        }
    )


def regret_chart(name: str, found: Evaluation) -> Chart:
    """The regret matrix: a row per policy, a column per task."""
    policies, tasks = found.scores.shape
    regrets = found.best - found.scores
    hover = [
        [
            f"policy {policy} on {task}\n{found.score} {score:.4g}, {regret:.4g} below the best"
            for task, score, regret in zip(found.task_names, *rows, strict=True)
        ]
        for policy, rows in enumerate(zip(found.scores, regrets, strict=True))
    ]
    shape = f"{counted(policies, 'policy')} on {counted(tasks, 'task')}"
    heatmap = Heatmap(regrets, f"{found.score} lost to the best policy", is_reversed=True, low=0.0, hover=hover)
    return single(
        name,
        [heatmap],
        task_axis(found.task_names, is_across=True),
        Axis("policy", numbered(policies)),
        title=f"{shape}, greedy, {counted(found.episodes, 'episode')} each",
        size=(max(4.5, min(14.0, 0.26 * tasks + 2.4)), max(3.6, min(14.0, 0.24 * policies + 2.6))),
    )


# ---------------------------------------------------------------------------------------------- smallest library


def regrets_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """As the paper's Definition 1 has them, the best policy on a task taken for the optimum."""
    if (scores < 0).any():
        policy, task = np.argwhere(scores < 0)[0]
        raise UsageError(
            f"policy {policy} scores {scores[policy, task]:.4g} on task {task}: capacity is about shares of the best "
            "score, which only scores of at least 0 have; next: give the tasks rewards of at least 0"
        )
    return relative_regrets(scores, scores.max(axis=0))


def cover_table(regrets: NDArray[np.float64], cover: Cover) -> pd.DataFrame:
    """A row per policy of the smallest library: the tasks that it serves, and the most that it loses on one."""
    rows = []
    for policy in cover.chosen:
        tasks = [task for task, own in enumerate(cover.assignment) if own == policy]
        rows.append(
            {
                "policy": policy,
                "serves": len(tasks),
                "tasks": ", ".join(map(str, tasks)),
                "largest regret": float(regrets[policy, tasks].max(initial=0.0)),
            }
        )
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------------------------------------- the file


def read_evaluation(path: Path) -> Evaluation:
    """What `repertory evaluate` wrote; a table of one's own needs the columns of `COLUMNS` alone."""
    next_step = "valid: a CSV file that 'repertory evaluate' wrote"
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise UsageError(f"{path} cannot be read ({' '.join(str(error).split())[:200]}); {next_step}") from None
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise UsageError(f"{path} has no column '{missing[0]}'; {next_step}")
    try:
        scores = table.pivot(index="policy", columns="task", values="score").astype(float)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} has another form ({' '.join(str(error).split())[:200]}); {next_step}") from None
    policies, tasks = scores.shape
    numbered = list(scores.index) == list(range(policies)) and list(scores.columns) == list(range(tasks))
    if not (policies and numbered and np.isfinite(scores.to_numpy()).all()):
        raise UsageError(
            f"{path} does not have a score for every policy 0, 1, ... on every task 0, 1, ...; {next_step}"
        )
    names = tuple(str(name) for name in table.drop_duplicates("task").sort_values("task")["name"])
    return Evaluation(scores.to_numpy(), np.full(scores.shape, math.nan), names, "score", 0)
