"""Policy spread: its value, that it is measured over the life, and that nobody notices."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory.core import lifetime
from repertory.core.metrics import measured_curve
from repertory.core.spread import spread_if_any
from repertory.errors import UsageError
from repertory.report.figure_content import SPREAD
from repertory.report.figures import figure, standing
from repertory.runs.summary import run_spread
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep
from tests.records import write_sweep
from tests.test_evaluation import LEARNERS, SMALL, Always, payers
from tests.test_tasks import Fields


def test_constant_policies_are_as_far_apart_as_their_actions() -> None:
    # (0.6, 0.2, 0.2) and (0.2, 0.6, 0.2): a total-variation distance of 0.4.
    assert spread_if_any(payers(), [Always(0), Always(1)]) == pytest.approx(0.4)
    assert spread_if_any(payers(), [Always(0), Always(0), Always(1)]) == pytest.approx(0.4 * 2 / 3)


def test_there_is_none_of_one_policy_or_without_probabilities() -> None:
    def refuse(observations: np.ndarray) -> np.ndarray:
        raise UsageError("actions in Box have no probabilities")

    assert spread_if_any(payers(), [Always(0)]) is None
    assert spread_if_any(payers(), [Always(0), object()]) is None
    assert spread_if_any(payers(), [SimpleNamespace(action_probabilities=refuse)] * 2) is None


def test_sampling_leaves_the_observation_space_alone() -> None:
    domain = payers()
    domain.observation_space.seed(5)
    before = domain.observation_space.np_random.bit_generator.state
    spread_if_any(domain, [Always(0), Always(1)])
    assert domain.observation_space.np_random.bit_generator.state == before


@pytest.mark.parametrize("name", LEARNERS)
def test_measuring_changes_no_bit_of_the_life(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain_name, learner = LEARNERS[name]
    domain = repertory.domain(domain_name, **({"max_steps": 24} if domain_name == "pocman18" else {}))
    options = {"policies": 3, "blocks": 5, "block_steps": 300}
    unmeasured = repertory.live(domain, learner, **options)
    monkeypatch.setattr(lifetime, "SPREAD_STEPS", 600)
    measured = repertory.live(domain, learner, **options, out=tmp_path / "run")
    spreads = measured.blocks.pop(SPREAD)
    ends = measured.blocks["steps"].cumsum()
    assert list(spreads.notna()) == list(ends // 600 > (ends - measured.blocks["steps"]) // 600)
    assert SPREAD not in unmeasured.blocks
    pd.testing.assert_frame_equal(measured.blocks, unmeasured.blocks, check_exact=True)
    for one, other in zip(measured.policies, unmeasured.policies, strict=True):
        states = one.state_dict(), other.state_dict()
        assert all(states[0][key].tobytes() == states[1][key].tobytes() for key in states[1])


def test_the_last_measurement_is_the_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "SPREAD_STEPS", 300)
    record = repertory.live("cartpole27", repertory.DQN(**SMALL), 2, blocks=4, block_steps=300, out=tmp_path / "run")
    assert record.blocks[SPREAD].iloc[-1] == run_spread(tmp_path / "run")
    (read,) = read_results(tmp_path).runs
    assert read.blocks[SPREAD].equals(record.blocks[SPREAD])


def test_observations_that_are_choices(tmp_path: Path) -> None:
    domain = repertory.tasks([Fields], names=["row"], check=False)
    repertory.live(domain, repertory.DQN(**SMALL), 2, blocks=2, block_steps=100, out=tmp_path / "run")
    assert 0 <= run_spread(tmp_path / "run") <= 0.8


def test_the_curve_of_runs_that_were_measured() -> None:
    runs = [pd.DataFrame({"steps": [10] * 4, SPREAD: [np.nan, first, np.nan, 0.5]}) for first in (0.2, 0.4)]
    curve = measured_curve([*runs, pd.DataFrame({"steps": [10], SPREAD: [np.nan]})], SPREAD)
    assert curve.steps.tolist() == [20, 40]
    assert curve.mean == pytest.approx([0.3, 0.5])
    assert curve.error == pytest.approx([0.1, 0])


def test_the_figure_shows_the_runs_that_were_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests import records

    def with_spread(sequence: np.ndarray, policies: int, seed: int) -> pd.DataFrame:
        blocks = made_up(sequence, policies, seed)
        return blocks.assign(**{SPREAD: np.where(blocks["block"] % 10 == 9, policies / 100, np.nan)})

    made_up = records.made_up_blocks
    sweep = Sweep("pocman18", "released", blocks=20)
    write_sweep(tmp_path, sweep, ("AdaptiveDRQN2P",), runs=1)
    monkeypatch.setattr(records, "made_up_blocks", with_spread)
    write_sweep(tmp_path, sweep, ("AdaptiveDRQN9P",), runs=1)
    held = standing(figure("paramdiversity"), [read_results(tmp_path)])
    assert held.present == [("pocman18", "AdaptiveDRQN9P")]
    (line,) = held.content().charts[0].panels[0].marks
    assert line.y.tolist() == [0.09, 0.09]
