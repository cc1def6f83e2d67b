"""Tasks of a library that splits that get a policy of their own; what each policy earns is written in the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from repertory.agents.specialists import APPRENTICESHIP, is_due, is_needed, note_shortfall, shortfall
from repertory.agents.splitting import SplittingLibrary
from repertory.agents.splitting_memory import Meeting, Memory, Specialist, Visit
from repertory.report.sections import family
from tests.written_returns import TASKS, Earns, kinds, library, rounds, told

SHORT = 4
"""The task that brings the policies of both groups 4 of 10: too much for a conflict, which begins at a quarter."""


def earning(learned_after: int = 10**9) -> Earns:
    """Even tasks need the first policy, odd ones the second; a third learns the short one in so many visits of it."""
    begun: dict[int, int] = {}

    def earns(place: int, task: int, visit: int) -> float:
        if task == SHORT:
            if place < 2:
                return 4.0 if place == 0 else 0.0
            return 10.0 if visit - begun.setdefault(place, visit) >= learned_after else 4.0
        return 10.0 if place >= 2 or place == task % 2 else 0.0

    return earns


def specials(events: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, int]]:
    """The round and the task of each."""
    return [(visit // TASKS, event["task"]) for visit, event in events if event["event"] == "special"]


def homes(agent: SplittingLibrary, task: int) -> int:
    return agent._m.home[task]


@pytest.mark.parametrize("learned_after", [1, 4])
def test_a_task_that_brings_too_little_gets_a_policy_of_its_own_and_keeps_it(learned_after: int) -> None:
    agent = library(policies=6)
    events = told(agent, earning(learned_after), rounds(20))
    assert [task for _round, task in specials(events)] == [SHORT]
    own = homes(agent, SHORT)
    assert agent._m.specialists == {own: Specialist(SHORT, master=0)}
    assert [task for task in range(TASKS) if homes(agent, task) == own] == [SHORT]
    assert {homes(agent, task) for task in range(TASKS)} == {0, 1, own}


def test_a_policy_for_one_task_knows_nothing_at_first() -> None:
    agent = library(policies=6)
    (own,) = (event["policy"] for _visit, event in told(agent, earning(1), rounds(20)) if event["event"] == "special")
    assert agent.policies[own].loaded == 0


def test_a_task_is_short_in_a_row_wherever_it_is_at_home() -> None:
    m = Memory(alive=[0, 1], blank=dict.fromkeys(range(3), 0.0), home={0: 0, 1: 0, 2: 0})
    m.levels = {(0, 0): 10.0, (0, 1): 10.0, (0, 2): 1.0, (1, 2): 1.0}
    for policy, level, row in ((0, 1.0, 1), (1, 1.0, 2), (0, 9.0, 0), (1, 1.0, 1)):
        m.home[2], m.levels[policy, 2] = policy, level
        note_shortfall(m, Visit(2, policy, []), 0.75)
        assert m.short[2] == row


def test_a_task_goes_back_if_a_policy_of_its_own_is_no_better_and_waits_twice_as_long() -> None:
    agent = library(policies=6)
    events = told(agent, earning(), rounds(80))
    own, lives = None, []
    for visit, event in events:
        if event["event"] == "special":
            own = event["policy"]
            lives.append([visit])
        elif event["event"] == "ends" and event["policy"] == own:
            own = None
            lives[-1].append(visit)
    assert lives[0][1] - lives[0][0] == APPRENTICESHIP * TASKS
    assert lives[1][0] >= 2 * lives[0][1]


@pytest.mark.parametrize(("cost", "expected"), [(1.0, []), (4.0, [SHORT])])
def test_there_is_none_for_a_task_that_only_ever_costs_little(cost: float, expected: list[int]) -> None:
    """Other tasks bring 10, so a quarter of that can be missing only where more than 2.5 is lost."""

    def earns(place: int, task: int, visit: int) -> float:
        return earning()(place, task, visit) if task != SHORT else -cost

    assert sorted({task for _round, task in specials(told(library(policies=6), earns, rounds(9)))}) == expected


def test_there_is_none_where_tasks_agree_otherwise() -> None:
    def agreeing(place: int, task: int, visit: int) -> float:
        return 4.0 if task == SHORT else 10.0

    assert specials(told(library(policies=6), agreeing, rounds(20))) == []


@pytest.mark.parametrize(("policies", "special"), [(2, 0.75), (3, 0.75), (6, 0.0), (6, 0.3)])
def test_there_is_none_without_room_nor_where_what_is_missing_is_too_little(policies: int, special: float) -> None:
    """One place is kept for copies on trial."""
    events = told(library(policies, special=special), earning(1), rounds(20))
    assert "stays" in kinds(events)
    assert specials(events) == []


def test_those_at_which_most_is_missing_come_first() -> None:
    gained = {0: 10.0, 1: 10.0, 2: 1.0, 3: 3.0, 4: 2.0}
    m = Memory(
        alive=[0, 1],
        home=dict.fromkeys(gained, 0),
        blank=dict.fromkeys(gained, 0.0),
        levels={(0, task): level for task, level in gained.items()},
        meetings={(0, 1, task): Meeting(1, (level, 0.0), (1, 1)) for task, level in gained.items()},
        short=dict.fromkeys(gained, 2),
    )

    def due(places: int) -> list[int]:
        return [task for task in gained if is_due(m, 0, task, places, share=0.75)]

    assert [due(places) for places in (1, 2, 3, 9)] == [[], [2], [2, 4], [2, 3, 4]]
    m.short[2] = 1  # in one visit only, so far
    assert due(2) == [4]
    del m.meetings[0, 1, 4]  # the other policy has not tried
    assert due(2) == [3]


def test_a_life_with_specialists_is_saved_and_goes_on() -> None:
    halves, whole = [library(policies=6) for _ in range(2)], library(policies=6)
    events = told(halves[0], earning(1), rounds(9))
    assert halves[0]._m.specialists
    halves[1].load_state_dict(halves[0].state_dict())
    assert halves[1]._m == halves[0]._m
    assert events == told(whole, earning(1), rounds(9))


def test_the_heir_of_a_master_is_the_next_master() -> None:
    agent = library(policies=6)
    told(agent, earning(1), rounds(9))
    agent._give_up(0, 1, "for the test")
    assert [its.master for its in agent._m.specialists.values()] == [1]


def test_a_shortfall_is_measured_from_what_ignorance_earns() -> None:
    m = Memory(home={0: 0, 1: 0, 2: 0}, blank={0: 0.0, 1: 2.0, 2: 4.0})
    assert shortfall(m, 0, 0, 0.5) == 0.0  # nothing is known yet
    m.levels = {(0, 0): 3.0, (0, 1): 12.0, (0, 2): 14.0}
    assert shortfall(m, 0, 0, 0.5) == 7.0  # gains 3, where the others gain 10
    assert shortfall(m, 0, 0, 0.3) == 0.0
    m.levels[0, 2] = 5.0  # gains 1 by its own two episodes, but 3 by what ignorance earns on average
    assert shortfall(m, 0, 2, 0.5) == pytest.approx(np.mean([3.0, 10.0]) - 3.0)
    assert shortfall(m, 0, 2, 0.4) == 0.0


def test_what_ignorance_costs_elsewhere_does_not_hide_that_a_task_brings_nothing() -> None:
    m = Memory(home=dict.fromkeys(range(4), 0), blank={0: 0.0, 1: 2.0, 2: -500.0, 3: -700.0})
    m.levels = {(0, 0): 0.0, (0, 1): 102.0, (0, 2): -500.0, (0, 3): -600.0}
    m.note_return(2, -500.0)
    m.note_return(3, -700.0)
    assert shortfall(m, 0, 0, 0.75) == 100.0
    m.blank[3] = 0.0  # a lucky episode; the other task that can only cost says so
    assert shortfall(m, 0, 3, 0.75) == np.mean([0.0, 100.0]) - (-600.0 - -250.0)


def test_what_tasks_bring_is_measured_wherever_they_are_at_home_but_not_on_those_that_can_only_cost() -> None:
    m = Memory(home={0: 0, 1: 1, 2: 1, 3: 0}, blank=dict.fromkeys(range(4), 0.0))
    m.levels = {(0, 0): 3.0, (1, 1): 8.0, (1, 2): 12.0, (0, 3): -1.0}
    assert shortfall(m, 0, 0, 0.5) == np.mean([8.0, 12.0, -1.0]) - 3.0
    m.note_return(3, -4.0)
    assert shortfall(m, 0, 0, 0.5) == 10.0 - 3.0
    assert shortfall(m, 0, 3, 0.5) == 0.0  # only 1 is left to gain there
    m.levels[0, 3] = -6.0
    assert shortfall(m, 0, 3, 0.5) == 6.0


@pytest.mark.parametrize(
    ("visits", "outcome", "master", "goes_on"),
    [
        (20, 1, 6.0, True),
        (20, 1, 8.0, False),  # the master keeps more than three quarters
        (20, 0, 6.0, False),
        (3, 0, 6.0, True),  # an apprentice
        (3, 1, 10.0, True),
        (3, 0, 10.0, False),  # nothing is missing at home any more, and it is no better
        (3, -1, 6.0, True),  # clearly worse, but the master is no good either
        (3, -1, 10.0, False),
    ],
)
def test_who_goes_on_when_specialist_and_master_have_met(
    visits: int, outcome: int, master: float, goes_on: bool
) -> None:
    m = Memory(alive=[0, 1], home={0: 1, 1: 0, 2: 0}, blank=dict.fromkeys(range(3), 0.0), visits_of=[9, visits])
    m.levels = {(1, 0): 10.0, (0, 0): master, (0, 1): 10.0, (0, 2): 10.0}
    m.specialists = {1: Specialist(0, master=0)}
    assert is_needed(m, 1, outcome, share=0.75) == goes_on


def test_the_family_tells_of_them() -> None:
    events = told(library(policies=6), earning(1), rounds(9))
    (special,) = [event for _visit, event in events if event["event"] == "special"]
    assert family.told(special) == f"policy {special['policy']}, a new one, plays task {SHORT} of policy 0 and no other"
    assert special["event"] in family.BIRTHS
