"""Match windows: which events begin a window that may hold a match, and which events are in one.

A pattern is a list of steps, each of some slots. A slot is a bit that some event must have, after
all events of the step before. Each key has its own windows; the key `NOTHING` has none. Events are
read backwards: `ends` holds, by key and slot, the earliest measure by which the slot and all later
steps can be complete.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Flags, IntRows, Ints, OutFlags, OutIntRows, OutInts
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING

# Counters: windows that may hold a match, their events, and by reason the starts ruled out.
WINDOWS, EVENTS, NOT_FIRST, INCOMPLETE, TOO_SMALL = range(5)
COUNTS = 5
# All powers of two below 2**64 are distinct modulo this prime: a perfect hash of bits.
BITS = 67


@kernel
def link(keys: Ints, last: OutInts, before: OutInts, ranks: OutInts) -> None:
    """Write for each event the previous event of its key, and its rank in the key.

    `last` is by key the last event, if it has one.
    """
    for row in range(keys.shape[0]):
        if keys[row] >= 0:
            last[keys[row]] = NOTHING
    for row in range(keys.shape[0]):
        key = keys[row]
        if key >= 0:
            before[row] = last[key]
            ranks[row] = 0 if last[key] == NOTHING else ranks[last[key]] + 1
            last[key] = row


@inlined
def _end_of(step: int, measure: int, steps: Ints, ends: OutIntRows, key: int) -> int:
    """Return the earliest measure by which the steps behind `step` can be complete for a key."""
    end = measure
    if step + 1 < steps.shape[0]:
        for slot in range(steps[step], steps[step + 1]):
            end = max(end, ends[key, slot])
    return end


@kernel
def mark_starts(
    states: Ints,
    keys: Ints,
    measures: Ints,
    span: int,
    behind: int,
    first: int,
    fewest: int,
    slots: IntRows,
    steps: Ints,
    links: tuple[Ints, Ints, OutInts],
    ends: OutIntRows,
    starts: OutFlags,
    counts: OutInts,
) -> None:
    """Mark the events that begin a window that may hold a match.

    Unknown events may follow from the measure `behind` on, so windows that reach it are kept;
    `LATEST` if none follow. `first` are the bits of a match's first event, `fewest` the least
    number of its events. `slots` has by bit modulo `BITS` the first slot, the end of the slots, and
    the step of the first one. `steps` has the first slot of each step, and the end of the last.
    With `links`, as `link` writes them, events in windows are counted. The last of the `ends` of a
    key is 0 until the others are set.
    """
    before, ranks, last = links
    count = ends.shape[1] - 1
    for row in range(keys.shape[0] - 1, -1, -1):
        key, measure, state = keys[row], measures[row], states[row]
        starts[row] = False
        if key < 0:
            continue
        until = min(measure, LATEST - span) + span
        if not ends[key, count]:
            ends[key, count] = 1
            for slot in range(count):
                ends[key, slot] = behind
        rest = state
        while rest != 0:
            bit = rest & -rest
            rest ^= bit
            place = slots[bit % BITS]
            for slot in range(place[0], place[1]):
                # An event fills only one step: slots are updated from the first step on, so that it
                # does not serve the step before as well.
                ends[key, slot] = _end_of(place[2] + slot - place[0] + 1, measure, steps, ends, key)
        size = fewest
        if before.shape[0]:
            while measures[last[key]] > until:
                last[key] = before[last[key]]
            size = ranks[last[key]] - ranks[row] + 1
        if not state & first:
            counts[NOT_FIRST] += 1
        elif _end_of(0, EARLIEST, steps, ends, key) > until:
            counts[INCOMPLETE] += 1
        elif size < fewest and behind > until:
            counts[TOO_SMALL] += 1
        else:
            counts[WINDOWS] += 1
            counts[EVENTS] += size
            starts[row] = True


@kernel
def mark_windows(
    keys: Ints, measures: Ints, span: int, starts: Flags, latest: OutInts, inside: OutFlags
) -> None:
    """Mark the events in windows that begin at `starts`; `latest` is by key the last begin.

    `EARLIEST` means none; near that measure too many events are marked.
    """
    for row in range(keys.shape[0]):
        key, measure = keys[row], measures[row]
        if key < 0:
            inside[row] = False
            continue
        if starts[row]:
            latest[key] = measure
        inside[row] = measure <= min(latest[key], LATEST - span) + span
