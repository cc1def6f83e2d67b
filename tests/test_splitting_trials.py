"""How a library that splits tries a copy, where what each policy earns is written in the test."""

from __future__ import annotations

import numpy as np
import pytest

from repertory.agents.protocol import Episode, Situation
from repertory.agents.splitting import SplittingLibrary
from repertory.agents.splitting_memory import Memory, Specialist
from tests import written_returns
from tests.written_returns import TASKS, Blank, kinds, library, rounds, told


def one_task_apart(place: int, task: int, visit: int) -> float:
    """Task 0 needs a policy of its own, and that policy can do nothing else."""
    return 10.0 if (task == 0) == (place > 0) else 1.0


def patient() -> SplittingLibrary:
    """A library in which no other copy is due for long after the first."""
    agent = library()
    agent._m.wait = 100
    return agent


def test_practice_that_a_visit_is_too_short_for_goes_on_in_the_next() -> None:
    agent = patient()
    events = told(agent, one_task_apart, rounds(2))
    copies = [visit for visit, event in events if event["event"] == "copy"]
    assert copies[0] == TASKS - 1  # the first visit of task 0, the only one that is played worse
    assert kinds(events) == ["copy"]  # undecided until task 0 has come again, and then not given up
    assert agent.alive == [0, 1]


def test_a_copy_that_is_no_better_in_the_end_is_given_up_on_its_own_task() -> None:
    def never_better(place: int, task: int, visit: int) -> float:
        return 1.0 if task == 0 else 10.0

    events = told(patient(), never_better, rounds(2))
    ends = [(visit, event) for visit, event in events if event["event"] == "ends"]
    assert ends[0][0] == 2 * TASKS - 1
    assert ends[0][1]["why"] == "it plays task 0 no better"


@pytest.mark.parametrize(("cost", "due"), [(1.0, False), (4.0, True)])
def test_no_copy_is_tried_where_even_the_best_would_be_given_up(cost: float, due: bool) -> None:
    """Who has learned nothing loses 5 there; who loses 1 keeps more than a quarter of all that can be kept."""

    def earns(place: int, task: int, visit: int) -> float:
        return 10.0 if task else -cost

    agent = library()
    agent._m.blank = dict.fromkeys(range(TASKS), 0.0) | {0: -5.0}
    assert ("copy" in kinds(told(agent, earns, rounds(2)))) == due


def test_what_is_left_to_gain_is_bounded_only_where_a_task_has_cost_and_never_brought_anything() -> None:
    m = Memory()
    assert m.left_to_gain(0, -3.0) == np.inf  # never seen
    m.note_return(0, 0.0)
    assert m.left_to_gain(0, 0.0) == np.inf  # nothing has happened yet, which bounds nothing
    m.note_return(0, -3.0)
    assert m.left_to_gain(0, -2.0) == 2.0
    m.note_return(0, 0.5)
    assert m.left_to_gain(0, -2.0) == np.inf


def test_one_task_in_conflict_is_enough_if_it_is_again_when_it_comes_again() -> None:
    agent = patient()
    events = told(agent, one_task_apart, rounds(5))
    assert kinds(events) == ["copy", "stays"]
    (stays,) = (event for _visit, event in events if event["event"] == "stays")
    assert stays["needed"] == 1
    assert stays["other_needed"] >= 11
    assert agent.alive == [0, 1]
    assert agent.policies[0].forgot == 0  # thirteen of fourteen tasks are still its own


def test_one_task_in_conflict_is_not_enough_if_that_was_chance() -> None:
    def chance(place: int, task: int, visit: int) -> float:
        return one_task_apart(place, task, visit) if visit < 3 or task else 1.0

    agent = patient()
    events = told(agent, chance, rounds(4))
    assert kinds(events)[:2] == ["copy", "ends"]
    (ends, *_rest) = (event for _visit, event in events if event["event"] == "ends")
    assert ends["why"] == "it plays task 0 no better"


def test_who_has_failed_on_a_task_is_tried_there_for_one_episode_when_they_meet_again() -> None:
    plays: dict[tuple[int, int], list[int]] = {}

    def two_groups(place: int, task: int, visit: int) -> float:
        plays.setdefault((task, visit), []).append(place)
        return 10.0 if (task % 2 == 0) == (place > 0) else 1.0

    agent = library()
    told(agent, two_groups, rounds(12))
    assert agent.alive == [0, 1]
    tried = [who.count(1 - agent._m.home[task]) for (task, visit), who in plays.items() if visit > 3]
    assert set(tried) == {0, 1}


@pytest.mark.parametrize(
    ("worth", "learning_starts", "made"), [(3.0, 0, "copy"), (-3.0, 0, "new"), (-3.0, 899, "new"), (-3.0, 900, "copy")]
)
def test_who_is_worse_than_ignorance_is_not_copied_if_a_new_policy_learns_within_its_practice(
    worth: float, learning_starts: int, made: str
) -> None:
    """It may avoid what there is to be learned, and so would its copies. Half a visit has 900 steps here."""

    def one_task_is_hopeless(place: int, task: int, visit: int) -> float:
        return 10.0 if task else worth

    agent = library()
    type(agent.policies[0]).learning_starts = learning_starts
    agent._m.blank = dict.fromkeys(range(TASKS), 0.0)
    try:
        events = told(agent, one_task_is_hopeless, rounds(12))
    finally:
        type(agent.policies[0]).learning_starts = 0
    assert {kind for kind in kinds(events) if kind in ("copy", "new")} == {made}


def test_patience_is_for_policies_that_play_any_task() -> None:
    """A specialist takes one task of many from them, and no time."""
    agent = library(policies=6)
    agent._m.alive = [0, 1, 2, 3, 4, 5]
    before = agent._patience()
    agent._m.specialists = {place: Specialist(place, master=0) for place in (3, 4, 5)}
    assert agent._patience() == before / 2


@pytest.mark.parametrize("never", [False, True])
def test_a_task_that_does_not_come_again_is_not_waited_for_forever(never: bool) -> None:
    """For 36 visits, where there are no more than three policies."""
    others = [task for _ in range(8) for task in range(1, TASKS)]
    events = told(patient(), one_task_apart, rounds(1) + (others if never else rounds(8)))
    gone = [(visit, event["why"]) for visit, event in events if event["event"] == "ends"]
    assert bool(gone) == never
    if never:
        assert gone[0] == (TASKS - 1 + 36 + 1, "too few tasks came to judge it by")


def test_a_copy_that_five_others_do_not_need_is_left_alone_until_its_own_task_comes_again() -> None:
    agent = patient()
    tried: set[int] = set()

    def noting(place: int, task: int, visit: int) -> float:
        if task and place == 1:
            tried.add(task)
        return one_task_apart(place, task, visit)

    told(agent, noting, rounds(2))
    assert len(tried) == 5


def test_a_task_is_waited_for_only_until_the_next_copy_is_due() -> None:
    events = told(library(), one_task_apart, rounds(2))
    ends = [(visit, event) for visit, event in events if event["event"] == "ends"]
    assert ends[0][0] == TASKS - 1 + 5 + 1  # four visits are over by then, but five tasks have to show first
    assert ends[0][1]["why"] == "no other task needs it, and the next copy is due"


def test_a_copy_that_others_need_as_well_stays_before_its_own_task_has_come_again() -> None:
    def two_groups(place: int, task: int, visit: int) -> float:
        return 10.0 if (task % 2 == 0) == (place > 0) else 1.0

    agent = library()
    events = told(agent, two_groups, rounds(2))
    copy, stays = (next(visit for visit, event in events if event["event"] == kind) for kind in ("copy", "stays"))
    assert copy < stays < copy + TASKS
    assert agent.policies[0].forgot == 1
    assert agent._m.practised is None


@pytest.mark.parametrize("fails", [False, True])
def test_a_task_leaves_a_home_that_begins_to_fail_there(fails: bool) -> None:
    """By a disaster in every second episode, which no rank of four shows; the other policy has always been good."""
    episodes, failing_from = iter(range(10**6)), 5

    def either_is_good_on_task_1(place: int, task: int, visit: int) -> float:
        if task == 1:
            return -200.0 if fails and place == 0 and visit >= failing_from and next(episodes) % 2 == 0 else 10.0
        return 10.0 if (task % 2 == 0) == (place > 0) else 1.0

    agent = library()
    events = told(agent, either_is_good_on_task_1, rounds(failing_from + 1))
    assert agent.alive == [0, 1]
    moves = [visit // TASKS + 1 for visit, event in events if event["event"] == "moves" and event["task"] == 1]
    assert [visit for visit in moves if visit > 2] == ([failing_from + 1] if fails else [])


@pytest.mark.parametrize("episodes", [7, 20, 60])
@pytest.mark.parametrize("seed", range(4))
def test_whoever_earns_what_a_trial_ends_and_nobody_meets_itself(episodes: int, seed: int) -> None:
    """Random tables of who earns what where, up to six policies, tasks in random order."""
    rng = np.random.default_rng(seed)
    earned = rng.choice([0.0, 1.0, 5.0, 10.0], size=(6, TASKS))
    agent, since = library(policies=int(rng.integers(3, 7))), 0

    for visit, task in enumerate(rng.integers(TASKS, size=300)):
        for _ in range(episodes):
            place = agent.choose(Situation(int(task)), rng)
            now = agent._m.visit
            assert now is not None
            assert now.champion not in now.rivals
            assert agent._m.on_trial is not None or agent._m.practised is None
            agent.ended(Situation(int(task)), Episode(place, earned[place, task] + rng.random(), 100))
        since = since if agent._m.on_trial is not None else visit
        assert visit - since <= 4 * 12 * 6
        assert set(agent._m.home.values()) <= set(agent.alive)


def test_a_state_of_before_practice_could_go_on_is_read() -> None:
    agent = library()
    told(agent, one_task_apart, rounds(1))
    now = agent._m.as_array()
    assert Memory.from_array(now).practised == 0
    before = now.tobytes().decode()
    for name in ("practised", "practice", "shown", "waits", "waiting_since"):
        start = before.index(f', "{name}"')
        before = before[:start] + before[before.index(",", start + 1) :]
    before = before.replace('"blank": null', '"practice": 700, "practising": 0, "blank": null')
    read = Memory.from_array(np.frombuffer(before.encode(), np.uint8))
    assert (read.practised, read.practice, read.waiting_since) == (0, 700, TASKS - 1)


@pytest.mark.parametrize("needed", [1, 2])
def test_a_copy_that_two_tasks_need_is_tried_on_more_than_five_though_none_needs_the_original(needed: int) -> None:
    """The original may be good at nothing yet: where it has tasks of its own shows later."""
    good = {0, 1} if needed == 1 else {0, 1, 2}  # the copy practises task 0, and meets the original on the others

    def one_way(place: int, task: int, visit: int) -> float:
        return 10.0 if place > 0 and task in good else 2.0 if task in good else 5.0

    agent, tasks = library(), [5, 6, 7, 8, 0, 1, 2, 9, 10, 11, 12]
    events = told(agent, one_way, tasks)
    assert [event["task"] for _visit, event in events if event["event"] == "copy"] == [0]
    assert kinds(events) == (["copy", "ends"] if needed == 1 else ["copy"])


@pytest.mark.parametrize("harmed", [False, True])
def test_a_copy_is_tried_longer_if_the_original_harms_the_task_that_needs_it(harmed: bool) -> None:
    def one_way(place: int, task: int, visit: int) -> float:
        return 5.0 if task > 0 else 10.0 if place > 0 else -2.0 if harmed else 2.0

    agent, tasks = library(), [5, 6, 7, 8, 0, 1, 2, 9, 10, 11, 12]
    agent._m.blank = dict.fromkeys(range(TASKS), 0.0)
    ends = [event["why"] for _visit, event in told(agent, one_way, tasks) if event["event"] == "ends"]
    assert ends == ([] if harmed else ["1 of 5 tasks need it"])


@pytest.mark.parametrize(("worth", "in_vain"), [(1.0, True), (4.0, False)])
def test_a_copy_that_has_learned_nothing_either_does_not_make_the_next_one_wait(worth: float, in_vain: bool) -> None:
    """Who knows nothing earns nothing, and the other tasks bring 10."""

    def no_better(place: int, task: int, visit: int) -> float:
        return 10.0 if task else worth

    copies = kinds(told(library(), no_better, rounds(24))).count("copy")
    assert (copies >= 20) == in_vain


@pytest.mark.parametrize("needed", [False, True])
def test_the_next_copy_comes_soon_if_the_last_was_needed_though_not_enough(needed: bool) -> None:
    """Where none is ever needed, they become rare."""

    def one_way(place: int, task: int, visit: int) -> float:
        return (10.0 if needed and place > 0 else 2.0) if task == 0 else 5.0

    cycle = [0, 1, 9, 10, 11, 12, 5, 6, 7, 8]
    events = told(library(), one_way, cycle * 30)
    late = [visit for visit, event in events if event["event"] == "copy" and visit >= 20 * len(cycle)]
    assert (len(late) >= 9) == needed


@pytest.mark.parametrize("needed", [1, 2])
def test_where_two_policies_stay_one_task_that_needed_a_copy_does_not_bring_the_next_one_soon(needed: int) -> None:
    """Even tasks need the first policy, odd ones the second, and one or two of them a third."""

    def earns(place: int, task: int, visit: int) -> float:
        if task in (0, 2)[:needed]:
            return 10.0 if place >= 2 else 1.0 * (place == 0)
        return 5.0 if place >= 2 or place == task % 2 else 0.0

    events = told(library(policies=4, special=0), earns, rounds(60))
    assert kinds(events).count("stays") == 1
    late = [visit for visit, event in events if event["event"] == "copy" and visit >= 30 * TASKS]
    assert (len(late) >= 9) == (needed == 2)


def test_a_task_that_needs_the_copy_is_met_once_more_though_it_has_come_for_the_first_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five tasks: the copy practises the first, and later is no better there; the last needs it, and comes last."""
    monkeypatch.setattr(written_returns, "TASKS", 5)
    monkeypatch.setattr(written_returns, "VISIT", 40)

    def earns(place: int, task: int, visit: int) -> float:
        needs_original, needs_copy = task in (1, 2), task == 4 or (task == 0 and visit < 4)
        return 1.0 if (needs_original and place) or (needs_copy and not place) else 10.0

    agent = library(policies=3)
    events = told(agent, earns, [3, 1, 2, 3, 0, 3, 0, 3, 0, 1, 0, 2, 0, 3, 0, 1, 2, 3])
    assert kinds(events) == ["copy"]
    events = told(agent, earns, [4])
    assert kinds(events) == ["stays"]
    assert agent._m.home[4] == 1


def test_a_copy_on_trial_meets_no_third_policy_though_it_wins_where_its_parent_was_to_meet_one() -> None:
    agent, rng = library(policies=4), np.random.default_rng(0)
    agent.policies = [Blank() for _ in range(3)]
    agent._m = Memory(
        alive=[0, 1, 2], visits=20, steps=20 * 1800, episodes=20 * 40, visits_of=[8, 8, 1], born=[0, 4, 19],
        blank=dict.fromkeys(range(TASKS), 0.0), home={task: task % 2 for task in range(TASKS)},
        on_trial=(1, 2), shown=1, waiting_since=20, next_copy=99, wait=64,
    )  # fmt: skip
    for _ in range(24):
        place = agent.choose(Situation(3), rng)
        agent.ended(Situation(3), Episode(place, {0: 10.0, 1: 1.0, 2: 5.0}[place], 100))
    assert set(agent._m.meetings) == {(1, 2, 3)}
    assert agent._m.home[3] == 2
