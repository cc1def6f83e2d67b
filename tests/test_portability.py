"""Nothing needs what only Linux has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = """
import importlib, os, pkgutil, sys, warnings
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("sched_getaffinity", "getuid", "geteuid"):
    if hasattr(os, name):
        delattr(os, name)
import repertory
skipped = ("repertory.learners.sb3", "repertory.sweeps.ray_engine", "repertory.benchmarks")  # need extras
for module in pkgutil.walk_packages(repertory.__path__, "repertory."):
    if not module.name.startswith(skipped):
        importlib.import_module(module.name)
from repertory.machine import usable_cores
from repertory.sweeps.sweep import make_engine
assert make_engine("local", None).workers == usable_cores() >= 1
record = repertory.live("cartpole27", repertory.PPO(net_arch=(6, 6)), 2, blocks=2, block_steps=60, out=sys.argv[1])
from repertory.cli import main
sys.argv = ["repertory", "run", "--domain", "cartpole27", "--learner", "ppo", "--policies", "1", "--blocks", "1",
            "--block-steps", "60", "--out", sys.argv[1] + "-command"]
main()
"""


def test_import_and_a_run_without_what_only_unix_has(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "run" / "done").exists()
    assert (tmp_path / "run-command" / "done").exists()


CORE_TESTS = """
import os, sys
sys.modules["fcntl"] = None
del os.sched_getaffinity
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", *sys.argv[1:]]))
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this is such a system already")
@pytest.mark.parametrize("file", ["test_lifetime.py", "test_selectors.py", "test_library.py"])
def test_the_core_tests_pass_without_what_only_linux_has(file: str) -> None:
    path = Path(__file__).parent / file
    said = subprocess.run([sys.executable, "-c", CORE_TESTS, str(path)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout[-3000:] + said.stderr[-1000:]
