"""Match windows: which events begin a window that may hold a match, and which are in one of those.

A pattern is a list of steps, each of some slots: a slot is a bit that some event must have, after
all events of the step before. Windows are kept apart by key, which is `NOTHING` for events that
count nowhere. Of the events of a key from one on, `ends` has for each slot the earliest measure at
which it and all steps behind it may be complete.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Flags, IntRows, Ints, OutFlags, OutIntRows, OutInts
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING

# What is counted of windows: those that may hold a match and their events, and why others may not.
WINDOWS, EVENTS, NOT_FIRST, INCOMPLETE, TOO_SMALL = range(5)
COUNTS = 5
# Powers of two that fit a word are all different modulo this.
BITS = 67


@kernel
def link(keys: Ints, last: OutInts, before: OutInts, ranks: OutInts) -> None:
    """Write for each event the one before it of its key, and how many are before it.

    `last` is by key the last event, of those that have one.
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
    """Return the earliest measure by which a step and all behind it may be complete, of a key.

    Behind the last step it is the `measure` of the event before.
    """
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

    From the measure `behind` on there may be any events after these: `LATEST` if there are none,
    of which windows up to that time take no notice.
    `first` are the bits of which the first event of a match is, `fewest` how many events it has;
    `slots` are by bits of levels, modulo `BITS`, the first slot, the end of the slots, and the step
    of the first one, in which others follow. `steps` has where the slots of each step begin, and
    where those of the last end. With `links`, of `link`, the events of windows are counted. The
    last of the `ends` of a key is 0 before there are others.
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
                # What the event does for one step it does not do for the step before.
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
    """Mark the events of windows that begin at `starts`; by key where the `latest` one begins.

    `EARLIEST` stands for none: of events about that time too many are marked.
    """
    for row in range(keys.shape[0]):
        key, measure = keys[row], measures[row]
        if key < 0:
            inside[row] = False
            continue
        if starts[row]:
            latest[key] = measure
        inside[row] = measure <= min(latest[key], LATEST - span) + span
