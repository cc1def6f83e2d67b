"""A run folder: what running leaves on disk and reporting reads.

    run.json         settings, seed, versions; written first
    blocks.parquet   a row per block, rewritten as the lifetime goes on
    lifetime.png     the score over the lifetime and the task-to-policy map
    done             written last

Every file is written under a temporary name and renamed, so a reader never sees half of one.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from repertory.errors import UsageError

RECORDED_PACKAGES = ("repertory", "numpy", "numba", "gymnasium", "pandas")


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run_file = path / "run.json"
        self._blocks_file = path / "blocks.parquet"
        self._done_file = path / "done"
        self.figure_file = path / "lifetime.png"

    def claim(self, settings: dict[str, Any], is_described: bool = True) -> None:
        """Make the folder this run's, or fail if it is another's; nothing in it is overwritten then.

        A run whose components are the user's own code is not told apart by its settings, so its folder must be new.
        """
        settings = json.loads(json.dumps(settings))
        try:
            if self._run_file.exists():
                self._check_same(settings, is_described)
            else:
                self.path.mkdir(parents=True, exist_ok=True)
                if any(self.path.iterdir()):
                    raise UsageError(f"{self.path} is not empty and holds no run; choose another --out")
                content = {"settings": settings, "versions": versions()}
                self.write(self._run_file, lambda path: path.write_text(json.dumps(content, indent=2) + "\n"))
            self.write(self.path / "writable", lambda path: path.write_text(""))
            (self.path / "writable").unlink()
        except OSError as error:
            raise UsageError(
                f"cannot write to {self.path}: {error.strerror}; choose another --out or mend its permissions"
            ) from None

    def _check_same(self, settings: dict[str, Any], is_described: bool) -> None:
        held = self.settings()
        if held != settings:
            raise UsageError(
                f"{self.path} holds a run with other settings ({_first_difference(held, settings)}); "
                "choose another --out"
            )
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

    def holds_finished(self, settings: dict[str, Any]) -> bool:
        """Whether this very run is here and over."""
        return self.is_done and self.settings() == json.loads(json.dumps(settings))

    @property
    def is_done(self) -> bool:
        try:
            return self._done_file.exists()
        except OSError:  # a folder that cannot be looked into; `claim` says so
            return False

    def write_blocks(self, blocks: pd.DataFrame) -> None:
        self.write(self._blocks_file, lambda path: blocks.to_parquet(path, index=False))

    def read_blocks(self) -> pd.DataFrame:
        return pd.read_parquet(self._blocks_file)

    def finish(self) -> None:
        self.write(self._done_file, lambda path: path.write_text(""))

    def write(self, path: Path, write: Callable[[Path], Any]) -> None:
        """Write a file under a temporary name, then give it its own."""
        temporary = path.with_name(path.name + ".part")
        write(temporary)
        os.replace(temporary, path)


def versions() -> dict[str, str]:
    """Of Python and the packages that decide results."""
    found = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # run from source
            found[package] = "not installed"
    return found


def _first_difference(held: Any, given: Any, name: str = "") -> str:
    """`learner.learning_rate: 0.1 there, 0.05 given`."""
    if isinstance(held, dict) and isinstance(given, dict):
        for key in [*held, *(key for key in given if key not in held)]:
            if held.get(key) != given.get(key):
                return _first_difference(held.get(key), given.get(key), f"{name}.{key}" if name else key)
    return f"{name}: {held!r} there, {given!r} given"
