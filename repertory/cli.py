"""The `repertory` command: argument parsing only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.exceptions import TyperException

from repertory.errors import RunStopped, UsageError, unknown

app = typer.Typer(
    name="repertory",
    help="Lifelong reinforcement learning with a fixed number of policies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

STOPPED_STATUS = 1
USAGE_STATUS = 2
INTERRUPTED_STATUS = 130


def main() -> None:
    """Run the command; bad input is one line on standard error and exit status 2."""
    try:
        status = app(standalone_mode=False)
    except RunStopped as error:
        print(f"repertory: {error}", file=sys.stderr)
        sys.exit(STOPPED_STATUS)
    except (UsageError, TyperException, MemoryError) as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if isinstance(error, MemoryError):
            message = f"not enough memory for these settings ({message}); try fewer policies or smaller memories"
        if message:  # there is none after the help text
            print(f"repertory: {message}", file=sys.stderr)
        sys.exit(USAGE_STATUS)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED_STATUS
    if status == INTERRUPTED_STATUS:  # Typer turns Ctrl-C into this status
        print("repertory: interrupted", file=sys.stderr)
    sys.exit(status if isinstance(status, int) else 0)


def console() -> Console:
    """Where output goes. User's text is shown as it is: no markup is read from it."""
    return Console(markup=False, highlight=False)


@app.command()
def run(
    domain: Annotated[str | None, typer.Option(help="Which tasks; see 'repertory list domains'.")] = None,
    learner: Annotated[str | None, typer.Option(help="What each policy is; see 'repertory list learners'.")] = None,
    policies: Annotated[int | None, typer.Option(help="How many policies the library holds.")] = None,
    selector: Annotated[str | None, typer.Option(help="Who plays which task; epsilon-greedy if not given.")] = None,
    profile: Annotated[str | None, typer.Option(help="The paper's 'text' (default) or its 'released' code.")] = None,
    run: Annotated[int | None, typer.Option(help="Which run: task sequence n is the 0-th shifted by n.")] = None,
    seed: Annotated[int | None, typer.Option(help="What all randomness follows from.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Length of the lifetime; the paper's if not given.")] = None,
    block_steps: Annotated[int | None, typer.Option(help="Steps in a block; the paper's if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the run in.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A single setting, e.g. learner.learning_rate=0.05.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with the same settings.")] = None,
) -> None:
    """Live one lifetime: blocks of random tasks, a policy picked per episode, all learning as they go."""
    from repertory.experiments.config import plan_from_options
    from repertory.experiments.session import run_in_console

    options = {
        "domain": domain,
        "learner": learner,
        "policies": policies,
        "selector": selector,
        "profile": profile,
        "run": run,
        "seed": seed,
        "blocks": blocks,
        "block_steps": block_steps,
    }
    run_in_console(plan_from_options(options, set_ or [], config), out, console())


LISTS = ("domains", "learners", "selectors", "profiles")


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="domains, learners, selectors or profiles.")],
    name: Annotated[str | None, typer.Argument(help="One of them, to see its settings.")] = None,
) -> None:
    """What there is, by name; with a name, its settings and what they mean."""
    from repertory import catalogue
    from repertory.report.console import profile_table, settings_table

    if what not in LISTS:
        raise unknown("list", what, LISTS)
    screen = console()
    if what == "profiles":
        screen.print(profile_table())
        return
    entries = {
        "domains": {key: entry.rules for key, entry in catalogue.DOMAINS.items()},
        "learners": catalogue.LEARNERS,
        "selectors": catalogue.SELECTORS,
    }[what]
    if name is None:
        for key in entries:
            screen.print(key)
        screen.print(f"\nSettings of one: repertory list {what} NAME", style="dim")
        return
    if name not in entries:
        raise unknown(what.removesuffix("s"), name, entries)
    screen.print(settings_table(entries[name]))
