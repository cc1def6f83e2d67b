"""What the figures were measured on: ratios travel better than speeds, but not everywhere."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from repertory.benchmarks.plain_c import COMPILER
from repertory.machine import processor_name

PACKAGES = ("numpy", "numba", "llvmlite", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def describe_machine() -> dict[str, Any]:
    """Plain values, for a file; None for what cannot be found out."""
    return {
        "cpu": processor_name(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": _compiler(),
        "packages": {name: _version(name) for name in PACKAGES},
        "threads": {f"{pool['internal_api']} {pool.get('version')}": pool["num_threads"] for pool in threadpool_info()},
    }


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The same for a person."""
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items()) or "caches unknown"
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    threads = ", ".join(f"{name}: {count}" for name, count in machine["threads"].items()) or "no pools"
    return [
        f"{machine['cpu']}, {machine['cores']} cores, {caches}",
        f"{machine['system']}, Python {machine['python']}, {machine['compiler'] or 'no C compiler'}",
        packages,
        f"threads: {threads}",
    ]


def _caches() -> dict[str, str]:
    """Of the first core, where the system tells: `{"L1d": "32K", "L2": "1024K"}`."""
    found = {}
    for index in sorted(CACHES.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = size
    return found


def _compiler() -> str | None:
    if shutil.which(COMPILER) is None:
        return None
    said = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return said[0] if said else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
