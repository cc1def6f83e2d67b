"""Weights & Biases hear what the record holds, by `--wandb`, `live(wandb=...)` and a monitor: against a stand-in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repertory
from repertory.cli import main
from repertory.errors import UsageError
from repertory.sweeps.job import run_job
from repertory.sweeps.run_sweep import prepare
from repertory.sweeps.sweep import Sweep

RUN = "run --domain cartpole27 --learner random --policies 2 --block-steps 60"


def live(**options: Any) -> repertory.Record:
    return repertory.live("cartpole27", "random", 3, blocks=30, block_steps=60, **options)


def status_of(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of a command, here and not in a process of its own, which would not see the stand-in."""
    monkeypatch.setattr(sys, "argv", ["repertory", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


class StandIn:
    """Takes what `wandb` takes."""

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.ended = 0

    def init(self, **given: Any) -> StandIn:
        self.begun.append(given)
        return self

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))

    def finish(self) -> None:
        self.ended += 1


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "wandb", stand_in)  # type: ignore[arg-type]
    return stand_in


def test_weights_and_biases_hear_the_record(wandb: StandIn) -> None:
    monitor = repertory.WandbMonitor("mine", mode="offline", config={"why": "test"})
    record = live(monitors=[monitor])
    assert [step for step, _ in wandb.logged] == record.blocks["steps"].cumsum().tolist()
    np.testing.assert_allclose([values["score"] for _, values in wandb.logged], record.blocks["mean_return"])
    (begun,) = wandb.begun
    assert (begun["project"], begun["mode"], begun["config"]["why"]) == ("mine", "offline", "test")
    assert begun["config"]["blocks"] == 30
    assert wandb.ended == 1


def test_weights_and_biases_by_a_word(wandb: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python and from the command line, with the run's settings; a run that goes on is the same run there."""
    monkeypatch.chdir(tmp_path)
    live(wandb=True)
    assert status_of(f"{RUN} --blocks 3 --out life --wandb mine", monkeypatch) == 0
    assert status_of("run --out life --blocks 5 --wandb mine", monkeypatch) == 0
    alone, first, second = wandb.begun
    assert (alone["project"], alone["config"]["learner"]["name"]) == ("repertory", "random")
    assert "id" not in alone
    assert (first["project"], first["name"], second["resume"]) == ("mine", "life", "allow")
    assert first["id"] == second["id"]
    steps = repertory.open("life").blocks["steps"].cumsum().tolist()
    assert [step for step, _values in wandb.logged[30:]] == steps
    assert wandb.ended == 3


def test_runs_of_a_sweep_are_told_apart(wandb: StandIn, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    one = 'One = { learner = "random", policies = 1 }'
    file.write_text(f'domain = "cartpole27"\nruns = 2\nblocks = 2\nblock_steps = 60\n[conditions]\n{one}\n')
    _path, jobs = prepare(Sweep.of(str(file)), None, [], tmp_path / "out", wandb="mine")
    assert {run_job(job).state for job in jobs} == {"finished"}
    assert [(begun["name"], begun["group"]) for begun in wandb.begun] == [("One 0", "One"), ("One 1", "One")]


def test_what_is_lacking_is_said_in_a_line_and_changes_nothing(
    wandb: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**given: Any) -> None:
        raise RuntimeError("No API key\nconfigured")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wandb, "init", refuse)
    assert status_of(f"{RUN} --blocks 3 --out life --wandb mine", monkeypatch) == 2
    assert "(No API key configured); next: wandb login" in capsys.readouterr().err
    assert status_of(f"{RUN} --blocks 3 --out life", monkeypatch) == 0
    monkeypatch.setitem(sys.modules, "wandb", None)
    for command in ("run --out life --blocks 9", f"{RUN} --blocks 3 --out other", "reproduce cartpole27 --out other"):
        capsys.readouterr()
        assert status_of(f"{command} --wandb mine", monkeypatch) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith("next: pip install 'repertory[wandb]'")
    assert not Path("other").exists()
    assert len(repertory.open("life").blocks) == 3
    for ask in (lambda: live(wandb="mine"), repertory.WandbMonitor):
        with pytest.raises(UsageError, match=r"repertory\[wandb\]"):
            ask()
    with pytest.raises(UsageError, match="goes by a name"):
        live(wandb="")
