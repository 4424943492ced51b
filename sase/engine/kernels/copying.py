"""Numbers copied from one array to another."""

from __future__ import annotations

from sase.engine.kernels.compiling import Ints, OutInts, part


@part
def copy(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers, many at once."""
    for place in range(count):
        out[to + place] = given[begin + place]
