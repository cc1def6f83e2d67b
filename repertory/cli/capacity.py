"""`repertory capacity ...`: each analysis, from its input to a table, a figure and a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from repertory import catalogue
from repertory.analysis.capacity import check_tolerance
from repertory.analysis.controls import capacity_of, command, scores_by_policies
from repertory.analysis.recommend import recommend_policies
from repertory.analysis.update_control import CapacityParts, capacity_parts, controls_for, parts_warning
from repertory.cli.screen import print_problems
from repertory.cli.sweep_display import SweepDisplay
from repertory.errors import RunStopped, UsageError, check_count, unknown
from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.paths import check_new_folder
from repertory.report import capacity_view as view
from repertory.report.sections.capacity import parts_table
from repertory.report.sections.memory import memory_chart
from repertory.report.table import to_console
from repertory.runs.folder import RunFolder
from repertory.runs.spec import RunSpec
from repertory.runs.status import FINISHED
from repertory.sweeps.job import Job
from repertory.sweeps.results import Results, read_results
from repertory.sweeps.sweep import live_sweep, make_engine

MOST_SEEDS = 1000
MOST_STEPS = 10**8
"""Of random play on each task: each is given a seed beforehand."""


def empirical_in_console(
    path: Path, tolerance: float, out: Path, console: Console, control: Path | None = None
) -> None:
    check_tolerance(tolerance)
    check_new_folder(out)
    results = read_results(path)
    controls = controls_for(results) if control is None else read_results(control)
    print_problems(console, results)
    estimates = {learner: capacity_of(results, learner) for learner in learners_with_scores(results)}
    published = {} if results.experiment is None else results.experiment.capacity
    table = view.empirical_table(estimates, tolerance, published)
    view.print_frame(console, view.scores_table(estimates))
    console.print()
    console.print(to_console(table))
    for learner in estimates:
        _print_parts(console, learner, capacity_parts(results, controls, learner))
    if min(min(estimate.runs.values()) for estimate in estimates.values()) < 2:
        console.print("no intervals: they need at least two runs of each condition", soft_wrap=True)
    chart = view.empirical_figure(estimates, tolerance)
    view.save(console, out, f"empirical-{results.path.resolve().name}", pd.DataFrame(table.rows), chart)


def _print_parts(console: Console, learner: str, parts: Sequence[CapacityParts]) -> None:
    """What smaller libraries lose, told apart; of runs without a control, that it cannot be."""
    console.print()
    if not any(part.tasks for part in parts):
        console.print(
            f"{learner}: no runs of single tasks to tell interference from ageing; next: run some with --task, and "
            "give their folder as --control",
            soft_wrap=True,
        )
        return
    console.print(to_console(parts_table([{"learner": learner, **part._asdict()} for part in parts if part.tasks])))
    for part in parts:
        if warning := parts_warning(part):
            console.print(f"{learner} with {part.policies}: {warning}", soft_wrap=True)


def learners_with_scores(results: Results) -> list[str]:
    """Learners with unadaptive runs at two numbers of policies or more."""
    found = [learner for learner in results.learners() if len(scores_by_policies(results, learner)) > 1]
    if not found:
        raise UsageError(
            f"{results.path} has too few finished unadaptive runs: capacity compares at least two numbers of policies; "
            f"next: {command(results, 'Unadaptive*')}"
        )
    return found


def clusters_in_console(
    name: str, profile: str, steps: int, seed: int, seeds: int, signature: str, out: Path, console: Console
) -> None:
    from repertory.analysis.clusters import SIGNATURES, clusters_over_seeds

    check_count("--steps", steps, 1, MOST_STEPS)
    check_count("--seed", seed, 0, 2**31 - 1)
    check_count("--seeds", seeds, 1, MOST_SEEDS)
    if signature not in SIGNATURES:
        raise unknown("--signature", signature, SIGNATURES)
    domain = catalogue.domain(name, profile)
    check_new_folder(out)
    found = clusters_over_seeds(domain, steps, seed, seeds, signature)
    clusters = found.first
    view.print_frame(console, clusters.signatures)
    console.print()
    view.print_frame(console, clusters.means())
    console.print(view.clusters_summary(name, found), soft_wrap=True)
    view.save(console, out, f"clusters-{name}-{profile}", clusters.signatures, view.clusters_figure(name, clusters))


def recommend_in_console(
    console: Console,
    domain: str,
    learner: str,
    policies: str | None,
    profile: str,
    workers: int | None,
    out: Path,
    **options: Any,
) -> None:
    """The options are those of `recommend_policies`."""
    numbers = None if policies is None else _numbers(policies)
    engine = make_engine("local", workers)
    check_new_folder(out)

    def live(specs: Sequence[tuple[RunSpec, Path | None]]) -> list[pd.DataFrame]:
        jobs = [Job(f"{spec.policies}P", str(path), spec.to_json()) for spec, path in specs if path is not None]
        standing = live_sweep(jobs, engine, SweepDisplay(console))
        for job in jobs:
            if standing[job.folder].state != FINISHED:
                raise RunStopped(f"a run of the pilot ended early: {job.folder}: {standing[job.folder].message}")
        return [RunFolder(Path(job.folder)).read_blocks() for job in jobs]

    kept = out.resolve() / f"pilot-{domain}-{learner}-{profile}"
    found = recommend_policies(domain, learner, policies=numbers, profile=profile, out=kept, live=live, **options)
    view.print_frame(console, view.recommendation_table(found))
    console.print(str(found), soft_wrap=True)
    name = f"recommend-{domain}-{learner}-{profile}"
    view.save(console, out, name, found.table, view.recommendation_figure(found))


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--policies is '{text}'; valid: numbers separated by commas, such as 1,2,4,9") from None


def memory_in_console(blocks: int | None, runs: int, out: Path, console: Console) -> None:
    check_new_folder(out)
    settings = GrowingLibrary(runs=runs) if blocks is None else GrowingLibrary(runs=runs, blocks=blocks)
    table = memory_table(settings)
    view.print_frame(console, table)
    console.print(
        f"policies held at the peak over those of a fixed library; {settings.tasks} tasks, {settings.blocks} blocks, "
        f"mean of {settings.runs} runs",
        soft_wrap=True,
    )
    view.save(console, out, "memory", table, memory_chart(settings))
