"""`repertory bench`: argument parsing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repertory.cli.capacity import console


def bench(
    only: Annotated[str | None, typer.Option(help="Rows with this in their name, or a pattern: '*DQN*peak'.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for bench.json, bench.png and bench.svg.")] = Path("bench"),
    repeats: Annotated[int, typer.Option(help="Turns of each contender; the best one counts.")] = 5,
) -> None:
    """Speed and memory on this machine as ratios, on one thread, beside what is asked of them (some minutes)."""
    from repertory.benchmarks.threads import begin_again_on_one_thread

    begin_again_on_one_thread()
    from repertory.benchmarks.bench import bench_in_console

    bench_in_console(only, out, repeats, console())
