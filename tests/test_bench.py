"""`repertory bench`: its table, its files, and what it says when a contender is missing. No time is asserted here."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

import repertory
from repertory.benchmarks import measure, plain_c, pocman_drqn, rows, sb3_inside, threads
from repertory.benchmarks.chart import bench_chart
from repertory.benchmarks.flops import (
    SharedWindows,
    flops_of_backward,
    flops_of_dqn_step,
    flops_of_drqn_update,
    flops_of_forward,
)
from repertory.benchmarks.result import (
    AT_LEAST,
    AT_MOST,
    Measured,
    NotMeasured,
    Result,
    Row,
    Side,
    Target,
    figure_text,
    run_row,
)
from repertory.benchmarks.scaling import Size, domain_of, lifetime_of
from repertory.cli.bench import bench_in_console
from repertory.report.to_matplotlib import write_figure


def missing(_repeats: int) -> Measured:
    raise NotMeasured("their package is not installed", "pip install 'repertory[bench]'")


def fast(repeats: int) -> Measured:
    ours, other = Side("repertory", "steps/s", (900.0, 1000.0)[:repeats]), Side("other", "steps/s", (5.0, 4.0))
    return Measured(ours.best / other.best, ours, other, "a note")


ROWS = (
    Row("learning / other", "x", Target(AT_LEAST, 100), fast),
    Row("learning / missing", "x", Target(AT_LEAST, 100), missing),
    Row("memory", "MB", Target(AT_MOST, 2), lambda n: Measured(4.0, Side("repertory", "MB", (4.0,), is_cost=True))),
    Row("good to know", "%", None, lambda n: Measured(0.031, Side("saving", "s", (1.0,), is_cost=True))),
)


def bench(out: Path, only: str | None = None, width: int = 140) -> str:
    with open(os.devnull, "w") as nowhere:
        console = Console(file=nowhere, record=True, width=width, markup=False, highlight=False)
        bench_in_console(only, out, 2, console, ROWS)
        return console.export_text()


def test_one_table_with_targets_and_a_reason_for_each_gap(tmp_path: Path) -> None:
    printed = bench(tmp_path / "new" / "bench")
    lines = {line.split("  ")[0]: line.split() for line in printed.splitlines()}
    assert lines["learning / other"][-7:] == ["steps/s", "5", "steps/s", "200x", "≥", "100x", "yes"]
    assert lines["learning / missing"][-4:] == ["not", "measured", "≥", "100x"]
    assert lines["memory"][-6:] == ["4", "MB", "≤", "2", "MB", "NO"]
    assert lines["good to know"][-2:] == ["3.1", "%"]
    assert "missing: not measured: their package is not installed; next: pip install 'repertory[bench]'" in printed
    assert "learning / other: a note" in printed
    assert f"Python {sys.version.split()[0]}" in printed


def test_everything_is_kept_in_a_file(tmp_path: Path) -> None:
    bench(tmp_path)
    kept = json.loads((tmp_path / "bench.json").read_text())
    assert set(kept) == {"format", "repertory", "date", "repeats", "machine", "rows"}
    assert (kept["format"], kept["repertory"], kept["repeats"]) == (1, repertory.__version__, 2)
    assert set(kept["machine"]) == {"cpu", "cores", "caches", "system", "python", "compiler", "packages", "threads"}
    assert {"numpy", "numba", "llvmlite", "torch", "stable-baselines3"} <= set(kept["machine"]["packages"])
    assert [row["name"] for row in kept["rows"]] == [row.name for row in ROWS]
    keys = {"name", "unit", "figure", "target", "met", "ours", "other", "note", "not_measured"}
    assert all(set(row) == keys for row in kept["rows"])
    first, gap, memory, informational = kept["rows"]
    assert first["ours"] == {"who": "repertory", "unit": "steps/s", "best": 1000.0, "repeats": [900.0, 1000.0]}
    assert (first["figure"], first["met"], first["target"]) == (200.0, True, {"bound": "at least", "value": 100})
    assert (gap["figure"], gap["met"], gap["ours"]) == (None, None, None)
    assert gap["not_measured"] == {
        "reason": "their package is not installed",
        "next": "pip install 'repertory[bench]'",
    }
    assert (memory["met"], memory["other"], informational["target"], informational["met"]) == (False, None, None, None)


def test_the_chart_is_drawn_whatever_was_measured(tmp_path: Path) -> None:
    bench(tmp_path)
    assert Image.open(tmp_path / "bench.png").size[0] == 1425
    assert "</svg>" in (tmp_path / "bench.svg").read_text()
    for results in ([], [run_row(ROWS[1], 1)], [run_row(ROWS[3], 1)]):
        write_figure(bench_chart(results, "a machine"), tmp_path)


def test_rows_by_name(tmp_path: Path) -> None:
    bench(tmp_path, only="LEARNING")
    assert len(json.loads((tmp_path / "bench.json").read_text())["rows"]) == 2
    assert [row.name for row in rows.chosen("learning*other", ROWS)] == ["learning / other"]
    assert [row.name for row in rows.chosen("cost of a step")] == [
        "cost of a step, 27 policies / 1",
        "cost of a step, 1,000 tasks / 27",
    ]
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names) == len(rows.chosen(None))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nothing"], "repertory: --only 'nothing' matches no row. Rows: Cartpole DQN / Stable-Baselines3; "),
        (["--repeats", "0"], "repertory: --repeats is 0; valid: at least 1"),
        (["--out", "file/bench"], "repertory: cannot write to file/bench: Not a directory; choose another --out"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = command(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1


def test_where_no_process_can_take_anothers_place_the_command_is_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "call", lambda command, env: called.append((command, env)) or 3)
    monkeypatch.delenv(threads.VARIABLES[0], raising=False)
    with pytest.raises(SystemExit) as ended:
        threads.begin_again_on_one_thread()
    ((command, environment),) = called
    assert command == [sys.executable, *sys.orig_argv[1:]]
    assert {environment[name] for name in threads.VARIABLES} == {"1"}
    assert ended.value.code == 3


def test_the_command_limits_all_libraries_to_one_thread(tmp_path: Path) -> None:
    result = command("--only", "memory of a Cartpole", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "memory of a Cartpole DQN policy" in result.stdout
    kept = json.loads((tmp_path / "bench" / "bench.json").read_text())
    assert set(kept["machine"]["threads"].values()) == {1}


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    free = {name: value for name, value in os.environ.items() if name not in threads.VARIABLES}
    return subprocess.run(
        [sys.executable, "-c", "from repertory.cli import main; main()", "bench", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=free,
        check=False,
    )


# ------------------------------------------------------------------------------------------------- its parts


def test_a_missing_package_and_a_missing_compiler_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = {row.name: row for row in rows.ROWS}
    for package in ("torch", "stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, package, None)
    for name in (
        "Cartpole DQN / Stable-Baselines3",
        "POcman DRQN / PyTorch",
        "POcman PRPO / sb3-contrib",
        "SB3 PPO in a library / alone",
    ):
        result = run_row(by_name[name], 1)
        assert result.measured is None
        assert result.missing is not None
        assert "torch" in result.missing.reason
        assert result.missing.next_step == "pip install 'repertory[bench]'"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = run_row(by_name["Cartpole DQN / plain C"], 1)
    assert str(result.missing) == "cartpole_dqn.c is built with gcc, which is not on the PATH; next: install gcc"


@pytest.mark.skipif(not plain_c.has_compiler(), reason="gcc is not on the PATH")
def test_a_compiler_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="gcc cannot build"):
        plain_c.compile_program(tmp_path / "program", ["-no-such-flag"])


def test_contenders_take_turns() -> None:
    turns: list[str] = []

    def contender(name: str) -> measure.Contender:
        def work() -> float:
            turns.append(name)
            return 1.0

        return work

    speeds = measure.take_turns([contender("a"), contender("b")], 3)
    assert turns == ["a", "b"] * 3
    assert [len(seen) for seen in speeds] == [3, 3]
    ticks = itertools.count()
    assert measure.take_turns([contender("a")], 2, lambda: next(ticks)) == [(1.0, 1.0)]
    measured = measure.speed_against(lambda: contender("ours"), "theirs", lambda: contender("theirs"))(2)
    assert measured.other is not None
    assert measured.figure == max(measured.ours.repeats) / max(measured.other.repeats)


def test_targets_point_either_way() -> None:
    assert Target(AT_LEAST, 2).is_met(2)
    assert not Target(AT_LEAST, 2).is_met(1.9)
    assert Target(AT_MOST, 2).is_met(2)
    assert not Target(AT_MOST, 2).is_met(2.1)
    assert Target(AT_LEAST, 2).margin(4) == Target(AT_MOST, 2).margin(1) == 2
    assert Side("c", "s", (3.0, 1.0, 2.0), is_cost=True).best == 1
    assert figure_text(1234.5, "x") == "1,234x"
    assert Target(AT_MOST, 0.3).text("%") == "≤ 30 %"


def test_flops_of_dqn_in_closed_form() -> None:
    """4-80-80-2, batch 10, every 4 steps, 0.2 exploration."""
    n, inputs, actions = 80, 4, 2
    weights = inputs * n + n * n + n * actions
    forward = 2 * weights
    backward = 2 * weights + 2 * (n * n + n * actions)
    assert flops_of_forward((inputs, n, n, actions)) == forward == 13_760
    assert flops_of_backward((inputs, n, n, actions)) == backward == 26_880
    expected = 0.8 * forward + 10 * (2 * forward + backward) / 4
    assert flops_of_dqn_step(repertory.DQN(), inputs, actions) == pytest.approx(expected) == pytest.approx(147_008)


def test_flops_count_the_products_that_numpy_would_do() -> None:
    """The same count, from the shapes of the matrices of a naive update."""
    settings, widths = repertory.DQN(net_arch=(7, 5), batch_size=3, train_freq=1, exploration_rate=1.0), (4, 7, 5, 2)
    products: list[tuple[int, int, int]] = []
    layers = list(itertools.pairwise(widths))
    for _network in ("online", "target"):
        products += [(3, before, after) for before, after in layers]
    for before, after in layers:
        products.append((before, 3, after))  # inputs transposed times the gradient of the outputs
        if before != widths[0]:
            products.append((3, after, before))  # the gradient of the outputs times the weights transposed
    assert flops_of_dqn_step(settings, 4, 2) == sum(2 * a * b * c for a, b, c in products)


def test_flops_of_drqn_in_closed_form() -> None:
    settings, batch = repertory.DRQN(net_arch=(3, 2), batch_size=2, window=4), SharedWindows(8, 6, 5)
    forward = 2 * 8 * (11 * 3 + 3 * 8)
    backward = 2 * 8 * (11 * 3 + 2 * 3 * 8)
    recurrent = 2 * 2 * 8 * (3 * 6 + 5)
    head = 4 * 2 * 2 * 2 * 5
    assert flops_of_drqn_update(settings, 11, 5, batch) == 2 * forward + backward + recurrent + head


def test_windows_share_no_more_than_there_is() -> None:
    settings, learner = pocman_drqn.SETTINGS, measure.build("pocman18", pocman_drqn.SETTINGS)
    measure.training("pocman18", pocman_drqn.TASK, learner, 1, warm_up=settings.learning_starts + 100)
    batch = pocman_drqn.shared_windows(learner)
    most = settings.batch_size * (settings.window - 1)
    assert settings.batch_size <= batch.online_steps <= most
    assert settings.batch_size <= batch.target_steps <= most
    assert 1 < batch.observations <= settings.batch_size * (settings.window + 1)


def test_a_lifetime_goes_on_turn_by_turn_on_full_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repertory.benchmarks.scaling.BLOCK_STEPS", 100)
    work = lifetime_of(Size(27, 2, buffer_size=1_000), turns=2)
    assert [work(), work()] == [1_000, 1_000]  # ten blocks of four episodes, all of 25 steps


def test_a_thousand_tasks_differ() -> None:
    domain = domain_of(1_000)
    assert domain.n_tasks == len(set(domain.task_names)) == len(set(domain.compiled.params)) == 1_000  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="30 tasks"):
        domain_of(30)


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_in_a_library_and_alone_the_same_is_learned(name: str) -> None:
    """So that times are of equal work."""
    assert f"SB3 {name} in a library / alone" in {row.name for row in rows.ROWS}
    algorithm = getattr(pytest.importorskip("stable_baselines3"), name)
    settings = {"n_steps": 64} if name == "PPO" else {"learning_starts": 50}
    inside, alone = (learn(algorithm, 192, **settings) for learn in (sb3_inside.in_a_library, sb3_inside.alone))
    assert inside.num_timesteps == alone.num_timesteps == 192
    assert inside._n_updates == alone._n_updates > 20
    for one, other in zip(inside.policy.parameters(), alone.policy.parameters(), strict=True):
        assert one.equal(other)


def test_memory_is_counted() -> None:
    small, large = (
        measure.megabytes_of("cartpole27", repertory.DQN(buffer_size=size))(1).figure for size in (10_000, 100_000)
    )
    assert 0 < small < large < 10 * small


def test_a_result_without_target_or_figure_has_no_verdict() -> None:
    results: list[Any] = [Result(ROWS[3], ROWS[3].measure(1)), run_row(ROWS[1], 1)]
    assert [(result.is_met, result.margin) for result in results] == [(None, None)] * 2
