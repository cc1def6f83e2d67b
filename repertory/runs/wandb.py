"""Weights & Biases: the scalars that TensorBoard files hold, sent to a run of `wandb` as blocks end."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Any

from repertory.core.lifetime import Lifetime, Monitor
from repertory.core.tally import BlockTally
from repertory.errors import UsageError
from repertory.runs.folder import plain
from repertory.runs.scalars import BlockScalars
from repertory.runs.spec import RunSpec

DEFAULT_PROJECT = "repertory"
FILE = "wandb-run"
"""In the folder of a run, the name by which `wandb` knows it."""


class WandbMonitor(Monitor):
    """`repertory.live(..., monitors=[repertory.WandbMonitor("my-project")])`; what else is given goes to `wandb.init`.

    With `mode="offline"` nothing leaves the machine; `wandb sync` sends it later. With the `folder` of a run, one that
    is resumed goes on in the same run of `wandb`.
    """

    def __init__(self, project: str = DEFAULT_PROJECT, *, folder: str | Path | None = None, **settings: Any) -> None:
        if not (isinstance(project, str) and project):
            raise UsageError(f"a project of Weights & Biases goes by a name, not {project!r}; next: give its name")
        try:
            import wandb
        except ImportError:
            raise UsageError("Weights & Biases needs wandb; next: pip install 'repertory[wandb]'") from None
        self._wandb: Any = wandb
        self._folder = None if folder is None else Path(folder)
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
        settings = {**self._same_run(), **self._settings, "config": {**about, **given}}
        try:
            self._run = self._wandb.init(**settings)
        except Exception as error:  # whatever it raises: no account, no network, a name that it does not take
            said = " ".join(str(error).split())
            raise UsageError(
                f"wandb could not begin a run ({said}); next: wandb login, or set WANDB_MODE=offline"
            ) from error
        self._scalars = BlockScalars(lifetime)

    def _same_run(self) -> dict[str, str]:
        """What has `wandb` go on with the run that it was told of before, by a name kept in the folder."""
        if self._folder is None:
            return {}
        file = self._folder / FILE
        with contextlib.suppress(OSError):
            return {"id": file.read_text(encoding="utf-8").strip(), "resume": "allow"}
        name = secrets.token_hex(4)
        self._folder.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n", encoding="utf-8")
        return {"id": name}

    def block_ended(self, tally: BlockTally) -> None:
        values = self._scalars.of(tally)
        self._run.log(values, step=self._scalars.steps)

    def lifetime_ends(self) -> None:
        if self._run is not None:
            self._run.finish()


def wandb_of(spec: RunSpec, project: bool | str, folder: str | Path | None, **settings: Any) -> WandbMonitor:
    """What sends a run to a project, or to our own, with its settings as the record has them."""
    named = {} if folder is None else {"name": Path(folder).resolve().name}
    name = DEFAULT_PROJECT if project is True else str(project)
    return WandbMonitor(name, folder=folder, config=plain(spec.to_json()), **{**named, **settings})
