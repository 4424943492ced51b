"""Where a sweep over a candidate's worlds stands: masks of its events, and words of its states."""

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

# Why a sweep stops: it is over, it has tried much, states need more room, or there are too many.
DONE, PAUSED, CROWDED, TOO_MANY = range(4)
PATIENCE = 1 << 18
# The most events beside the candidate's that may be at one time; so many of a set that may be at
# one have more subsets than there may be states.
MOST_AT_ONCE, MOST_OF_A_SET = 16, 20

# Of what is swept: the words of masks and of states, the bits of an order's place, the reach of the
# window, the most states, and the times of the first and the last event where they are fixed.
WORDS, KEY, BITS, REACH, MOST, HAS_FIRST, FIRST, HAS_LAST, LAST = range(9)
# Of where it stands: the segment of so many cuts and whether it is begun, which set of states has
# the events so far and which those with one more time, how many times, and the next state.
SEGMENT, CUTS, BEGUN, LAYER, FOLLOWING, TIMES, AT, TRIED = range(9, 17)
POSITION = 17
FRESH = -1
# The set of states with any number of times in a segment.
TOTAL = 2
# The rows of `marks`: the events that may be in a segment, that are over with it, that matter yet.
HERE, OVER, NEEDED = range(3)
MARKS = 3


class Sweep(NamedTuple):
    """Where a sweep stands, and the room that it takes."""

    at: OutInts
    low: OutInts
    high: OutInts
    cuts: OutInts
    # By step, and by gap, a mask of events; and masks by what they say.
    steps: OutIntRows
    forbids: OutIntRows
    marks: OutIntRows
    # The events of which some may be at the next time, and whether each of all is.
    free: OutInts
    placed: OutInts
    # How far each order has come before a time, and after it.
    before: OutInts
    after: OutInts
    key: OutInts
    sets: StateSets


@linked
def write_masks(one: JointCandidates, sweep: Sweep) -> None:
    """Write the masks of a candidate, and how wide its states are."""
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
    """What stands for an order that cannot forbid any more: more than any has events."""
    return int((1 << at[BITS]) - 1)


@linked
def read_orders(sweep: Sweep, key: OutInts, orders: int) -> None:
    """Read how far each order has come in a state."""
    bits, fields = sweep.at[BITS], WORD // sweep.at[BITS]
    for order in range(orders):
        word = key[sweep.at[WORDS] + order // fields]
        sweep.before[order] = (word >> (order % fields * bits)) & over_of(sweep.at)


@linked
def write_orders(sweep: Sweep, orders: int) -> None:
    """Write how far each order has come afterwards into the key."""
    bits, fields = sweep.at[BITS], WORD // sweep.at[BITS]
    for word in range(sweep.at[WORDS], sweep.at[KEY]):
        sweep.key[word] = 0
    for order in range(orders):
        word = sweep.at[WORDS] + order // fields
        sweep.key[word] |= sweep.after[order] << (order % fields * bits)


@linked
def phase(sweep: Sweep, steps: int, key: OutInts) -> tuple[int, bool]:
    """Return the step that is next or goes on in a state, and whether it goes on."""
    for step in range(steps):
        is_whole, is_begun = True, False
        for word in range(sweep.at[WORDS]):
            been = key[word] & sweep.steps[step, word]
            is_whole = is_whole and been == sweep.steps[step, word]
            is_begun = is_begun or been != 0
        if not is_whole:
            return step, is_begun
    return steps, False
