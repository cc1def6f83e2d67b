"""What a logger is told at the end of each block, by name: scores, by task too, selection shares, losses, health."""

from __future__ import annotations

from typing import Any

from repertory.core.lifetime import Lifetime
from repertory.core.tally import BlockTally
from repertory.errors import one_line


class BlockScalars:
    """Follows a lifetime from where it is, at its start or at a checkpoint."""

    def __init__(self, lifetime: Lifetime) -> None:
        self._lifetime = lifetime
        self._losses = {number: _losses(policy) for number, policy in enumerate(lifetime.policies)}
        self.steps = sum(int(row["steps"]) for row in lifetime.rows)
        """Of the finished blocks."""

    def of(self, tally: BlockTally) -> dict[str, float]:
        """Of the block that has just ended."""
        self.steps += tally.steps
        score = tally.score(self._lifetime.score_kind)
        name = one_line(self._lifetime.task_names[tally.task])
        scalars = {"score": score, "task": float(tally.task), f"task score/{tally.task} {name}": score}
        for number, (policy, plays) in enumerate(zip(self._lifetime.policies, tally.plays, strict=False)):
            scalars[f"share/policy {number}"] = plays / tally.episodes
            updates, total = _losses(policy)
            earlier_updates, earlier_total = self._losses.get(number, (0, 0.0))
            if updates > earlier_updates:
                scalars[f"loss/policy {number}"] = (total - earlier_total) / (updates - earlier_updates)
            self._losses[number] = updates, total
        scalars |= {f"held out/task {task}": score for task, (score, _policy) in enumerate(tally.held_out)}
        return scalars | {f"health/{name}": value for name, value in tally.health.items() if value is not None}


def _losses(policy: Any) -> tuple[int, float]:
    losses = getattr(policy, "losses", None)
    return losses() if losses is not None else (0, 0.0)
