"""Finished matches as arrays for kernels, and copies of their events."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import copy
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows, OutInts


class MatchArrays(NamedTuple):
    """The events of all matches, the end of each match, and the lengths by level."""

    events: OutInts
    ends: OutInts
    lengths: OutIntRows


@inlined
def begin_of(ends: Ints, lengths: IntRows, level: int, number: int) -> int:
    """Return where the events of a component begin in a match."""
    begin = ends[number - 1] if number > 0 else 0
    for before in range(level):
        begin += lengths[before, number]
    return int(begin)


@kernel
def gather_level(events: Ints, ends: Ints, lengths: IntRows, level: int, out: OutInts) -> None:
    """Copy the events that a component binds in all matches, one after the other."""
    to = 0
    for number in range(ends.shape[0]):
        copy(events, begin_of(ends, lengths, level, number), out, to, lengths[level, number])
        to += lengths[level, number]


@kernel
def scatter_level(events: Ints, ends: Ints, lengths: IntRows, level: int, out: OutInts) -> None:
    """Copy the events of a component to their places among all events of the matches."""
    at = 0
    for number in range(ends.shape[0]):
        copy(events, at, out, begin_of(ends, lengths, level, number), lengths[level, number])
        at += lengths[level, number]


@kernel
def gather_ranges(given: Ints, begins: Ints, sizes: Ints, out: OutInts) -> None:
    """Copy the numbers of ranges, one after the other."""
    to = 0
    for number in range(begins.shape[0]):
        copy(given, begins[number], out, to, sizes[number])
        to += sizes[number]
