"""How well an agent inferred which task it was: sooner or later, falsely alarmed, one context for one task."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from repertory.agents.inference import MERGED, MOVED
from repertory.core.tally import events_of


class Inference(NamedTuple):
    """Measures of one lifetime."""

    detection: float
    """Median episodes until the context of the block was played after the task had changed: 1 is the soonest by
    inference, for the first episode of a task shows that it is another. NaN if no change was to be noticed."""
    missed: int
    """Changes of the task after which the context stayed: both tasks share one, or the change was not noticed."""
    false_alarms: float
    """Changes of context while the task stayed, but for the one to the block's own, per 1,000 episodes."""
    rand_index: float
    """Adjusted Rand index of tasks and contexts over all episodes: 1 if they differ in names alone, 0 by chance."""
    contexts: int
    """That were opened."""


def infers(blocks: pd.DataFrame) -> bool:
    """Whether the agent of a record inferred contexts. One that never moved has opened one, and tells nothing."""
    return any(event["event"] == MOVED for _block, event in events_of(blocks))


def contexts_of_episodes(blocks: pd.DataFrame) -> NDArray[np.int64]:
    """The context in which each episode of a life was played."""
    contexts = np.zeros(int(blocks["episodes"].sum()), np.int64)
    for _block, event in events_of(blocks):
        if event["event"] == MOVED:
            contexts[int(event["episode"]) :] = int(event["context"])
    return contexts


def merged_contexts(blocks: pd.DataFrame) -> int:
    return sum(event["event"] == MERGED for _block, event in events_of(blocks))


def inference_of(blocks: pd.DataFrame) -> Inference:
    """The measures of a record's blocks."""
    contexts = contexts_of_episodes(blocks)
    by_block = np.split(contexts, blocks["episodes"].to_numpy().cumsum()[:-1])
    tasks = blocks["task"].to_numpy()
    delays: list[int] = []
    missed = false_alarms = 0
    own_before = None
    for place, played in enumerate(by_block):
        own = int(np.bincount(played).argmax())
        before = played[0] if place == 0 else by_block[place - 1][-1]
        moves = int((np.diff(played, prepend=before) != 0).sum())
        if place > 0 and tasks[place] != tasks[place - 1]:
            if own == own_before:
                missed += 1
            else:
                delays.append(int((played == own).argmax()))
                moves -= 1
        false_alarms += max(moves, 0)
        own_before = own
    return Inference(
        detection=float(np.median(delays)) if delays else float("nan"),
        missed=missed,
        false_alarms=1000 * false_alarms / max(len(contexts), 1),
        rand_index=float(adjusted_rand_score(np.repeat(tasks, blocks["episodes"]), contexts)),
        contexts=int(contexts.max(initial=0)) + 1,
    )
