"""How many runs would decide a claim: foretold from an estimate, and said where runs do not tell."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

from repertory.analysis.resampling import Estimate, combined, estimate, from_spread
from repertory.report.claims import INCONCLUSIVE, INDICATION, Judgement, gather, judge_claim, read_claim
from repertory.report.sections.claims import counts
from tests.fake_results import WITHIN, fake_results, flat, verdict_on


@pytest.mark.parametrize(("low", "high"), [(6.5, math.inf), (-math.inf, 7.6), (6.5, 7.6), (7.5, 9.0), (5.0, 6.4)])
def test_as_many_runs_as_are_foretold_tell(low: float, high: float) -> None:
    """Of equally good and bad runs: one pair fewer, and a bound lies inside the interval still."""

    def of(pairs: int) -> Estimate:
        deviation = math.sqrt((2 * pairs - 1) / (2 * pairs))  # so that the unbiased one is 1
        return estimate([7 - deviation, 7 + deviation] * pairs, range(2 * pairs))

    def tell(pairs: int) -> bool:
        return of(pairs).interval.lies_within(low, high) is not None

    pairs = next(pairs for pairs in range(3, 50) if tell(pairs))
    assert not tell(3)
    assert of(3).runs_to_tell(low, high) == pytest.approx(2 * pairs, rel=0.2)  # the draws' quantiles are noisy


def test_the_side_on_which_a_bound_lies_counts() -> None:
    """Of cubes, the interval reaches far to one side and hardly to the other."""
    cubes = combined(lambda x: x**3, estimate([0.0, 2.0, 0.0, 2.0], range(4)))
    least, most = cubes.interval
    assert 1 - least < most - 1
    assert cubes.runs_to_tell(-math.inf, 4.0) > cubes.runs_to_tell(-2.0, math.inf)
    assert cubes.runs_to_tell(4.0, math.inf) > cubes.runs_to_tell(-math.inf, -0.05)


def test_it_takes_more_runs_of_the_condition_that_has_a_wide_interval_not_of_the_one_that_has_few() -> None:
    wide, narrow = estimate([140.0, 180, 140, 180, 160], range(5)), estimate([100.0, 100.2], "ab")
    both = combined(operator.sub, wide, narrow)
    assert both.runs_to_tell(50.0, math.inf) == pytest.approx(wide.runs_to_tell(149.9, math.inf), abs=1)
    assert both.runs_to_tell(50.0, math.inf) > 12


def test_where_no_number_of_runs_is_foretold() -> None:
    known = estimate([6.0, 8.0, 6.0, 8.0], range(4))
    assert known.runs_to_tell(0, 20) <= 4  # enough as it is
    assert known.runs_to_tell(7, 20) == math.inf  # the bound is the mean
    assert math.isnan(estimate([6.0], "a").runs_to_tell(0, 20))
    one = from_spread(6.0, 1.0, 1, "key")
    assert one.runs_to_tell(5, 20) == 7  # 2.45 / sqrt(7) is the first below 1: from then on their own spread tells


@pytest.mark.parametrize(
    ("bound", "others", "runs"),
    [
        (153.7, flat(150, 170, 155, 165, 152, 168), "about 10 runs"),
        (153.7, flat(150, 170, 155, 165, 153, 169), "about 10 runs"),  # until all hold
        (159.9, flat(150, 170, 155, 165, 152, 168), "more runs than that"),
        (153.7, flat(160), ""),  # nobody knows
        (165, flat(130, 172, 135, 165, 152, 168), "about 10 runs"),  # until one fails, and 156 would soon
        (160.1, flat(160), ""),
        (160.1, flat(150, 170, 155, 165, 152, 168), "more runs than that"),
    ],
)
def test_how_many_runs_tell_of_two_conditions(bound: float, others: Any, runs: str) -> None:
    both = {"AdaptiveDQN9P": flat(150, 170, 155, 165, 152, 168), "UnadaptiveDQN9P": others}
    test = WITHIN | {"conditions": list(both), "at_least": bound}
    found = verdict_on(test, fake_results("cartpole27", both, "text"))
    assert found.state == INCONCLUSIVE
    assert ("it would take" in found.figures) == bool(runs)
    assert runs in found.figures
    (evidence,) = gather([fake_results("cartpole27", both, "text")])["text"]
    claim = read_claim("x", {"claim": "", "where": "", "reason": "", "test": test})
    (counted,) = counts([Judgement(claim, "text", judge_claim(claim, [evidence]))])
    assert ("1 of them would take more runs than the paper has" in counted) == (runs == "more runs than that")


def test_short_lives_never_tell_however_many() -> None:
    short = fake_results("cartpole27", {"AdaptiveDQN9P": flat(150, 170, 155, 165, 152, 168)}, scale=0.1)
    found = verdict_on(WITHIN | {"at_least": 155}, short)
    assert found.state == INDICATION
    assert "it would take" not in found.figures
