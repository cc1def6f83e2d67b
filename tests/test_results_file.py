"""RESULTS.md: the same records give the same file, its numbers are theirs, and notes are never lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import repertory
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.paper.memory_simulation import GrowingLibrary, memory_table
from repertory.report import claim_tests
from repertory.report.results_file import read_pages, results_text, write_results
from repertory.report.sections.scores import score_rows, score_table
from repertory.report.table import to_markdown
from repertory.sweeps.results import read_results
from repertory.sweeps.sweep import Sweep, claim
from tests.records import CONDITIONS, write_sweep

REPOSITORY = Path(__file__).parent.parent
LINK = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep that has published scores and one that has none, and RESULTS.md beside it."""
    root = tmp_path_factory.mktemp("repository")
    write_sweep(root / "results" / "cartpole27-released")
    write_sweep(root / "results" / "ucb-released", Sweep("ucb", "released"), ["UCB1TunedDQN2P"], runs=1)
    (root / "results" / "notes").mkdir()
    for name in ("introduction", "cartpole27-released", "claims", "conclusion"):
        (root / "results" / "notes" / f"{name}.md").write_text(f"What a person says: {name}.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_tests, "memory_table", partial(memory_table, GrowingLibrary(runs=5)))
        write_results(root / "results", root / "RESULTS.md")
        yield root


def table_under(text: str, title: str, section: str = "") -> list[list[str]]:
    """The cells of the first table after a title."""
    after = text[text.index(section) :].split(f"{title}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_same_records_give_the_same_bytes(folder: Path) -> None:
    files = sorted((folder / "results" / "figures").rglob("*.png"))
    before = [folder / "RESULTS.md", *files]
    contents = [file.read_bytes() for file in before]
    write_results(folder / "results", folder / "RESULTS.md")
    assert contents == [file.read_bytes() for file in before]
    for file in files:
        file.write_bytes(b"gone")
    write_results(folder / "results", folder / "RESULTS.md")
    assert contents == [file.read_bytes() for file in before]
    assert str(folder) not in (folder / "RESULTS.md").read_text()
    elsewhere = results_text(folder / "results", folder / "docs" / "RESULTS.md", read_pages(folder / "results"))
    assert elsewhere.replace("](../results/", "](results/") == (folder / "RESULTS.md").read_text()


def test_the_scores_are_the_records(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text()
    titles, _rules, *rows = table_under(text, "### Scores", "(`cartpole27`")
    assert titles == ["condition", "runs (paper)", "lifetime", "published", "in SD", "final", "published", "in SD"]
    rows_of = score_rows(read_results(folder / "results" / "cartpole27-released"))
    table = pd.DataFrame(rows_of).set_index("condition")
    assert [row[0] for row in rows] == list(table.index)
    for name, runs, lifetime, published, gap, *_final in rows:
        own = table.loc[name]
        paper = experiment("cartpole27").conditions[name].lifetime
        assert runs == "2 (27)"
        assert lifetime == f"{own['lifetime']:.1f} ± {own['lifetime sd']:.1f}"
        assert published == f"{paper.mean:.1f} ± {paper.deviation:.1f}"
        assert float(gap.strip("*")) == pytest.approx(own["lifetime difference"], abs=0.051)
        assert gap.startswith("**") == (abs(own["lifetime difference"]) > 2)
    close = int((table["lifetime difference"].abs() <= 2).sum())
    assert f"{close} of {len(table)} lifetime scores" in text
    assert table_under(text, "### Scores", "(`ucb`")[0] == ["condition", "runs (paper)", "lifetime", "final"]


def test_every_section_is_there_in_its_place(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text()
    places = [
        "What a person says: introduction.",
        "## All sweeps",
        "(`cartpole27`, profile `released`)",
        "What a person says: cartpole27-released.",
        "### Task capacity",
        "### Time",
        "(`ucb`, profile `released`)",
        "## The paper's claims",
        "What a person says: claims.",
        "### Profile `released`",
        "need runs</summary>",
        "What a person says: conclusion.",
    ]
    positions = [text.index(place) for place in places]
    assert positions == sorted(positions)
    overview = table_under(text, "## All sweeps")
    assert [row[0] for row in overview[2:]] == ["`cartpole27`, released", "`ucb`, released"]
    assert overview[2][-2] == "2 days"
    assert overview[2][-1].startswith(repertory.__version__)
    capacity = table_under(text, "### Task capacity")
    assert [row[0] for row in capacity[2:]] == ["dqn"]
    assert capacity[2][-1] == "18.7"
    time = table_under(text, "### Time")
    assert [row[0] for row in time[2:]] == ["dqn", "ppo", "all"]


def test_the_figures_are_there_and_small(folder: Path) -> None:
    links = LINK.findall((folder / "RESULTS.md").read_text())
    names = {Path(link).stem for link in links if "cartpole27" in link}
    assert names == {"published", "development-dqn", "development-ppo", "tasks", "capacity", "forgetting", "transfer"}
    assert {folder / link for link in links} == set((folder / "results" / "figures").rglob("*.png"))
    for link in links:
        assert (folder / link).stat().st_size < 100_000
        with Image.open(folder / link) as image:
            assert len(np.unique(np.asarray(image))) > 5


def test_charts_that_are_not_shown_any_more_go_and_other_pictures_stay(folder: Path) -> None:
    place = folder / "results" / "figures" / "cartpole27-released"
    before = set(place.iterdir())
    old, theirs = place / "as-it-was-called-once.png", place / "a-photograph.png"
    old.write_bytes((place / "tasks.png").read_bytes())
    Image.new("L", (2, 2)).save(theirs)
    write_results(folder / "results", folder / "RESULTS.md")
    assert set(place.iterdir()) == before | {theirs}
    theirs.unlink()


def test_a_note_that_belongs_nowhere_is_refused(folder: Path) -> None:
    stray = folder / "results" / "notes" / "cartpole27.md"
    stray.write_text("This would be lost.\n")
    with pytest.raises(UsageError, match="did you mean 'cartpole27-released'"):
        write_results(folder / "results", folder / "RESULTS.md")
    stray.unlink()


def test_folders_without_records_are_refused(tmp_path: Path) -> None:
    claim(tmp_path / "results" / "empty", Sweep("ucb"))
    with pytest.raises(UsageError, match="holds no sweep with a finished run"):
        write_results(tmp_path / "results", tmp_path / "RESULTS.md")
    for place in ("one", "other"):
        write_sweep(tmp_path / "twice" / place / "sweep", conditions=CONDITIONS[:1], runs=1)
    with pytest.raises(UsageError, match="two sweeps in folders named sweep"):
        write_results(tmp_path / "twice", tmp_path / "RESULTS.md")


ENDINGS = (" sd", " published", " published sd", " difference")


def test_small_scores_have_more_places() -> None:
    row = {"condition": "A", "runs": 1, "code": [], "diverged": 0, "greedy": None} | {
        f"{which}{part}": None for which in ("lifetime", "final") for part in ENDINGS
    }
    results = read_results(REPOSITORY / "tests")
    table = score_table(results, [row | {"lifetime": 0.0512, "final": 0.1}])
    assert "| A | 1 | 0.051 | 0.100 |" in to_markdown(table)


@pytest.mark.skipif(not (REPOSITORY / "RESULTS.md").exists(), reason="no RESULTS.md; next: repertory results")
def test_the_committed_file_is_what_the_committed_records_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes included. Next, if this fails: repertory results."""
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(claim_tests, "memory_table", memory_table)  # at full length, whatever `folder` has made of it
    text = results_text(Path("results"), Path("RESULTS.md"), read_pages(Path("results")))
    assert text == Path("RESULTS.md").read_text(encoding="utf-8")
    assert all((REPOSITORY / link).exists() for link in LINK.findall(text))
