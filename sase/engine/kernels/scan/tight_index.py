"""Matches of negative sequences, indexed by last event with the latest start so far.

Of the matches that have ended, only the latest start matters; see `chains.py`.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import (
    IntRows,
    Ints,
    OutFlags,
    OutIntCubes,
    OutIntRows,
    OutInts,
)
from sase.engine.kernels.scan.chains import CUT, is_later, latest_start, lead_to, settle
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored, gap_of, jump_over
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING

# Rows of `starts`: tie and measure of a match's first event.
START, START_MEASURE = range(2)


@kernel
def note_chains(
    arrivals: Arrivals, bits: Ints, absences: IntRows, chains: OutIntCubes, latest: OutIntRows,
    index: NegativeIndex, starts: OutIntRows,
) -> None:  # fmt: skip
    """Extend chains by the arrivals; index each match that starts later than all before it.

    `bits` are those of the steps. Each row of `absences` is a bit and the step behind which its
    events cut chains.
    """
    last, mask, every = bits.shape[0] - 1, index.row.shape[0] - 1, 0
    for step in range(last + 1):
        every |= 1 << bits[step]
    for number in range(absences.shape[0]):
        every |= 1 << absences[number, 0]
    for i in range(arrivals.rows.shape[0]):
        states, key, tie = arrivals.states[i], arrivals.keys[i], arrivals.ties[i]
        if key < 0 or states & every == 0:
            continue
        for step in range(last, -1, -1):
            if not (states >> bits[step]) & 1:
                continue
            start, measure = tie, arrivals.measures[i]
            if step > 0:
                settle(chains[key, step - 1], tie)
                start, measure = latest_start(chains[key, step - 1], tie)
                if start == EARLIEST:
                    continue
            if step < last:
                settle(chains[key, step], tie)
                lead_to(chains[key, step], tie, start, measure)
            elif is_later(start, measure, latest[key, START], latest[key, START_MEASURE]):
                latest[key, START], latest[key, START_MEASURE] = start, measure
                number = index.sizes[0]
                place, top = number & mask, index.heads[key]
                index.row[place], index.tie[place] = arrivals.rows[i], tie
                index.measure[place] = arrivals.measures[i]
                index.below[place], index.jump[place], index.depth[place] = top, top, 0
                if top >= index.sizes[1]:
                    index.depth[place] = index.depth[top & mask] + 1
                    index.jump[place] = jump_over(index, top)
                index.heads[key], index.sizes[0] = number, number + 1
                starts[START, place], starts[START_MEASURE, place] = start, measure
        for number in range(absences.shape[0]):
            if (states >> absences[number, 0]) & 1:
                settle(chains[key, absences[number, 1]], tie)
                chains[key, absences[number, 1], CUT] = tie


@linked
def lies_inside(
    index: NegativeIndex, starts: OutIntRows, gap: Gap, stored: Stored, first: int, last: int,
    after: int, before: int,
) -> bool:  # fmt: skip
    """Whether a match of the negative sequence lies in a gap; the slots are those of `gap_of`."""
    at, earliest, bound = gap_of(index, gap, stored, first, last, after, before)
    if at < index.sizes[1]:
        return False
    place = at & (index.row.shape[0] - 1)
    return bool(starts[START, place] >= earliest and starts[START_MEASURE, place] >= bound)


@kernel
def forbid_tightly(
    index: NegativeIndex, starts: OutIntRows, gap: Gap, stored: Stored, mask: int,
    sequences: OutIntRows, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the sequences with a match of the negative sequence in their gap."""
    after, before, last = gap.levels[0], gap.levels[1], sequences.shape[0] - 1
    for number in range(keep.shape[0]):
        if keep[number]:
            keep[number] = not lies_inside(
                index, starts, gap, stored, sequences[0, number] & mask,
                sequences[last, number] & mask,
                sequences[after, number] & mask if after != NOTHING else NOTHING,
                sequences[before, number] & mask if before != NOTHING else NOTHING,
            )  # fmt: skip


@kernel
def forbid_matches_tightly(
    index: NegativeIndex, starts: OutIntRows, gap: Gap, stored: Stored, mask: int,
    events: OutInts, ends: OutInts, lengths: OutIntRows, at_end: bool, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` as `forbid_tightly` does, for matches with iterations.

    With `at_end` only matches with the gap at their end are considered, else only the others.
    """
    for number in range(keep.shape[0]):
        begin, end = ends[number - 1] if number > 0 else 0, ends[number]
        split = begin
        for level in range(gap.levels[0] + 1):
            split += lengths[level, number]
        if keep[number] and (split == end) == at_end:
            keep[number] = not lies_inside(
                index, starts, gap, stored, events[begin] & mask, events[end - 1] & mask,
                events[split - 1] & mask if split > begin else NOTHING,
                events[split] & mask if split < end else NOTHING,
            )  # fmt: skip
