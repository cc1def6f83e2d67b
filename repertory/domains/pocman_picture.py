"""A POcman state as a picture or as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from repertory.domains.pocman import AGENT_X, AGENT_Y, OBJECT_X, OBJECT_Y, STATIC, PocmanParams

CELL = 40
SMOOTHING = 4
FLOOR, WALL = "#0b0b14", "#1b2a7a"
AGENT, FOOD = "#ffd91a", "#ffc9a3"
GLASS, POISON, CORK, INK = "#d5ead9", "#3fae4a", "#a9743f", "#101010"
FRIGHTENED, ANGRY, EYE, PUPIL, PALE = "#2f55ff", "#ee2b2b", "#ffffff", "#1a1aa6", "#ffe3c8"


def write(params: PocmanParams, state: NDArray[np.int64]) -> str:
    """Rows of text: # wall, A agent, F food, P poison, G ghost, X agent and object on one cell."""
    rows = [["." if free else "#" for free in row] for row in params.passable]
    static_letter = "F" if params.reward > 0 else "P"
    rows[state[OBJECT_Y]][state[OBJECT_X]] = static_letter if params.movement == STATIC else "G"
    rows[state[AGENT_Y]][state[AGENT_X]] = "X" if in_touch(state) else "A"
    return "\n".join("".join(row) for row in rows)


def draw(params: PocmanParams, state: NDArray[np.int64]) -> NDArray[np.uint8]:
    """An array (40 height, 40 width, 3) of the maze with a yellow agent and its object.

    Food is a pellet, poison a bottle, a moving object a ghost: blue if touching it is good, red if not. On the
    agent's own cell it is drawn small, in the agent's mouth.
    """
    height, width = params.passable.shape
    image = Image.new("RGB", (width * CELL * SMOOTHING, height * CELL * SMOOTHING), FLOOR)
    canvas = ImageDraw.Draw(image)
    for y, x in np.argwhere(params.passable == 0):
        Pen(canvas, x, y).box(-0.5, -0.5, 0.5, 0.5, WALL)
    draw_agent(Pen(canvas, state[AGENT_X], state[AGENT_Y]))
    shift, scale = (0.22, 0.6) if in_touch(state) else (0.0, 1.0)
    pen = Pen(canvas, state[OBJECT_X] + shift, state[OBJECT_Y], scale)
    if params.movement != STATIC:
        draw_ghost(pen, frightened=params.reward > 0)
    elif params.reward > 0:
        draw_food(pen)
    else:
        draw_poison(pen)
    return np.asarray(image.reduce(SMOOTHING), np.uint8)


def in_touch(state: NDArray[np.int64]) -> bool:
    return bool(state[AGENT_X] == state[OBJECT_X] and state[AGENT_Y] == state[OBJECT_Y])


class Pen:
    """Draws in one cell: (0, 0) is its middle and its sides are at -0.5 and 0.5, y pointing down."""

    def __init__(self, canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float = 1.0) -> None:
        self._canvas = canvas
        self._middle = (float(x) + 0.5, float(y) + 0.5)
        self._scale = scale

    def _pixels(self, points: Sequence[float]) -> list[float]:
        """Picture coordinates of x, y, x, y, ... in the cell."""
        return [CELL * SMOOTHING * (self._middle[i % 2] + self._scale * value) for i, value in enumerate(points)]

    def box(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        left, top, right, bottom = self._pixels((left, top, right, bottom))
        self._canvas.rectangle([round(left), round(top), round(right) - 1, round(bottom) - 1], fill=colour)

    def disc(self, x: float, y: float, radius: float, colour: str) -> None:
        self._canvas.ellipse(self._pixels((x - radius, y - radius, x + radius, y + radius)), fill=colour)

    def wedge(self, x: float, y: float, radius: float, start: float, end: float, colour: str) -> None:
        """A part of a disc, from one angle to another in degrees, clockwise from east."""
        self._canvas.pieslice(self._pixels((x - radius, y - radius, x + radius, y + radius)), start, end, fill=colour)

    def polygon(self, points: Sequence[float], colour: str) -> None:
        self._canvas.polygon(self._pixels(points), fill=colour)

    def line(self, points: Sequence[float], width: float, colour: str) -> None:
        pixels = self._pixels(points)
        self._canvas.line(pixels, fill=colour, width=round(CELL * SMOOTHING * self._scale * width), joint="curve")


def draw_agent(pen: Pen) -> None:
    pen.wedge(0, 0, 0.42, 35, 325, AGENT)
    pen.disc(0.04, -0.22, 0.055, FLOOR)


def draw_food(pen: Pen) -> None:
    pen.disc(0, 0, 0.2, FOOD)


def draw_poison(pen: Pen) -> None:
    pen.box(-0.08, -0.42, 0.08, -0.3, CORK)
    pen.box(-0.11, -0.31, 0.11, -0.1, GLASS)
    pen.disc(0, 0.13, 0.29, GLASS)
    pen.disc(0, 0.13, 0.23, POISON)
    for side in (-1, 1):
        pen.line((-0.12 * side, 0.03, 0.12 * side, 0.24), 0.05, INK)


def draw_ghost(pen: Pen, frightened: bool) -> None:
    body = FRIGHTENED if frightened else ANGRY
    feet = (0.36, 0.4, 0.18, 0.28, 0.0, 0.4, -0.18, 0.28, -0.36, 0.4)
    pen.wedge(0, -0.05, 0.36, 180, 360, body)
    pen.polygon((-0.36, -0.06, 0.36, -0.06, *feet), body)
    if frightened:
        pen.line((-0.22, 0.17, -0.11, 0.09, 0, 0.17, 0.11, 0.09, 0.22, 0.17), 0.05, PALE)
    for side in (-1, 1):
        if frightened:
            pen.disc(0.13 * side, -0.1, 0.06, PALE)
        else:
            pen.disc(0.14 * side, -0.1, 0.105, EYE)
            pen.disc(0.14 * side + 0.02, -0.08, 0.055, PUPIL)
            pen.line((0.25 * side, -0.27, 0.06 * side, -0.19), 0.05, INK)
