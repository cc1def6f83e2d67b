"""The `repertory` command: what the other packages do, with progress, tables and messages."""

from __future__ import annotations

import io
import sys

import typer
from typer.exceptions import TyperException

from repertory.cli.commands import app
from repertory.cli.screen import INTERRUPTED_STATUS, STOPPED_STATUS, USAGE_STATUS
from repertory.errors import RunStopped, UsageError, one_line


def main() -> None:
    """Run the command; bad input is one line on standard error and exit status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be text, or in this encoding
    try:
        status = app(standalone_mode=False)
    except RunStopped as error:
        _complain(str(error))
        sys.exit(STOPPED_STATUS)
    except (UsageError, TyperException, MemoryError) as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if isinstance(error, MemoryError):
            message = f"not enough memory for these settings ({message}); try fewer policies or smaller memories"
        if message:  # empty after the help text
            _complain(message)
        sys.exit(USAGE_STATUS)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED_STATUS
    if status == INTERRUPTED_STATUS:  # Typer turns Ctrl-C into this status
        _complain("interrupted")
    sys.exit(status if isinstance(status, int) else 0)


def _complain(message: str) -> None:
    print(f"repertory: {one_line(message)}", file=sys.stderr)
