"""Select matches that do not overlap: each begins after the last selected one has ended."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import OutFlags, OutInts


@kernel
def select_disjoint(
    groups: OutInts, begins: OutInts, ends: OutInts, taken: OutInts, keep: OutFlags
) -> None:
    """Write whether each match is selected; `taken` has by group the end of the last selected."""
    for number in range(keep.shape[0]):
        group = groups[number]
        keep[number] = begins[number] > taken[group]
        if keep[number]:
            taken[group] = ends[number]
