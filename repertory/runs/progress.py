"""How a lifetime is going, for whoever watches: a bar in a terminal or a notebook, lines in a log.

A sign of life comes within two seconds, and goes on coming inside long episodes.
"""

from __future__ import annotations

import html
import threading
import time
from importlib import import_module
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from repertory.core.lifetime import Lifetime, Monitor
from repertory.core.tally import BlockTally
from repertory.wording import counted

PLAIN_LINES = 20
"""How many lines a run prints at the ends of blocks where there is no terminal."""
TICK = 0.5
"""Seconds between two looks at where the run is."""
FIRST_SIGN, QUIET = 1.5, 60.0
"""Seconds after which a log has its first line, and after which it has another if no block ends."""
LONG_EPISODE = 2.0
"""Seconds from which on it is said that an episode is under way."""


class Face(Protocol):
    """Where progress is shown."""

    moves: bool
    """Whether what is shown replaces what was shown before."""

    def begin(self, total: int) -> None: ...

    def show(self, done: int, text: str) -> None: ...

    def end(self) -> None: ...


def face_for(console: Console) -> Face:
    if console.is_jupyter:
        return NotebookFace()
    return TerminalFace(console) if console.is_terminal else LogFace(console)


class TerminalFace:
    moves = True

    def __init__(self, console: Console) -> None:
        self._bar = progress_bar(console)

    def begin(self, total: int) -> None:
        self._row = self._bar.add_task("", total=total, text="")
        self._bar.start()

    def show(self, done: int, text: str) -> None:
        self._bar.update(self._row, completed=done, text=text)

    def end(self) -> None:
        self._bar.stop()


class LogFace:
    moves = False

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, total: int) -> None: ...

    def show(self, done: int, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def end(self) -> None: ...


class NotebookFace:
    """One output of a cell that is written over; needs nothing that a notebook does not have."""

    moves = True

    def begin(self, total: int) -> None:
        notebook: Any = import_module("IPython.display")  # there wherever a notebook is
        self._total, self._html = total, notebook.HTML
        self._place = notebook.display(self._html("..."), display_id=True)

    def show(self, done: int, text: str) -> None:
        if self._place is not None:
            bar = f'<progress max="{self._total}" value="{done}" style="width:16em"></progress>'
            self._place.update(self._html(f"{bar} <code>{html.escape(text)}</code>"))

    def end(self) -> None: ...


def progress_bar(console: Console) -> Progress:
    return Progress(BarColumn(bar_width=24), TextColumn("{task.fields[text]}"), TimeRemainingColumn(), console=console)


class ProgressMonitor(Monitor):
    """Shows block, task, score and speed while a lifetime runs."""

    def __init__(self, console: Console, blocks: int, block_steps: int, score: str) -> None:
        self._face = face_for(console)
        self._blocks, self._block_steps, self._score = blocks, block_steps, score
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None
        self._tally: BlockTally | None = None
        """Of the block whose end or whose episode was heard of last."""
        self._steps = self._block_so_far = 0
        """Of the blocks that have ended since the run was begun or resumed, and of the one that has not."""
        self._first_block = 0
        self._lifetime: Lifetime | None = None
        self._started: float | None = None
        """The end of the first episode: before it, kernels are compiled."""
        self._steps_at_start = 0
        self._begun = self._heard = self._shown = time.monotonic()

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        self._first_block, self._lifetime = len(lifetime.rows), lifetime
        self._begun = self._heard = self._shown = time.monotonic()
        self._face.begin(self._blocks * self._block_steps)
        if self._face.moves:
            self._show()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def episode_ended(self, tally: BlockTally) -> None:
        self._tally, self._block_so_far, self._heard = tally, tally.steps, time.monotonic()
        if self._started is None:
            self._started, self._steps_at_start = self._heard, tally.steps

    def block_ended(self, tally: BlockTally) -> None:
        self._tally, self._heard = tally, time.monotonic()
        self._steps, self._block_so_far = self._steps + tally.steps, 0
        done = tally.block + 1
        is_due = done * PLAIN_LINES // self._blocks > tally.block * PLAIN_LINES // self._blocks
        if is_due and not self._face.moves:
            left = self._elapsed() / (done - self._first_block) * (self._blocks - done)
            self._show(f"  {left:.0f} s left")

    def lifetime_ends(self) -> None:
        self.close()

    def close(self) -> None:
        """Stop showing; again does nothing."""
        if self._ticker is not None:
            self._stop.set()
            self._ticker.join()
            self._ticker = None
            if self._face.moves:
                self._show()
            self._face.end()

    def _tick(self) -> None:
        while not self._stop.wait(TICK):
            quiet = FIRST_SIGN if self._shown == self._begun else QUIET
            if self._face.moves or time.monotonic() - self._shown >= quiet:
                self._show()

    def _show(self, more: str = "") -> None:
        with self._lock:
            self._shown = time.monotonic()
            self._face.show(*self._now(more))

    def _now(self, more: str) -> tuple[int, str]:
        """Steps so far, and the line."""
        tally, steps, waited = self._tally, self._steps + self._block_so_far, time.monotonic() - self._heard
        inside = None if self._lifetime is None else self._lifetime.steps_under_way
        steps += inside or 0
        done = min(self._first_block * self._block_steps + steps, self._blocks * self._block_steps)
        if tally is None or not tally.episodes:
            state = "under way, or compiled," if inside is None else f"under way: {counted(inside, 'step')},"
            return done, f"block {self._first_block + 1}/{self._blocks}  the first episode is {state} {waited:.0f} s"
        of_them = "" if inside is None else f": {counted(inside, 'step')}"
        under_way = f"  episode under way for {waited:.0f} s{of_them}" if waited >= LONG_EPISODE else ""
        told = (
            f"block {tally.block + 1}/{self._blocks}  task {tally.task}  score {tally.score(self._score):.4g}  "
            f"{self._speed(steps):,.0f} steps/s"
        )
        return done, f"{told}{under_way}{more}"

    def _speed(self, steps: int) -> float:
        """Since the first episode; its own while there is no other."""
        since = steps - self._steps_at_start
        return since / max(self._elapsed(), 1e-9) if since else steps / max(self._heard - self._begun, 1e-9)

    def _elapsed(self) -> float:
        return 0.0 if self._started is None else time.monotonic() - self._started
