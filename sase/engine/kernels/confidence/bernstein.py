"""Polynomials of time on a segment in the discrete Bernstein basis, without cancellation.

With u the number of times of a segment of length L before a time, and v the number after it,

    f = Σ a_j · C(u, j) · C(v, D − j) / C(L − 1, D)        u + v = L − 1

A row holds the coefficients. For L = 1 it is one number; otherwise the degree D is below L.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import linked
from sase.engine.kernels.jit.signatures import Layout

OutFloats = Annotated[NDArray[np.float64], Layout("float64", 1, writable=True)]
OutFloatRows = Annotated[NDArray[np.float64], Layout("float64", 2, writable=True)]


@linked
def multiply(row: OutFloats, degree: int, length: int, by_u: float, by_v: float, by: float) -> int:
    """Multiply by `by_u · u + by_v · v + by`, and return the new degree."""
    if length == 1:
        row[0] *= by
        return 0
    rest = float(length - 1)
    row[degree + 1] = 0.0
    for place in range(degree, -1, -1):
        value = row[place] / (degree + 1.0)
        below = by_u * place + by_v * (rest - place) + by
        above = by_u * (rest - degree + place) + by_v * (degree - place) + by
        row[place + 1] += value * (place + 1.0) * above
        row[place] = value * (degree + 1.0 - place) * below
    return degree + 1


@linked
def sum_before(row: OutFloats, degree: int, length: int) -> int:
    """Replace the polynomial by its sum over all earlier times; return the new degree."""
    if length == 1:
        row[0] = 0.0
        return 0
    share = (length - 1.0 - degree) / (degree + 1.0)
    before = 0.0
    carried = 0.0
    for place in range(degree + 2):
        value = row[place] if place <= degree else 0.0
        row[place] = carried + before * share
        carried = 0.0
        if place <= degree:
            row[place] += before * (degree + 1.0 - place) / (degree + 1.0)
            carried = before * (place + 1.0) / (degree + 1.0)
        before += value
    return degree + 1


@linked
def total_of(row: OutFloats, degree: int, length: int) -> float:
    """Sum over all times of the segment."""
    found = 0.0
    for place in range(degree + 1):
        found += row[place]
    return found * length / (degree + 1.0)


@linked
def raised(row: OutFloats, degree: int, length: int, wanted: int) -> int:
    """Convert the polynomial to a higher degree."""
    while degree < wanted and length > 1:
        degree = multiply(row, degree, length, 0.0, 0.0, 1.0)
    return degree


@linked
def copied(row: OutFloats, to: OutFloats, degree: int, share: float) -> None:
    """Copy a polynomial, times a factor."""
    for place in range(degree + 1):
        to[place] = row[place] * share


@linked
def add(row: OutFloats, to: OutFloats, degree: int) -> None:
    """Add a polynomial of the same degree."""
    for place in range(degree + 1):
        to[place] += row[place]
