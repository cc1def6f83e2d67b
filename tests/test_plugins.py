"""An outside package that brings a domain, a learner and a selector by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "outside"
version = "1.0"
[tool.setuptools]
py-modules = ["outside"]
[project.entry-points."repertory.domains"]
two-carts = "outside:two_carts"
[project.entry-points."repertory.learners"]
stubborn = "outside:Stubborn"
plain = "outside:make_plain"
broken = "outside:nothing_here"
[project.entry-points."repertory.selectors"]
last = "outside:Last"
"""

MODULE = '''
from dataclasses import dataclass
import numpy as np
import repertory
from repertory.settings import Settings, setting

def two_carts():
    return repertory.tasks(["CartPole-v1", ("CartPole-v1", {"sutton_barto_reward": True})], name="two-carts")

class Same:
    def __init__(self, action): self.action = action
    def begin_episode(self): ...
    def act(self, observation): return self.action
    def observe(self, *step): ...
    def state_dict(self): return {"action": np.array(self.action)}
    def load_state_dict(self, state): self.action = int(state["action"])

@dataclass(frozen=True, kw_only=True)
class Stubborn(Settings):
    """Always the same action."""
    action: int = setting(0, "Which.", at_least=0, at_most=1)
    def __call__(self, observation_space, action_space, seed): return Same(self.action)

def make_plain(observation_space, action_space, seed): return Same(1)

@dataclass(frozen=True, kw_only=True)
class Last(Settings):
    """Always the last policy."""
    def __call__(self, n_tasks, n_policies, rng): return LastSelector(n_policies)

class LastSelector:
    def __init__(self, n): self.n = n
    def select(self, task, rng): return self.n - 1
    def update(self, task, policy, total_reward, steps): ...
    def state_dict(self): return {}
    def load_state_dict(self, state): ...
'''


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    source, site = tmp_path_factory.mktemp("outside"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "outside.py").write_text(MODULE)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--disable-pip-version-check", "--target", str(site), str(source)], check=True)
    return os.environ | {"PYTHONPATH": str(site)}


def command(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from repertory.cli import main; main()", *arguments]
    return subprocess.run(program, env=environment, capture_output=True, text=True, check=False)


def test_plugins_are_listed_and_live(environment: dict[str, str], tmp_path: Path) -> None:
    assert "two-carts" in command(environment, "list", "domains").stdout.split()
    assert {"stubborn", "plain"} <= set(command(environment, "list", "learners").stdout.split())
    assert "Which." in command(environment, "list", "learners", "stubborn").stdout
    run = ["run", "--domain", "two-carts", "--learner", "stubborn", "--policies", "3", "--selector", "last"]
    run += ["--blocks", "4", "--block-steps", "60", "--set", "learner.action=1", "--out", str(tmp_path / "run")]
    lived = command(environment, *run)
    assert lived.returncode == 0, lived.stderr
    assert "nothing to do" in command(environment, *run).stdout
    plain = command(environment, *[part if part != "stubborn" else "plain" for part in run])
    assert plain.returncode == 2
    assert "has no setting" in plain.stderr or "unknown setting" in plain.stderr


def test_a_broken_plugin_is_named_and_harms_no_other(environment: dict[str, str]) -> None:
    options = ["--domain", "two-carts", "--policies", "1", "--blocks", "1", "--block-steps", "20"]
    broken = command(environment, "run", *options, "--learner", "broken")
    assert broken.returncode == 2
    assert "outside:nothing_here, which cannot be imported" in broken.stderr
    assert broken.stderr.count("\n") == 1
    plain = command(environment, "run", *options, "--learner", "plain")
    assert plain.returncode == 0, plain.stderr
