"""The one exception for bad input: its message is a single line that a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """Something the user gave cannot be used. The command prints the message and exits with status 2."""


def unknown(kind: str, given: object, valid: Iterable[str]) -> UsageError:
    """`unknown learner 'dnq'; did you mean 'dqn'? Valid: dqn, ppo`."""
    names = sorted(valid)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return UsageError(f"unknown {kind} '{given}'{hint} Valid: {', '.join(names)}")
