"""How many policies: toy tasks whose answer is known, budgets, interruption, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import repertory
from repertory.analysis.advice import Advice
from repertory.analysis.ageing import ages_within
from repertory.analysis.partition import fewest_lost, grouped, losses, lost_with, most_opposed, task_tree
from repertory.analysis.probe import LOOKS_FILE, Budget, Spent
from repertory.analysis.search import Search
from repertory.cli.capacity import parse_seconds, recommend_in_console
from repertory.errors import UsageError
from repertory.report.advice_view import advice_chart, regrets_table, tried_table
from repertory.runs.folder import RunFolder
from repertory.runs.saver import PAUSE_VARIABLE
from repertory.runs.spec import run_spec
from repertory.testing import grouped_tasks
from tests.test_examples import load

TabularQ: Any = load("tabular_q.py").TabularQ
PLAN = {"blocks": 200, "block_steps": 1_000}


def advise(groups: int, tasks_per_group: int = 3, learner: Any = TabularQ, **options: Any) -> Advice:
    domain = grouped_tasks(groups, tasks_per_group)
    return repertory.recommend_policies(domain, learner, **{**PLAN, "tolerance": 0.1, **options})


# ------------------------------------------------------------------------------------------------ the answer


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_as_many_policies_as_there_are_groups(groups: int, seed: int) -> None:
    advice = advise(groups, seed=seed)
    assert advice.policies == groups
    assert advice.low <= groups <= advice.high
    tasks = [tuple(range(3 * group, 3 * group + 3)) for group in range(groups)]
    assert sorted(advice.groups) == tasks
    assert advice.learner_is_sound
    assert f"{groups} polic" in str(advice)


def test_two_tasks_of_different_groups_are_shown_to_conflict() -> None:
    conflict = advise(2).conflict
    assert conflict is not None
    assert conflict.tasks[0] // 3 != conflict.tasks[1] // 3
    assert conflict.loss > 0.5
    assert conflict.is_one


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2), (3, 5), (0, 3), (2, 4)])
def test_tasks_that_one_policy_can_learn_are_not_in_conflict(one: int, other: int, tmp_path: Path) -> None:
    """However little a policy that was trained on the one knows of the other."""
    search = begun_search(tmp_path)
    search._learn_one(one)
    search._learn_one(other)
    assert search._are_in_conflict([(one,), (other,)]) == (one // 3 != other // 3)
    assert search.conflict is not None
    assert search.conflict.is_one == (one // 3 != other // 3)


def test_a_pair_that_the_budget_cuts_short_shows_no_conflict(tmp_path: Path) -> None:
    search = begun_search(tmp_path)
    search._learn_one(0)
    search._learn_one(3)
    search.budget.steps = search.budget.spent.steps + search.single_steps // 2
    assert not search._are_in_conflict([(0, 1, 2), (3, 4, 5)])
    assert search.conflict is None


def begun_search(folder: Path) -> Search:
    """Of two groups of three tasks, with the first tasks learned alone."""
    planned = run_spec(grouped_tasks(2, 3), "q-table", 1, "fixed-partition", **PLAN)
    search = Search(planned, 0.1, Budget(200_000, None), folder, lambda doing, used: None)
    search._learn_alone()
    return search


class Ages(TabularQ):
    """Knows how old it is."""

    age = 0

    def observe(self, *step: Any) -> None:
        self.age += 1
        super().observe(*step)

    def state_dict(self) -> dict[str, np.ndarray]:
        return super().state_dict() | {"age": np.array(self.age)}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        super().load_state_dict(state)
        self.age = int(state["age"])


class Wears(Ages):
    """Forgets all for good after so many steps."""

    def observe(self, *step: Any) -> None:
        super().observe(*step)
        if self.age > 20_000:
            self.q[:] = 0.0


class Dips(Ages):
    """Forgets all for a while, once."""

    def observe(self, *step: Any) -> None:
        super().observe(*step)
        if 12_000 < self.age < 15_000:
            self.q[:] = 0.0


class Diverges(Ages):
    """Plays on as well as ever when its values have passed what is possible."""

    def health(self) -> dict[str, float]:
        return {"q_largest": 10.0 if self.age > 20_000 else 1.0, "q_bound": 1.0}


class BeginsLate(Ages):
    """Plays one and the same action until it has seen something of the world."""

    def act(self, state: int) -> int:
        return 0 if self.age < 5_000 else int(super().act(state))


def test_a_learner_that_has_hardly_begun_has_not_levelled_off() -> None:
    advice = advise(1, learner=BeginsLate, blocks=1_000)
    assert advice.single_steps >= 10_000
    assert advice.policies == 1


def test_a_learner_that_wears_out_is_said_to() -> None:
    advice = advise(1, learner=Wears)
    assert not advice.learner_is_sound
    assert "does not keep what it learns" in str(advice)


def test_a_dip_is_no_fall() -> None:
    advice = advise(1, learner=Dips)
    assert advice.policies == 1
    assert advice.learner_is_sound
    assert advice.health is not None
    assert advice.health.watched > 50_000


@pytest.mark.parametrize(("learner", "steps", "ages"), [(Dips, 15_000, False), (Wears, 30_000, True)])
def test_what_comes_back_is_no_age(learner: Any, steps: int, ages: bool, tmp_path: Path) -> None:
    planned = run_spec(grouped_tasks(1, 3), learner, 1, "fixed-partition", **PLAN)
    for budget in (200_000, steps + 5_000):
        search = Search(planned, 0.1, Budget(budget, None), tmp_path / str(budget), lambda doing, used: None)
        search._learn_alone()
        search.control.train(lambda probe: False, steps)
        assert search.control.fall(search.random) > 0.1  # it looks like one
        # With a small budget nobody sees whether it comes back.
        found = ages_within(search.control, steps, 3 * search.single_steps, search.random, 0.1)
        assert found == (ages and budget == 200_000)


def test_values_that_run_away_later_are_told_in_place_of_a_number() -> None:
    advice = advise(2, learner=Diverges)
    assert advice.policies is None
    assert advice.health is not None
    assert 20_000 < advice.health.diverged_after < 25_000
    said = str(advice)
    assert said.startswith("no number of policies can be recommended: the learner does not stay sound")
    assert f"after {advice.health.diverged_after:,} steps on one task" in said
    assert f"only with {-(-200_000 // advice.health.diverged_after)} policies or more" in said
    assert "while it lasts, 2 would be enough" in said
    assert "together: 0, 1, 2" in said


# ------------------------------------------------------------------------------------------------ budgets


@pytest.mark.parametrize(("text", "seconds"), [("10min", 600), ("5m", 300), ("1.5 h", 5400), ("1e2s", 100)])
def test_a_time_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


def test_a_budget_of_time_allows_as_many_steps_as_its_pace() -> None:
    budget = Budget(1_000, seconds=60)
    assert budget.affordable == 1_000
    budget.spent.add(Spent(steps=100, seconds=1.0))
    assert budget.affordable == pytest.approx(1_000)
    budget.spent.add(Spent(steps=0, seconds=29.0))
    assert budget.affordable == pytest.approx(200)


def test_a_budget_too_small_is_said_to_be() -> None:
    advice = advise(2, steps=400)
    assert advice.policies is None
    assert "no number of policies can be recommended" in str(advice)
    assert (advice.low, advice.high) == (1, 6)
    assert advice.spent.steps < 100 * 400  # it stopped: a block and a look are the least it can do


class LearnsForLong(Ages):
    """Explores less and less until it is 80,000 steps old, so it gets better and better."""

    def act(self, state: int) -> int:
        if self.rng.random() > (self.age / 80_000) ** 2:
            return int(self.rng.integers(self.q.shape[1]))
        return int(super().act(state))


def test_one_policy_for_all_that_comes_as_far_as_one_alone_is_an_answer_for_now() -> None:
    advice = advise(1, learner=LearnsForLong, blocks=20, block_steps=10_000)
    assert advice.policies == 1
    assert not advice.is_clear
    assert (advice.low, advice.high) == (1, 3)
    assert "1 policy, as far as the budget allows to say" in str(advice)
    assert f"one for all tasks came as far in {advice.tried[-1].steps:,} steps on task" in str(advice)
    assert "still getting better" in str(advice)


def test_one_that_does_not_come_as_far_is_none() -> None:
    advice = advise(2, learner=LearnsForLong, blocks=20, block_steps=10_000)
    assert advice.policies is None
    assert "had not levelled off" in str(advice)
    assert "one policy for all did not come as far" in str(advice)
    assert "next: a larger budget" in str(advice)


def test_a_task_that_was_begun_when_the_budget_ended_is_left_out(tmp_path: Path) -> None:
    search = begun_search(tmp_path)
    begun = next(place for place in range(6) if place not in search.alone)
    assert not search._probe((begun,)).looks
    search.groups = [(0, 1, 2), (3, 4, 5)]
    assert search._groups_worth_it(2) in (None, search.groups)
    search._are_in_conflict(search.groups)
    assert search.conflict is None or begun not in search.conflict.tasks


def test_it_never_uses_much_more_than_its_budget() -> None:
    advice = advise(3, steps=30_000)
    assert advice.spent.steps < 30_000 + 2 * 1_000 + 9 * 3 * 5  # at most a block, and a look at all tasks, too many


def test_own_variants_and_settings_on_the_command_line(tmp_path: Path) -> None:
    """Each set of them has files of its own, and is not taken for another that was made before."""
    for rate in ("0.1", "0.2"):
        recommend_in_console(
            Console(quiet=True),
            domain="FrozenLake-v1",
            learner="q-table",
            steps="2000",
            budget=None,
            set_=[f"learner.learning_rate={rate}"],
            vary=["is_slippery=false,true"],
            out=tmp_path,
            profile="text",
            blocks=5,
            block_steps=1000,
        )
    settings = [RunFolder(path).settings() for path in tmp_path.glob("*-probes/alone-*")]
    assert sorted(run["learner"]["learning_rate"] for run in settings) == [0.1, 0.2]
    assert {tuple(run["task_names"]) for run in settings} == {("is_slippery=False", "is_slippery=True")}


def test_what_was_trained_is_not_trained_again(tmp_path: Path) -> None:
    first = advise(2, out=tmp_path / "probes")
    stamps = {file: file.stat().st_mtime_ns for file in tmp_path.rglob(LOOKS_FILE)}
    again = advise(2, out=tmp_path / "probes")
    assert stamps == {file: file.stat().st_mtime_ns for file in tmp_path.rglob(LOOKS_FILE)}
    assert (again.policies, again.groups, again.spent) == (first.policies, first.groups, first.spent)
    assert again.regrets.equals(first.regrets)


def test_one_that_was_interrupted_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = advise(2, out=tmp_path / "whole")
    monkeypatch.setenv(PAUSE_VARIABLE, "0")  # a checkpoint after every block

    class Stop(Exception):
        pass

    heard = 0

    def stop(doing: str, used: float) -> None:
        nonlocal heard
        heard += 1
        if heard % 150 == 0:
            raise Stop

    for _ in range(100):
        try:
            pieces = advise(2, out=tmp_path / "pieces", progress=stop)
            break
        except Stop:
            continue
    assert heard > 450  # it was interrupted three times at least
    assert (pieces.policies, pieces.groups) == (whole.policies, whole.groups)


# ------------------------------------------------------------------------------------------- what is shown, refused


def test_it_is_shown_as_tables_and_a_picture() -> None:
    advice = advise(2)
    assert tried_table(advice)["policies"].tolist() == [1, 2]
    table = regrets_table(advice)
    assert set(table["task"]) == set(range(6))
    assert table["loss"].min() == 0.0  # the best policy of a task loses nothing there
    tree, heatmap = advice_chart("advice", advice).panels
    assert sorted(heatmap.x.labels or ()) == [str(task) for task in range(6)]
    assert tree.x.labels == heatmap.x.labels


REFUSED: dict[str, dict[str, Any]] = {
    "tolerance is 1.5; valid: from 0 to 1": {"tolerance": 1.5},
    "valid: above 0": {"steps": 0},
    "a single policy takes": {"memory": 1},
    "memory is 'lots'": {"memory": "lots"},
    "blocks is 0": {"blocks": 0},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_answered_is_refused_before_any_run(message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        advise(2, out=tmp_path / "out", **REFUSED[message])
    assert message in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_a_library_that_does_not_fit_into_memory_is_said_not_to() -> None:
    all_three = advise(3).memory
    assert all_three is not None
    advice = advise(3, memory=all_three - 1)
    assert advice.affordable == 2
    assert "only 2 fit into memory" in str(advice)


# ------------------------------------------------------------------------------------------------ partitions


def test_losses_are_shares_of_what_learning_gains() -> None:
    scores = np.array([[10.0, 5.0], [6.0, 5.0]])
    assert losses(scores, np.array([10.0, 5.0]), np.array([2.0, 5.0])).tolist() == [[0.0, 0.0], [0.5, 0.0]]


def test_the_fewest_are_the_best_of_all_sets() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((7, 12))
    for count in (1, 2, 3):
        chosen = fewest_lost(table, count)
        assert len(chosen) == count
        rivals = [rng.choice(7, count, replace=False).tolist() for _ in range(50)]
        assert lost_with(table, chosen) <= min(lost_with(table, rival) for rival in rivals)


def test_groups_hold_every_task_once() -> None:
    table = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert grouped(table, [0, 1]) == [(0, 1), (2,)]


def test_of_groups_most_alike_the_tasks_are_taken_that_are_most_unlike() -> None:
    homes = [0, 1, 2, 3]
    table = np.array([[0.0, 0.1, 0.2, 0.9], [0.1, 0.0, 0.3, 0.9], [0.2, 0.3, 0.0, 0.9], [0.9, 0.9, 0.9, 0.0]])
    assert most_opposed(table, homes, [(0, 1), (2,), (3,)]) == (1, 2)
    assert most_opposed(table, homes, [(0, 1, 2), (3,)])[1] == 3  # type: ignore[index]
    assert most_opposed(table, homes, [(0, 1, 2), (4,)]) is None  # nobody was trained on 4


def test_tasks_on_which_all_policies_lose_alike_are_joined_first() -> None:
    table = np.array([[0.0, 0.9, 0.0, 0.8], [0.9, 0.0, 0.8, 0.0]])
    first, second = task_tree(table)[:2, :2].astype(int).tolist()
    assert {tuple(sorted(first)), tuple(sorted(second))} == {(0, 2), (1, 3)}
