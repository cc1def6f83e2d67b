"""What this machine is, as far as results and speed depend on it; works the same on Linux, macOS and Windows."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def usable_cores() -> int:
    """How many cores this process may use: fewer than the machine has, where it was confined to some of them."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def total_memory() -> int | None:
    """Bytes that this process may use at most, where the system tells: not on Windows."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container, on Linux; a number or "max"
    text = limit.read_text().strip() if limit.is_file() else ""
    return min(total, int(text)) if text.isdigit() else total


THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_told_torch = False


def let_torch_run_on_one_thread() -> None:
    """If PyTorch is loaded, once for a process: small networks are several times slower on all cores than on one.

    Not where it was told otherwise, by the environment or by `torch.set_num_threads` to anything but all cores; what it
    is told later stands.
    """
    global _told_torch
    torch = sys.modules.get("torch")
    if torch is None or _told_torch:
        return
    _told_torch = True
    cores = os.cpu_count() or 1
    usual = {usable_cores(), cores, cores // 2}  # all, or all but those that share a core with another
    if not any(os.environ.get(name) for name in THREAD_SETTINGS) and torch.get_num_threads() in usual:
        torch.set_num_threads(1)


def processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")  # Linux; elsewhere the standard library knows
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
