"""Chains of events that lead up to matches of negative sequences.

A match of a negative sequence lies in a gap if it starts after the begin of the gap and ends before
the end of it. So of all matches that have ended, only the one with the latest start matters. Each
step of the sequence keeps the latest start of a chain that leads up to it.

    b1  b2  c3  b4  c5  c6      SEQ(B b, C c): b2 c3, b4 c5; c6 adds no later start
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import IntRows, OutIntCubes, OutInts
from sase.engine.kernels.sentinels import EARLIEST

# Fields of a step: the tie of its last event; the latest start (tie and measure) of chains that end
# at that event, and of chains that end before it; the tie of the last event that cuts chains behind
# this step.
TIE, HERE, HERE_MEASURE, BEFORE, BEFORE_MEASURE, CUT = range(6)
FIELDS = 6
# Columns of `steps`: the bit of the step in a state; whether chains begin at it; for the last step
# of a sequence the level behind the gap that the sequence forbids, else `NOTHING`.
BIT, BEGINS, GAP = range(3)


class NegativeChains(NamedTuple):
    """The steps of all negative sequences, one sequence after another, and chains by partition."""

    steps: IntRows
    cuts: IntRows
    known: OutIntCubes


@inlined
def is_later(tie: int, measure: int, other: int, other_measure: int) -> bool:
    """Whether a start is after another one; simultaneous starts compare by measure."""
    return tie > other or (tie == other and measure > other_measure)


@inlined
def settle(step: OutInts, tie: int) -> None:
    """Drop the chains of a step that an event before `tie` has cut."""
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
    """Add a chain that ends at an event to its step."""
    if step[TIE] < tie:
        if is_later(step[HERE], step[HERE_MEASURE], step[BEFORE], step[BEFORE_MEASURE]):
            step[BEFORE], step[BEFORE_MEASURE] = step[HERE], step[HERE_MEASURE]
        step[TIE], step[HERE] = tie, EARLIEST
    if is_later(start, measure, step[HERE], step[HERE_MEASURE]):
        step[HERE], step[HERE_MEASURE] = start, measure


@inlined
def lead_on(chains: NegativeChains, states: int, key: int, measure: int, tie: int) -> None:
    """Extend, begin and cut chains by an event."""
    known = chains.known
    for step in range(chains.steps.shape[0] - 1, -1, -1):  # no event follows itself
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
