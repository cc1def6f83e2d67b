"""`repertory results`: RESULTS.md from a folder of sweeps, our tables beside the published ones, and its figures.

Everything in the file follows from the records, except for a person's own text: that is in Markdown files in the
folder `notes` beside the sweeps, and is included. `introduction.md` comes first, `NAME.md` into the section of the
sweep in the folder NAME, `claims.md` before the claims and `conclusion.md` last. The same records and notes give the
same file, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from repertory.errors import UsageError, unknown
from repertory.paths import check_new_file, check_new_folder, staged, write_whole
from repertory.report import escaping
from repertory.report.chart import Chart
from repertory.report.chart_digest import is_of_a_chart, shows
from repertory.report.claims import UNDECIDED, Judgement, claims_table, count_text, judge, read_all_results, shorter
from repertory.report.forecasts import FOLDER as FORECASTS
from repertory.report.forecasts import forecast_section
from repertory.report.section import Section
from repertory.report.sections import (
    capacity,
    contexts,
    development,
    frontier,
    growth,
    health,
    learning,
    pairs,
    scores,
    tasks,
    time,
)
from repertory.report.sections.claims import RULE_OF_VERDICTS, counts
from repertory.report.sections.overview import sweeps_section
from repertory.report.table import to_markdown
from repertory.report.to_matplotlib import write_small
from repertory.sweeps.results import Results

FIGURES, NOTES = "figures", "notes"
INTRODUCTION, CLAIMS, CONCLUSION = "introduction", "claims", "conclusion"
WARNING = (
    "<!-- Made by `repertory results` from the records and the notes beside them: edit those, not this file. -->\n"
)
KINDS = (scores, development, tasks, health, capacity, learning, contexts, growth, pairs, frontier, time)
TABLES = ("conditions", "pairs", "health", "capacity", "contexts", "growth", "frontier", "time")
"""The sections whose tables are shown, in this order."""
CHARTS = ("published", "development", "tasks", "health", "capacity", "forgetting", "transfer", "frontier")
"""The charts that are shown; the first before the tables, the others after them. Each name may stand for several, such
as `development-dqn`."""


@dataclass(frozen=True)
class SweepPage:
    """A sweep and all that its part of the file shows."""

    results: Results

    @property
    def name(self) -> str:
        return self.results.path.resolve().name

    @property
    def published_scores(self) -> int:
        conditions = self.results.experiment.conditions if self.results.experiment is not None else {}
        return sum(score is not None for found in conditions.values() for score in (found.lifetime, found.final))

    @cached_property
    def sections(self) -> dict[str, Section]:
        found = [kind.section(self.results) for kind in KINDS]
        return {section.name: section for section in found if section is not None}

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """By name, each with the caption that it is shown with."""
        found = [
            replace(chart, caption=chart.caption or section.intro)
            for section in self.sections.values()
            for chart in section.charts
        ]
        return {
            chart.name: chart
            for kind in CHARTS
            for chart in found
            if chart.name == kind or chart.name.startswith(f"{kind}-")
        }


def read_pages(root: Path, sweeps: Sequence[Results] | None = None) -> list[SweepPage]:
    """The sweeps of a folder, or those read from it, that have finished runs; most published scores first."""
    sweeps = read_all_results(root) if sweeps is None else sweeps
    pages = [SweepPage(results) for results in sweeps if results.by_condition]
    if not pages:
        raise UsageError(f"{root} holds no sweep with a finished run; next: repertory export SWEEP {root / 'NAME'}")
    names = [page.name for page in pages]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{root} holds two sweeps in folders named {twice}; rename one: notes and figures go by name")
    return sorted(pages, key=lambda page: (-page.published_scores, page.name))


def results_text(root: Path, out: Path, pages: Sequence[SweepPage]) -> str:
    """The file's content; `out` is where it will be, for links to lead from there."""
    notes = read_notes(root, [page.name for page in pages])
    figures = Path(os.path.relpath(root / FIGURES, out.parent)).as_posix()
    judgements = judge([page.results for page in pages])
    parts = [WARNING, "# Results\n", *notes.get(INTRODUCTION, [])]
    parts += ["## All sweeps\n", *_text_and_tables(sweeps_section(page.results for page in pages))]
    for page in pages:
        parts += [f"## {_title(page.results)}\n", *notes.get(page.name, []), *_sweep_parts(page, figures)]
    foretold = forecast_section(root, [page.results for page in pages])
    if foretold is not None:
        parts += [f"## {foretold.title}\n", *notes.get(foretold.name, []), *_text_and_tables(foretold)]
    parts += ["## The paper's claims\n", *notes.get(CLAIMS, []), *_claims_parts(judgements, root)]
    parts += notes.get(CONCLUSION, [])
    return "\n".join(parts)


def read_notes(root: Path, sweeps: Sequence[str]) -> dict[str, list[str]]:
    """By the name of the file; a note that belongs nowhere is refused, because it would not be shown."""
    places = [INTRODUCTION, *sweeps, FORECASTS, CLAIMS, CONCLUSION]
    found = {}
    for file in sorted((root / NOTES).glob("*.md")):
        if file.stem not in places:
            raise unknown(f"note in {root / NOTES}", file.stem, places)
        try:
            found[file.stem] = [file.read_text(encoding="utf-8").strip() + "\n"]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the note {file} cannot be read ({error}); valid: a file of UTF-8 text") from None
    return found


def _title(results: Results) -> str:
    assert results.sweep is not None
    sweep = results.sweep
    unlike = [*shorter(sweep), *([f"seed {sweep.seed}"] if sweep.seed else [])]
    told = ", ".join([f"`{sweep.experiment}`", f"profile `{sweep.profile}`", *unlike])
    return f"{escaping.to_markdown(sweep.data.title)} ({told})"


def _sweep_parts(page: SweepPage, figures: str) -> Iterator[str]:
    images = {chart.name: _image(page, chart, figures) for chart in page.charts.values()}
    yield from [images.pop(CHARTS[0])] if CHARTS[0] in images else []
    for name in TABLES:
        if name in page.sections and page.sections[name].tables:
            section = page.sections[name]
            yield f"### {section.title}\n"
            yield from _text_and_tables(section)
    yield from images.values()


def _text_and_tables(section: Section) -> Iterator[str]:
    yield f"{section.intro}\n"
    yield from map(to_markdown, section.tables)


def _image(page: SweepPage, chart: Chart, figures: str) -> str:
    return f"![{page.name}, {chart.name}]({figures}/{page.name}/{chart.name}.png)\n\n*{chart.caption}*\n"


def _claims_parts(judgements: Sequence[Judgement], root: Path) -> Iterator[str]:
    yield f"{RULE_OF_VERDICTS}\n"
    for profile in dict.fromkeys(judgement.profile for judgement in judgements):
        yield f"### Profile `{profile}`\n" if profile else "### By computation, whatever the profile\n"
        own = [judgement for judgement in judgements if judgement.profile == profile]
        yield from _profile_parts(own, root)


def _profile_parts(judgements: Sequence[Judgement], root: Path) -> Iterator[str]:
    """What is decided as a table, what is not as a list of what it lacks."""
    yield ", ".join(counts(judgements)) + ".\n"
    decided = [judgement for judgement in judgements if judgement.verdict.state != UNDECIDED]
    if decided:
        yield to_markdown(claims_table(decided))
    undecided = [judgement for judgement in judgements if judgement.verdict.state == UNDECIDED]
    if undecided:
        yield f"<details><summary>{count_text(len(undecided), UNDECIDED)}</summary>\n"
        yield "`repertory claims` prints the commands that would decide them.\n"
        yield "".join(f"- {escaping.to_markdown(j.claim.claim)} *{_lacks(j, root)}*\n" for j in undecided)
        yield "</details>\n"


def _lacks(judgement: Judgement, root: Path) -> str:
    """What would decide a claim; without the path of the records."""
    return escaping.to_markdown(judgement.verdict.figures.replace(f"{root}{os.sep}", ""))


def write_results(root: Path, out: Path, pages: Sequence[SweepPage] | None = None) -> list[Path]:
    """Write the figures, but for those that are there already, then the file; returns all that it shows.

    Charts of ours that it showed once, and does not any more, are removed.
    """
    check_new_file(out)
    pages = read_pages(root) if pages is None else pages
    check_new_folder(root / FIGURES, "folder")
    text = results_text(root, out, pages)
    shown = []
    with staged(root / FIGURES, called="folder") as scratch:
        for page in pages:
            (scratch / page.name).mkdir()
            for chart in page.charts.values():
                file = root / FIGURES / page.name / f"{chart.name}.png"
                if not shows(file, chart):
                    write_small(chart, scratch / page.name / file.name)
                shown.append(file)
    write_whole(out, text.encode(errors="backslashreplace"))
    for page in pages:
        for file in (root / FIGURES / page.name).glob("*.png"):
            if file not in shown and is_of_a_chart(file):
                file.unlink()
    return [*shown, out]
