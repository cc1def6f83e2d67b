"""A user's own files on the command line, algorithms by name, Gymnasium ids: run, reopened, reported, swept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import repertory
from repertory import own_code
from repertory.cli import main
from repertory.errors import UsageError
from repertory.runs.folder import RunFolder
from repertory.runs.formats import completed
from repertory.sweeps.job import Job, run_job
from repertory.sweeps.results import read_results

TASKS = """
import repertory

domain = repertory.vary("CartPole-v1", gravity=[1.6, 9.8])

def carts(strong=20.0):
    return repertory.contexts("CartPole-v1", {"weak": {"force_mag": 5.0}, "strong": {"force_mag": strong}})

nothing = 3
"""
LEARNER = '''
from dataclasses import dataclass
import numpy as np
import repertory
from repertory.settings import Settings, setting

class Same:
    def __init__(self, action): self.action = action
    def begin_episode(self): ...
    def act(self, observation): return self.action
    def observe(self, *step): ...
    def action_probabilities(self, observations): return np.eye(2)[[self.action] * len(observations)]
    def state_dict(self): return {"action": np.array(self.action)}
    def load_state_dict(self, state): self.action = int(state["action"])

def make(observation_space, action_space, seed, action=0):
    return Same(action)

@dataclass(frozen=True, kw_only=True)
class Stubborn(Settings):
    """Always the same action."""
    action: int = setting(0, "Which.", at_least=0, at_most=1)
    def __call__(self, observation_space, action_space, seed): return Same(self.action)

small = repertory.PPO(net_arch=(6, 6))
'''
SHORT = ["--policies", "2", "--blocks", "3", "--block-steps", "40"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with two files, and a state of the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(own_code, "_allowed", set())
    own_code._from_file.cache_clear()
    (tmp_path / "my_tasks.py").write_text(TASKS)
    (tmp_path / "my_learner.py").write_text(LEARNER)
    return tmp_path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command; what it printed, and its exit status."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["repertory", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), " ".join((printed.out + printed.err).split())

    return run


@pytest.mark.parametrize(
    ("options", "action"),
    [
        (["--domain", "my_tasks.py:domain", "--learner", "my_learner.py:make", "--set", "learner.action=1"], 1),
        (["--domain", "./my_tasks.py:carts", "--set", "domain.strong=15", "--learner", "my_learner.py:Stubborn"], 0),
        (["--domain", "CartPole-v1", "--vary", "gravity=1.6,9.8", "--learner", "my_learner.py:make"], 0),
    ],
)
def test_a_run_of_ones_own_files_is_resumed_opened_watched_and_reported(here, command, options, action) -> None:
    run = ["run", *options, *SHORT, "--out", "run"]
    assert command(*run)[0] == 0
    assert "nothing to do" in command(*run)[1]
    record = repertory.open("run")
    assert [policy.action for policy in record.policies] == [action] * 2
    record.save("library.npz")
    assert repertory.load("library.npz").policy_for(0).predict([0, 0, 0, 0]) == action
    assert command("evaluate", "run", "--episodes", "1")[0] == 0
    assert command("watch", "run", "--out", "run.gif")[0] in (0, 2)  # 2: without pygame there is no picture
    assert command("report", "run", "--out", "page")[0] == 0
    assert (here / "page" / "index.html").exists()


def test_a_variant_more_is_added_to_a_run(here, command) -> None:
    run = ["run", "--domain", "CartPole-v1", "--vary", "gravity=1.6,9.8", "--learner", "my_learner.py:make", *SHORT]
    assert command(*run, "--out", "run")[0] == 0
    more = ["run", "--domain", "CartPole-v1", "--blocks", "12", "--out", "run"]
    status, said = command(*more, "--vary", "gravity=9.8,1.6,20")
    assert (status, "does not begin with the 2 tasks of the run" in said) == (2, True), said
    assert "--vary is given without --domain" in command("run", "--vary", "gravity=1", "--out", "run")[1]
    assert command(*more, "--vary", "gravity=1.6,9.8,20")[0] == 0
    record = repertory.open("run")
    assert record.settings["task_names"] == ["gravity=1.6", "gravity=9.8", "gravity=20"]
    assert len(record.blocks) == 12
    assert record.blocks["task"][:3].max() < 2


def test_settings_of_known_kind_need_no_file_to_be_reopened(here, command) -> None:
    run = ["run", "--domain", "CartPole-v1", "--vary", "gravity=1.6,9.8", "--learner", "my_learner.py:small", *SHORT]
    assert command(*run, "--set", "learner.gamma=0.5", "--out", "run")[0] == 0
    (here / "my_learner.py").unlink()
    learner = repertory.open("run").settings["learner"]
    assert (learner["name"], learner["net_arch"], learner["gamma"]) == ("ppo", [6, 6], 0.5)


def test_a_record_does_not_run_code_that_its_reader_never_named(here, command, monkeypatch) -> None:
    run = ["run", "--domain", "my_tasks.py:domain", "--learner", "my_learner.py:make", *SHORT, "--out", "run"]
    assert command(*run)[0] == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "another user"))
    monkeypatch.setattr(own_code, "_allowed", set())
    own_code._from_file.cache_clear()
    (here / "my_tasks.py").write_text("raise SystemExit('run by its reader')")
    status, said = command("evaluate", "run", "--episodes", "1")
    assert status == 2
    assert "code is not run because a record names it; next: if it is yours, repertory list domains my_tasks" in said
    assert command("report", "run", "--out", "page")[0] == 0
    (here / "my_tasks.py").write_text(TASKS)
    assert "gravity=9.8" in command("list", "domains", "my_tasks.py:domain")[1]
    command("list", "learners", "my_learner.py:make")
    assert command("evaluate", "run", "--episodes", "1")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--domain", "none.py:domain"], "is not a file; next: give the path of your own code as FILE.py:NAME"),
        (["--domain", "my_tasks.py:domian"], "unknown name in my_tasks.py 'domian'"),
        (["--domain", "my_tasks.py:nothing"], "my_tasks.py:nothing is 3; valid: a repertory.Domain"),
        (["--domain", "my_tasks.py:domain", "--set", "domain.x=1"], "has no settings, but 'x' is given"),
        (["--domain", "my_tasks.py:carts", "--set", "domain.x=1"], "unknown argument of my_tasks.py:carts 'x'"),
        (["--domain", "my_tasks.py:domain", "--learner", "my_learner.py:make", "--set", "learner.x=1"], "'x'"),
        (["--domain", "broken.py:domain"], "broken.py cannot be run: ZeroDivisionError in line 2: division by zero"),
        (["--domain", "no.such.module:domain"], "the module no.such.module cannot be imported"),
        (["--domain", "CartPol-v1"], "unknown domain 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        (["--domain", "CartPole-v1", "--vary", "masscart=1,2"], "masscart has no effect"),
        (["--domain", "CartPole-v1", "--vary", "gravity"], "is not of the form NAME=VALUE,VALUE"),
        (["--domain", "CartPole-v1", "--set", "domain.gravity=1"], "unknown setting of CartPole-v1 as a domain"),
        (["--domain", "cartpole27", "--vary", "gravity=1,2"], "cartpole27 cannot be varied, only a Gymnasium"),
    ],
)
def test_refused_in_one_line_and_nothing_is_written(here, command, options, message) -> None:
    (here / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    learner = [] if "--learner" in options else ["--learner", "random"]
    status, said = command("run", *options, *learner, *SHORT, "--out", "run")
    assert (status, message in said) == (2, True), said
    assert not (here / "run").exists()


def test_anybodys_sweep(here, command, monkeypatch) -> None:
    """Own code beside the file, variants for all conditions, from another folder; the record needs no file."""
    toml = """
        domain = "CartPole-v1"
        blocks = 2
        block_steps = 40
        settings.domain.vary = { gravity = [1.6, 9.8] }
        [conditions]
        Left = { learner = "my_learner.py:make", policies = 1 }
        Right = { learner = "my_learner.py:make", policies = 1, settings.learner.action = 1 }
        """
    (here / "mine.toml").write_text(toml)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    jobs: list[Job] = []

    class InTurn:
        workers = 1

        def outcomes(self, waiting):
            for job in waiting:
                jobs.append(job)
                yield job, run_job(job)

    results = repertory.sweep("../mine.toml", out="out", engine=InTurn())
    assert list(results.by_condition) == ["Left", "Right"]
    assert results.runs[0].settings["task_names"] == ["gravity=1.6", "gravity=9.8"]
    assert jobs[0].learner.endswith("my_learner.py:make")
    assert [repertory.open(run.path).policies[0].action for run in results.runs] == [0, 1]
    assert len(read_results(Path("out")).runs) == 2


def test_algorithms_of_stable_baselines3_by_name(here, command) -> None:
    pytest.importorskip("stable_baselines3")
    run = ["run", "--domain", "CartPole-v1", "--vary", "gravity=1.6,9.8", "--learner", "sb3:DQN", *SHORT]
    run += ["--set", "learner.learning_rate=0.01", "--set", 'learner.policy_kwargs={"net_arch": [8]}', "--out", "run"]
    assert command(*run)[0] == 0
    record = repertory.open("run")
    assert record.settings["learner"]["name"] == "sb3:DQN"
    assert record.settings["learner"]["arguments"]["learning_rate"] == 0.01
    assert record.policies[0].model.learning_rate == 0.01
    assert "learning_rate" in command("list", "learners", "sb3:SAC")[1]
    for learner, message in (("sb3:DNQ", "did you mean 'sb3:DQN'"), ("sb3:SAC", "SAC cannot be built")):
        status, said = command("run", "--domain", "CartPole-v1", "--learner", learner, *SHORT)
        assert (status, message in said) == (2, True), said
    status, said = command("run", "--domain", "CartPole-v1", "--learner", "sb3:DQN", "--set", "learner.gama=1", *SHORT)
    assert (status, "did you mean 'gamma'" in said) == (2, True), said


def test_older_records_of_stable_baselines3_get_the_name(here, command) -> None:
    command("run", "--domain", "CartPole-v1", "--learner", "random", *SHORT, "--out", "run")
    settings = RunFolder(here / "run").settings()
    old = {"name": "SB3", "algorithm": "stable_baselines3.dqn.dqn.DQN", "arguments": {}}
    assert completed({**settings, "learner": old})["learner"]["name"] == "sb3:DQN"
    own = {**old, "algorithm": "my_module.MyDQN"}
    assert completed({**settings, "learner": own})["learner"]["name"] == "SB3"


def test_what_is_written_down_by_name_only_must_be_given_again(here) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from torch import nn

    from repertory.learners.sb3 import SB3

    learner = SB3(sb3.DQN, policy_kwargs={"activation_fn": nn.Tanh, "net_arch": [4]})
    domain = repertory.vary("CartPole-v1", gravity=[1.6, 9.8])
    repertory.live(domain, learner, 1, blocks=1, block_steps=20, out="run")
    with pytest.raises(UsageError, match="one of your own must be given: learner="):
        repertory.open("run")
    assert len(repertory.open("run", learner=learner).policies) == 1


def test_the_same_file_has_one_name(here, monkeypatch) -> None:
    names = [own_code.canonical(text) for text in ("my_tasks.py:domain", f"{here}/./my_tasks.py:domain")]
    assert names == ["my_tasks.py:domain"] * 2
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert own_code.canonical("../my_tasks.py:domain") == f"{here}/my_tasks.py:domain"
    assert json.dumps(repertory.domain("../my_tasks.py:domain").settings)
