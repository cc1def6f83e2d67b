"""What a library needs of a selector: any object with `select` and `update`. Also what selectors share.

Settings classes such as `EpsilonGreedy` build selectors from the number of tasks, the number of policies and a random
generator for draws at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]


class Selector(Protocol):
    """Chooses a policy per episode and hears how the episode went."""

    def select(self, task: int, rng: np.random.Generator) -> int:
        """The policy to play the next episode of `task`."""

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        """An episode of `task` played by `policy` gave `total_reward` in `steps` steps."""


class SavableSelector(Selector, Protocol):
    """A selector that can be saved and resumed."""

    def state_dict(self) -> State:
        """Copies of all that decides the selector's future."""

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load what `state_dict` returned."""


MakeSelector = Callable[[int, int, np.random.Generator], Selector]
"""(number of tasks, number of policies, generator for draws made once) -> selector."""


def argmax_random_tie(values: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The place of the largest value, drawn among equals."""
    best = np.flatnonzero(values == values.max())
    return int(best[0]) if best.size == 1 else int(best[int(rng.random() * best.size)])


class Arrays:
    """Something whose whole state is a few arrays: what a selector inherits to be saved."""

    def arrays(self) -> State:
        """By name; the arrays themselves."""
        raise NotImplementedError

    def state_dict(self) -> State:
        return {name: array.copy() for name, array in self.arrays().items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        for name, array in self.arrays().items():
            array[...] = state[name]

    def load_grown(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load the state of one for fewer tasks, the first of these; the others stay as in a new one.

        All else being equal, what has another shape has a row for each task.
        """
        for name, array in self.arrays().items():
            held = np.asarray(state[name])
            if held.shape != array.shape and (held.shape[1:] != array.shape[1:] or len(held) > len(array)):
                raise ValueError(f"{name} is {held.shape}, needed: fewer rows of {array.shape}")
            array[: len(held)] = held
