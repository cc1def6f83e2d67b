"""A life that breaks off, to be gone on with."""

from __future__ import annotations

from repertory.core.lifetime import Monitor


class Crash(Exception):
    """As if the process had died."""


class CrashAfter(Monitor):
    """A monitor that dies after so many episodes."""

    def __init__(self, episodes: int) -> None:
        self.left = episodes

    def episode_ended(self, tally: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise Crash
