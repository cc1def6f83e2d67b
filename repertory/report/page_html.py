"""The pieces of the report page as HTML: answers, contents, sections; readable by eye, by keyboard and aloud."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from repertory.report import escaping, table
from repertory.report.chart import Chart
from repertory.report.section import Picture, Section
from repertory.report.sections import Chapter
from repertory.report.sections.answer import Answer, answers
from repertory.report.sections.overview import headline
from repertory.sweeps.results import Results

QUESTION = "How many policies?"


def summary_html(results: Results, chapters: Sequence[Chapter]) -> str:
    """What the first screen says: how many policies are enough, then what was run."""
    cards = [
        _card(each, f"{subject} on {chapter.domain}" if chapter.domain else subject)
        for chapter in chapters
        if chapter.results.by_condition
        for subject, each in _told_once(answers(chapter.results))
    ]
    shown = f'<div class="answers">{"".join(cards)}</div>' if cards else ""
    facts = "".join(f"<p>{escaping.to_html(sentence)}</p>" for sentence in headline(results))
    return f'{shown}<div class="facts">{facts}</div>'


def _told_once(found: Sequence[Answer]) -> list[tuple[str, Answer]]:
    """Answers and whom they are of; learners for which there is none, for the same reason, share a card."""
    named: dict[object, tuple[list[str], Answer]] = {}
    for place, each in enumerate(found):
        key = each.caveats if each.policies is None else place
        named.setdefault(key, ([], each))[0].append(each.learner.upper())
    return [(", ".join(learners), each) for learners, each in named.values()]


def _card(answer: Answer, subject: str) -> str:
    number = "" if answer.policies is None else f'<b class="count">{answer.policies}</b> '
    meaning = f'<p class="meaning">{escaping.to_html(answer.meaning)}</p>' if answer.meaning else ""
    caveats = "".join(f"<li>{escaping.to_html(caveat)}</li>" for caveat in answer.caveats)
    listed = f'<ul class="caveats">{caveats}</ul>' if caveats else ""
    return (
        f'<section class="answer"><h2>{QUESTION} <span>{escaping.to_html(subject)}</span></h2>'
        f'<p class="verdict">{number}{escaping.to_html(answer.claim)}</p>{meaning}{listed}</section>'
    )


def contents_html(chapters: Sequence[Chapter]) -> str:
    """Links to all sections; under the name of their domain where there are several."""
    parts = []
    for chapter in chapters:
        links = "".join(
            f'<li><a href="#{html.escape(each.name)}">{escaping.to_html(each.title)}</a></li>'
            for each in chapter.sections
        )
        heading = f'<a class="domain" href="#{html.escape(chapter.name)}">{escaping.to_html(chapter.domain)}</a>'
        parts.append((heading if chapter.domain else "") + f"<ul>{links}</ul>")
    return "\n".join(parts)


def chapters_html(chapters: Iterable[Chapter]) -> str:
    parts = []
    for chapter in chapters:
        if chapter.domain:
            parts.append(f'<h2 class="domain" id="{html.escape(chapter.name)}">{escaping.to_html(chapter.domain)}</h2>')
        parts += [section_html(each, 3 if chapter.domain else 2) for each in chapter.sections]
    return "\n".join(parts)


def section_html(section: Section, level: int = 2) -> str:
    """`level` is that of its heading."""
    name, heading = html.escape(section.name), f"{html.escape(section.name)}-heading"
    parts = [f'<h{level} id="{heading}">{escaping.to_html(section.title)}</h{level}>']
    parts += [f"<p>{escaping.to_html(section.intro)}</p>"] if section.intro else []
    parts += [table.to_html(each, f"{section.title}, table") for each in section.tables]
    parts += [_charts_html(section)] if section.charts else []
    if section.pictures:
        parts.append(f'<div class="pictures">{"".join(map(_picture_html, section.pictures))}</div>')
    parts += [f'<p class="note">{escaping.to_html(note)}</p>' for note in section.notes]
    parts += [f"<p><code>{escaping.to_html(section.command)}</code></p>"] if section.command else []
    parts += [
        f"<details><summary>{escaping.to_html(detail.title)}</summary>"
        f'<pre tabindex="0">{escaping.to_html(detail.text)}</pre></details>'
        for detail in section.details
    ]
    return f'<section id="{name}" aria-labelledby="{heading}">\n' + "\n".join(parts) + "\n</section>"


def _charts_html(section: Section) -> str:
    if section.first_choice is None:
        places = "".join(
            _figure_html(_plot(chart.name, chart, section.title), chart.caption) for chart in section.charts
        )
        return f'<div class="charts">{places}</div>'
    first = section.charts[section.first_choice]
    options = "".join(
        f'<option value="{html.escape(chart.name)}"{" selected" if chart is first else ""}>'
        f"{escaping.to_html(chart.label)}</option>"
        for chart in section.charts
    )
    place = f"{section.name}-plot"
    select = f'<label class="choice">Shown: <select data-plot="{html.escape(place)}">{options}</select></label>'
    return f'{select}<div class="charts">{_figure_html(_plot(place, first, section.title), "")}</div>'


def _plot(place: str, chart: Chart, title: str) -> str:
    """A place for a chart; it is drawn by a script, so that a reader of screens is told what it shows."""
    told = ". ".join(dict.fromkeys(text for text in (chart.title or title, chart.caption) if text))
    return (
        f'<div class="plot" id="{html.escape(place)}" data-chart="{html.escape(chart.name)}" role="img" '
        f'aria-label="Chart: {escaping.to_html(told)}"></div>'
    )


def _picture_html(picture: Picture) -> str:
    kind = "drawing" if picture.is_on_white else "photo"
    image = f'<img class="{kind}" src="{picture.source}" alt="Animation of a policy at work" loading="lazy">'
    return _figure_html(image, picture.caption)


def _figure_html(content: str, caption: str) -> str:
    shown = f"<figcaption>{escaping.to_html(caption)}</figcaption>" if caption else ""
    return f"<figure>{content}{shown}</figure>"
