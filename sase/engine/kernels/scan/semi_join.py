"""Semi-join of events with the other events of a window: which may be part of a sequence."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Codes, IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.sentinels import window_end, window_start

# Rows of hits: the place of an event, and the number of the bucket that it is in.
PLACE, BUCKET = range(2)
# The bits of a mask: a column of the table of times each.
MOST_COLUMNS = 62
# Hits per step of their selection.
STEP = 128
# Rows of `classes`: the row of `slots` of the key, the span, and the range of the columns.
KEY, SPAN, FIRST, END = range(4)
# Rows of `noted`: a column, and the row of `slots` of its key.
COLUMN, SLOTS = range(2)


class JoinInput(NamedTuple):
    """The events: times, codes of types, and the slot of the value of each key."""

    ts: Ints
    types: Codes
    slots: IntRows


class JoinTables(NamedTuple):
    """The columns of the table of times, each a component of some readers, with a bit in masks.

    Columns with one key and one span are a class. `of_type` is for the code of a type plus one the
    range of `noted`: where the time of an event is noted.
    """

    classes: IntRows
    of_type: Ints
    noted: IntRows


@inlined
def note(reading: JoinInput, tables: JoinTables, place: int, times: OutIntRows) -> None:
    """Note the time of an event in the columns of its type."""
    code, noted = reading.types[place] + 1, tables.noted
    for at in range(tables.of_type[code], tables.of_type[code + 1]):
        times[reading.slots[noted[SLOTS, at], place], noted[COLUMN, at]] = reading.ts[place]


@kernel
def find_followers(
    hits: IntRows, count: int, reading: JoinInput, tables: JoinTables, times: OutIntRows,
    ends: OutInts, places: OutInts, masks: OutInts,
) -> None:  # fmt: skip
    """Write by bucket the places of hits, and the columns with an event after it in its window.

    `times` has the first time from there on by slot and column. `ends` has for each bucket the
    place after its last hit; afterwards that of its first one.
    """
    classes = tables.classes
    for back in range(count):
        hit = count - 1 - back
        place, bucket, found = hits[PLACE, hit], hits[BUCKET, hit], 0
        for each in range(classes.shape[1]):
            end = window_end(reading.ts[place], classes[SPAN, each])
            row = times[reading.slots[classes[KEY, each], place]]
            for column in range(classes[FIRST, each], classes[END, each]):
                found |= (row[column] <= end) << column
        ends[bucket] -= 1
        places[ends[bucket]], masks[ends[bucket]] = place, found
        note(reading, tables, place, times)


@kernel
def find_predecessors(
    hits: IntRows, count: int, reading: JoinInput, tables: JoinTables, times: OutIntRows,
    ends: OutInts, masks: OutInts,
) -> None:  # fmt: skip
    """Write by bucket the columns with an event before each hit, and within its window.

    `times` has the last time so far. `ends` has for each bucket the place of its first hit;
    afterwards that after its last one.
    """
    classes = tables.classes
    for hit in range(count):
        place, bucket, found = hits[PLACE, hit], hits[BUCKET, hit], 0
        for each in range(classes.shape[1]):
            start = window_start(reading.ts[place], classes[SPAN, each])
            row = times[reading.slots[classes[KEY, each], place]]
            for column in range(classes[FIRST, each], classes[END, each]):
                found |= (row[column] >= start) << column
        masks[ends[bucket]] = found
        ends[bucket] += 1
        note(reading, tables, place, times)


@kernel
def select_neighbours(
    places: Ints, masks: IntRows, begin: int, end: int, before: int, after: int, out: OutInts
) -> int:
    """Write the places of hits with all columns of `before` and of `after`; return how many.

    Mostly a step has none of these, and its test is vectorized.
    """
    count = 0
    for first in range(begin, end, STEP):
        last, passing = min(first + STEP, end), 0
        for hit in range(first, last):
            lacks = (before & ~masks[0, hit]) | (after & ~masks[1, hit])
            passing += lacks == 0
        if passing > 0:
            for hit in range(first, last):
                lacks = (before & ~masks[0, hit]) | (after & ~masks[1, hit])
                out[count] = places[hit]
                count += lacks == 0
    return count
