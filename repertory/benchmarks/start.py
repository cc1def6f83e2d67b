"""How long `repertory run` takes from its process's start to the end of its first episode, compiled code at hand."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from repertory.benchmarks.result import Measured, Side

# The real command in a process of its own; all that is added is that its first episode, of at most 200 steps, tells
# the time when it is over.
DRIVER = """
import sys, time
from repertory.cli import main
from repertory.core.episode import EpisodePlayer

play = EpisodePlayer.play

def first_play(*arguments):
    outcome = play(*arguments)
    print("first episode over at", repr(time.time()), file=sys.stderr, flush=True)
    EpisodePlayer.play = play
    return outcome

EpisodePlayer.play = first_play
main()
"""
MARK = "first episode over at "
RUN = ["run", "--domain", "cartpole27", "--learner", "dqn", "--policies", "9", "--blocks", "1", "--block-steps", "1000"]


def seconds_to_first_step() -> float:
    with tempfile.TemporaryDirectory() as scratch:
        started = time.time()
        command = [sys.executable, "-c", DRIVER, *RUN, "--out", f"{scratch}/run"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line.removeprefix(MARK) for line in ended.stderr.splitlines() if line.startswith(MARK)]
    if ended.returncode != 0 or len(told) != 1:
        raise RuntimeError(f"repertory {' '.join(RUN)} ended with status {ended.returncode}: {ended.stderr}")
    return float(told[0]) - started


def second_start(repeats: int) -> Measured:
    seconds_to_first_step()  # compiles, if nobody has before, into the user's kernel cache
    seen = tuple(seconds_to_first_step() for _ in range(repeats))
    side = Side("repertory run", "s", seen, is_cost=True)
    return Measured(side.best, side)
