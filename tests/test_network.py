"""The feed-forward network and its optimisers against PyTorch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from repertory.kernels.compile import kernel
from repertory.kernels.network import (
    NetworkShape,
    backward,
    count_weights,
    forward,
    glorot_uniform,
    matrices,
    new_activations,
)
from repertory.kernels.optimisers import adadelta
from repertory.kernels.product import add_product, dot
from repertory.kernels.views import cut, rows_view
from tests.pytorch import needs_torch, torch

SHAPES = [NetworkShape(4, 80, 80, 2), NetworkShape(11, 7, 9, 5), NetworkShape(3, 5, 2, 1)]


def torch_outputs(parts: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    w1, b1, w2, b2, w3, b3 = parts
    return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3.T + b3


@needs_torch
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 2, 7, 16, 34])
def test_forward_and_gradient_equal_torch(shape: NetworkShape, rows: int, rng: np.random.Generator) -> None:
    weights = rng.normal(size=count_weights(shape)).astype(np.float32) * np.float32(0.3)
    batch = new_activations(shape, 34)
    batch.inputs[:] = rng.normal(size=batch.inputs.shape)
    batch.gradient_outputs[:] = rng.normal(size=batch.gradient_outputs.shape)
    gradient = np.full_like(weights, np.nan)
    forward(weights, shape, batch, rows)
    backward(weights, shape, batch, rows, gradient)

    parts = [torch.tensor(part, requires_grad=True) for part in matrices(weights, shape)]
    outputs = torch_outputs(parts, torch.tensor(batch.inputs[:rows]))
    (outputs * torch.tensor(batch.gradient_outputs[:rows])).sum().backward()
    np.testing.assert_allclose(batch.outputs[:rows], outputs.detach().numpy(), rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(matrices(gradient, shape), parts, strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_rows_do_not_depend_on_the_size_of_their_batch(rng: np.random.Generator) -> None:
    """A policy must act on an observation as it evaluates it in a batch: to the bit."""
    shape = NetworkShape(4, 80, 80, 2)
    weights = glorot_uniform(shape, rng)
    batch, single = new_activations(shape, 9), new_activations(shape, 1)
    batch.inputs[:] = rng.normal(size=(9, 4))
    forward(weights, shape, batch, 9)
    for i in range(9):
        single.inputs[0] = batch.inputs[i]
        forward(weights, shape, single, 1)
        assert np.array_equal(single.outputs[0], batch.outputs[i])


def test_views_in_kernels_are_those_in_python() -> None:
    def mark(room: np.ndarray) -> None:
        matrix, vector, last = cut(room, ((2, 3), (4,), (3, 1)))
        matrix[1, 2], vector[0], last[2, 0] = 1.0, 2.0, 3.0
        rows_view(matrix, 1, 1)[0, 1] = 4.0

    compiled, plain = np.zeros(13, np.float32), np.zeros(13, np.float32)
    kernel(mark)(compiled)
    mark(plain)
    assert compiled.tolist() == plain.tolist() == [0, 0, 0, 0, 4, 1, 2, 0, 0, 0, 0, 0, 3]


def test_glorot_limits(rng: np.random.Generator) -> None:
    shape = NetworkShape(4, 80, 80, 2)
    w1, b1, w2, b2, w3, b3 = matrices(glorot_uniform(shape, rng), shape)
    for w in (w1, w2, w3):
        limit = np.sqrt(6 / sum(w.shape))
        assert 0.9 * limit < np.abs(w).max() <= limit
    assert not b1.any()
    assert not b2.any()
    assert not b3.any()


class AdaDelta(NamedTuple):
    """What the optimiser reads of a policy."""

    weights: np.ndarray
    square_average: np.ndarray
    step_average: np.ndarray
    learning_rate: np.float32 = np.float32(0.1)
    rho: np.float32 = np.float32(0.95)
    optimizer_eps: np.float32 = np.float32(1e-7)
    max_grad_value: np.float32 = np.float32(10.0)


@needs_torch
def test_adadelta_equals_torch(rng: np.random.Generator) -> None:
    weights = rng.normal(size=500).astype(np.float32)
    theirs = torch.tensor(weights.copy(), requires_grad=True)
    optimiser = torch.optim.Adadelta([theirs], lr=0.1, rho=0.95, eps=1e-7)
    policy = AdaDelta(weights, np.zeros_like(weights), np.zeros_like(weights))
    for _ in range(200):
        gradient = rng.normal(size=500).astype(np.float32)
        theirs.grad = torch.tensor(gradient)
        optimiser.step()
        adadelta(policy, gradient)
    np.testing.assert_allclose(weights, theirs.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_adadelta_clips_each_element_first() -> None:
    def step(gradient: list[float]) -> list[float]:
        policy = AdaDelta(*np.zeros((3, 4), np.float32))
        adadelta(policy, np.array(gradient, np.float32))
        return policy.weights.tolist()

    assert step([-30.0, -10.0, 0.5, 11.0]) == step([-10.0, -10.0, 0.5, 10.0])


@pytest.mark.parametrize("sizes", [(10, 80, 80), (1, 80, 80), (7, 83, 5), (3, 10, 4), (9, 320, 80), (2, 16, 1)])
def test_products_equal_numpy_and_a_fused_sum(sizes: tuple[int, int, int], rng: np.random.Generator) -> None:
    rows, columns, steps = sizes
    a, b = rng.normal(size=(rows, steps)).astype(np.float32), rng.normal(size=(steps, columns)).astype(np.float32)
    c, transposed = np.ones((rows, columns), np.float32), np.ones((rows, columns), np.float32)
    add_product(c, columns, a, steps, 1, b, columns, rows, columns, steps)
    np.testing.assert_allclose(c, 1 + a.astype(float) @ b.astype(float), rtol=1e-4, atol=1e-5)
    add_product(transposed, columns, a.T.copy(), 1, rows, b, columns, rows, columns, steps)
    assert np.array_equal(c, transposed)
    # A fused multiply-add rounds once: a double holds the product of two floats exactly.
    for j in (0, columns - 1):
        total = np.float32(1.0)
        for k in range(steps):
            total = np.float32(float(a[-1, k]) * float(b[k, j]) + float(total))
        assert c[-1, j] == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("size", [1, 15, 16, 80, 83])
def test_dot(size: int, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, size)).astype(np.float32)
    assert dot(a, 0, b, 0, size) == pytest.approx(float(a.astype(float) @ b.astype(float)), rel=1e-4, abs=1e-5)
