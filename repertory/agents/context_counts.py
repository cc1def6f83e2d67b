"""Light models of contexts for observations of which there are finitely many: counts, in closed form.

A context predicts the next observation by how often it followed this one and this action. As many counts more as
different ones have followed are spread evenly over all: where many do, one more is no surprise (Witten and Bell). It
predicts the reward by the mean and spread of those that came with this observation and the next.
What a context has never met, it predicts as one that knows nothing does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_kernels import NOISE_FLOOR, OPINION, log_student_t
from repertory.agents.protocol import Opening
from repertory.domains.two_valued import TwoValued
from repertory.errors import UsageError
from repertory.selectors.protocol import Arrays, State

MOST_COUNTS = 2**21
"""Of all contexts together."""
MOST_OBSERVATIONS = 2**20
"""That are told apart."""
FEWEST_PLACES = 8
UNKNOWN_REWARD = 1 + NOISE_FLOOR**2
"""Squared scale of a reward of which nothing is known."""


class Seen(NamedTuple):
    """The opening of an episode as the models see it."""

    before: NDArray[np.int64]
    actions: NDArray[np.int64]
    after: NDArray[np.int64]
    rewards: NDArray[np.float64]
    """In units of their usual size."""
    log_new: NDArray[np.float64]
    """(transition, quantity): log probability in a context of which nothing is known."""


class Tables(NamedTuple):
    """All contexts' models, and the places of observations in them."""

    place_of: NDArray[np.int64]
    """Each observation's; -1 for those that never came."""
    places: NDArray[np.int64]
    """How many are taken, as the only element."""
    size: NDArray[np.float64]
    """Of rewards, as the only element; 0 before the first that is not 0."""
    followed: NDArray[np.float32]
    """(context, observation, action, next observation): in how many episodes."""
    rewards: NDArray[np.float64]
    """(3, context, observation, next observation): how many rewards, their sum, and the sum of their squares."""


class Counts(Arrays):
    """The models of up to `contexts` contexts."""

    outputs = 2
    """Quantities that are predicted: the next observation, and the reward."""
    look_steps = 1_000
    """From one look at all contexts to the next, while the current one fits, so that it costs little."""

    def __init__(self, contexts: int, observation_space: Any, action_space: gymnasium.Space[Any]) -> None:
        if not isinstance(action_space, gymnasium.spaces.Discrete):
            raise UsageError(
                f"tasks whose observations are of {observation_space} are inferred from one choice, not from "
                f"actions of {action_space}; valid: Discrete actions"
            )
        self._space = observation_space
        self._first_action, actions = int(action_space.start), int(action_space.n)
        count = 2 ** observation_space.shape[0] if self._is_two_valued else int(observation_space.n)
        self._count = min(count, MOST_OBSERVATIONS)
        places = max(FEWEST_PLACES, min(self._count, int((MOST_COUNTS / (contexts * actions)) ** 0.5)))
        self.tables = Tables(
            place_of=np.full(self._count, -1),
            places=np.zeros(1, np.int64),
            size=np.zeros(1),
            followed=np.zeros((contexts, places, actions, places), np.float32),
            rewards=np.zeros((3, contexts, places, places)),
        )

    @staticmethod
    def fits(space: gymnasium.Space[Any]) -> bool:
        """Whether there are finitely many observations, and few enough."""
        is_few = isinstance(space, TwoValued) and 2 ** space.shape[0] <= MOST_OBSERVATIONS
        return is_few or isinstance(space, gymnasium.spaces.Discrete)

    @property
    def _is_two_valued(self) -> bool:
        return isinstance(self._space, TwoValued)

    def encode(self, opening: Opening) -> Seen:
        """What the models see of an opening: each transition once, however often it comes.

        Else, what is hidden from view and drawn anew for each episode would count as often as it shows.
        """
        rewards, size = np.array(opening.rewards, float), self.tables.size
        if not size[0] and rewards.any():
            size[0] = np.abs(rewards).max()
        rewards /= size[0] or 1.0
        actions = np.asarray(opening.actions, np.int64) - self._first_action
        before, after = self._places(opening.observations), self._places(opening.next_observations)
        _values, first = np.unique(np.stack([before, actions, after, rewards]), axis=1, return_index=True)
        first.sort()
        before, actions, after, rewards = before[first], actions[first], after[first], rewards[first]
        log_next = np.full(len(rewards), -np.log(self.tables.followed.shape[1]))
        log_new = np.stack([log_next, log_student_t(rewards**2, UNKNOWN_REWARD)], axis=1)
        return Seen(before, actions, after, rewards, log_new)

    def _places(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Places are taken in the order in which observations come; those that come when all are taken share them."""
        if self._is_two_valued:
            numbers = (observations == self._space.high) @ (1 << np.arange(observations.shape[1]))
        else:
            numbers = (np.asarray(observations, np.int64) - int(self._space.start)) % self._count
        place_of, taken = self.tables.place_of, self.tables.places
        for number in numbers[place_of[numbers] < 0].tolist():
            if place_of[number] < 0:
                place_of[number] = taken[0] % self.tables.followed.shape[1]
                taken[0] += 1
        found: NDArray[np.int64] = place_of[numbers]
        return found

    def score(self, context: int, seen: Seen) -> NDArray[np.float64]:
        """(transition, quantity): log probability under a context; of the reward, a density."""
        rows = self.tables.followed[context, seen.before, seen.actions].astype(float)
        next_one = rows[np.arange(len(rows)), seen.after]
        different = np.maximum((rows > 0).sum(axis=1), 1)
        log_next = np.log((next_one + different / rows.shape[1]) / (rows.sum(axis=1) + different))
        # As in the regression, with a single feature that is 1.
        count, total, squares = self.tables.rewards[:, context, seen.before, seen.after]
        mean = total / (count + NOISE_FLOOR**2)
        noise = (NOISE_FLOOR**2 + np.maximum(squares - total * mean, 0.0)) / (1 + count)
        scale = np.maximum(noise, NOISE_FLOOR**2) * (1 + 1 / (count + NOISE_FLOOR**2))
        log_reward = log_student_t((seen.rewards - mean) ** 2, scale)
        # No reward where none ever came says nothing; else the many such steps would outweigh the few that tell.
        tells = (count >= OPINION) & ((seen.rewards != 0) | (squares > 0))
        return np.stack([log_next, np.where(tells, log_reward, seen.log_new[:, 1])], axis=1)

    def learn(self, context: int, seen: Seen) -> None:
        np.add.at(self.tables.followed[context], (seen.before, seen.actions, seen.after), 1)
        for power, table in enumerate(self.tables.rewards):
            np.add.at(table[context], (seen.before, seen.after), seen.rewards**power)

    def goes_on(self, *_: Any) -> bool:
        """Unknown before it is computed."""
        return False

    def is_established(self, context: int) -> bool:
        """Never: counting costs little."""
        return False

    def merge(self, kept: int, gone: int) -> None:
        """Let one context have what both have seen."""
        self.tables.followed[kept] += self.tables.followed[gone]
        self.tables.rewards[:, kept] += self.tables.rewards[:, gone]

    def arrays(self) -> State:
        return self.tables._asdict()
