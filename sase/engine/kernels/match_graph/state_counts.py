"""Count matches through the states of an automaton, one pass for each start of a window.

Each state has the number of choices of events that lead to it, as digits to the base 2^62 with the
least one first. An event adds to a state the numbers of the states before it. Simultaneous events
may follow one another only within a set, so they lead to separate states, which are merged after
the last of them.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.match_graph.passes import EventPlaces, Frames
from sase.engine.kernels.sentinels import NOTHING

BITS = 62
DIGIT = 2**BITS - 1
# The bound of the last digit before an event, which adds at most as many counts as there are arcs.
SMALL = 2**31
# The reasons why the kernel stops: all frames are done, a pause, or counts need one more digit.
DONE, PAUSED, WIDER = range(3)
# Arcs that are followed between two checks of limits.
PATIENCE = 1 << 25
# Fields of the state: the frame, the place in it or NOTHING before it, and whether counts need
# another digit.
FRAME, AT, WIDE = range(3)
COUNTING_STATE = 3
# Rows of the sums: that of the frame, and that of all frames before.
OWN, ALL = range(2)


class Arcs(NamedTuple):
    """The arcs by move, from `bounds[move]` on; a move is twice the level, plus 1 if further."""

    bounds: Ints
    sources: Ints
    targets: Ints


@inlined
def add(into: OutIntRows, target: int, of: OutIntRows, source: int) -> bool:
    """Add a count to another one; return whether the sum is large."""
    carry, last = 0, into.shape[1] - 1
    for digit in range(last + 1):
        carry += into[target, digit] + of[source, digit]
        into[target, digit] = carry & DIGIT
        carry >>= BITS
    return bool(into[target, last] >= SMALL)


@inlined
def is_zero(counts: OutIntRows, row: int) -> bool:
    """Whether nothing leads to a state."""
    found = 0
    for digit in range(counts.shape[1]):
        found |= counts[row, digit]
    return bool(found == 0)


@linked
def follow(
    arcs: Arcs, begins: int, takes: int, closes: Ints, is_end: bool,
    counts: OutIntRows, arrived: OutIntRows, sums: OutIntRows, state: OutInts,
) -> int:  # fmt: skip
    """Follow the arcs of an event from all states at once; return the number of arcs."""
    steps, wide = 0, False
    for is_adding in range(2):
        for further in range(2):
            bits, move = takes if further else begins, further
            while bits != 0:
                begin, end = arcs.bounds[move], arcs.bounds[move + 1]
                for arc in range(begin, end if bits & 1 else begin):
                    source, target = arcs.sources[arc], arcs.targets[arc]
                    if not is_adding:
                        if not is_zero(counts, source):
                            wide |= add(arrived, target, counts, source)
                    elif not is_zero(arrived, target):
                        wide |= add(counts, target, arrived, target)
                        if is_end and closes[target] != 0:
                            wide |= add(sums, OWN, arrived, target)
                        arrived[target] = 0
                steps += end - begin if bits & 1 else 0
                bits >>= 1
                move += 2
    state[WIDE] |= int(wide)
    return int(steps)


@linked
def settle(plain: int, settled: Ints, counts: OutIntRows, state: OutInts) -> int:
    """Merge the states of simultaneous events after the last one; return how many are visited."""
    for each in range(plain, settled.shape[0]):
        if not is_zero(counts, each):
            state[WIDE] |= int(add(counts, settled[each], counts, each))
            counts[each] = 0
    return int(settled.shape[0] - plain)


@kernel
def count_frames(
    events: EventPlaces, frames: Frames, alone: Arcs, tied: Arcs, settled: Ints, closes: Ints,
    counts: OutIntRows, arrived: OutIntRows, sums: OutIntRows, state: OutInts,
) -> int:  # fmt: skip
    """Count the matches that end in the frames, from the last stop on; return why it stops.

    Row 0 of `counts` is the begin of matches. A state that is `settled` into itself is permanent.
    The states after these hold the counts of paths through simultaneous events.
    """
    plain = 0
    while plain < settled.shape[0] and settled[plain] == plain:
        plain += 1
    steps = 0
    while state[FRAME] < frames.low.shape[0]:
        frame = state[FRAME]
        low, beyond = frames.low[frame], frames.beyond[frame]
        if state[AT] == NOTHING:
            counts[:plain] = 0
            counts[0, 0] = 1
            state[AT] = low
        while state[AT] < beyond and state[WIDE] == 0:
            if steps >= PATIENCE:
                return PAUSED
            at = state[AT]
            is_last = at + 1 == beyond or events.before[at + 1] != events.before[at]
            is_tied = not is_last or (at > low and events.before[at - 1] == events.before[at])
            steps += follow(
                tied if is_tied else alone, events.begins[at], events.takes[at], closes,
                at >= frames.first[frame], counts, arrived, sums, state,
            )  # fmt: skip
            if is_tied and is_last:
                steps += settle(plain, settled, counts, state)
            state[AT] += 1
        if state[WIDE] == 1:
            return WIDER
        state[WIDE] |= int(add(sums, ALL, sums, OWN))
        sums[OWN] = 0
        state[FRAME], state[AT] = frame + 1, NOTHING
    return DONE
