"""Contests: two policies take turns at a task until it is clear which earns more there, or that neither does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEAST_EPISODES = 4
"""Of each, where visits are long. Four that all lie above four others do so by chance once in 35 contests of equals."""
FEWEST_EPISODES = 2
"""Of each, where visits are short. It is weak evidence, by chance in one contest of three: who asks must want more."""
SHARE = 0.1
"""Of a visit, that the least of a contest may take of each: who only meets another here learns from its episodes too,
on a task that it may be in conflict with."""
LONGEST = 2
"""After so many times the least of each, a contest is a draw unless the difference is significant."""
CLEAR = 2.33
"""How many standard errors the rank sums must be apart: by chance once in fifty contests of eight equals each. With
four each, no ranks that overlap are so far apart."""


def least_episodes(visit_episodes: float) -> int:
    """Of each policy in a contest, where visits are of so many episodes."""
    return int(min(max(SHARE * visit_episodes, FEWEST_EPISODES), LEAST_EPISODES))


def verdict(
    ours: Sequence[float], theirs: Sequence[float], failed: bool = False, least: int = LEAST_EPISODES
) -> int | None:
    """1 if we earn more, -1 if they do, 0 for a draw, None if more episodes are needed.

    By rank, for returns are anything but normal: on Cartpole most are the limit. Where they have `failed` before, one
    episode that is worse than the `least` of ours says that they still do: failing is dear.
    """
    if failed and theirs and len(ours) >= least and max(theirs) < min(ours):
        return 1
    turns = min(len(ours), len(theirs))
    if turns < least:
        return None
    if min(ours) > max(theirs):
        return 1
    if max(ours) < min(theirs):
        return -1
    if min(*ours, *theirs) == max(*ours, *theirs):
        return 0
    if turns < LONGEST * least:
        return None
    lead = rank_lead(np.asarray(ours, float), np.asarray(theirs, float))
    return int(np.sign(lead)) if abs(lead) > CLEAR else 0


def is_our_turn(
    ours: Sequence[float], theirs: Sequence[float], failed: bool = False, least: int = LEAST_EPISODES
) -> bool:
    """In turns; where they have `failed` before, after the `least` of ours."""
    return len(ours) <= len(theirs) or (failed and len(ours) < least)


def rank_lead(ours: np.ndarray, theirs: np.ndarray) -> float:
    """By how many standard errors our rank sum exceeds that of equals (Mann and Whitney); without the correction for
    ties, which would only make it larger."""
    wins = (ours[:, None] > theirs[None, :]).sum() + 0.5 * (ours[:, None] == theirs[None, :]).sum()
    pairs, both = ours.size * theirs.size, ours.size + theirs.size
    return float((wins - pairs / 2) / np.sqrt(pairs * (both + 1) / 12))
