"""Light models of contexts for observations of which there are finitely many: counts, in closed form.

A context predicts the next observation by how often it followed this one and this action. As many counts more as
different ones have followed are spread evenly over all: where many do, one more is no surprise (Witten and Bell). It
predicts the reward by the mean and spread of those that came with this observation and the next, and once more what a
reward is that is not 0, wherever it came. What a context has never met, it predicts as one that knows nothing does.

So what is all new to a context is not strange to it. But a context also knows how much it usually explains: how much
likelier than by chance, on average, what follows is to it. An episode of which it explains much less is not its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_filter import OUTLIERS
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
FEWEST, MEMORY = 10, 10.0
"""Episodes before it is known how much a context usually explains, and over how many last ones that is averaged."""
ONE_SIDED = 3.0
"""A context only ever pays, or only ever takes, if what it pays is so many standard deviations from nothing."""
FAMILIAR, UNHEARD = 5, 0.1
"""Two contexts are alike if less than such a share of what followed in one never did in the other, wherever that has
seen in so many episodes what follows. On POcman it is 0 to 5% for tasks that differ in pay alone, and from 17% on where
mazes or moves differ; where the object moves by what it pays, 13%."""
LESS, SMALLEST = 5.0, 0.05
"""Much less than usual is so many standard deviations, of which the least that is believed is such a share."""


class Seen(NamedTuple):
    """The opening of an episode as the models see it."""

    before: NDArray[np.int64]
    actions: NDArray[np.int64]
    after: NDArray[np.int64]
    rewards: NDArray[np.float64]
    """In units of their usual size."""
    is_first: NDArray[np.bool_]
    """Whether the transition had not come before in this episode."""
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
    paid: NDArray[np.float64]
    """(3, context): the same of all rewards that are not 0, an episode's counting as one."""
    explained: NDArray[np.float64]
    """(4, context): how many episodes; how much is explained of one, on average and in the last; and its variance."""


class Counts(Arrays):
    """The models of up to `contexts` contexts."""

    outputs = 3
    """Quantities that are predicted: the next observation, the reward there, and what a reward is if there is one."""
    look_steps = 1_000
    """From one look at all contexts to the next, while the current one fits, so that it costs little."""

    compares_fairly = False
    """Counts explain ever more, the longer the more: an old context explains more of what is much like its own than a
    young one does of its very own."""

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
            paid=np.zeros((3, contexts)),
            explained=np.zeros((4, contexts)),
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
        """What the models see of an opening: each transition once, however often it comes; and all that are paid for.

        Else, what is hidden from view and drawn anew for each episode would count as often as it shows.
        """
        rewards, size = np.array(opening.rewards, float), self.tables.size
        if not size[0] and rewards.any():
            size[0] = np.abs(rewards).max()
        rewards /= size[0] or 1.0
        actions = np.asarray(opening.actions, np.int64) - self._first_action
        before, after = self._places(opening.observations), self._places(opening.next_observations)
        is_first = np.zeros(len(rewards), np.bool_)
        is_first[np.unique(np.stack([before, actions, after, rewards]), axis=1, return_index=True)[1]] = True
        kept = is_first | (rewards != 0)
        before, actions, after, rewards, is_first = (x[kept] for x in (before, actions, after, rewards, is_first))
        log_next = np.full(len(rewards), -np.log(self.tables.followed.shape[1]))
        log_reward = log_student_t(rewards**2, UNKNOWN_REWARD)
        return Seen(before, actions, after, rewards, is_first, np.stack([log_next, log_reward, log_reward], axis=1))

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
        """(transition, quantity): log probability under a context; of rewards, a density."""
        rows = self.tables.followed[context, seen.before, seen.actions].astype(float)
        next_one = rows[np.arange(len(rows)), seen.after]
        different = np.maximum((rows > 0).sum(axis=1), 1)
        log_next = np.log((next_one + different / rows.shape[1]) / (rows.sum(axis=1) + different))
        sums = self.tables.rewards[:, context, seen.before, seen.after]
        # No reward where none ever came says nothing; else the many such steps would outweigh the few that tell.
        tells = seen.is_first & (sums[0] >= OPINION) & ((seen.rewards != 0) | (sums[2] > 0))
        sums_paid = self.tables.paid[:, context]
        tells_paid = (sums_paid[0] >= OPINION) & (seen.rewards != 0)
        log_p = np.stack([log_next, _log_reward(seen.rewards, sums), _log_reward(seen.rewards, sums_paid)], axis=1)
        return np.where(np.stack([seen.is_first, tells, tells_paid], axis=1), log_p, seen.log_new)

    def learn(self, context: int, seen: Seen) -> None:
        self._note(context, self.share_explained(context, seen))
        first, paid = seen.is_first, seen.rewards[seen.rewards != 0]
        before, after = seen.before[first], seen.after[first]
        np.add.at(self.tables.followed[context], (before, seen.actions[first], after), 1)
        for power, table in enumerate(self.tables.rewards):
            np.add.at(table[context], (before, after), seen.rewards[first] ** power)
            self.tables.paid[power, context] += (paid**power).mean() if paid.size else 0.0

    def share_explained(self, context: int, seen: Seen) -> float:
        """How much likelier than by chance what follows is to a context: the mean over transitions, in nats. As in
        the filter, none of them can say much against it alone."""
        ratio = (self.score(context, seen) - seen.log_new)[seen.is_first, 0]
        return float(np.log((1 - OUTLIERS) * np.exp(ratio) + OUTLIERS).mean())

    def is_usual(self, context: int, seen: Seen) -> bool:
        """Whether a context explains not much less of an episode than usual, nor turns round what it pays."""
        if self._turns_pay_round(context, seen):
            return False
        episodes, mean, _last, variance = self.tables.explained[:, context]
        if episodes < FEWEST:
            return True
        least = mean - LESS * max(variance**0.5, SMALLEST * abs(mean))
        return bool(self.share_explained(context, seen) >= least)

    def _turns_pay_round(self, context: int, seen: Seen) -> bool:
        """Whether an episode pays in a context that has only ever taken, or the other way round: few such steps are too
        few for the filter, and once learned, the next ones would be nothing strange."""
        episodes, total, squares = self.tables.paid[:, context]
        paid = seen.rewards[seen.rewards != 0]
        if episodes < FEWEST or not paid.size:
            return False
        mean = total / episodes
        is_one_sided = abs(mean) > ONE_SIDED * max(squares / episodes - mean**2, 0.0) ** 0.5
        return bool(is_one_sided and np.sign(paid.mean()) == -np.sign(mean))

    def _note(self, context: int, explained: float) -> None:
        """Take in how much of an episode was explained, which is ever more while a context is young. Differences of
        one episode and the next show how much it varies all the same: half their mean square."""
        episodes, mean, last, variance = self.tables.explained[:, context]
        share = 1 / min(episodes + 1, MEMORY)
        mean += share * (explained - mean)
        variance += share * ((explained - last) ** 2 / 2 - variance)
        self.tables.explained[:, context] = episodes + 1, mean, explained, variance

    def goes_on(self, *_: Any) -> bool:
        """Unknown before it is computed."""
        return False

    def is_established(self, context: int) -> bool:
        """Never: counting costs little."""
        return False

    def pay_differently(self, one: int, other: int) -> bool:
        """Whether rewards of two contexts differ by more than they vary: no policy suits both, however alike."""
        count, total, squares = self.tables.paid[:, [one, other]]
        mean = total / np.maximum(count, 1.0)
        spread = np.sqrt(np.maximum(squares / np.maximum(count, 1.0) - mean**2, 0.0))
        return bool(count.min() >= OPINION and np.ptp(mean) > spread.sum() + NOISE_FLOOR)

    def twins(self, context: int, others: Iterable[int]) -> list[int]:
        """Those contexts that differ from one in what they pay, and in nothing else that both have seen."""
        return [
            other
            for other in others
            if self.pay_differently(context, other)
            and max(self._unheard(context, other), self._unheard(other, context)) < UNHEARD
        ]

    def _unheard(self, one: int, other: int) -> float:
        """The share of what followed in one context that never did in another, though that knows what follows there."""
        known = self.tables.followed[other].sum(axis=2) >= FAMILIAR
        ours, theirs = (self.tables.followed[context][known] for context in (one, other))
        return float(ours[theirs == 0].sum() / ours.sum()) if ours.any() else 1.0

    def log_pay(self, context: int, seen: Seen) -> float | None:
        """Log density of what was paid in an episode; None if nothing was."""
        paid = seen.rewards[seen.rewards != 0]
        return float(_log_reward(paid, self.tables.paid[:, context, None]).sum()) if paid.size else None

    def merge(self, kept: int, gone: int) -> None:
        """Let one context have what both have seen."""
        self.tables.followed[kept] += self.tables.followed[gone]
        self.tables.rewards[:, kept] += self.tables.rewards[:, gone]
        self.tables.paid[:, kept] += self.tables.paid[:, gone]
        self.tables.explained[:, kept] = 0.0

    def arrays(self) -> State:
        return self.tables._asdict()


def _log_reward(rewards: NDArray[np.float64], sums: NDArray[np.float64]) -> Any:
    """Log density by how many there were, their sum and that of their squares: as in the regression, with a single
    feature that is 1."""
    count, total, squares = sums
    # What has come in every episode need not in the next: a share of one in all is for any reward.
    mean = total / (count + NOISE_FLOOR**2)
    noise = (NOISE_FLOOR**2 + np.maximum(squares - total * mean, 0.0)) / (1 + count)
    scale = np.maximum(noise, NOISE_FLOOR**2) * (1 + 1 / (count + NOISE_FLOOR**2))
    log_new = log_student_t(rewards**2, UNKNOWN_REWARD)
    return np.logaddexp(log_student_t((rewards - mean) ** 2, scale) + np.log(count + 1e-300), log_new) - np.log1p(count)
