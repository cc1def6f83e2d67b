"""`repertory export`: the records of finished runs without their policies, to be stored, committed or sent.

Of each finished run a few tens of kilobytes are copied: settings and versions (`run.json`), a row per block
(`blocks.parquet`), the checksum of a finished run (`done`), the time it used (`time.json`), and the few numbers
that need its policies (`summary.json`); of a sweep `sweep.json` as well. Reports and claims need no more.
Nothing in them tells where on a machine a run was run.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from repertory.errors import UsageError
from repertory.paths import cannot_write, check_new_folder, existing_folder
from repertory.runs.folder import BLOCKS_FILE, DONE_FILE, RUN_FILE, RunFolder, run_folders
from repertory.runs.summary import SUMMARY_FILE
from repertory.runs.timing import FILE_NAME as TIME_FILE
from repertory.runs.timing import time_used, write_time
from repertory.sweeps.sweep import FILE_NAME as SWEEP_FILE
from repertory.sweeps.sweep import claim, read_sweep

RECORD_FILES = (RUN_FILE, BLOCKS_FILE, TIME_FILE, SUMMARY_FILE, DONE_FILE)


@dataclass
class Exported:
    """What came of an export."""

    runs: int = 0
    bytes: int = 0
    """Of all files of these runs in the target."""
    left_out: list[str] = field(default_factory=list)
    """Runs that are not finished or were altered, and why."""


def export(source: Path, target: Path) -> Exported:
    """Copy the records of all finished runs in `source` (a run, a sweep, a folder of them) to `target`.

    What `target` holds of other sweeps and runs is never overwritten; runs that are there already are copied again, so
    that a sweep can be exported as it grows.
    """
    _check_folders(source, target)
    exported = Exported()
    finished = [path for path in run_folders(source) if _is_finished(path, exported)]
    if not finished:
        reason = f" ({exported.left_out[0]})" if exported.left_out else ""
        raise UsageError(f"{source} holds no finished run{reason}; next: finish one, or wait for it")
    for path in finished:
        _refuse_others(RunFolder(path), RunFolder(target / path.relative_to(source)))
    homes = [file.parent for file in sorted(source.rglob(SWEEP_FILE))]
    sweeps = {home: read_sweep(home) for home in homes if any(path.is_relative_to(home) for path in finished)}
    for home, sweep in sweeps.items():
        claim(target / home.relative_to(source), sweep)
    for path in finished:
        exported.bytes += copy_record(RunFolder(path), RunFolder(target / path.relative_to(source)))
        exported.runs += 1
    return exported


def _check_folders(source: Path, target: Path) -> None:
    existing_folder(source, "valid: the folder of a run or of a sweep")
    check_new_folder(target, "target")
    inner, outer = target.resolve(), source.resolve()
    if inner == outer or inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise UsageError(f"{target} and {source} lie one within the other; choose a target outside of the source")


def _is_finished(path: Path, exported: Exported) -> bool:
    folder = RunFolder(path)
    if folder.is_done:
        try:
            folder.settings()
            folder.read_blocks()
        except (OSError, ValueError) as reason:  # whatever the checksum says
            exported.left_out.append(str(reason))
            return False
        return True
    if (path / DONE_FILE).exists():
        exported.left_out.append(
            f"{path} is finished, but its {BLOCKS_FILE} does not match the checksum in '{DONE_FILE}'"
        )
    else:
        exported.left_out.append(f"{path} is not finished")
    return False


def _refuse_others(source: RunFolder, target: RunFolder) -> None:
    """Fail if the target is another run's, holds other blocks of this one, or is running it itself."""
    target.refuse_others(source.settings())
    if target.was_run_here and not target.is_done:
        raise UsageError(f"{target.path} holds this run, begun there and not finished; choose another target")
    if target.is_done and target.blocks_checksum() != source.blocks_checksum():
        raise UsageError(f"{target.path} holds this run with other blocks (made by other code); choose another target")


def copy_record(source: RunFolder, target: RunFolder) -> int:
    """Copy what reports need of a finished run, `done` last; how many bytes it has."""
    try:
        target.path.mkdir(parents=True, exist_ok=True)
        for name in (RUN_FILE, BLOCKS_FILE):
            _copy_file(source, target, name)
        used = time_used(source.path, int(source.read_blocks()["steps"].sum()))
        if used is not None:
            write_time(target, used)
        if (source.path / SUMMARY_FILE).exists():
            _copy_file(source, target, SUMMARY_FILE)
        _copy_file(source, target, DONE_FILE)
    except OSError as error:
        raise cannot_write(target.path, error, "target") from None
    if not target.is_done:
        raise UsageError(f"the copy in {target.path} does not match its checksum; check the disk and export again")
    return sum((target.path / name).stat().st_size for name in RECORD_FILES if (target.path / name).exists())


def _copy_file(source: RunFolder, target: RunFolder, name: str) -> None:
    target.write(target.path / name, lambda part: shutil.copyfile(source.path / name, part))
