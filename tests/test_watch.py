"""Watching shows what the policies of a run do, and leaves the run as it was."""

from __future__ import annotations

import copy
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import repertory
from repertory.cli.watch import show_in_terminal, watch_in_console
from repertory.core.lifetime import Monitor
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.report.animation import (
    IN_A_PAGE,
    Limits,
    animate,
    data_uri,
    embedded_animation,
    pictures,
)
from repertory.report.watching import Performance, best_policy, last_task, open_performance
from repertory.runs.folder import FolderInUse, RunFolder
from repertory.runs.opened import open_run
from repertory.runs.spec import run_spec

SMALL = {"learning_starts": 60, "buffer_size": 200, "target_update_interval": 100}
MAZE_STEPS = 24
LEARNERS = {
    "dqn": ("cartpole27", repertory.DQN(**SMALL)),
    "ppo": ("cartpole27", repertory.PPO()),
    "drqn": ("pocman18", repertory.DRQN(**SMALL, window=6)),
    "prpo": ("pocman18", repertory.PRPO(window=6)),
}


class Break(Exception):
    """As if the process had died."""


class BreakAfterBlock(Monitor):
    def block_ended(self, tally: object) -> None:
        raise Break


def live(out: Path, learner: str, **changes: Any) -> Path:
    name, settings = LEARNERS[learner]
    domain = repertory.domain(name, **({"max_steps": MAZE_STEPS} if name == "pocman18" else {}))
    repertory.live(domain, settings, **{"policies": 3, "blocks": 3, "block_steps": 300, "out": out, **changes})
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a short finished run, by learner."""
    folder, made = tmp_path_factory.mktemp("runs"), {}

    def run(learner: str) -> Path:
        if learner not in made:
            made[learner] = live(folder / learner, learner)
        return made[learner]

    return run


def watch(path: Path, console: Console | None = None, **options: Any) -> str:
    """What `repertory watch` prints."""
    given = {"task": None, "policy": 0, "episodes": 1, "seed": 0, "fps": None, "explore": False, "out": None}
    console = console or Console(file=io.StringIO(), width=100)
    watch_in_console(path, **{**given, **options}, console=console)
    return console.file.getvalue()


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


# ----------------------------------------------------------------------------------------------------- playing


@pytest.mark.parametrize("explore", [False, True])
def test_the_same_seed_gives_the_same_frames(explore: bool, runs: Callable[[str], Path]) -> None:
    def frames(seed: int) -> list[bytes]:
        performance = open_performance(runs("drqn"), 6, 0, seed=seed, explore=explore)
        return [np.asarray(moment.frame).tobytes() for moment in performance.moments("rgb_array")]

    assert frames(3) == frames(3)
    assert frames(3) != frames(4)


@pytest.mark.parametrize("learner", ["dqn", "drqn"])
def test_greedy_play_is_what_act_does_without_exploration(learner: str, runs: Callable[[str], Path]) -> None:
    spec, lifetime = open_run(runs(learner))
    twin = copy.deepcopy(lifetime.policies[1])
    for name, value in {"exploration_rate": 0.0, "random_first_steps": 0, "learning_starts": 10**9}.items():
        twin.policy[name] = value
    env = spec.domain.env(6)
    env.render_mode = "rgb_array"
    twin.begin_episode()
    observation, _info = env.reset(seed=5)
    for moment in Performance(spec, lifetime, task=6, policy=1, seed=5).moments("rgb_array"):
        assert np.array_equal(moment.frame, env.render())
        if not moment.is_over:
            before, action = observation, twin.act(observation)
            observation, reward, terminated, truncated, _info = env.step(action)
            twin.observe(before, action, reward, observation, terminated, truncated)
    assert moment.step >= 8, "the window is never full"


@pytest.mark.parametrize("learner", LEARNERS)
def test_playing_leaves_the_lifetime_as_it_was(learner: str, runs: Callable[[str], Path]) -> None:
    spec, lifetime = open_run(runs(learner))
    arrays, values = copy.deepcopy(lifetime.state())
    for explore in (False, True):
        assert len(Performance(spec, lifetime, 2, 1, episodes=2, explore=explore).endings) == 2
    after, values_after = lifetime.state()
    assert values_after == values
    assert {name: array.tobytes() for name, array in after.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_exploring_is_as_random_as_in_life(runs: Callable[[str], Path]) -> None:
    spec, lifetime = open_run(runs("drqn"))
    # In life a DRQN's first 15 actions are random: the same draws, whichever policy plays.
    frames = [
        [moment.frame for moment in Performance(spec, lifetime, 17, policy, explore=True).moments("ansi")]
        for policy in (0, 1)
    ]
    assert frames[0][:16] == frames[1][:16]
    assert frames[0] != frames[1]


def test_moments_count_steps_and_rewards(runs: Callable[[str], Path]) -> None:
    moments = list(Performance(*open_run(runs("dqn")), task=3, policy=0, episodes=2).moments("rgb_array", every=4))
    first = [moment for moment in moments if moment.episode == 0]
    assert [moment.step for moment in first] == list(range(len(first)))
    assert [moment.is_over for moment in first] == [False] * (len(first) - 1) + [True]
    assert first[-1].total_reward == len(first) - 2  # 1 a step, 0 for the one on which the pole falls
    drawn = [moment.step for moment in first if moment.frame is not None]
    assert drawn == sorted({*range(0, len(first), 4), len(first) - 1})
    assert moments[len(first)].step == 0


# --------------------------------------------------------------------------------------------- who plays what


def lifetime_with(selector: Any) -> tuple[Any, Any]:
    spec = run_spec("pocman18", "random", 3, selector, blocks=2, block_steps=10)
    return spec, spec.lifetime()


@pytest.mark.parametrize("selector", [repertory.EpsilonGreedy(), repertory.UCB1Tuned()])
def test_the_best_policy_has_the_best_average_of_those_tried(selector: Any) -> None:
    _plan, lifetime = lifetime_with(selector)
    lifetime.agent.selector.update(0, 1, -10.0, 100)
    lifetime.agent.selector.update(0, 2, -5.0, 100)
    assert best_policy(lifetime, 0) == 2  # policy 0 was never tried, though nothing is better than a loss
    with pytest.raises(UsageError, match=r"no policy has played task 1 yet.*--policy, 0 to 2"):
        best_policy(lifetime, 1)


def test_a_fixed_selector_has_its_own_policy_for_each_task() -> None:
    _plan, lifetime = lifetime_with(repertory.FixedPartition())
    assert [best_policy(lifetime, task) for task in range(18)] == list(lifetime.agent.selector.policy_of_task)


def test_another_selector_is_known_by_its_plays() -> None:
    class Last:
        def select(self, task: int, rng: np.random.Generator) -> int:
            return 2

        def update(self, *episode: Any) -> None: ...

    _spec, lifetime = lifetime_with(lambda n_tasks, n_policies, rng: Last())
    lifetime.live()
    assert last_task(lifetime) == int(lifetime.sequence[-1])
    assert best_policy(lifetime, last_task(lifetime)) == 2


def test_the_task_of_the_last_block_if_none_is_given(runs: Callable[[str], Path]) -> None:
    performance = open_performance(runs("dqn"))
    assert performance.task == RunFolder(runs("dqn")).read_blocks()["task"].iloc[-1]
    assert performance.policy == best_policy(performance.lifetime, performance.task)


# -------------------------------------------------------------------------------------------------- animations


@pytest.mark.parametrize("suffix", [".webp", ".GIF"])
def test_an_animation_has_a_frame_for_each_step(suffix: str, runs: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / f"episode{suffix}"
    before = content(runs("drqn"))
    printed = watch(runs("drqn"), task=6, out=out)
    assert content(runs("drqn")) == before
    assert "task 6: reward -1, reacting, cheese maze; policy 0, greedy, as of block 3 of 3" in printed
    assert f"{MAZE_STEPS} steps, return" in printed
    assert out.stat().st_size < 2_000_000
    with Image.open(out) as animation:
        assert (animation.n_frames, animation.size) == (MAZE_STEPS + 1, (280, 244))


def test_without_text_a_task_is_written_to_a_file_named_after_the_run(
    runs: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = watch(runs("dqn"), task=5, episodes=2)
    assert "written to dqn-task5.gif" in printed
    steps = [ending.step for ending in open_performance(runs("dqn"), 5, 0, episodes=2).endings]
    assert f"episode 2: {steps[1]} steps" in printed
    with Image.open(tmp_path / "dqn-task5.gif") as animation:
        assert animation.n_frames == sum(steps) + 2
        assert (animation.info["duration"], animation.info["loop"]) == (20, 0)
        assert animation.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    in_a_sweep = shutil.copytree(runs("dqn"), tmp_path / "AdaptiveDQN" / "run-00")
    assert "written to AdaptiveDQN-run-00-task5.gif" in watch(in_a_sweep, task=5)


def test_what_is_too_large_gets_fewer_and_smaller_frames(runs: Callable[[str], Path]) -> None:
    performance = open_performance(runs("drqn"), 6, 0)
    assert len(pictures(performance, Limits(frames=MAZE_STEPS // 2))) == MAZE_STEPS // 2 + 1
    assert len(pictures(performance, Limits(steps=20))) == 21
    whole = animate(performance, "GIF", 10, Limits())
    content = animate(performance, "GIF", 10, Limits(frames=20, side=200, size=len(whole) // 2))
    assert len(content) <= len(whole) // 2
    with Image.open(io.BytesIO(content)) as animation:
        assert animation.n_frames > 2


def test_an_animation_for_a_page_is_small(runs: Callable[[str], Path]) -> None:
    content = embedded_animation(open_performance(runs("drqn"), 6, 0))
    assert len(content) <= IN_A_PAGE.size == 80_000
    assert data_uri(content).startswith("data:image/webp;base64,UklGR")
    assert data_uri(b"GIF89a").startswith("data:image/gif;base64,")


# ---------------------------------------------------------------------------------------------------- terminal

CHEESE_MAZE = "#######\n#.....#\n#A#.#.#\n#.#G#.#\n#######"


def test_without_a_terminal_a_few_frames_are_printed(runs: Callable[[str], Path]) -> None:
    before = content(runs("drqn"))
    printed = watch(runs("drqn"), task=6, episodes=2)
    assert content(runs("drqn")) == before
    assert f"{CHEESE_MAZE}\npolicy 0, episode 1 of 2, step 0, return 0\n" in printed
    assert printed.count("#######\n#") == 3
    assert "\x1b" not in printed
    assert f"episode 2: {MAZE_STEPS} steps" in printed


def test_the_terminal_shows_each_frame_over_the_last(runs: Callable[[str], Path]) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, force_interactive=True, color_system=None, width=100)
    printed = watch(runs("drqn"), terminal, task=6, fps=50)
    wide = "##############\n##. . . . . ##\n##A ##. ##. ##\n##. ##G ##. ##\n##############\n"
    assert wide in printed
    assert "policy 0, step 0, return 0\nA agent, G ghost, X both on one cell" in printed
    assert f"step {MAZE_STEPS}, return" in printed
    assert printed.count("\x1b[1A") >= MAZE_STEPS  # the cursor goes up again


def test_a_run_that_another_process_lives_can_be_watched(runs: Callable[[str], Path]) -> None:
    folder = RunFolder(runs("drqn"))
    program = (
        "import sys; from pathlib import Path; from repertory.runs.folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).locked(): print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(FolderInUse), folder.locked():
        pass
    assert CHEESE_MAZE in watch(folder.path, task=6)
    assert holder.poll() is None
    holder.communicate("\n", timeout=30)
    assert holder.returncode == 0


def test_an_unfinished_run_can_be_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repertory.runs.saver.LONGEST_PAUSE", 0.0)  # a checkpoint after every episode
    with pytest.raises(Break):
        live(tmp_path / "run", "drqn", monitors=[BreakAfterBlock()])
    assert not RunFolder(tmp_path / "run").is_done
    assert "of 3\n" in watch(tmp_path / "run", task=6)


# ------------------------------------------------------------------------------------------------------ errors

BAD = {
    "task of cartpole27 is 27; valid: a whole number from 0 to 26": {"task": 27},
    "task of cartpole27 is -1; valid: a whole number from 0 to 26": {"task": -1},
    "policy is 3; valid: a whole number from 0 to 2": {"policy": 3},
    "episodes is 0; valid: a whole number from 1 to 100": {"episodes": 0},
    "seed is -1; valid: a whole number from 0 to 2147483647": {"seed": -1},
    "--fps is 0; valid: above 0 and at most 50": {"fps": 0.0},
    "--fps is nan": {"fps": float("nan")},
    "--out film.mp4 ends in '.mp4'; valid: a name that ends in .gif or .webp": {"out": Path("film.mp4")},
    "--out film ends in ''": {"out": Path("film")},
    "--out nowhere/film.gif is in a folder that does not exist; next: make nowhere": {"out": Path("nowhere/film.gif")},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_line(message: str, runs: Callable[[str], Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        watch(runs("dqn"), **BAD[message])
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_into_the_run(runs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs("dqn"))
    for out in (None, Path("episode.gif")):
        with pytest.raises(UsageError, match="in the run's own folder, which is left as it is"):
            watch(Path(), task=5, out=out)


def test_folders_that_cannot_be_watched(runs: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing is not a folder; next: give a folder that 'repertory run --out'"):
        watch(tmp_path / "missing")
    with pytest.raises(UsageError, match="holds no run; next"):
        watch(tmp_path)
    run = shutil.copytree(runs("dqn"), tmp_path / "one")
    with pytest.raises(UsageError, match=r"holds 1 run; next: choose one of them, such as .*one$"):
        watch(tmp_path)
    (run / "checkpoint.npz").write_bytes(b"half of it")
    (run / "checkpoint-previous.npz").unlink(missing_ok=True)
    with pytest.raises(UsageError, match=r"has no good checkpoint .*checkpoint.npz is damaged"):
        watch(run)
    (run / "checkpoint.npz").unlink()
    with pytest.raises(UsageError, match="has no good checkpoint"):
        watch(run)
    (run / "run.json").write_text('{"settings": {"domain": {}}}')
    with pytest.raises(UsageError, match=r"run.json cannot be read .'learner' is missing"):
        watch(run)


class Unseen(gymnasium.Env):
    """An environment that cannot be drawn, or says that it can."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, modes: list[str]) -> None:
        self.metadata = {"render_modes": modes}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        return np.zeros(1, np.float32), 0.0, True, False, {}

    def render(self) -> Any:
        return None if self.render_mode == "rgb_array" else "\x1b[31mroom\x1b[0m"


def own_performance(modes: list[str]) -> Performance:
    domain = Domain("mine", ("a task",), lambda task: Unseen(modes))
    spec = run_spec(domain, "random", 1, "epsilon-greedy", blocks=1, block_steps=1)
    return Performance(spec, spec.lifetime(), 0, 0)


def test_environments_of_ones_own_that_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match=r"mine cannot be drawn as 'rgb_array' \(render modes .*: none\); next"):
        pictures(own_performance([]))
    with pytest.raises(UsageError, match=r"gave NoneType where 'rgb_array' needs an array \(height, width, 3\)"):
        pictures(own_performance(["rgb_array"]))


def test_text_of_ones_own_is_shown_as_it_is() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system=None)
    show_in_terminal(own_performance(["ansi"]), 50, terminal)
    assert "room\npolicy 0, step 1, return 0" in terminal.file.getvalue()
