"""Contexts that differ in pay alone: who stays away from what is paid has to try."""

from __future__ import annotations

import numpy as np
import pytest

from repertory.agents.context_counts import Counts
from repertory.agents.inference import InferringAgent
from repertory.agents.protocol import Episode, Opening, Situation
from tests.openings import TWO, opening_of
from tests.test_hidden_tasks import COUNTED, agent_of

PLACES, PAID = 9, 3
ELSEWHERE = 10
FOOD, POISON = 1.0, -1.0


def walk(rng: np.random.Generator, first: int, reward: float, is_shy: bool) -> Opening:
    """Around numbered places, of which one pays: the bold go there and hardly away, the shy roam and keep away."""
    places, moves = [0], []
    for _ in range(60):
        ahead = [(places[-1] + step) % PLACES for step in (-1, 1)]
        nearer = int(abs(ahead[1] - PAID) < abs(ahead[0] - PAID))
        if is_shy:
            moves.append(ahead.index(PAID) ^ 1 if PAID in ahead else int(rng.integers(2)))
        else:
            moves.append(nearer if rng.random() < 0.85 else 1 - nearer)
        places.append(ahead[moves[-1]])
    here, there = np.array(places[:-1]), np.array(places[1:])
    return opening_of(first + here, np.array(moves), np.where(there == PAID, reward, 0.0), first + there)


class Life:
    """Episodes of a walker that is shy in some contexts."""

    def __init__(self) -> None:
        self.agent: InferringAgent = agent_of(COUNTED)
        self.rng = np.random.default_rng(3)
        self.shy_in: set[int] = set()

    def block(self, first: int, reward: float, episodes: int = 20) -> list[int]:
        """The contexts in which they were played."""
        played = []
        for _ in range(episodes):
            self.agent.choose(Situation(None), self.rng)
            played.append(self.agent.context)
            opening = walk(self.rng, first, reward, self.agent.context in self.shy_in)
            self.agent.ended(Situation(None), Episode(0, float(opening.rewards.sum()), 60, opening))
        return played


@pytest.fixture
def life() -> Life:
    """That knows food as context 0, poison as 1, which it avoids by now, and another place as 2, where it is shy."""
    made = Life()
    made.block(0, FOOD)
    made.block(0, POISON)
    made.shy_in = {1, 2}
    made.block(0, POISON, 40)
    made.block(ELSEWHERE, 0.0)
    assert (made.agent.context, made.agent.contexts) == (2, 3)
    return made


def test_food_is_tried_that_might_be_poison_until_one_knows(life: Life) -> None:
    for reward, context in [(FOOD, 0), (POISON, 1)] * 5:
        played = life.block(0, reward)
        assert set(played[8:]) == {context}  # one draw in two tells
        life.block(ELSEWHERE, 0.0)


def test_a_doubt_ends_when_the_place_is_another(life: Life) -> None:
    life.shy_in = {0, 1, 2}  # nobody ever finds out
    life.block(0, FOOD, 6)
    assert life.agent.memory.doubt[:3].tolist() == [True, True, False]
    assert set(life.block(ELSEWHERE, 0.0)[1:]) == {2}
    assert not life.agent.memory.doubt.any()


def test_a_doubt_is_saved(life: Life) -> None:
    life.block(0, FOOD, 1)
    assert life.agent.memory.doubt.any()
    twin = agent_of(COUNTED)
    twin.load_state_dict(life.agent.state_dict())
    assert twin.memory.doubt.tolist() == life.agent.memory.doubt.tolist()
    older = {name: array for name, array in life.agent.state_dict().items() if name != "belief/doubt"}
    agent_of(COUNTED).load_state_dict(older)


@pytest.mark.parametrize(
    ("first", "reward", "is_shy", "are_twins"),
    [(0, POISON, False, True), (0, POISON, True, False), (0, FOOD, False, False), (ELSEWHERE, POISON, False, False)],
    ids=["pays the opposite", "never seen to pay", "pays the same", "another place"],
)
def test_twins_are_alike_but_for_pay(first: int, reward: float, is_shy: bool, are_twins: bool) -> None:
    rng, models = np.random.default_rng(0), Counts(4, COUNTED, TWO)
    for _ in range(30):
        models.learn(0, models.encode(walk(rng, 0, FOOD, False)))
        models.learn(1, models.encode(walk(rng, first, reward, is_shy)))
    assert models.twins(0, [1]) == [1] * are_twins
    assert models.twins(1, [0]) == [0] * are_twins


def test_one_bite_of_food_is_enough_where_there_was_only_poison() -> None:
    """A few would be no surprise to the filter, and once they are learned, none ever would."""
    rng, models = np.random.default_rng(0), Counts(2, COUNTED, TWO)
    for _ in range(30):
        models.learn(0, models.encode(walk(rng, 0, POISON, False)))
        models.learn(1, models.encode(walk(rng, 0, float(rng.choice([FOOD, POISON])), False)))
    shy = walk(rng, 0, FOOD, True)
    bite = shy._replace(rewards=np.where(np.arange(60) == 30, FOOD, 0.0))
    assert models.is_usual(0, models.encode(shy)) == models.is_usual(1, models.encode(shy))
    assert not models.is_usual(0, models.encode(bite))
    assert models.is_usual(0, models.encode(walk(rng, 0, POISON, False)))
    assert models.is_usual(1, models.encode(walk(rng, 0, FOOD, False)))  # here it was always either
