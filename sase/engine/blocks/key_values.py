"""The values of keys as numbers that are equal where the values are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Vector
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER


def is_plain(lane: Vector) -> bool:
    """Whether values are equal where their numbers are, among those of the same tag."""
    return isinstance(lane.tag, int) and lane.tag != FLOAT


def classed(lane: Vector) -> list[Numbers]:
    """The class of each value and its number, whatever kinds there are.

    An integral float is the integer that it equals, and a decimal the float.
    """
    bits = np.ascontiguousarray(lane.values).view(np.int64)
    tags = np.broadcast_to(lane.tag, bits.shape)
    classes, numbers = np.full(len(bits), INTEGER, np.int64), bits.copy()
    reals = bits.view(np.float64)
    is_real = tags == FLOAT
    if lane.valid is not None:
        is_real = is_real & lane.valid
    whole = is_real.copy()
    whole[is_real] = (
        (np.floor(reals[is_real]) == reals[is_real]) & (reals[is_real] >= -(2.0**63))
        & (reals[is_real] < 2.0**63)
    )  # fmt: skip
    numbers[whole] = reals[whole].astype(np.int64)
    classes[is_real & ~whole] = FLOAT
    for place in np.flatnonzero(tags >= EXACT):
        classes[place], numbers[place] = _simplest(int(bits[place]), int(tags[place]) - EXACT)
    return [classes, numbers]


def _simplest(units: int, scale: int) -> tuple[int, int]:
    """A decimal or time as what it equals: an integer, a float, or the fewest digits."""
    value = Fraction(units, 10**scale)
    if value.denominator == 1:
        return INTEGER, int(value)
    if Fraction(float(value)) == value:
        return FLOAT, int(np.float64(float(value)).view(np.int64))
    while units % 10 == 0:
        units, scale = units // 10, scale - 1
    return EXACT + scale, units
