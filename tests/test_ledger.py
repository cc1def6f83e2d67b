"""All claims of the paper together: what they ask for, and what the paper's own numbers say of them."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console

from repertory.cli import app
from repertory.cli.claims import claims_in_console
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.report import claim_quantities
from repertory.report.claim_quantities import SCORES, Evidence, Measured, Reference
from repertory.report.claims import (
    INCONCLUSIVE,
    INDICATION,
    LEANS,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Verdict,
    all_claims,
    claim_rows,
    gather,
    judge,
    judge_claim,
    read_all_results,
    read_claim,
)
from repertory.sweeps.results import Results
from repertory.sweeps.sweep import Sweep, claim, parse_runs
from tests.fake_results import WITHIN, fake_results, flat, sure, verdict_on

pytestmark = pytest.mark.usefixtures("short_simulation")


REFUTED = {"lemma-1", "corollary-1", "corollary-2", "task-clusters"}
"""By counterexample, and by other seeds: test_transfer.py and test_capacity.py have what that rests on."""


def test_without_results_every_claim_on_runs_names_a_command_that_parses() -> None:
    judgements = judge([])
    assert len(judgements) == len(all_claims())
    reproduce = typer.main.get_command(app).commands["reproduce"]  # type: ignore[attr-defined]
    for judgement in judgements:
        verdict = judgement.verdict
        if judgement.claim.runs == 0:
            assert (judgement.profile, verdict.command) == ("", None)
            assert verdict.state == (NOT_REPRODUCED if judgement.claim.id in REFUTED else REPRODUCED)
            continue
        assert (judgement.profile, verdict.state) == ("text", UNDECIDED)
        assert verdict.command is not None
        wanted = set()
        for line in verdict.command.split(" && "):
            program, name, *arguments = shlex.split(line)
            assert (program, name) == ("repertory", "reproduce")
            given = reproduce.make_context("reproduce", arguments).params
            found = experiment(given["name"])
            chosen = found.select(given["conditions"].split(","))
            assert len(parse_runs(given["runs"])) >= judgement.claim.runs
            assert given["profile"] == "text"
            wanted |= {Reference(found.name, condition.name) for condition in chosen}
        assert wanted == set(judgement.claim.references)


def life(lifetime: float, final: float, start: float) -> list[float]:
    """A hundred blocks with these scores: a rise over a fifth of the life, then a way to the final level."""
    top = (lifetime - 0.1 * start - 0.45 * final) / 0.45
    blocks = np.interp((np.arange(100) + 0.5) / 100, [0, 0.2, 0.9, 1], [start, top, final, final])
    return (blocks + np.where(np.arange(100) < 90, (lifetime - blocks.mean()) / 0.9, 0)).tolist()


def published_results(name: str) -> Results:
    """As many runs as the paper's, with its means and deviations."""
    found = experiment(name)
    z = np.linspace(-1, 1, found.runs)
    z /= z.std()
    lives: dict[str, list[list[float]]] = {}
    for condition in found.conditions.values():
        lifetime, final = condition.lifetime or condition.final, condition.final or condition.lifetime
        if lifetime is None or final is None:
            continue
        start = 20.0 if lifetime.mean > 5 else 0.0
        lives[condition.name] = [
            life(
                lifetime.mean + (lifetime.deviation or 0) * deviate,
                final.mean + (final.deviation or 0) * deviate,
                start,
            )
            for deviate in z
        ]
    return fake_results(name, lives)


def is_in_a_table(found: Claim) -> bool:
    """Whether the paper prints all that the claim's test is on."""
    quantity = found.parameters.get("quantity", "lifetime score")
    if quantity not in SCORES or not found.references or found.kind == "falling":
        return False
    conditions = [experiment(reference.experiment).conditions[reference.condition] for reference in found.references]
    return all(getattr(condition, SCORES[quantity]) is not None for condition in conditions)


def no_ratio(evidence: Evidence, reference: Reference, *_: Any) -> Measured:
    runs = evidence.runs(reference)
    return Measured(runs, [0.0] * len(runs))


@pytest.fixture(scope="module")
def published() -> dict[str, dict[str, Verdict]]:
    """What becomes of the claims if the runs are the paper's, by profile and claim."""
    names = ("cartpole27", "cartpole125", "pocman18", "learning-rate-cartpole", "learning-rate-pocman", "ppo-unbounded")
    released = [published_results(name) for name in names]
    text = [Results(results.path, results.runs, Sweep(name)) for name, results in zip(names, released, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_quantities, "run_spread", lambda path: 0.42)
        # The paper prints no block that it could be measured on.
        patch.setattr(claim_quantities, "_ratio", no_ratio)
        judgements = judge(released + text)
    by_profile: dict[str, dict[str, Verdict]] = {}
    for judgement in judgements:
        by_profile.setdefault(judgement.profile, {})[judgement.claim.id] = judgement.verdict
    return by_profile


TOO_CLOSE = {
    "dqn-many-final",
    "ppo-four-end",
    "unbounded-one-policy",
    "policies-needed-on-125-dqn",
    "policies-needed-on-125-ppo",
    "capacity-drqn",
    "drqn-final-factors",
    "prpo-single-stays",
}
"""Claims that the paper's own means bear out, and its own spread leaves open."""


def test_the_papers_own_table_reproduces_its_claims(published: dict[str, dict[str, Verdict]]) -> None:
    in_tables = [found.id for found in all_claims() if is_in_a_table(found)]
    assert len(in_tables) > 30
    for profile, exceptions in (("released", set()), ("text", {"ppo-adaptive-no-difference"})):
        # By the standard F-test, which decides in `text`, the table has differences that the paper calls insignificant.
        verdicts = {name: published[profile][name] for name in in_tables}
        assert {name for name, verdict in verdicts.items() if verdict.state == NOT_REPRODUCED} == exceptions
        opened = {name for name, verdict in verdicts.items() if verdict.state == INCONCLUSIVE}
        assert opened == TOO_CLOSE
        assert {verdicts[name].lean for name in opened} == {LEANS[True]}
        assert {verdict.state for verdict in verdicts.values()} <= {REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE}


def test_curves_through_the_papers_scores_reproduce_what_it_says_of_them(
    published: dict[str, dict[str, Verdict]],
) -> None:
    for name in (
        "dqn-nine-near-optimal",
        "dqn-nine-stays-up",
        "dqn-four-degrades",
        "ppo-four-end",
        "ppo-two-degrades",
        "ppo-27-slow",
        "dqn-learns-faster",
        "ppo-more-stable",
        "unbounded-one-policy",
        "unbounded-27-policies",
        "drqn-single-degrades",
        "prpo-improves",
    ):
        found = published["released"][name]
        assert found.state == REPRODUCED or (found.state, found.lean) == (INCONCLUSIVE, LEANS[True]), (name, found)


def test_profiles_and_lengths_are_never_mixed() -> None:
    test = WITHIN | {"kind": "compare", "against": ["UnadaptiveDQN27P"], "at_least": 1}
    made = read_claim("made-up", {"claim": "", "where": "", "reason": "", "test": test})
    own, other = {"AdaptiveDQN9P": sure(2)}, {"UnadaptiveDQN27P": sure(1)}
    both = own | other
    text, released = fake_results("cartpole27", own, "text"), fake_results("cartpole27", other, "released")
    gathered = gather([text, released])
    assert set(gathered) == {"text", "released"}
    assert {judgement.profile for judgement in judge([text, released])} == {"text", "released", ""}
    for profile, evidence in gathered.items():
        verdict = judge_claim(made, evidence)
        assert verdict.state == UNDECIDED
        assert verdict.command is not None
        assert ("--profile released" in verdict.command) == (profile == "released")

    small = fake_results("cartpole27", both, "text", scale=0.1)
    scaled = judge_claim(made, gather([text, small])["text"])
    assert scaled.state == INDICATION  # by the small sweep, since the large one cannot tell
    assert scaled.lean == LEANS[True]
    assert scaled.figures.endswith("; at scale 0.1")
    assert scaled.command is not None
    assert "--scale" not in scaled.command
    full = judge_claim(made, gather([small, fake_results("cartpole27", both, "text")])["text"])
    assert full.state == REPRODUCED
    assert "scale" not in full.figures


def test_what_is_asked_for_is_of_full_length_and_beside_the_others() -> None:
    text = fake_results("cartpole27", {"AdaptiveDQN9P": sure(2)}, "text")
    ucb = WITHIN | {"kind": "compare", "against": ["ucb/UCB1TunedDQN9P"], "at_least": 1}
    across = read_claim("made-up", {"claim": "", "where": "", "reason": "", "test": ucb})
    short_ucb = fake_results("ucb", {"UCB1TunedDQN9P": sure(1)}, "text", blocks=20)
    verdict = judge_claim(across, gather([text, short_ucb])["text"])
    assert verdict.state == UNDECIDED
    # The folder that the sweep would go into by default holds the short one.
    assert verdict.command == (
        "repertory reproduce ucb --conditions UCB1TunedDQN9P --runs 0-5 --out results/ucb-text-full"
    )
    small = fake_results("cartpole27", {"AdaptiveDQN9P": flat(1)}, scale=0.1, blocks=50)
    assert verdict_on(ucb, small).command == (
        "repertory reproduce cartpole27 --conditions AdaptiveDQN9P --runs 0-5 --profile released "
        "--out results/cartpole27-released-full && "
        "repertory reproduce ucb --conditions UCB1TunedDQN9P --runs 0-5 --profile released --out results/ucb-released"
    )


def test_of_two_like_sweeps_the_one_with_more_runs_counts() -> None:
    one = fake_results("cartpole27", {"AdaptiveDQN9P": flat(1)}, seed=1)
    two = fake_results("cartpole27", {"AdaptiveDQN9P": flat(2, 2)})
    for order in ([one, two], [two, one]):
        (evidence,) = gather(order)["released"]
        assert evidence.folders["cartpole27"] is two


def test_sweeps_are_found_at_any_depth_and_shown(tmp_path: Path) -> None:
    for name, profile in (("cartpole27", "text"), ("ucb", "released")):
        claim(tmp_path / "deep" / f"{name}-{profile}", Sweep(name, profile))
    found = read_all_results(tmp_path)
    assert [results.path.name for results in found] == ["cartpole27-text", "ucb-released"]
    assert [r.path for r in read_all_results(found[0].path)] == [found[0].path]
    with pytest.raises(UsageError, match="is not a folder"):
        read_all_results(tmp_path / "nothing")

    screen = io.StringIO()
    claims_in_console(tmp_path, Console(file=screen, width=160, markup=False, highlight=False))
    shown = screen.getvalue()
    assert "? needs runs" in shown
    assert "✓ reproduced" in shown
    assert "Profile text" in shown
    assert "Profile released" in shown
    assert f"--out {tmp_path / 'deep' / 'replay-released'}" in shown


def test_there_is_a_row_for_each_claim_and_profile() -> None:
    results = fake_results("cartpole27", {"UnadaptiveDQN27P": flat(150), "AdaptiveDQN14P": flat(1)})
    frame = pd.DataFrame(claim_rows(judge([results])))
    assert len(frame) == len(all_claims())
    assert frame["verdict"].isin([REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, UNDECIDED]).all()
    assert frame.set_index("id").loc["memory-growth", "profile"] == ""
    assert (frame["command"] != "").sum() > 60
