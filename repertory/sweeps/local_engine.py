"""Runs a sweep in processes of this machine, each with one thread.

Every run has a process of its own: if one dies, the others go on. The processes are not in the
terminal's group, so Ctrl-C reaches the sweep alone, which tells each of them once to save and stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from repertory.runs.status import STOPPED, Status
from repertory.sweeps.job import ONE_THREAD, Job

TICK = 0.2
"""Seconds between looks at the workers."""
ATTEMPTS = 3
"""How often a worker that dies (killed, out of memory) is started."""


class LocalEngine:
    """At most `workers` runs at a time."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Status] | None]:
        """Each job with the status it ended in, as they end; None now and then in between."""
        waiting = deque((job, 1) for job in jobs)
        running: list[_Worker] = []
        with tempfile.TemporaryDirectory(prefix="repertory-") as scratch:
            try:
                while waiting or running:
                    while waiting and len(running) < self.workers:
                        running.append(_Worker(*waiting.popleft(), Path(scratch)))
                    for worker in [worker for worker in running if worker.has_ended(TICK / len(running))]:
                        running.remove(worker)
                        status = worker.status()
                        if status is None and worker.attempt < ATTEMPTS:
                            waiting.appendleft((worker.job, worker.attempt + 1))
                        else:
                            yield worker.job, status or worker.death()
                    yield None
            finally:
                for worker in running:
                    worker.stop()
                for worker in running:
                    worker.wait()


class _Worker:
    """A process that runs one job."""

    def __init__(self, job: Job, attempt: int, scratch: Path) -> None:
        self.job = job
        self.attempt = attempt
        name = f"{os.getpid()}-{id(self)}-{attempt}"
        self._result, self._errors = scratch / f"{name}.json", scratch / f"{name}.err"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "repertory.sweeps.job", str(self._result), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=os.environ | ONE_THREAD,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:  # it died at once; `death` will tell
            stdin.write(json.dumps(asdict(job)).encode())

    def has_ended(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def status(self) -> Status | None:
        """The status that the worker wrote at its end; None if it died before."""
        try:
            return Status(**json.loads(self._result.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def death(self) -> Status:
        errors = self._errors.read_text(errors="replace").strip().splitlines()
        last = f" ({errors[-1][:200]})" if errors else ""
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return Status(STOPPED, f"its process {how}{last}, {self.attempt} times")

    def stop(self) -> None:
        """Ask it to save and stop."""
        self._process.terminate()

    def wait(self) -> None:
        self._process.wait()
