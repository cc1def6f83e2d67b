"""NumPy's shared generator, put away and brought back, hands out the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from repertory.learners.numpy_state import as_state, bring_back, put_away

# ruff: noqa: NPY002


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    generator = np.random.get_bit_generator()
    state = np.random.get_state(legacy=False)
    yield
    np.random.set_bit_generator(generator)
    np.random.set_state(state)


def numbers() -> list[Any]:
    return [np.random.standard_normal(3).tolist(), np.random.randint(1000, size=700).tolist(), np.random.normal()]


@pytest.mark.parametrize("drawn", range(4))
def test_the_same_numbers_come_back(drawn: int) -> None:
    """Normal numbers are made in pairs: after an odd count, one is still to be handed out."""
    np.random.seed(5)
    np.random.standard_normal(drawn)
    told = np.random.get_state(legacy=False)
    expected = numbers()
    np.random.set_state(told)
    kept = put_away()
    np.random.seed(6)
    others = numbers()
    assert others != expected
    np.random.standard_normal(drawn % 2)  # whether or not somebody else's spare number is there
    in_between = put_away()
    bring_back(kept)
    assert str(np.random.get_state(legacy=False)) == str(told) == str(as_state(kept))
    assert numbers() == expected
    put_away()
    bring_back(in_between)
    assert np.random.get_state(legacy=False)["has_gauss"] == as_state(in_between)["has_gauss"]


def test_another_kind_of_generator_in_its_place() -> None:
    np.random.set_bit_generator(np.random.PCG64(3))
    kept = put_away()
    expected = numbers()
    bring_back(kept)
    assert numbers() == expected
