"""The command, as a shell sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

RUN = [
    "run",
    "--domain",
    "cartpole27",
    "--learner",
    "dqn",
    "--policies",
    "3",
    "--blocks",
    "4",
    "--block-steps",
    "400",
]


def command(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from repertory.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_a_run_prints_progress_and_a_closing_table_and_keeps_everything(tmp_path: Path) -> None:
    result = command(*RUN, "--out", tmp_path / "run", "--set", "learner.learning_rate=0.05")
    assert result.returncode == 0, result.stderr
    assert "block 4/4" in result.stdout
    assert "steps/s" in result.stdout
    assert "lifetime score" in result.stdout
    assert len(pd.read_parquet(tmp_path / "run" / "blocks.parquet")) == 4
    settings = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert settings["learner"]["learning_rate"] == 0.05
    assert Image.open(tmp_path / "run" / "lifetime.png").size == (1650, 720)

    again = command(*RUN, "--out", tmp_path / "run", "--set", "learner.learning_rate=0.05")
    assert (again.returncode, "finished; nothing to do" in again.stdout) == (0, True)


def test_a_config_file_and_what_wins_over_it(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        '[run]\ndomain = "cartpole27"\nlearner = "dqn"\npolicies = 3\nblocks = 2\nblock_steps = 300\n'
        "[learner]\ngamma = 0.9\nnet_arch = [16, 8]\n[selector]\nepsilon = 0.3\n[domain]\nforce = 2\n"
    )
    result = command("run", "--config", config, "--policies", 5, "--set", "learner.gamma=0.95", "--out", tmp_path / "r")
    assert result.returncode == 0, result.stderr
    settings = json.loads((tmp_path / "r" / "run.json").read_text())["settings"]
    assert settings["policies"] == 5
    assert settings["learner"]["gamma"] == 0.95
    assert settings["learner"]["net_arch"] == [16, 8]
    assert settings["selector"]["epsilon"] == 0.3
    assert settings["domain"]["force"] == 2.0


BAD = {
    "unknown domain 'cartpol27'; did you mean 'cartpole27'": ["--domain", "cartpol27"],
    "unknown learner 'dnq'; did you mean 'dqn'": ["--learner", "dnq"],
    "unknown selector 'ucb'": ["--selector", "ucb"],
    "unknown profile 'relased'; did you mean 'released'": ["--profile", "relased"],
    "unknown setting of DQN 'learning_rat'; did you mean 'learning_rate'": [
        "--set",
        "learner.learning_rat=1",
    ],
    "DQN.gamma is 'high'; valid: a number at least 0 and at most 1": ["--set", "learner.gamma=high"],
    "EpsilonGreedy.epsilon is 2.0": ["--set", "selector.epsilon=2"],
    "unknown component in --set 'learnr'; did you mean 'learner'": ["--set", "learnr.gamma=1"],
    "--set 'gamma' is not of the form": ["--set", "gamma"],
    "policies is 0; valid: a whole number at least 1": ["--policies", "0"],
    "one-to-one selection with 3 policies and 27 tasks; valid: --policies 27": ["--selector", "one-to-one"],
    "cannot read --config": ["--config", "missing.toml"],
    "Invalid value for '--policies'": ["--policies", "many"],
    "No such option": ["--polices", "3"],
    "unknown setting of DQN 'profile'": ["--set", "learner.profile=released"],
    "DQN.net_arch is ('a', 'b')": ["--set", "learner.net_arch=a,b"],
    "DQN.net_arch is (80.5, 80)": ["--set", "learner.net_arch=80.5,80"],
    "DQN.learning_starts is 1e+20": ["--set", "learner.learning_starts=1e20"],
    "DQN.learning_rate is inf": ["--set", "learner.learning_rate=inf"],
    "DQN.buffer_size is a huge number": ["--set", "learner.buffer_size=" + "9" * 300],
    "run is 999999999999999999999; valid: a whole number at least 0": ["--run", "9" * 21],
    "a replay memory of 10000000000000 experiences": ["--set", "learner.buffer_size=1e13"],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_line_and_status_2(message: str, tmp_path: Path) -> None:
    result = command(*RUN, *BAD[message], "--out", tmp_path / "run", cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    result = command(*RUN, "--out", tmp_path)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "is not empty and holds no run" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_odd_values_in_a_config_file(tmp_path: Path) -> None:
    config = tmp_path / "odd.toml"
    for content in (
        '[run]\ndomain = ["cartpole27"]\n',
        '[run.domain]\nname = "x"\n',
        '[learner]\nnet_arch = ["80", "80"]\n',
    ):
        config.write_text(content)
        arguments = [a for a in RUN if "domain" not in content or a not in ("--domain", "cartpole27")]
        result = command(*arguments, "--config", config)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), content
        assert "Traceback" not in result.stderr


def test_ctrl_c_says_so_and_keeps_the_blocks_lived(tmp_path: Path) -> None:
    arguments = [*RUN[:-4], "--blocks", "100000", "--block-steps", "1000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-c", "from repertory.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "run" / "run.json").exists():
        time.sleep(0.05)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _out, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "repertory: interrupted\n")
    assert len(pd.read_parquet(tmp_path / "run" / "blocks.parquet")) > 10
    assert not (tmp_path / "run" / "done").exists()


def test_a_folder_name_with_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    result = command(*RUN, "--out", tmp_path / "[bold]x[")
    assert result.returncode == 0, result.stderr
    assert "[bold]x[" in result.stdout


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = command(*RUN, "--out", tmp_path / "file" / "run")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "cannot write to" in result.stderr
    result = command(*RUN, "--out", tmp_path / ("x" * 300))
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = command(*RUN, "--out", tmp_path / "run")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("content", ["{", "[]", "3", '"x"', "null", '{"settings": null}'])
def test_a_damaged_run_file_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    result = command(*RUN, "--out", tmp_path)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "run.json cannot be read" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["domains"], "cartpole125"),
        (["learners"], "dqn"),
        (["selectors"], "fixed-partition"),
        (["learners", "dqn"], "target_update_interval"),
        (["learners", "ppo"], "gae_lambda"),
        (["profiles"], "random_first_steps"),
        (["domains", "cartpole27"], "angle_limit"),
        (["experiments"], "recommend"),
        (["experiments", "recommend"], "frozen-lake-q-table"),
    ],
)
def test_list(arguments: list[str], expected: str) -> None:
    result = command("list", *arguments)
    assert result.returncode == 0
    assert expected in result.stdout


UNUSED = {
    "--scale has no effect with recommend; leave it out": ["reproduce", "recommend", "--scale", "0.1"],
    "--steps has no effect with --results; leave it out": [
        *["capacity", "recommend", "cartpole27", "--learner", "dqn", "--results", "results", "--steps", "1e6"]
    ],
    "profiles have nothing more to list, and 'text' is given": ["list", "profiles", "text"],
    "--control has no effect with --above-random; leave it out": [
        *["capacity", "empirical", "results", "--above-random", "--control", "results"]
    ],
    "unknown component in --set 'selector'. Valid: domain, learner": [
        *["capacity", "recommend", "cartpole27", "--learner", "dqn", "--set", "selector.epsilon=0"]
    ],
    "cartpole27 cannot be varied": [
        *["capacity", "recommend", "cartpole27", "--learner", "dqn", "--vary", "gravity=-10"]
    ],
    "unknown experiment 'recomend'; did you mean 'recommend'": ["reproduce", "recomend"],
    "--budget is '90sec'; valid: a time such as 10min": [
        *["capacity", "recommend", "cartpole27", "--learner", "dqn", "--budget", "90sec"]
    ],
}


@pytest.mark.parametrize("message", UNUSED)
def test_what_would_have_no_effect_is_refused(message: str, tmp_path: Path) -> None:
    result = command(*UNUSED[message], cwd=tmp_path)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_list_of_something_else() -> None:
    result = command("list", "domain")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "did you mean 'domains'" in result.stderr
