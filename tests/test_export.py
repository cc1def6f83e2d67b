"""Exported records: all that reports need and nothing else, whole, and never in place of others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import repertory
from repertory.errors import UsageError
from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.report import claim_tests
from repertory.report.claims import claim_rows, judge, read_all_results
from repertory.report.page import page_content, write_report
from repertory.report.sections import chapters
from repertory.runs.folder import RunFolder
from repertory.runs.opened import open_run
from repertory.runs.summary import run_spread
from repertory.runs.timing import FROM_SPEED, MEASURED, read_kept
from repertory.sweeps.export import RECORD_FILES, export
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep, claim, run_path
from tests.records import CONDITIONS, HOST, write_sweep


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("source") / "sweep")


def content(folder: Path) -> dict[Path, tuple[bytes, int]]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_records_alone_give_the_same_report_and_claims(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(sweep)
    exported = export(sweep, tmp_path / "sweep")
    assert content(sweep) == before
    assert (exported.runs, exported.left_out) == (2 * len(CONDITIONS), [])
    files = [file for file in (tmp_path / "sweep").rglob("*") if file.is_file()]
    assert {file.name for file in files} <= {*RECORD_FILES, "sweep.json"}
    assert exported.bytes == sum(file.stat().st_size for file in files if file.name != "sweep.json")
    assert not [
        file for file in files if HOST.encode() in file.read_bytes() or str(tmp_path).encode() in file.read_bytes()
    ]

    one, other = read_results(sweep), read_results(tmp_path / "sweep")
    monkeypatch.setattr(claim_tests, "memory_table", partial(memory_table, GrowingLibrary(runs=5)))
    shown = [
        json.dumps(page_content(results, chapters(results))).replace(str(results.path), "FOLDER")
        for results in (one, other)
    ]
    assert shown[0] == shown[1]
    frames = [
        pd.DataFrame(claim_rows(judge(read_all_results(path)))).drop(columns="command")
        for path in (sweep, tmp_path / "sweep")
    ]
    pd.testing.assert_frame_equal(*frames)
    assert write_report(other, tmp_path / "report").exists()


def test_the_time_goes_with_the_records(sweep: Path, tmp_path: Path) -> None:
    export(sweep, tmp_path / "sweep")
    kept = [read_kept(run_path(tmp_path / "sweep", CONDITIONS[0], run)) for run in range(2)]
    assert [used.source for used in kept if used is not None] == [FROM_SPEED, MEASURED]


def test_a_run_with_policies_leaves_what_only_they_tell(tmp_path: Path) -> None:
    source, target = tmp_path / "run", tmp_path / "records"
    learner = repertory.DQN(buffer_size=1000)
    repertory.live("cartpole27", learner, 2, blocks=2, block_steps=100, out=source)
    before = content(source)
    assert export(source, target).runs == 1
    assert content(source) == before
    assert sorted(file.name for file in target.iterdir()) == sorted(RECORD_FILES)
    assert run_spread(target) == pytest.approx(run_spread(source))
    assert RunFolder(target).is_done
    with pytest.raises(UsageError, match="records of a finished run without its policies"):
        open_run(target)
    with pytest.raises(UsageError, match="holds this run, finished"):
        repertory.live("cartpole27", learner, 2, blocks=2, block_steps=100, out=target)


def test_only_whole_finished_runs_are_copied(sweep: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(sweep, source)
    (run_path(source, CONDITIONS[0], 0) / "done").unlink()
    damaged = run_path(source, CONDITIONS[1], 1) / "blocks.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9] + b"other    ")
    exported = export(source, tmp_path / "target")
    assert exported.runs == 2 * len(CONDITIONS) - 2
    assert [reason.split(" is ")[1].split(",")[0] for reason in exported.left_out] == ["not finished", "finished"]
    assert "does not match the checksum" in exported.left_out[1]
    for file in source.rglob("done"):
        file.unlink()
    with pytest.raises(UsageError, match="holds no finished run"):
        export(source, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_sweep_can_be_exported_again_as_it_grows(sweep: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(sweep, source)
    (run_path(source, CONDITIONS[0], 1) / "done").rename(tmp_path / "done")
    export(source, target)
    first = {file: data for file, (data, _time) in content(target).items()}
    (tmp_path / "done").rename(run_path(source, CONDITIONS[0], 1) / "done")
    assert export(source, target).runs == 2 * len(CONDITIONS)
    again = {file: data for file, (data, _time) in content(target).items()}
    assert first.items() < again.items()
    assert export(target, tmp_path / "copy of the copy").runs == 2 * len(CONDITIONS)


def test_other_records_are_never_overwritten(sweep: Path, tmp_path: Path) -> None:
    claim(tmp_path / "other", Sweep("cartpole27", "text"))
    with pytest.raises(UsageError, match="holds another sweep"):
        export(sweep, tmp_path / "other")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="holds no sweep"):
        export(sweep, tmp_path / "thesis")
    one = run_path(sweep, CONDITIONS[0], 0)
    with pytest.raises(UsageError, match="holds a run with other settings"):
        export(run_path(sweep, CONDITIONS[0], 1), export_of(one, tmp_path / "run"))
    relived = tmp_path / "relived"
    shutil.copytree(one, relived)
    RunFolder(relived).write_blocks(RunFolder(one).read_blocks().assign(mean_return=1.0))
    RunFolder(relived).finish()
    with pytest.raises(UsageError, match="holds this run with other blocks"):
        export(relived, tmp_path / "run")
    (relived / "done").unlink()
    with pytest.raises(UsageError, match="begun there and not finished"):
        export(one, relived)
    for target in (sweep, sweep / "inside", sweep.parent):
        with pytest.raises(UsageError, match="one within the other"):
            export(sweep, target)


def export_of(source: Path, target: Path) -> Path:
    export(source, target)
    return target


def test_the_command(sweep: Path, tmp_path: Path) -> None:
    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        start = [sys.executable, "-c", "from repertory.cli import main; main()", "export"]
        return subprocess.run([*start, *map(str, arguments)], capture_output=True, text=True, check=False)

    done = command(sweep, tmp_path / "target")
    assert done.returncode == 0
    assert "holds the records of 8 runs" in done.stdout
    wrong = command(tmp_path / "nothing", tmp_path / "target")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("repertory: ")
    assert wrong.stderr.count("\n") == 1
