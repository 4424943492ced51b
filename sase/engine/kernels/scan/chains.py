"""Chains of events that lead up to matches of negative sequences: of each step the latest start.

A match of a sequence lies in a gap if its last event is before the end of the gap and its first
one behind the begin, so of all matches that ended by a time the one that starts last tells whether
there is any. Chains find it: of each step the latest start of one that leads up to it.

    b1  b2  c3  b4  c5  c6      SEQ(B b, C c): b2 c3, b4 c5, and c6 brings nothing new
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import IntRows, OutIntCubes, OutInts
from sase.engine.kernels.sentinels import EARLIEST

# What a step knows of the chains that lead up to it: the tie of its last event; the latest start,
# as tie and measure, of chains that end there, and of those that end before; the tie of the last
# event since that keeps chains from going on.
TIE, HERE, HERE_MEASURE, BEFORE, BEFORE_MEASURE, CUT = range(6)
FIELDS = 6
# Of a step its bit among the states; whether chains begin at it; and of the last one of a sequence
# the level behind the gap that it forbids, of others `NOTHING`.
BIT, BEGINS, GAP = range(3)


class NegativeChains(NamedTuple):
    """Of sequences, one behind the other, the steps; the cuts; and by partition what steps know.

    A cut is the bit of an absence, with the step behind which it ends chains.
    """

    steps: IntRows
    cuts: IntRows
    known: OutIntCubes


@inlined
def is_later(tie: int, measure: int, other: int, other_measure: int) -> bool:
    """Whether a start is after another one; of simultaneous ones positions tell, where measured."""
    return tie > other or (tie == other and measure > other_measure)


@inlined
def settle(step: OutInts, tie: int) -> None:
    """Forget the chains that an event before `tie` keeps from going on."""
    if step[CUT] != EARLIEST and step[CUT] < tie:
        if step[TIE] < step[CUT]:
            step[HERE] = EARLIEST
        step[BEFORE] = EARLIEST
        step[CUT] = EARLIEST


@inlined
def latest_start(step: OutInts, tie: int) -> tuple[int, int]:
    """Return the latest start of a chain that ends strictly before `tie`, as tie and measure."""
    if step[TIE] < tie and is_later(
        step[HERE], step[HERE_MEASURE], step[BEFORE], step[BEFORE_MEASURE]
    ):
        return int(step[HERE]), int(step[HERE_MEASURE])
    return int(step[BEFORE]), int(step[BEFORE_MEASURE])


@inlined
def lead_to(step: OutInts, tie: int, start: int, measure: int) -> None:
    """Note a chain that leads up to an event."""
    if step[TIE] < tie:
        if is_later(step[HERE], step[HERE_MEASURE], step[BEFORE], step[BEFORE_MEASURE]):
            step[BEFORE], step[BEFORE_MEASURE] = step[HERE], step[HERE_MEASURE]
        step[TIE], step[HERE] = tie, EARLIEST
    if is_later(start, measure, step[HERE], step[HERE_MEASURE]):
        step[HERE], step[HERE_MEASURE] = start, measure


@inlined
def lead_on(chains: NegativeChains, states: int, key: int, measure: int, tie: int) -> None:
    """Lead chains on by an event."""
    known = chains.known
    for step in range(chains.steps.shape[0] - 1, -1, -1):  # as an event never follows itself
        if not (states >> chains.steps[step, BIT]) & 1:
            continue
        start, start_measure = tie, measure
        if not chains.steps[step, BEGINS]:
            settle(known[key, step - 1], tie)
            start, start_measure = latest_start(known[key, step - 1], tie)
        if start != EARLIEST:
            settle(known[key, step], tie)
            lead_to(known[key, step], tie, start, start_measure)
    for number in range(chains.cuts.shape[0]):
        if (states >> chains.cuts[number, BIT]) & 1:
            step = chains.cuts[number, 1]
            settle(known[key, step], tie)
            known[key, step, CUT] = tie
