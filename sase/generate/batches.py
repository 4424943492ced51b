"""Draw long streams in batches, with the same events as when drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
# So many values of a column, the next that the generator gives.
Draw = Callable[[np.random.Generator, int], Int64s]

ROWS = 2**20


def drawn_columns(
    rng: np.random.Generator, draws: Sequence[Draw], events: int, rows: int
) -> Iterator[list[Int64s]]:
    """The columns of one batch after the other, each column as one draw of all events gives it."""
    counts = [min(rows, events - first) for first in range(0, events, rows)]
    generators = _one_for_each(rng, draws, counts)
    for count in counts:
        yield [draw(own, count) for own, draw in zip(generators, draws, strict=True)]


def _one_for_each(
    rng: np.random.Generator, draws: Sequence[Draw], counts: list[int]
) -> list[np.random.Generator]:
    """For each column a generator at its beginning, which is where the column before it ends."""
    if len(counts) < 2:  # then they are drawn in that order anyway
        return [rng] * len(draws)
    generators = []
    for draw in draws:
        generators.append(deepcopy(rng))
        for count in counts:
            draw(rng, count)
    return generators
