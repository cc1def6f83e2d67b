"""Episodes in front of a person: an animated picture in a file or a page, or text in a terminal."""

from __future__ import annotations

import base64
import io
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from repertory.errors import UsageError
from repertory.paths import check_new_file, write_whole
from repertory.report.watching import PICTURE, TEXT, Moment, Performance, open_performance

FORMATS = {".gif": "GIF", ".webp": "WEBP"}
FASTEST = 50
"""Frames a second: the shortest pause that browsers keep to is 20 ms."""
LAST_PAUSE = 1500
"""Milliseconds that the last frame stays before an animation begins again."""
LINE, MARGIN, FONT_SIZE, SMALLEST_FONT, NARROWEST = 18, 8, 13, 8, 280
"""Of the caption below each frame, in pixels."""
PAPER, INK, PALE_INK = "#ffffff", "#202124", "#5f6368"
EXACT_COLOURS, MIXED_COLOURS, PALETTE_SAMPLES = 32, 96, 12
TWINS = 8
"""Colours that differ by no more than this count as one."""
PLAIN_FRAMES = 3
"""How many frames of an episode are printed where there is no terminal."""


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
IN_A_PAGE = Limits(frames=201, side=360, size=300_000, steps=201)
"""Two hundred steps are a whole episode of Cartpole, and enough of the thousand of POcman."""


# ------------------------------------------------------------------------------------------------- animations


def write_animation(performance: Performance, out: Path, fps: float | None = None) -> int:
    """Write all episodes to a file whose name ends in .gif or .webp; the number of bytes."""
    content = animate(performance, _format(out), fps, IN_A_FILE)
    write_whole(out, content)
    return len(content)


def embedded_animation(performance: Performance, file_format: str = "WEBP", fps: float | None = None) -> bytes:
    """The beginning of a performance as a small animated picture of at most 300 kB, for a page; see `data_uri`."""
    return animate(performance, file_format, fps, IN_A_PAGE)


def data_uri(animation: bytes) -> str:
    """What an `<img src=...>` takes."""
    kind = "gif" if animation.startswith(b"GIF") else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(animation).decode()}"


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


# --------------------------------------------------------------------------------------------------- terminal

LETTERS = {
    "#": ("blue on blue", ""),
    ".": ("dim", ""),
    "A": ("bold yellow", "agent"),
    "F": ("bold green", "food"),
    "P": ("bold red", "poison"),
    "G": ("bold magenta", "ghost"),
    "X": ("bold black on yellow", "both on one cell"),
}
"""Styles and meanings of the letters that mazes are written in."""


def show_in_terminal(performance: Performance, fps: float, console: Console) -> None:
    """All episodes as text, each frame drawn over the last."""
    legend: Text | None = None
    due = time.monotonic()
    with Live(console=console, auto_refresh=False) as live:
        for moment in performance.moments(TEXT):
            frame = str(moment.frame)
            legend = _legend(frame) if legend is None else legend
            stand = Text(standing(performance, moment), style="bold")
            live.update(Group(_in_colour(frame), stand, legend), refresh=True)
            due = max(due + 1 / fps, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def show_plainly(performance: Performance, console: Console) -> None:
    """A few frames of the first episode, one below the other: for logs and pipes."""
    every = math.ceil(performance.endings[0].step / (PLAIN_FRAMES - 1))
    for moment in performance.moments(TEXT, every):
        if moment.episode > 0:
            break
        if moment.frame is not None:
            console.print(Text(f"{moment.frame}\n{standing(performance, moment)}\n"), soft_wrap=True)


def _is_maze(frame: str) -> bool:
    return set(frame) <= {*LETTERS, "\n"}


def _legend(frame: str) -> Text:
    """What the letters of a maze mean."""
    present = {*frame, "X"} if _is_maze(frame) else set()
    meanings = [f"{letter} {meaning}" for letter, (_, meaning) in LETTERS.items() if meaning and letter in present]
    return Text(", ".join(meanings), style="dim")


def _in_colour(frame: str) -> Text:
    """A maze with every cell two characters wide, which is square in most terminals; other text as it is."""
    if not _is_maze(frame):
        return Text.from_ansi(frame)
    text = Text()
    for row in frame.splitlines():
        for letter in row:
            text.append(letter * 2 if letter == "#" else f"{letter} ", LETTERS[letter][0])
        text.append("\n")
    return text


# ---------------------------------------------------------------------------------------------------- command


def watch_in_console(
    path: Path,
    task: int | None,
    policy: int | None,
    episodes: int,
    seed: int,
    fps: float | None,
    explore: bool,
    out: Path | None,
    console: Console,
) -> None:
    """Show a policy of a run folder: in the terminal if its task can be written as text, else as a file."""
    if fps is not None and not 0 < fps <= FASTEST:
        raise UsageError(f"--fps is {fps:g}; valid: above 0 and at most {FASTEST}")
    performance = open_performance(path, task, policy, episodes, seed, explore)
    if out is None and TEXT not in performance.render_modes:
        out = Path(f"{_run_name(path)}-task{performance.task}.gif")
    if out is not None:
        _check_out(out, path)
    console.print(_heading(performance), soft_wrap=True)
    if out is not None:
        size = write_animation(performance, out, fps)
    elif console.is_interactive:
        show_in_terminal(performance, performance.usual_fps if fps is None else fps, console)
    else:
        show_plainly(performance, console)
    for ending in performance.endings:
        episode = f"episode {ending.episode + 1}: " if episodes > 1 else ""
        console.print(f"{episode}{ending.step} steps, return {ending.total_reward:g}", soft_wrap=True)
    if out is not None:
        console.print(f"written to {out} ({size / 1000:,.0f} kB)", soft_wrap=True)


def _heading(performance: Performance) -> str:
    lived, whole = len(performance.lifetime.rows), len(performance.lifetime.sequence)
    manner = "exploring" if performance.explore else "greedy"
    return (
        f"task {performance.task}: {performance.task_name}; policy {performance.policy}, {manner}, "
        f"as of block {lived} of {whole}"
    )


def _run_name(path: Path) -> str:
    """The folder's name; in a sweep, where all are called run-00 and so on, with the condition before it."""
    path = path.resolve()
    return f"{path.parent.name}-{path.name}" if path.name.startswith("run-") else path.name


def _format(out: Path) -> str:
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"--out {out} ends in '{out.suffix}'; valid: a name that ends in {' or '.join(FORMATS)}")
    return FORMATS[out.suffix.lower()]


def _check_out(out: Path, run: Path) -> None:
    _format(out)
    check_new_file(out)
    folder = out.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"--out {out} is in a folder that does not exist; next: make {out.parent}")
    if folder.is_relative_to(run.resolve()):
        raise UsageError(f"--out {out} is in the run's own folder, which is left as it is; choose another")
