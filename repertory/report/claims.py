"""The claims ledger: every claim of the paper that runs can decide, and what the runs at hand say about it.

The claims are data (`repertory/paper/claims.toml`): what is claimed, where, the test that decides it, and the reason
for its bounds. Claims are judged for each profile apart, on lifetimes of the paper's length. A claim is *reproduced*
or *not reproduced* if its bounds lie outside the interval of what the runs come to, and *inconclusive* if not: more
runs are asked for. Shorter lifetimes give an *indication*, never a verdict. A claim whose runs are not there yet
*needs runs*, and comes with the command that runs them.
"""

from __future__ import annotations

import inspect
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from repertory.analysis.controls import command
from repertory.errors import UsageError, unknown
from repertory.paper.experiments import experiment
from repertory.paths import existing_folder
from repertory.profiles import PROFILES
from repertory.report.claim_quantities import (
    AGAINST_ONE_TO_ONE,
    ENOUGH_RUNS,
    QUANTITIES,
    Evidence,
    NotYet,
    Reference,
    one_to_one_of,
)
from repertory.report.claim_tests import CHOICES, KINDS, Bounds, pair_up
from repertory.report.escaping import Marked
from repertory.report.table import BAD, DIM, GOOD, PROSE, TEXT, Column, Row, Table, name_column, to_console
from repertory.sweeps.results import Results, read_results
from repertory.sweeps.sweep import FILE_NAME, Sweep, default_folder

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
INCONCLUSIVE = "inconclusive"
INDICATION = "indication"
UNDECIDED = "needs runs"
MARKS = {REPRODUCED: "✓", NOT_REPRODUCED: "✗", INCONCLUSIVE: "~", INDICATION: "·", UNDECIDED: "?"}
"""A symbol beside the word."""
TONES = {REPRODUCED: GOOD, NOT_REPRODUCED: BAD, INCONCLUSIVE: DIM, INDICATION: DIM, UNDECIDED: DIM}
LEANS = {True: "leaning to yes", False: "leaning to no"}
"""What the figures would say if they were certain, where there is no verdict."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the test that decides it."""

    id: str
    claim: str
    where: str
    """In the paper."""
    reason: str
    """For the bounds."""
    kind: str
    parameters: Mapping[str, Any]
    """Of the kind's function."""
    runs: int
    """How many finished runs each condition must have; 0 if the test needs none."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The conditions that must have finished runs."""
        named = [*self.parameters.get("conditions", ()), *self.parameters.get("against", ())]
        quantities = (self.parameters.get("quantity"), *self.parameters.get("quantities", ()))
        if any(quantity in AGAINST_ONE_TO_ONE for quantity in quantities):
            named += [one_to_one_of(reference) for reference in named]
        return tuple(dict.fromkeys(named))


class Gap(NamedTuple):
    """Runs of a condition that are missing in a folder, which may not be there yet."""

    folder: Results
    condition: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    state: str
    figures: str
    """What it was decided from, or what is missing."""
    gaps: tuple[Gap, ...] = field(default=(), repr=False)
    """Runs that would decide it."""
    lean: str = ""
    """Where there is no verdict, what the figures would say if they were certain."""
    is_out_of_reach: bool = False
    """Whether as many runs as the paper has would not tell either, if they were like those at hand."""

    @property
    def command(self) -> str | None:
        """What would decide it."""
        return " && ".join(commands(self.gaps)) or None


@dataclass(frozen=True)
class Judgement:
    """A claim, the profile of the runs it was judged on, and the verdict."""

    claim: Claim
    profile: str
    """Empty where the test needs no runs."""
    verdict: Verdict


# ------------------------------------------------------------------------------------------- claims as data


@cache
def all_claims() -> tuple[Claim, ...]:
    """In the order of the file."""
    file = resources.files("repertory.paper").joinpath("claims.toml")
    return tuple(read_claim(name, content) for name, content in tomllib.loads(file.read_text("utf-8")).items())


def read_claim(name: str, content: Mapping[str, Any]) -> Claim:
    """From its table in the file; whatever has no place in a claim or in its kind of test fails.

    Conditions are names or patterns of the test's `experiment`, or of another: `cartpole27/UnadaptiveDQN1P`.
    """
    rest = dict(content)
    test = {**rest.pop("runs_of", {}), **rest.pop("test", {})}
    kind, home = test.pop("kind", None), test.pop("experiment", None)
    if kind is None:
        raise UsageError(f"the claim {name} has no test; valid: test.kind, one of {', '.join(sorted(KINDS))}")
    if kind not in KINDS:
        raise unknown("kind of test", kind, KINDS)
    for key in ("conditions", "against"):
        if key in test:
            test[key] = tuple(itertools.chain(*(_expand(home, pattern) for pattern in test[key])))
    runs = test.pop("runs", 2 if kind == "significance" else 1 if "conditions" in test else 0)
    for quantity in test.get("quantities", ()):
        if quantity not in QUANTITIES:
            raise unknown("quantity", quantity, QUANTITIES)
    for key, valid in CHOICES.items():
        if key in test and test[key] not in valid:
            raise unknown(key, test[key], valid)
    if "against" in test and not test.get("average"):
        pair_up(test["conditions"], test["against"])
    signature = inspect.signature(KINDS[kind])
    if "bounds" in signature.parameters:
        bounds = {key: test.pop(key) for key in Bounds._fields if key in test}
        if not bounds:
            raise UsageError(f"the claim {name} has no bound; valid: at_least, at_most or both")
        test["bounds"] = Bounds(**bounds)
    try:
        signature.bind(Evidence(), **test)
        return Claim(id=name, kind=kind, parameters=test, runs=runs, **rest)
    except TypeError as error:
        raise UsageError(f"the claim {name} cannot be read: {error}") from None


def _expand(home: str | None, name: str) -> list[Reference]:
    elsewhere, slash, pattern = name.rpartition("/")
    source = elsewhere if slash else str(home)
    return [Reference(source, condition.name) for condition in experiment(source).select([pattern])]


# -------------------------------------------------------------------------------------------------- judging


def read_all_results(root: Path) -> list[Results]:
    """Every sweep in a folder, at any depth; or the folder itself, if it is one. One that cannot be read is empty."""
    existing_folder(root, "next: repertory reproduce NAME --out {path}/NAME-PROFILE")
    if (root / FILE_NAME).exists():
        return [read_results(root)]
    return [_results_or_problem(file.parent) for file in sorted(root.rglob(FILE_NAME))]


def _results_or_problem(path: Path) -> Results:
    """One damaged sweep does not hide the others."""
    try:
        return read_results(path)
    except UsageError as problem:
        return Results(path, (), None, (str(problem),))


def judge(results: Sequence[Results]) -> list[Judgement]:
    """All claims on all profiles that have a sweep; on `text` if none has. Runs outside sweeps do not count."""
    gathered = gather(results) or {"text": [Evidence()]}
    judgements = [
        Judgement(claim, profile, judge_claim(claim, evidence))
        for profile, evidence in gathered.items()
        for claim in all_claims()
        if claim.runs > 0
    ]
    simulated = [claim for claim in all_claims() if claim.runs == 0]
    return judgements + [Judgement(claim, "", judge_claim(claim, [Evidence()])) for claim in simulated]


def gather(results: Sequence[Results]) -> dict[str, list[Evidence]]:
    """Sweeps that may be compared with each other, by profile: those of the paper's length, if any, then the longest.

    Of two sweeps that differ in their seed alone the one with more finished runs counts.
    """
    groups: dict[tuple[str, float, int | None], dict[str, Results]] = {}
    for found in sorted(results, key=lambda found: sum(run.is_done for run in found.runs)):
        if (sweep := found.sweep) is not None:
            blocks = None if sweep.n_blocks == sweep.data.blocks else sweep.blocks
            groups.setdefault((sweep.profile, sweep.scale, blocks), {})[sweep.experiment] = found
    taken = frozenset(found.path for found in results)
    evidence = [Evidence(*key, folders, taken) for key, folders in groups.items()]
    evidence.sort(key=lambda held: (held.is_full_length, held.scale, held.blocks or 0), reverse=True)
    by_profile = {profile: [held for held in evidence if held.profile == profile] for profile in PROFILES}
    for profile, found_of_profile in by_profile.items():
        if found_of_profile and not found_of_profile[0].is_full_length:
            found_of_profile.insert(0, Evidence(profile, taken=taken))
    return {profile: held for profile, held in by_profile.items() if held}


def judge_claim(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """By the runs of the paper's length; if there are too few, shorter ones may give an indication."""
    full, *shorter = evidence
    verdict = _judge_on(claim, full)
    if verdict.state != UNDECIDED:
        return verdict
    for held in shorter:
        found = _judge_on(claim, held)
        if found.state != UNDECIDED:
            figures = found.figures + _length(held)
            lean = found.lean or LEANS[found.state == REPRODUCED]
            return Verdict(INDICATION, figures, verdict.gaps, lean)
    return verdict


def _judge_on(claim: Claim, evidence: Evidence) -> Verdict:
    try:
        _check_runs(claim, evidence)
        outcome = KINDS[claim.kind](evidence, **claim.parameters)
    except NotYet as reason:
        return _asking(UNDECIDED, str(reason), evidence, reason.wanted)
    except UsageError as error:  # such as a checkpoint that is gone, or a score of 0 to measure by
        return Verdict(UNDECIDED, str(error))
    diverged = _divergence(claim, evidence)
    if outcome.holds is None:
        told = _how_many_more(outcome.runs) if evidence.is_full_length else ""
        figures = outcome.figures + told + diverged
        more = {r: range(count) for r, count in outcome.wanted.items() if count > len(evidence.runs(r))}
        verdict = _asking(INCONCLUSIVE, figures, evidence, more, LEANS[outcome.leans])
        return replace(verdict, is_out_of_reach=math.isinf(outcome.runs))
    figures = outcome.figures + diverged
    return Verdict(REPRODUCED if outcome.holds else NOT_REPRODUCED, figures)


def _how_many_more(runs: float) -> str:
    """Said where runs do not tell, if that is known."""
    if math.isnan(runs):
        return ""
    return f"; it would take {'more runs than that' if math.isinf(runs) else f'about {runs:g} runs'} to tell"


def _divergence(claim: Claim, evidence: Evidence) -> str:
    """Said where values of a learner passed what is possible: then a claim may be about that."""
    counts = {r.condition: sum(run.divergence is not None for run in evidence.runs(r)) for r in claim.references}
    told = [f"{condition} ({count})" for condition, count in counts.items() if count]
    return f"; runs whose values diverged: {', '.join(told)}" if told else ""


def _asking(
    state: str, figures: str, evidence: Evidence, wanted: Mapping[Reference, Iterable[int]], lean: str = ""
) -> Verdict:
    """A verdict with what it lacks."""
    gaps = tuple(
        Gap(sweep_of(evidence, reference.experiment), reference.condition, tuple(numbers))
        for reference, numbers in wanted.items()
    )
    return Verdict(state, figures, gaps, lean)


def _check_runs(claim: Claim, evidence: Evidence) -> None:
    """Whether the conditions have as many finished runs as the claim needs."""
    has = {reference: len(evidence.runs(reference)) for reference in claim.references}
    short = {reference: count for reference, count in has.items() if count < claim.runs}
    if short:
        listed = [
            f"{name} " + ", ".join(f"{r.condition}{f' (has {count})' if count else ''}" for r, count in group)
            for name, group in itertools.groupby(short.items(), key=lambda entry: entry[0].experiment)
        ]
        wanted = "a finished run" if claim.runs == 1 else f"{claim.runs} finished runs"
        certain = max(claim.runs, claim.parameters.get("enough", ENOUGH_RUNS))
        raise NotYet(f"needs {wanted} of {' and '.join(listed)}", dict.fromkeys(short, range(certain)))


def _length(evidence: Evidence) -> str:
    """Said only of sweeps that are not of the paper's length."""
    scale = "" if evidence.scale == 1 else f"; at scale {evidence.scale:g}"
    return scale + ("" if evidence.blocks is None else f"; {evidence.blocks} blocks")


def shorter(sweep: Sweep) -> list[str]:
    """In what a sweep is shorter than the paper's."""
    scale = [] if sweep.scale == 1 else [f"scale {sweep.scale:g}"]
    return scale + ([] if sweep.n_blocks == sweep.data.blocks else [f"{sweep.n_blocks} blocks"])


def sweep_of(evidence: Evidence, name: str) -> Results:
    """The sweep of an experiment, or an empty one for it beside the others."""
    if name in evidence.folders:
        return evidence.folders[name]
    path = default_folder(name, evidence.profile)
    if evidence.taken:
        path = min(evidence.taken).parent / path.name
    while path in evidence.taken:  # by shorter lifetimes
        path = path.with_name(f"{path.name}-full")
    return Results(path, (), Sweep(name, evidence.profile))


def commands(gaps: Iterable[Gap]) -> list[str]:
    """One for each folder and choice of runs, the fewest runs first."""
    folders: dict[Path, Results] = {}
    conditions: dict[tuple[Path, tuple[int, ...]], dict[str, None]] = {}
    for gap in gaps:
        folders[gap.folder.path] = gap.folder
        conditions.setdefault((gap.folder.path, gap.numbers), {})[gap.condition] = None
    in_order = sorted(conditions.items(), key=lambda entry: len(entry[0][1]))
    return [command(folders[path], ",".join(names), _runs_text(numbers)) for (path, numbers), names in in_order]


def _runs_text(numbers: Sequence[int]) -> str:
    """As `--runs` takes them."""
    if len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers))


# -------------------------------------------------------------------------------------------------- showing


def claim_rows(judgements: Sequence[Judgement]) -> list[dict[str, str]]:
    """A row per claim and profile."""
    return [
        {
            "id": claim.id,
            "profile": profile,
            "verdict": verdict.state,
            "lean": verdict.lean,
            "claim": claim.claim,
            "figures": verdict.figures,
            "command": verdict.command or "",
            "where": claim.where,
            "reason for the bounds": claim.reason,
        }
        for claim, profile, verdict in ((j.claim, j.profile, j.verdict) for j in judgements)
    ]


def claims_table(judgements: Sequence[Judgement]) -> Table:
    """A row per claim, without the profile."""
    columns = [
        Column("verdict", _verdict_text, TEXT, tone=lambda row: TONES[row["verdict"]]),
        name_column("claim", kind=PROSE),
        name_column("figures", kind=PROSE),
    ]
    return Table("claims", columns, claim_rows(judgements))


def _verdict_text(row: Row) -> Marked:
    lean = f", *{row['lean']}*" if row["lean"] else ""
    return Marked(f"{MARKS[row['verdict']]} {row['verdict']}{lean}")


def count_text(number: int, state: str) -> str:
    """So many claims in a state."""
    return f"{number} {'need runs' if state == UNDECIDED and number != 1 else state}"


def print_claims(console: Console, judgements: Sequence[Judgement]) -> None:
    """A table for each profile, a count, and the commands that would decide more."""
    for profile, group in itertools.groupby(judgements, key=lambda judgement: judgement.profile):
        console.print(f"Profile {profile}" if profile else "By computation, whatever the profile", style="bold")
        console.print(to_console(claims_table(list(group))))
    states = [judgement.verdict.state for judgement in judgements]
    console.print(", ".join(count_text(states.count(state), state) for state in MARKS), style="bold")
    missing = commands(gap for judgement in judgements for gap in judgement.verdict.gaps)
    if missing:
        console.print("\nWhat would decide more, the shortest first:")
    for line in missing:
        console.print(line, soft_wrap=True)
