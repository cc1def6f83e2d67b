"""The report page: numbers equal the metrics', hostile names stay text, and a browser shows it all."""

from __future__ import annotations

import io
import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import repertory
from repertory.analysis.capacity import estimate_capacity
from repertory.cli.report import report_in_console
from repertory.core import metrics
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.report.chart import Axis, Band, Chart, Panel, Series, numbered
from repertory.report.dashboard import DashboardServer
from repertory.report.page import embedded_json, render, write_report
from repertory.report.section import Section, safe
from repertory.report.sections import all_sections, learning, progress
from repertory.report.sections.overview import headline
from repertory.report.table import (
    STRONG,
    Column,
    Table,
    column,
    from_frame,
    to_console,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
)
from repertory.report.to_matplotlib import to_matplotlib
from repertory.report.to_plotly import to_plotly
from repertory.runs.folder import RunFolder
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep, claim, run_path
from tests import browser
from tests.waiting import wait_until

CONDITIONS = ("AdaptiveDQN2P", "UnadaptiveDQN1P", "UnadaptiveDQN27P", "UnadaptivePPO1P")
SWEEP = Sweep("cartpole27", scale=0.005, blocks=12)


def live(out: Path, name: str, run: int) -> None:
    """With small memories: the page does not care, and checkpoints are quick."""
    spec = SWEEP.job(out, experiment("cartpole27").conditions[name], run).run_spec()
    options = {"blocks": spec.blocks, "block_steps": spec.block_steps, "run": run}
    learner = spec.learner.replace(buffer_size=1000) if isinstance(spec.learner, repertory.DQN) else spec.learner
    repertory.live(spec.domain, learner, spec.policies, spec.selector, out=run_path(out, name, run), **options)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "sweep"
    claim(out, SWEEP)
    for name in CONDITIONS:
        for run in range(2):
            live(out, name, run)
    return out


@pytest.fixture(scope="module")
def page(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(read_results(sweep), tmp_path_factory.mktemp("page"), with_figures=True)


def test_long_axes_have_few_numbers() -> None:
    assert numbered(27) == [str(place) for place in range(27)]
    for count, every in ((41, 10), (125, 10), (1000, 100)):
        assert numbered(count) == [str(place) if place % every == 0 else "" for place in range(count)]


def embedded(page: Path) -> dict:
    """The Plotly figures of a page."""
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found.group(1))


def sections(path: Path) -> dict[str, Section]:
    return {section.name: section for section in all_sections(read_results(path))}


def test_numbers_on_the_page_are_the_metrics(sweep: Path, page: Path) -> None:
    found, results = sections(sweep), read_results(sweep)
    rows, figures = found["conditions"].tables[0].rows, embedded(page)
    assert [row["condition"] for row in rows] == sorted(CONDITIONS, key=list(experiment("cartpole27").conditions).index)
    curves = [trace for name in ("dqn", "ppo") for trace in figures[f"development-{name}"]["data"]]
    for row in rows:
        blocks = [pd.read_parquet(run_path(sweep, row["condition"], run) / "blocks.parquet") for run in range(2)]
        lifetimes = [metrics.lifetime_score(table) for table in blocks]
        assert row["lifetime"] == pytest.approx(np.mean(lifetimes))
        assert row["lifetime sd"] == pytest.approx(np.std(lifetimes, ddof=1))
        paper = experiment("cartpole27").conditions[row["condition"]].lifetime
        assert row["lifetime difference"] == pytest.approx((np.mean(lifetimes) - paper.mean) / paper.deviation)
        band, line = [trace for trace in curves if trace["name"] == row["condition"]]
        development = metrics.development(blocks, stretch=1)
        assert line["y"] == pytest.approx(development.mean.tolist(), rel=1e-4)
        upper = (development.mean + development.error).tolist()
        assert band["y"][: len(line["y"])] == pytest.approx(upper, rel=1e-4)
        cells = f'<th scope="row" class="text ">{row["condition"]}</th><td class="number ">2 (27)</td>'
        score = f"{row['lifetime']:.1f} ± {row['lifetime sd']:.1f}"
        assert f'{cells}<td class="number ">{score}</td>' in page.read_text()
    lifetimes = {n: results.scores(f"UnadaptiveDQN{n}P") for n in (1, 27)}
    capacity = next(row for row in found["capacity"].tables[0].rows if row["learner"] == "dqn")
    assert capacity["itc"] == pytest.approx(estimate_capacity(lifetimes, 27).curve.grid_mean)
    assert capacity["tried"] == "1, 27"
    assert found["significance"].file_tables[0].rows[0]["n1"] == 2


def test_files_beside_the_page(page: Path) -> None:
    assert page.stat().st_size < 2.5e6
    for name in (
        "development-dqn",
        "final-against-lifetime",
        "assignment-AdaptiveDQN2P",
        "tasks",
        "forgetting",
        "memory",
    ):
        for ending in ("svg", "png"):
            assert (page.parent / "figures" / f"{name}.{ending}").stat().st_size > 1000
    table = pd.read_csv(page.parent / "tables" / "conditions.csv")
    assert len(table) == len(CONDITIONS)
    assert r"\begin{tabular}" in (page.parent / "tables" / "conditions.tex").read_text()


def test_an_unfinished_sweep_says_what_is_missing(sweep: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(sweep, part)
    (run_path(part, "AdaptiveDQN2P", 0) / "done").unlink()
    (run_path(part, "UnadaptiveDQN27P", 0) / "done").unlink()
    shutil.rmtree(part / "UnadaptivePPO1P")
    results = read_results(part)
    assert "2 more not finished" in headline(results)[0]
    lacking = progress.section(results)
    assert "UnadaptivePPO1P" in lacking.notes[0]
    assert "repertory reproduce cartpole27 --conditions" in lacking.command
    assert "--scale 0.005 --blocks 12" in lacking.command
    assert [(row["condition"], row["blocks"], row["of"]) for row in lacking.tables[0].rows] == [
        ("AdaptiveDQN2P", 12, 12),
        ("UnadaptiveDQN27P", 12, 12),
    ]
    assert any("UnadaptiveDQN27P --runs 0" in note for note in learning.section(results).notes)
    with pytest.raises(UsageError, match="is not a folder"):
        read_results(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no run with a block"):
        write_report(read_results(tmp_path / "empty"), tmp_path / "out")


def test_any_folder_of_runs_has_a_page(tmp_path: Path) -> None:
    """A user's own runs: no published columns, no missing conditions."""
    for policies in (1, 3):
        out = tmp_path / "mine" / f"{policies} policies"
        repertory.live("cartpole27", "random", policies, blocks=4, block_steps=60, out=out)
    page = write_report(read_results(tmp_path / "mine"), tmp_path / "out")
    found = sections(tmp_path / "mine")
    rows = found["conditions"].tables[0].rows
    assert [row["condition"] for row in rows] == ["1 policies", "3 policies"]
    assert all(row["lifetime published"] is None for row in rows)
    assert "progress" not in found
    assert ">published<" not in page.read_text()


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    for number in range(2):
        out = tmp_path / "mine" / "1P" / f"run-{number:02d}"
        repertory.live("cartpole27", "random", 1, blocks=2, block_steps=60, run=number, out=out)
    (tmp_path / "mine" / "1P" / "run-01" / "run.json").write_text("{")
    results = read_results(tmp_path / "mine")
    assert [run.number for run in results.runs] == [0]
    assert "delete its folder and run that again" in results.problems[0]
    (tmp_path / "mine" / "1P" / "run-00" / "blocks.parquet").write_bytes(b"PAR1")
    assert len(read_results(tmp_path / "mine").problems) == 2


def test_missing_twins_are_lived_on_request(tmp_path: Path) -> None:
    """Two conditions of one learner share the one-to-one run that both are measured against."""
    for policies in (1, 3):
        out = tmp_path / "mine" / f"{policies}P" / "run-00"
        repertory.live("cartpole27", "random", policies, blocks=6, block_steps=60, out=out)
    assert not sections(tmp_path / "mine")["learning"].charts
    report_in_console(tmp_path / "mine", tmp_path / "out", True, False, Console(quiet=True))
    table = pd.read_csv(tmp_path / "out" / "tables" / "forgetting.csv")
    assert set(table["condition"]) == {"1P", "3P", "OneToOneRANDOM"}
    assert sections(tmp_path / "mine")["learning"].notes == []


HOSTILE = "<script>alert(1)</script>"


def test_hostile_names_are_text_and_write_nowhere_else(sweep: Path, tmp_path: Path) -> None:
    """Names from other people's files: markup, markers of the page itself, paths."""
    source, folder = run_path(sweep, "AdaptiveDQN2P", 0), tmp_path / "mine" / "a&b<i>" / "run-00"
    shutil.copytree(source, folder)
    content = json.loads((folder / "run.json").read_text())
    content["settings"]["learner"]["name"] = f"../../{HOSTILE}"
    content["settings"]["task_names"] = [f"</script>{HOSTILE}/*SCRIPT*/ $x_{i}$" for i in range(27)]
    (folder / "run.json").write_text(json.dumps(content))
    before = set(tmp_path.rglob("*"))
    page = write_report(read_results(tmp_path / "mine"), tmp_path / "out" / "deep")
    assert all(
        (tmp_path / "out") in file.parents or file == tmp_path / "out" for file in set(tmp_path.rglob("*")) - before
    )
    assert HOSTILE not in page.read_text()
    assert "a&amp;b&lt;i&gt;" in page.read_text()
    hover = [text for row in embedded(page)["tasks"]["data"][0]["hovertext"] for text in row]
    assert any("&lt;/script&gt;&lt;script&gt;alert(1)" in text for text in hover)
    assert safe("../../etc/passwd") == "_.._etc_passwd"
    assert safe("") == safe("..") == "unnamed"


def test_embedding() -> None:
    assert "<" not in embedded_json({"a": HOSTILE})
    markers = "/*PLOTLY*/ /*SCRIPT*/ /*STYLE*/ /*CHARTS*/"
    places = ("name", "title", "summary", "contents", "sections", "beside")
    text = render(dict.fromkeys(places, "") | {"charts": {"note": markers}})
    assert markers in text
    assert text.count("</html>") == 1


def test_one_table_in_every_form() -> None:
    """Whatever a name holds is shown as it is; CSV keeps every digit, and a column without anything is left out."""
    name = "a_b|<i>50%</i> *c*"
    rows = [{"name": name, "n": 0.123456, "none": None}, {"name": "x", "n": float("nan"), "none": None}]
    strong = Column("n", lambda row: "" if row["n"] != row["n"] else f"{row['n']:.4g}", tone=lambda row: STRONG)
    table = Table("t", [column("na_me", "name", kind="text"), strong, column("none")], rows)
    assert to_csv(table) == f"name,n,none\n{name},0.123456,\nx,,\n"
    assert r"a\_b\|\<i\>50%\</i\> \*c\* | **0.1235** |" in to_markdown(table)
    assert to_markdown(table).startswith("| na\\_me | n |\n| :-- | --: |\n")
    assert r"na\_me & n \\ \hline" in to_latex(table)
    assert r"a\_b|\textless{}i\textgreater{}50\%\textless{}/i\textgreater{} *c* & \textbf{0.1235} \\" in to_latex(table)
    assert "a_b|&lt;i&gt;50%&lt;/i&gt; *c*</th>" in to_html(table)
    assert "none" not in to_html(table)
    said = io.StringIO()
    Console(file=said, width=100, markup=True).print(to_console(table))
    assert [line.split() for line in said.getvalue().splitlines()] == [
        ["na_me", "n"],
        [name.split()[0], "*c*", "0.1235"],
        ["x"],
    ]


def test_a_frame_is_a_table() -> None:
    frame = pd.DataFrame({"a_b": ["50% & more", None], "n": [0.123456, 2.0], "ok": [True, False]})
    assert to_markdown(from_frame("t", frame)) == (
        "| a\\_b | n | ok |\n| :-- | --: | --: |\n| 50% & more | 0.123 | yes |\n|  | 2.000 | no |\n"
    )
    assert r"50\% \& more & 0.123 & yes \\" in to_latex(from_frame("t", frame))


def test_one_chart_in_both_forms() -> None:
    """The same numbers for both; names are shown as they are, and are in the legend once for all panels."""
    name = "<b>a</b> & $x_1$"
    series = Series(name, [0, 1, 2], [1.0, float("nan"), 3.0], "#0072b2", error=[0.1, 0.1, 0.1])
    band = Band(name, [0, 1], [0.0, 1.0], [2.0, 3.0], "#0072b2")
    panel = Panel([band, series], Axis("x", labels=["a", "b", "c"]), Axis("y", low=0))
    figure = to_plotly(Chart("chart", [[panel, panel]]))
    assert [trace["showlegend"] for trace in figure["data"]] == [False, True, False, False]
    assert {trace["name"] for trace in figure["data"]} == {"&lt;b&gt;a&lt;/b&gt; &amp; $x_1$"}
    assert figure["data"][1]["y"] == [1.0, None, 3.0]
    assert figure["data"][0]["y"] == [2.0, 3.0, 1.0, 0.0]
    drawn = to_matplotlib(Chart("chart", [[panel, panel]]))
    drawn.draw_without_rendering()
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == [r"<b>a</b> & \$x_1\$"]
    np.testing.assert_array_equal(drawn.axes[0].lines[0].get_ydata(), [1.0, np.nan, 3.0])


def test_figures_are_drawn_on_request_and_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for policies in (1, 2):
        repertory.live(
            "cartpole27", "random", policies, blocks=4, block_steps=60, out=tmp_path / "mine" / f"{policies}P"
        )
    write_report(read_results(tmp_path / "mine"), tmp_path / "out")
    assert not (tmp_path / "out" / "figures").exists()
    write_report(read_results(tmp_path / "mine"), tmp_path / "out", with_figures=True)
    drawn = []
    monkeypatch.setattr(
        "repertory.report.to_matplotlib.to_matplotlib",
        lambda chart, _dpi: drawn.append(chart.name) or Figure(layout="constrained"),
    )
    write_report(read_results(tmp_path / "mine"), tmp_path / "out", with_figures=True)
    assert drawn == []
    (tmp_path / "out" / "figures" / "tasks.svg").unlink()
    write_report(read_results(tmp_path / "mine"), tmp_path / "out", with_figures=True)
    assert drawn == ["tasks"]
    repertory.live("cartpole27", "random", 3, blocks=4, block_steps=60, out=tmp_path / "mine" / "3P")
    write_report(read_results(tmp_path / "mine"), tmp_path / "out", with_figures=True)
    of_it = {"assignment-3P", "curves-3P"}
    assert set(drawn) == {"tasks", "development-random", "final-against-lifetime", "frontier", *of_it}


def test_the_dashboard_serves_this_machine_only_and_changes_nothing(sweep: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in sweep.rglob("*")}
    with DashboardServer(sweep, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert server.server_address[0] == "127.0.0.1"
        with urllib.request.urlopen(server.url + "data.json") as answer:
            data = json.load(answer)
        assert all(name in data["sections"] for name in CONDITIONS)
        for path, host, status in (("../sweep.json", None, 404), ("", "evil.example", 403)):
            request = urllib.request.Request(server.url + path, headers={} if host is None else {"Host": host})
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(request)
            assert error.value.code == status
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(server.url, method="POST", data=b"x"))
        with pytest.raises(UsageError, match="cannot listen on port"):
            DashboardServer(sweep, server.server_address[1])
        server.shutdown()
    assert before == {file: file.stat().st_mtime_ns for file in sweep.rglob("*")}


@pytest.mark.skipif(not browser.is_here(), reason=browser.MISSING)
def test_the_page_in_a_browser(page: Path) -> None:
    with browser.chromium() as driver:
        driver.get(page.as_uri())
        wait_until(
            lambda: driver.execute_script("return document.querySelectorAll('.js-plotly-plot .main-svg').length") > 4
        )
        assert browser.complaints(driver) == []
        assert not [url for url in browser.requested(driver) if not url.startswith(("file:", "data:", "blob:"))]
        traces = "return document.getElementById('development-dqn').data.length"
        assert driver.execute_script(traces) == 6  # three curves and their bands
        toggled = "return document.getElementById('development-dqn').data.map(t => t.visible || true)"
        assert driver.execute_script(toggled) == [True] * 6
        name = "document.querySelector('#development-dqn .legendtoggle')"
        click = f"{name}.dispatchEvent(new MouseEvent('{{}}', {{{{bubbles: true}}}}))"
        for event in ("mousedown", "mouseup"):
            driver.execute_script(click.format(event))
        wait_until(lambda: driver.execute_script(toggled) == ["legendonly", True, True] * 2)
        width = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] <= width[1]
        assert "mean return" in driver.execute_script("return document.getElementById('conditions').textContent")


@pytest.mark.skipif(not browser.is_here(), reason=browser.MISSING)
def test_the_dashboard_follows_a_run(sweep: Path, tmp_path: Path) -> None:
    growing = tmp_path / "sweep"
    shutil.copytree(sweep, growing)
    with DashboardServer(growing, 0, refresh=0.3) as server, browser.chromium() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        driver.get(server.url)
        blocks = "return document.getElementById('progress') ? document.getElementById('progress').textContent : ''"
        wait_until(lambda: "live" in driver.find_element("id", "live").text)
        unfinished = RunFolder(run_path(growing, "AdaptiveDQN2P", 1))
        table = unfinished.read_blocks()
        (unfinished.path / "done").unlink()
        unfinished.write_blocks(table.head(5))
        wait_until(lambda: "5 of 12" in driver.execute_script(blocks))
        unfinished.write_blocks(table.head(6))
        wait_until(lambda: "6 of 12" in driver.execute_script(blocks))
        assert browser.complaints(driver) == []
        assert not [url for url in browser.requested(driver) if not url.startswith((server.url, "data:", "blob:"))]
        server.shutdown()
