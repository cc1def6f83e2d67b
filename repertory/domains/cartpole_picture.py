"""A Cartpole state as a picture."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from repertory.domains.cartpole import THETA, CartpoleParams, X

WIDTH, HEIGHT = 600, 300
SMOOTHING = 4
TRACK_Y = 230
PIXELS_PER_METRE = 90
"""One scale for all tasks, so that a longer pole looks longer."""
PAPER, TRACK, CART, POLE, AXLE = "#ffffff", "#9aa0a6", "#202124", "#c26a1b", "#5b7fb5"


def draw(params: CartpoleParams, state: NDArray[np.float64]) -> NDArray[np.uint8]:
    """An array (300, 600, 3): heavier carts are larger, heavier poles thicker."""
    image = Image.new("RGB", (WIDTH * SMOOTHING, HEIGHT * SMOOTHING), PAPER)
    canvas = ImageDraw.Draw(image)

    def box(left: float, top: float, right: float, bottom: float, colour: str) -> None:
        canvas.rectangle([round(SMOOTHING * side) for side in (left, top, right, bottom)], fill=colour)

    def disc(x: float, y: float, radius: float, colour: str) -> None:
        canvas.ellipse([SMOOTHING * side for side in (x - radius, y - radius, x + radius, y + radius)], fill=colour)

    middle = WIDTH / 2
    reach = params.position_limit * PIXELS_PER_METRE
    box(middle - reach, TRACK_Y - 1, middle + reach, TRACK_Y + 1, TRACK)
    for side in (-reach, reach):
        box(middle + side - 1, TRACK_Y - 10, middle + side + 1, TRACK_Y + 10, TRACK)

    x = middle + state[X] * PIXELS_PER_METRE
    half_width = 26 * params.cart_mass ** (1 / 3)
    half_height = 13 * params.cart_mass ** (1 / 3)
    box(x - half_width, TRACK_Y - half_height, x + half_width, TRACK_Y + half_height, CART)

    length = 2 * params.half_length * PIXELS_PER_METRE
    axle_y = TRACK_Y - half_height / 2
    tip = (x + length * math.sin(state[THETA]), axle_y - length * math.cos(state[THETA]))
    thickness = 10 * math.sqrt(params.pole_mass / 0.1)
    ends = [SMOOTHING * x, SMOOTHING * axle_y, SMOOTHING * tip[0], SMOOTHING * tip[1]]
    canvas.line(ends, fill=POLE, width=round(SMOOTHING * thickness))
    disc(tip[0], tip[1], thickness / 2, POLE)
    disc(x, axle_y, thickness / 2, AXLE)
    return np.asarray(image.reduce(SMOOTHING), np.uint8)
