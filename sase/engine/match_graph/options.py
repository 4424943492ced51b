"""The sizes of pieces in which the match graph works."""

from __future__ import annotations

from dataclasses import dataclass

from sase.engine.match_graph.residues import BITS


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Sizes that do not affect results, except that `arcs` is the most that are stored.

    Without `in_int64`, kernels count modulo primes even if int64 suffices.
    """

    # Pairs of events tested at a time; the most arcs, of four bytes each.
    pairs: int = 1 << 18
    arcs: int = 1 << 28
    # Places written, frames counted modulo primes, and counts recomputed at a time.
    chunk: int = 1 << 14
    # Steps of a kernel between checks; a step is a place and slot, or an arc.
    steps: int = 1 << 25
    batch: int = 1 << 10
    segment: int = 1 << 9
    in_int64: bool = True
    # The largest numbers, in bits, for which counting modulo primes pays.
    modular_bits: int = 128 * BITS


GRAPH_OPTIONS = GraphOptions()
