"""`repertory results`: RESULTS.md from a folder of sweeps, our tables beside the published ones, and its figures.

Everything in the file follows from the records, but for what only a person can say: that is in Markdown files in the
folder `notes` beside the sweeps, and is woven in. `introduction.md` comes first, `NAME.md` into the section of the
sweep in the folder NAME, `claims.md` before the claims and `conclusion.md` last. The same records and notes give the
same file, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from repertory.errors import UsageError, unknown
from repertory.paths import check_new_file, check_new_folder, staged, write_whole
from repertory.report import paper_figures, results_tables
from repertory.report.claims import Judgement, judge, read_all_results
from repertory.report.page_data import page_data
from repertory.report.tables import markdown_text
from repertory.sweeps.results import Results

FIGURES, NOTES = "figures", "notes"
INTRODUCTION, CLAIMS, CONCLUSION = "introduction", "claims", "conclusion"
WARNING = (
    "<!-- Made by `repertory results` from the records and the notes beside them: edit those, not this file. -->\n"
)
CAPTIONS = {
    "published": "Our scores (points, with the standard deviation where there are more runs than one) beside the "
    "published means and standard deviations (bars).",
    "development": "Score over the lifetime: means over {stretch} blocks. Solid: unadaptive; dashed: adaptive.",
    "tasks": "Score of each task over the last quarter of the lifetimes.",
    "capacity": "Tasks per policy by the share of the one-to-one score that may be given up.",
    "forgetting": "Forgetting ratio by the blocks of other tasks in between: below 0, a task is played worse for them.",
    "transfer": "Transfer ratio by the blocks of other tasks before: above 0, a task is played better for them.",
}
"""Of the figures that the file shows, in this order; each may stand for several, such as `development-dqn`."""


@dataclass(frozen=True)
class SweepPage:
    """A sweep and all that its section shows."""

    results: Results

    @property
    def name(self) -> str:
        return self.results.path.resolve().name

    @property
    def published_scores(self) -> int:
        conditions = self.results.experiment.conditions if self.results.experiment is not None else {}
        return sum(score is not None for found in conditions.values() for score in (found.lifetime, found.final))

    @cached_property
    def data(self) -> dict[str, Any]:
        return page_data(self.results, with_libraries=False)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """What draws each of the figures that are shown."""
        found = paper_figures.all_figures(self.data)
        return {
            name: draw
            for kind in CAPTIONS
            for name, draw in found.items()
            if name == kind or name.startswith(f"{kind}-")
        }

    def caption(self, figure: str) -> str:
        kind = next(kind for kind in CAPTIONS if figure == kind or figure.startswith(f"{kind}-"))
        return CAPTIONS[kind].format(stretch=self.data["stretch"])


def read_pages(root: Path) -> list[SweepPage]:
    """The sweeps of a folder that have finished runs, those with the most published scores first."""
    return make_pages(root, read_all_results(root))


def make_pages(root: Path, sweeps: Sequence[Results]) -> list[SweepPage]:
    """The same of sweeps that were read."""
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
    parts += ["## All sweeps\n", *results_tables.overview(page.results for page in pages)]
    for page in pages:
        parts += [f"## {_title(page.results)}\n", *notes.get(page.name, []), *_sweep_parts(page, figures)]
    parts += ["## The paper's claims\n", *notes.get(CLAIMS, []), *_claims_parts(judgements, root)]
    parts += notes.get(CONCLUSION, [])
    return "\n".join(parts)


def read_notes(root: Path, sweeps: Sequence[str]) -> dict[str, list[str]]:
    """By the name of the file; one that belongs nowhere is refused, for what it says would be lost."""
    places = [INTRODUCTION, *sweeps, CLAIMS, CONCLUSION]
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
    data, sweep = results.sweep.data, results.sweep
    scale = "" if sweep.scale == 1 else f", scale {sweep.scale:g}"
    blocks = "" if sweep.n_blocks == data.blocks else f", {sweep.n_blocks} blocks"
    seed = "" if sweep.seed == 0 else f", seed {sweep.seed}"
    return f"{markdown_text(data.title)} (`{sweep.experiment}`, profile `{sweep.profile}`{scale}{blocks}{seed})"


def _sweep_parts(page: SweepPage, figures: str) -> Iterator[str]:
    shown = list(page.figures)
    if "published" in shown:
        shown.remove("published")
        yield _image(page, "published", figures)
    yield from results_tables.scores(page.results, page.data)
    yield from results_tables.capacity(page.data)
    yield from results_tables.time(page.data)
    for name in shown:
        yield _image(page, name, figures)


def _image(page: SweepPage, name: str, figures: str) -> str:
    caption = page.caption(name)
    return f"![{page.name}, {name}]({figures}/{page.name}/{name}.png)\n\n*{caption}*\n"


def _claims_parts(judgements: Sequence[Judgement], root: Path) -> Iterator[str]:
    yield results_tables.RULE_OF_CERTAINTY
    for profile in dict.fromkeys(judgement.profile for judgement in judgements):
        yield f"### Profile `{profile}`\n" if profile else "### By simulation, whatever the profile\n"
        own = [judgement for judgement in judgements if judgement.profile == profile]
        yield from results_tables.claims(own, root)


def write_results(root: Path, out: Path, pages: Sequence[SweepPage] | None = None) -> list[Path]:
    """Write the figures, then the file; returns all that was written."""
    check_new_file(out)
    pages = read_pages(root) if pages is None else pages
    check_new_folder(root / FIGURES, "folder")
    text = results_text(root, out, pages)
    written = []
    with staged(root / FIGURES, called="folder") as scratch:
        for page in pages:
            (scratch / page.name).mkdir()
            for name, draw in page.figures.items():
                paper_figures.write_small(draw(), scratch / page.name / f"{name}.png")
                written.append(root / FIGURES / page.name / f"{name}.png")
    write_whole(out, text.encode(errors="backslashreplace"))
    return [*written, out]
