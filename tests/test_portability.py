"""Nothing needs what only Linux has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
