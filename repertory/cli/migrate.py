"""`repertory migrate`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.sweeps.migrate import migrate


def migrate_in_console(root: Path, commit: str | None, console: Console) -> None:
    done = migrate(root, commit)
    for reason in done.left_out:
        console.print(f"left out: {reason}", soft_wrap=True)
    console.print(
        f"{done.runs} finished runs and {done.sweeps} sweeps rewritten, {done.summaries} summaries completed in {root}",
        soft_wrap=True,
    )
