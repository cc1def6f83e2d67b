"""Nothing that was computed is lost, and what is resumed equals what was never interrupted, to the bit."""

from __future__ import annotations

import errno
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_learner import every_learner, every_selector

import repertory
from repertory.core.lifetime import Monitor
from repertory.errors import RunStopped
from repertory.runs import checkpoint as checkpoint_module
from repertory.runs import saver
from repertory.runs.checkpoint import DamagedCheckpoint, read_checkpoint
from tests.crashing import Crash, CrashAfter

SMALL = {"learning_starts": 60, "buffer_size": 200, "target_update_interval": 100}
LEARNERS = every_learner(**SMALL) | {
    "dqn by episodes": ("cartpole27", repertory.DQN(**SMALL, sampling="episodes")),
    "dqn on finished episodes": (
        "cartpole27",
        repertory.DQN(**SMALL, memory="finished-episodes", sampling="episodes"),
    ),
    "dqn matching": ("cartpole27", repertory.DQN(**SMALL, memory="distribution-matching", protected=30)),
    "dqn task-matching": ("cartpole27", repertory.DQN(**SMALL, memory="task-matching")),
}
SELECTORS = every_selector() | {
    "epsilon-greedy": repertory.EpsilonGreedy(epsilon=0.3),
    "epsilon-greedy per policy episode": repertory.EpsilonGreedy(epsilon=0.3, average="per policy episode"),
}


class SlowDown(Monitor):
    """A monitor that gives a killer time to strike."""

    def episode_ended(self, tally: object) -> None:
        time.sleep(0.002)


def live(out: Path, learner: str = "dqn", selector: str = "epsilon-greedy", **changes: object) -> repertory.Record:
    name, settings = LEARNERS[learner]
    domain = repertory.domain(name, **({"max_steps": 60} if name == "pocman18" else {}))
    policies = 27 if selector == "one-to-one" else 3
    block_steps = 700 if name == "office-rooms" else 250  # enough episodes to crash in
    options = {"policies": policies, "blocks": 5, "block_steps": block_steps, "out": out, **changes}
    return repertory.live(domain, settings, selector=SELECTORS[selector], **options)


@pytest.fixture
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every episode."""
    monkeypatch.setattr(saver, "LONGEST_PAUSE", 0.0)


def assert_same_run(one: Path, other: Path) -> None:
    pd.testing.assert_frame_equal(
        pd.read_parquet(one / "blocks.parquet"), pd.read_parquet(other / "blocks.parquet"), check_exact=True
    )
    first, second = read_checkpoint(one / "checkpoint.npz"), read_checkpoint(other / "checkpoint.npz")
    assert first.values == second.values
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.usefixtures("save_often")
def test_every_learner_resumes_to_the_bit(learner: str, tmp_path: Path) -> None:
    live(tmp_path / "whole", learner)
    for episodes in (1, 5, 7, 3, 6):
        with pytest.raises(Crash):
            live(tmp_path / "broken", learner, monitors=[CrashAfter(episodes)])
    live(tmp_path / "broken", learner)
    assert_same_run(tmp_path / "whole", tmp_path / "broken")


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.usefixtures("save_often")
def test_every_selector_resumes_to_the_bit(selector: str, tmp_path: Path) -> None:
    live(tmp_path / "whole", selector=selector)
    for episodes in (3, 11):
        with pytest.raises(Crash):
            live(tmp_path / "broken", selector=selector, monitors=[CrashAfter(episodes)])
    live(tmp_path / "broken", selector=selector)
    assert_same_run(tmp_path / "whole", tmp_path / "broken")


VICTIM = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from repertory.runs import saver
saver.LONGEST_PAUSE = 0.03
import test_resume
print("ready", flush=True)
test_resume.live(Path({out!r}), policies=4, blocks={blocks}, block_steps=300, monitors=[test_resume.SlowDown()])
"""


def kill_until_done(out: Path, kills: int, blocks: int, rng: random.Random) -> int:
    """Live a run in processes that are killed at random moments; after `kills` of them, one may finish."""
    script = VICTIM.format(tests=str(Path(__file__).parent), out=str(out), blocks=blocks)
    killed = 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if killed < kills:
            time.sleep(rng.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
        status = process.wait()
        if status == 0 or (out / "done").exists():
            return killed
        assert status == -signal.SIGKILL
        killed += 1


def crash_test(tmp_path: Path, kills: int, blocks: int) -> None:
    script = VICTIM.format(tests=str(Path(__file__).parent), out=str(tmp_path / "whole"), blocks=blocks)
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    killed = kill_until_done(tmp_path / "killed", kills, blocks, random.Random(4))
    assert killed >= kills
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_run_killed_twenty_times_equals_one_left_alone(tmp_path: Path) -> None:
    crash_test(tmp_path, kills=20, blocks=100)


@pytest.mark.slow
def test_a_run_killed_two_hundred_times_equals_one_left_alone(tmp_path: Path) -> None:
    crash_test(tmp_path, kills=200, blocks=1000)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "deleted", "empty", "not an archive"])
@pytest.mark.usefixtures("save_often")
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(damage: str, tmp_path: Path) -> None:
    live(tmp_path / "whole")
    with pytest.raises(Crash):
        live(tmp_path / "broken", monitors=[CrashAfter(12)])
    file = tmp_path / "broken" / "checkpoint.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    {
        "truncated": lambda: file.write_bytes(content[: len(content) // 3]),
        "flipped": lambda: file.write_bytes(content),
        "deleted": file.unlink,
        "empty": lambda: file.write_bytes(b""),
        "not an archive": lambda: file.write_text("hello"),
    }[damage]()
    notices: list[str] = []
    plan_live(tmp_path / "broken", notices)
    assert_same_run(tmp_path / "whole", tmp_path / "broken")
    if damage != "deleted":
        assert "checkpoint.npz is damaged" in notices[0]
        assert "using the one before" in notices[0]
    assert "resuming" in notices[-1]


def plan_live(out: Path, notices: list[str]) -> None:
    from repertory.runs.live import live_spec, run_spec

    settings = LEARNERS["dqn"][1]
    spec = run_spec(repertory.domain("cartpole27"), settings, 3, SELECTORS["epsilon-greedy"], blocks=5, block_steps=250)
    live_spec(spec, out, notice=notices.append)


@pytest.mark.usefixtures("save_often")
def test_fuzzed_folders_end_in_a_message_or_a_correct_run(tmp_path: Path) -> None:
    """Truncate, flip and delete parts of a half-lived and of a finished folder."""
    live(tmp_path / "whole")
    with pytest.raises(Crash):
        live(tmp_path / "half", monitors=[CrashAfter(15)])
    rng = random.Random(7)
    refused = resumed = 0
    for round_ in range(60):
        folder = tmp_path / "victim"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / ("half" if round_ % 2 else "whole"), folder)
        for _ in range(rng.randint(1, 3)):
            _damage(rng.choice(list(folder.iterdir()) or [folder / "none"]), rng)
        message = message_of_live(folder)
        assert "\n" not in message
        if message and "finished" not in message:
            refused += 1
        else:
            resumed += message == ""
            assert_same_blocks(tmp_path / "whole", folder)
    assert resumed > 15
    assert refused > 3


def message_of_live(folder: Path) -> str:
    try:
        live(folder)
    except repertory.UsageError as error:
        return str(error)
    return ""


def assert_same_blocks(one: Path, other: Path) -> None:
    blocks = [pd.read_parquet(folder / "blocks.parquet") for folder in (one, other)]
    pd.testing.assert_frame_equal(*blocks, check_exact=True)


def _damage(file: Path, rng: random.Random) -> None:
    if not file.exists():
        return
    kind = rng.choice(["truncate", "flip", "delete"])
    content = bytearray(file.read_bytes())
    if kind == "delete" or not content:
        file.unlink()
    elif kind == "truncate":
        file.write_bytes(content[: rng.randrange(len(content))])
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(content)


@pytest.mark.usefixtures("save_often")
def test_a_full_disk_ends_the_run_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path / "whole")
    saves = 0
    save = checkpoint_module._save

    def save_until_full(file, checkpoint) -> None:
        nonlocal saves
        saves += 1
        if saves > 6:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(file, checkpoint)

    monkeypatch.setattr(checkpoint_module, "_save", save_until_full)
    with pytest.raises(RunStopped, match="the disk is full; the last good checkpoint is intact"):
        live(tmp_path / "full")
    assert not list((tmp_path / "full").glob("*.part"))
    read_checkpoint(tmp_path / "full" / "checkpoint.npz")
    monkeypatch.setattr(checkpoint_module, "_save", save)
    live(tmp_path / "full")
    assert_same_run(tmp_path / "whole", tmp_path / "full")


def test_a_pause_that_was_set_holds_within_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may vanish before the first block of a slow environment is over."""
    for seconds, is_saved in (("1e-9", True), ("300", False), ("0", False)):
        monkeypatch.setenv(saver.PAUSE_VARIABLE, seconds)
        with pytest.raises(Crash):
            live(tmp_path / seconds, monitors=[CrashAfter(3)], block_steps=10_000)
        assert (tmp_path / seconds / "checkpoint.npz").exists() == is_saved


def test_a_second_process_on_the_folder_is_refused(tmp_path: Path) -> None:
    from repertory.runs.folder import RunFolder

    live(tmp_path / "run", blocks=1)
    (tmp_path / "run" / "done").unlink()
    with (
        RunFolder(tmp_path / "run").locked(),
        pytest.raises(repertory.UsageError, match="another process is running the run"),
    ):
        live(tmp_path / "run", blocks=1)


def test_a_policy_that_diverges_stops_the_run_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=r"policy \d diverged in block \d+ \(task \d+\)"):
        repertory.live(
            "cartpole27",
            repertory.DQN(learning_starts=50, learning_rate=1e30),
            policies=2,
            blocks=20,
            block_steps=300,
            out=tmp_path / "run",
        )

    assert len(pd.read_parquet(tmp_path / "run" / "blocks.parquet")) >= 1


@pytest.mark.usefixtures("save_often")
def test_an_interrupt_in_the_middle_of_an_episode_saves_nothing(tmp_path: Path) -> None:
    """As a second Ctrl-C does: what is on the disk stays what it was between two episodes."""

    class InterruptAfter(CrashAfter):
        def episode_ended(self, tally: object) -> None:
            self.left -= 1
            if self.left == 0:
                player = lifetimes[-1]._player
                player.play(3, lifetimes[-1].policies[0], seed=99)  # half of the next episode's work
                raise KeyboardInterrupt

    from repertory.core import lifetime as lifetime_module

    lifetimes = []
    original = lifetime_module.Lifetime.live

    def remember(self, monitors=()) -> None:
        lifetimes.append(self)
        original(self, monitors)

    live(tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifetime_module.Lifetime, "live", remember)
        with pytest.raises(KeyboardInterrupt):
            live(tmp_path / "broken", monitors=[InterruptAfter(9)])
    live(tmp_path / "broken")
    assert_same_run(tmp_path / "whole", tmp_path / "broken")


def test_checkpoints_hold_no_pickles_and_check_their_content(tmp_path: Path) -> None:
    live(tmp_path / "run", blocks=1)
    file = tmp_path / "run" / "checkpoint.npz"
    with np.load(file, allow_pickle=False) as archive:
        assert all(archive[name].dtype.hasobject is False for name in archive.files)
        members = {name: archive[name] for name in archive.files}
    members["policy 0/weights"] = members["policy 0/weights"] + np.float32(1e-3)
    np.savez(file, **members)
    with pytest.raises(DamagedCheckpoint, match="does not match its checksums"):
        read_checkpoint(file)
