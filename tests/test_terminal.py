"""The terminal: names whole at 80 columns, a line for each thing there is, a version, what is written."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import repertory
from repertory import catalogue
from repertory.cli.listing import experiments_table, names_table, profile_table, settings_table
from repertory.cli.watch import watch_in_console
from repertory.paper.experiments import experiment_names
from repertory.report.table import PROSE, Table, column, name_column, to_console
from repertory.settings import Settings


def printed(shown: object, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(shown)
    return out.getvalue()


def test_the_version_and_the_module() -> None:
    command = [sys.executable, "-m", "repertory", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == f"repertory {repertory.__version__}\n"


@pytest.mark.parametrize("kind", ["domains", "learners", "selectors", "agents"])
def test_every_name_has_a_line_that_says_what_it_is(kind: str) -> None:
    lines = printed(names_table(kind), 1000).splitlines()[1:]
    assert [line.split()[0] for line in lines] == catalogue.names(kind)
    assert all(len(line.split()) > 3 for line in lines)


def test_names_are_whole_at_80_columns() -> None:
    names = [name for kind in catalogue.BUILT_IN for name in catalogue.names(kind)]
    shown = "".join(printed(names_table(kind)) for kind in catalogue.BUILT_IN) + printed(experiments_table())
    assert [name for name in (*names, *experiment_names()) if name not in shown] == []
    settings: dict[str, type[Settings]] = catalogue.all_settings()
    for each in settings.values():
        text = printed(settings_table(each))
        assert [name for name in each.field_names() if name not in text] == []
    assert "…" not in shown + printed(profile_table())


def test_a_table_breaks_everything_before_a_name_and_no_number() -> None:
    long = "a-condition-whose-name-is-long"
    numbers = [column(f"a number {i}", str(i)) for i in range(6)]
    row = {"condition": long, **{str(i): 1234.5 for i in range(6)}, "why": "for a reason of many words " * 3}
    for last in ([name_column("why")], []):
        text = printed(to_console(Table("t", [name_column("condition"), *numbers[: 4 if last else 6], *last], [row])))
        assert "…" not in text
        assert text.count("1234") == (4 if last else 6)
        assert "".join(line[:30].strip() for line in text.splitlines()).replace("condition", "", 1).startswith("a-")
    assert long in text
    prose = [name_column("condition"), numbers[0], name_column("why", kind=PROSE)]
    assert long in printed(to_console(Table("t", prose, [row])))


def test_watching_in_a_pipe_says_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for domain in ("cartpole27", "pocman18"):
        repertory.live(domain, "random", 1, blocks=1, block_steps=20, out=tmp_path / domain)
    said = {}
    for domain in ("cartpole27", "pocman18"):
        out = io.StringIO()
        chosen = {"task": 0, "policy": 0, "episodes": 1, "seed": 0, "explore": False}
        watch_in_console(tmp_path / domain, None, None, Console(file=out, width=80), **chosen)
        said[domain] = out.getvalue().splitlines()
    assert said["cartpole27"][1] == "writing an animation to cartpole27-task0.gif ..."
    assert (tmp_path / "cartpole27-task0.gif").exists()
    assert said["pocman18"][1].startswith("not a terminal: 3 frames of the first episode as text; --out FILE.gif")
