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

    def claim(self, settings: dict[str, Any]) -> None:
        """Make the folder this run's, or fail if it is another's; nothing in it is overwritten then."""
        settings = json.loads(json.dumps(settings))
        if self._run_file.exists():
            held = self.settings()
            if held != settings:
                raise UsageError(
                    f"{self.path} holds a run with other settings ({_first_difference(held, settings)}); "
                    "choose another --out"
                )
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                raise UsageError(f"{self.path} is not empty and holds no run; choose another --out")
            content = {"settings": settings, "versions": versions()}
            self._write(self._run_file, lambda path: path.write_text(json.dumps(content, indent=2) + "\n"))
        except OSError as error:
            raise UsageError(
                f"cannot write to {self.path}: {error.strerror}; choose another --out or mend its permissions"
            ) from None

    def settings(self) -> dict[str, Any]:
        try:
            return json.loads(self._run_file.read_text())["settings"]
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{self._run_file} cannot be read ({error}); choose another --out") from None

    @property
    def is_done(self) -> bool:
        return self._done_file.exists()

    def write_blocks(self, blocks: pd.DataFrame) -> None:
        self._write(self._blocks_file, lambda path: blocks.to_parquet(path, index=False))

    def read_blocks(self) -> pd.DataFrame:
        return pd.read_parquet(self._blocks_file)

    def finish(self) -> None:
        self._write(self._done_file, lambda path: path.write_text(""))

    def _write(self, path: Path, write: Callable[[Path], Any]) -> None:
        temporary = path.with_name(path.name + ".part")
        write(temporary)
        os.replace(temporary, path)


def versions() -> dict[str, str]:
    """Of Python and the packages that decide results."""
    return {"python": platform.python_version()} | {
        package: importlib.metadata.version(package) for package in RECORDED_PACKAGES
    }


def _first_difference(held: Any, given: Any, name: str = "") -> str:
    """`learner.learning_rate: 0.1 there, 0.05 given`."""
    if isinstance(held, dict) and isinstance(given, dict):
        for key in [*held, *(key for key in given if key not in held)]:
            if held.get(key) != given.get(key):
                return _first_difference(held.get(key), given.get(key), f"{name}.{key}" if name else key)
    return f"{name}: {held!r} there, {given!r} given"
