"""An office-rooms state as a picture, and as text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from repertory.domains.office_rooms import COLUMNS, FREE_CELLS, IS_FREE, ROWS, OfficeParams, X, Y

CELL = 20
WALL, FLOOR, GOAL, ROBOT = "#202124", "#ffffff", "#c26a1b", "#5b7fb5"


def draw(params: OfficeParams, state: NDArray[np.float64]) -> NDArray[np.uint8]:
    """An array (420, 480, 3)."""
    image = Image.new("RGB", (CELL * COLUMNS, CELL * ROWS), FLOOR)
    canvas = ImageDraw.Draw(image)
    for row, column in np.argwhere(~IS_FREE):
        _square(canvas, int(column), int(row), WALL)
    goal = int(FREE_CELLS[params.goal])
    _square(canvas, goal % COLUMNS, goal // COLUMNS, GOAL)
    x, y, radius = CELL * state[X], CELL * state[Y], 0.3 * CELL
    canvas.ellipse([x - radius, y - radius, x + radius, y + radius], fill=ROBOT)
    return np.asarray(image, np.uint8)


def _square(canvas: ImageDraw.ImageDraw, column: int, row: int, colour: str) -> None:
    canvas.rectangle([CELL * column, CELL * row, CELL * (column + 1) - 1, CELL * (row + 1) - 1], fill=colour)


def write(params: OfficeParams, state: NDArray[np.float64]) -> str:
    """A line for each row: # wall, G goal, R robot."""
    cells = np.where(IS_FREE, ".", "#")
    cells.flat[FREE_CELLS[params.goal]] = "G"
    cells[int(state[Y]), int(state[X])] = "R"
    return "\n".join("".join(row) for row in cells)
