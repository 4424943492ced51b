"""Numbers copied from one array to another."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import Ints, OutInts, part, spliced

Eight = tuple[int, int, int, int, int, int, int, int]
BLOCK = 16


@part
def copy(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers, many at once."""
    for place in range(count):
        out[to + place] = given[begin + place]


@spliced
def copy_blocks(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers and up to fifteen behind them, for which there must be room.

    All sixteen by sixteen: a loop for those that are left over would end at another place each
    time, which the processor cannot foresee.
    """
    for place in range(0, count, BLOCK):
        eight = eight_of(given, begin + place)
        other = eight_of(given, begin + place + 8)
        put_eight(out, to + place, eight)
        put_eight(out, to + place + 8, other)


@spliced
def eight_of(given: Ints, at: int) -> Eight:
    """Eight numbers from a place on."""
    return (
        given[at], given[at + 1], given[at + 2], given[at + 3],
        given[at + 4], given[at + 5], given[at + 6], given[at + 7],
    )  # fmt: skip


@spliced
def put_eight(out: OutInts, at: int, eight: Eight) -> None:
    """Write eight numbers from a place on."""
    out[at], out[at + 1], out[at + 2], out[at + 3] = eight[0], eight[1], eight[2], eight[3]
    out[at + 4], out[at + 5], out[at + 6], out[at + 7] = eight[4], eight[5], eight[6], eight[7]
