"""Small codes of keys: an open-addressing hash table that reuses the codes of dead keys.

A slot has a code and, in the bits above it, a part of the key's hash. So the key of another slot is
hardly ever read, and the table may be small. The entry of a code holds its key and the last event
that had it, mostly in one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts, OutInts32
from sase.engine.kernels.scan.hashing import folded, mixed_with
from sase.engine.kernels.sentinels import NOTHING

# The bits of a slot; the hash bits from PART_SHIFT on fill those that the code leaves free.
SLOT_BITS, PART_SHIFT = 2**31 - 1, 30
# Tables below MANY slots stay in the cache; for larger ones the slots of PIECE keys are prefetched.
MANY, PIECE = 1 << 15, 1 << 8
# Columns of an entry: the last event with the key; from KEY on the numbers of the key.
USED, KEY = 0, 1


class KeyTable(NamedTuple):
    """The slots; the entries by code; the free codes.

    Slots are a power of two. There are fewer entries than slots, one for each code that may be
    given out. `sizes`: codes ever given out, and free codes among them.
    """

    slots: OutInts32
    entries: OutIntRows
    free: OutInts
    sizes: OutInts


@kernel
def compose(rows: IntRows, digits: OutIntRows, codes: OutInts) -> bool:
    """Write dense codes of keys by `digits` (least, bits, shift); false if one is out of range."""
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
    """How far a number is outside the `bits` from `least` on: 0 if it is in range."""
    return ((number - least) >> bits) | int(number < least)


@kernel
def encode(rows: IntRows, numbers: OutInts, table: KeyTable, start: int, codes: OutInts) -> int:
    """Write the codes of keys where `codes` is not `NOTHING`; return the place where room ended."""
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
    """The hash of the key of a code."""
    mixed = 0
    for place in range(KEY, entries.shape[1]):
        mixed = mixed_with(mixed, int(entries[code, place]))
    return folded(mixed)


@inlined
def part_of(mixed: int, mask: int) -> int:
    """The part of a hash that a slot keeps above its code."""
    return (mixed >> PART_SHIFT) & (SLOT_BITS ^ mask)


@inlined
def fetch_entries(rows: IntRows, table: KeyTable, begin: int, end: int) -> None:
    """Prefetch the slots of the next keys, and the entries of the codes in them."""
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
    """Prefetch the slots to which the keys of codes move."""
    if table.slots.shape[0] >= MANY:
        for code in range(begin, end):
            prefetch(table.slots, hash_of_entry(old.entries, code) & (table.slots.shape[0] - 1))


@linked
def slot_of(rows: IntRows, place: int, mixed: int, table: KeyTable) -> int:
    """The slot of a key, or the free one where it belongs."""
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
    """Whether a code is that of a key."""
    same = True
    for row in range(rows.shape[0]):
        same = same and table.entries[code, KEY + row] == rows[row, place]
    return same


@kernel
def recycle(old: KeyTable, horizon: int, table: KeyTable) -> None:
    """Move the keys used since event `horizon` into an empty table, and free the other codes.

    The tables may share arrays.

    The lowest free codes are reused first, and those above the last code in use are dropped, so
    that the table can shrink.
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
