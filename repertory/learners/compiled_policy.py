"""What all compiled learners have in common towards Python: checks at the door, saving, restoring, copying.

The kernels of a learner read and write its memory without looking whether an index fits; everything that comes from
outside passes through here first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels.handle import pack
from repertory.kernels.layout import allocate, fill_settings, shared_scratch
from repertory.kernels.streams import new_stream
from repertory.learners.encoding import encoder
from repertory.learners.health import Health
from repertory.learners.protocol import LearnerKernels
from repertory.settings import Settings


class Network(NamedTuple):
    """What the network decides of a policy."""

    shape: Any
    weights: NDArray[np.float32]
    """At the start."""
    policy_layout: np.dtype[Any]
    scratch_layout: np.dtype[Any]

    def new_policy(self, settings: Settings, seed: int) -> NDArray[Any]:
        """The element `policy`: settings in the fields of their names, the network, a random stream."""
        policy = allocate(self.policy_layout)
        fill_settings(policy, settings.as_dict())
        policy["shape"] = self.shape
        policy["weights"] = self.weights
        policy["stream"] = new_stream(seed)
        return policy


class CompiledPolicy:
    """The face of a policy whose state is a NamedTuple `arrays`: the structured element `policy` and what else the
    learner needs. If there is another element, `scratch`, all policies of the kind share it."""

    kernels: ClassVar[LearnerKernels]
    state_fields: ClassVar[tuple[str, ...]]
    """The fields of `policy` that decide its future; the rest are settings, or can be found again."""
    learns_off_policy: ClassVar[bool] = False
    """Whether it learns as well from actions that it did not choose, and looks at the last observation alone: what
    reusing another policy while it learns asks for (`repertory.core.reuse`)."""
    export_ending: ClassVar[str] = ".npz"
    added_fields: ClassVar[Mapping[str, float]] = {}
    """Those of `state_fields` that states saved by earlier versions lack, and what they are in a new policy."""

    def __init__(self, arrays: Any, inputs: int, actions: int, observation_space: gymnasium.Space) -> None:
        self.arrays = arrays
        self.handle = pack(arrays)
        self.inputs = inputs
        self.actions = actions
        self._encode = encoder(observation_space)

    @property
    def policy(self) -> Any:
        """The policy's memory by field: `learner.policy["weights"]`."""
        return self.arrays.policy[0]

    @property
    def scratch(self) -> Any:
        """What the last kernel left behind, this policy's or another's: `learner.scratch["gradient"]`."""
        return self.arrays.scratch[0]

    def begin_episode(self) -> None:
        self.kernels.begin_episode(self.arrays)

    def act(self, observation: Any) -> int:
        return self.kernels.act(self.arrays, self._checked(observation))

    def act_at_rest(self, observation: NDArray[np.float32]) -> int:
        """The action that it rates highest, of a policy whose kernels say so; it stays as it is."""
        assert self.kernels.act_at_rest is not None
        return self.kernels.act_at_rest(self.arrays, self._checked(observation))

    def observe(
        self, observation: Any, action: int, reward: float, next_observation: Any, terminated: bool, truncated: bool
    ) -> None:
        if not 0 <= action < self.actions:
            raise ValueError(f"action {action!r} is not one of 0 to {self.actions - 1}")
        self.kernels.observe(
            self.arrays,
            self._checked(observation),
            int(action),
            float(reward),
            self._checked(next_observation),
            bool(terminated),
            bool(truncated),
        )

    def encoded(self, observation: Any) -> NDArray[np.float32]:
        """An observation as the kernels take it; of one that is a vector, several in a row as well."""
        return np.ascontiguousarray(self._encode(observation) if self._encode else observation, np.float32)

    def _checked(self, observation: Any) -> NDArray[np.float32]:
        vector = self.encoded(observation)
        if vector.shape != (self.inputs,):
            raise ValueError(f"an observation has shape {vector.shape}; this policy was built for ({self.inputs},)")
        return vector

    @property
    def acting_fields(self) -> tuple[str, ...]:
        """Those of `state_fields` that acting needs: the weights, or all of them where there are none."""
        return ("weights",) if "weights" in self.state_fields else self.state_fields

    def is_finite(self) -> bool:
        """Whether all that acting needs is numbers still."""
        return all(np.isfinite(self.policy[name]).all() for name in self.acting_fields)

    def losses(self) -> tuple[int, float]:
        """How many updates there have been, and the sum of their losses: squared temporal differences or, for an
        actor-critic, squared errors of the value. None for a policy that does not count them."""
        if "loss_total" not in self.state_fields:
            return 0, 0.0
        return int(self.policy["updates"]), float(self.policy["loss_total"])

    def health(self) -> Health:
        """How sound the policy is, by the names in `repertory.learners.health`; nothing if it has no values."""
        return {}

    @property
    def nbytes(self) -> int:
        """What it takes in memory: all its arrays, but not the scratch that it shares with others."""
        return bytes_in(self.arrays._replace(scratch=None) if _has_scratch(self.arrays) else self.arrays)

    def checked_rows(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        if observations.ndim != 2 or observations.shape[1] != self.inputs:
            raise ValueError(f"observations have shape {observations.shape}; needed: (rows, {self.inputs})")
        return observations

    def state_limits(self) -> dict[str, tuple[int, int]]:
        """The fields of a state that kernels take for a place in an array, and from where to where they may point."""
        return {}

    def check_limits(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state, or a part of one, in which something points out of its array."""
        for name, (low, high) in self.state_limits().items():
            given = np.asarray(state.get(name, low))
            if given.dtype.kind not in "iub" or not ((given >= low) & (given <= high)).all():
                raise ValueError(f"{name} in the state is not from {low} to {high}")

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return {name: np.array(self.policy[name]) for name in self.state_fields}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        if not set(self.state_fields) - set(self.added_fields) <= set(state) <= set(self.state_fields):
            raise ValueError(f"state has {sorted(state)} where this learner needs {sorted(self.state_fields)}")
        self.check_limits(state)
        for name in self.state_fields:
            if name in state:
                restore(self.arrays.policy[name], np.asarray(state[name])[None], name)
            else:
                self.arrays.policy[name] = self.added_fields[name]

    def load_acting_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Act as the policy whose `acting_fields` these are; all else is as in a policy that begins to learn."""
        self.check_limits(state)
        for name in self.acting_fields:
            restore(self.arrays.policy[name], np.asarray(state[name])[None], name)

    def plain_weights(self) -> dict[str, NDArray[Any]]:
        """What it acts by, as `repertory.learners.plain_weights` says."""
        raise UsageError(f"a {type(self).__name__} has no weights to export; valid: a policy that has learned")

    def export(self, path: Path) -> None:
        """Write what it acts by to a file that needs nothing but NumPy."""
        with path.open("wb") as file:
            np.savez(file, **self.plain_weights())  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "handle"}
        if _has_scratch(self.arrays):  # only its kind: the copy will share what is there already
            state["arrays"] = self.arrays._replace(scratch=self.arrays.scratch.dtype)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if _has_scratch(self.arrays):
            self.arrays = self.arrays._replace(scratch=shared_scratch(self.arrays.scratch))
        self.handle = pack(self.arrays)


def restore(target: NDArray[Any], source: NDArray[Any], name: str) -> None:
    """Copy one array into another of the same shape and kind."""
    if target.shape != source.shape or target.dtype != source.dtype:
        raise ValueError(f"{name} is {source.dtype}{source.shape}, needed: {target.dtype}{target.shape}")
    target[...] = source


def as_input(policy: Any, observation: Any) -> Any:
    """An observation as a policy's `action_probabilities` takes rows of them: encoded, if it is compiled."""
    return policy.encoded(observation) if isinstance(policy, CompiledPolicy) else observation


def memory_of(learner: Any) -> int:
    """Bytes that one more policy takes: as it says (`nbytes`), else what it would save."""
    told = getattr(learner, "nbytes", None)
    return bytes_in(tuple(learner.state_dict().values())) if told is None else int(told)


def bytes_held(policies: Iterable[Any]) -> int | None:
    """Of all together, if each says what it takes; None if one does not."""
    sizes = [getattr(policy, "nbytes", None) for policy in policies]
    return None if None in sizes else sum(sizes)  # type: ignore[arg-type]


def _has_scratch(arrays: Any) -> bool:
    return "scratch" in arrays._fields


def bytes_in(arrays: Any) -> int:
    """Of arrays in nested tuples; what is no array weighs nothing."""
    if isinstance(arrays, tuple):
        return sum(bytes_in(part) for part in arrays)
    return int(getattr(arrays, "nbytes", 0))
