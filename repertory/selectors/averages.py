"""Selectors that follow averages: the paper's epsilon-greedy and UCB1-Tuned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.selectors.protocol import Arrays, State, argmax_random_tie
from repertory.settings import Settings, setting

SAME = 1e-9
"""Averages that differ by no more, as a share of the largest, are the same: sums of equal rewards are not exact."""
AVERAGES = ("per step", "per episode", "per policy episode")


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Settings):
    """Conservative epsilon-greedy (the paper's Algorithm 1): the policy with the best lifetime average on the
    task, or with probability epsilon any policy.

    A policy never tried on a task cannot be its best, so it is reached only with probability epsilon / policies. While
    all policies tried on a task have the same reward per step, that says nothing, and their returns decide. The paper
    does not say so; in its domains episodes are of one length, or end in a step that earns less. Under the rules of its
    released code all steps of Cartpole earn the same, and the average is another one there.
    """

    epsilon: float = setting(0.1, "Probability of a uniformly random policy.", at_least=0, at_most=1)
    average: str = setting(
        "per step",
        "What to rank by: reward on the task per step there (where every step has earned the same, per episode), per "
        "episode there, or per episode that the policy played on any task.",
        choices=AVERAGES,
    )

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> EpsilonGreedySelector:
        return EpsilonGreedySelector(self, n_tasks, n_policies)


@dataclass(frozen=True, kw_only=True)
class UCB1Tuned(Settings):
    """UCB1-Tuned (Auer et al., 2002; the paper's Appendix B): optimism that shrinks with use and variance."""

    average: str = setting("per step", "What to rank by, as in EpsilonGreedy.", choices=AVERAGES)
    optimal_average: float = setting(1.0, "The average is divided by this, so that 1 is optimal.", above=0)
    optimal_return: float = setting(200.0, "Returns are divided by this before their variance is taken.", above=0)
    statistics: str = setting(
        "per pair",
        "What a bound is made of: the average, uses and variance of policy and task; or the mean, uses and variance of "
        "the policy's samples on all tasks, as of the last use of policy and task.",
        choices=("per pair", "policy mean"),
    )
    sample: str = setting(
        "return", "What the variance is of: episode returns, or the averages after each.", choices=("return", "average")
    )
    initial_value: float | None = setting(
        None, "Of a pair before its first use: its average, or its bound with 'policy mean'; none: it comes first."
    )

    def validate(self) -> None:
        if self.average != "per step" and self.optimal_average == UCB1Tuned.optimal_average:
            raise UsageError(
                f"UCB1Tuned.optimal_average is {self.optimal_average}; valid with average='{self.average}': "
                "the best possible return of an episode, such as 200"
            )

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> UCB1TunedSelector | PolicyMeanUCB:
        rule = UCB1TunedSelector if self.statistics == "per pair" else PolicyMeanUCB
        return rule(self, n_tasks, n_policies)

    def scaled_sample(self, total_reward: float, average: float) -> float:
        """What a use adds to the statistics."""
        return total_reward / self.optimal_return if self.sample == "return" else average / self.optimal_average


class LifetimeAverages:
    """The average reward of every policy on every task, by either meaning of "average".

    "per step" is the paper's R_ij: reward of policy i on task j over the steps it spent there; "per episode" is over
    the episodes it played there. "per policy episode" divides by the episodes the policy played on any task, and a
    pair's value is as of its last use.
    """

    def __init__(self, kind: str, n_tasks: int, n_policies: int, untried: float) -> None:
        self._kind = kind
        self.values = np.full((n_tasks, n_policies), untried)
        self._rewards = np.zeros((n_tasks, n_policies))
        self._steps = np.zeros((n_tasks, n_policies))
        self._episodes = np.zeros(n_policies)
        self._uses = np.zeros((n_tasks, n_policies))
        """Episodes of a policy on a task."""
        self._apart: dict[int, tuple[int, int]] = {}
        """Two policies of a task whose averages differed when all were last looked at."""

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> float:
        self._rewards[task, policy] += total_reward
        self._steps[task, policy] += 1 if self._kind == "per episode" else steps
        self._episodes[policy] += 1
        self._uses[task, policy] += 1
        units = self._episodes[policy] if self._kind == "per policy episode" else self._steps[task, policy]
        self.values[task, policy] = self._rewards[task, policy] / units
        return float(self.values[task, policy])

    def ranks(self, task: int) -> NDArray[np.float64]:
        """What to rank the policies of a task by: their averages or, where all steps earned the same, their returns."""
        values: NDArray[np.float64] = self.values[task]
        if not self.tells_nothing(task) or (self._uses[task][self._steps[task] > 0] == 0).any():
            return values
        uses = self._uses[task]
        return np.where(uses > 0, self._rewards[task] / np.maximum(uses, 1), values)

    def tells_nothing(self, task: int) -> bool:
        """Whether two or more policies were tried on a task, and all have one reward per step."""
        if self._kind != "per step" or self._are_still_apart(task):
            return False
        # Plain numbers: asked before every episode, and of a few policies arrays take longer.
        pairs = zip(self.values[task].tolist(), self._steps[task].tolist(), strict=True)
        tried = [(value, policy) for policy, (value, steps) in enumerate(pairs) if steps > 0]
        if len(tried) < 2:
            return False
        (lowest, worst), (highest, best) = min(tried), max(tried)
        self._apart[task] = worst, best
        return bool(highest - lowest <= SAME * max(-lowest, highest))

    def _are_still_apart(self, task: int) -> bool:
        """Whether two policies that differed before do so now, clearly: spares a look at each of hundreds."""
        one, other = self._apart.get(task, (0, 0))
        if one == other or not (self._steps[task, one] and self._steps[task, other]):
            return False
        low, high = self.values[task, one], self.values[task, other]
        return bool(abs(high - low) > 2 * SAME * max(abs(low), abs(high)))

    def arrays(self) -> State:
        return {
            "values": self.values,
            "rewards": self._rewards,
            "steps": self._steps,
            "episodes": self._episodes,
            "uses_on_tasks": self._uses,
        }


def _with_uses(own: State, state: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Earlier versions did not count episodes by task; where they are not known, averages alone rank."""
    return {"uses_on_tasks": np.zeros_like(own["uses_on_tasks"]), **state}


class EpsilonGreedySelector(Arrays):
    def __init__(self, settings: EpsilonGreedy, n_tasks: int, n_policies: int) -> None:
        self._epsilon = settings.epsilon
        self._n_policies = n_policies
        self._averages = LifetimeAverages(settings.average, n_tasks, n_policies, untried=-math.inf)

    def select(self, task: int, rng: np.random.Generator) -> int:
        if rng.random() < self._epsilon:
            return int(rng.random() * self._n_policies)
        return argmax_random_tie(self.ranks(task), rng)

    def ranks(self, task: int) -> NDArray[np.float64]:
        """What the policies of a task are ranked by; -inf for one that was never tried."""
        return self._averages.ranks(task)

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        self._averages.update(task, policy, total_reward, steps)

    def arrays(self) -> State:
        return self._averages.arrays()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(_with_uses(self.arrays(), state))


ADVICE = (
    "every step of task {task} has earned the same, so reward per step does not tell policies apart; next: "
    "UCB1Tuned(average='per episode', optimal_average=...), or another selector, such as thompson"
)


class UCB1TunedSelector(Arrays):
    """value = average + sqrt(ln n / n_i min(1/4, V)), V = variance + sqrt(2 ln n / n_i)."""

    def __init__(self, settings: UCB1Tuned, n_tasks: int, n_policies: int) -> None:
        self._settings = settings
        untried = 0.0 if settings.initial_value is None else settings.initial_value * settings.optimal_average
        self._averages = LifetimeAverages(settings.average, n_tasks, n_policies, untried)
        self._uses = np.zeros((n_tasks, n_policies))
        self._sums = np.zeros((n_tasks, n_policies))
        self._squares = np.zeros((n_tasks, n_policies))
        self._advised = False

    def select(self, task: int, rng: np.random.Generator) -> int:
        return argmax_random_tie(self.bounds(task), rng)

    def bounds(self, task: int) -> NDArray[np.float64]:
        """The upper confidence bound of each policy on a task."""
        settings = self._settings
        uses = self._uses[task]
        average = self._averages.values[task] / settings.optimal_average
        tried = uses > 0
        n_i = np.where(tried, uses, 1.0)
        variance = np.maximum(self._squares[task] / n_i - (self._sums[task] / n_i) ** 2, 0.0)
        log_n = math.log(max(uses.sum(), 1.0))
        width: NDArray[np.float64] = np.sqrt(log_n / n_i * np.minimum(0.25, variance + np.sqrt(2 * log_n / n_i)))
        if settings.initial_value is None:
            return np.where(tried, average + width, math.inf)
        bounds: NDArray[np.float64] = average + width
        return bounds

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        average = self._averages.update(task, policy, total_reward, steps)
        sample = self._settings.scaled_sample(total_reward, average)
        self._uses[task, policy] += 1
        self._sums[task, policy] += sample
        self._squares[task, policy] += sample * sample
        self._advise(task)

    def _advise(self, task: int) -> None:
        """Once, if bounds are made of averages that cannot tell policies apart."""
        if self._advised or not self._averages.tells_nothing(task):
            return
        returns = self._sums[task] / np.maximum(self._uses[task], 1)
        if np.ptp(returns[self._uses[task] > 0]) > 0:
            self._advised = True
            warnings.warn(ADVICE.format(task=task), stacklevel=2)

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(_with_uses(self.arrays(), state))

    def arrays(self) -> State:
        statistics = {"uses": self._uses, "sums": self._sums, "squares": self._squares}
        return {**self._averages.arrays(), **statistics}


class PolicyMeanUCB(Arrays):
    """UCB1-Tuned as the paper's released code has it: the bound of a policy, whatever the task, kept by task.

    A use pushes a sample to the policy's statistics. The bound of policy and task is then the mean of all samples of
    the policy, with the width of UCB1-Tuned, and stays so until their next use.
    """

    def __init__(self, settings: UCB1Tuned, n_tasks: int, n_policies: int) -> None:
        self._settings = settings
        self._averages = LifetimeAverages(settings.average, n_tasks, n_policies, untried=0.0)
        untried = math.inf if settings.initial_value is None else settings.initial_value
        self._bounds = np.full((n_tasks, n_policies), untried)
        self._uses, self._means, self._deviations = np.zeros((3, n_policies))

    def select(self, task: int, rng: np.random.Generator) -> int:
        return argmax_random_tie(self._bounds[task], rng)

    def bounds(self, task: int) -> NDArray[np.float64]:
        """The upper confidence bound of each policy on a task."""
        bounds: NDArray[np.float64] = self._bounds[task].copy()
        return bounds

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        average = self._averages.update(task, policy, total_reward, steps)
        sample = self._settings.scaled_sample(total_reward, average)
        n_i = self._uses[policy] = self._uses[policy] + 1
        before = self._means[policy]
        mean = self._means[policy] = before + (sample - before) / n_i
        self._deviations[policy] += (sample - before) * (sample - mean)
        # Their variance of a single sample, which is none, is its square.
        variance = self._deviations[policy] / (n_i - 1) if n_i > 1 else mean**2
        log_n = math.log(self._uses.sum())
        width = math.sqrt(log_n / n_i * min(0.25, variance + math.sqrt(2 * log_n / n_i)))
        self._bounds[task, policy] = mean + width

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(_with_uses(self.arrays(), state))

    def arrays(self) -> State:
        statistics = {"uses": self._uses, "means": self._means, "deviations": self._deviations, "bounds": self._bounds}
        return {**self._averages.arrays(), **statistics}
