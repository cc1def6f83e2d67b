"""`repertory capacity ...`: each analysis, from its input to a table, a figure and a CSV file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd
from rich.console import Console

from repertory import catalogue
from repertory.analysis.capacity import check_tolerance
from repertory.analysis.controls import capacity_of, command, scores_by_policies
from repertory.analysis.pilot import pilot_policies
from repertory.analysis.recommend import recommend_policies
from repertory.analysis.update_control import CapacityParts, capacity_parts, controls_for, parts_warning
from repertory.cli.progress import AdviceProgress
from repertory.cli.run_options import changed_components
from repertory.cli.screen import print_problems
from repertory.errors import UsageError, check_count, unknown
from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.paths import check_new_folder
from repertory.report import capacity_view as view
from repertory.report.advice_view import advice_chart, regrets_table, tried_table
from repertory.report.section import safe
from repertory.report.sections.capacity import parts_table
from repertory.report.sections.memory import memory_chart
from repertory.report.table import to_console
from repertory.settings import LARGEST_INTEGER
from repertory.sweeps.results import Results, read_results

MOST_SEEDS = 1000
MOST_STEPS = 10**8
"""Of random play on each task: each is given a seed beforehand."""


def empirical_in_console(
    path: Path,
    tolerance: float,
    out: Path,
    console: Console,
    control: Path | None = None,
    above_random: bool = False,
) -> None:
    check_tolerance(tolerance)
    check_new_folder(out)
    results = read_results(path)
    controls = controls_for(results) if control is None else read_results(control)
    print_problems(console, results)
    estimates = {learner: capacity_of(results, learner, above_random) for learner in learners_with_scores(results)}
    published = {} if results.experiment is None or above_random else results.experiment.capacity
    table = view.empirical_table(estimates, tolerance, published)
    scores = view.scores_table(estimates)
    view.print_frame(
        console, scores.rename(columns={"lifetime score": "above random play"}) if above_random else scores
    )
    console.print()
    console.print(to_console(table))
    for learner in () if above_random else estimates:  # its parts are shares of scores that count from 0
        _print_parts(console, learner, capacity_parts(results, controls, learner))
    if min(min(estimate.runs.values()) for estimate in estimates.values()) < 2:
        console.print("no intervals: they need at least two runs of each condition", soft_wrap=True)
    chart = view.empirical_figure(estimates, tolerance)
    name = f"empirical-{results.path.resolve().name}{'-above-random' if above_random else ''}"
    view.save(console, out, name, pd.DataFrame(table.rows), chart)


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
    view.save(
        console, out, f"clusters-{safe(name)}-{profile}", clusters.signatures, view.clusters_figure(name, clusters)
    )


def recommend_in_console(
    console: Console,
    domain: str,
    learner: str,
    steps: str | None,
    budget: str | None,
    set_: list[str] | None,
    vary: list[str] | None,
    out: Path,
    **options: Any,
) -> None:
    """The options are those of `recommend_policies`; what it trains is saved, and the same command goes on with it."""
    name = _recommendation_name(domain, learner, options["profile"])
    tasks, policies = changed_components(domain, learner, options["profile"], set_ or [], vary or [])
    if changes := [*(set_ or []), *(vary or [])]:  # in another order, tasks have other numbers
        name += f"-{crc32(repr(changes).encode()):08x}"
    options |= {"steps": parse_steps(steps), "seconds": parse_seconds(budget)}
    check_new_folder(out)
    with AdviceProgress(console) as progress:
        saved = out.resolve() / f"{name}-probes"
        advice = recommend_policies(tasks, policies, progress=progress, out=saved, **options)
    if advice.tried:
        view.print_frame(console, tried_table(advice))
    console.print(str(advice), soft_wrap=True)
    if len(advice.regrets):
        view.save(console, out, name, regrets_table(advice), advice_chart(name, advice))


def recommend_from_runs_in_console(
    console: Console, domain: str, learner: str, results: Path, profile: str, out: Path, **options: Any
) -> None:
    """Nothing is run: the unadaptive runs in a folder decide. The options are those of `pilot_policies`."""
    check_new_folder(out)
    found = pilot_policies(domain, learner, results=results, profile=profile, **options)
    view.print_frame(console, view.pilot_table(found))
    console.print(str(found), soft_wrap=True)
    view.save(console, out, _recommendation_name(domain, learner, profile), found.table, view.pilot_figure(found))


def _recommendation_name(domain: str, learner: str, profile: str) -> str:
    """Of its files; paths of own code have slashes."""
    return f"recommend-{safe(domain)}-{safe(learner)}-{profile}"


def parse_steps(text: str | None) -> int | None:
    """`2e6`, `2000000` or `2_000_000` to a number."""
    if text is None:
        return None
    try:
        steps = float(text)
    except ValueError:
        steps = 0.0
    if not 1 <= steps <= LARGEST_INTEGER:
        raise UsageError(f"--steps is '{text}'; valid: such as 2e6")
    return int(steps)


def parse_seconds(text: str | None) -> float | None:
    """`10min`, `2h` or `90s` to seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(.+?)(s|min|m|h)", text.replace(" ", "").lower())
    try:
        seconds = float(found[1]) * {"s": 1, "min": 60, "m": 60, "h": 3600}[found[2]] if found else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--budget is '{text}'; valid: a time such as 10min, 2h or 90s")
    return seconds


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
