"""Single faults that fuzzing found, each as it was found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import repertory
from repertory.cli import main
from repertory.errors import UsageError
from repertory.sweeps.results import read_results

RUN = ["run", "--domain", "cartpole27", "--learner", "random", "--policies", "1", "--blocks", "1", "--block-steps", "9"]


def status_of(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(sys, "argv", ["repertory", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000, ".".join("a" * 20_000) + " = 1", "x = 1\n" * 20_000],
    ids=["nested", "digits", "dotted", "long"],
)
def test_settings_files(text: str, tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "c.toml").write_text(text)
    assert status_of([*RUN, "--config", str(tmp_path / "c.toml")], monkeypatch) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["policies", "blocks", "block-steps", "seed"])
@pytest.mark.parametrize("value", ["4611686018427387904", "9" * 5000])
def test_huge_numbers(name: str, value: str, tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "c.toml").write_text(f"[run]\n{name.replace('-', '_')} = 0x{'f' * 4000}\n")
    for extra in (
        ["--config", str(tmp_path / "c.toml")],
        [f"--{name}", value] if name in ("policies", "blocks") else [],
    ):
        if extra:
            kept = [word for i, word in enumerate(RUN) if word != f"--{name}" and RUN[i - 1] != f"--{name}"]
            assert status_of([*kept, *extra], monkeypatch) == 2
            assert capsys.readouterr().err.count("\n") == 1


def test_a_run_folder_by_itself_and_a_path_that_is_too_long(tmp_path: Path) -> None:
    repertory.live("cartpole27", "random", 1, blocks=1, block_steps=9, out=tmp_path / "run-00")
    assert [run.condition for run in read_results(tmp_path / "run-00").runs] == ["run-00"]
    assert [run.condition for run in read_results(tmp_path).runs] == [tmp_path.name]
    with pytest.raises(UsageError, match="cannot be read"):
        read_results(Path("x" * 300))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_folder_whose_name_is_not_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    record = repertory.live("cartpole27", "random", 1, blocks=2, block_steps=9, out=folder)
    assert repertory.open(folder).blocks.equals(record.blocks)
