"""TensorBoard event files say what the record says, also across a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import repertory
from repertory.core import lifetime
from repertory.core.lifetime import Monitor
from repertory.runs import saver
from repertory.runs.tensorboard import TensorBoardMonitor

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


class Crash(Exception):
    """As if the process had died."""


class CrashAtBlock(Monitor):
    def __init__(self, block: int) -> None:
        self.block = block

    def block_ended(self, tally) -> None:
        if tally.block == self.block:
            raise Crash


def live(out: Path, *monitors: Monitor) -> repertory.Record:
    learner = repertory.DQN(learning_starts=60, buffer_size=200, target_update_interval=100)
    monitors = (TensorBoardMonitor(out), *monitors)
    return repertory.live("cartpole27", learner, 3, blocks=5, block_steps=250, out=out, monitors=monitors)


def scalars(out: Path) -> dict[str, list[tuple[int, float]]]:
    events = accumulator.EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_event_files_hold_the_record(tmp_path: Path) -> None:
    record = live(tmp_path)
    found = scalars(tmp_path)
    steps = record.blocks["steps"].cumsum().tolist()
    assert [step for step, _ in found["score"]] == steps
    np.testing.assert_allclose([value for _, value in found["score"]], record.blocks["mean_return"], rtol=1e-6)
    for task, own in record.blocks.groupby("task"):
        curve = found[f"task score/{task} {record.settings['task_names'][task]}"]
        np.testing.assert_allclose([value for _, value in curve], own["mean_return"], rtol=1e-6)
    for policy in range(3):
        shares = record.blocks[f"policy_{policy}"] / record.blocks["episodes"]
        np.testing.assert_allclose([v for _, v in found[f"share/policy {policy}"]], shares, rtol=1e-6)
    losses = [value for tag, values in found.items() if tag.startswith("loss/") for _, value in values]
    assert losses
    assert all(np.isfinite(losses))
    assert min(losses) > 0


def test_a_resumed_run_shows_each_block_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = live(tmp_path / "whole")
    monkeypatch.setattr(saver, "SHORTEST_PAUSE", 0.0)
    with pytest.raises(Crash):
        live(tmp_path / "broken", CrashAtBlock(2))  # before the third block is saved, after it was logged
    live(tmp_path / "broken")
    assert scalars(tmp_path / "whole") == scalars(tmp_path / "broken")
    assert len(scalars(tmp_path / "broken")["score"]) == len(whole.blocks)


def test_event_files_hold_health(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "HEALTH_STEPS", 400)
    record = live(tmp_path)
    found = scalars(tmp_path)["health/weight_norm"]
    table = record.blocks.assign(life=record.blocks["steps"].cumsum()).dropna(subset="health_weight_norm")
    assert 1 <= len(found) < len(record.blocks)
    assert [step for step, _ in found] == table["life"].tolist()
    np.testing.assert_allclose([value for _, value in found], table["health_weight_norm"], rtol=1e-6)
