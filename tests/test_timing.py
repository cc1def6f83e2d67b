"""The time of a run: summed over its sessions, kept apart from what decides it, and worked out where it is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import repertory
from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.paper.experiments import experiment
from repertory.report.sections.time import duration, time_rows, time_sentence
from repertory.runs.folder import RunFolder
from repertory.runs.status import FINISHED, Status
from repertory.runs.timing import FILE_NAME, FROM_SPEED, MEASURED, TimeUsed, read_kept, time_used, write_time
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep
from tests.records import CONDITIONS, SPEED, STEPS, write_sweep


class StopAfter(Monitor):
    """Ends a session as Ctrl-C does."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks

    def block_ended(self, tally: BlockTally) -> None:
        if tally.block + 1 == self._blocks:
            raise KeyboardInterrupt


def live(out: Path, **options: object) -> None:
    repertory.live("cartpole27", "random", 2, blocks=6, block_steps=200, out=out, **options)


def test_a_resumed_run_has_the_time_of_all_its_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    with pytest.raises(KeyboardInterrupt):
        live(tmp_path, monitors=[StopAfter(4)])
    first = read_kept(tmp_path)
    assert first is not None
    assert first.wall_seconds > 0
    write_time(RunFolder(tmp_path), TimeUsed(first.steps, 1000.0, 500.0))  # it was a long session
    live(tmp_path)
    steps = int(RunFolder(tmp_path).read_blocks()["steps"].sum())
    whole = time_used(tmp_path, steps)
    assert whole is not None
    assert (whole.steps, whole.source) == (steps, MEASURED)
    assert 1000 < whole.wall_seconds < 1100
    assert whole.cpu_seconds is not None
    assert 500 < whole.cpu_seconds < 600


def test_time_is_no_part_of_what_decides_a_life(tmp_path: Path) -> None:
    live(tmp_path / "one")
    live(tmp_path / "other")
    for name in ("run.json", "blocks.parquet", "done"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert FILE_NAME in {file.name for file in (tmp_path / "one").iterdir()}


def test_what_was_not_measured_is_worked_out_from_speed(tmp_path: Path) -> None:
    assert time_used(tmp_path, 1000) is None
    (tmp_path / "status.json").write_text(json.dumps({"state": FINISHED, "steps_per_second": 50.0}))
    assert time_used(tmp_path, 1000) == TimeUsed(1000, 20.0, None, FROM_SPEED)
    write_time(RunFolder(tmp_path), TimeUsed(250, 3.0, 2.0))  # timed only since it was resumed
    assert time_used(tmp_path, 1000) == TimeUsed(1000, 12.0, 8.0, FROM_SPEED)
    for damage in ("{", "[]", '{"steps": 5}', '{"steps": -1, "wall_seconds": 1, "cpu_seconds": null}', "\xff"):
        (tmp_path / FILE_NAME).write_text(damage)
        assert time_used(tmp_path, 1000) == TimeUsed(1000, 20.0, None, FROM_SPEED)
    (tmp_path / "status.json").write_text(json.dumps({"state": Status(FINISHED).state}))
    assert time_used(tmp_path, 1000) is None


def test_the_time_of_a_sweep_stands_beside_the_papers(tmp_path: Path) -> None:
    results = read_results(write_sweep(tmp_path / "sweep"))
    table = pd.DataFrame(time_rows(results)).set_index("learner")
    steps = experiment("cartpole27").blocks * STEPS
    guessed, measured = steps / SPEED, 20.0
    assert list(table.index) == ["dqn", "ppo", "all"]
    assert list(table["runs"]) == [6, 2, 8]
    total = table.loc["all"]
    assert total["steps"] == 8 * steps
    assert total["wall-clock hours"] == pytest.approx(4 * (guessed + measured) / 3600)
    assert total["core hours"] == pytest.approx(4 * (guessed + 10.0) / 3600)  # of its own process where that is known
    assert total["mean run seconds"] == pytest.approx((guessed + measured) / 2)
    assert total["longest run seconds"] == pytest.approx(guessed)
    assert total["steps per core second"] == pytest.approx(2 * steps / (guessed + 10.0))
    assert total["published days per run"] == "2"
    assert total["times faster"] == pytest.approx(2 * 86400 / ((guessed + measured) / 2))
    assert total["source"] == FROM_SPEED
    assert "8 runs used" in time_sentence(results)
    assert "the paper: 2 days" in time_sentence(results)


def test_short_sweeps_are_not_compared_and_unknown_times_left_out(tmp_path: Path) -> None:
    short = read_results(write_sweep(tmp_path / "short", Sweep("cartpole27", blocks=30), CONDITIONS[:1], runs=1))
    assert [row["published days per run"] for row in time_rows(short)] == [""]
    next((tmp_path / "short").rglob("status.json")).unlink()
    assert time_rows(short) == []
    assert time_sentence(short) == ""


def test_durations() -> None:
    shown = [duration(seconds) for seconds in (None, 12.3, 120, 1500, 7200)]
    assert shown == ["unknown time", "12 s", "2.0 min", "25 min", "2.0 h"]
