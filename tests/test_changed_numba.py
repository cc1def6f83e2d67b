"""A Numba that has changed inside: one warning, longer compilation, the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# What is taken away before anything of repertory is imported. Numba itself does without, once it is loaded.
KEPT = {
    "no library to derive from": "del numba.core.codegen.JITCodeLibrary",
    "one more thing in a result": """
reduce, rebuild = compiler.CompileResult._reduce, compiler.CompileResult._rebuild.__func__
compiler.CompileResult._reduce = lambda result: (*reduce(result), "more")
compiler.CompileResult._rebuild = classmethod(lambda cls, context, *told: rebuild(cls, context, *told[:-1]))
""",
}
"""Changes that leave us our cache."""
NOT_KEPT = {
    "results that cannot be kept": "del compiler.CompileResult._reduce",
    "results that cannot be read": "del compiler.CompileResult._rebuild",
    "names that cannot be given": """
class Fixed(numba.core.bytecode.FunctionIdentity):
    def __setattr__(self, name, value):
        if name == "unique_id" and hasattr(self, name):
            raise AttributeError("unique_id is read-only")
        super().__setattr__(name, value)
numba.core.bytecode.FunctionIdentity = Fixed
""",
    "names that have no effect": """
class Fixed(compiler.Compiler):
    def define_pipelines(self):
        self.state.func_id.unique_id = next(number)
        return super().define_pipelines()
number = itertools.count()
compiler.Compiler = Fixed
""",
    "a dispatcher that is final": """
def refuse(cls, **_options):
    raise TypeError("type 'CPUDispatcher' is not an acceptable base type")
numba.core.registry.CPUDispatcher.__init_subclass__ = classmethod(refuse)
""",
    "a dispatcher that is made in another way": """
class Changed(numba.core.registry.CPUDispatcher):
    def __init__(self, *, function): ...
numba.core.registry.CPUDispatcher = Changed
""",
}
CHANGES = {"none": ""} | KEPT | NOT_KEPT

PROGRAM = """
import itertools
import numba
import numba.core.codegen, numba.core.registry
from numba.core import compiler
{change}

import numpy as np
from repertory.kernels.compile import in_both, kernel
from repertory.kernels.streams import new_stream, uniform
from repertory.kernels.views import cut, rows_view

@in_both
def mean(a, b):
    return 0.5 * (a + b)

def drawing(average):
    @kernel
    def draw_into(numbers, stream):
        for place in range(len(numbers)):
            numbers[place] = average(uniform(stream), numbers[place])
        if numbers[0] > 1e9:
            raise ValueError("large", numbers[0])
    return draw_into

draw_into = drawing(mean)

@kernel
def draw_some(numbers, stream):
    for row in range(len(numbers)):
        draw_into(cut(rows_view(numbers, row, 1), ((10,),))[0], stream)
    return numbers.sum()

numbers = np.arange(100.0).reshape(10, 10)
total = draw_some(numbers, new_stream(7))
numbers[:] = 1e30
try:
    draw_some(numbers, new_stream(7))
except ValueError as error:
    print(total.hex(), *error.args, sum(draw_some.stats.cache_hits.values()))
"""


def run_with(change: str, folder: Path, program: str = PROGRAM) -> tuple[str, int, list[str]]:
    """What the program computes, how many of its kernels it found kept, and what it was warned of."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", program.replace("{change}", CHANGES[change])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *computed, hits = done.stdout.split()
    return " ".join(computed), int(hits), [line for line in done.stderr.splitlines() if "Warning" in line]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> str:
    computed, _hits, warned = run_with("none", tmp_path_factory.mktemp("unchanged"))
    assert warned == []
    return computed


@pytest.mark.parametrize("change", [*KEPT, *NOT_KEPT])
def test_one_warning_and_the_same_bits(change: str, tmp_path: Path, unchanged: str) -> None:
    computed, hits, warned = run_with(change, tmp_path)
    assert (computed, hits) == (unchanged, 0)
    assert len(warned) == 1
    assert "has changed inside" in warned[0]
    assert ("in every process" in warned[0]) == (change in NOT_KEPT)
    assert any((tmp_path / "cache").glob("draw_some-*")) == (change in KEPT)
    if change in KEPT:  # where there is nothing left to compile, there is nothing to warn of
        assert run_with(change, tmp_path) == (unchanged, 1, [])


LIFETIME = """
import hashlib
import numba
import numba.core.codegen, numba.core.registry
from numba.core import compiler
{change}

import repertory
record = repertory.live({lifetime}, policies=2, blocks=3, block_steps=2_000)
state = b"".join(policy.policy.tobytes() for policy in record.policies)
print(hashlib.sha256(state).hexdigest(), record.lifetime_score.hex(), 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lifetime", "change"),
    [
        ('"cartpole27", repertory.DQN(learning_starts=500)', "no library to derive from"),
        ('"cartpole27", repertory.PPO()', "a dispatcher that is final"),
        ('"pocman18", repertory.DRQN(learning_starts=500)', "a dispatcher that is final"),
        ('"pocman18", repertory.PRPO()', "no library to derive from"),
    ],
)
def test_a_lifetime_is_the_same_to_the_bit(lifetime: str, change: str, tmp_path: Path) -> None:
    program = LIFETIME.replace("{lifetime}", lifetime)
    as_ever, _hits, unwarned = run_with("none", tmp_path, program)
    computed, _hits, warned = run_with(change, tmp_path / "changed", program)
    assert (computed, len(unwarned), len(warned)) == (as_ever, 0, 1)
