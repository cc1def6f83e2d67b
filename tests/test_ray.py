"""A sweep on a real two-node Ray cluster on loopback, one node of which is lost on the way."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from repertory.runs.folder import RunFolder
from repertory.runs.saver import PAUSE_VARIABLE
from repertory.runs.status import FINISHED, RUNNING, read_status
from repertory.sweeps.job import Job
from repertory.sweeps.local_engine import LocalEngine
from repertory.sweeps.sweep import Sweep, live_sweep
from tests.waiting import wait_until

ray = pytest.importorskip("ray")

SWEEP = Sweep("cartpole27", scale=0.01, blocks=4000)
"""Some seconds a run: long enough to lose a node in the middle of it."""
COMMAND = [sys.executable, "-c", "from repertory.cli import main; main()", "reproduce"]


def free_port() -> int:
    """Above the ports that Ray gives to its workers."""
    for port in range(20000 + os.getpid() % 5000, 30000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


@contextlib.contextmanager
def node(*arguments: str) -> Iterator[subprocess.Popen]:
    """A Ray node with one core; killed with all its workers at the end, if not before."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address=127.0.0.1"]
    command += ["--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats", *arguments]
    environment = os.environ | {PAUSE_VARIABLE: "1"}
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, env=environment)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen) -> None:
    """As if the machine had lost its power."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_sweep_outlives_a_lost_node(tmp_path: Path) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    condition = SWEEP.data.conditions["UnadaptiveDQN2P"]
    jobs = [SWEEP.job(tmp_path / "cluster", condition, run) for run in range(3)]
    arguments = ["cartpole27", "--conditions", condition.name, "--runs", "0-2", "--engine", "ray"]
    arguments += ["--scale", str(SWEEP.scale), "--blocks", str(SWEEP.blocks), "--out", str(tmp_path / "cluster")]
    with contextlib.ExitStack() as nodes:
        temporary = nodes.enter_context(tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp"))  # sockets: a short path
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={temporary}")
        nodes.enter_context(node(*head))
        wait_until(lambda: answers(port))
        other = nodes.enter_context(node(f"--address={address}"))
        sweep = subprocess.Popen(COMMAND + arguments, env=os.environ | {"RAY_ADDRESS": address}, stderr=subprocess.PIPE)
        wait_until(lambda: [state(job) for job in jobs].count(SAVED) == 2)  # one run on each node
        lives = {job.run: read_status(Path(job.folder)) for job in jobs if state(job) == SAVED}
        kill(other)
        # The node that is left may have to finish another run or two first, on a machine with other work to do.
        wait_until(
            lambda: any(process(job) not in (None, lives[job.run].process) for job in jobs if job.run in lives), 300
        )
        moved = [job for job in jobs if job.run in lives and process(job) != lives[job.run].process]
        assert len(moved) == 1
        assert read_status(Path(moved[0].folder)).blocks >= 1, "it began again instead of going on"
        _, errors = sweep.communicate(timeout=240)
        assert sweep.returncode == 0, errors
    local = [SWEEP.job(tmp_path / "local", condition, run) for run in range(3)]
    standing = live_sweep(local, LocalEngine(2), NoDisplay())
    assert {status.state for status in standing.values()} == {FINISHED}
    for one, other_job in zip(jobs, local, strict=True):
        blocks = [RunFolder(Path(job.folder)).read_blocks() for job in (one, other_job)]
        pd.testing.assert_frame_equal(*blocks, check_exact=True)


SAVED = "living, saved"


def state(job: Job) -> str:
    status = read_status(Path(job.folder))
    if status is not None and status.state == RUNNING and (Path(job.folder) / "checkpoint.npz").exists():
        return SAVED
    return "not yet or no more"


def process(job: Job) -> int | None:
    status = read_status(Path(job.folder))
    return None if status is None else status.process


class NoDisplay:
    def begin(self, *_: object) -> None: ...
    def tick(self) -> None: ...
    def ended(self, *_: object) -> None: ...
    def close(self) -> None: ...
