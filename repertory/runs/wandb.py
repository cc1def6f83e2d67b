"""Weights & Biases: the scalars that TensorBoard files hold, sent to a run of `wandb` as blocks end."""

from __future__ import annotations

from typing import Any

from repertory.core.lifetime import Lifetime, Monitor
from repertory.core.tally import BlockTally
from repertory.errors import UsageError
from repertory.runs.scalars import BlockScalars


class WandbMonitor(Monitor):
    """`repertory.live(..., monitors=[repertory.WandbMonitor("my-project")])`; what else is given goes to `wandb.init`.

    With `mode="offline"` nothing leaves the machine; `wandb sync` sends it later.
    """

    def __init__(self, project: str = "repertory", **settings: Any) -> None:
        try:
            import wandb
        except ImportError:
            raise UsageError("WandbMonitor needs wandb; next: pip install 'repertory[wandb]'") from None
        self._wandb: Any = wandb
        self._settings = {"project": project, **settings}
        self._run: Any = None

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        about = {
            "tasks": list(lifetime.task_names),
            "policies": len(lifetime.policies),
            "blocks": len(lifetime.sequence),
            "block_steps": lifetime.block_steps,
        }
        given = self._settings.get("config") or {}
        self._run = self._wandb.init(**{**self._settings, "config": {**about, **given}})
        self._scalars = BlockScalars(lifetime)

    def block_ended(self, tally: BlockTally) -> None:
        values = self._scalars.of(tally)
        self._run.log(values, step=self._scalars.steps)

    def lifetime_ends(self) -> None:
        if self._run is not None:
            self._run.finish()
