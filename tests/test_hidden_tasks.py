"""Task inference: the models and the filter in closed form, then lives in which nobody says which task it is."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import repertory
from repertory.agents.context_counts import Counts
from repertory.agents.context_filter import (
    ACCEPTED,
    FORGOTTEN,
    OUTLIERS,
    RELIEF,
    STRANGE,
    SURPRISE,
    judge,
    passed,
    updated,
)
from repertory.agents.context_kernels import ESTABLISHED, NOISE_FLOOR, OPINION, log_student_t
from repertory.agents.context_regression import Regressions, monomials
from repertory.agents.context_returns import LATER, Returns
from repertory.agents.inference import InferringAgent, InferTasks
from repertory.agents.protocol import AgentSetup, Episode, Opening, Situation
from repertory.analysis.hidden import contexts_of_episodes, inference_of, infers
from repertory.core.lifetime import Monitor
from repertory.domains.two_valued import TwoValued
from repertory.report.sections import contexts as contexts_section
from repertory.report.sections import family
from repertory.sweeps.results import read_results
from repertory.testing import check_agent, grouped_tasks

BOX, TWO = gymnasium.spaces.Box(-9, 9, (2,), np.float64), gymnasium.spaces.Discrete(2)


def opening_of(observations: Any, actions: Any, rewards: Any, following: Any, terminated: Any = None) -> Opening:
    ended = np.zeros(len(actions), bool) if terminated is None else np.asarray(terminated, bool)
    return Opening(
        np.asarray(observations), np.asarray(actions), np.asarray(rewards, float), np.asarray(following), ended
    )


def line_opening(rng: np.random.Generator, push: float, reward: float = 1.0, steps: int = 16) -> Opening:
    """A point that is pushed along a line, and slowed down."""
    states = rng.uniform(-1, 1, (steps, 2))
    actions = rng.integers(2, size=steps)
    following = states + np.stack([0.1 * states[:, 1], push * (2 * actions - 1) - 0.1 * states[:, 1]], axis=1)
    return opening_of(states, actions, np.full(steps, reward), following)


# ---------------------------------------------------------------------------------------------------- models


def test_weights_and_densities_are_those_of_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    models = Regressions(2, BOX, TWO)
    seen = [models.encode(line_opening(rng, 0.5, steps=40)) for _ in range(6)]
    for each in seen[:-1]:
        models.learn(1, each)
    features, sets, targets = (np.concatenate([getattr(s, name) for s in seen[:-1]]) for name in seen[0]._fields[:3])
    noise = models.tables.errors[1] / models.tables.transitions[1]
    test = seen[-1]
    assert (models.tables.solved[1, ::2] >= OPINION * features.shape[1]).all()
    for weights_set in (0, 2):
        own, mine = sets == weights_set, test.sets == weights_set
        # Solved for when there were a tenth more: the last time need not be the last opening.
        count = models.tables.solved[1, weights_set]
        phi, y = features[own][:count], targets[own][:count]
        inverse = np.linalg.inv(NOISE_FLOOR**2 * np.eye(phi.shape[1]) + phi.T @ phi)
        np.testing.assert_allclose(models.tables.inverse[1, weights_set], inverse, rtol=1e-6, atol=1e-9)
        errors = test.targets[mine] - test.features[mine] @ (inverse @ phi.T @ y)
        leverage = np.einsum("ti,ij,tj->t", test.features[mine], inverse, test.features[mine])
        scale = np.sqrt(np.maximum(noise, NOISE_FLOOR**2) * (1 + leverage[:, None]))
        expected = stats.t.logpdf(errors, df=4, scale=scale)
        np.testing.assert_allclose(models.score(1, test)[mine], expected, rtol=1e-6)
    np.testing.assert_array_equal(models.score(0, test), test.log_new)  # the other knows nothing


def test_what_ends_an_episode_is_learned_apart() -> None:
    models = Regressions(1, BOX, TWO)
    seen = models.encode(opening_of(np.ones((3, 2)), [0, 1, 1], [1, 1, 0], np.ones((3, 2)), [False, False, True]))
    assert seen.sets.tolist() == [0, 2, 3]


def test_features_are_all_monomials_that_fit() -> None:
    assert monomials(4, 64).shape == (3, math.comb(7, 3))
    assert monomials(8, 64).shape == (3, math.comb(10, 2))
    assert monomials(50, 64).shape == (3, 51)
    values = np.append(np.array([2.0, 3.0]), 1.0)
    assert sorted(values[monomials(2, 6)].prod(axis=0)) == [1, 2, 3, 4, 6, 9]


def test_images_and_actions_that_are_numbers_can_be_regressed_on() -> None:
    rng = np.random.default_rng(0)
    models = Regressions(2, gymnasium.spaces.Box(0, 255, (9, 9), np.uint8), gymnasium.spaces.Box(-1, 1, (2,)))
    images = rng.integers(256, size=(5, 9, 9)).astype(np.uint8)
    seen = models.encode(opening_of(images, rng.uniform(-1, 1, (5, 2)), np.ones(5), images[::-1]))
    models.learn(0, seen)
    assert np.isfinite(models.score(0, seen)).all()


def test_merged_models_are_those_of_all_that_both_have_seen() -> None:
    for kind, space in ((Regressions, BOX), (Counts, gymnasium.spaces.Discrete(3))):
        rng = np.random.default_rng(1)
        apart, together = kind(2, space, TWO), kind(2, space, TWO)
        for context in (0, 1, 0, 1):
            opening = line_opening(rng, 0.3, steps=90)
            if kind is Counts:
                opening = opening._replace(
                    observations=rng.integers(3, size=90), next_observations=rng.integers(3, size=90)
                )
            apart.learn(context, apart.encode(opening))
            together.learn(0, together.encode(opening))
        apart.merge(0, 1)
        if kind is Counts:
            np.testing.assert_array_equal(apart.tables.followed[0], together.tables.followed[0])
        else:
            np.testing.assert_allclose(apart.tables.gram[0], together.tables.gram[0], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(apart.tables.moment[0], together.tables.moment[0], rtol=1e-9, atol=1e-9)


def test_counts_are_dirichlet_and_rewards_student_t() -> None:
    models = Counts(2, gymnasium.spaces.Discrete(10, start=5), TWO)
    places = models.tables.followed.shape[1]
    learned = models.encode(opening_of([5, 5, 5, 5], [1, 1, 1, 1], [2.0, 2.0, 2.0, 0.0], [6, 6, 7, 7]))
    assert learned.after.tolist() == [1, 1, 2, 2]  # all that was paid for
    assert learned.is_first.tolist() == [True, False, True, True]
    models.learn(0, learned)
    seen = models.encode(opening_of([5, 5, 9], [1, 0, 1], [2.0, 2.0, 2.0], [6, 6, 6]))
    log_next, log_reward, log_paid = models.score(0, seen).T
    # Two different ones have followed, three times in all, so a share of 2 in 3 + 2 is for any.
    np.testing.assert_allclose(np.exp(log_next), [(1 + 2 / places) / 5, 1 / places, 1 / places])
    np.testing.assert_allclose([log_reward, log_paid], [seen.log_new[:, 1]] * 2)  # too few to have an opinion
    np.testing.assert_allclose(models.score(1, seen), seen.log_new)
    for _ in range(8):
        models.learn(0, learned)
    assert models.tables.paid[:, 0].tolist() == [9, 9, 9]  # an episode's rewards count as one
    _log_next, log_reward, log_paid = models.score(0, seen).T
    assert log_reward[0] > seen.log_new[0, 1] + 5
    assert (log_paid > seen.log_new[:, 2] + 5).all()  # wherever it is paid
    other = models.encode(opening_of([5], [1], [-2.0], [6]))
    # In the tenth episode it may be anything with a share of one in ten.
    np.testing.assert_allclose(models.score(0, other)[0, 1:], other.log_new[0, 1:] - math.log(10), atol=1e-3)
    np.testing.assert_allclose(log_student_t(0.7, 0.3), stats.t.logpdf(0.7**0.5, df=4, scale=0.3**0.5))


def test_two_valued_observations_are_counted() -> None:
    models = Counts(1, TwoValued(-1, 1, 11), TWO)
    rows = np.array([[-1.0] * 11, [1.0] + [-1.0] * 10, [-1.0] * 11], np.float32)
    seen = models.encode(opening_of(rows, [0, 1, 0], [0, 0, 0], rows[::-1]))
    assert seen.before.tolist() == [0, 1]
    assert models.tables.places[0] == 2


def learned_line(rng: np.random.Generator) -> Regressions:
    """Of two contexts, the first knows a line of which it has seen little noise."""
    models = Regressions(2, BOX, TWO)
    for _ in range(20):
        models.learn(0, models.encode(line_opening(rng, 0.5)))
    return models


def test_an_opening_that_is_predicted_throughout_is_only_a_relief() -> None:
    rng = np.random.default_rng(3)
    models = learned_line(rng)
    models.tables.learned[0] += ESTABLISHED
    for push, is_plain in ((0.5, True), (0.51, False)):
        sums = np.array([9.0, 9.0, 1.0])
        assert models.goes_on(0, line_opening(rng, push), sums, math.inf, False)
        assert (sums[0] == 9.0 + 16 * RELIEF) == is_plain  # else it is forgotten by and by
        assert (sums[2] == 0.0) or not is_plain
    last = line_opening(rng, 0.5)
    last.next_observations[-1, 0] += 0.01
    sums = np.zeros(3)
    assert models.goes_on(0, last, sums, 15.0, False)
    np.testing.assert_allclose(sums, [SURPRISE, 0, 0], rtol=0.05)  # one step is an outlier


@pytest.mark.parametrize("push", [0.5, 0.5001, 0.501, 0.7])
@pytest.mark.parametrize("is_turn", [False, True])
def test_an_episode_in_one_go_is_what_it_is_step_by_step(push: float, is_turn: bool) -> None:
    rng = np.random.default_rng(4)
    at_once, in_steps = learned_line(rng), learned_line(np.random.default_rng(4))
    for models in (at_once, in_steps):
        models.tables.learned[0] += ESTABLISHED
        models.tables.errors[0] += 1.0  # too much noise for anything to be plain
    for _ in range(5):
        opening, sums = line_opening(rng, push), np.array([0.0, 3.0, 0.5])
        seen, expected = in_steps.encode(opening), FORGOTTEN * sums
        highest = judge(expected, in_steps.score(0, seen), seen.log_new)[1]
        assert at_once.goes_on(0, opening, sums, 15.0, is_turn) == (highest <= 15.0)
        np.testing.assert_allclose(sums, expected if highest <= 15.0 else [0.0, 3.0, 0.5], rtol=1e-9)
        if is_turn and highest <= ACCEPTED * 15.0:
            in_steps.learn(0, seen)
        for one, other in zip(at_once.tables, in_steps.tables, strict=True):
            np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------------------------------------------- filter


def test_evidence_and_cusum_are_page_s_test() -> None:
    rng = np.random.default_rng(2)
    log_p, log_new = rng.normal(-2, 3, (30, 2)), rng.normal(-4, 1, (30, 2))
    sums = np.array([0.5, 2.0])
    usual = np.logaddexp(math.log(1 - OUTLIERS) + log_p, math.log(OUTLIERS) + log_new)
    strange = np.logaddexp(math.log(1 - STRANGE) + log_p, math.log(STRANGE) + log_new)
    naive, highest = sums.copy(), 0.0
    for ratio in strange - usual:
        naive = np.maximum(0, naive + ratio)
        highest = max(highest, naive.max())
    assert judge(sums, log_p, log_new) == pytest.approx((usual.sum(), highest))
    np.testing.assert_allclose(sums, naive)


@pytest.mark.parametrize(("advantage", "bound"), [(-1e4, SURPRISE), (1e4, 0.0)])
def test_what_a_step_says_is_bounded(advantage: float, bound: float) -> None:
    sums = np.zeros(1)
    _evidence, highest = judge(sums, np.array([[advantage]]), np.zeros((1, 1)))
    assert highest == pytest.approx(bound)
    assert RELIEF < 0 < SURPRISE


def test_a_belief_passes_and_is_updated_by_bayes_rule() -> None:
    belief = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(passed(belief, 0.1, 1), 0.9 * belief + 0.1 / 3)
    np.testing.assert_allclose(passed(belief, 0.1, 1000), np.full(3, 1 / 3))
    likelihood = np.array([0.5, 0.1, 0.0])
    with np.errstate(divide="ignore"):
        found = updated(belief, np.log(likelihood))
    np.testing.assert_allclose(found, belief * likelihood / (belief * likelihood).sum())


# ---------------------------------------------------------------------------------------------------- the agent


class Still:
    """A policy that only stands there."""

    def __init__(self, *_: Any) -> None:
        self.told: list[int] = []

    def begin_task(self, task: int) -> None:
        self.told.append(task)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None: ...


SETUP = AgentSetup(
    observation_space=BOX,
    action_space=TWO,
    n_tasks=None,
    policies=1,
    new_policy=Still,
    make_selector=repertory.EpsilonGreedy(),
    rng=np.random.default_rng(0),
)


def agent_of(space: Any = BOX, **settings: Any) -> InferringAgent:
    return InferTasks(**settings)(SETUP._replace(observation_space=space))


def lived(agent: InferringAgent, make_opening: Any, tasks: list[tuple[float, float]], seed: int = 0) -> list[int]:
    """The contexts in which episodes of (push, reward) were played."""
    rng, played = np.random.default_rng(seed), []
    for push, reward in tasks:
        agent.choose(Situation(None), rng)
        played.append(agent.context)
        agent.ended(Situation(None), Episode(0, 16 * reward, 16, make_opening(rng, push, reward)))
    return played


def test_contexts_are_opened_and_found_again_one_episode_after_the_change() -> None:
    one, two, three = [(0.5, 1.0)] * 40, [(-0.5, 1.0)] * 40, [(0.49, 1.0)] * 40
    played = lived(agent_of(), line_opening, one + two + three + one + two)
    expected = [0] * 41 + [1] * 40 + [2] * 40 + [0] * 40 + [1] * 39
    assert played == expected


def test_tasks_that_differ_in_reward_only_are_told_apart() -> None:
    one, two = [(0.5, 1.0)] * 40, [(0.5, 1.5)] * 40
    assert lived(agent_of(), line_opening, one + two + one) == [0] * 41 + [1] * 40 + [0] * 39


def late_rewards(earned: list[float], **settings: Any) -> list[int]:
    """The contexts of episodes that begin alike, and earn what only their end shows."""
    agent, rng, played = agent_of(**settings), np.random.default_rng(0), []
    for total in earned:
        agent.choose(Situation(None), rng)
        played.append(agent.context)
        noise = float(rng.standard_normal())
        agent.ended(Situation(None), Episode(0, total + noise, 60, line_opening(rng, 0.5)))
    return played


def test_returns_tell_tasks_apart_that_differ_after_the_opening() -> None:
    blocks = [[10.0] * 60, [30.0] * 60, [-5.0] * 60]
    returns = [total for _ in range(3) for block in blocks for total in block]
    assert set(late_rewards(returns)) == {0}  # openings tell nothing
    played = late_rewards(returns, returns=True)
    last = [played[60 * block + 59] for block in range(9)]
    assert last == [0, 1, 2] * 3
    lags = [next(k for k in range(60) if played[60 * block + k] == last[block]) for block in range(1, 9)]
    assert max(lags) <= 8
    moves = sum(one != other for one, other in itertools.pairwise(played))
    assert moves <= 12  # eight changes, and now and then one context too many on the way


def test_returns_that_rise_as_a_policy_learns_are_no_other_context() -> None:
    learning = [100.0 * (1 - math.exp(-episode / 200)) for episode in range(2000)]
    assert set(late_rewards(learning, returns=True)) == {0}


def test_moments_of_returns_are_those_of_what_is_remembered() -> None:
    rng = np.random.default_rng(1)
    returns, totals = Returns(2, 3), rng.normal(5.0, 2.0, 48)
    for total in totals:
        returns.add(1, 2, total)
    remembered = totals[:-LATER]  # as many as 50 are averaged evenly
    assert returns.moments.episodes[1, 2] == len(remembered)
    assert returns.moments.mean[1, 2] == pytest.approx(remembered.mean())
    assert returns.moments.variance[1, 2] == pytest.approx(remembered.var())
    squared_scale = remembered.var() * (1 + 1 / len(remembered))
    expected = stats.t(4, remembered.mean(), math.sqrt(squared_scale)).logpdf(7.0)
    assert returns.score(1, 2, 7.0)[0] == pytest.approx(expected)
    known, unknown = returns.score(0, 2, 7.0)
    assert known == unknown  # nothing was played there


COUNTED = gymnasium.spaces.Discrete(20)


def walk_opening(rng: np.random.Generator, first: float, reward: float) -> Opening:
    """A walk around five numbered places, of which one pays."""
    moves = rng.integers(2, size=60)
    places = np.cumsum([0, *(2 * moves - 1)]) % 5
    return opening_of(first + places[:-1], moves, np.where(places[1:] == 3, reward, 0.0), first + places[1:])


def counted(places: Any) -> Opening:
    """Integers, as a Discrete space has them."""
    return places._replace(
        observations=places.observations.astype(np.int64), next_observations=places.next_observations.astype(np.int64)
    )


def lived_counted(tasks: list[tuple[float, float]], agent: InferringAgent | None = None) -> list[int]:
    def make(rng: np.random.Generator, first: float, reward: float) -> Opening:
        return counted(walk_opening(rng, first, reward))

    return lived(agent or agent_of(COUNTED), make, tasks)


def test_an_episode_of_which_all_is_new_to_a_context_is_not_its_own() -> None:
    """Nothing in it contradicts what the context knows; but the context explains nothing of it."""
    here, there = [(0, 0.0)] * 40, [(10, 0.0)] * 40
    assert lived_counted(here + there + here) == [0] * 41 + [1] * 40 + [0] * 39


def test_counted_tasks_that_differ_in_the_sign_of_rewards_only_are_told_apart() -> None:
    food, poison = [(0, 1.0)] * 40, [(0, -1.0)] * 40
    assert lived_counted(food + poison + food) == [0] * 41 + [1] * 40 + [0] * 39


def test_what_is_hidden_and_drawn_for_each_episode_is_one_context_in_the_end() -> None:
    """Contexts last: two that take turns at every other episode are one, unless they pay differently."""
    rng = np.random.default_rng(5)
    drawn = [(float(rng.choice([0, 10])), 1.0) for _ in range(150)]
    agent = agent_of(COUNTED)
    played = lived_counted([(0, 1.0)] * 40 + [(10, 1.0)] * 40 + drawn, agent)
    assert agent.contexts == 2
    assert agent.memory.heir[:2].tolist() == [0, 0]
    assert len(set(played[-100:])) == 1
    agent = agent_of(COUNTED)
    sign = {0: 1.0, 10: -1.0}
    lived_counted([(first, sign[first]) for first in [0] * 40 + [10] * 40 + [int(f) for f, _ in drawn]], agent)
    assert agent.memory.heir[:2].tolist() == [0, 1]
    assert agent.models.pay_differently(0, 1)


def test_one_task_is_one_context_for_ten_thousand_episodes() -> None:
    def noisy(rng: np.random.Generator, push: float, reward: float) -> Opening:
        """With noise that is not Gaussian, rewards that depend on it, and a fall now and then."""
        opening = line_opening(rng, push, reward)
        noise = 0.05 * rng.standard_t(3, opening.next_observations.shape)
        ended = np.zeros(16, bool)
        ended[-1] = rng.random() < 0.3
        rewards = np.where(ended, -5.0, opening.rewards + (rng.random(16) < 0.02))
        return opening._replace(next_observations=opening.next_observations + noise, rewards=rewards, terminated=ended)

    agent = agent_of()
    assert set(lived(agent, noisy, [(0.5, 1.0)] * 10_000)) == {0}
    assert agent.contexts == 1


def test_beyond_the_bound_the_likeliest_context_is_taken() -> None:
    agent = agent_of(max_contexts=2)
    tasks = [(push, 1.0) for push in (0.5, -0.5, 0.45, -0.45) for _ in range(30)]
    played = lived(agent, line_opening, tasks)
    assert agent.contexts == 2
    assert set(played) == {0, 1}


def test_contexts_that_turn_out_alike_are_merged() -> None:
    """A context is opened for nothing, by hand; as each explains the other's episodes, they become one."""
    agent = agent_of(max_contexts=4)
    lived(agent, line_opening, [(0.5, 1.0)] * 40)
    rng = np.random.default_rng(9)
    for _ in range(40):
        agent.models.learn(1, agent.models.encode(line_opening(rng, 0.5)))
    agent.contexts = 2
    told: list[Any] = []
    for seed in range(60):
        if not told:
            agent.memory.belief[:2], agent._is_certain = 0.5, False
        lived(agent, line_opening, [(0.5, 1.0)], seed)
        told += [event for event in agent.news() if event["event"] == "merged"]
    assert [(event["context"], event["into"]) for event in told] == [(1, 0)]
    assert agent.memory.heir.tolist() == [0, 0, 2, 3]
    assert set(lived(agent, line_opening, [(0.5, 1.0)] * 50)) == {0}


def test_an_episode_is_credited_to_the_context_that_it_was_of() -> None:
    agent = agent_of()
    credited: list[int] = []
    agent.inside.selector.update = lambda task, *_: credited.append(task)
    played = lived(agent, line_opening, [(0.5, 1.0)] * 40 + [(-0.5, 1.0)] * 40 + [(0.5, 1.0)] * 3)
    assert played[40:43] == [0, 1, 1]
    assert played[80:] == [1, 0, 0]
    # But for the one that opened the second context: its policy was chosen for the first.
    assert credited == [0] * 40 + [1] * 39 + [0] * 3
    assert agent.policies[0].told == played  # and policies are told what is inferred before they play


def test_an_agent_that_cannot_be_credited_is_not_told_of_an_episode_it_misjudged() -> None:
    agent = agent_of()
    heard: list[Any] = []

    class Inside:
        policies = [Still()]  # noqa: RUF012

        def choose(self, situation: Situation, rng: Any) -> int:
            return 0

        def ended(self, situation: Situation, episode: Episode) -> None:
            heard.append(situation.task)

    agent.inside = Inside()
    lived(agent, line_opening, [(0.5, 1.0)] * 40 + [(-0.5, 1.0)] * 3)
    assert heard == [0] * 40 + [1, 1]


def test_mbcd_s_rule_finds_the_same_contexts_where_they_are_plain() -> None:
    agent = repertory.MBCD(max_contexts=3, threshold=50)(SETUP)
    one, two = [(0.5, 1.0)] * 40, [(-0.5, 1.0)] * 40
    assert lived(agent, line_opening, one + two + one) == [0] * 41 + [1] * 40 + [0] * 39


def test_bad_settings_and_pairs_are_refused() -> None:
    for inside in ("bandit", "em(every=2", "em(every=none)", "em(evry=2)"):
        with pytest.raises(repertory.UsageError):
            InferTasks(inside)
    with pytest.raises(repertory.UsageError, match=r"InferTasks\.inside"):
        InferTasks(3)  # type: ignore[arg-type]
    with pytest.raises(repertory.UsageError, match="Box or Discrete"):
        agent_of(gymnasium.spaces.Dict({"a": BOX}))


def test_the_agent_inside_is_written_down_with_its_settings() -> None:
    settings = InferTasks(repertory.EMClustering(every=2, evaluation_episodes=1), max_contexts=3)
    assert settings.inside == "em(evaluation_episodes=1, every=2)"
    assert InferTasks(repertory.Splitting()).inside == "splitting"
    again = InferTasks(**settings.as_dict())
    assert again == settings
    with pytest.raises(repertory.UsageError, match="next_task"):
        InferringAgent(InferTasks(), lambda setup: type("Asks", (), {"next_task": None}), SETUP)


# ---------------------------------------------------------------------------------------------------- lives


@pytest.mark.parametrize("inside", ["library", "splitting", "em"])
def test_the_agent_conforms_and_resumes(inside: str) -> None:
    check_agent(InferTasks(inside, max_contexts=5), "cartpole54", "dqn", blocks=6, block_steps=800)
    check_agent(InferTasks(inside, max_contexts=5), "pocman18", "random", blocks=4, block_steps=2000)
    check_agent(InferTasks(inside, max_contexts=5, returns=True), "cartpole54", "dqn", blocks=4, block_steps=800)
    check_agent(repertory.MBCD(inside, max_contexts=5), "cartpole54", "dqn", blocks=4, block_steps=800)


def test_any_environment_can_be_inferred_on() -> None:
    check_agent(InferTasks(max_contexts=5), grouped_tasks(2), "random", blocks=6, block_steps=80)


class Crash(Exception):
    pass


class CrashAfterEpisode(Monitor):
    def __init__(self, block: int) -> None:
        self.block = block

    def episode_ended(self, tally: Any) -> None:
        if tally.block == self.block and tally.episodes == 9:
            raise Crash


def hidden(out: Path | None = None, **more: Any) -> repertory.Record:
    return repertory.live(
        "cartpole54",
        "random",
        2,
        blocks=12,
        block_steps=1500,
        task=(0, 27, 4),
        agent=InferTasks(max_contexts=6),
        hidden_tasks=True,
        out=out,
        **more,
    )


def test_a_life_is_told_measured_resumed_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    whole = hidden(tmp_path / "whole")
    for block in (1, 4):
        with pytest.raises(Crash):
            hidden(tmp_path / "broken", monitors=[CrashAfterEpisode(block)])
    pd.testing.assert_frame_equal(whole.blocks, hidden(tmp_path / "broken").blocks, check_exact=True)
    assert infers(whole.blocks)
    measured = inference_of(whole.blocks)
    assert measured.contexts == whole.agent.contexts == whole.blocks["task"].nunique() == 3
    assert measured.detection == 1
    assert measured.false_alarms == 0
    assert measured.rand_index > 0.9
    results = read_results(tmp_path)
    section = contexts_section.section(results)
    assert section is not None
    assert {row["contexts"] for row in section.tables[0].rows} == {3}
    assert family.section(results) is None  # nothing was told of policies


def test_measures_of_a_made_up_life() -> None:
    def told(*moves: tuple[int, int]) -> str:
        return "\n".join(json.dumps({"event": "context", "context": c, "episode": e}) for e, c in moves)

    blocks = pd.DataFrame(
        {
            "block": range(5),
            "task": [3, 4, 4, 3, 5],
            "episodes": [10] * 5,
            # noticed after two episodes; a false alarm and back; noticed after one; not noticed
            "events": ["", told((12, 1)), told((25, 2), (26, 1)), told((31, 0)), ""],
        }
    )
    contexts = contexts_of_episodes(blocks)
    assert contexts.tolist() == [0] * 12 + [1] * 13 + [2] + [1] * 5 + [0] * 19
    found = inference_of(blocks)
    assert found.detection == 1.5
    assert found.missed == 1
    assert found.false_alarms == 1000 * 2 / 50
    assert found.contexts == 3
