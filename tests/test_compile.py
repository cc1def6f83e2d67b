"""The kernel cache: found again by other processes, never stale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MODULE = """
from repertory.kernels.compile import fingerprint, kernel
{scale}
@kernel
def inner(x):
    return {body}

def composed(function):
    @kernel
    def outer(x):
        return function(x) + 1.0
    return outer

outer = composed(inner)
if __name__ == "__main__":
    value = outer(3.0)
    hits = sum(outer.stats.cache_hits.values())
    print(value, hits, fingerprint(outer.py_func))
"""


def run_module(folder: Path, body: str, scale: str = "") -> tuple[float, int, str]:
    module = folder / "kernels_of_a_user.py"
    module.write_text(textwrap.dedent(MODULE).format(body=body, scale=scale))
    return run_file(module)


def run_file(module: Path) -> tuple[float, int, str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(module.parent / "cache")}
    output = subprocess.run(
        [sys.executable, str(module)], env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    return float(output[0]), int(output[1]), output[2]


def test_a_composed_kernel_is_found_again_by_another_process(tmp_path: Path) -> None:
    first = run_module(tmp_path, "x * 2.0")
    again = run_module(tmp_path, "x * 2.0")
    assert first[:2] == (7.0, 0)
    assert again[:2] == (7.0, 1)


@pytest.mark.parametrize("change", [{"body": "x * 5.0"}, {"body": "x * SCALE", "scale": "SCALE = 5.0"}])
def test_an_edit_to_an_inner_kernel_reaches_the_outer_one(tmp_path: Path, change: dict[str, str]) -> None:
    before = run_module(tmp_path, "x * SCALE", "SCALE = 2.0")
    after = run_module(tmp_path, **change)
    assert before[0] == 7.0
    assert after[:2] == (16.0, 0)
    assert before[2] != after[2]


def test_a_constant_in_a_module_is_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "constants.py").write_text("SCALE = 2.0\n")
    before = run_module(tmp_path, "x * constants.SCALE", "import constants")
    (tmp_path / "constants.py").write_text("SCALE = 5.0\n")
    after = run_module(tmp_path, "x * constants.SCALE", "import constants")
    assert (before[0], after[0]) == (7.0, 16.0)


TUPLE_MODULE = """
from typing import NamedTuple
from repertory.kernels.compile import kernel

class Pair(NamedTuple):
    {fields}

@kernel
def first_minus_second(pair):
    return pair.a - pair.b

if __name__ == "__main__":
    print(first_minus_second(Pair(5.0, 3.0)), 0, "-")
"""


def test_the_field_names_of_a_tuple_are_part_of_the_key(tmp_path: Path) -> None:
    results = []
    for fields in ("a: float; b: float", "b: float; a: float"):
        module = tmp_path / "pairs.py"
        module.write_text(TUPLE_MODULE.format(fields=fields))
        results.append(run_file(module)[0])
    assert results == [2.0, -2.0]


def test_a_damaged_cache_file_costs_a_compilation_only(tmp_path: Path) -> None:
    run_module(tmp_path, "x * 2.0")
    for damage in (lambda content: content[: len(content) // 2], lambda content: content[:-9] + b"x" + content[-8:]):
        for file in (tmp_path / "cache").iterdir():
            file.write_bytes(damage(file.read_bytes()))
        assert run_module(tmp_path, "x * 2.0")[:2] == (7.0, 0)
