"""Observation spaces that say more about their elements than Gymnasium's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    FloatBox = gymnasium.spaces.Box[np.float32]
else:  # older versions of Gymnasium take no type there
    FloatBox = gymnasium.spaces.Box


class TwoValued(FloatBox):
    """Vectors of n features, float32, each of them either `low` or `high` and nothing in between.

    To any other code this is the `Box` from `low` to `high`. A replay memory that knows it can store each feature in
    one bit, and each reward in one byte if `whole_rewards`: the environment's rewards are whole numbers from -127
    to 127.

    >>> TwoValued(0, 1, 3).contains(np.array([1, 0, 1], np.float32))
    True
    >>> TwoValued(0, 1, 3).contains(np.array([1, 0.5, 1], np.float32))
    False
    """

    whole_rewards: bool

    def __init__(
        self,
        low: float,
        high: float,
        n: int,
        whole_rewards: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if not low <= 0 < high:
            raise ValueError(f"a TwoValued space needs low <= 0 < high, not {low} and {high}")
        super().__init__(low, high, (n,), np.float32, seed)
        self.whole_rewards = whole_rewards

    def sample(self, mask: None = None, probability: None = None) -> NDArray[np.float32]:
        """Each feature `low` or `high` with equal probability."""
        if mask is not None or probability is not None:
            raise gymnasium.error.Error("TwoValued.sample takes neither a mask nor a probability")
        return np.where(self.np_random.random(self.shape) < 0.5, self.low, self.high)

    def contains(self, x: Any) -> bool:
        return super().contains(x) and bool(np.all((x == self.low) | (x == self.high)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TwoValued) and self.whole_rewards == other.whole_rewards and super().__eq__(other)

    def __repr__(self) -> str:
        whole = ", whole_rewards=True" if self.whole_rewards else ""
        return f"TwoValued({self.low[0]}, {self.high[0]}, {self.shape[0]}{whole})"
