"""What many tests share."""

from __future__ import annotations

import numpy as np
import pytest

import repertory
from repertory.domains.domain import Domain


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)


@pytest.fixture(scope="session")
def cartpole27() -> Domain:
    return repertory.domain("cartpole27")
