"""A run folder: what running writes and reporting reads.

    run.json                  settings, seed, and the code and machine that made the run; written first
    checkpoint.npz            everything, to resume the run or use its policies
    checkpoint-previous.npz   the checkpoint before that
    blocks.parquet            a row per block, rewritten while the run is running
    time.json                 the time that the run has used
    lifetime.png              the score over the lifetime and the task-to-policy map
    done                      written last, with a checksum of blocks.parquet
    lock                      held by the process that runs it

Every file is written under a temporary name and renamed, so a reader never sees half of one. What the files hold, and
how those of older versions are read, is in `formats`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import filelock
import pandas as pd

from repertory.errors import UsageError
from repertory.runs import formats
from repertory.runs.checkpoint import Checkpoint, DamagedCheckpoint, previous_path, read_checkpoint, write_checkpoint
from repertory.runs.formats import RunFile, checked_settings, goes_on, read_run_file, unknown_settings
from repertory.runs.provenance import MadeBy, this_code
from repertory.runs.reading import Unreadable, read_json

SHOWN_DIFFERENCES = 4
RUN_FILE, BLOCKS_FILE, DONE_FILE = "run.json", "blocks.parquet", "done"
PART = ".part"
"""The ending of a file that is being written."""


class FolderInUse(UsageError):
    """Another process has the run."""


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run_file = path / RUN_FILE
        self._blocks_file = path / BLOCKS_FILE
        self._checkpoint_file = path / "checkpoint.npz"
        self._done_file = path / DONE_FILE
        self._lock_file = path / "lock"
        self.figure_file = path / "lifetime.png"

    # ---- whose folder it is

    def claim(self, settings: dict[str, Any], is_described: bool = True) -> None:
        """Make the folder this run's, or fail if it is another's; nothing in it is overwritten then.

        A run with a component that its settings cannot tell from others (code that cannot be read) needs a new folder.
        """
        settings = plain(settings)
        self.refuse_others(settings, is_described)
        try:
            if not self._run_file.exists():
                self.path.mkdir(parents=True, exist_ok=True)
                self.write_run_file(RunFile(settings, (this_code(),)))
            self.write(self.path / "writable", lambda path: path.write_text(""))
            (self.path / "writable").unlink()
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def refuse_others(self, settings: dict[str, Any], is_described: bool = True) -> None:
        """Fail if the folder is another run's, or no run's; nothing is written."""
        try:
            if self._run_file.exists():
                self._check_same(plain(settings), is_described)
            elif self.path.exists() and any(not self._is_own(file) for file in self.path.iterdir()):
                raise UsageError(f"{self.path} is not empty and holds no run; choose another --out")
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _is_own(self, file: Path) -> bool:
        """Whether this is a file of a run that died before it began."""
        return file == self._lock_file or file.name.endswith(PART)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; another process that tries meanwhile is refused. The lock ends with the process."""
        lock = filelock.FileLock(self._lock_file)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise FolderInUse(f"another process is running the run in {self.path}; wait for it or stop it") from None
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            yield
        finally:
            lock.release()

    def _check_same(self, settings: dict[str, Any], is_described: bool) -> None:
        held = self.run_file()
        unknown = unknown_settings(held.settings)
        if unknown:
            raise UsageError(
                f"{self.path} holds a run with settings that this version does not have ({', '.join(unknown)}); next: "
                f"use repertory {held.made_by[-1].label if held.made_by else 'of the version that made it'}"
            )
        if held.settings != settings:
            different = list(differences(held.settings, settings))
            shown = "; ".join(different[:SHOWN_DIFFERENCES])
            more = f"; and {len(different) - SHOWN_DIFFERENCES} more" if len(different) > SHOWN_DIFFERENCES else ""
            raise UsageError(f"{self.path} holds a run with other settings ({shown}{more}); choose another --out")
        if not is_described:
            raise UsageError(f"{self.path} holds a run of code that cannot be compared with this; choose another --out")

    @property
    def holds_run(self) -> bool:
        """Whether a run has claimed the folder; false for a path that no folder can have."""
        return os.path.isfile(self._run_file)

    def run_file(self) -> RunFile:
        """What run.json says; fails, naming the field, if it cannot be used."""
        try:
            return read_run_file(self._run_file)
        except FileNotFoundError:
            raise UsageError(f"{self.path} holds no run; next: give a folder that 'repertory run --out' made") from None

    def write_run_file(self, content: RunFile) -> None:
        self.write(self._run_file, lambda path: path.write_text(content.text()))

    def settings(self) -> dict[str, Any]:
        """Of the run, with those added that an older version did not record."""
        return self.run_file().settings

    def resumed_at(self, block: int) -> None:
        """Record which code resumes the run at a block, if it is not the code that made it so far."""
        held = self.run_file()
        resumed = held.resumed_by(this_code(), block)
        if resumed != held:
            self.write_run_file(resumed)

    # ---- how far it has come

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        write_checkpoint(self._checkpoint_file, checkpoint)

    def newest_checkpoint(self, settings: dict[str, Any]) -> tuple[Checkpoint | None, list[str]]:
        """The newest good checkpoint of this run, and what was wrong with newer ones.

        It may be of the time when the run was meant to be shorter, or had fewer tasks.
        One that only another version can read is refused: the run is not to be started again.
        """
        problems = []
        for path in (self._checkpoint_file, previous_path(self._checkpoint_file)):
            try:
                checkpoint = read_checkpoint(path)
            except FileNotFoundError:
                continue
            except DamagedCheckpoint as damage:
                problems.append(str(damage))
                continue
            try:
                held = checked_settings(checkpoint.values.get("settings"), path)
            except Unreadable as error:
                problems.append(f"{path} is damaged ({error.reason})")
                continue
            if goes_on(held, plain(settings)):
                return checkpoint, problems
            problems.append(f"{path} belongs to another run")
        return None, problems

    def write_blocks(self, blocks: pd.DataFrame) -> None:
        self.write(self._blocks_file, lambda path: formats.write_blocks(blocks, path, this_code()))

    def read_blocks(self, settings: dict[str, Any] | None = None) -> pd.DataFrame:
        """The rows so far; a missing file is a FileNotFoundError. `settings` are the run's, if they are at hand."""
        return formats.read_blocks(self._blocks_file, self.settings() if settings is None else settings)

    @property
    def has_rows(self) -> bool:
        """Whether blocks of the run have been written: it is not to be started again over them."""
        try:
            return not self.read_blocks().empty
        except FileNotFoundError:
            return False
        except UsageError:  # rows that cannot be read are rows all the same
            return True

    def finish(self) -> None:
        self._write_done({"blocks": self.blocks_checksum()})

    def reopen(self) -> None:
        """The run goes on: it is not finished any more, and its picture is not of all of it."""
        self._done_file.unlink(missing_ok=True)
        self.figure_file.unlink(missing_ok=True)

    def _write_done(self, checksums: dict[str, str]) -> None:
        content = json.dumps({"format": formats.RUN_FORMAT, **checksums})
        self.write(self._done_file, lambda path: path.write_text(content))

    def rewrite_blocks(self, blocks: pd.DataFrame, maker: MadeBy) -> None:
        """Write the rows of a finished run again, in today's format; at no moment does it count as unfinished."""
        part = self._blocks_file.with_name(BLOCKS_FILE + PART)
        formats.write_blocks(blocks, part, maker)
        self._write_done({"blocks": _checksum(part), "blocks before": self.blocks_checksum()})
        os.replace(part, self._blocks_file)
        self.finish()

    @property
    def is_done(self) -> bool:
        """Whether the run is finished and its blocks match their checksum."""
        try:
            done = read_json(self._done_file)
            return self.blocks_checksum() in (done.get("blocks"), done.get("blocks before"))
        except (OSError, Unreadable):
            return False

    @property
    def was_run_here(self) -> bool:
        """Whether it was run here; records that were copied here have neither lock nor checkpoint."""
        return self._lock_file.exists() or self._checkpoint_file.exists()

    def holds_finished(self, settings: dict[str, Any]) -> bool:
        """Whether the folder holds this very run, finished."""
        return self.is_done and self.settings() == plain(settings)

    def blocks_checksum(self) -> str:
        return _checksum(self._blocks_file)

    def write(self, path: Path, write: Callable[[Path], Any]) -> None:
        """Write a file under a temporary name, then give it its own."""
        temporary = path.with_name(path.name + PART)
        try:
            write(temporary)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def run_folders(root: Path) -> list[Path]:
    """All run folders in a folder, at any depth, itself included."""
    return [file.parent for file in sorted(root.rglob(RUN_FILE))]


def _checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    copied: dict[str, Any] = json.loads(json.dumps(settings))
    return copied


def differences(held: Any, given: Any, name: str = "") -> Iterator[str]:
    """`learner.learning_rate: 0.1 there, 0.05 given`, one for each."""
    if isinstance(held, dict) and isinstance(given, dict):
        for key in [*held, *(key for key in given if key not in held)]:
            if held.get(key) != given.get(key):
                yield from differences(held.get(key), given.get(key), f"{name}.{key}" if name else key)
    else:
        yield f"{name}: {_short(held)} there, {_short(given)} given"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write to {path}: {error.strerror}; choose another --out or change its permissions")
