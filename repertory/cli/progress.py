"""Closing table of a run, and progress of a recommendation."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from repertory.core.metrics import LAST_BLOCKS
from repertory.runs.progress import progress_bar
from repertory.runs.record import Record
from repertory.runs.shares import policy_shares
from repertory.wording import counted

SHOWN_TASKS = 12


def print_summary(console: Console, record: Record) -> None:
    """Scores, and what share of the episodes each policy played."""
    blocks, settings = record.blocks, record.settings
    console.print(
        f"lifetime score {record.lifetime_score:.4g}, final score {record.final_score:.4g} ({LAST_BLOCKS}); "
        f"{counted(len(blocks), 'block')}, {counted(int(blocks['steps'].sum()), 'step')}, "
        f"{counted(int(blocks['episodes'].sum()), 'episode')}",
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
        self._bar = progress_bar(console) if console.is_terminal else None

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
