"""Texts to codes, where many are distinct: tables that grow, of parts of a column, joined at last.

A slot has a part of the hash of a text, which tells as well where it is looked for, and its code
plus one. Of each code there are 24 bytes of the text, and with its length that part of the hash:
most texts are compared by these alone.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.arrow_memory import field, number
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch, top_bit, word_at
from sase.engine.kernels.jit.signatures import Bytes, Layout, Offsets, OutBytes, OutInts
from sase.engine.kernels.scan.text_hash import (
    FIRST_FACTOR,
    HASH_BITS,
    MOST_SLOTS,
    PIECE,
    WORD,
    word_of,
)

OutCodes32 = Annotated[NDArray[np.int32], Layout("int32", 1, writable=True)]

NO_TEXT = -1
# What `sizes` count: codes, and the bytes of their texts.
COUNT, BYTES = range(2)
# Of a text three words, and its length below a part of its hash of so many bits.
WORDS, MARK = 4, 3
PART_BITS, LENGTH_BITS = 31, 32
BESIDE = 3 * WORD
# What ends the coding of texts that were made to meet, or are too long.
GIVEN_UP = -1
BYTE = 1  # the form of a byte in memory


class TextTable(NamedTuple):
    """The slots, of which there are a power of two; by code what is known of the text; its address.

    There is room for half as many codes as there are slots.
    """

    slots: OutInts
    known: OutInts
    places: OutInts
    sizes: OutInts


@kernel
def encode_texts(
    offsets: Offsets, data: Bytes, address: int, valid: Bytes, begin: int, table: TextTable,
    room: OutInts, codes: OutCodes32,
) -> int:  # fmt: skip
    """Write the codes of texts from a row on; return where room ended, or `GIVEN_UP`.

    The data is at an address. There is `room` for what is known of the texts of a piece.
    """
    for first in range(begin, codes.shape[0], PIECE):
        count = min(PIECE, codes.shape[0] - first)
        if table.sizes[COUNT] + count > table.places.shape[0]:
            return first
        if not read_texts(offsets, data, first, count, room):
            return GIVEN_UP
        fetch_texts(table, room, 0, count)
        for place in range(count):
            row = first + place
            if valid.shape[0] > 0 and valid[row] == 0:
                codes[row] = NO_TEXT
                continue
            begins = address + int(offsets[row])
            code = code_of(table, room, WORDS * place, begins)
            if code == GIVEN_UP:
                return GIVEN_UP
            codes[row] = code
    return int(codes.shape[0])


@kernel
def join_texts(other: TextTable, begin: int, table: TextTable, codes: OutCodes32) -> int:
    """Write the codes that the texts of another table have here, where new ones are added.

    Return where room ended, or `GIVEN_UP`.
    """
    for first in range(begin, codes.shape[0], PIECE):
        end = min(first + PIECE, codes.shape[0])
        if table.sizes[COUNT] + end - first > table.places.shape[0]:
            return first
        fetch_texts(table, other.known, first, end)
        for code in range(first, end):
            found = code_of(table, other.known, WORDS * code, other.places[code])
            if found == GIVEN_UP:
                return GIVEN_UP
            codes[code] = found
    return int(codes.shape[0])


@kernel
def translate(codes: OutCodes32, translation: OutCodes32) -> None:
    """Translate codes, where there are texts."""
    for row in range(codes.shape[0]):
        code = codes[row]
        codes[row] = translation[code] if code != NO_TEXT else NO_TEXT


@kernel
def move_slots(old: OutInts, slots: OutInts) -> None:
    """Move what is in slots to more of them."""
    mask, shift = slots.shape[0] - 1, LENGTH_BITS + PART_BITS - top_bit(slots.shape[0])
    for place in range(old.shape[0]):
        found = old[place]
        if found != 0:
            slot = found >> shift
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = found


@kernel
def copy_texts(table: TextTable, begins: OutInts, data: OutBytes) -> None:
    """Write the bytes of all texts, and where each begins and the last one ends."""
    filled = 0
    for code in range(table.sizes[COUNT]):
        begins[code] = filled
        place = table.places[code]
        length = table.known[WORDS * code + MARK] & ((1 << LENGTH_BITS) - 1)
        for at in range(length):
            data[filled + at] = number(place, BYTE, at)
        filled += length
    begins[table.sizes[COUNT]] = filled


@inlined
def read_texts(offsets: Offsets, data: Bytes, first: int, count: int, room: OutInts) -> bool:
    """Write what is known of some texts; return false where one is too long."""
    longest = 0
    for place in range(count):
        begin, end = int(offsets[first + place]), int(offsets[first + place + 1])
        length = end - begin
        longest = max(longest, length)
        if begin + BESIDE <= data.shape[0]:
            word = word_at(data, begin) & mask_of(length)
            second = word_at(data, begin + WORD) & mask_of(length - WORD)
            third = word_at(data, begin + 2 * WORD) & mask_of(length - 2 * WORD)
        else:
            word = word_of(data, begin, min(end, begin + WORD))
            second = word_of(data, min(end, begin + WORD), min(end, begin + 2 * WORD))
            third = word_of(data, min(end, begin + 2 * WORD), min(end, begin + BESIDE))
        mixed = mixed_with(mixed_with(mixed_with(length, word), second), third)
        for at in range(begin + BESIDE, end, WORD):
            mixed = mixed_with(mixed, word_of(data, at, min(end, at + WORD)))
        part = (mixed ^ (mixed >> 29)) >> (62 - PART_BITS)
        to = WORDS * place
        room[to], room[to + 1], room[to + 2] = word, second, third
        room[to + MARK] = part << LENGTH_BITS | length
    return longest >> LENGTH_BITS == 0


@inlined
def mixed_with(mixed: int, word: int) -> int:
    """A hash of what was hashed and a word."""
    return ((mixed ^ word ^ (word >> 32)) * FIRST_FACTOR) & HASH_BITS


@inlined
def mask_of(length: int) -> int:
    """The bits of so many bytes of a word, of no more than it has and no fewer than none."""
    return -1 if length >= WORD else (1 << (WORD * max(length, 0))) - 1


@inlined
def fetch_texts(table: TextTable, known: OutInts, begin: int, end: int) -> None:
    """Fetch what the next texts are looked for in: their slots, and what is known of the codes."""
    shift = LENGTH_BITS + PART_BITS - top_bit(table.slots.shape[0])
    for place in range(begin, end):
        prefetch(table.slots, known[WORDS * place + MARK] >> shift)
    for place in range(begin, end):
        found = table.slots[known[WORDS * place + MARK] >> shift]
        prefetch(table.known, WORDS * ((found & ((1 << LENGTH_BITS) - 1)) - 1))


@inlined
def code_of(table: TextTable, known: OutInts, at: int, begins: int) -> int:
    """The code of a text, a new one if it has none; `GIVEN_UP` if it is not soon found."""
    slots, mark = table.slots, known[at + MARK]
    slot = mark >> (LENGTH_BITS + PART_BITS - top_bit(slots.shape[0]))
    for _ in range(MOST_SLOTS):
        found = slots[slot]
        if found == 0:
            return add_text(table, slot, known, at, begins)
        if (found ^ mark) >> LENGTH_BITS == 0:
            code = (found & ((1 << LENGTH_BITS) - 1)) - 1
            if is_text(table, code, known, at, begins):
                return int(code)
        slot = (slot + 1) & (slots.shape[0] - 1)
    return GIVEN_UP


@inlined
def is_text(table: TextTable, code: int, known: OutInts, at: int, begins: int) -> bool:
    """Whether a code is that of a text."""
    mine, same = WORDS * code, table.known
    differ = (same[mine] ^ known[at]) | (same[mine + 1] ^ known[at + 1])
    differ |= (same[mine + 2] ^ known[at + 2]) | (same[mine + MARK] ^ known[at + MARK])
    if differ != 0:
        return False
    length = known[at + MARK] & ((1 << LENGTH_BITS) - 1)
    return length <= BESIDE or is_alike(table.places[code], begins, length)


@linked
def is_alike(place: int, begins: int, length: int) -> bool:
    """Whether two texts of a length, of which the first bytes are the same, have the same bytes."""
    at = BESIDE
    while at + WORD <= length:
        if field(place + at, 0) != field(begins + at, 0):
            return False
        at += WORD
    for rest in range(at, length):
        if number(place, BYTE, rest) != number(begins, BYTE, rest):
            return False
    return True


@inlined
def add_text(table: TextTable, slot: int, known: OutInts, at: int, begins: int) -> int:
    """Give a text the next code; there is room for it."""
    code, mark = table.sizes[COUNT], known[at + MARK]
    table.slots[slot] = mark >> LENGTH_BITS << LENGTH_BITS | (code + 1)
    for word in range(WORDS):
        table.known[WORDS * code + word] = known[at + word]
    table.places[code] = begins
    table.sizes[COUNT] = code + 1
    table.sizes[BYTES] += mark & ((1 << LENGTH_BITS) - 1)
    return int(code)
