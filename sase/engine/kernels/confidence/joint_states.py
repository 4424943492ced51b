"""The position of a sweep over a candidate's worlds: masks of events, and words of states."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.confidence.joint_candidates import (
    FIRST_MEMBER,
    IN_GAP,
    LAST_MEMBER,
    STEPS,
    UNBOUND,
    WHICH,
    JointCandidates,
)
from sase.engine.kernels.confidence.sweep_states import WORD, StateSets, mark
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts

# Why a sweep stops: it is finished, it has tried many, states need more memory, or are too many.
DONE, PAUSED, CROWDED, TOO_MANY = range(4)
PATIENCE = 1 << 18
# The most simultaneous events outside of the candidate, and in a set: more events would have more
# subsets than the allowed number of states.
MOST_AT_ONCE, MOST_OF_A_SET = 16, 20

# Fields of a sweep: words of masks and of states, bits of an order's progress, the reach of the
# window, the most states, and whether the first and last event have fixed times, and which.
WORDS, KEY, BITS, REACH, MOST, HAS_FIRST, FIRST, HAS_LAST, LAST = range(9)
# Fields of the position: the segment, the number of cuts, whether the segment is begun; the sets of
# states with the events so far, and with one more time; the number of times; the next state; states
# tried.
SEGMENT, CUTS, BEGUN, LAYER, FOLLOWING, TIMES, AT, TRIED = range(9, 17)
POSITION = 17
FRESH = -1
# The set of states with any number of times in the segment.
TOTAL = 2
# The rows of `marks`: events that may be in a segment, those that end in it, those still needed.
HERE, OVER, NEEDED = range(3)
MARKS = 3


class Sweep(NamedTuple):
    """The position of a sweep, and its memory."""

    at: OutInts
    low: OutInts
    high: OutInts
    cuts: OutInts
    # Masks of events by step and by gap; other masks.
    steps: OutIntRows
    forbids: OutIntRows
    marks: OutIntRows
    # The events that may be at the next time, and for each event whether it is.
    free: OutInts
    placed: OutInts
    # The progress of each order before and after a time.
    before: OutInts
    after: OutInts
    key: OutInts
    sets: StateSets


@linked
def write_masks(one: JointCandidates, sweep: Sweep) -> None:
    """Write the masks of a candidate, and the width of its states."""
    at, events, longest = sweep.at, one.lo.shape[0], 1
    at[WORDS] = (events + WORD - 1) // WORD
    for order in range(one.orders.shape[0]):
        longest = max(longest, one.orders[order, LAST_MEMBER] - one.orders[order, FIRST_MEMBER])
    at[BITS] = 1
    while (1 << at[BITS]) - 1 <= longest:
        at[BITS] += 1
    fields = WORD // at[BITS]
    at[KEY] = at[WORDS] + (one.orders.shape[0] + fields - 1) // fields
    for word in range(at[WORDS]):
        for step in range(one.heads[0, STEPS]):
            sweep.steps[step, word] = 0
        for gap in range(one.heads[0, STEPS] + 1):
            sweep.forbids[gap, word] = 0
    for event in range(events):
        sweep.placed[event] = 0
        if one.step[event] != UNBOUND:
            mark(sweep.steps[one.step[event]], event)
    for number in range(one.gaps.shape[0]):
        mark(sweep.forbids[one.gaps[number, IN_GAP]], one.gaps[number, WHICH])


@inlined
def over_of(at: OutInts) -> int:
    """The progress of an order that can no longer forbid: above the length of any."""
    return int((1 << at[BITS]) - 1)


@linked
def read_orders(sweep: Sweep, key: OutInts, orders: int) -> None:
    """Read the progress of each order from a state."""
    bits, fields = sweep.at[BITS], WORD // sweep.at[BITS]
    for order in range(orders):
        word = key[sweep.at[WORDS] + order // fields]
        sweep.before[order] = (word >> (order % fields * bits)) & over_of(sweep.at)


@linked
def write_orders(sweep: Sweep, orders: int) -> None:
    """Write the progress of each order into the key."""
    bits, fields = sweep.at[BITS], WORD // sweep.at[BITS]
    for word in range(sweep.at[WORDS], sweep.at[KEY]):
        sweep.key[word] = 0
    for order in range(orders):
        word = sweep.at[WORDS] + order // fields
        sweep.key[word] |= sweep.after[order] << (order % fields * bits)


@linked
def phase(sweep: Sweep, steps: int, key: OutInts) -> tuple[int, bool]:
    """Return the step that is next or continues in a state, and whether it continues."""
    for step in range(steps):
        is_whole, is_begun = True, False
        for word in range(sweep.at[WORDS]):
            been = key[word] & sweep.steps[step, word]
            is_whole = is_whole and been == sweep.steps[step, word]
            is_begun = is_begun or been != 0
        if not is_whole:
            return step, is_begun
    return steps, False
