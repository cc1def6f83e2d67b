"""Progress and closing table of a run, for a terminal or a log."""

from __future__ import annotations

import dataclasses
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from repertory.catalogue import all_settings
from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.paper.experiments import Published, experiment, experiment_names
from repertory.profiles import differences, differences_on_domains
from repertory.report.summary import policy_shares
from repertory.runs.record import Record
from repertory.settings import Settings, valid_text
from repertory.sweeps.results import Results

PLAIN_LINES = 20
"""How many progress lines a run prints where there is no terminal."""
SHOWN_TASKS = 12


class ProgressMonitor(Monitor):
    """A live bar on a terminal, a line now and then elsewhere."""

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
            lived = tally.block * self._block_steps + min(tally.steps, self._block_steps)
            self._bar.update(self._row, completed=lived, text=self._text(tally, self._steps + tally.steps))

    def block_ended(self, tally: BlockTally) -> None:
        self._steps += tally.steps
        lived = tally.block + 1
        if self._bar is not None:
            self._bar.update(self._row, completed=lived * self._block_steps, text=self._text(tally, self._steps))
        elif lived * PLAIN_LINES // self._blocks > tally.block * PLAIN_LINES // self._blocks:
            lived_now = lived - (self._first_block or 0)
            left = self._elapsed() / lived_now * (self._blocks - lived)
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
    """Scores, and each policy's part."""
    blocks, settings = record.blocks, record.settings
    console.print(
        f"lifetime score {record.lifetime_score:.4g}, final score {record.final_score:.4g} (last 10 blocks); "
        f"{len(blocks)} blocks, {blocks['steps'].sum():,} steps, {blocks['episodes'].sum():,} episodes",
        soft_wrap=True,
    )
    table = Table("policy", "episodes", "tasks it plays most", box=None, header_style="bold", pad_edge=False)
    for share in policy_shares(blocks, len(settings["task_names"])):
        table.add_row(str(share.policy), f"{share.episodes:.1%}", _task_list(share.tasks))
    console.print(table)


def _task_list(tasks: tuple[int, ...]) -> str:
    if not tasks:
        return "none"
    shown = ", ".join(str(task) for task in tasks[:SHOWN_TASKS])
    return f"{len(tasks)}: {shown}" + (", ..." if len(tasks) > SHOWN_TASKS else "")


def print_problems(console: Console, results: Results) -> None:
    """The runs of a folder that could not be read."""
    for problem in results.problems:
        console.print(f"left out: {problem}", soft_wrap=True)


def profile_table() -> Table:
    """Every setting in which the profiles `text` and `released` differ."""
    table = Table("of", "setting", "text", "released", box=None, header_style="bold", pad_edge=False)
    for names, settings_class in all_settings().items():
        for setting, text, released in differences(settings_class):
            table.add_row(names, setting, str(text), str(released))
        for domain, setting, released in differences_on_domains(settings_class):
            text = getattr(settings_class(), setting)
            table.add_row(f"{names} on {domain}", setting, str(text), str(released))
    return table


def experiments_table() -> Table:
    """Every experiment of the paper."""
    table = Table(
        "name", "conditions", "runs", "blocks", "steps", "what", box=None, header_style="bold", pad_edge=False
    )
    for name in experiment_names():
        data = experiment(name)
        counts = (len(data.conditions), data.runs, data.blocks, f"{data.blocks * data.block_steps:,}")
        table.add_row(name, *(str(count) for count in counts), data.title)
    return table


def experiment_table(name: str) -> Table:
    """The conditions of one, with the published scores."""
    table = Table("condition", "learner", "policies", "selector", box=None, header_style="bold", pad_edge=False)
    for title in ("lifetime", "final"):
        table.add_column(f"published {title}", justify="right")
    for condition in experiment(name).conditions.values():
        scores = (published_text(condition.lifetime), published_text(condition.final))
        table.add_row(condition.name, condition.learner, str(condition.policies), condition.selector, *scores)
    return table


def published_text(score: Published | None) -> str:
    if score is None:
        return ""
    return f"{score.mean:g}" + ("" if score.deviation is None else f" ± {score.deviation:g}")


def settings_table(settings_class: type[Settings]) -> Table:
    """Names, defaults, valid values and meanings."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("setting", "default", "valid", "meaning"):
        table.add_column(title, no_wrap=title == "setting")
    for field in dataclasses.fields(settings_class):
        valid = valid_text(settings_class, field.name)
        table.add_row(field.name, str(field.default), valid, field.metadata["meaning"])
    return table
