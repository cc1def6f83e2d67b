"""Seeing a run: progress in terminals, logs and notebooks, figures, event files, loggers, and lengths that end soon."""

from __future__ import annotations

import io
import re
import sys
import time
import types
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from rich.console import Console

import repertory
from repertory import catalogue
from repertory.errors import UsageError
from repertory.runs import progress
from repertory.runs.progress import ProgressMonitor


def live(**options: Any) -> repertory.Record:
    return repertory.live("cartpole27", "random", 3, blocks=30, block_steps=60, **options)


class Slow(gymnasium.Env):
    """An episode takes seconds."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        time.sleep(0.01)
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, self.steps == 40, False, {}


def test_progress_is_shown_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = live()
    assert capsys.readouterr().err == ""
    shown = live(progress=True)
    assert shown.blocks.equals(quiet.blocks)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "cartpole27, 27 tasks, 3 policies: 30 blocks of 60 steps"
    assert said[-1].startswith("block 30/30  task ")
    assert len([line for line in said if "s left" in line]) == progress.PLAIN_LINES


def test_a_slow_episode_shows_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_SIGN", 0.1)
    monkeypatch.setattr(progress, "TICK", 0.02)
    said: list[tuple[float, str]] = []

    class Heard(io.StringIO):
        def write(self, text: str) -> int:
            said.append((time.monotonic(), text))
            return len(text)

    domain = repertory.tasks([Slow])
    monitor = ProgressMonitor(Console(file=Heard()), 1, 40, "mean return")
    begun = time.monotonic()
    repertory.live(domain, "random", 1, blocks=1, block_steps=40, monitors=[monitor])
    assert "the first episode is under way" in said[0][1]
    assert said[0][0] - begun < 0.35  # before the only episode, of 0.4 seconds, has ended
    assert progress.FIRST_SIGN < 2


def test_the_steps_inside_a_long_episode_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs, on the plain path; a compiled one keeps its count to itself."""
    monkeypatch.setattr(progress, "LONG_EPISODE", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.02)
    out = io.StringIO()
    monitor = ProgressMonitor(Console(file=out, force_terminal=True, width=200), 1, 80, "mean return")
    shown: list[tuple[int, str]] = []
    monkeypatch.setattr(monitor._face, "show", lambda done, text: shown.append((done, text)))
    repertory.live(repertory.tasks([Slow]), "random", 1, blocks=1, block_steps=80, monitors=[monitor])
    told = [(done, re.search(r"under way( for 0 s)?: (\d+) step", text)) for done, text in shown]
    found = [(done - 40 * bool(match[1]), int(match[2])) for done, match in told if match]
    assert len(set(found)) >= 3
    assert all(done == inside for done, inside in found)
    assert shown[-1][0] == 80
    compiled = ProgressMonitor(Console(file=io.StringIO(), force_terminal=True), 30, 60, "mean return")
    live(monitors=[compiled])
    assert compiled._lifetime is not None
    assert compiled._lifetime.steps_under_way is None


def test_a_terminal_has_a_bar_that_ends_full() -> None:
    out = io.StringIO()
    monitor = ProgressMonitor(Console(file=out, force_terminal=True, width=120), 30, 60, "mean return")
    live(monitors=[monitor])
    assert "block 30/30" in out.getvalue()
    assert monitor._now("")[0] == 30 * 60
    monitor.close()  # again does nothing


def test_a_notebook_has_one_output_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    place = types.SimpleNamespace(update=lambda value: shown.append(value))
    display = types.SimpleNamespace(HTML=str, display=lambda value, display_id: place)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    console = Console(force_jupyter=True, file=io.StringIO())
    live(monitors=[ProgressMonitor(console, 30, 60, "mean return")])
    assert f'<progress max="{30 * 60}" value="{30 * 60}"' in shown[-1]
    assert "block 30/30" in shown[-1]


def test_a_record_in_a_notebook() -> None:
    record = live()
    text = record._repr_html_()
    assert "3 policies of random, 27 tasks, 30 blocks" in text
    assert f"{record.lifetime_score:.4g}" in text
    assert text.count('<th scope="row">') == 3
    assert "<polyline" in text
    assert repr(repertory.live("cartpole27", "random", 1, blocks=1, block_steps=9)).startswith(
        "Record of 1 block of cartpole27 with 1 policy, score"
    )


def test_figures_of_a_record(tmp_path: Path) -> None:
    record = live()
    whole, tasks = record.plot(), record.plot_tasks()
    scores, shares = whole.axes[:2]
    np.testing.assert_allclose(scores.collections[0].get_offsets()[:, 1], record.blocks["mean_return"])
    labels = [label.get_text() for label in shares.get_yticklabels()]
    assert labels[5] == "5: 0.5 0.1 2"  # the task's number, and its masses and length
    panels = [axes for axes in tasks.axes if axes.get_visible()]
    assert len(panels) == 27
    for task, axes in enumerate(panels):
        own = record.blocks[record.blocks["task"] == task]
        np.testing.assert_allclose(axes.lines[0].get_ydata(), own["mean_return"])
    assert whole._repr_png_().startswith(b"\x89PNG")
    tasks.savefig(tmp_path / "tasks.png")
    many = repertory.live("cartpole125", "random", 2, blocks=30, block_steps=60)
    image = np.ma.filled(many.plot_tasks().axes[0].images[0].get_array(), np.nan)
    assert image.shape == (125, 15)
    assert np.isfinite(image).any(axis=1).sum() == many.blocks["task"].nunique()


def test_event_files_from_python(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    live(tensorboard=tmp_path / "logs")
    assert list((tmp_path / "logs" / "tensorboard").glob("events.*"))
    live(out=tmp_path / "run", tensorboard=True)
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))
    with pytest.raises(UsageError, match="give out="):
        live(tensorboard=True)


def test_tasks_of_ones_own_end_within_minutes() -> None:
    assert catalogue.lengths("cartpole27") == (675, 60_000)
    for n_tasks, blocks in ((1, 50), (10, 50), (11, 55), (100, 500)):
        assert catalogue.lengths("a user's own", n_tasks) == (blocks, 2_000)
