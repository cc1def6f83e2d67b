"""Light models of contexts for observations that are vectors: Bayesian linear regression, in closed form.

A context predicts the change of each observed quantity, and the reward, linearly from monomials of the observation,
with separate weights for each action, and again for steps that end an episode, whose rewards are often of another kind.
For one set of weights, with features phi_t and one predicted quantity y_t,

    A = s^2 I + sum phi_t phi_t',   w = A^-1 sum phi_t y_t,
    y | phi ~ w'phi + Student-t of squared scale noise * (1 + phi'A^-1 phi)

where s is the smallest noise that is believed, and noise the mean square of the context's errors so far. A set of
weights that has seen little, or a quantity that is less sure than if nothing were known, has no opinion: it is
predicted as in a context of which nothing is known, where y | phi ~ Student-t of squared scale s^2 + phi'phi.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_kernels import (
    ESTABLISHED,
    NOISE_FLOOR,
    Ordinary,
    Tables,
    described,
    goes_on,
    learn,
    log_unknown,
    predict,
    solve_again,
)
from repertory.agents.protocol import Opening
from repertory.errors import UsageError
from repertory.kernels.handle import pack
from repertory.selectors.protocol import Arrays, State

MOST_FEATURES = 64
"""Of an action: the highest degree is taken, up to 3, that needs no more."""
MOST_HANDLES = 64
"""That are kept. Compiled episodes fill the same arrays again and again, of a few lengths; others are new each time."""


class Seen(NamedTuple):
    """The opening of an episode as the models see it, a row for each transition."""

    features: NDArray[np.float64]
    sets: NDArray[np.int64]
    """Of weights: two for each action, the second for steps on which the episode ended."""
    targets: NDArray[np.float64]
    """Changes of the observation, then the reward, each in units of its usual size."""
    log_new: NDArray[np.float64]
    """Log density of the targets in a context of which nothing is known."""


class Regressions(Arrays):
    """The models of up to `contexts` contexts."""

    look_steps = 50_000
    """From one look at all contexts to the next, while the current one fits, so that it costs little."""

    compares_fairly = True
    """Whether a context may be left, though it fits, for one that explains more: all soon explain what they can."""

    def __init__(self, contexts: int, observation_space: Any, action_space: gymnasium.Space[Any]) -> None:
        if not isinstance(observation_space, gymnasium.spaces.Box):
            raise UsageError(
                f"tasks are inferred from observations that are numbers or one choice, and these are of "
                f"{observation_space}; valid: Box or Discrete"
            )
        size = math.prod(observation_space.shape)
        self._is_choice, self.first_action, actions, more = _action_encoding(action_space)
        inputs = size + more
        # A fixed random projection of what is too large to be regressed on, images for instance.
        self._projection = None
        if inputs >= MOST_FEATURES:
            inputs = MOST_FEATURES // 2
            drawn = np.random.default_rng(0).standard_normal((size, inputs - more))
            self._projection = drawn / math.sqrt(size)
        outputs = inputs - more + 1
        self._places = monomials(inputs, MOST_FEATURES)
        features = self._places.shape[1]
        self._scales = np.zeros(inputs + outputs)
        """Of inputs and outputs; zeros before the first opening."""
        shape = (contexts, 2 * actions)
        self.tables = Tables(
            gram=np.tile(NOISE_FLOOR**2 * np.eye(features), (*shape, 1, 1)),
            moment=np.zeros((*shape, features, outputs)),
            inverse=np.tile(NOISE_FLOOR**-2 * np.eye(features), (*shape, 1, 1)),
            weights=np.zeros((*shape, features, outputs)),
            errors=np.full((contexts, outputs), NOISE_FLOOR**2),
            transitions=np.ones(contexts),
            learned=np.zeros(shape, np.int64),
            solved=np.zeros(shape, np.int64),
        )
        self._handle = pack(self.tables)
        self._ordinary: dict[int, tuple[Opening, Any]] = {}
        """Openings that have come, by id, and handles on what an ordinary episode with them needs."""
        self.outputs = outputs

    def encode(self, opening: Opening) -> Seen:
        """What the models see of an opening. The first one of a life decides in which units."""
        rows = len(opening.actions)
        before = np.asarray(opening.observations, float).reshape(rows, -1)
        after = np.asarray(opening.next_observations, float).reshape(rows, -1)
        if self._projection is not None:
            before, after = before @ self._projection, after @ self._projection
        actions = np.zeros(rows, np.int64)
        if self._is_choice:
            np.subtract(opening.actions, self.first_action, out=actions)
        else:
            before = np.concatenate([before, np.asarray(opening.actions, float).reshape(rows, -1)], axis=1)
        if not self._scales.any():
            changes = usual_size(after - before[:, : after.shape[1]])
            self._scales[:] = np.concatenate([2 * usual_size(before), changes, usual_size(opening.rewards[:, None])])
        rewards, ended = opening.rewards, opening.terminated
        features, sets, targets = described(before, after, actions, rewards, ended, self._scales, self._places)
        return Seen(features, sets, targets, log_unknown(features, targets))

    def goes_on(
        self, context: int, opening: Opening, sums: NDArray[np.float64], threshold: float, is_turn: bool
    ) -> bool:
        """Whether a context that is certain explains an opening, seen in one go: most do, and cost next to nothing.

        If so, its CUSUMs are carried on, and it has learned if it had not learned much yet or `is_turn`.
        """
        if not self._is_choice or self._projection is not None or opening.observations.ndim != 2:
            return False
        if id(opening) not in self._ordinary:
            if len(self._ordinary) == MOST_HANDLES:
                self._ordinary.clear()
            handle = pack(Ordinary(self.tables, self._scales, self._places, opening))
            self._ordinary[id(opening)] = opening, handle  # what is kept here keeps its id
        return goes_on(self._ordinary[id(opening)][1], sums, context, self.first_action, threshold, is_turn)

    @staticmethod
    def fits(observation_space: Any, action_space: Any) -> bool:
        """Whether observations are numbers, few enough to be regressed on as they are, and actions choices."""
        box, discrete = gymnasium.spaces.Box, gymnasium.spaces.Discrete
        if not isinstance(observation_space, box) or not isinstance(action_space, discrete):
            return False
        return len(observation_space.shape) == 1 and observation_space.shape[0] < MOST_FEATURES

    def means(
        self, context: int, observations: NDArray[Any], actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The next observations and rewards that a context expects; see `fits`."""
        before, rows = observations.astype(float), len(actions)
        choices = actions - self.first_action
        still = np.zeros(rows, np.bool_)
        features, sets, _ = described(before, before, choices, np.zeros(rows), still, self._scales, self._places)
        changes = (
            np.einsum("rf,rfk->rk", features, self.tables.weights[context, sets]) * self._scales[before.shape[1] :]
        )
        return before + changes[:, :-1], changes[:, -1]

    def score(self, context: int, seen: Seen) -> NDArray[np.float64]:
        """(transition, quantity): log probability density under a context."""
        return predict(self._handle, context, *seen)

    def learn(self, context: int, seen: Seen) -> None:
        learn(self._handle, context, seen.features, seen.sets, seen.targets)

    def is_established(self, context: int) -> bool:
        """Whether it has learned so much that not every episode need teach it more."""
        return bool(self.tables.learned[context].max() >= ESTABLISHED)

    def is_usual(self, *_: Any) -> bool:
        """Whether a context explains as much as it usually does: what it does not, is strange to a regression."""
        return True

    def pay_differently(self, *_: Any) -> bool:
        """Whether contexts must stay two: rewards are but one more quantity here."""
        return False

    def twins(self, *_: Any) -> list[int]:
        """None: every step tells what it pays."""
        return []

    def merge(self, kept: int, gone: int) -> None:
        """Let one context have what both have seen."""
        tables, prior = self.tables, NOISE_FLOOR**2 * np.eye(self.tables.gram.shape[-1])
        tables.gram[kept] += tables.gram[gone] - prior
        for table in (tables.moment, tables.errors, tables.transitions, tables.learned):
            table[kept] += table[gone]
        solve_again(self._handle, kept)

    def arrays(self) -> State:
        return {"scales": self._scales, **self.tables._asdict()}


def _action_encoding(space: gymnasium.Space[Any]) -> tuple[bool, int, int, int]:
    """Whether actions are choices, the first of them, how many sets of weights, how many more inputs."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return True, int(space.start), int(space.n), 0
    if isinstance(space, gymnasium.spaces.Box):
        return False, 0, 1, math.prod(space.shape)
    raise UsageError(f"tasks are inferred from actions that are numbers or one choice, not from {space}")


def monomials(inputs: int, most: int) -> NDArray[np.int64]:
    """(factor, monomial): which three of (x_0, ..., x_n-1, 1) to multiply, for all of the highest degree up to 3 that
    has no more than `most`; of degree 1 in any case."""
    degree = max(d for d in (1, 2, 3) if d == 1 or math.comb(inputs + d, d) <= most)
    chosen = itertools.combinations_with_replacement(range(inputs + 1), degree)
    return np.array([(*places, *[inputs] * (3 - degree)) for places in chosen]).T


def usual_size(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Root mean square of each column; 1 of a column of zeros."""
    size: NDArray[np.float64] = np.sqrt((values**2).mean(axis=0))
    return np.where(size > 0, size, 1.0)
