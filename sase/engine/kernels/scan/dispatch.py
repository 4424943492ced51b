"""Route events to the queries that read them, by type and by the values of attributes.

A *bucket* is a condition on one event that several queries share: its type, or its type and the
value of an attribute. Each event is looked up once for all queries; each bucket lists its readers.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Codes, IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# Rows of `by_type`, indexed by the code of a type plus one: the bucket of the type itself, and the
# range of its probes.
BUCKET, FIRST, END = range(3)
# Rows of `probes`: the row of values to read; the least value, the number of consecutive values,
# and where their buckets begin in `near`. SIZE is 0 for values far apart, which are in a hash
# table.
COLUMN, LEAST, SIZE, START = range(4)
# Rows of the hash table of values: probe, value and bucket, which is negative in an empty slot.
PROBE, VALUE, FOUND = range(3)
# Rows of the `state` of `deal`, by reader: the last place it got, and where it writes next.
LAST, NEXT = range(2)
# An odd factor that spreads values of 32 bits over the table, within 63 bits.
FACTOR, BITS = 0x61C88647, 0xFFFFFFFF


@inlined
def slot_of(probe: int, value: int, mask: int) -> int:
    """The slot where the search for a probe's value begins."""
    mixed = (((value ^ (value >> 31)) & BITS) ^ probe) * FACTOR
    return ((mixed >> 31) ^ mixed) & mask


@kernel
def fill_table(entries: IntRows, table: OutIntRows) -> None:
    """Insert entries of probe, value and bucket into an empty table (a power of two of slots)."""
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
    """Append place and bucket of every hit to `out`, after `count` others; return the new count.

    `counts` counts hits by bucket plus one. `out` needs room for one hit more, since each is
    written before it is tested.
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
    """Append the places of hits, and `rows` of their events, to the output of the readers."""
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
