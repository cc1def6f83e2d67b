"""Which tasks MBTL trains on: k-means against a naive twin, the Gaussian process against its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

import repertory
from repertory.agents.source_choice import acquisition, losses, next_by_process, next_centre, own_returns, scaled


def test_contexts_of_cartpole_tell_its_tasks_apart() -> None:
    for name in ("cartpole27", "cartpole125"):
        domain = repertory.domain(name)
        assert len(np.unique(domain.contexts, axis=0)) == domain.n_tasks
        for context, params in zip(domain.contexts, domain.compiled.params, strict=True):
            assert tuple(context) == (params.cart_mass, params.pole_mass, 2 * params.half_length)


def naive_centre(points: list[list[float]], sources: list[int]) -> int:
    """M-MBTL with loops."""

    def distance(one: list[float], other: list[float]) -> float:
        return sum(abs(a - b) for a, b in zip(one, other, strict=True))

    def nearest_other(point: list[float]) -> float:
        return min((distance(point, points[source]) for source in sources), default=math.inf)

    limits = [nearest_other(point) for point in points]
    best: tuple[float, list[float]] | None = None
    for start in points:
        centre = start
        for _ in range(300):  # L1 and means may go round in circles
            own = [point for point, limit in zip(points, limits, strict=True) if distance(point, centre) <= limit]
            moved = [sum(column) / len(own) for column in zip(*own, strict=True)]
            if max(abs(a - b) for a, b in zip(moved, centre, strict=True)) < 1e-6:
                break
            centre = moved
        cost = round(sum(min(distance(point, centre), limit) for point, limit in zip(points, limits, strict=True)), 9)
        if best is None or cost < best[0]:
            best = cost, centre
    free = [task for task in range(len(points)) if task not in sources]
    return min(free, key=lambda task: round(distance(points[task], best[1]), 9))


def test_kmeans_picks_what_its_naive_twin_picks(rng: np.random.Generator) -> None:
    for points in (rng.random((40, 2)), rng.random((25, 3)) ** 2, scaled(repertory.domain("cartpole27").contexts)):
        sources: list[int] = []
        for _ in range(6):
            chosen = next_centre(points, sources)
            assert chosen == naive_centre(points.tolist(), sources)
            assert chosen not in sources
            sources.append(chosen)


def test_the_acquisition_is_its_formula_on_a_line() -> None:
    """Returns that fall by 3 to the left of a source and by 1 to the right: the slopes are found, the sum is right."""
    points = np.linspace(0, 1, 6)[:, None]
    sources, own = [1, 2, 4], 10.0

    def transfer(x: int, y: int) -> float:
        aside = float(points[y, 0] - points[x, 0])
        return own - (1.0 * aside if aside > 0 else -3.0 * aside)

    transfers = np.array([[transfer(x, y) for y in range(6)] for x in sources])
    found = losses(points, sources, transfers)
    for x in range(6):
        for y in range(6):
            assert found[x, y] == pytest.approx(own - transfer(x, y), abs=1e-9)
    mean, deviation = own_returns(points, sources, transfers)
    assert mean == pytest.approx(10.0, abs=1e-3)  # all sources came to the same
    best = [max(transfers[i][y] for i in range(3)) for y in range(6)]
    expected = [
        sum(max(0.0, mean[x] + math.sqrt(math.log(4)) * deviation[x] - found[x, y] - best[y]) for y in range(6)) / 6
        for x in range(6)
    ]
    assert acquisition(mean, deviation, found, np.array(best), 4) == pytest.approx(expected, abs=1e-12)
    free = [x for x in range(6) if x not in sources]
    assert next_by_process(points, sources, transfers) == max(free, key=lambda x: expected[x])


def test_the_first_sources_are_the_middle_and_the_worst() -> None:
    points = np.linspace(0, 1, 5)[:, None]
    assert next_by_process(points, [], np.zeros((0, 5))) == 2
    assert next_by_process(points, [2], np.array([[3.0, 2.0, 1.0, 1.5, 3.0]])) == 3  # 2 is worse, and trained on


def test_the_process_follows_what_sources_came_to() -> None:
    """Between sources it lies between them, and far from them it is less sure."""
    points = np.linspace(0, 1, 21)[:, None]
    sources = [0, 4, 8, 12]
    returns = 5 * np.sin(3 * points[sources, 0])
    transfers = np.zeros((4, 21))
    transfers[np.arange(4), sources] = returns
    mean, deviation = own_returns(points, sources, transfers)
    assert mean[sources] == pytest.approx(returns, abs=0.1)
    assert mean[6] == pytest.approx(5 * math.sin(3 * points[6, 0]), abs=0.3)
    assert deviation[20] > 2 * deviation[6]


def test_what_is_scaled_does_not_depend_on_units() -> None:
    contexts = repertory.domain("cartpole27").contexts
    assert np.allclose(scaled(contexts), scaled(contexts * [1000.0, 1.0, 3.28] + 5.0))
    assert (scaled(np.ones((4, 2))) == 0).all()
