"""What made a record: the version, commit and source of the code, the packages it used, and the machine.

Two runs with the same settings are the same only if the same code made them; tables mark runs where it differed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from repertory.machine import processor_name, usable_cores

PACKAGES = ("numpy", "numba", "llvmlite", "gymnasium", "pandas", "pyarrow")
PACKAGES_IF_THERE = ("torch", "stable-baselines3", "sb3-contrib")
SHORT = 7
"""Digits of a commit or a source fingerprint that are shown."""
PRESENTATION = ("analysis", "benchmarks", "cli", "paper", "report", "sweeps", "testing")
"""Parts of the package that do not affect the results of a run."""


@dataclass(frozen=True)
class MadeBy:
    """The code and the machine behind a record, or a part of it."""

    version: str | None = None
    commit: str | None = None
    """Of the repository; None where the code was not in one and was not installed from one."""
    modified: bool = False
    """Whether the code had changes that are in no commit."""
    source: str | None = None
    """A fingerprint of the files that affect results: equal for equal code, whatever the commit."""
    packages: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    from_block: int = 0
    """The first block that was made so: a run may be resumed by other code."""

    @property
    def label(self) -> str:
        """`0.1.0 (838fd92)`, for tables."""
        known = "commit unknown" if self.commit is None else self.commit[:SHORT]
        return f"{self.version or 'version unknown'} ({known}{', modified' if self.modified else ''})"

    def is_same_code(self, other: MadeBy) -> bool:
        """Whether both would do the same, to the bit, as far as can be told."""
        mine, theirs = (maker.source or (maker.version, maker.commit, maker.modified) for maker in (self, other))
        shared = self.packages.keys() & other.packages.keys()  # PyTorch, say, may not have been there
        return mine == theirs and all(self.packages[name] == other.packages[name] for name in shared)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def note(self) -> dict[str, Any]:
        """The least that a file must say."""
        return {"version": self.version, "commit": self.commit}


def code_labels(makers: Iterable[MadeBy]) -> list[str]:
    """The different code behind some records, each once; with the source's fingerprint where no more tells it apart."""
    found: list[MadeBy] = []
    for maker in makers:
        if not any(maker.is_same_code(other) for other in found):
            found.append(maker)
    labels = [maker.label for maker in found]
    return [
        label if labels.count(label) == 1 else f"{label}, source {(maker.source or 'unknown')[:SHORT]}"
        for label, maker in zip(labels, found, strict=True)
    ]


@cache
def this_code() -> MadeBy:
    """The code that is running, here."""
    from repertory import __version__  # the package is still being imported when this module is

    commit, modified = _commit()
    return MadeBy(
        version=__version__,
        commit=commit,
        modified=modified,
        source=source_fingerprint(),
        packages=package_versions(),
        machine={
            "system": f"{platform.system()} {platform.machine()}",
            "processor": processor_name(),
            "cores": usable_cores(),
        },
    )


def package_versions() -> dict[str, str]:
    """Of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *PACKAGES_IF_THERE):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            if package in PACKAGES:
                found[package] = "not installed"
    return found


@cache
def source_fingerprint() -> str:
    """Of all modules except those that only start, show and measure runs."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package)
        if name.parts[0] not in PRESENTATION:
            digest.update(f"{name.as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _commit() -> tuple[str | None, bool]:
    """Of the repository that the package lies in, or that it was installed from; and whether files were changed."""
    root = Path(__file__).parent.parent.parent
    if (root / ".git").exists():
        commit = _git(root, "rev-parse", "HEAD")
        if commit:
            return commit, bool(_git(root, "status", "--porcelain", "--", "repertory"))
    return _installed_commit(), False


def _git(root: Path, *arguments: str) -> str | None:
    try:
        said = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):  # no git here, or one that hangs
        return None
    return said.stdout.strip() if said.returncode == 0 else None


def _installed_commit() -> str | None:
    """As pip recorded it (PEP 610) where the package was installed from a repository."""
    try:
        text = importlib.metadata.distribution("repertory").read_text("direct_url.json")
        found = json.loads(text or "{}").get("vcs_info", {}).get("commit_id")
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None
