"""A user's own tasks from nothing to a library that acts, by commands alone; `docs/robot.md` does it in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def repertory(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "repertory", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lunar_lander_by_variants_without_a_python_file(tmp_path: Path) -> None:
    pytest.importorskip("Box2D")
    tasks = ["--domain", "LunarLander-v3", "--vary", "gravity=-10,-6,-2", "--vary", "enable_wind=false,true"]
    run = ["run", *tasks, "--learner", "ppo", "--profile", "sound", "--policies", "2"]
    length = ["--blocks", "6", "--block-steps", "1500", "--sequence", "rounds", "--out", "lander"]
    assert "6 tasks" in repertory(tmp_path, *run, *length)
    repertory(tmp_path, "report", "lander", "--out", "page")
    assert "gravity=-6, enable_wind=True" in (tmp_path / "page" / "index.html").read_text()
    repertory(tmp_path, "watch", "lander", "--task", "1", "--out", "lander.gif")
    assert (tmp_path / "lander.gif").read_bytes()[:3] == b"GIF"
    repertory(tmp_path, "save", "lander", "lander.npz")
    act = (
        "import repertory\n"
        "library = repertory.load('lander.npz')\n"
        "print(library.policy_for(3).predict([0.0] * 8) in range(4))\n"
    )
    done = subprocess.run([sys.executable, "-c", act], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    more = ["--vary", "gravity=-10,-6,-2,-1", "--vary", "enable_wind=false,true", "--blocks", "8", "--out", "lander"]
    told = repertory(tmp_path, "run", "--domain", "LunarLander-v3", *more)
    assert "8 tasks" in told


def test_a_context_without_effect_is_told_in_one_line(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "repertory", "run", "--domain", "CartPole-v1", "--vary", "masscart=1,2"]
    rest = ["--learner", "dqn", "--policies", "1", "--out", "cart"]
    done = subprocess.run([*command, *rest], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "masscart" in done.stderr
    assert not (tmp_path / "cart").exists()
