"""Deal out events to the queries that read them: by type, and by values that are asked for.

A *bucket* is what several queries ask of an event alike: its type, or that and the value of an
attribute. An event is looked up once for all queries, and each bucket knows its readers.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Codes, IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# By the code of a type plus one: its own bucket, and from where to where its probes stand.
BUCKET, FIRST, END = range(3)
# Of a probe: which row of values it reads; from which value on, for so many, and from where on the
# buckets of these stand. Of values that lie far apart there are none: they stand in a table.
COLUMN, LEAST, SIZE, START = range(4)
# The rows of a table of values: the probe, the value, and the bucket, negative where it is empty.
PROBE, VALUE, FOUND = range(3)
# What is known of a reader while events are dealt out.
LAST, NEXT = range(2)
# An odd number by which values of 32 bits are spread over the table, within 63 bits.
FACTOR, BITS = 0x61C88647, 0xFFFFFFFF


@inlined
def slot_of(probe: int, value: int, mask: int) -> int:
    """Where a probe begins to look for a value."""
    mixed = (((value ^ (value >> 31)) & BITS) ^ probe) * FACTOR
    return ((mixed >> 31) ^ mixed) & mask


@kernel
def fill_table(entries: IntRows, table: OutIntRows) -> None:
    """Write entries of probe, value and bucket into an empty table of a power of two of places."""
    mask = table.shape[1] - 1
    for i in range(entries.shape[1]):
        slot = slot_of(entries[PROBE, i], entries[VALUE, i], mask)
        while table[FOUND, slot] >= 0:
            slot = (slot + 1) & mask
        for row in range(3):
            table[row, slot] = entries[row, i]


@kernel
def find_buckets(
    types: Codes,
    values: IntRows,
    by_type: IntRows,
    probes: IntRows,
    near: Ints,
    table: IntRows,
    counts: OutInts,
    first: int,
    count: int,
    out: OutIntRows,
) -> int:
    """Append place and bucket of every hit of events from the first on, to as many as there are.

    Count by bucket plus one, and return how many hits there are then. There is room for all and one
    more, since each is written before it is known to be one.
    """
    mask = table.shape[1] - 1
    for place in range(types.shape[0]):
        code = types[place] + 1
        bucket = by_type[BUCKET, code]
        out[0, count], out[1, count] = first + place, bucket
        counts[bucket + 1] += 1
        count += bucket >= 0
        for probe in range(by_type[FIRST, code], by_type[END, code]):
            value = values[probes[COLUMN, probe], place]
            least, size, bucket = probes[LEAST, probe], probes[SIZE, probe], NOTHING
            if size == 0:
                slot = slot_of(probe, value, mask)
                while table[FOUND, slot] >= 0:
                    if table[PROBE, slot] == probe and table[VALUE, slot] == value:
                        bucket = table[FOUND, slot]
                        break
                    slot = (slot + 1) & mask
            elif least <= value < least + size:
                bucket = near[probes[START, probe] + value - least]
            out[0, count], out[1, count] = first + place, bucket
            counts[bucket + 1] += 1
            count += bucket >= 0
    return count


@kernel
def deal(
    hits: IntRows,
    low: int,
    high: int,
    readers: Ints,
    first: int,
    rows: IntRows,
    state: OutIntRows,
    out: OutIntRows,
) -> None:
    """Append what some hits are, place and `rows` there, to those of the readers of their buckets.

    The rows are of events from the first on; each reader is given an event once. `readers` begins
    with where the readers of each bucket stand in it. The `state` has, by reader, the place that
    it was given last, and where in `out` it goes on: negative for one that is given nothing.
    """
    for i in range(low, high):
        place, bucket = hits[0, i], hits[1, i]
        for at in range(readers[bucket], readers[bucket + 1]):
            reader = readers[at]
            end = state[NEXT, reader]
            if end >= 0 and state[LAST, reader] != place:
                state[LAST, reader] = place
                state[NEXT, reader] = end + 1
                out[0, end] = place
                for row in range(rows.shape[0]):
                    out[row + 1, end] = rows[row, place - first]
