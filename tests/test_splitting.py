"""The library that shares until it hurts: contests, known groups, bounds, and what it tells of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import adjusted_rand_score
from test_examples import load

import repertory
from repertory.agents.contest import CLEAR, is_our_turn, least_episodes, rank_lead, verdict
from repertory.core.tally import events_of, plays_by_task
from repertory.learners.protocol import steps_before_learning
from repertory.report.sections import family
from repertory.sweeps.results import read_results
from repertory.testing import check_agent, grouped_tasks
from tests.records import write_run

TabularQ: Any = load("tabular_q.py").TabularQ


# ------------------------------------------------------------------------------------------------- contests


def test_a_contest_says_the_opposite_to_the_other_side() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        ours, theirs = rng.integers(0, 5, 8).tolist(), rng.integers(1, 6, 8).tolist()
        assert verdict(ours, theirs) == -verdict(theirs, ours)


def test_a_contest_ends_early_where_all_is_clear_and_waits_where_it_is_not() -> None:
    assert verdict([9, 9, 9], [1, 1, 1]) is None
    assert verdict([9, 8, 9, 8], [1, 2, 1, 7]) == 1
    assert verdict([200] * 4, [200] * 4) == 0
    assert verdict([9, 8, 9, 1], [1, 2, 1, 7]) is None


def test_a_contest_takes_no_more_than_a_tenth_of_a_short_visit_for_each() -> None:
    assert [least_episodes(visit) for visit in (0, 20, 30, 40, 3000)] == [2, 2, 3, 4, 4]
    assert verdict([9], [1], least=2) is None
    assert verdict([9, 8], [7, 1], least=2) == 1
    assert verdict([9, 8, 8, 9], [1, 9, 8, 9], least=2) == 0
    assert verdict([9, 8, 8], [1, 9, 8], least=2) is None
    assert verdict([9, 8], [1], failed=True, least=2) == 1


@pytest.mark.parametrize(("failed", "theirs_now", "episodes"), [(True, 1, 1), (True, 9, 4), (False, 1, 4)])
def test_who_failed_before_is_asked_for_one_episode_and_for_more_if_that_is_good(
    failed: bool, theirs_now: int, episodes: int
) -> None:
    ours: list[float] = []
    theirs: list[float] = []
    while (outcome := verdict(ours, theirs, failed)) is None:
        if is_our_turn(ours, theirs, failed):
            ours.append(8)
        else:
            theirs.append(theirs_now)
    assert (outcome, len(theirs)) == (1 if theirs_now < 8 else -1, episodes)
    assert len(ours) == 4


def test_the_lead_is_that_of_mann_and_whitney() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        ours, theirs = rng.normal(size=8), rng.normal(0.5, 2, size=8)
        lead = rank_lead(ours, theirs)
        p_value = mannwhitneyu(ours, theirs, method="asymptotic", use_continuity=False).pvalue
        assert (abs(lead) > CLEAR) == (p_value < 2 * 0.00990)


def test_equals_are_seldom_told_apart() -> None:
    """At most one contest in ten, as episodes are added until it ends."""
    rng = np.random.default_rng(2)
    told_apart = 0
    for _ in range(1000):
        ours, theirs = rng.exponential(size=8), rng.exponential(size=8)
        outcomes = (verdict(ours[:n].tolist(), theirs[:n].tolist()) for n in range(4, 9))
        told_apart += next(outcome for outcome in outcomes if outcome is not None) != 0
    assert told_apart < 100


# ---------------------------------------------------------------------------------------------- known groups


def live(groups: int, policies: int, seed: int, tasks_per_group: int = 5) -> tuple[repertory.Record, list[int]]:
    """A life on tasks in known groups, and the policy that played each task most towards its end."""
    domain = grouped_tasks(groups, tasks_per_group)
    record = repertory.live(
        domain, TabularQ, policies, agent=repertory.Splitting(), blocks=150, block_steps=200, seed=seed
    )
    plays = plays_by_task(record.blocks.tail(60), domain.n_tasks)
    return record, plays.argmax(axis=1).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_tasks_that_agree_stay_with_one_policy(seed: int) -> None:
    _record, policy_of = live(groups=1, policies=4, seed=seed)
    assert len(set(policy_of)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_tasks_in_conflict_end_in_their_true_groups(seed: int) -> None:
    record, policy_of = live(groups=2, policies=4, seed=seed)
    assert adjusted_rand_score([task // 5 for task in range(10)], policy_of) == 1.0
    alone, _ = live(groups=2, policies=1, seed=seed)
    assert record.lifetime_score > 1.2 * alone.lifetime_score


@pytest.mark.parametrize(
    ("groups", "tasks_per_group", "policies"), [(1, 5, 2), (2, 2, 4), (2, 4, 3), (3, 3, 4), (3, 5, 3)]
)
def test_no_trial_goes_on_for_ever(groups: int, tasks_per_group: int, policies: int) -> None:
    """At most as long as twelve tasks of each policy take to come, and one visit more."""
    for seed in range(2):
        record, _ = live(groups, policies, seed, tasks_per_group)
        begun: dict[int, int] = {}
        visits = (record.blocks["task"].diff() != 0).cumsum()
        for block, event in events_of(record.blocks):
            if event["event"] in ("copy", "new"):
                begun[int(event["policy"])] = visits[block]
            elif event["event"] in ("stays", "ends"):
                begun.pop(int(event["policy"]), None)
                begun.pop(int(event.get("heir", -1)), None)
        assert all(visits.iloc[-1] - first <= 12 * policies + 1 for first in begun.values())


def test_some_tasks_of_a_domain_are_split_as_well() -> None:
    record = repertory.live(
        grouped_tasks(2, 5), TabularQ, 4, agent="splitting", blocks=150, block_steps=200, task=(0, 1, 2, 5, 6, 7)
    )
    assert len(record.agent.alive) >= 2
    assert record.final_score > 3.5


@pytest.mark.parametrize("has_memory", [True, False])
def test_policies_with_a_memory_are_copied_and_others_every_other_time(has_memory: bool) -> None:
    class Remembering(TabularQ):
        learning_starts = 10**9  # else one that knows nothing may be tried where the home earns less than that

        def forget_experiences(self) -> None: ...

    learner = Remembering if has_memory else TabularQ
    record = repertory.live(grouped_tasks(1, 5), learner, 4, agent="splitting", blocks=150, block_steps=200)
    kinds = [event["event"] for _block, event in events_of(record.blocks) if event["event"] in ("copy", "new")]
    assert len(kinds) >= 4
    assert kinds == ["copy", "copy" if has_memory else "new"] * (len(kinds) // 2) + ["copy"] * (len(kinds) % 2)


def test_visits_too_short_to_tell_anything_bring_no_copies() -> None:
    record = repertory.live(grouped_tasks(1, 5), TabularQ, 4, agent="splitting", blocks=300, block_steps=20)
    assert not [event for _block, event in events_of(record.blocks) if event["event"] != "moves"]


def test_there_are_never_more_policies_than_allowed() -> None:
    record, policy_of = live(groups=4, policies=2, seed=0, tasks_per_group=3)
    assert len(record.policies) == 2
    assert set(policy_of) <= {0, 1}


def test_the_record_tells_what_became_of_the_policies() -> None:
    record, _ = live(groups=2, policies=4, seed=0)
    told = [event["event"] for _block, event in events_of(record.blocks)]
    assert {"copy", "stays", "moves"} <= set(told)
    library = repertory.live(grouped_tasks(2), TabularQ, 2, blocks=3, block_steps=20)
    assert "events" not in library.blocks


def test_the_page_shows_the_family(tmp_path: Path) -> None:
    record, _ = live(groups=2, policies=4, seed=0)
    write_run(tmp_path / "Splitting" / "run-00", record.settings, record.blocks)
    results = read_results(tmp_path)
    found = family.section(results)
    assert found is not None
    told = [row["text"] for row in found.tables[0].rows]
    assert any(text.startswith("policy 1, a copy of 0, practises task") for text in told)
    assert any("stays beside" in text for text in told)
    (run,) = results.runs
    last = len(record.blocks) - 1
    alive_at_end = {policy for policy, _first, end in family.lives(run) if end == last}
    assert alive_at_end >= set(record.agent.alive) >= {0, 1}
    assert len(found.charts) == 1


# ---------------------------------------------------------------------------------------------------- the rest


def test_it_follows_the_protocol_and_resumes_to_the_bit() -> None:
    check_agent(repertory.Splitting(first_copy=1), learner="dqn", blocks=12, block_steps=800)
    check_agent(repertory.Splitting(first_copy=1), grouped_tasks(2), TabularQ, policies=3, blocks=60, block_steps=200)


def test_hidden_tasks_are_refused() -> None:
    with pytest.raises(repertory.UsageError, match="must know which task it is; valid: without hidden tasks"):
        repertory.live("cartpole27", "random", 2, agent="splitting", hidden_tasks=True, blocks=1, block_steps=10)


def test_a_learner_that_cannot_be_copied_is_refused() -> None:
    class Uncopied:
        def __init__(self, *_: Any) -> None: ...

        def begin_episode(self) -> None: ...

        def act(self, observation: Any) -> int:
            return 0

        def observe(self, *_: Any) -> None: ...

    with pytest.raises(repertory.UsageError, match="Uncopied cannot be copied; valid: learners with state_dict"):
        repertory.live("cartpole27", Uncopied, 2, agent="splitting", blocks=1, block_steps=10)


def test_a_policy_that_forgets_keeps_its_weights_and_loses_its_memory() -> None:
    settings, domain = repertory.DQN(learning_starts=50), repertory.domain("cartpole27")
    (policy,) = repertory.live(domain, settings, 1, blocks=2, block_steps=300).policies
    assert steps_before_learning(policy) == 50
    before = policy.state_dict()
    policy.forget_experiences()
    after, blank = policy.state_dict(), settings(domain.observation_space, domain.action_space, 0).state_dict()
    assert (after["weights"] == before["weights"]).all()
    assert after["updates"] == before["updates"] > 0
    assert all((after[name] == blank[name]).all() for name in after if name.startswith("task "))
