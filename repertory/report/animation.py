"""Episodes as an animated picture, in a file or a page."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from repertory.errors import UsageError
from repertory.paths import write_whole
from repertory.report.watching import PICTURE, Moment, Performance

FORMATS = {".gif": "GIF", ".webp": "WEBP"}
FASTEST = 50
"""Frames a second: the shortest pause that browsers keep to is 20 ms."""
LAST_PAUSE = 1500
"""Milliseconds that the last frame stays before an animation begins again."""
LINE, MARGIN, FONT_SIZE, SMALLEST_FONT, NARROWEST = 18, 8, 13, 8, 280
"""Of the caption below each frame, in pixels."""
PAPER, INK, PALE_INK = "#ffffff", "#202124", "#5f6368"
EXACT_COLOURS, MIXED_COLOURS, PALETTE_SAMPLES = 32, 96, 12
NEARLY_WHITE = 235
"""Of 255."""
TWINS = 8
"""Colours that differ by no more than this count as one."""


@dataclass(frozen=True)
class Limits:
    """How large an animation may be. One that takes too many bytes gets fewer and smaller frames."""

    frames: int = 500
    """So many; besides, the first and the last moment of each episode are always shown."""
    side: int = 600
    """Pixels of the longer side of a frame; the caption comes on top."""
    size: int = 2_000_000
    """Bytes."""
    steps: int | None = None
    """Only so many steps from the beginning are shown; none: all of them."""

    def tightened(self) -> Limits:
        return replace(self, frames=max(2, self.frames * 2 // 3), side=self.side * 4 // 5)

    @property
    def can_be_tightened(self) -> bool:
        return self.side > 20


IN_A_FILE = Limits()
IN_A_PAGE = Limits(frames=201, side=360, size=80_000, steps=201)
"""Two hundred steps are a whole episode of Cartpole, and enough of the thousand of POcman."""


# ------------------------------------------------------------------------------------------------- animations


def write_animation(performance: Performance, out: Path, fps: float | None = None) -> int:
    """Write all episodes to a file whose name ends in .gif or .webp; the number of bytes."""
    content = animate(performance, format_of(out), fps, IN_A_FILE)
    write_whole(out, content)
    return len(content)


def embedded_animation(performance: Performance) -> bytes:
    """The beginning of a performance as a small animated picture of at most 80 kB, for a page; see `data_uri`."""
    return animate(performance, "WEBP", None, IN_A_PAGE)


def data_uri(animation: bytes) -> str:
    """What an `<img src=...>` takes."""
    kind = "gif" if animation.startswith(b"GIF") else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(animation).decode()}"


def is_on_white(animation: bytes) -> bool:
    """Whether the edge of its first frame is white, or nearly."""
    with Image.open(io.BytesIO(animation)) as first:
        edge = np.asarray(first.convert("L"))[0]
    return bool(edge.min() >= NEARLY_WHITE)


def animate(performance: Performance, file_format: str, fps: float | None, limits: Limits) -> bytes:
    """The bytes of an animated picture that keeps to the limits."""
    fps = min(performance.usual_fps, FASTEST) if fps is None else fps
    content = encode(pictures(performance, limits), file_format, fps)
    while len(content) > limits.size and limits.can_be_tightened:
        limits = limits.tightened()
        content = encode(pictures(performance, limits), file_format, fps)
    return content


def pictures(performance: Performance, limits: Limits = IN_A_FILE) -> list[Image.Image]:
    """Captioned frames of all episodes; if there are too many, the same number of steps is skipped between any two."""
    steps = sum(ending.step for ending in performance.endings)
    shown = steps if limits.steps is None else min(limits.steps, steps)
    title = f"task {performance.task}: {performance.task_name}"
    found = []
    moments = performance.moments(PICTURE, every=math.ceil(shown / limits.frames))
    for moment in islice(moments, None if limits.steps is None else limits.steps + 1):
        if isinstance(moment.frame, np.ndarray):
            frame = Image.fromarray(moment.frame)
            frame.thumbnail((limits.side, limits.side), Image.Resampling.LANCZOS)
            found.append(captioned(frame, title, standing(performance, moment)))
    return found


def captioned(frame: Image.Image, title: str, stand: str) -> Image.Image:
    """A frame with two lines of text below it, small enough to fit."""
    width = max(frame.width, NARROWEST)
    picture = Image.new("RGB", (width, frame.height + 2 * LINE + MARGIN), PAPER)
    picture.paste(frame, ((width - frame.width) // 2, 0))
    canvas = ImageDraw.Draw(picture)
    for line, (text, ink) in enumerate(((title, INK), (stand, PALE_INK))):
        fit = (width - 2 * MARGIN) / max(_font(FONT_SIZE).getlength(text), 1)
        font = _font(FONT_SIZE if fit >= 1 else max(SMALLEST_FONT, int(FONT_SIZE * fit)))
        canvas.text((MARGIN, frame.height + MARGIN // 2 + (line + 0.5) * LINE), text, ink, font, anchor="lm")
    return picture


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


def standing(performance: Performance, moment: Moment) -> str:
    """Who plays, and how it stands."""
    episode = f"episode {moment.episode + 1} of {performance.episodes}, " if performance.episodes > 1 else ""
    return f"policy {performance.policy}, {episode}step {moment.step}, return {moment.total_reward:g}"


def encode(frames: Sequence[Image.Image], file_format: str, fps: float) -> bytes:
    """Frames as the bytes of an animation that begins again when it is over."""
    pause = max(20, 10 * round(100 / fps))  # GIF counts hundredths of a second
    pauses = [pause] * (len(frames) - 1) + [max(pause, LAST_PAUSE)]
    images = _on_one_palette(frames)
    options: dict[str, Any] = {"optimize": False}
    if file_format == "WEBP":
        options = {"lossless": True, "quality": 40, "method": 4, "kmin": 0, "kmax": 0}  # no frames in full between
    content = io.BytesIO()
    images[0].save(content, file_format, save_all=True, append_images=images[1:], duration=pauses, loop=0, **options)
    return content.getvalue()


def _on_one_palette(frames: Sequence[Image.Image]) -> list[Image.Image]:
    """All frames in the same colours, so that what stands still between two frames takes no bytes.

    The commonest colours are kept as they are: white stays white. The others become the nearest of a mixture.
    """
    chosen = [frames[place] for place in np.linspace(0, len(frames) - 1, PALETTE_SAMPLES).astype(int)]
    sheet = Image.fromarray(np.concatenate([np.asarray(frame) for frame in chosen]))
    counted: Any = sheet.getcolors(sheet.width * sheet.height)
    commonest = [colour for _count, colour in sorted(counted, reverse=True)[:EXACT_COLOURS]]
    mixed = np.array(sheet.quantize(MIXED_COLOURS, dither=Image.Dither.NONE).getpalette()).reshape(-1, 3)
    # Pillow finds the nearest colour only roughly, so a rare twin of a common colour would take its place.
    kept = np.array(commonest[:1])
    for colour in [*commonest[1:], *mixed]:
        if np.abs(kept - colour).max(axis=1).min() > TWINS:
            kept = np.vstack([kept, colour])
    palette = Image.new("P", (1, 1))
    palette.putpalette(kept.ravel().tolist())
    return [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]


def format_of(out: Path) -> str:
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"--out {out} ends in '{out.suffix}'; valid: a name that ends in {' or '.join(FORMATS)}")
    return FORMATS[out.suffix.lower()]
