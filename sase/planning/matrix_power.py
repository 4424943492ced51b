"""Powers of a small matrix whose steps never lead back, and numbers that no float can hold.

What grows exponentially is kept divided by a number, whose logarithm is beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, log
from operator import mul
from typing import TypeAlias

# A step: of what is in a state, a row each, the shares that go to every state, none to an earlier.
Matrix: TypeAlias = tuple[tuple[float, ...], ...]
# What is in each state, divided by a number, and the logarithm of that.
Sizes: TypeAlias = tuple[tuple[float, ...], float]


@lru_cache(maxsize=256)  # plans among which is chosen have many steps in common
def power(step: Matrix, times: int) -> Sizes:
    """What there is after so many steps if at first there is 1 in the first state."""
    vector, scale = (1.0, *(0.0 for _ in step[1:])), 0.0
    square, square_scale = step, 0.0
    while times:
        if times & 1:
            vector, more = _scaled(after(vector, square))
            scale += square_scale + more
        times >>= 1
        if times:
            square, more = _scaled_matrix(_product(square, square))
            square_scale = 2 * square_scale + more
    return vector, scale


def after(vector: Sequence[float], step: Matrix) -> tuple[float, ...]:
    """What there is after one step more."""
    return tuple(sum(map(mul, vector, column)) for column in zip(*step, strict=True))


def _product(one: Matrix, other: Matrix) -> Matrix:
    columns = tuple(zip(*other, strict=True))
    return tuple(
        (
            *(0.0 for _ in range(place)),
            *(
                sum(map(mul, row[place : end + 1], columns[end][place : end + 1]))
                for end in range(place, len(row))
            ),
        )
        for place, row in enumerate(one)
    )


def _scaled_matrix(matrix: Matrix) -> tuple[Matrix, float]:
    most = max(map(max, matrix))
    return tuple(tuple(each / most for each in row) for row in matrix), log(most)


def _scaled(vector: tuple[float, ...]) -> Sizes:
    most = max(vector)
    return tuple(each / most for each in vector), log(most)


# ---------------------------------------------------------------- logarithms


def log_of(number: float) -> float:
    """The logarithm of a number, which of nothing is the least of all."""
    return log(number) if number > 0 else -inf


def log_mean(logarithms: Sequence[float], weights: Sequence[float]) -> float:
    """The logarithm of the weighted mean of numbers of which the logarithms are given."""
    most = max(logarithms)
    if most == -inf:
        return most
    parts = [exp(each - most) for each in logarithms]
    return most + log(sum(map(mul, parts, weights)) / sum(weights))
