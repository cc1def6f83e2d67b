"""Runs a sweep on a Ray cluster: on many machines, with run folders on storage that they share.

Each run is a Ray task. When a machine is lost, Ray starts its tasks again elsewhere, and each is resumed from the last
checkpoint in its folder. See docs/cluster.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from repertory.errors import UsageError
from repertory.runs.status import INTERRUPTED, STOPPED, Status
from repertory.sweeps.job import ONE_THREAD, Job, run_job

TICK = 0.5
RETRIES = 20
"""How often a run may lose its machine."""
PATIENCE = 180.0
"""Seconds for which a lost machine may still hold a run's folder: its worker dies with it, but network file systems
give up its lock only some time later."""


class RayEngine:
    """As many runs at a time as the cluster has cores, or `workers`."""

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise UsageError("--engine ray needs Ray; next: pip install 'repertory[ray]'") from None
        self._ray = ray
        self._limit = workers
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError) as error:
                raise UsageError(
                    f"no Ray cluster at {address or '$RAY_ADDRESS'} ({error}); see docs/cluster.md"
                ) from None
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._task = ray.remote(_run_on_cluster).options(
            num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": ONE_THREAD}
        )

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Status] | None]:
        """Each job with the status it ended in, as they end; None now and then in between."""
        waiting = list(jobs)[::-1]
        running: dict[Any, Job] = {}
        try:
            while waiting or running:
                while waiting and (self._limit is None or len(running) < self._limit):
                    job = waiting.pop()
                    running[self._task.remote(asdict(job))] = job
                ended, _others = self._ray.wait(list(running), timeout=TICK)
                for reference in ended:
                    yield running.pop(reference), self._status(reference)
                yield None
        finally:
            for reference in running:
                self._ray.cancel(reference)
            if running:  # let them save
                self._ray.wait(list(running), num_returns=len(running), timeout=PATIENCE)

    def _status(self, reference: Any) -> Status:
        try:
            return Status(**self._ray.get(reference))
        except self._ray.exceptions.TaskCancelledError:
            return Status(INTERRUPTED)
        except self._ray.exceptions.RayError as error:
            return Status(STOPPED, str(error).strip().splitlines()[0])


def _run_on_cluster(job: dict[str, Any]) -> dict[str, Any]:
    return asdict(run_job(Job(**job), patience=PATIENCE))
