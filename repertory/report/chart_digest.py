"""Which chart a PNG file shows, so that one that is there already need not be drawn again.

Without matplotlib, whose import takes longer than all that is asked here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path

from PIL import Image

from repertory.report.chart import Chart, plain

DIGEST = "repertory-chart"
"""The entry of a PNG file that says which chart it shows."""


def shows(path: Path, chart: Chart) -> bool:
    """Whether a PNG file is of this very chart."""
    return _digest_in(path) == digest(chart)


def is_of_a_chart(path: Path) -> bool:
    """Whether a PNG file is of any chart of ours, be it of an older version."""
    return _digest_in(path) is not None


def _digest_in(path: Path) -> str | None:
    try:
        with Image.open(path) as image:
            return dict(image.info).get(DIGEST)
    except (OSError, ValueError):
        return None


def digest(chart: Chart) -> str:
    """The same for charts that are drawn the same: by the same code, from the same description."""
    described = json.dumps(plain(asdict(chart)), sort_keys=True).encode()
    return hashlib.sha256(_drawing_code() + described).hexdigest()


@cache
def _drawing_code() -> bytes:
    source = Path(__file__).with_name("to_matplotlib.py").read_bytes()
    return source + metadata.version("matplotlib").encode()
