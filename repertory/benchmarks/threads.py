"""One thread for every library: these networks are too small to share, and a ratio must not depend on cores."""

from __future__ import annotations

import os
import subprocess
import sys

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def is_limited() -> bool:
    return all(os.environ.get(name) == "1" for name in VARIABLES)


def begin_again_on_one_thread() -> None:
    """Put the same command in this process's place, with the limits set: libraries read them once, when loaded."""
    if is_limited():
        return
    command, variables = [sys.executable, *sys.orig_argv[1:]], os.environ | dict.fromkeys(VARIABLES, "1")
    sys.stdout.flush()
    if sys.platform == "win32":  # there, a process whose place is taken counts as over
        sys.exit(subprocess.call(command, env=variables))
    os.execve(sys.executable, command, variables)
