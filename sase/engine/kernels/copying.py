"""Numbers copied from one array to another."""

from __future__ import annotations

from sase.engine.kernels.compiling import Ints, OutInts, part


@part
def copy(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers, many at once.

    A loop over places that begin anywhere makes sure that none is negative, one by one.
    """
    source, target = given[begin : begin + count], out[to : to + count]
    for place in range(count):
        target[place] = source[place]
