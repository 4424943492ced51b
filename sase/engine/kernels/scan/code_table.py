"""Dictionary codes of many distinct texts or numbers, in a hash table that threads fill at once.

A slot holds 31 bits of a text's hash and its code plus one; the upper bits of that hash select the
slot. For each code the table keeps 24 bytes of the text and a mark (hash bits and length), which
settle most comparisons. A number is kept whole.

A thread writes the text first and then claims the slot by compare-and-swap. So whoever reads a code
finds its text, no text gets two codes, and no thread waits.

Threads give out codes in blocks, so that no two write to one cache line. The last blocks may be
filled in part; `translate` closes these gaps.
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
# Columns of `sizes`, which has a row (one cache line) for each thread: codes given out, bytes of
# their texts, and whether the thread ran out of room.
COUNT, BYTES, IS_FULL = range(3)
SIZES = 8
# A thread gives out codes in blocks of 2**BLOCK_BITS.
BLOCK_BITS = 6
# Words kept of a text: three of its bytes, and its mark, which is the hash bits above the length.
WORDS, MARK = 4, 3
PART_BITS, LENGTH_BITS = 31, 32
BESIDE = 3 * WORD
# Returned when the texts collide on purpose or one is too long.
GIVEN_UP = -1
BYTE = 1  # the form of a byte, see `arrow_memory.py`


class CodeTable(NamedTuple):
    """The hash table: slots (a power of two); by code the text's words, and its address.

    Codes are given out for at most half of the slots. `sizes` has the counters of each thread.
    Numbers take one word of `known` and no place.
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
    """Write the codes of texts from row `begin` on; return the row where room ended, or `GIVEN_UP`.

    `address` is that of `data`. `room` holds the words and marks of one piece of texts.
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
    """Write the codes of whole numbers, as `encode_texts` does those of texts."""
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
    """Mark in `tail` which of the codes from `whole` on were given out."""
    threads = table.sizes.shape[0]
    for thread in range(threads):
        for count in range(whole // threads, table.sizes[thread, COUNT]):
            tail[code_at(count, thread, threads) - whole] = 1


@kernel
def translate(codes: OutInts32, tail: OutInts32, whole: int) -> None:
    """Replace the codes from `whole` on by those in `tail`, which have no gaps."""
    for row in range(codes.shape[0]):
        code = codes[row]
        if code >= whole:
            codes[row] = tail[code - whole]


@kernel
def move_slots(old: OutInts, slots: OutInts) -> None:
    """Insert the entries of a table's slots into a larger table."""
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
    """Write the bytes of texts without gaps, and their offsets."""
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
    """Write the words and marks of some texts; return false if one is too long."""
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
    """The upper bits of a hash, which slots and marks keep."""
    return folded(mixed) >> (62 - PART_BITS)


@inlined
def mask_of(length: int) -> int:
    """A mask of the first `length` bytes of a word, for any length, a negative one too."""
    return -1 if length >= WORD else (1 << (WORD * max(length, 0))) - 1


@inlined
def fetch_texts(table: CodeTable, known: OutInts, begin: int, end: int) -> None:
    """Prefetch the slots of the next texts, and the words in `known` of the codes in them."""
    shift = LENGTH_BITS + PART_BITS - top_bit(table.slots.shape[0])
    for place in range(begin, end):
        prefetch(table.slots, known[WORDS * place + MARK] >> shift)
    for place in range(begin, end):
        found = table.slots[known[WORDS * place + MARK] >> shift]
        prefetch(table.known, WORDS * ((found & ((1 << LENGTH_BITS) - 1)) - 1))


@inlined
def code_of(table: CodeTable, known: OutInts, at: int, begins: int, thread: int) -> int:
    """The code of a text, a new one if it has none; `GIVEN_UP` after too many probes."""
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
        # Another thread may have claimed the slot, with this text or another one.
        if (found ^ mark) >> LENGTH_BITS == 0:
            code = (found & ((1 << LENGTH_BITS) - 1)) - 1
            if is_text(table, code, known, at, begins):
                return int(code)
        slot = (slot + 1) & (slots.shape[0] - 1)
    return GIVEN_UP


@inlined
def code_of_number(table: CodeTable, number: int, mark: int, thread: int) -> int:
    """The code of a number, as `code_of`; the upper half of `mark` is the hash."""
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
    """The code that a thread gives out after `count` others."""
    block = (count >> BLOCK_BITS) * threads + thread
    return block << BLOCK_BITS | count & ((1 << BLOCK_BITS) - 1)


@inlined
def next_code(table: CodeTable, thread: int) -> int:
    """The code that a thread gives out next."""
    return code_at(table.sizes[thread, COUNT], thread, table.sizes.shape[0])


@inlined
def is_full(table: CodeTable, thread: int, count: int) -> bool:
    """Whether a thread lacks room for `count` more codes, or any thread has run out of room."""
    sizes, is_ended = table.sizes, 0
    if code_at(sizes[thread, COUNT] + count, thread, sizes.shape[0]) >= table.slots.shape[0] // 2:
        sizes[thread, IS_FULL] = 1
    for each in range(sizes.shape[0]):
        is_ended |= sizes[each, IS_FULL]
    return is_ended != 0


@inlined
def is_text(table: CodeTable, code: int, known: OutInts, at: int, begins: int) -> bool:
    """Whether a code is that of the text with the words at `known[at]` and the address `begins`."""
    mine, same = WORDS * code, table.known
    differ = (same[mine] ^ known[at]) | (same[mine + 1] ^ known[at + 1])
    differ |= (same[mine + 2] ^ known[at + 2]) | (same[mine + MARK] ^ known[at + MARK])
    if differ != 0:
        return False
    length = known[at + MARK] & ((1 << LENGTH_BITS) - 1)
    return length <= BESIDE or is_alike(table.places[code], begins, length)


@linked
def is_alike(place: int, begins: int, length: int) -> bool:
    """Whether two texts of one length, equal up to `BESIDE` bytes, are equal."""
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
    """Store the words, mark and address of a code's text."""
    for word in range(WORDS):
        table.known[WORDS * code + word] = known[at + word]
    table.places[code] = begins
