"""What all verbs share: where output goes, exit statuses, notices."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from repertory.errors import UsageError

if TYPE_CHECKING:
    from repertory.sweeps.results import Results

PROFILE_HELP = "'text', 'released' or 'sound'; mixed: 'released,learner=sound'. See 'repertory list profiles'."
SET_HELP = "A single setting, e.g. learner.learning_rate=0.05."
VARY_HELP = "With a Gymnasium id: what differs between tasks, e.g. gravity=-10,-6,-2."
STOPPED_STATUS = 1
USAGE_STATUS = 2
INTERRUPTED_STATUS = 130


def console() -> Console:
    """Where output goes. Text from the user is shown as it is: markup in it has no effect."""
    return Console(markup=False, highlight=False)


def refuse_unused(context: typer.Context, used: Collection[str], beside: str) -> None:
    """Options that were given and have no effect beside another one are a misunderstanding."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in used and source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{name.replace('_', '-')} has no effect with {beside}; leave it out")


def print_problems(console: Console, results: Results) -> None:
    """The runs of a folder that could not be read."""
    for problem in results.problems:
        console.print(f"left out: {problem}", soft_wrap=True)


def source_name(path: Path) -> str:
    """What files about a run or a library are called: after its folder or file.

    In a sweep, where all runs are called run-00 and so on, the condition comes before it.
    """
    path = path.resolve()
    if path.is_file():
        return path.stem
    return f"{path.parent.name}-{path.name}" if path.name.startswith("run-") else path.name
