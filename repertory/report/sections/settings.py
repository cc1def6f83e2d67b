"""Settings of a run of each condition, and the code and machine that made it."""

from __future__ import annotations

import json

from repertory.report.domains import by_domain
from repertory.report.section import Detail, Section
from repertory.sweeps.results import Results, Run


def section(results: Results) -> Section | None:
    runs = [runs[0] for part in by_domain(results) for runs in part.results.by_condition.values()]
    details = [Detail(run.condition, _text(run)) for run in runs]
    return Section("settings", "Settings, code and machine", details=details) if details else None


def _text(run: Run) -> str:
    settings = {key: value for key, value in run.settings.items() if key != "task_names"}
    makers = [maker.as_dict() for maker in run.made_by]
    return json.dumps({"settings": settings, "made_by": makers}, indent=1)
