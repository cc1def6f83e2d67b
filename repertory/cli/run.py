"""`repertory run`: one lifetime, with progress and a closing table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.cli.progress import print_summary
from repertory.errors import UsageError
from repertory.paths import check_new_folder
from repertory.runs.folder import RunFolder
from repertory.runs.lifetime_figure import draw_lifetime
from repertory.runs.live import live_spec, told_length
from repertory.runs.loggers import loggers
from repertory.runs.progress import ProgressMonitor
from repertory.runs.reopening import reopen_if_longer
from repertory.runs.spec import RunSpec


def run_in_console(
    spec: RunSpec, out: Path | None, console: Console, tensorboard: bool = False, wandb: str | None = None
) -> None:
    if tensorboard and out is None:
        raise UsageError("--tensorboard writes into the run's folder; give --out as well")
    if out is not None and RunFolder(out).holds_finished(spec.to_json()):
        console.print(f"{out} holds this run, finished; nothing to do", soft_wrap=True)
        return
    if spec.start_from is not None and spec.start_from.caution is not None:
        console.print(spec.start_from.caution, soft_wrap=True)
    heard = list(loggers(spec, out, out if tensorboard else None, wandb))  # first: what they lack changes nothing
    if out is not None:
        check_new_folder(out)
        reopen_if_longer(out, spec)
    console.print(told_length(spec), soft_wrap=True)
    progress = ProgressMonitor(console, spec.blocks, spec.block_steps, spec.domain.score)
    try:
        record = live_spec(
            spec, out, [*heard, progress], draw_lifetime, notice=lambda text: console.print(text, soft_wrap=True)
        )
    except KeyboardInterrupt:
        progress.close()
        if out is not None:
            console.print(f"saved in {out}; the same command resumes it", soft_wrap=True)
        raise
    finally:
        progress.close()
    print_summary(console, record)
    if out is not None:
        console.print(f"saved in {out} (figure: {RunFolder(out).figure_file})", soft_wrap=True)
