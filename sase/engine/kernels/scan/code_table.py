"""Texts and numbers to codes, where many are distinct: a table that threads fill at once.

A slot has a part of the hash of a text, which tells as well where it is looked for, and its code
plus one. Of each code there are 24 bytes of the text, and with its length that part of the hash:
most texts are compared by these alone; of a number there is that. They are written before the slot
is, which is written if it is still empty: who finds a code finds its text, and no text has two. No
thread waits for another.
Each gives out blocks of codes in turn with the others, so that two never write to one line of the
cache; of the last blocks some codes are left over, and `translate` closes the gaps.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import field, number
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import exchange_if, prefetch, top_bit, word_at
from sase.engine.kernels.jit.signatures import (
    Bytes,
    Ints,
    Offsets,
    OutBytes,
    OutIntRows,
    OutInts,
    OutInts32,
)
from sase.engine.kernels.scan.hashing import folded, mixed_with
from sase.engine.kernels.scan.text_hash import (
    MOST_SLOTS,
    PIECE,
    WORD,
    word_of,
)

NO_TEXT = -1
# What each row of `sizes` counts: the codes that a thread gave out, the bytes of their texts, and
# whether it found no more room. A row is a line of the cache.
COUNT, BYTES, IS_FULL = range(3)
SIZES = 8
# The codes of a block, which are those of one thread.
BLOCK_BITS = 6
# Of a text three words, and its length below a part of its hash of so many bits.
WORDS, MARK = 4, 3
PART_BITS, LENGTH_BITS = 31, 32
BESIDE = 3 * WORD
# What ends the coding of texts that were made to meet, or are too long.
GIVEN_UP = -1
BYTE = 1  # the form of a byte in memory


class CodeTable(NamedTuple):
    """The slots, of which there are a power of two; by code what is known of the text; its address.

    There is room for half as many codes as there are slots. `sizes` are what each thread counts. Of
    numbers each is one word, and has no address.
    """

    slots: OutInts
    known: OutInts
    places: OutInts
    sizes: OutIntRows


@kernel
def encode_texts(
    offsets: Offsets, data: Bytes, address: int, valid: Bytes, begin: int, table: CodeTable,
    room: OutInts, codes: OutInts32, thread: int,
) -> int:  # fmt: skip
    """Write the codes of texts from a row on; return where there was no more room, or `GIVEN_UP`.

    The data is at an address. There is `room` for what is known of the texts of a piece.
    """
    for first in range(begin, codes.shape[0], PIECE):
        count = min(PIECE, codes.shape[0] - first)
        if is_full(table, thread, count):
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
            code = code_of(table, room, WORDS * place, begins, thread)
            if code == GIVEN_UP:
                return GIVEN_UP
            codes[row] = code
    return int(codes.shape[0])


@kernel
def encode_numbers(
    numbers: Ints, begin: int, table: CodeTable, room: OutInts, codes: OutInts32, thread: int
) -> int:
    """The same of whole numbers."""
    shift = LENGTH_BITS + PART_BITS - top_bit(table.slots.shape[0])
    for first in range(begin, codes.shape[0], PIECE):
        count = min(PIECE, codes.shape[0] - first)
        if is_full(table, thread, count):
            return first
        for place in range(count):
            room[place] = part_of(mixed_with(WORD, int(numbers[first + place]))) << LENGTH_BITS
            prefetch(table.slots, room[place] >> shift)
        for place in range(count):
            found = table.slots[room[place] >> shift]
            prefetch(table.known, (found & ((1 << LENGTH_BITS) - 1)) - 1)
        for place in range(count):
            code = code_of_number(table, int(numbers[first + place]), room[place], thread)
            if code == GIVEN_UP:
                return GIVEN_UP
            codes[first + place] = code
    return int(codes.shape[0])


@kernel
def mark_given(table: CodeTable, whole: int, tail: OutInts32) -> None:
    """Mark the codes that were given out, of those behind the first ones."""
    threads = table.sizes.shape[0]
    for thread in range(threads):
        for count in range(whole // threads, table.sizes[thread, COUNT]):
            tail[code_at(count, thread, threads) - whole] = 1


@kernel
def translate(codes: OutInts32, tail: OutInts32, whole: int) -> None:
    """Translate codes from the first one on that is not of a whole row of blocks."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code >= whole:
            codes[row] = tail[code - whole]


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
def copy_texts(table: CodeTable, begins: OutInts, data: OutBytes) -> None:
    """Write the bytes of texts without a gap, and where each begins and the last one ends."""
    filled = 0
    for code in range(begins.shape[0] - 1):
        begins[code] = filled
        place = table.places[code]
        length = table.known[WORDS * code + MARK] & ((1 << LENGTH_BITS) - 1)
        for at in range(length):
            data[filled + at] = number(place, BYTE, at)
        filled += length
    begins[begins.shape[0] - 1] = filled


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
        to = WORDS * place
        room[to], room[to + 1], room[to + 2] = word, second, third
        room[to + MARK] = part_of(mixed) << LENGTH_BITS | length
    return longest >> LENGTH_BITS == 0


@inlined
def part_of(mixed: int) -> int:
    """The part of a hash that is kept."""
    return folded(mixed) >> (62 - PART_BITS)


@inlined
def mask_of(length: int) -> int:
    """The bits of so many bytes of a word, of no more than it has and no fewer than none."""
    return -1 if length >= WORD else (1 << (WORD * max(length, 0))) - 1


@inlined
def fetch_texts(table: CodeTable, known: OutInts, begin: int, end: int) -> None:
    """Fetch what the next texts are looked for in: their slots, and what is known of the codes."""
    shift = LENGTH_BITS + PART_BITS - top_bit(table.slots.shape[0])
    for place in range(begin, end):
        prefetch(table.slots, known[WORDS * place + MARK] >> shift)
    for place in range(begin, end):
        found = table.slots[known[WORDS * place + MARK] >> shift]
        prefetch(table.known, WORDS * ((found & ((1 << LENGTH_BITS) - 1)) - 1))


@inlined
def code_of(table: CodeTable, known: OutInts, at: int, begins: int, thread: int) -> int:
    """The code of a text, a new one if it has none; `GIVEN_UP` if it is not soon found."""
    slots, mark = table.slots, known[at + MARK]
    slot = mark >> (LENGTH_BITS + PART_BITS - top_bit(slots.shape[0]))
    for _ in range(MOST_SLOTS):
        found = slots[slot]
        if found == 0:
            code = next_code(table, thread)
            note_text(table, code, known, at, begins)
            found = exchange_if(slots, slot, 0, mark >> LENGTH_BITS << LENGTH_BITS | (code + 1))
            if found == 0:
                table.sizes[thread, COUNT] += 1
                table.sizes[thread, BYTES] += mark & ((1 << LENGTH_BITS) - 1)
                return code
        # Another thread may have been first, with this text or another one.
        if (found ^ mark) >> LENGTH_BITS == 0:
            code = (found & ((1 << LENGTH_BITS) - 1)) - 1
            if is_text(table, code, known, at, begins):
                return int(code)
        slot = (slot + 1) & (slots.shape[0] - 1)
    return GIVEN_UP


@inlined
def code_of_number(table: CodeTable, number: int, mark: int, thread: int) -> int:
    """The same of a number whose part of a hash is the upper half of a mark."""
    slots = table.slots
    slot = mark >> (LENGTH_BITS + PART_BITS - top_bit(slots.shape[0]))
    for _ in range(MOST_SLOTS):
        found = slots[slot]
        if found == 0:
            code = next_code(table, thread)
            table.known[code] = number
            found = exchange_if(slots, slot, 0, mark | (code + 1))
            if found == 0:
                table.sizes[thread, COUNT] += 1
                return code
        if (found ^ mark) >> LENGTH_BITS == 0:
            code = (found & ((1 << LENGTH_BITS) - 1)) - 1
            if table.known[code] == number:
                return int(code)
        slot = (slot + 1) & (slots.shape[0] - 1)
    return GIVEN_UP


@inlined
def code_at(count: int, thread: int, threads: int) -> int:
    """The code that a thread gives out after so many others."""
    block = (count >> BLOCK_BITS) * threads + thread
    return block << BLOCK_BITS | count & ((1 << BLOCK_BITS) - 1)


@inlined
def next_code(table: CodeTable, thread: int) -> int:
    """The code that a thread gives out next."""
    return code_at(table.sizes[thread, COUNT], thread, table.sizes.shape[0])


@inlined
def is_full(table: CodeTable, thread: int, count: int) -> bool:
    """Whether a thread has no room for so many codes, or any other one had none."""
    sizes, is_ended = table.sizes, 0
    if code_at(sizes[thread, COUNT] + count, thread, sizes.shape[0]) >= table.slots.shape[0] // 2:
        sizes[thread, IS_FULL] = 1
    for each in range(sizes.shape[0]):
        is_ended |= sizes[each, IS_FULL]
    return is_ended != 0


@inlined
def is_text(table: CodeTable, code: int, known: OutInts, at: int, begins: int) -> bool:
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
def note_text(table: CodeTable, code: int, known: OutInts, at: int, begins: int) -> None:
    """Write what is known of the text of a code; there is room for it."""
    for word in range(WORDS):
        table.known[WORDS * code + word] = known[at + word]
    table.places[code] = begins
