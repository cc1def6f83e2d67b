"""What many tests share."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import repertory
from repertory.domains.domain import Domain
from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.report import claim_tests


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)


@pytest.fixture(scope="session")
def cartpole27() -> Domain:
    return repertory.domain("cartpole27")


@pytest.fixture
def short_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five simulated growing libraries in place of fifty, where claims are judged."""
    monkeypatch.setattr(claim_tests, "memory_table", partial(memory_table, GrowingLibrary(runs=5)))
