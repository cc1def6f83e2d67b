"""The paper's claims, and what the runs say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from repertory.report.claim_quantities import ENOUGH_RUNS
from repertory.report.claims import LEANS, MARKS, Judgement, all_claims, claims_table, count_text, gather, judge_claim
from repertory.report.escaping import Marked
from repertory.report.section import Section
from repertory.sweeps.results import Results

RULE_OF_VERDICTS = Marked(
    "A claim is *reproduced* or *not reproduced* only if its bounds lie outside the 95% interval of what the runs come "
    "to, which stands in brackets with the number of runs that entered; else it is *inconclusive*, and more runs may "
    "tell: about how many, if they are like those at hand, is said last. Intervals are by bootstrap over runs, paired "
    "where runs met the same tasks; those of mean scores of fewer "
    f"than {ENOUGH_RUNS} runs of the profile `released` are by the standard deviation that the paper prints. Lifetimes "
    "shorter than the paper's give an *indication*, never a verdict. Bounds and their reasons are in "
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
    return Section("claims", "The paper's claims", RULE_OF_VERDICTS, [counted], [claims_table(own)])


def counts(judgements: Sequence[Judgement]) -> Iterator[str]:
    """How many claims there are in each state, and what indications point to."""
    for state in MARKS:
        own = [judgement.verdict for judgement in judgements if judgement.verdict.state == state]
        leans = Counter(verdict.lean for verdict in own)
        told = [f"{leans[lean]} {lean}" for lean in LEANS.values() if lean in leans]
        beyond = sum(verdict.is_out_of_reach for verdict in own)
        if own:
            out_of_reach = f"; {beyond} of them would take more runs than the paper has" if beyond else ""
            yield count_text(len(own), state) + (f" ({', '.join(told)}{out_of_reach})" if told else "")
