"""Does a policy transfer to another task? The paper's Lemma 1 and Corollaries 1 and 2, as checks on tabular MDPs.

Notation: P[s] is the fraction of time a policy spends in state s, r(s) the reward of its action there, R, the sum of
P[s] r(s), its expected reward, R* the optimal one, R* - R its regret. A policy is epsilon-optimal if R* - R <= epsilon
R*. A dash marks the target task: P', r', R'.

The paper's fraction of time is over T steps; here it is discounted, P[s] = (1 - gamma) sum_t gamma^t Prob(s_t = s),
which is the state's distribution when each step is the last with probability 1 - gamma, and tends to the paper's as
gamma tends to 1. The corrected conditions use only that rewards are at least 0 and that R = sum P[s] r(s), and the
counterexamples stand as gamma tends to 1, so what follows holds for either.

What is printed and what is true:

- Lemma 1's printed inequality does NOT imply epsilon-optimality. It bounds from above what the policy *earns* where its
  reward differs from the optimal policy's; a policy that earns nothing there passes with epsilon = 0. Smallest
  counterexample: one state, two actions that pay 1 and 0, and the policy that takes the second. `lemma_1` gives the
  printed condition, the one that the proof needs, and the truth.
- The printed conditions of Corollaries 1 and 2 do not imply transfer either, not even for a policy that is optimal on
  the source: they leave out what the optimal policy gains by the change. Smallest counterexample to Corollary 2: one
  state, two actions that pay 0.5 each; on the target the second pays 1, and the policy takes the first. `transfer`
  gives the printed condition, one that does imply transfer, and the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repertory.errors import UsageError
from repertory.paper.cover import checked_epsilon

ROUNDING = 1e-10
"""Rewards are in [0, 1]; differences up to this are floating-point noise and count as none."""


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """A task: a continuing MDP with finitely many states and actions, and rewards in [0, 1] as in the paper.

    An episodic task becomes continuing by letting its terminal states lead to the initial distribution.
    """

    transitions: NDArray[np.float64]
    """(states, actions, states): the probability of each next state."""
    rewards: NDArray[np.float64]
    """(states, actions): r(s, a), normalised to [0, 1]."""
    initial: NDArray[np.float64]
    """(states,): the distribution of the first state."""
    discount: float
    """gamma in [0, 1)."""

    def __post_init__(self) -> None:
        for name in ("transitions", "rewards", "initial"):
            array = np.array(getattr(self, name), np.float64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_shapes()
        _check_distributions("transitions", self.transitions)
        _check_distributions("initial", self.initial)
        if not ((self.rewards >= 0) & (self.rewards <= 1)).all():  # also false for NaN
            raise UsageError(
                f"rewards from {self.rewards.min()} to {self.rewards.max()}; valid: in [0, 1]. "
                "Give (reward - lowest) / (highest - lowest)"
            )
        if not 0 <= self.discount < 1:
            raise UsageError(f"discount is {self.discount}; valid: at least 0 and below 1, such as 0.99")

    @property
    def n_states(self) -> int:
        return int(self.rewards.shape[0])

    @property
    def n_actions(self) -> int:
        return int(self.rewards.shape[1])

    def _check_shapes(self) -> None:
        shape = self.rewards.shape
        if len(shape) != 2 or 0 in shape:
            raise UsageError(f"rewards of shape {shape}; valid: (states, actions), with at least one of each")
        if self.transitions.shape != (*shape, shape[0]) or self.initial.shape != shape[:1]:
            raise UsageError(
                f"transitions of shape {self.transitions.shape} and initial of shape {self.initial.shape} with "
                f"rewards of shape {shape}; valid: {(*shape, shape[0])} and {shape[:1]}"
            )


@dataclass(frozen=True)
class Lemma1:
    """Lemma 1 on one policy and one task: its quantities, its printed condition, and what is true."""

    epsilon: float
    optimal_reward: float
    """R*."""
    s_minus: tuple[int, ...]
    """S-: the states where the policy's reward differs from the optimal policy's. Where several actions are optimal,
    the optimal policy is the one that takes the first of them; another choice may give another S-."""
    reward_on_s_minus: float
    """sum over S- of P[s] r(s): the printed inequality's left side."""
    reward_on_s_plus: float
    """sum over the other states of P[s] r(s)."""

    @property
    def reward(self) -> float:
        """R."""
        return self.reward_on_s_minus + self.reward_on_s_plus

    @property
    def regret(self) -> float:
        """R* - R."""
        return self.optimal_reward - self.reward

    @property
    def epsilon_optimal(self) -> bool:
        """Whether the regret is at most epsilon R*: the truth, by evaluation."""
        return self.regret <= self.epsilon * self.optimal_reward + ROUNDING

    @property
    def printed_condition(self) -> bool:
        """The printed inequality, sum over S- of P[s] r(s) <= epsilon R*. It does not imply epsilon-optimality.

        What it does guarantee: the proof's upper bound on the regret, B = R* - (sum over S+ of P[s] r(s)), is not far
        from the regret itself, B - epsilon R* <= regret <= B. It says nothing about how large B is.
        """
        return self.reward_on_s_minus <= self.epsilon * self.optimal_reward + ROUNDING

    @property
    def corrected_condition(self) -> bool:
        """sum over S+ of P[s] r(s) >= (1 - epsilon) R*, which implies epsilon-optimality.

        This is the second line of the proof's last display with the sign turned, which the line before it needs.
        """
        # Proof: rewards are at least 0, so R = (sum over S-) + (sum over S+) >= (sum over S+) >= (1 - epsilon) R*,
        # which is R* - R <= epsilon R*. It holds for any set S-, so it does not matter which optimal policy defines it.
        return self.reward_on_s_plus >= (1 - self.epsilon) * self.optimal_reward - ROUNDING


@dataclass(frozen=True)
class Transfer:
    """A policy carried from a source task to a target task: the corollaries' quantities, and whether it transfers."""

    source: Lemma1
    target: Lemma1
    corollary: int | None
    """Which corollary is about this change: 1 if only the dynamics differ, 2 if only the rewards do; none if both or
    neither."""
    printed_sum: float | None
    """The left side of that corollary's printed condition."""
    gain_by_dynamics: float
    """sum over s of (P'[s] - P[s]) r'(s): what the policy's reward changes by because it visits other states."""
    gain_by_rewards: float
    """sum over s of P[s] (r'(s) - r(s)): what it changes by because the same states pay differently."""

    @property
    def transfers(self) -> bool:
        """Whether the policy is epsilon-optimal on the target: the truth, by evaluation."""
        return self.target.epsilon_optimal

    @property
    def optimal_gain(self) -> float:
        """Delta R* = R'* - R*, what the optimal reward changes by."""
        return self.target.optimal_reward - self.source.optimal_reward

    @property
    def added_regret(self) -> float:
        """delta, the regret on the target less the regret on the source: Delta R* less both gains."""
        return self.optimal_gain - self.gain_by_dynamics - self.gain_by_rewards

    @property
    def printed_condition(self) -> bool | None:
        """The corollary's printed inequality, left side <= epsilon Delta R*; none where no corollary applies.

        It implies neither transfer nor, as the corollary puts it, Lemma 1's printed condition on the target.
        """
        if self.printed_sum is None:
            return None
        return self.printed_sum <= self.source.epsilon * self.optimal_gain + ROUNDING

    @property
    def corrected_condition(self) -> bool:
        """Epsilon-optimal on the source, and added regret <= epsilon Delta R*. It implies transfer.

        The second part says that the policy keeps up with the optimum: both gains together are at least
        (1 - epsilon) Delta R*. With equal rewards this is about the dynamics alone (Corollary 1), with equal dynamics
        about the rewards alone (Corollary 2), and it stays true when both change. It is not necessary: a policy with
        regret to spare on the source may transfer without it.
        """
        # Proof: R' = sum P' r' = sum P r + sum (P' - P) r' + sum P (r' - r) = R + gains. With R >= (1 - epsilon) R* and
        # gains >= (1 - epsilon) (R'* - R*), R' >= (1 - epsilon) R'*, which is R'* - R' <= epsilon R'*.
        kept_up = self.added_regret <= self.source.epsilon * self.optimal_gain + ROUNDING
        return self.source.epsilon_optimal and kept_up


def lemma_1(policy: ArrayLike, task: TabularMDP, epsilon: float) -> Lemma1:
    """Lemma 1's quantities for a deterministic policy, an action per state."""
    actions = _checked_policy(policy, task)
    differs = _differs_from_optimal(actions, task)
    earned = occupation(actions, task) * _rewards_of(actions, task)
    return Lemma1(
        epsilon=checked_epsilon(epsilon),
        optimal_reward=expected_reward(optimal_policy(task), task),
        s_minus=tuple(np.flatnonzero(differs).tolist()),
        reward_on_s_minus=float(earned[differs].sum()),
        reward_on_s_plus=float(earned[~differs].sum()),
    )


def transfer(policy: ArrayLike, source: TabularMDP, target: TabularMDP, epsilon: float) -> Transfer:
    """Does a policy that serves `source` serve `target`? Ask the answer's `transfers`; the rest says why.

    The printed sums, where the paper's symbols leave a choice: Corollary 1's L(theta, s) is r(s, optimal action of the
    source) - r(s), over the source's S-; Corollary 2's S^c takes the rewards of the policy's own action, r(s) >= r'(s).
    """
    if source.rewards.shape != target.rewards.shape or source.discount != target.discount:
        raise UsageError(
            f"tasks with (states, actions) {source.rewards.shape} and {target.rewards.shape}, discounts "
            f"{source.discount} and {target.discount}; valid: the same for both. Only dynamics and rewards may differ"
        )
    actions = _checked_policy(policy, source)
    time, time_there = occupation(actions, source), occupation(actions, target)
    reward, reward_there = _rewards_of(actions, source), _rewards_of(actions, target)

    same_rewards = np.array_equal(source.rewards, target.rewards)
    same_dynamics = np.array_equal(source.transitions, target.transitions) and np.array_equal(
        source.initial, target.initial
    )
    corollary, printed_sum = None, None
    if same_rewards and not same_dynamics:
        lost = _rewards_of(optimal_policy(source), source) - reward
        corollary, printed_sum = 1, float(((time_there - time) * lost)[_differs_from_optimal(actions, source)].sum())
    elif same_dynamics and not same_rewards:
        s_c = (reward >= reward_there) & _differs_from_optimal(actions, target)
        corollary, printed_sum = 2, float((time * (reward - reward_there))[s_c].sum())

    return Transfer(
        source=lemma_1(actions, source, epsilon),
        target=lemma_1(actions, target, epsilon),
        corollary=corollary,
        printed_sum=printed_sum,
        gain_by_dynamics=float((time_there - time) @ reward_there),
        gain_by_rewards=float(time @ (reward_there - reward)),
    )


def occupation(policy: ArrayLike, task: TabularMDP) -> NDArray[np.float64]:
    """P[s], the discounted fraction of time that the policy spends in each state; it sums to 1.

    It solves P = (1 - gamma) initial + gamma P T, with T the policy's transition matrix.
    """
    actions = _checked_policy(policy, task)
    flow = np.eye(task.n_states) - task.discount * _transitions_of(actions, task)
    return np.asarray(np.linalg.solve(flow.T, (1 - task.discount) * task.initial), np.float64)


def expected_reward(policy: ArrayLike, task: TabularMDP) -> float:
    """R = sum P[s] r(s), in [0, 1]: the discounted return times 1 - gamma."""
    actions = _checked_policy(policy, task)
    return float(occupation(actions, task) @ _rewards_of(actions, task))


def optimal_policy(task: TabularMDP) -> NDArray[np.int64]:
    """The optimal action of every state (the first, where several are), by policy iteration."""
    tolerance = _value_rounding(task)
    actions = task.rewards.argmax(axis=1)
    while True:
        values_of_actions = _action_values(actions, task)
        best = values_of_actions.max(axis=1)
        improvable = best > _rows(values_of_actions, actions) + tolerance
        if not improvable.any():
            return (values_of_actions >= best[:, None] - tolerance).argmax(axis=1)
        actions = np.where(improvable, values_of_actions.argmax(axis=1), actions)


def regret_by_state(policy: ArrayLike, task: TabularMDP) -> NDArray[np.float64]:
    """Where the regret arises: P[s] (V*(s) - Q*(s, policy's action)) for each state; it sums to the regret exactly.

    This is what Lemma 1 aims at: a policy is epsilon-optimal if and only if these add up to at most epsilon R*, and
    only states count in which its action is not optimal. S- cannot serve for this: where the optimal action gives up
    reward now for reward later, or pays the same and leads elsewhere, S- does not see the loss.
    """
    # Proof (the performance difference lemma): let T be the policy's transition matrix, g = V* - r - gamma T V* the gap
    # of each state, and P = (1 - gamma) initial + gamma P T. Then
    # sum P g = (P - gamma P T) V* - P r = (1 - gamma) initial V* - R = R* - R.
    actions = _checked_policy(policy, task)
    values_of_actions = _action_values(optimal_policy(task), task)
    gaps = values_of_actions.max(axis=1) - _rows(values_of_actions, actions)
    return occupation(actions, task) * gaps


def _differs_from_optimal(actions: NDArray[np.int64], task: TabularMDP) -> NDArray[np.bool_]:
    """Whether each state is in S-."""
    difference = _rewards_of(actions, task) - _rewards_of(optimal_policy(task), task)
    return np.abs(difference) > ROUNDING


def _action_values(actions: NDArray[np.int64], task: TabularMDP) -> NDArray[np.float64]:
    """Q(s, a) of the policy, as discounted returns."""
    flow = np.eye(task.n_states) - task.discount * _transitions_of(actions, task)
    values = np.linalg.solve(flow, _rewards_of(actions, task))
    return task.rewards + task.discount * task.transitions @ values


def _value_rounding(task: TabularMDP) -> float:
    """Returns are up to 1 / (1 - gamma), and so is their rounding error as a multiple of a reward's."""
    return 1e-12 / (1 - task.discount)


def _transitions_of(actions: NDArray[np.int64], task: TabularMDP) -> NDArray[np.float64]:
    return task.transitions[np.arange(task.n_states), actions]


def _rewards_of(actions: NDArray[np.int64], task: TabularMDP) -> NDArray[np.float64]:
    return _rows(task.rewards, actions)


def _rows(table: NDArray[np.float64], actions: NDArray[np.int64]) -> NDArray[np.float64]:
    """The entry of each row (state) at the policy's action."""
    return table[np.arange(len(table)), actions]


def _checked_policy(policy: ArrayLike, task: TabularMDP) -> NDArray[np.int64]:
    actions = np.asarray(policy)
    valid = f"valid: {task.n_states} whole numbers from 0 to {task.n_actions - 1}, an action per state"
    if actions.shape != (task.n_states,) or not np.issubdtype(actions.dtype, np.integer):
        raise UsageError(f"a policy of shape {actions.shape} and type {actions.dtype}; {valid}")
    if actions.min() < 0 or actions.max() >= task.n_actions:
        raise UsageError(f"policy {actions.tolist()}; {valid}")
    return actions.astype(np.int64)


def _check_distributions(name: str, array: NDArray[np.float64]) -> None:
    totals = array.sum(axis=-1)
    if not ((array >= 0).all() and (np.abs(totals - 1) <= ROUNDING).all()):  # also false for NaN
        raise UsageError(
            f"{name} has entries from {array.min()} and sums from {totals.min()} to {totals.max()}; "
            "valid: probabilities of at least 0 that sum to 1 over the last axis"
        )
