"""The plain C program that repertory's speed is compared with: it does the same work and learns the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from repertory.benchmarks.cartpole_dqn import SETTINGS, TASK
from repertory.benchmarks.measure import build
from repertory.benchmarks.plain_c import FLAGS, PlainC, compile_program, has_compiler
from repertory.core.episode import EpisodePlayer
from repertory.domains.domain import Domain

pytestmark = pytest.mark.skipif(not has_compiler(), reason="gcc, which builds the plain C program, is not on the PATH")


def test_compiles_without_a_warning(tmp_path: Path) -> None:
    assert compile_program(tmp_path / "program", (*FLAGS, "-Wall", "-Wextra")) == ""


def test_lives_the_same_life_as_repertory_and_learns(cartpole27: Domain) -> None:
    """From the same weights and seeds the same episodes follow, until differences in rounding have grown."""
    program = PlainC(warm_up=0)
    report = program.train(10_000)

    learner, player = build("cartpole27", SETTINGS), EpisodePlayer(cartpole27)
    steps = sum(player.play(TASK, learner, seed).steps for seed in range(report["episodes"]))
    assert report["steps"] == report["life"] == steps
    assert report["updates"] == learner.policy["updates"]
    assert report["loss_total"] == pytest.approx(learner.policy["loss_total"], rel=1e-4)

    later = program.train(240_000)
    assert later["updates"] - report["updates"] == pytest.approx(later["steps"] / SETTINGS.train_freq, abs=1)
    assert later["mean_return"] > 2 * report["mean_return"]
    program.close()
