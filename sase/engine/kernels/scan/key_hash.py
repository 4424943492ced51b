"""Keys as small codes: an open hash table whose codes are used again when their keys are dead."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts, OutInts32
from sase.engine.kernels.sentinels import NOTHING

FACTOR, LOW_BITS = 0x1E3779B97F4A7C15, 2**62 - 1
# A table of fewer slots stays in the cache; of a larger one the slots of so many keys are fetched
# before they are read.
MANY, PIECE = 1 << 16, 1 << 8


class KeyTable(NamedTuple):
    """The code in each slot; by code the key and the last event that had it; codes to use again.

    `sizes` are the codes ever given out, and how many of them are free.
    """

    slots: OutInts32
    keys: OutIntRows
    used: OutInts
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
    room = table.used.shape[0]
    for place in range(start, codes.shape[0]):
        if (place - start) % PIECE == 0:
            fetch_slots(rows, table, place, min(place + PIECE, codes.shape[0]))
        if codes[place] == NOTHING:
            continue
        slot = slot_of(rows, place, table)
        code = table.slots[slot]
        if code == NOTHING:
            code = table.sizes[0]
            if table.sizes[1] > 0:
                table.sizes[1] -= 1
                code = table.free[table.sizes[1]]
            elif code < room:
                table.sizes[0] += 1
            else:
                return place
            table.slots[slot] = code
            for row in range(rows.shape[0]):
                table.keys[row, code] = rows[row, place]
        table.used[code] = numbers[place]
        codes[place] = code
    return int(codes.shape[0])


@inlined
def first_slot(rows: IntRows, place: int, table: KeyTable) -> int:
    """The slot at which a key is looked for first."""
    mixed = 0
    for row in range(rows.shape[0]):
        word = int(rows[row, place])
        mixed = ((mixed ^ word ^ (word >> 32)) * FACTOR) & LOW_BITS
    return int((mixed ^ (mixed >> 29)) & (table.slots.shape[0] - 1))


@inlined
def fetch_slots(rows: IntRows, table: KeyTable, begin: int, end: int) -> None:
    """Fetch what the next keys are looked for in: their slots, and what stands for these codes."""
    if table.slots.shape[0] < MANY:
        return
    for place in range(begin, end):
        prefetch(table.slots, first_slot(rows, place, table))
    for place in range(begin, end):
        code = table.slots[first_slot(rows, place, table)]
        prefetch(table.keys, code)
        prefetch(table.used, code)


@inlined
def fetch_homes(old: KeyTable, table: KeyTable, begin: int, end: int) -> None:
    """Fetch the slots in a table to which the keys of codes move."""
    if table.slots.shape[0] >= MANY:
        for code in range(begin, end):
            prefetch(table.slots, first_slot(old.keys, code, table))


@linked
def slot_of(rows: IntRows, place: int, table: KeyTable) -> int:
    """The slot that a key has, or the free one where it belongs."""
    mask = table.slots.shape[0] - 1
    slot = first_slot(rows, place, table)
    while table.slots[slot] != NOTHING and not is_key(rows, place, table, table.slots[slot]):
        slot = (slot + 1) & mask
    return int(slot)


@linked
def is_key(rows: IntRows, place: int, table: KeyTable, code: int) -> bool:
    """Whether a code stands for a key."""
    same = True
    for row in range(rows.shape[0]):
        same = same and table.keys[row, code] == rows[row, place]
    return same


@kernel
def recycle(old: KeyTable, horizon: int, table: KeyTable) -> None:
    """Move the keys used from an event on into an empty table, which may share arrays; free others.

    The least free codes are given out first, and those behind the last in use are forgotten: so
    the table can become small.
    """
    count = old.sizes[0]
    while count > 0 and old.used[count - 1] < horizon:
        count -= 1
    table.sizes[0], table.sizes[1] = count, 0
    for behind in range(count):
        code = count - 1 - behind
        if behind % PIECE == 0:
            fetch_homes(old, table, max(code + 1 - PIECE, 0), code + 1)
        used = old.used[code]
        table.used[code] = used
        if used < horizon:
            table.used[code] = NOTHING
            table.free[table.sizes[1]] = code
            table.sizes[1] += 1
            continue
        for row in range(old.keys.shape[0]):
            table.keys[row, code] = old.keys[row, code]
        table.slots[slot_of(table.keys, code, table)] = code
