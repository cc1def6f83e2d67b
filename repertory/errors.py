"""The one exception for bad input: its message is a single line that a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral

SHOWN_LENGTH = 100
"""Characters of what was given that a message shows."""


class UsageError(ValueError):
    """Something the user gave cannot be used. The command prints the message and exits with status 2."""


class RunStopped(Exception):
    """A run cannot continue, though the user's input was good: a full disk, a policy that diverged. The
    command prints the message and exits with status 1; what was done so far is saved."""


class EpisodeFault(RunStopped):
    """An environment or a learner failed in the middle of an episode; the message says where."""


def one_line(message: str) -> str:
    """A message with line breaks and other control characters written out: names may hold anything."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in message
    )


def unknown(kind: str, given: object, valid: Iterable[str]) -> UsageError:
    """`unknown learner 'dnq'; did you mean 'dqn'? Valid: dqn, ppo`."""
    names = sorted(valid)
    text = given[:SHOWN_LENGTH] if isinstance(given, str) else shown(given)
    return UsageError(f"unknown {kind} '{text}'{nearest(text, names) or '.'} Valid: {', '.join(names)}")


def nearest(text: str, names: Iterable[str]) -> str:
    """`; did you mean 'dqn'?`, if there is one like it."""
    near = difflib.get_close_matches(text, sorted(names), n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


def check_count(name: str, value: object, smallest: int, largest: int) -> None:
    """Fail if a value is not a whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not smallest <= int(value) <= largest:
        raise UsageError(f"{name} is {shown(value)}; valid: a whole number from {smallest} to {largest}")


def shown(value: object) -> str:
    """A value that was given, however large, as a message shows it."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write out numbers of more than 4300 digits
        return "a huge number"
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."
