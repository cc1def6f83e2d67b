"""The machine's float32 matrix-product peak on one thread, and work as a share of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from repertory.benchmarks.measure import Contender, take_turns
from repertory.benchmarks.result import Measured, Side

SIZE = 1024
PRODUCTS = 8
GIGA = 1e9


def matrix_products() -> Contender:
    """Products of two square matrices, whose work is counted in floating-point operations."""
    a = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(np.float32)
    b, c = a.T.copy(), np.empty_like(a)
    np.matmul(a, b, out=c)

    def work() -> float:
        for _ in range(PRODUCTS):
            np.matmul(a, b, out=c)
        return 2.0 * SIZE**3 * PRODUCTS

    return work


def share_of_peak(ours: Callable[[], Contender], note: str = "") -> Callable[[int], Measured]:
    """`ours` makes a contender whose work is counted in floating-point operations."""

    def measure(repeats: int) -> Measured:
        speeds = take_turns([ours(), matrix_products()], repeats)
        done, peak = (tuple(speed / GIGA for speed in seen) for seen in speeds)
        our_side, peak_side = Side("repertory", "GFLOP/s", done), Side("matrix products", "GFLOP/s", peak)
        return Measured(our_side.best / peak_side.best, our_side, peak_side, note)

    return measure
