"""`repertory watch`: episodes as text in a terminal, or as a file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from repertory.cli.screen import source_name
from repertory.errors import UsageError
from repertory.paths import check_new_file
from repertory.report.animation import FASTEST, format_of, standing, write_animation
from repertory.report.watching import TEXT, Performance, open_performance
from repertory.wording import counted

PLAIN_FRAMES = 3
"""How many frames of an episode are printed where there is no terminal."""
LETTERS = {
    "#": ("blue on blue", ""),
    ".": ("dim", ""),
    "A": ("bold yellow", "agent"),
    "F": ("bold green", "food"),
    "P": ("bold red", "poison"),
    "G": ("bold magenta", "ghost"),
    "X": ("bold black on yellow", "both on one cell"),
}
"""Styles and meanings of the letters that mazes are written in."""


def watch_in_console(path: Path, fps: float | None, out: Path | None, console: Console, **chosen: Any) -> None:
    """Show what was chosen of a run folder: in the terminal if its task can be written as text, else as a file."""
    if fps is not None and not 0 < fps <= FASTEST:
        raise UsageError(f"--fps is {fps:g}; valid: above 0 and at most {FASTEST}")
    performance = open_performance(path, **chosen)
    if out is None and TEXT not in performance.render_modes:
        out = Path(f"{source_name(path)}-task{performance.task}.gif")
    if out is not None:
        _check_out(out, path)
    console.print(_heading(performance), soft_wrap=True)
    if out is not None:
        console.print(f"writing an animation to {out} ...", soft_wrap=True)
        size = write_animation(performance, out, fps)
    elif console.is_interactive:
        show_in_terminal(performance, performance.usual_fps if fps is None else fps, console)
    else:
        show_plainly(performance, console)
    for ending in performance.endings:
        episode = f"episode {ending.episode + 1}: " if performance.episodes > 1 else ""
        console.print(f"{episode}{counted(ending.step, 'step')}, return {ending.total_reward:g}", soft_wrap=True)
    if out is not None:
        console.print(f"written to {out} ({size / 1000:,.0f} kB)", soft_wrap=True)


def _heading(performance: Performance) -> str:
    done, whole = len(performance.lifetime.rows), len(performance.lifetime.sequence)
    manner = "exploring" if performance.explore else "greedy"
    return (
        f"task {performance.task}: {performance.task_name}; policy {performance.policy}, {manner}, "
        f"as of block {done} of {whole}"
    )


def _check_out(out: Path, run: Path) -> None:
    format_of(out)
    check_new_file(out)
    folder = out.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"--out {out} is in a folder that does not exist; next: make {out.parent}")
    if folder.is_relative_to(run.resolve()):
        raise UsageError(f"--out {out} is in the run's own folder, which is left as it is; choose another")


# --------------------------------------------------------------------------------------------------- terminal


def show_in_terminal(performance: Performance, fps: float, console: Console) -> None:
    """All episodes as text, each frame drawn over the last."""
    legend: Text | None = None
    due = time.monotonic()
    with Live(console=console, auto_refresh=False) as live:
        for moment in performance.moments(TEXT):
            frame = str(moment.frame)
            legend = _legend(frame) if legend is None else legend
            stand = Text(standing(performance, moment), style="bold")
            live.update(Group(_in_colour(frame), stand, legend), refresh=True)
            due = max(due + 1 / fps, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def show_plainly(performance: Performance, console: Console) -> None:
    """A few frames of the first episode, one below the other: for logs and pipes."""
    console.print(
        f"not a terminal: {PLAIN_FRAMES} frames of the first episode as text; --out FILE.gif writes all\n",
        soft_wrap=True,
    )
    every = math.ceil(performance.endings[0].step / (PLAIN_FRAMES - 1))
    for moment in performance.moments(TEXT, every):
        if moment.episode > 0:
            break
        if moment.frame is not None:
            console.print(Text(f"{moment.frame}\n{standing(performance, moment)}\n"), soft_wrap=True)


def _is_maze(frame: str) -> bool:
    return set(frame) <= {*LETTERS, "\n"}


def _legend(frame: str) -> Text:
    """What the letters of a maze mean."""
    present = {*frame, "X"} if _is_maze(frame) else set()
    meanings = [f"{letter} {meaning}" for letter, (_, meaning) in LETTERS.items() if meaning and letter in present]
    return Text(", ".join(meanings), style="dim")


def _in_colour(frame: str) -> Text:
    """A maze with every cell two characters wide, which is square in most terminals; other text as it is."""
    if not _is_maze(frame):
        return Text.from_ansi(frame)
    text = Text()
    for row in frame.splitlines():
        for letter in row:
            text.append(letter * 2 if letter == "#" else f"{letter} ", LETTERS[letter][0])
        text.append("\n")
    return text
