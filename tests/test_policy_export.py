"""A policy in a file for programs that have no repertory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

import repertory
from repertory.cli import app
from repertory.errors import UsageError

EXAMPLE = Path(__file__).parent.parent / "examples" / "act_without_repertory.py"
WITHOUT = """
import runpy, sys
sys.modules["repertory"] = None  # importing it fails
try:
    import repertory
except ImportError:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
SMALL = {"learning_starts": 100, "buffer_size": 2_000}


def run_without_repertory(script: Path, *arguments: str) -> str:
    code = f"import sys; sys.argv[:] = {[str(script), *arguments]!r}\n{WITHOUT}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=script.parent)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def actions_on_cartpole(predict) -> list[int]:
    env = gymnasium.make("CartPole-v1")
    observation, actions, is_over = env.reset(seed=0)[0], [], False
    while not is_over:
        actions.append(int(predict(observation)))
        observation, _reward, terminated, truncated, _info = env.step(actions[-1])
        is_over = terminated or truncated
    return actions


@pytest.mark.parametrize("learner", [repertory.DQN(**SMALL), repertory.PPO(), repertory.DQN(**SMALL, heads=True)])
def test_the_example_acts_as_the_policy_does(learner: object, tmp_path: Path) -> None:
    domain = repertory.tasks([("CartPole-v1", {"sutton_barto_reward": on}) for on in (False, True)])
    record = repertory.live(domain, learner, 2, blocks=6, block_steps=400)
    policy = record.library().policy_for(1)
    policy.export(tmp_path / "policy.npz")
    steps, _word, *actions = run_without_repertory(EXAMPLE, str(tmp_path / "policy.npz")).split()
    assert [int(action) for action in actions] == actions_on_cartpole(policy.predict)
    assert int(steps) == len(actions) > 5
    code = [line for line in EXAMPLE.read_text().splitlines() if line and not line.startswith(('"""', "import"))]
    assert len(code) <= 10  # it promises to be small


@pytest.mark.parametrize("options", [{"task_input": True}, {"heads": True}, {"task_input": True, "heads": True}])
def test_a_policy_for_many_tasks_is_exported_for_one(options: dict[str, bool], tmp_path: Path) -> None:
    record = repertory.live("cartpole27", repertory.DQN(**SMALL, **options), 1, blocks=6, block_steps=200)
    tasks = sorted(set(record.blocks["task"]))[:3]
    rows = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    for task in tasks:
        policy = record.library().policy_for(task)
        policy.export(tmp_path / "policy.npz")
        net = np.load(tmp_path / "policy.npz")
        hidden = np.maximum(np.maximum(rows @ net["w1"] + net["b1"], 0) @ net["w2"] + net["b2"], 0)
        policy.predict(rows[0])  # turns to the task
        assert hidden @ net["w3"] + net["b3"] == pytest.approx(policy.learner.q_values(rows), abs=1e-4)


@pytest.mark.parametrize("learner", [repertory.DRQN(**SMALL), repertory.PRPO()])
def test_a_recurrent_policy_is_what_its_formula_says(learner: object, tmp_path: Path) -> None:
    domain = repertory.domain("pocman18", max_steps=60)
    record = repertory.live(domain, learner, 1, blocks=2, block_steps=200)
    (policy,) = record.library().policies
    policy.export(tmp_path / "policy.npz")
    net = np.load(tmp_path / "policy.npz")
    assert net["window"] == 15
    window = np.random.default_rng(1).integers(2, size=(15, 11)).astype(np.float32)

    def squash(z: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-z))

    h = c = np.zeros(len(net["wh"]))
    for x in window:
        i, f, g, o = np.split(np.maximum(x @ net["w1"] + net["b1"], 0) @ net["wx"] + h @ net["wh"] + net["b2"], 4)
        c = squash(f) * c + squash(i) * np.tanh(g)
        h = squash(o) * np.tanh(c)
    outputs = h @ net["w3"] + net["b3"]
    own = policy.learner.q_values if isinstance(learner, repertory.DRQN) else policy.learner.outputs
    assert outputs == pytest.approx(own(window[None])[0, : len(outputs)], abs=1e-4)
    assert np.argmax(outputs) == policy.predict(window)


def test_a_table_is_exported_by_places(tmp_path: Path) -> None:
    record = repertory.live("office-rooms", repertory.QTable(), 1, blocks=2, block_steps=2_000)
    (policy,) = record.library().policies
    policy.export(tmp_path / "policy.npz")
    table = np.load(tmp_path / "policy.npz")
    for place in np.ndindex(*table["values"].shape[:-1]):
        observation = np.array(place) + table["low"]
        assert np.array_equal(table["values"][place], policy.learner.q_values(observation[None].astype(np.float32))[0])


def test_a_policy_of_stable_baselines3_is_its_own_file(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from repertory.learners.sb3 import SB3

    domain = repertory.tasks(["CartPole-v1"])
    record = repertory.live(domain, SB3(sb3.PPO, n_steps=64), 1, blocks=1, block_steps=200)
    policy = record.library().policy_for(0)
    policy.export(tmp_path / "policy.zip")
    script = tmp_path / "act.py"
    script.write_text(
        "import sys, gymnasium, stable_baselines3\n"
        "model, env = stable_baselines3.PPO.load(sys.argv[1], device='cpu'), gymnasium.make('CartPole-v1')\n"
        "observation, is_over = env.reset(seed=0)[0], False\n"
        "while not is_over:\n"
        "    action, _state = model.predict(observation, deterministic=True)\n"
        "    print(action)\n"
        "    observation, _reward, terminated, truncated, _info = env.step(action)\n"
        "    is_over = terminated or truncated\n"
    )
    printed = run_without_repertory(script, str(tmp_path / "policy.zip"))
    assert [int(action) for action in printed.split()] == actions_on_cartpole(policy.predict)
    with pytest.raises(UsageError, match=r"policy.npz is to hold a .*; valid: a name that ends in .zip"):
        policy.export(tmp_path / "policy.npz")


def test_the_command_saves_one_policy(tmp_path: Path) -> None:
    record = repertory.live("cartpole27", repertory.DQN(**SMALL), 2, blocks=2, block_steps=200, out=tmp_path / "run")
    task = int(record.blocks["task"][1])
    file = tmp_path / "policy.npz"
    for option, number in ((["--task", str(task)], record.library().policy_for(task).number), (["--policy", "1"], 1)):
        done = CliRunner().invoke(app, ["save", str(tmp_path / "run"), str(file), *option])
        assert done.exit_code == 0, done.output
        weights = record.policies[number].plain_weights()
        assert all(np.array_equal(np.load(file)[name], weights[name]) for name in weights)
    for option in (["--policy", "2"], ["--task", str(task), "--policy", "0"], ["--task", "99"]):
        done = CliRunner().invoke(app, ["save", str(tmp_path / "run"), str(file), *option])
        assert isinstance(done.exception, UsageError)
        assert "valid: " in str(done.exception)


def test_what_cannot_be_exported_says_so(tmp_path: Path) -> None:
    record = repertory.live("cartpole27", "random", 1, blocks=1, block_steps=50)
    with pytest.raises(UsageError, match="a RandomLearner has no weights to export"):
        record.library().policies[0].export(tmp_path / "policy.npz")
    assert list(tmp_path.iterdir()) == []
