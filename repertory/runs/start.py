"""What the first policies of a run begin as, where they are not to begin untrained: those of another run or library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from repertory.errors import UsageError
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.protocol import State


@dataclass(frozen=True)
class Start:
    """The states of trained policies; a run's record tells them by their checksum."""

    policies: int
    sha256: str
    states: tuple[State, ...] | None = field(default=None, compare=False, repr=False)
    """None if only the record of a run is at hand; its checkpoint has what has become of them."""
    is_whole: bool = field(default=True, compare=False)
    """Whether replay memories and optimisers are among them."""
    source: str = field(default="start_from", compare=False)

    def __post_init__(self) -> None:
        if type(self.policies) is not int or self.policies < 1 or not isinstance(self.sha256, str):
            raise UsageError("start_from is not what a run's record has; valid: a library, a record, or their files")

    def as_dict(self) -> dict[str, Any]:
        return {"policies": self.policies, "sha256": self.sha256}

    @property
    def caution(self) -> str | None:
        """What a user should know before the policies are trained further."""
        if self.is_whole:
            return None
        return (
            f"the policies of {self.source} were saved without their replay memories and optimisers (with them: "
            "for_training=True, or --for-training); they may lose skill before they learn again"
        )

    def begin(self, learner: Any, number: int) -> None:
        """Have the untrained policy of a number begin as the one here; those beyond begin untrained."""
        if self.states is None or number >= self.policies:
            return
        try:
            load_into(learner, self.states[number], self.is_whole)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
            raise UsageError(
                f"policy {number} of {self.source} does not fit a {type(learner).__name__} of this run ({said}); "
                "valid: the same learner, with the same settings and spaces"
            ) from error


def load_into(learner: Any, state: State, is_whole: bool) -> None:
    """Give a policy its state: all of it, or what acting needs."""
    if not is_whole and isinstance(learner, CompiledPolicy):
        learner.load_acting_state(state)
    else:
        learner.load_state_dict(state)
