"""A record as a notebook shows it: what was run, how it went, who played what."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from repertory.core.metrics import block_scores
from repertory.runs.shares import policy_shares
from repertory.wording import counted

if TYPE_CHECKING:
    from repertory.runs.record import Record

WIDTH, HEIGHT, POINTS = 260, 48, 60
SHOWN_TASKS, SHOWN_POLICIES = 8, 12


def record_html(record: Record) -> str:
    """Without styles of its own but for a line: it looks like the notebook it is in, light or dark."""
    settings, blocks = record.settings, record.blocks
    told = (
        f"{settings['domain']['name']}: {counted(len(record.policies), 'policy')} of {settings['learner']['name']}, "
        f"{counted(len(settings['task_names']), 'task')}, {counted(len(blocks), 'block')}, "
        f"{counted(int(blocks['steps'].sum()), 'step')}"
    )
    scores = f"lifetime score {record.lifetime_score:.4g}, final score {record.final_score:.4g} ({settings['score']})"
    trouble = "" if record.divergence is None else f"<p><strong>{html.escape(str(record.divergence))}</strong></p>"
    return (
        f"<div><p><strong>{html.escape(told)}</strong><br>{html.escape(scores)}</p>{trouble}"
        f"{_line(record)}{_policies(record)}</div>"
    )


def _line(record: Record) -> str:
    """The score over the lifetime, as a small line."""
    scores = block_scores(record.blocks, record.settings["score"]).to_numpy(float)
    if len(scores) < 2:
        return ""
    means = np.array([part.mean() for part in np.array_split(scores, min(POINTS, len(scores)))])
    low, high = float(means.min()), float(means.max())
    x = np.linspace(2, WIDTH - 2, len(means))
    y = HEIGHT - 4 - (means - low) / ((high - low) or 1.0) * (HEIGHT - 8)
    points = " ".join(f"{at:.1f},{height:.1f}" for at, height in zip(x, y, strict=True))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="score from {means[0]:.4g} to {means[-1]:.4g}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def _policies(record: Record) -> str:
    found = policy_shares(record.blocks, len(record.settings["task_names"]))
    rows = []
    for share in found[:SHOWN_POLICIES]:
        listed = ", ".join(map(str, share.tasks[:SHOWN_TASKS])) + (", ..." if len(share.tasks) > SHOWN_TASKS else "")
        rows.append(
            f'<tr><th scope="row">{share.policy}</th><td>{share.episodes:.1%}</td><td>{listed or "none"}</td></tr>'
        )
    more = len(found) - SHOWN_POLICIES
    rest = f"<p>and {counted(more, 'more policy', 'more policies')}</p>" if more > 0 else ""
    head = "".join(f'<th scope="col">{title}</th>' for title in ("policy", "episodes", "tasks it plays most"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"
