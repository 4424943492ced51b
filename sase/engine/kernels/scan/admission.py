"""Admit the events of a block, and route events to the queries that read them."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import (
    Bytes,
    Codes,
    FewCodes,
    Flags,
    IntRows,
    Ints,
    OutBytes,
    OutIntRows,
    OutInts,
)
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- admission

# Rows of `admit`'s output.
PLACE, STATE, TIME = range(3)


@kernel
def is_rising(times: Ints) -> bool:
    """Whether each time is after the one before it. No early exit: the loop is vectorized."""
    falls = 0
    for row in range(1, times.shape[0]):
        falls |= times[row] <= times[row - 1]
    return falls == 0


@kernel
def admit(types: Codes, ts: Ints, states: Ints, first: int, out: OutIntRows) -> int:
    """Write place, state and time of the events of types with a state; return how many.

    `states` is indexed by the code of a type plus one; 0 means no state. The output needs room for
    one event more than it admits, since each event is written before its state is tested.
    """
    count, room = 0, out.shape[1]
    for row in range(types.shape[0]):
        if count == room:
            break
        state = states[types[row] + 1]
        out[PLACE, count] = first + row
        out[STATE, count] = state
        out[TIME, count] = ts[row]
        count += state != 0
    return count


@kernel
def look_up_states(by_code: Bytes, types: FewCodes, states: OutBytes) -> None:
    """Write the state of each event; `by_code` is indexed by the code of its type plus one."""
    for row in range(types.shape[0]):
        states[row] = by_code[types[row] + 1]


@kernel
def select_rows(states: Ints, bit: int, rows: OutInts) -> int:
    """Write the rows of the events that a component admits; return how many."""
    count = 0
    for row in range(states.shape[0]):
        rows[count] = row
        count += (states[row] >> bit) & 1
    return count


@kernel
def reject_rows(states: OutInts, bit: int, passes: Flags) -> int:
    """Clear the bit of a component where the events that it admits fail; return how many do."""
    count = 0
    for row in range(states.shape[0]):
        fails = (states[row] >> bit) & (not passes[row])
        states[row] ^= fails << bit
        count += fails
    return count


@kernel
def rank(codes: Ints, counts: OutInts, ranks: OutInts) -> None:
    """Write the rank of each event among those with its code; `NOTHING` without a code."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code < 0:
            ranks[row] = NOTHING
        else:
            ranks[row] = counts[code]
            counts[code] += 1


@kernel
def clear_bits(states: Bytes, bit: int, passes: Flags, out: OutBytes) -> None:
    """Write the states of events, with the bit of a component cleared where it rejects them."""
    others = 0xFF ^ 1 << bit
    for row in range(states.shape[0]):
        out[row] = states[row] if passes[row] else states[row] & others


# ---------------------------------------------------------------- dispatch

# A *bucket* is a condition on one event that several queries share: its type, or its type and the
# value of an attribute. Each event is looked up once for all queries; each bucket lists its
# readers.

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
