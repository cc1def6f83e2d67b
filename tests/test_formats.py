"""What was saved stays good: folders, sweeps, checkpoints and libraries of older and newer versions."""

from __future__ import annotations

import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repertory
from repertory import catalogue
from repertory.runs import checkpoint, formats
from repertory.runs.checkpoint import read_checkpoint
from repertory.runs.folder import RunFolder
from repertory.runs.live import live_spec
from repertory.runs.opened import open_run
from repertory.runs.provenance import PRESENTATION, MadeBy, this_code
from repertory.runs.reading import OtherFormat
from repertory.runs.spec import RunSpec
from repertory.settings import Settings, setting
from repertory.sweeps import sweep
from repertory.sweeps.migrate import migrate
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Watcher, claim, live_sweep, make_engine, read_sweep

OLD = Path(__file__).parent / "data" / "format-1"
"""Made by 0.1.0, before formats had numbers; see `data/make_format_1.py`."""
LEARNERS = ("dqn", "dqn-task-matching", "drqn", "ppo", "prpo")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copytree(OLD, tmp_path / "old")
    return tmp_path / "old"


def content_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.name != "lock"}


def go_on(folder: Path) -> list[str]:
    """Run what a folder holds to its end; what it told on the way."""
    told: list[str] = []
    live_spec(RunSpec.from_json(RunFolder(folder).settings()), folder, notice=told.append)
    return told


# ------------------------------------------------------------------------------------------------- older ones


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_unfinished_run_of_an_older_version_goes_on_to_the_same_end(learner: str, old: Path) -> None:
    unfinished, finished = old / "runs" / f"{learner}-unfinished", old / "runs" / f"{learner}-finished"
    told = go_on(unfinished)
    assert any("resuming" in message and "at block 4 of 5" in message for message in told)
    resumed, whole = (pd.read_parquet(folder / "blocks.parquet") for folder in (unfinished, finished))
    added = {name for name in resumed if name.startswith("health_") or name == "bytes"}  # since 0.2.0
    assert [name for name in resumed if name not in added] == list(whole)
    pd.testing.assert_frame_equal(resumed[list(whole)], whole, check_exact=True)
    first, second = RunFolder(unfinished).run_file().made_by
    assert (first.version, first.commit, first.from_block) == ("0.1.0", None, 0)
    assert (second.version, second.from_block) == (repertory.__version__, 3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_finished_run_of_an_older_version_opens_and_is_left_alone(learner: str, old: Path) -> None:
    folder = old / "runs" / f"{learner}-finished"
    before = content_of(folder)
    spec, lifetime = open_run(folder)
    assert len(lifetime.rows) == spec.blocks == 5
    assert RunFolder(folder).holds_finished(spec.to_json())
    assert len(live_spec(spec, folder).blocks) == 5  # its record, without a step
    assert content_of(folder) == before


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_library_of_an_older_version_acts_as_its_run_does(learner: str, old: Path, rng: np.random.Generator) -> None:
    library = repertory.load(old / f"library-{learner}.npz")
    assert not library.can_train
    spec, lifetime = open_run(old / "runs" / f"{learner}-finished")
    window = getattr(spec.learner, "window", None)
    inputs = spec.domain.observation_space.shape[0]
    seen = rng.uniform(-1, 1, (7, inputs) if window is None else (7, window, inputs)).astype(np.float32)
    for loaded, trained in zip(library.policies, lifetime.policies, strict=True):
        assert np.array_equal(loaded.learner.action_probabilities(seen), trained.action_probabilities(seen))


def test_a_sweep_of_an_older_version_goes_on(old: Path) -> None:
    folder = old / "sweep"
    held = read_sweep(folder)
    claim(folder, held)  # no other sweep's
    done = content_of(folder / "AdaptivePPO2P" / "run-00")
    jobs = [
        held.job(folder, held.data.conditions[name], run)
        for name, run in (("AdaptivePPO2P", 0), ("UnadaptivePPO1P", 0))
    ]

    standing = live_sweep(jobs, make_engine("local", 1), Watcher())
    assert [status.state for status in standing.values()] == ["finished", "finished"]
    assert content_of(folder / "AdaptivePPO2P" / "run-00") == done
    assert len(RunFolder(folder / "UnadaptivePPO1P" / "run-00").run_file().made_by) == 2
    assert {len(run.blocks) for run in read_results(folder).runs} == {4}


# ------------------------------------------------------------------------------------------------- newer ones


def newer_run_file(folder: Path) -> None:
    content = json.loads((folder / "run.json").read_text())
    content |= {"format": formats.RUN_FORMAT + 1, "made_by": [{"version": "9.9"}]}
    (folder / "run.json").write_text(json.dumps(content))


def newer_checkpoint(folder: Path) -> None:
    held = read_checkpoint(folder / "checkpoint.npz")
    number, checkpoint.FORMAT = checkpoint.FORMAT, checkpoint.FORMAT + 1
    try:
        checkpoint.write_file(folder / "checkpoint.npz", held)
    finally:
        checkpoint.FORMAT = number


def unknown_setting(folder: Path) -> None:
    content = json.loads((folder / "run.json").read_text())
    content["settings"]["learner"]["new_idea"] = 3
    (folder / "run.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("make_newer", "message"),
    [
        (newer_run_file, "run.json.*repertory 9.9 wrote it in format 3.*use a newer version"),
        (newer_checkpoint, "checkpoint.npz.*wrote it in format 3.*use a newer version"),
        (unknown_setting, "settings that this version does not have \\(learner.new_idea\\).*use repertory 0.1.0"),
    ],
)
def test_what_only_a_newer_version_can_use_is_refused_by_name(make_newer, message: str, old: Path) -> None:
    folder = old / "runs" / "ppo-unfinished"
    spec = RunSpec.from_json(RunFolder(folder).settings())
    make_newer(folder)
    before = content_of(folder)
    with pytest.raises(repertory.UsageError, match=message) as refusal:
        live_spec(spec, folder)
    assert "damaged" not in str(refusal.value)
    assert content_of(folder) == before


def test_a_newer_library_and_sweep_are_refused_by_name(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 3)
    monkeypatch.setattr(sweep, "FORMAT", 4)
    repertory.load(old / "library-ppo.npz").save(old / "newer.npz")
    claim(old / "newer", read_sweep(old / "sweep"))
    monkeypatch.undo()
    with pytest.raises(OtherFormat, match=r"newer.npz.*format 3.*formats up to 2.*use a newer version"):
        repertory.load(old / "newer.npz")
    with pytest.raises(OtherFormat, match=r"sweep.json.*format 4"):
        read_results(old / "newer")


def test_newer_blocks_are_left_out_of_results_by_name(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(old / "runs" / "ppo-finished")
    monkeypatch.setattr(formats, "BLOCKS_FORMAT", 3)
    folder.write_blocks(folder.read_blocks())
    monkeypatch.undo()
    results = read_results(old / "runs")
    assert len(results.runs) == 2 * len(LEARNERS) - 1
    assert "blocks.parquet" in results.problems[0]
    assert "format 3" in results.problems[0]


# -------------------------------------------------------------------------- tomorrow's version, today's files

NUMBERS = [(formats, "RUN_FORMAT"), (formats, "BLOCKS_FORMAT"), (checkpoint, "FORMAT"), (sweep, "FORMAT")]


@pytest.mark.parametrize(("module", "name"), NUMBERS)
def test_a_higher_format_number_loses_nothing(module, name: str, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's files, read by a version whose formats have moved on."""
    made = old / "made-today"
    repertory.live("cartpole27", repertory.PPO(net_arch=(6, 6)), 2, blocks=2, block_steps=60, out=made)
    repertory.load(old / "library-ppo.npz").save(old / "today.npz")
    before = content_of(made)
    monkeypatch.setattr(module, name, getattr(module, name) + 1)
    assert len(open_run(made)[1].rows) == 2
    assert len(read_results(made).runs) == 1
    assert repertory.load(old / "today.npz").policies
    go_on(old / "runs" / "ppo-unfinished")
    assert content_of(made) == before


def with_a_setting_more(kind: type[Settings]) -> type[Settings]:
    """A settings class as a later version may have it. Runs made before had 2, though the default is 3 by then."""

    @dataclass(frozen=True, kw_only=True)
    class Later(kind):  # type: ignore[valid-type, misc]
        new_idea: int = setting(3, "Added later.", before=2)
        other_idea: tuple[int, int] = setting((1, 2), "Added later.")

    Later.__name__, Later.__qualname__, Later.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Later


COMPONENTS = [
    (kind, name) for kind in ("domains", "learners", "selectors", "agents") for name in catalogue.BUILT_IN[kind]
]


def test_what_a_setting_was_may_depend_on_the_others() -> None:
    """Learning did not wait for experiences of the task; with one memory for all tasks, it does not now either."""
    recorded = repertory.DQN().as_dict()
    del recorded["waits_for_task"]
    assert repertory.DQN.completed(recorded) == repertory.DQN().as_dict()
    assert not repertory.DQN.completed({**recorded, "memory": "task-matching"})["waits_for_task"]


@pytest.mark.parametrize(("kind", "name"), COMPONENTS)
def test_a_setting_more_orphans_no_record(kind: str, name: str) -> None:
    """Every published record of the component still says what it said, and the new setting as it was then."""
    settings = catalogue.settings_class(kind, name)
    later = with_a_setting_more(settings)
    recorded = {"name": name, **settings().as_dict()}
    assert later.completed(recorded) == {**recorded, "new_idea": 2, "other_idea": [1, 2]}
    assert later().completed({**recorded, "new_idea": 7})["new_idea"] == 7


def test_runs_of_before_a_setting_go_on_and_count_as_finished(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = with_a_setting_more(repertory.PPO)
    monkeypatch.setitem(catalogue.BUILT_IN["learners"], "ppo", later)
    finished = old / "runs" / "ppo-finished"
    settings = RunFolder(finished).settings()
    assert settings["learner"]["new_idea"] == 2
    assert RunFolder(finished).holds_finished(RunSpec.from_json(settings).to_json())
    assert "at block 4 of 5" in go_on(old / "runs" / "ppo-unfinished")[-1]
    # A run that is asked for with the new default is another one.
    other = RunSpec.from_json({**settings, "learner": {**settings["learner"], "new_idea": 3}})
    with pytest.raises(repertory.UsageError, match=r"other settings \(learner.new_idea: 2 there, 3 given\)"):
        live_spec(other, old / "runs" / "ppo-unfinished")


# ------------------------------------------------------------------------------------- never started again


@pytest.mark.parametrize("what", ["both damaged", "gone", "of another shape"])
def test_a_run_is_never_started_again_over_its_rows(what: str, old: Path) -> None:
    folder = old / "runs" / "dqn-unfinished"
    file = folder / "checkpoint.npz"
    if what == "both damaged":
        file.write_bytes(file.read_bytes()[:1000])
        shutil.copy(file, folder / "checkpoint-previous.npz")
    elif what == "gone":
        file.unlink()
    else:
        held = read_checkpoint(file)
        held.arrays["policy 0/weights"] = np.zeros(5, np.float32)
        checkpoint.write_file(file, held)
    before = content_of(folder)
    with pytest.raises(repertory.UsageError, match=r"cannot be resumed|does not fit this version"):
        go_on(folder)
    assert content_of(folder) == before


def test_in_a_sweep_such_a_run_is_named_and_the_others_are_run(old: Path) -> None:
    from repertory.sweeps.job import run_job

    folder = old / "sweep"
    held = read_sweep(folder)
    job = held.job(folder, held.data.conditions["UnadaptivePPO1P"], 0)
    (Path(job.folder) / "checkpoint.npz").unlink()
    before = content_of(Path(job.folder))
    status = run_job(job)
    assert status.state == "stopped"
    assert "starting again would overwrite it" in status.message
    assert content_of(Path(job.folder)) == before


# --------------------------------------------------------------------------------------- who made what


def test_a_record_says_who_made_it(tmp_path: Path) -> None:
    repertory.live("cartpole27", "random", 1, blocks=1, block_steps=30, out=tmp_path / "run")
    (maker,) = RunFolder(tmp_path / "run").run_file().made_by
    assert maker == this_code()
    assert maker.version == repertory.__version__
    assert maker.packages["numpy"] == np.__version__
    assert maker.machine["cores"] >= 1
    assert read_checkpoint(tmp_path / "run" / "checkpoint.npz").made_by == maker


def test_the_same_code_is_known_by_its_source() -> None:
    mine = MadeBy("0.2.0", "abc", source="s", packages={"numpy": "2"})
    assert mine.is_same_code(dataclasses.replace(mine, commit="def", version="0.2.1"))
    assert not mine.is_same_code(dataclasses.replace(mine, source="t"))
    assert not mine.is_same_code(dataclasses.replace(mine, packages={"numpy": "3"}))
    assert not MadeBy("0.1.0", "abc").is_same_code(MadeBy("0.1.0", "def"))


def test_what_does_not_affect_results_are_parts_of_the_package() -> None:
    package = Path(repertory.__file__).parent
    assert all((package / part).is_dir() for part in PRESENTATION)


def test_migrated_records_are_the_same_but_for_their_format(old: Path) -> None:
    before = {run.path: run for run in read_results(old).runs}
    done = migrate(old, commit="838fd92")
    assert (done.runs, done.sweeps) == (len(LEARNERS) + 1, 1)
    assert all("is not finished" in reason for reason in done.left_out)
    assert len(done.left_out) == len(LEARNERS) + 1
    for run in read_results(old).runs:
        assert run.is_done == before[run.path].is_done
        assert run.settings == before[run.path].settings
        pd.testing.assert_frame_equal(run.blocks, before[run.path].blocks, check_exact=True)
        content = json.loads((run.path / "run.json").read_text())
        assert (content.get("format") == formats.RUN_FORMAT) == run.is_done
        assert run.made_by[0].commit == ("838fd92" if run.is_done else None)
    assert migrate(old).runs == 0


def test_published_records_are_of_todays_formats() -> None:
    root = Path(__file__).parent.parent / "results"
    for name, number in (("run.json", formats.RUN_FORMAT), ("sweep.json", sweep.FORMAT)):
        for file in root.rglob(name):
            assert json.loads(file.read_text())["format"] == number, file


def test_a_migrated_sweep_keeps_who_made_it(tmp_path: Path) -> None:
    claim(tmp_path, sweep.Sweep("cartpole27"))
    file = tmp_path / "sweep.json"
    before = json.loads(file.read_text())
    file.write_text(json.dumps(before | {"format": 2, "sequence": "seed"}))
    migrate(tmp_path, commit="0" * 40)
    assert json.loads(file.read_text()) == before


# ---------------------------------------------------------------------------------------------- libraries


def test_a_library_saved_for_training_goes_on_as_the_run_would(tmp_path: Path) -> None:
    learner = repertory.DQN(learning_starts=20, buffer_size=300, net_arch=(6, 6))
    record = repertory.live("cartpole27", learner, 2, blocks=3, block_steps=100)
    record.save(tmp_path / "acting.npz")
    record.save(tmp_path / "whole.npz", for_training=True)
    acting, whole = (repertory.load(tmp_path / f"{name}.npz") for name in ("acting", "whole"))
    assert "saved without replay memories" in repr(acting)
    assert "saved without" not in repr(whole)
    with pytest.raises(repertory.UsageError, match="loaded without its replay memories"):
        acting.save(tmp_path / "again.npz", for_training=True)
    for loaded, trained in zip(whole.policies, record.policies, strict=True):
        one, other = loaded.learner.state_dict(), trained.state_dict()
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
