"""Every policy on every task: known scores are found, nothing is learned, and the smallest library follows."""

from __future__ import annotations

import copy
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import repertory
from repertory.cli.evaluate import evaluate_in_console
from repertory.domains.domain import Domain
from repertory.errors import EpisodeFault, UsageError
from repertory.paper.cover import minimum_cover
from repertory.report.capacity_view import print_frame
from repertory.report.evaluation_view import read_evaluation, regrets_of
from repertory.report.sections.scores import score_rows, score_table, section
from repertory.report.table import to_markdown
from repertory.report.theory_view import show_example
from repertory.report.watching import Performance
from repertory.runs.opened import open_run
from repertory.runs.saved_library import Policy
from repertory.runs.summary import read_summary
from repertory.sweeps.export import export
from repertory.sweeps.results import read_results
from tests.test_tasks import Fields

PAYS = np.array([[5.0, 1.0, 0.0], [4.0, 4.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 10.0]])
"""A row per task, a column per action: what a step brings. Episodes of task n have n + 1 steps."""


class Payer(gymnasium.Env):
    """Pays for each action what the task has for it."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, task: int) -> None:
        self.task = task

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = self.task + 1
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        return np.zeros(2, np.float32), PAYS[self.task, action], self.left == 0, False, {}


class Always:
    """A policy that always acts alike. To be asked to learn is a fault."""

    def __init__(self, action: int) -> None:
        self.action = action

    def action_probabilities(self, observations: np.ndarray) -> np.ndarray:
        return np.tile(np.where(np.arange(3) == self.action, 0.6, 0.2), (len(observations), 1))


def payers(score: str = "mean return") -> Domain:
    return Domain("payers", ("a", "b", "c", "d"), Payer, score=score)


def constant_library() -> repertory.Library:
    policies = [Policy(action, Always(action), Payer.observation_space) for action in range(3)]
    settings = {"domain": {"name": "payers"}, "learner": {"name": "always"}, "task_names": ["a", "b", "c", "d"]}
    return repertory.Library(policies, np.full((4, 3), np.nan), settings)


def console() -> Console:
    return Console(file=io.StringIO(), width=120)


@pytest.mark.parametrize(("score", "lengths"), [("mean return", [1, 2, 3, 4]), ("reward per step", [1, 1, 1, 1])])
def test_constant_policies_score_what_their_action_pays(score: str, lengths: list[int]) -> None:
    found = repertory.evaluate(constant_library(), episodes=3, domain=payers(score))
    assert np.array_equal(found.scores, PAYS.T * lengths)
    assert np.array_equal(found.errors, np.zeros((3, 4)))  # all episodes of a task are alike
    assert np.array_equal(found.best, [5 * lengths[0], 4 * lengths[1], 2 * lengths[2], 10 * lengths[3]])
    row = found.table().set_index(["policy", "task"]).loc[(1, 0)]
    assert (row["name"], row["score"], row["regret"]) == ("a", 1, 4)


def test_the_smallest_library_of_constant_policies(tmp_path: Path) -> None:
    found = repertory.evaluate(constant_library(), episodes=1, domain=payers())
    # Action 1 is best or equal on b and c only; a needs action 0 and d action 2.
    assert minimum_cover(regrets_of(found.scores), 0.0).chosen == (0, 1, 2)
    assert minimum_cover(regrets_of(found.scores), 0.8).chosen == (1, 2)  # action 1 brings a fifth of the best on a
    assert minimum_cover(regrets_of(found.scores), 0.9).chosen == (1,)
    found.table().to_csv(tmp_path / "payers.csv", index=False)
    again = read_evaluation(tmp_path / "payers.csv")
    assert np.array_equal(again.scores, found.scores)
    assert again.task_names == found.task_names
    screen = console()
    show_example(str(tmp_path / "payers.csv"), 0.8, tmp_path / "capacity", screen)
    assert "2 of 3 policies are enough for 4 tasks at a tolerance of 0.8: a capacity of 2." in screen.file.getvalue()
    assert {file.name for file in (tmp_path / "capacity").iterdir()} == {
        "theoretical-payers.csv",
        "theoretical-payers.png",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read"),
        ("a,b\n1,2\n", "no column 'policy'"),
        ("policy,task,name,score\n0,0,x,1\n0,0,x,1\n", "another form"),
        ("policy,task,name,score\n0,0,x,1\n1,1,y,1\n", "a score for every policy"),
        ("policy,task,name,score\n0,1,x,1\n", "a score for every policy"),
        ("policy,task,name,score\n0,0,x,-1\n", "scores -1 on task 0"),
    ],
)
def test_files_that_are_no_evaluation(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(UsageError, match=message):
        show_example(str(tmp_path / "x.csv"), 0.1, tmp_path / "out", console())
    assert not (tmp_path / "out").exists()


SMALL = {"learning_starts": 60, "buffer_size": 200, "target_update_interval": 100}
LEARNERS = {
    "dqn": ("cartpole27", repertory.DQN(**SMALL, memory="task-matching")),
    "ppo": ("cartpole27", repertory.PPO()),
    "drqn": ("pocman18", repertory.DRQN(**SMALL, window=6)),
    "prpo": ("pocman18", repertory.PRPO(window=6)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_folder_record_and_file_give_what_watching_shows_and_nothing_is_learned(name: str, tmp_path: Path) -> None:
    domain_name, learner = LEARNERS[name]
    domain = repertory.domain(domain_name, **({"max_steps": 24} if domain_name == "pocman18" else {}))
    record = repertory.live(domain, learner, 2, blocks=3, block_steps=300, out=tmp_path / "run")
    files = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    before = copy.deepcopy([policy.state_dict() for policy in record.policies])
    found = repertory.evaluate(record, episodes=2, seed=3)
    for state, policy in zip(before, record.policies, strict=True):
        after = policy.state_dict()
        assert state.keys() == after.keys()
        assert all(state[key].tobytes() == after[key].tobytes() for key in state)
    record.save(tmp_path / "library.npz")
    for saved in ("run", "library.npz"):
        assert np.array_equal(repertory.evaluate(tmp_path / saved, 2, seed=3).scores, found.scores)
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == files
    spec, lifetime = open_run(tmp_path / "run")
    for policy, task in ((0, 0), (1, domain.n_tasks - 1)):
        endings = Performance(spec, lifetime, task, policy, episodes=2, seed=3).endings
        unit = sum(ending.step for ending in endings) if domain.score == "reward per step" else len(endings)
        assert found.scores[policy, task] == pytest.approx(sum(ending.total_reward for ending in endings) / unit)


def test_observations_that_are_choices_are_encoded() -> None:
    domain = repertory.tasks([Fields], names=["row"], check=False)
    record = repertory.live(domain, repertory.DQN(**SMALL), 1, blocks=1, block_steps=50)
    for right in (True, False):
        record.policies[0].policy["weights"][...] = 0
        record.policies[0].policy["weights"][-1 if right else -2] = 1.0  # the last biases are the actions' own
        # Three steps to the right reach the goal, which pays 1; steps to the left never do.
        assert repertory.evaluate(record, 1, domain=domain).scores.tolist() == [[float(right)]]


def test_what_cannot_be_evaluated_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the domain 'payers' is not in the catalogue; .* must be given: domain="):
        repertory.evaluate(constant_library())
    with pytest.raises(UsageError, match="other tasks"):
        repertory.evaluate(constant_library(), domain=repertory.domain("cartpole27"))
    for episodes in (0, -1, 1.5, True, 10**9):
        with pytest.raises(UsageError, match="episodes is"):
            repertory.evaluate(constant_library(), episodes, domain=payers())
    with pytest.raises(UsageError, match="cannot be evaluated"):
        repertory.evaluate(3)
    unasked = constant_library()
    unasked.policies[1] = Policy(1, object(), Payer.observation_space)
    with pytest.raises(UsageError, match="policy 1 is a object, which has no action_probabilities"):
        repertory.evaluate(unasked, domain=payers())


def test_tasks_that_cannot_be_built_are_one_line(tmp_path: Path) -> None:
    domain = repertory.tasks(["CartPole-v1"])
    repertory.live(domain, repertory.DQN(**SMALL), 1, blocks=1, block_steps=100, out=tmp_path / "run")
    with pytest.raises(UsageError, match=r"'tasks'.* one of your own must be given: domain="):
        evaluate_in_console(tmp_path / "run", 1, 0, tmp_path / "out", console())
    assert not (tmp_path / "out").exists()

    def breaks(task: int) -> gymnasium.Env:
        if task == 2:
            raise RuntimeError("no licence\nfor this one")
        return Payer(task)

    broken = Domain("payers", ("a", "b", "c", "d"), breaks)
    with pytest.raises(EpisodeFault, match=r"^task 2: .*RuntimeError: no licence for this one$"):
        repertory.evaluate(constant_library(), 1, domain=broken)


def test_the_command_writes_a_matrix_and_a_picture(tmp_path: Path) -> None:
    repertory.live("cartpole27", "random", 2, blocks=1, block_steps=60, out=tmp_path / "runs" / "Two" / "run-00")
    screen = console()
    evaluate_in_console(tmp_path / "runs" / "Two" / "run-00", 2, 0, tmp_path / "out", screen)
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"Two-run-00.csv", "Two-run-00.png"}
    assert read_evaluation(tmp_path / "out" / "Two-run-00.csv").scores.shape == (2, 27)
    assert "Evaluation of 2 policies on 27 tasks, 2 episodes each (mean return)" in screen.file.getvalue()


def test_what_is_kept_goes_with_the_record_into_reports(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "Two" / "run-00"
    repertory.live("cartpole27", "random", 2, blocks=1, block_steps=60, out=run)
    before = read_summary(run)
    assert before is not None
    assert score_rows(read_results(tmp_path / "runs"))[0]["greedy"] is None
    evaluate_in_console(run, 2, 0, tmp_path / "out", console(), keep=True)
    best = read_evaluation(tmp_path / "out" / "Two-run-00.csv").scores.max(axis=0)
    assert read_summary(run) == replace(before, greedy_scores=best.tolist())
    export(tmp_path / "runs", tmp_path / "records")
    results = read_results(tmp_path / "records")
    (row,) = score_rows(results)
    assert row["greedy"] == pytest.approx(best.mean())
    printed = to_markdown(score_table(results, [row]))
    assert f"{best.mean():.2f}" in printed
    assert section(results).intro.count("*greedy*") == 1
    record = repertory.open(run)
    record.save(tmp_path / "library.npz")
    with pytest.raises(UsageError, match=r"--keep is for the folder of a run, and .*library\.npz is a file"):
        evaluate_in_console(tmp_path / "library.npz", 2, 0, tmp_path / "other", console(), keep=True)


@pytest.mark.parametrize("rows", [125, 126, 1000])
def test_of_a_very_long_table_the_console_has_the_beginning(rows: int) -> None:
    screen = console()
    print_frame(screen, pd.DataFrame({"task": range(rows)}))
    shown = screen.file.getvalue().split()
    assert [int(word) for word in shown[1:126]] == list(range(125))
    assert shown[126:] == ([] if rows == 125 else f"... and {rows - 125} more; all are in the CSV file".split())
