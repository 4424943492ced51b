"""Matches that do not overlap: each begins after the one taken before it has ended."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutFlags, OutInts


@kernel
def select_disjoint(
    groups: OutInts, begins: OutInts, ends: OutInts, taken: OutInts, keep: OutFlags
) -> None:
    """Whether each match is taken; `taken` is by group the tie at which the last one ends."""
    for number in range(keep.shape[0]):
        group = groups[number]
        keep[number] = begins[number] > taken[group]
        if keep[number]:
            taken[group] = ends[number]
