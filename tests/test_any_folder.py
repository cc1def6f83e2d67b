"""Reports of any folder: several domains, damaged runs, strange names, tasks whose code is not here; all or nothing."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import shutil
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import repertory
from repertory import catalogue
from repertory.analysis.capacity import estimate_capacity
from repertory.analysis.controls import learning_metrics
from repertory.cli.report import report_in_console
from repertory.core import metrics
from repertory.errors import UsageError
from repertory.report.claims import judge, read_all_results
from repertory.report.dashboard import DashboardServer
from repertory.report.domains import by_domain
from repertory.report.page import write_report
from repertory.report.results_file import read_pages, write_results
from repertory.report.section import Section
from repertory.report.sections import pictures
from repertory.report.sections.overview import headline
from repertory.report.table import records
from repertory.report.to_matplotlib import to_matplotlib
from repertory.runs.folder import RunFolder
from repertory.sweeps.export import export
from repertory.sweeps.results import read_results
from tests.records import write_sweep
from tests.test_report import sections

DOMAINS = {"cartpole27": 27, "pocman18": 18}


def live(
    out: Path, domain: Any = "cartpole27", policies: int = 1, selector: str = "fixed-partition", run: int = 0
) -> Path:
    repertory.live(domain, "random", policies, selector, blocks=20, block_steps=60, run=run, out=out)
    return out


def report(folder: Path, out: Path) -> tuple[dict[str, Section], str]:
    """Make a report: its sections, and what the console says."""
    said = io.StringIO()
    report_in_console(folder, out, False, True, Console(file=said, width=200))
    return sections(folder), said.getvalue()


def draw_all(found: dict[str, Section]) -> set[str]:
    """Draw every chart, and keep none; their names."""
    charts = [chart for section in found.values() for chart in section.charts]
    for chart in charts:
        to_matplotlib(chart).draw_without_rendering()
    return {chart.name for chart in charts}


def rows(found: dict[str, Section], name: str = "conditions") -> list[dict[str, Any]]:
    return list(found[name].tables[0].rows)


def files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# ------------------------------------------------------------------------------------------------ several domains


@pytest.fixture(scope="module")
def two_domains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Conditions of one domain each, and one whose runs are of both."""
    folder = tmp_path_factory.mktemp("two") / "mine"
    for domain, tasks in DOMAINS.items():
        for run in range(2):
            live(folder / domain / "few" / f"run-{run:02d}", domain, 2, run=run)
            live(folder / domain / "all" / f"run-{run:02d}", domain, tasks, "one-to-one", run)
            number = 2 * list(DOMAINS).index(domain) + run
            live(folder / "mixed" / f"run-{number:02d}", domain, 3, "epsilon-greedy", run)
    return folder


def test_two_domains_in_a_folder_are_told_apart(two_domains: Path) -> None:
    found = sections(two_domains)
    told = headline(read_results(two_domains))
    assert any("holds 2 domains (cartpole27, pocman18)" in sentence for sentence in told)
    assert len(rows(found)) == 6
    for row in rows(found):
        folder, domain = row["condition"].removesuffix(")").split(" (")
        tables = {
            path: pd.read_parquet(path / "blocks.parquet")
            for path in sorted((two_domains / folder).glob("run-*"))
            if json.loads((path / "run.json").read_text())["settings"]["domain"]["name"] == domain
        }
        kind = "mean return" if domain == "cartpole27" else "reward per step"
        assert row["runs"] == len(tables) == 2
        assert row["lifetime"] == pytest.approx(np.mean([metrics.lifetime_score(t, kind) for t in tables.values()]))
    maps = {chart.label: chart for chart in found["assignment"].charts}
    assert {label: len(chart.panels[0].heatmap.values) for label, chart in maps.items()} == {
        "mixed (cartpole27), run 0": 27,
        "mixed (pocman18), run 0": 18,
    }
    assert [table.name for table in found["significance"].file_tables] == [
        "significance-random__cartpole27_",
        "significance-final-random__cartpole27_",
        "significance-random__pocman18_",
        "significance-final-random__pocman18_",
    ]
    assert "give the folder of one domain's runs" in found["tasks"].notes[0]
    names = draw_all(found)
    assert {"development-random__cartpole27_", "development-random__pocman18_", "forgetting", "transfer"} <= names
    assert not names & {"tasks", "final-against-lifetime"}


def test_what_compares_is_compared_within_a_domain(two_domains: Path) -> None:
    """Capacity, forgetting and transfer are those of the domain's runs alone, as if the others were not there."""
    found = sections(two_domains)
    alone = read_results(two_domains / "cartpole27")
    scores = {2: alone.scores("few"), 27: alone.scores("all")}
    (curve,) = rows(found, "capacity")  # random play of POcman is punished, and has no capacity
    assert curve["learner"] == "random (cartpole27)"
    assert curve["itc"] == pytest.approx(estimate_capacity(scores, 27).curve.grid_mean)
    assert "random (pocman18): the score with 18 policies is -" in found["capacity"].notes[0]
    for domain in DOMAINS:
        expected = learning_metrics(read_results(two_domains / domain), "few")
        for table in found["learning"].file_tables:
            own = [row for row in table.rows if row["condition"] == f"{domain}/few ({domain})"]
            assert [{**row, "condition": "few"} for row in own] == [
                {"condition": "few", **row} for row in records(expected[table.name])
            ]


def test_missing_twins_of_two_domains_do_not_share_a_folder(tmp_path: Path) -> None:
    for domain in DOMAINS:
        live(tmp_path / "mine" / domain / "run-00", domain)
    report_in_console(tmp_path / "mine", tmp_path / "out", True, False, Console(quiet=True))
    found = sections(tmp_path / "mine")
    assert found["learning"].notes == []
    assert {row["condition"]: row["policies"] for row in rows(found)} == {
        "cartpole27 (cartpole27)": 1,
        "pocman18 (pocman18)": 1,
        "OneToOneRANDOM (cartpole27)": 27,
        "OneToOneRANDOM-pocman18 (pocman18)": 18,
    }


def test_a_sweep_keeps_its_names_beside_a_run_of_another_domain(tmp_path: Path) -> None:
    write_sweep(tmp_path / "sweep", runs=1)
    alone = sections(tmp_path / "sweep")
    live(tmp_path / "sweep" / "UnadaptiveDQN1P" / "run-77", "pocman18")
    both = sections(tmp_path / "sweep")
    own = [row | {"learner": f"{row['learner']} (cartpole27)"} for row in rows(alone)]
    assert rows(both)[:-1] == own
    assert rows(both)[-1]["condition"] == "UnadaptiveDQN1P (pocman18)"
    assert both["progress"].command == alone["progress"].command
    assert "published" in draw_all({"conditions": both["conditions"]})


def test_one_name_for_two_lists_of_tasks_is_two_domains(tmp_path: Path) -> None:
    for tasks in (1, 2):
        live(tmp_path / f"{tasks}P", carts(tasks))
    assert [part.domain for part in by_domain(read_results(tmp_path))] == ["carts", "carts 2"]
    draw_all(sections(tmp_path))


# ------------------------------------------------------------------------------------ what cannot be read or played


def carts(tasks: int = 2) -> repertory.Domain:
    return repertory.Domain("carts", tuple("abc"[:tasks]), lambda task: gymnasium.make("CartPole-v1"))


def test_a_damaged_run_is_left_out_and_named_on_the_console_and_on_the_page(tmp_path: Path) -> None:
    for run in range(2):
        live(tmp_path / "mine" / "1P" / f"run-{run:02d}", run=run)
    whole = sections(tmp_path / "mine")
    assert "problems" not in whole
    shutil.copytree(tmp_path / "mine" / "1P" / "run-00", tmp_path / "mine" / "1P" / "run-02")
    (tmp_path / "mine" / "1P" / "run-02" / "run.json").write_text("{")
    found, said = report(tmp_path / "mine", tmp_path / "out")
    assert rows(found) == rows(whole)
    (problem,) = found["problems"].notes
    assert "run-02" in problem
    assert f"left out: {problem}" in said


def test_a_damaged_sweep_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        write_sweep(tmp_path / "results" / name, conditions=["UnadaptiveDQN1P"], runs=1)
    (tmp_path / "results" / "bad" / "sweep.json").write_text("{")
    good, bad = sorted(read_all_results(tmp_path / "results"), key=lambda results: len(results.problems))
    assert (len(good.runs), good.problems) == (1, ())
    assert (len(bad.runs), bad.sweep) == (0, None)
    assert str(tmp_path / "results" / "bad" / "sweep.json") in bad.problems[0]
    assert [page.name for page in read_pages(tmp_path / "results")] == ["good"]
    assert {judgement.profile for judgement in judge([good, bad])} == {"released", ""}


def test_an_export_leaves_out_what_is_damaged(tmp_path: Path) -> None:
    """Also a run whose settings are gone, and one whose blocks are nonsense with a good checksum."""
    for run in range(3):
        live(tmp_path / "mine" / f"run-{run:02d}", run=run)
    (tmp_path / "mine" / "run-01" / "run.json").write_text("[]")
    (tmp_path / "mine" / "run-02" / "blocks.parquet").write_bytes(b"PAR1")
    RunFolder(tmp_path / "mine" / "run-02").finish()
    exported = export(tmp_path / "mine", tmp_path / "out")
    assert (exported.runs, len(exported.left_out)) == (1, 2)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run-00"]


def test_a_folder_of_damaged_runs_alone_says_so(tmp_path: Path) -> None:
    live(tmp_path / "mine" / "1P")
    (tmp_path / "mine" / "1P" / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"holds no run that can be read \(.*1P.*\)"):
        report(tmp_path / "mine", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tasks_whose_code_is_not_here(tmp_path: Path) -> None:
    live(tmp_path / "1P", carts())
    live(tmp_path / "2P", carts(), 2, "one-to-one")
    found = sections(tmp_path)
    assert [row["condition"] for row in rows(found)] == ["1P", "2P"]
    assert len(rows(found, "capacity")) == 1
    # What random play scores was found when the runs ended, so forgetting needs the code of the tasks no more.
    assert found["learning"].charts
    assert not found["learning"].notes
    assert "No picture of 2P: the domain 'carts' is not in the catalogue" in found["pictures"].notes[0]


def test_runs_that_do_not_say_how_random_play_scores(tmp_path: Path) -> None:
    live(tmp_path / "1P", carts(), 2, "one-to-one")
    (tmp_path / "1P" / "summary.json").unlink()
    with pytest.raises(UsageError, match=r"does not say how random play scores.*next: repertory migrate"):
        learning_metrics(read_results(tmp_path), "1P")


def test_a_domain_that_cannot_be_built_or_played_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package's code may raise anything."""
    live(tmp_path / "1P", carts(), 2, "one-to-one")

    def brings(value: str) -> None:
        point = importlib.metadata.EntryPoint("carts", value, "repertory.domains")
        monkeypatch.setattr(catalogue, "_entry_points", lambda kind: {"carts": point} if kind == "domains" else {})
        catalogue._imported.cache_clear()

    brings("json:loads")  # fails, for it is given nothing to load
    with pytest.raises(UsageError, match="the domain carts cannot be built: TypeError"):
        catalogue.domain("carts")
    assert "the domain carts cannot be built" in sections(tmp_path)["pictures"].notes[0]

    brings("tests.test_any_folder:failing_carts")
    found = sections(tmp_path)
    assert "at step 0 the environment raised RuntimeError: no display" in found["pictures"].notes[0]
    catalogue._imported.cache_clear()


class FailingCart(gymnasium.Wrapper):
    def reset(self, **options: Any) -> Any:
        raise RuntimeError("no\ndisplay")


def failing_carts() -> repertory.Domain:
    return repertory.Domain("carts", ("a", "b"), lambda task: FailingCart(gymnasium.make("CartPole-v1")))


def test_a_fault_of_ours_is_not_taken_for_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path / "1P")
    entry = catalogue.BUILT_IN["domains"]["cartpole27"]

    def faulty(rules: Any) -> None:
        raise RuntimeError("a fault")

    changed = catalogue.DomainEntry(entry.rules, faulty, entry.blocks, entry.block_steps)
    monkeypatch.setitem(catalogue.BUILT_IN["domains"], "cartpole27", changed)
    with pytest.raises(RuntimeError, match="a fault"):
        pictures.section(read_results(tmp_path))


# -------------------------------------------------------------------------------------------------- strange names

STRANGE = ["a\nb", "$x_{$\x1b[31m", "日" * 80, "a b", "a_b"]


def test_folders_of_strange_names(tmp_path: Path) -> None:
    """Also one that is too long for a file's name with something before it."""
    for policies, name in enumerate(STRANGE, start=2):
        live(tmp_path / "mine" / name, carts(), policies, "epsilon-greedy")
    found, _said = report(tmp_path / "mine", tmp_path / "out")
    assert {row["condition"] for row in rows(found)} == set(STRANGE)
    drawn = [file for file in (tmp_path / "out" / "figures").iterdir() if file.name.startswith("assignment")]
    assert len(drawn) == 2 * len(STRANGE)  # "a b" and "a_b" do not share a file
    assert len(pd.read_csv(tmp_path / "out" / "tables" / "conditions.csv")) == len(STRANGE)


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    """A learner's name is part of a file's where there is something to compare."""
    for policies in (2, 3):
        for run in range(2):
            path = live(tmp_path / "mine" / f"{policies}P" / f"run-{run:02d}", policies=policies, run=run)
            content = json.loads((path / "run.json").read_text())
            content["settings"]["learner"]["name"] = "../../../../v1.2$"
            (path / "run.json").write_text(json.dumps(content))
    before = set(tmp_path.rglob("*"))
    write_report(read_results(tmp_path / "mine"), tmp_path / "a" / "b" / "out", with_figures=True)
    made = set(tmp_path.rglob("*")) - before
    assert all(file.is_relative_to(tmp_path / "a") for file in made)
    assert "significance-_.._.._.._v1.2_.csv" in {file.name for file in made}


# ------------------------------------------------------------------------------------------------- all or nothing


@pytest.mark.parametrize("fault", [RuntimeError("a fault"), OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_report_is_written_whole_or_not_at_all(
    fault: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path / "mine" / "1P")
    results = read_results(tmp_path / "mine")
    (tmp_path / "old" / "figures").mkdir(parents=True)
    for name in ("index.html", "figures/tasks.svg"):
        (tmp_path / "old" / name).write_text("as it was before")
    before = files(tmp_path / "old")

    def fail(*arguments: Any) -> None:
        raise fault

    monkeypatch.setattr("repertory.report.to_matplotlib.to_matplotlib", fail)
    expected = UsageError if isinstance(fault, OSError) else type(fault)
    for out in (tmp_path / "old", tmp_path / "new" / "deep"):
        with pytest.raises(expected):
            write_report(results, out, with_figures=True)
    assert files(tmp_path / "old") == before
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sweep(tmp_path / "results" / "sweep", runs=1)
    (tmp_path / "file").write_text("in the way")

    def fail(*arguments: Any, **options: Any) -> None:
        raise AssertionError("worked before it looked")

    monkeypatch.setattr("repertory.cli.report.read_results", fail)
    monkeypatch.setattr("repertory.report.page.chapters", fail)
    monkeypatch.setattr("repertory.report.results_file.results_text", fail)
    with pytest.raises(UsageError, match=r"cannot write to .*: Not a directory; choose another --out"):
        report_in_console(tmp_path / "results", tmp_path / "file", False, False, Console(quiet=True))
    with pytest.raises(UsageError, match=r"cannot write to .*: Not a directory"):
        write_report(read_results(tmp_path / "results"), tmp_path / "file" / "out")
    with pytest.raises(UsageError, match="is not an ordinary file"):
        write_results(tmp_path / "results", tmp_path)
    (tmp_path / "results" / "figures").write_text("in the way")
    with pytest.raises(UsageError, match=r"figures: Not a directory; choose another folder"):
        write_results(tmp_path / "results", tmp_path / "RESULTS.md")


# ------------------------------------------------------------------------------------------------------ dashboard


def answer(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_dashboard_names_what_it_cannot_read(tmp_path: Path) -> None:
    live(tmp_path / "mine" / "1P")
    with DashboardServer(tmp_path / "mine", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.rename(tmp_path / "mine", tmp_path / "gone")
        status, text = answer(server.url + "data.json")
        assert (status, "is not a folder" in text, text.count("\n")) == (503, True, 0)
        os.rename(tmp_path / "gone", tmp_path / "mine")
        shown = json.loads(answer(server.url + "data.json")[1])
        assert "notice" not in shown
        os.rename(tmp_path / "mine", tmp_path / "gone")
        later = json.loads(answer(server.url + "data.json")[1])
        assert later["sections"] == shown["sections"]
        assert "not refreshed: " in later["notice"]
        server.shutdown()


def test_a_fault_of_the_dashboard_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    live(tmp_path / "1P")

    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("repertory.report.dashboard.chapters", fail)
    with DashboardServer(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert answer(server.url) == (500, "a fault of the dashboard: RuntimeError('a fault')")
        server.shutdown()
    assert "RuntimeError: a fault" in capsys.readouterr().err
