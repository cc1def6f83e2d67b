"""The kernel cache: found again by other processes, never stale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import cloudpickle
import numba
import numpy as np
import pytest

from repertory.kernels.compile import kernel

MODULE = """
from repertory.kernels.cache import fingerprint
from repertory.kernels.compile import kernel
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


def run_file(module: Path, *arguments: str) -> tuple[float, int, str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(module.parent / "cache")}
    output = subprocess.run(
        [sys.executable, str(module), *arguments],
        env=environment,
        cwd=module.parent,
        check=True,
        capture_output=True,
        text=True,
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


@kernel
def root_of(x: float) -> float:
    if x < 0.0:
        raise ValueError("no root of", x)
    return x**0.5


@kernel
def sum_of_roots(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += root_of(value)
    return total


@kernel
def mean_of_roots(values: np.ndarray) -> float:
    return sum_of_roots(values) / len(values)


def test_a_kernel_called_by_kernels_is_compiled_as_part_of_them_and_for_python_only_when_python_calls_it() -> None:
    values = np.array([1.0, 4.0, 9.0])
    assert mean_of_roots(values) == 2.0
    assert not sum_of_roots.overloads
    assert sum_of_roots(values) == 6.0
    assert root_of(16.0) == 4.0
    assert [len(each.overloads) for each in (mean_of_roots, sum_of_roots, root_of)] == [1, 1, 1]
    assert mean_of_roots(values.astype(np.float32)) == 2.0, "another signature, after its parts were called from Python"


ERROR_MODULE = """
import numba
from repertory.kernels.compile import kernel

@kernel
def root_of(x):
    if x < 0.0:
        raise ValueError("no root of", x)
    return x ** 0.5

@kernel
def one_more(x):
    return root_of(x) + 1.0

@numba.njit
def one_less(x):
    return root_of(x) - 1.0

if __name__ == "__main__":
    import sys
    try:
        {"kernel": one_more, "numba's own": one_less}[sys.argv[1]](-4.0)
    except ValueError as error:
        print(error.args[1], 0, error.args[0].replace(" ", "-"))
"""


@pytest.mark.parametrize("caller", ["kernel", "numba's own"])
def test_an_error_raised_in_a_part_keeps_what_it_was_raised_with(caller: str, tmp_path: Path) -> None:
    """The values it is raised with are Python objects, which the code of a part refers to."""
    module = tmp_path / "errors.py"
    module.write_text(ERROR_MODULE)
    for _first_and_from_cache in range(2):
        assert run_file(module, caller) == (-4.0, 0, "no-root-of")


def test_numbas_own_functions_call_kernels_and_are_called_by_them() -> None:
    @numba.njit
    def twice_the_mean(values: np.ndarray) -> float:
        return 2.0 * mean_of_roots(values)

    @kernel
    def one_more(values: np.ndarray) -> float:
        return twice_the_mean(values) + 1.0

    values = np.array([4.0, 16.0])
    assert one_more(values) == 7.0
    assert twice_the_mean(values) == 6.0


def test_a_kernel_survives_pickling(tmp_path: Path) -> None:
    def make(factor: float) -> Any:
        @kernel
        def scaled(x: float) -> float:
            return factor * x

        return scaled

    (tmp_path / "kernel").write_bytes(cloudpickle.dumps(make(3.0)))
    module = tmp_path / "unpickle.py"
    module.write_text("import pickle; print(pickle.load(open('kernel', 'rb'))(5.0), 0, '-')")
    assert run_file(module)[0] == 15.0


PARTS_MODULE = """
from repertory.kernels.cache import cache_folder
from repertory.kernels.compile import kernel

@kernel
def inner(x):
    return x * 2.0

@kernel
def first(x):
    return inner(x) + 1.0

@kernel
def second(x):
    return inner(x) - 1.0

if __name__ == "__main__":
    import sys
    value = {"first": first, "second": second}[sys.argv[1]](3.0)
    print(value, sum(inner._part.stats.cache_hits.values()), sum(1 for _ in cache_folder().glob("inner-*")))
"""


def test_a_part_translated_once_serves_another_process(tmp_path: Path) -> None:
    module = tmp_path / "parts.py"
    module.write_text(PARTS_MODULE)
    assert run_file(module, "first") == (7.0, 0, "1")
    assert run_file(module, "second") == (5.0, 1, "1")


CLOSURES_MODULE = """
import sys
from repertory.kernels.compile import kernel

def make(factor):
    @kernel
    def scaled(x):
        return factor * x
    return scaled

def alone(function):
    @kernel
    def run(x):
        return function(x)
    return run

twice, five_times = make(2.0), make(5.0)

@kernel
def both(x):
    return 1000.0 * twice(x) + five_times(x)

if __name__ == "__main__":
    if sys.argv[1] == "twice":
        print(alone(twice)(3.0), 0, "-")
    else:
        alone(five_times)(3.0)
        print(both(3.0), 0, "-")
"""


def test_closures_kept_by_one_process_are_not_taken_for_those_of_another(tmp_path: Path) -> None:
    """Both are the first closure that their process compiles: they must not meet under one name."""
    module = tmp_path / "closures.py"
    module.write_text(CLOSURES_MODULE)
    assert run_file(module, "twice")[0] == 6.0
    assert run_file(module, "both")[0] == 6015.0


RECORDS_MODULE = """
import sys
import numpy as np
from repertory.kernels.compile import kernel

@kernel
def last(records):
    return records[0].last

@kernel
def alone(records):
    return last(records)

@kernel
def both(few, many):
    return 10.0 * last(few) + last(many)

def made(size, value):
    records = np.zeros(1, np.dtype([("many", np.float64, (size,)), ("last", np.float64)]))
    records["last"] = value
    return records

if __name__ == "__main__":
    few, many = made(2, 3.0), made(50, 5.0)
    asked = sys.argv[1]
    print(both(few, many) if asked == "both" else alone(few if asked == "few" else many), 0, "-")
"""


def test_code_for_records_kept_by_one_process_is_not_taken_for_that_of_another(tmp_path: Path) -> None:
    """Both are the first record that their process meets: code for the one must not be run on the other."""
    module = tmp_path / "records.py"
    module.write_text(RECORDS_MODULE)
    assert run_file(module, "few")[0] == 3.0
    assert run_file(module, "many")[0] == 5.0
    assert run_file(module, "both")[0] == 35.0


OPTIONS_MODULE = """
import sys
import numba
from repertory.kernels.compile import kernel

@kernel
def rest(x):
    return (x + 1e16) - 1e16

@numba.njit(fastmath=True)
def fast(x):
    return rest(x)

@kernel
def exact(x):
    return rest(x)

if __name__ == "__main__":
    print({"fast": fast, "exact": exact}[sys.argv[1]](1.0), 0, "-")
"""


def test_a_kernel_is_compiled_with_its_own_options_whoever_calls_it(tmp_path: Path) -> None:
    module = tmp_path / "options.py"
    module.write_text(OPTIONS_MODULE)
    assert [run_file(module, caller)[0] for caller in ("fast", "exact")] == [0.0, 0.0]
