"""Keys as small codes: an open hash table whose codes are used again when their keys are dead.

A slot has a code and, in the bits above, a part of the hash of its key: that of another key is
hardly ever read, so that the table may be small. By code the key stands beside the last event that
had it, mostly in one line of the cache.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts, OutInts32
from sase.engine.kernels.scan.hashing import folded, mixed_with
from sase.engine.kernels.sentinels import NOTHING

# The bits of a slot, and where in a hash the part begins of which it has what a code leaves free.
SLOT_BITS, PART_SHIFT = 2**31 - 1, 30
# A table of fewer slots stays in the cache; of a larger one the slots of so many keys are fetched
# before they are read.
MANY, PIECE = 1 << 15, 1 << 8
# Where in an entry the last event stands, and from where on the numbers of the key.
USED, KEY = 0, 1


class KeyTable(NamedTuple):
    """The slots; by code the last event that had the key, and the key; codes to use again.

    Of slots there is a power of two; of entries fewer, and so many codes may be given out. `sizes`
    are the codes ever given out, and how many of them are free.
    """

    slots: OutInts32
    entries: OutIntRows
    free: OutInts
    sizes: OutInts


@kernel
def compose(rows: IntRows, digits: OutIntRows, codes: OutInts) -> bool:
    """Write dense codes of keys by `digits` (least, bits, shift); return false if one is too far.

    That is asked at the end, so that the loops are vectorized; all codes are 0 then.
    """
    beyond = 0
    for row in range(rows.shape[0]):
        least, bits, shift = digits[row, 0], digits[row, 1], digits[row, 2]
        for place in range(codes.shape[0]):
            number = rows[row, place]
            beyond |= excess(number, least, bits)
            code = codes[place] if row > 0 else 0
            codes[place] = code | ((number - least) << shift)
    if beyond != 0:
        for place in range(codes.shape[0]):
            codes[place] = 0
    return beyond == 0


@inlined
def excess(number: int, least: int, bits: int) -> int:
    """What a number is beyond so many bits from the least on: 0 if it is in range."""
    return ((number - least) >> bits) | int(number < least)


@kernel
def encode(rows: IntRows, numbers: OutInts, table: KeyTable, start: int, codes: OutInts) -> int:
    """Write the codes of keys of events by number, where not `NOTHING`; return where room ended."""
    room, mask = table.entries.shape[0], table.slots.shape[0] - 1
    for place in range(start, codes.shape[0]):
        if (place - start) % PIECE == 0:
            fetch_entries(rows, table, place, min(place + PIECE, codes.shape[0]))
        if codes[place] == NOTHING:
            continue
        mixed = hash_of(rows, place)
        slot = slot_of(rows, place, mixed, table)
        code = table.slots[slot] & mask
        if table.slots[slot] == NOTHING:
            code = table.sizes[0]
            if table.sizes[1] > 0:
                table.sizes[1] -= 1
                code = table.free[table.sizes[1]]
            elif code < room:
                table.sizes[0] += 1
            else:
                return place
            table.slots[slot] = part_of(mixed, mask) | code
            for row in range(rows.shape[0]):
                table.entries[code, KEY + row] = rows[row, place]
        table.entries[code, USED] = numbers[place]
        codes[place] = code
    return int(codes.shape[0])


@inlined
def hash_of(rows: IntRows, place: int) -> int:
    """The hash of a key."""
    mixed = 0
    for row in range(rows.shape[0]):
        mixed = mixed_with(mixed, int(rows[row, place]))
    return folded(mixed)


@inlined
def hash_of_entry(entries: OutIntRows, code: int) -> int:
    """The same of the key that a code stands for."""
    mixed = 0
    for place in range(KEY, entries.shape[1]):
        mixed = mixed_with(mixed, int(entries[code, place]))
    return folded(mixed)


@inlined
def part_of(mixed: int, mask: int) -> int:
    """The part of a hash that stands in a slot above a code, which is within a mask."""
    return (mixed >> PART_SHIFT) & (SLOT_BITS ^ mask)


@inlined
def fetch_entries(rows: IntRows, table: KeyTable, begin: int, end: int) -> None:
    """Fetch what the next keys are looked for in: their slots, and the entries of these codes."""
    if table.slots.shape[0] < MANY:
        return
    mask, width = table.slots.shape[0] - 1, table.entries.shape[1]
    for place in range(begin, end):
        prefetch(table.slots, hash_of(rows, place) & mask)
    for place in range(begin, end):
        found = table.slots[hash_of(rows, place) & mask]
        prefetch(table.entries, width * (found & mask))


@inlined
def fetch_homes(old: KeyTable, table: KeyTable, begin: int, end: int) -> None:
    """Fetch the slots in a table to which the keys of codes move."""
    if table.slots.shape[0] >= MANY:
        for code in range(begin, end):
            prefetch(table.slots, hash_of_entry(old.entries, code) & (table.slots.shape[0] - 1))


@linked
def slot_of(rows: IntRows, place: int, mixed: int, table: KeyTable) -> int:
    """The slot that a key of a hash has, or the free one where it belongs."""
    mask = table.slots.shape[0] - 1
    part, slot = part_of(mixed, mask), mixed & mask
    while table.slots[slot] != NOTHING:
        code = table.slots[slot] ^ part
        if code <= mask and is_key(rows, place, table, code):
            break
        slot = (slot + 1) & mask
    return int(slot)


@linked
def is_key(rows: IntRows, place: int, table: KeyTable, code: int) -> bool:
    """Whether a code stands for a key."""
    same = True
    for row in range(rows.shape[0]):
        same = same and table.entries[code, KEY + row] == rows[row, place]
    return same


@kernel
def recycle(old: KeyTable, horizon: int, table: KeyTable) -> None:
    """Move the keys used from an event on into an empty table, which may share arrays; free others.

    The least free codes are given out first, and those behind the last in use are forgotten: so
    the table can become small.
    """
    count, mask = old.sizes[0], table.slots.shape[0] - 1
    while count > 0 and old.entries[count - 1, USED] < horizon:
        count -= 1
    table.sizes[0], table.sizes[1] = count, 0
    for behind in range(count):
        code = count - 1 - behind
        if behind % PIECE == 0:
            fetch_homes(old, table, max(code + 1 - PIECE, 0), code + 1)
        used = old.entries[code, USED]
        if used < horizon:
            table.entries[code, USED] = NOTHING
            table.free[table.sizes[1]] = code
            table.sizes[1] += 1
            continue
        for place in range(old.entries.shape[1]):
            table.entries[code, place] = old.entries[code, place]
        mixed = hash_of_entry(old.entries, code)
        slot = mixed & mask
        while table.slots[slot] != NOTHING:
            slot = (slot + 1) & mask
        table.slots[slot] = part_of(mixed, mask) | code
