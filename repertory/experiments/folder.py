"""A run folder: what running leaves on disk and reporting reads.

    run.json                  settings, seed, versions; written first
    checkpoint.npz            everything, so that the run can go on or its policies be used
    checkpoint-previous.npz   the one before
    blocks.parquet            a row per block, rewritten as the lifetime goes on
    time.json                 the time that the run has used
    lifetime.png              the score over the lifetime and the task-to-policy map
    done                      written last, with a checksum of blocks.parquet
    lock                      held by the process that lives the run

Every file is written under a temporary name and renamed, so a reader never sees half of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from repertory.errors import UsageError
from repertory.experiments.checkpoint import (
    Checkpoint,
    DamagedCheckpoint,
    previous_path,
    read_checkpoint,
    write_checkpoint,
)

RECORDED_PACKAGES = ("repertory", "numpy", "numba", "gymnasium", "pandas")
RECORDED_IF_THERE = ("torch", "stable-baselines3", "sb3-contrib")
SHOWN_DIFFERENCES = 4
RUN_FILE, BLOCKS_FILE, DONE_FILE = "run.json", "blocks.parquet", "done"
PART = ".part"
"""The ending of a file that is being written."""


class FolderInUse(UsageError):
    """Another process lives the run."""


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
                content = {"settings": settings, "versions": versions()}
                self.write(self._run_file, lambda path: path.write_text(json.dumps(content, indent=2) + "\n"))
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
        """Whether this is what a run leaves that died before it had begun."""
        return file == self._lock_file or file.name.endswith(PART)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; another process that tries meanwhile is refused. Death lets go of it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self._lock_file.open("a")
        except OSError as error:
            raise _unwritable(self.path, error) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderInUse(f"another process is living the run in {self.path}; wait for it or stop it") from None
            yield

    def _check_same(self, settings: dict[str, Any], is_described: bool) -> None:
        held = self.settings()
        if held != settings:
            different = list(differences(held, settings))
            shown = "; ".join(different[:SHOWN_DIFFERENCES])
            more = f"; and {len(different) - SHOWN_DIFFERENCES} more" if len(different) > SHOWN_DIFFERENCES else ""
            raise UsageError(f"{self.path} holds a run with other settings ({shown}{more}); choose another --out")
        if not is_described:
            raise UsageError(f"{self.path} holds a run that may have had other code behind it; choose another --out")

    def settings(self) -> dict[str, Any]:
        try:
            settings = json.loads(self._run_file.read_bytes())["settings"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self._run_file} cannot be read ({error}); choose another --out") from None
        if not isinstance(settings, dict):
            raise UsageError(f"{self._run_file} cannot be read (no settings in it); choose another --out")
        return settings

    def versions(self) -> dict[str, str]:
        """Of the packages that the run began with; empty if that cannot be read."""
        try:
            found = json.loads(self._run_file.read_bytes())["versions"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}

    # ---- how far it has come

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        write_checkpoint(self._checkpoint_file, checkpoint)

    def newest_checkpoint(self, settings: dict[str, Any]) -> tuple[Checkpoint | None, list[str]]:
        """The newest good checkpoint of this run, and what was wrong with newer ones."""
        problems = []
        for path in (self._checkpoint_file, previous_path(self._checkpoint_file)):
            try:
                checkpoint = read_checkpoint(path)
            except FileNotFoundError:
                continue
            except DamagedCheckpoint as damage:
                problems.append(str(damage))
                continue
            if checkpoint.values.get("settings") == plain(settings):
                return checkpoint, problems
            problems.append(f"{path} belongs to another run")
        return None, problems

    def write_blocks(self, blocks: pd.DataFrame) -> None:
        self.write(self._blocks_file, lambda path: blocks.to_parquet(path, index=False))

    def read_blocks(self) -> pd.DataFrame:
        return pd.read_parquet(self._blocks_file)

    def finish(self) -> None:
        content = json.dumps({"blocks": self.blocks_checksum()})
        self.write(self._done_file, lambda path: path.write_text(content))

    @property
    def is_done(self) -> bool:
        """Whether the run is over and its blocks are as they were left."""
        try:
            return json.loads(self._done_file.read_bytes())["blocks"] == self.blocks_checksum()
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @property
    def was_lived_in(self) -> bool:
        """Whether a process has lived a run here; records that were copied here have no lock."""
        return self._lock_file.exists()

    def holds_finished(self, settings: dict[str, Any]) -> bool:
        """Whether this very run is here and over."""
        return self.is_done and self.settings() == plain(settings)

    def blocks_checksum(self) -> str:
        return hashlib.sha256(self._blocks_file.read_bytes()).hexdigest()

    def write(self, path: Path, write: Callable[[Path], Any]) -> None:
        """Write a file under a temporary name, then give it its own."""
        temporary = path.with_name(path.name + PART)
        try:
            write(temporary)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    return json.loads(json.dumps(settings))


def versions() -> dict[str, str]:
    """Of Python and the packages that decide results."""
    found = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # run from source
            found[package] = "not installed"
    for package in RECORDED_IF_THERE:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


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
    return UsageError(f"cannot write to {path}: {error.strerror}; choose another --out or mend its permissions")
