"""Sweeps for tests of what is made of them: records as lives would leave them, without the lives."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repertory.core.sequence import task_sequence
from repertory.core.tally import BlockTally, block_table
from repertory.runs.folder import RunFolder
from repertory.runs.status import FILE_NAME as STATUS_FILE
from repertory.runs.status import FINISHED, Status
from repertory.runs.summary import RunSummary, write_summary
from repertory.runs.timing import TimeUsed, write_time
from repertory.sweeps.sweep import Sweep, claim, run_path

SWEEP = Sweep("cartpole27", "released")
CONDITIONS = ("AdaptiveDQN2P", "UnadaptiveDQN1P", "UnadaptiveDQN27P", "UnadaptivePPO1P")
HOST = "a-host-that-nobody-need-know"
STEPS, SPEED = 60_000, 50_000.0
"""Of a block; a second."""


def write_sweep(out: Path, sweep: Sweep = SWEEP, conditions: Iterable[str] = CONDITIONS, runs: int = 2) -> Path:
    """Finished runs of made-up scores. Run 0 is of the days when runs were not timed; the others took 20 seconds."""
    claim(out, sweep)
    for name in conditions:
        for run in range(runs):
            folder = RunFolder(run_path(out, name, run))
            spec = sweep.job(out, sweep.data.conditions[name], run).run_spec()
            with folder.locked():
                folder.claim(spec.to_json())
                sequence = task_sequence(spec.seed, run, spec.blocks, spec.domain.n_tasks)
                folder.write_blocks(made_up_blocks(sequence, spec.policies, len(name) + run))
                if run:
                    write_time(folder, TimeUsed(spec.blocks * STEPS, 20.0, 10.0))
                write_summary(folder, RunSummary(random_scores=[25.0 + task for task in range(spec.domain.n_tasks)]))
                status = json.dumps(asdict(Status(FINISHED, steps_per_second=SPEED, host=HOST, process=4242)))
                (folder.path / STATUS_FILE).write_text(status)
                folder.finish()
    return out


def write_run(path: Path, settings: dict[str, Any], blocks: pd.DataFrame) -> None:
    """A finished run."""
    folder = RunFolder(path)
    with folder.locked():
        folder.claim(settings)
        folder.write_blocks(blocks)
        folder.finish()


def made_up_blocks(sequence: np.ndarray, policies: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for block, task in enumerate(sequence):
        tally = BlockTally(block, int(task), policies)
        tally.add(int(rng.integers(policies)), float(rng.uniform(50, 150)), STEPS)
        rows.append(tally.row())
    return block_table(rows, policies)
