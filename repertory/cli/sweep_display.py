"""How a sweep is shown: a moving table of its runs or lines in a log, and the scores at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from repertory.cli.screen import print_problems
from repertory.report.sections.scores import score_rows, score_table
from repertory.report.sections.time import duration, time_sentence
from repertory.report.table import to_console
from repertory.runs.status import DIVERGED, ELSEWHERE, FINISHED, RUNNING, Status
from repertory.sweeps.job import Job
from repertory.sweeps.results import Results
from repertory.sweeps.sweep import Watcher
from repertory.wording import counted

REFRESH = 1.0
LINE_EVERY = 60.0
"""Seconds between lines where there is no terminal."""
STALE = 30.0
"""A run whose status is older than this many seconds is not running."""
WAITING = "waiting"
"""The state of a run that was begun and is not running now."""
UNDER_WAY = (RUNNING, WAITING)


@dataclass
class _Estimate:
    """How long the rest will take."""

    steps_per_second: float
    seconds_left: float | None
    share_done: float


class SweepDisplay(Watcher):
    """Shows all runs of a sweep with speed and time left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._jobs: list[Job] = []
        self._ends: dict[str, Status] = {}
        self._shown = 0.0

    def begin(self, jobs: Sequence[Job], standing: Mapping[str, Status], workers: int) -> None:
        """All jobs are of the same length; `standing` has those that need not be run."""
        self._jobs, self._workers = list(jobs), workers
        self._blocks, self._block_steps = (int(jobs[0].spec[key]) for key in ("blocks", "block_steps"))
        self._ends = dict(standing)
        if self._live is not None:
            self._live.start()
        else:
            finished = sum(status.state == FINISHED for status in self._ends.values())
            self._console.print(
                f"{counted(len(jobs), 'run')}, {finished} finished, {workers} at a time", soft_wrap=True
            )

    def tick(self) -> None:
        now = time.monotonic()
        if now - self._shown < (REFRESH if self._live is not None else LINE_EVERY):
            return
        self._shown = now
        statuses = self._statuses()
        estimate = self._estimate(statuses)
        if self._live is not None:
            self._live.update(self._render(statuses, estimate), refresh=True)
        else:
            self._console.print(self._line(statuses, estimate), soft_wrap=True)

    def ended(self, job: Job, status: Status) -> None:
        if status.state != ELSEWHERE:  # of those, the folder tells
            self._ends[job.folder] = status
        if self._live is None or status.state != FINISHED:
            message = f": {status.message}" if status.message else ""
            speed = f", {status.steps_per_second:,.0f} steps/s" if status.state == FINISHED else ""
            self._console.print(f"{job.condition} run {job.run} {status.state}{speed}{message}", soft_wrap=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _statuses(self) -> list[Status | None]:
        """Of each job: how it ended, or how far its folder says that it is."""
        found: list[Status | None] = []
        for job in self._jobs:
            status = self._ends.get(job.folder)
            if status is None:
                status = job.status()
                is_running = status is not None and status.state == RUNNING and time.time() - status.time < STALE
                if status is not None and not is_running and status.state != FINISHED:
                    status = replace(status, state=WAITING, steps_per_second=0.0)
            found.append(status)
        return found

    def _estimate(self, statuses: Sequence[Status | None]) -> _Estimate:
        """Each learner at its speed so far; learners that have not begun at the mean speed of the others."""
        speeds: dict[str, list[float]] = {}
        blocks = float(self._blocks)
        left: dict[str, float] = {}
        total, now, longest = 0.0, 0.0, 0.0
        for job, status in zip(self._jobs, statuses, strict=True):
            learner = job.learner
            done = 0.0 if status is None else blocks if status.state not in UNDER_WAY else status.blocks
            total += done
            left[learner] = left.get(learner, 0.0) + blocks - done
            longest = max(longest, (blocks - done) / blocks)
            if status is not None and status.steps_per_second > 0:
                speeds.setdefault(learner, []).append(status.steps_per_second)
                now += status.steps_per_second if status.state == RUNNING else 0.0
        if not speeds:
            return _Estimate(0.0, None, total / (blocks * len(self._jobs)))
        usual = float(np.mean([np.mean(seen) for seen in speeds.values()]))
        seconds = sum(
            amount * self._block_steps / (float(np.mean(speeds[learner])) if learner in speeds else usual)
            for learner, amount in left.items()
        )
        of_one = longest * blocks * self._block_steps / usual  # workers that have nothing left to do do not help
        return _Estimate(now, max(seconds / self._workers, of_one), total / (blocks * len(self._jobs)))

    def _line(self, statuses: Sequence[Status | None], estimate: _Estimate) -> str:
        finished = sum(status is not None and status.state == FINISHED for status in statuses)
        failed = sum(status is not None and status.state not in (FINISHED, *UNDER_WAY) for status in statuses)
        bad = f", {failed} failed" if failed else ""
        return (
            f"{finished} of {counted(len(self._jobs), 'run')} finished{bad}, {estimate.share_done:.1%} of the steps, "
            f"{estimate.steps_per_second:,.0f} steps/s, {duration(estimate.seconds_left)} left"
        )

    def _render(self, statuses: Sequence[Status | None], estimate: _Estimate) -> Group:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for title in ("condition", "finished", "under way", "score", "steps/s"):
            table.add_column(
                title, justify="left" if title in ("condition", "under way") else "right", no_wrap=title == "condition"
            )
        for condition in dict.fromkeys(job.condition for job in self._jobs):
            own = [(j, s) for j, s in zip(self._jobs, statuses, strict=True) if j.condition == condition]
            ended = [status for _job, status in own if status is not None and status.state == FINISHED]
            under_way = [(job, status) for job, status in own if status is not None and status.state in UNDER_WAY]
            bad = sum(status is not None and status.state == DIVERGED for _job, status in own)
            scores = [status.score for _job, status in under_way if status.score is not None]
            table.add_row(
                condition,
                f"{len(ended)}/{len(own)}" + (f" ({bad} diverged)" if bad else ""),
                "  ".join(f"run {j.run}: {s.blocks / self._blocks:.0%}" for j, s in under_way),
                f"{np.mean(scores):.4g}" if scores else "",
                f"{sum(s.steps_per_second for _j, s in under_way):,.0f}" if under_way else "",
            )
        return Group(table, Text(self._line(statuses, estimate), style="bold"))


def print_scores(console: Console, results: Results) -> None:
    """Lifetime and final scores of all conditions, beside the published ones, and the time they took."""
    rows = score_rows(results)
    if rows:
        console.print(to_console(score_table(results, rows, is_narrow=True)))
    for run in (run for runs in results.by_condition.values() for run in runs if run.divergence is not None):
        console.print(f"{run.condition} run {run.number} {run.divergence}", soft_wrap=True)
    if sentence := time_sentence(results):
        console.print(sentence, soft_wrap=True)
    print_problems(console, results)
