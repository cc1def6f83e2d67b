"""Sweeps: all runs get lived, whatever befalls some of them, and a sweep goes on where it was stopped."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

import repertory
from repertory.cli.sweep_display import SweepDisplay, print_scores
from repertory.errors import UsageError
from repertory.runs.folder import RunFolder
from repertory.runs.provenance import this_code
from repertory.runs.spec import run_spec
from repertory.runs.status import DIVERGED, ELSEWHERE, FINISHED, INTERRUPTED, RUNNING, STOPPED, Status, read_status
from repertory.sweeps.job import Job, run_job
from repertory.sweeps.local_engine import LocalEngine
from repertory.sweeps.results import read_results
from repertory.sweeps.reuse import reuse
from repertory.sweeps.sweep import Sweep, claim, live_sweep, make_engine, read_sweep
from tests.waiting import wait_until

SWEEP = Sweep("cartpole27", scale=0.01, blocks=4)
COMMAND = [sys.executable, "-c", "from repertory.cli import main; main()", "reproduce"]


def jobs_of(out: Path, conditions: tuple[str, ...] = ("UnadaptiveDQN2P",), runs: int = 2) -> list[Job]:
    return [SWEEP.job(out, SWEEP.data.conditions[name], run) for run in range(runs) for name in conditions]


def job(out: Path, name: str, blocks: int = 3, **learner: object) -> Job:
    settings = repertory.DQN(learning_starts=50, **learner)
    spec = run_spec("cartpole27", settings, 2, "fixed-partition", blocks=blocks, block_steps=300)
    return Job(name, str(out / name / "run-00"), spec.to_json())


def silent() -> SweepDisplay:
    return SweepDisplay(Console(quiet=True))


def test_a_sweep_is_its_runs(tmp_path: Path) -> None:
    """Two processes at a time leave exactly what one run after another leaves."""
    claim(tmp_path / "sweep", SWEEP)
    jobs = jobs_of(tmp_path / "sweep")
    standing = live_sweep(jobs, LocalEngine(2), silent())
    assert {status.state for status in standing.values()} == {FINISHED}
    for own, alone in zip(jobs, jobs_of(tmp_path / "alone"), strict=True):
        assert run_job(alone).state == FINISHED
        one, other = (pd.read_parquet(Path(j.folder) / "blocks.parquet") for j in (own, alone))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    results = read_results(tmp_path / "sweep")
    assert [run.number for run in results.by_condition["UnadaptiveDQN2P"]] == [0, 1]
    screen = io.StringIO()
    print_scores(Console(file=screen), results)
    assert "118.8 ± 31.1" in screen.getvalue()
    written = {job.folder: os.stat(Path(job.folder) / "blocks.parquet").st_mtime_ns for job in jobs}
    again = live_sweep(jobs, LocalEngine(2), silent())  # nothing to do
    assert {status.state for status in again.values()} == {FINISHED}
    assert written == {job.folder: os.stat(Path(job.folder) / "blocks.parquet").st_mtime_ns for job in jobs}


def test_a_diverged_run_does_not_stop_the_others(tmp_path: Path) -> None:
    wild = job(tmp_path, "wild", learning_rate=1e30, optimizer_eps=1e10)
    tame = job(tmp_path, "tame")
    wrong = Job("wrong", str(tmp_path / "wrong" / "run-00"), {**tame.spec, "learner": {"name": "dnq"}})
    standing = live_sweep([wild, wrong, tame], LocalEngine(1), silent())
    assert standing[wild.folder].state == DIVERGED
    assert "policy" in standing[wild.folder].message
    assert "block" in standing[wild.folder].message
    assert standing[wrong.folder].state == STOPPED
    assert "did you mean 'dqn'" in standing[wrong.folder].message
    assert standing[tame.folder].state == FINISHED
    assert read_status(Path(wild.folder)).state == DIVERGED
    ended = read_status(Path(wild.folder)).time
    live_sweep([wild], LocalEngine(1), silent())  # it would diverge again: not lived
    assert read_status(Path(wild.folder)).time == ended


def test_a_killed_worker_is_started_again(tmp_path: Path) -> None:
    long = job(tmp_path, "long", blocks=400)
    engine = LocalEngine(1)
    killed = 0
    for outcome in engine.outcomes([long]):
        status = read_status(Path(long.folder))
        if outcome is None and status is not None and status.state == "running" and not killed:
            os.kill(status.process, signal.SIGKILL)
            killed += 1
        elif outcome is not None:
            assert outcome[1].state == FINISHED
    assert killed == 1


def test_ctrl_c_saves_every_run_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    arguments = ["cartpole27", "--conditions", "UnadaptiveDQN2P", "--runs", "0-1", "--scale", "0.01"]
    arguments += ["--blocks", "300000", "--workers", "2", "--out", str(out)]  # never to be over before it is stopped
    process = subprocess.Popen(
        COMMAND + arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore Ctrl-C
    )
    folders = [out / "UnadaptiveDQN2P" / f"run-0{run}" for run in range(2)]
    wait_until(lambda: all((status := read_status(f)) and status.blocks > 0 for f in folders))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=180)
    assert process.returncode == 130, errors
    assert "the same command resumes" in output.replace("\n", " ")
    assert [read_status(folder).state for folder in folders] == ["interrupted", "interrupted"]
    assert all((folder / "checkpoint.npz").exists() for folder in folders)
    before = [len(RunFolder(folder).read_blocks()) for folder in folders]
    process = subprocess.Popen(COMMAND + arguments, stdout=subprocess.DEVNULL)
    wait_until(lambda: all(read_status(f).blocks > b for f, b in zip(folders, before, strict=True)))
    process.kill()  # a sweep that dies takes its workers along, saved
    process.wait()
    wait_until(lambda: all(read_status(f).state == "interrupted" for f in folders))


def test_a_folder_of_another_sweep_is_refused(tmp_path: Path) -> None:
    claim(tmp_path / "sweep", SWEEP)
    claim(tmp_path / "sweep", SWEEP)
    assert read_sweep(tmp_path / "sweep") == SWEEP
    with pytest.raises(UsageError, match=r"scale: 0.01 there, 0.5 given"):
        claim(tmp_path / "sweep", Sweep("cartpole27", scale=0.5, blocks=4))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="not empty"):
        claim(tmp_path / "full", SWEEP)
    for content in ("", "{}", "[1]", json.dumps({"experiment": "none"}), '{"experiment": "ucb", "scale": "x"}'):
        (tmp_path / "sweep" / "sweep.json").write_text(content)
        with pytest.raises(UsageError):
            read_sweep(tmp_path / "sweep")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cartpol27"], "unknown experiment 'cartpol27'; did you mean 'cartpole27'"),
        (["cartpole27", "--conditions", "Nope*"], "unknown condition"),
        (["cartpole27", "--runs", "x"], "--runs is 'x'"),
        (["cartpole27", "--scale", "0"], "--scale is 0.0"),
        (["cartpole27", "--scale", "nan"], "--scale is nan"),
        (["cartpole27", "--blocks", "0"], "--blocks is 0"),
        (["cartpole27", "--seed", "-1"], "--seed is -1"),
        (["cartpole27", "--scale", "1e305"], "--scale is 1e+305"),
        (["cartpole27", "--runs", "0-99999999"], "at most 100000 runs"),
        (["cartpole27", "--workers", "0"], "--workers is 0"),
        (["cartpole27", "--engine", "cloud"], "unknown engine 'cloud'"),
        (["cartpole27", "--profile", "txt"], "unknown profile 'txt'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments: list[str], message: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = subprocess.run([*COMMAND, *arguments, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_engines_by_name() -> None:
    assert make_engine("local", 3).workers == 3
    assert make_engine("local", None).workers >= 1


def test_a_finished_run_counts_whatever_it_said_last(tmp_path: Path) -> None:
    """Death between `done` and the last word, or another sweep that was faster."""
    done = job(tmp_path, "tame")
    assert run_job(done).state == FINISHED
    status = json.loads((Path(done.folder) / "status.json").read_text())
    (Path(done.folder) / "status.json").write_text(json.dumps(status | {"state": "running"}))
    assert live_sweep([done], LocalEngine(1), silent())[done.folder].state == FINISHED
    assert run_job(done).state == FINISHED


def test_what_died_in_the_middle_of_a_claim_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json.123.part").write_text("{")
    claim(tmp_path / "sweep", SWEEP)
    half = job(tmp_path, "half")
    Path(half.folder).mkdir(parents=True)
    (Path(half.folder) / "run.json.part").write_text("{")
    assert run_job(half).state == FINISHED


def test_a_worker_that_dies_at_once_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    standing = live_sweep([job(tmp_path, "tame")], LocalEngine(1), silent())
    (status,) = standing.values()
    assert status.state == STOPPED
    assert "ended with status 1, 3 times" in status.message


@pytest.mark.parametrize(
    ("state", "age", "speed"), [(RUNNING, 0.0, "5,000"), (RUNNING, 3_600.0, "0"), (INTERRUPTED, 0.0, "0")]
)
def test_what_was_lived_counts_whether_or_not_the_run_is_moving(
    state: str, age: float, speed: str, tmp_path: Path
) -> None:
    """A run that stands still (a paused process, a machine that sleeps) keeps its share of the steps."""
    half_way = job(tmp_path, "half way", blocks=8)
    Path(half_way.folder).mkdir(parents=True)
    status = Status(state, blocks=4.0, steps_per_second=5_000.0, time=time.time() - age)
    (Path(half_way.folder) / "status.json").write_text(json.dumps(asdict(status)))
    printed = io.StringIO()
    display = SweepDisplay(Console(file=printed, width=200))
    display.begin([half_way], {}, 1)
    display.tick()
    assert f"50.0% of the steps, {speed} steps/s" in printed.getvalue()


def test_a_run_that_another_process_has_is_not_called_failed(tmp_path: Path) -> None:
    busy = job(tmp_path, "busy", blocks=8)
    with RunFolder(Path(busy.folder)).locked():
        status = run_job(busy)
    assert status.state == ELSEWHERE
    now = Status(RUNNING, blocks=4.0, steps_per_second=5_000.0, time=time.time())
    (Path(busy.folder) / "status.json").write_text(json.dumps(asdict(now)))
    printed = io.StringIO()
    display = SweepDisplay(Console(file=printed, width=200))
    display.begin([busy], {}, 1)
    display.ended(busy, status)
    display.tick()
    assert "elsewhere: another process is running" in printed.getvalue()
    assert "0 of 1 run finished, 50.0% of the steps, 5,000 steps/s" in printed.getvalue()


def test_runs_of_another_experiment_are_taken_instead_of_run(tmp_path: Path) -> None:
    """Whatever they are called there; only finished ones of the same settings, and only where none has begun."""
    known = jobs_of(tmp_path / "known", runs=4)
    for each in known[:3]:
        assert run_job(each).state == FINISHED
    (Path(known[1].folder) / "blocks.parquet").write_bytes(b"altered")
    out = tmp_path / "new"
    renamed = [replace(each, folder=str(out / "Other" / f"run-{each.run:02d}")) for each in known]
    other_settings = job(out, "tame")
    RunFolder(Path(renamed[2].folder)).claim(renamed[2].spec)
    assert reuse([*renamed, other_settings], tmp_path) == [renamed[0]]
    copied = RunFolder(Path(renamed[0].folder))
    assert copied.holds_finished(known[0].spec)
    assert copied.blocks_checksum() == RunFolder(Path(known[0].folder)).blocks_checksum()
    assert not copied.was_run_here  # a record, without policies
    assert live_sweep(renamed[:1], LocalEngine(1), silent())[renamed[0].folder].state == FINISHED


def test_of_two_records_of_a_run_that_of_todays_code_is_taken(tmp_path: Path) -> None:
    """Wherever they stand: another rule may have made the other one."""
    for name in ("a", "b", "c"):
        (known,) = jobs_of(tmp_path / name, runs=1)
        assert run_job(known).state == FINISHED
        folder = RunFolder(Path(known.folder))
        if name != "b":
            other = [replace(maker, source="of other code") for maker in folder.run_file().made_by]
            folder.write_run_file(replace(folder.run_file(), made_by=tuple(other)))
    new = replace(known, folder=str(tmp_path / "new" / "run-00"))
    assert reuse([new], tmp_path) == [new]
    assert RunFolder(Path(new.folder)).run_file().made_by[0].is_same_code(this_code())


def test_a_folder_to_take_runs_from_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        repertory.sweep("cartpole27", runs=[0], blocks=1, out=tmp_path / "new", reuse=tmp_path / "nowhere")
    assert not (tmp_path / "new").exists()
