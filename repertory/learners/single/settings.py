"""What can be set of a policy that is to play many tasks; all of it is off by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repertory.errors import UsageError
from repertory.settings import Settings, setting

OFF: Mapping[str, Any] = {
    "task_input": False,
    "heads": False,
    "ewc": 0.0,
    "packnet": None,
    "clone": 0.0,
    "l2_init": 0.0,
    "shrink_every": None,
}
"""The settings that switch something on, and what they are when it is off."""
OF_TASKS = ("task_input", "heads", "ewc", "packnet", "clone")
"""Those that need to know which task it is."""
MOVE_PACKED = ("ewc", "clone", "l2_init", "shrink_every")
"""Those that would pull or push weights that PackNet has packed."""


@dataclass(frozen=True, kw_only=True)
class SinglePolicy(Settings):
    """Settings that DQN and PPO share."""

    task_input: bool = setting(False, "Whether the network is told the task, as a one-hot input.")
    heads: bool = setting(False, "Whether each task has an output layer of its own.")
    ewc: float = setting(
        0.0,
        "Strength of EWC: how hard weights that matter to other tasks are pulled to where those left them. The mean "
        "pull is that of l2_init with the same strength.",
        at_least=0,
    )
    ewc_decay: float | None = setting(
        None,
        "Online EWC: what is left, after each visit to a task, of what mattered before. None: EWC, which keeps it for "
        "each task.",
        at_least=0,
        at_most=1,
    )
    l2_init: float = setting(0.0, "Strength of the pull of all weights towards where they began.", at_least=0)
    packnet: int | None = setting(
        None,
        "PackNet: after this many steps of its first visit, a task is left its share of the free weights and trains "
        "these alone; at the visit's end they are fixed.",
        at_least=1,
    )
    pack_share: float | None = setting(
        None, "PackNet: of each layer, the share that a task gets; none for 1 / number of tasks.", above=0, at_most=1
    )
    clone: float = setting(
        0.0,
        "Weight of cloning: the loss of no longer giving the outputs that visits to other tasks ended with.",
        at_least=0,
    )
    clone_batch: int = setting(10, "Observations of other tasks that an update clones.", at_least=1)
    visit_sample: int = setting(256, "Observations of a visit to a task that EWC and cloning go by.", at_least=1)
    shrink_every: int | None = setting(
        None,
        "Shrink and perturb: steps from one time to the next that the network moves towards a new one.",
        at_least=1,
    )
    shrink: float = setting(0.8, "Shrink and perturb: what is left of the weights then.", at_least=0, below=1)

    @property
    def switched_on(self) -> list[str]:
        """Those of `OFF` that are not."""
        return [name for name, off in OFF.items() if getattr(self, name) != off]

    @property
    def needs_tasks(self) -> bool:
        """Whether the number of tasks must be known, and each by its index."""
        return any(name in OF_TASKS for name in self.switched_on)

    def validate(self) -> None:
        if "window" in self.field_names():
            self._refuse(self.switched_on, "in a recurrent network, which has no such thing")
        if self.packnet is not None:
            self._refuse(
                [name for name in self.switched_on if name in MOVE_PACKED], "with packnet, which fixes weights"
            )
        for name, needed in (("ewc_decay", "ewc"), ("pack_share", "packnet")):
            if getattr(self, name) is not None and needed not in self.switched_on:
                given = getattr(self, name)
                raise UsageError(f"{type(self).__name__}.{name} is {given}; valid without {needed}: none")

    def _refuse(self, names: list[str], where: str) -> None:
        for name in names[:1]:
            raise UsageError(f"{type(self).__name__}.{name} is {getattr(self, name)}; valid {where}: {OFF[name]}")

    def number_of_tasks(self, n_tasks: int | None) -> int:
        """That a policy is built for; one that does not tell them apart has one task."""
        if not self.needs_tasks:
            return 1
        if n_tasks is None:
            name = next(name for name in self.switched_on if name in OF_TASKS)
            raise UsageError(
                f"{type(self).__name__}.{name} is {getattr(self, name)}; valid where the number of tasks is not known "
                f"(hidden tasks, or no n_tasks given): {OFF[name]}"
            )
        return n_tasks
