"""What tells contexts apart: models and filter in closed form, and by their naive twins."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from scipy import stats

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
from repertory.domains.two_valued import TwoValued
from tests.openings import BOX, TWO, line_opening, opening_of

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
