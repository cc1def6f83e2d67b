"""Progress and closing table of a run, for a terminal or a log."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.runs.record import Record
from repertory.runs.shares import policy_shares

PLAIN_LINES = 20
"""How many progress lines a run prints where there is no terminal."""
SHOWN_TASKS = 12


class ProgressMonitor(Monitor):
    """A moving bar on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, blocks: int, block_steps: int, score: str) -> None:
        self._console = console
        self._blocks = blocks
        self._block_steps = block_steps
        self._score = score
        self._started: float | None = None
        """The end of the first episode: before it, kernels are compiled."""
        self._steps = 0
        self._first_block: int | None = None
        self._last_drawn = 0.0
        self._bar = _bar(console) if console.is_terminal else None
        if self._bar is not None:
            self._row = self._bar.add_task("", total=blocks * block_steps, text="compiling ...")
            self._bar.start()

    def episode_ended(self, tally: BlockTally) -> None:
        now = time.monotonic()
        if self._started is None:
            self._started = now
            self._first_block = tally.block
        if self._bar is None:
            return
        if now - self._last_drawn >= 0.1:
            self._last_drawn = now
            done = tally.block * self._block_steps + min(tally.steps, self._block_steps)
            self._bar.update(self._row, completed=done, text=self._text(tally, self._steps + tally.steps))

    def block_ended(self, tally: BlockTally) -> None:
        self._steps += tally.steps
        done = tally.block + 1
        if self._bar is not None:
            self._bar.update(self._row, completed=done * self._block_steps, text=self._text(tally, self._steps))
        elif done * PLAIN_LINES // self._blocks > tally.block * PLAIN_LINES // self._blocks:
            done_now = done - (self._first_block or 0)
            left = self._elapsed() / done_now * (self._blocks - done)
            self._console.print(f"{self._text(tally, self._steps)}  {left:.0f} s left")

    def _elapsed(self) -> float:
        return 0.0 if self._started is None else time.monotonic() - self._started

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _text(self, tally: BlockTally, steps: int) -> str:
        rate = steps / max(self._elapsed(), 1e-9)
        return (
            f"block {tally.block + 1}/{self._blocks}  task {tally.task}  "
            f"score {tally.score(self._score):.4g}  {rate:,.0f} steps/s"
        )


def _bar(console: Console) -> Progress:
    return Progress(BarColumn(bar_width=24), TextColumn("{task.fields[text]}"), TimeRemainingColumn(), console=console)


def print_summary(console: Console, record: Record) -> None:
    """Scores, and what share of the episodes each policy played."""
    blocks, settings = record.blocks, record.settings
    console.print(
        f"lifetime score {record.lifetime_score:.4g}, final score {record.final_score:.4g} (last 10 blocks); "
        f"{len(blocks)} blocks, {blocks['steps'].sum():,} steps, {blocks['episodes'].sum():,} episodes",
        soft_wrap=True,
    )
    if record.divergence is not None:
        console.print(f"{record.divergence}: its scores from there on are not those of a sound learner", soft_wrap=True)
    table = Table("policy", "episodes", "tasks it plays most", box=None, header_style="bold", pad_edge=False)
    for share in policy_shares(blocks, len(settings["task_names"])):
        table.add_row(str(share.policy), f"{share.episodes:.1%}", _task_list(share.tasks))
    console.print(table)


def _task_list(tasks: tuple[int, ...]) -> str:
    if not tasks:
        return "none"
    shown = ", ".join(str(task) for task in tasks[:SHOWN_TASKS])
    return f"{len(tasks)}: {shown}" + (", ..." if len(tasks) > SHOWN_TASKS else "")


class AdviceProgress:
    """What a recommendation is doing, and how much of its budget is used."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._doing = ""
        self._bar = _bar(console) if console.is_terminal else None

    def __enter__(self) -> AdviceProgress:
        if self._bar is not None:
            self._row = self._bar.add_task("", total=1.0, text="compiling ...")
            self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, doing: str, used: float) -> None:
        if self._bar is not None:
            self._bar.update(self._row, completed=used, text=doing)
        elif doing != self._doing:
            self._console.print(f"{used:4.0%} of the budget used; {doing}", soft_wrap=True)
        self._doing = doing
