"""What this machine is, as far as results and speed depend on it; works the same on Linux, macOS and Windows."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def usable_cores() -> int:
    """How many cores this process may use: fewer than the machine has, where it was confined to some of them."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")  # Linux; elsewhere the standard library knows
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
