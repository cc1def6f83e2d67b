"""The paper's claims, and what the runs say of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from repertory.report.claim_certainty import CLEAR, WITHIN_SPREAD
from repertory.report.claims import MARKS, Judgement, all_claims, claims_table, gather, judge_claim
from repertory.report.escaping import Marked
from repertory.report.section import Section
from repertory.sweeps.results import Results

RULE_OF_CERTAINTY = Marked(
    "With fewer runs than the paper's, a verdict on mean scores is *clear* if they lie beyond the claim's bounds by "
    "more than two standard errors at the published standard deviation, else *within the published spread*: more runs "
    "may turn it. Where nothing is added, the paper prints no spread to judge by. Bounds and their reasons are in "
    "`repertory/paper/claims.toml`."
)


def section(results: Results) -> Section | None:
    """The claims that this experiment has a part in, judged by its runs alone."""
    if results.experiment is None:
        return None
    name = results.experiment.name
    claims = [claim for claim in all_claims() if any(reference.experiment == name for reference in claim.references)]
    own = [
        Judgement(claim, profile, judge_claim(claim, evidence))
        for profile, evidence in gather([results]).items()
        for claim in claims
    ]
    if not own:
        return None
    counted = ", ".join(counts(own)) + "."
    return Section("claims", "The paper's claims", RULE_OF_CERTAINTY, [counted], [claims_table(own)])


def counts(judgements: Sequence[Judgement]) -> Iterator[str]:
    """How many claims there are in each state, and how certain the verdicts are."""
    for state in MARKS:
        own = [judgement.verdict.certainty for judgement in judgements if judgement.verdict.state == state]
        told = [f"{own.count(kind)} {kind}" for kind in (CLEAR, WITHIN_SPREAD) if kind in own]
        if own:
            yield f"{len(own)} {state}" + (f" ({', '.join(told)})" if told else "")
