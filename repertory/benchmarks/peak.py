"""The machine's float32 matrix-product peak on one thread, against which floating-point work is measured."""

from __future__ import annotations

import time

import numpy as np


def measure_peak(size: int = 1024, repeats: int = 8) -> float:
    """Floating-point operations a second in the best of several products of two square matrices."""
    a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    b, c = a.T.copy(), np.empty_like(a)
    np.matmul(a, b, out=c)
    best = 0.0
    for _ in range(repeats):
        started = time.perf_counter()
        np.matmul(a, b, out=c)
        best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best
