"""Cartpole DQN in plain C, `cartpole_dqn.c`, as a contender: what a careful programmer and a compiler reach."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repertory.benchmarks.cartpole_dqn import REPERTORY_STEPS, SETTINGS
from repertory.benchmarks.measure import Contender, build
from repertory.benchmarks.result import NotMeasured

SOURCE = Path(__file__).with_name("cartpole_dqn.c")
COMPILER = "gcc"
FLAGS = ("-O3", "-march=native")


def plain_c_dqn() -> Contender:
    program = PlainC(warm_up=5 * SETTINGS.learning_starts)
    return lambda: program.train(REPERTORY_STEPS)["steps"]


class PlainC:
    """The program, alive between turns: it is built and past its warm-up before anything is timed.

    It starts from the weights that repertory's learner starts from.
    """

    def __init__(self, warm_up: int, flags: Sequence[str] = FLAGS) -> None:
        # Once it has begun and answered, the program needs neither of the two files any more; Windows keeps its own.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            program, weights = Path(folder, "cartpole_dqn"), Path(folder, "weights")
            compile_program(program, flags)
            build("cartpole27", SETTINGS).policy["weights"].tofile(weights)
            self._process = subprocess.Popen(
                [program, str(warm_up), "0", weights], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.close = weakref.finalize(self, _end, self._process)
            self.train(0)

    def train(self, at_least: int) -> dict[str, Any]:
        """Play whole episodes, so many steps or a few more; what the program reports of itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{at_least}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{SOURCE.name} ended with status {self._process.wait()}")
        return json.loads(answer)


def compile_program(program: Path, flags: Sequence[str] = FLAGS) -> str:
    """Build the program and return what the compiler had to say."""
    if not has_compiler():
        raise NotMeasured(f"{SOURCE.name} is built with {COMPILER}, which is not on the PATH", f"install {COMPILER}")
    command = [COMPILER, *flags, str(SOURCE), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise NotMeasured(f"{COMPILER} cannot build {SOURCE.name} ({said[-1]})", f"see what {' '.join(command)} says")
    return done.stderr


def has_compiler() -> bool:
    return shutil.which(COMPILER) is not None


def _end(process: subprocess.Popen[str]) -> None:
    """The program ends with its input."""
    process.communicate()
