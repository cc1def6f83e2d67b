"""Other bandits as policy selectors: Thompson sampling, sliding-window UCB and EXP3.

The paper compares epsilon-greedy and UCB1-Tuned (`repertory.selectors.averages`). The policies of a library
keep learning, so their averages on a task drift; these three deal with that in different ways. The value of an episode
is its return or its reward per step, and policies are ranked by their average value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repertory.selectors.protocol import Arrays, State, argmax_random_tie
from repertory.settings import Settings, setting

VALUES = ("return", "reward per step")


def _value(kind: str, total_reward: float, steps: int) -> float:
    return total_reward if kind == "return" else total_reward / steps


# ------------------------------------------------------------------------------------------ Thompson sampling


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling(Settings):
    """Thompson sampling with Gaussian beliefs (Thompson, 1933; Agrawal and Goyal, 2013): draw an average for each
    policy from what is believed of it on the task, and play the highest. `decay` is the rate of forgetting.
    """

    value: str = setting("return", "What an episode is worth.", choices=VALUES)
    decay: float = setting(
        0.99, "What an episode counts after the next one of its task; 1: for ever.", above=0, at_most=1
    )

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> ThompsonSelector:
        return ThompsonSelector(self, n_tasks, n_policies)


class ThompsonSelector(Arrays):
    def __init__(self, settings: ThompsonSampling, n_tasks: int, n_policies: int) -> None:
        self._settings = settings
        self._counts, self._sums, self._squares = np.zeros((3, n_tasks, n_policies))

    def select(self, task: int, rng: np.random.Generator) -> int:
        counts = self._counts[task]
        untried = np.flatnonzero(counts == 0)
        if untried.size:  # no belief yet
            return int(untried[int(rng.random() * untried.size)])
        means = self._sums[task] / counts
        variance = np.maximum(
            self._squares[task].sum() / counts.sum() - (self._sums[task].sum() / counts.sum()) ** 2, 0.0
        )
        return argmax_random_tie(means + np.sqrt(variance / counts) * rng.standard_normal(counts.size), rng)

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        value = _value(self._settings.value, total_reward, steps)
        for table in (self._counts, self._sums, self._squares):
            table[task] *= self._settings.decay
        self._counts[task, policy] += 1
        self._sums[task, policy] += value
        self._squares[task, policy] += value * value

    def arrays(self) -> State:
        return {"counts": self._counts, "sums": self._sums, "squares": self._squares}


# ---------------------------------------------------------------------------------------- sliding-window UCB


@dataclass(frozen=True, kw_only=True)
class SlidingWindowUCB(Settings):
    """Sliding-window UCB (Garivier and Moulines, 2011): UCB on each task's last `window` episodes only."""

    value: str = setting("return", "What an episode is worth.", choices=VALUES)
    window: int = setting(500, "Episodes of a task that count.", at_least=1)
    width: float = setting(0.6, "How optimistic: the factor of the confidence term.", at_least=0)

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> SlidingWindowSelector:
        return SlidingWindowSelector(self, n_tasks, n_policies)


class SlidingWindowSelector(Arrays):
    """bound = average + width (highest - lowest) sqrt(ln min(t, window) / n_i), over the window."""

    def __init__(self, settings: SlidingWindowUCB, n_tasks: int, n_policies: int) -> None:
        self._settings = settings
        self._n_policies = n_policies
        self._played = np.full((n_tasks, settings.window), -1, np.int64)
        self._values = np.zeros((n_tasks, settings.window))
        self._episodes = np.zeros(n_tasks, np.int64)

    def select(self, task: int, rng: np.random.Generator) -> int:
        held = min(int(self._episodes[task]), self._settings.window)
        played, values = self._played[task, :held], self._values[task, :held]
        uses = np.bincount(played, minlength=self._n_policies)
        if (uses == 0).any():
            return argmax_random_tie((uses == 0).astype(float), rng)
        means = np.bincount(played, values, minlength=self._n_policies) / uses
        spread = values.max() - values.min()
        return argmax_random_tie(means + self._settings.width * spread * np.sqrt(math.log(held) / uses), rng)

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        place = int(self._episodes[task]) % self._settings.window
        self._played[task, place] = policy
        self._values[task, place] = _value(self._settings.value, total_reward, steps)
        self._episodes[task] += 1

    def arrays(self) -> State:
        return {"played": self._played, "values": self._values, "episodes": self._episodes}


# ------------------------------------------------------------------------------------------------------ EXP3


@dataclass(frozen=True, kw_only=True)
class EXP3(Settings):
    """EXP3 (Auer, Cesa-Bianchi, Freund and Schapire, 2002): no assumption on how averages change.

    Values are scaled to 0 ... 1 by the lowest and the highest of the task so far.
    """

    value: str = setting("return", "What an episode is worth.", choices=VALUES)
    gamma: float = setting(0.1, "Share of uniformly random play, and the speed of learning.", above=0, at_most=1)

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> EXP3Selector:
        return EXP3Selector(self, n_tasks, n_policies)


class EXP3Selector(Arrays):
    def __init__(self, settings: EXP3, n_tasks: int, n_policies: int) -> None:
        self._settings = settings
        self._log_weights = np.zeros((n_tasks, n_policies))
        self._lowest, self._highest = np.full(n_tasks, math.inf), np.full(n_tasks, -math.inf)

    def probabilities(self, task: int) -> NDArray[np.float64]:
        """(1 - gamma) w_i / sum w + gamma / N."""
        weights: NDArray[np.float64] = np.exp(self._log_weights[task] - self._log_weights[task].max())
        gamma = self._settings.gamma
        shares: NDArray[np.float64] = (1 - gamma) * weights / weights.sum() + gamma / weights.size
        return shares

    def select(self, task: int, rng: np.random.Generator) -> int:
        return min(
            int(np.searchsorted(self.probabilities(task).cumsum(), rng.random())), self._log_weights.shape[1] - 1
        )

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        value = _value(self._settings.value, total_reward, steps)
        self._lowest[task] = min(self._lowest[task], value)
        self._highest[task] = max(self._highest[task], value)
        spread = self._highest[task] - self._lowest[task]
        gain = (value - self._lowest[task]) / spread if spread > 0 else 0.0
        estimate = gain / self.probabilities(task)[policy]
        self._log_weights[task, policy] += self._settings.gamma * estimate / self._log_weights.shape[1]

    def arrays(self) -> State:
        return {"log_weights": self._log_weights, "lowest": self._lowest, "highest": self._highest}
