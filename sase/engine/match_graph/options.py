"""How large the pieces are in which the match graph works, and how it counts."""

from __future__ import annotations

from dataclasses import dataclass

from sase.engine.match_graph.residues import BITS


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Sizes on which no result depends, but that `arcs` are the most that are kept.

    Where not `in_int64`, kernels count modulo primes what would fit as well.
    """

    # Pairs of events that are tested at a time, and arcs, of four bytes each.
    pairs: int = 1 << 18
    arcs: int = 1 << 28
    # Places that are written, frames that are counted modulo primes, and counts that are made anew,
    # at a time.
    chunk: int = 1 << 14
    # Steps of a kernel, a place and slot or an arc each, between two looks at limits.
    steps: int = 1 << 25
    batch: int = 1 << 10
    segment: int = 1 << 9
    in_int64: bool = True
    # The largest numbers for which primes are worth their passes.
    modular_bits: int = 128 * BITS


GRAPH_OPTIONS = GraphOptions()
