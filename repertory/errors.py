"""The one exception for bad input: its message is a single line that a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """Something the user gave cannot be used. The command prints the message and exits with status 2."""


class RunStopped(Exception):
    """A run cannot go on, through no fault of what the user asked for: a full disk, a policy that diverged. The
    command prints the message and exits with status 1; what was lived so far is kept."""


class EpisodeFault(RunStopped):
    """An environment or a learner did what it must not, in the middle of an episode; the message says where."""


def unknown(kind: str, given: object, valid: Iterable[str]) -> UsageError:
    """`unknown learner 'dnq'; did you mean 'dqn'? Valid: dqn, ppo`."""
    names = sorted(valid)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return UsageError(f"unknown {kind} '{given}'{hint} Valid: {', '.join(names)}")
