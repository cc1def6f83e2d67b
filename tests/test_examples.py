"""The examples run, and the learners in them conform."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import repertory
from repertory.testing import check_domain, check_learner

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *options: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for the types of their fields
    spec.loader.exec_module(module)
    return module


def test_the_tabular_learner_walks_every_lake() -> None:
    *_header, last_lines = run("tabular_q.py", "--blocks", "30").split("task", 1)
    returns = [float(line.split()[-1]) for line in last_lines.strip().splitlines()]
    assert len(returns) == 4
    assert min(returns) > 0.5


def test_the_tabular_learner_conforms() -> None:
    example = load("tabular_q.py")
    domain = repertory.Domain("frozen lakes", tuple(example.LAKES), example.lake)
    check_domain(domain)
    check_learner(example.TabularQ, domain, steps=300)
    code = (EXAMPLES / "tabular_q.py").read_text().splitlines()
    assert len(code) <= 60  # it promises to be small


def test_the_torch_learner_runs() -> None:
    pytest.importorskip("torch")
    assert "at the end" in run("torch_learner.py", "--blocks", "2", "--block-steps", "200")


def test_the_torch_learner_conforms() -> None:
    pytest.importorskip("torch")
    check_learner(load("torch_learner.py").Reinforce(hidden=8), steps=150)


def test_the_compiled_cars_are_a_domain() -> None:
    """Its two paths are one, all its tasks differ, and there are under 60 lines of it."""
    domain = load("compiled_mountain_car.py").domain
    check_domain(domain)
    assert domain.distinct_tasks() == 6
    record = repertory.live(domain, "random", 2, blocks=3, block_steps=1000)
    assert record.blocks["mean_return"].between(-200, -100).all()
    lines = (EXAMPLES / "compiled_mountain_car.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) < 60


@pytest.mark.parametrize("task", [18, 22, 26])
def test_the_ceiling_is_where_starts_can_no_longer_be_saved(task: int) -> None:
    """Just inside, pushing against the unstable mode keeps it from growing; just outside, it grows all the same."""
    example = load("cartpole_ceiling.py")
    domain = repertory.domain("cartpole27")
    assert domain.compiled is not None
    params = domain.compiled.params[task]
    weights, largest = example.unstable_mode(params)

    def mode_after(share: float, steps: int) -> float:
        """Of a pole that starts at rest with so large a share of what can be saved."""
        state = example.np.array([0.0, 0.0, share * largest / weights[0], 0.0, 0.0])
        for _ in range(steps):
            example.step(params, state, int(weights @ state[2:4] > 0), example.new_stream(0))
        return abs(float(weights @ state[2:4])) / largest

    assert mode_after(0.95, 100) < 0.95
    assert mode_after(1.05, 100) > 1.05


def test_light_carts_have_no_ceiling_but_the_limit() -> None:
    lines = run("cartpole_ceiling.py").splitlines()
    assert all(line.endswith(" 200.0") for line in lines[:18])
    assert 195 < float(lines[-1].split()[-1]) < 197


def test_gravity_is_told_by_how_the_pole_falls() -> None:
    assert "2 contexts for 2 planets, noticed after 1" in run("drifting_gravity.py", "--blocks", "5")
